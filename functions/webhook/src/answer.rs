//! What the function answers: a status, and JSON with a stable code and a sentence that says what to do.

use serde_json::{Map, Value, json};

/// An answer that is ready to be sent.
#[derive(Debug, Clone, PartialEq)]
pub struct Answer {
    /// The HTTP status.
    pub status: u16,
    /// The JSON body.
    pub body: Map<String, Value>,
}

/// Why a request is answered with anything but 200. None of it is stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refusal {
    /// The method is not POST.
    Method,
    /// The content type is not JSON.
    ContentType,
    /// The body is empty.
    EmptyBody,
    /// There is no signature.
    SignatureMissing,
    /// The signature header cannot be read.
    SignatureMalformed,
    /// The signature is not right.
    SignatureMismatch,
    /// The signature is right, and older than allowed.
    SignatureTooOld,
    /// The event is not API Gateway's.
    NotARequest,
    /// The secret cannot be had, so nothing can be said about the signature.
    SecretUnavailable,
    /// The ledger did not commit.
    LedgerUnavailable,
    /// Too little time is left to commit.
    OutOfTime,
}

impl Refusal {
    /// The HTTP status, the code, and the sentence for whoever reads the hook's log in Sanity.
    fn parts(self) -> (u16, &'static str, &'static str) {
        match self {
            Self::Method => (405, "method", "Set the HTTP method of the webhook to POST."),
            Self::ContentType => (
                415,
                "content_type",
                "Send the body as JSON, with the content type application/json.",
            ),
            Self::EmptyBody => (
                400,
                "body_empty",
                "Send the body as it was signed; something on the way has consumed it.",
            ),
            Self::SignatureMissing => (
                401,
                "signature_missing",
                "Set the secret of the webhook in Sanity, so that it sends sanity-webhook-signature.",
            ),
            Self::SignatureMalformed => (
                400,
                "signature_malformed",
                "Send exactly one sanity-webhook-signature of the form t=<unix milliseconds>,v1=<signature>.",
            ),
            Self::SignatureMismatch => (
                401,
                "signature_mismatch",
                "Compare the webhook's secret in Sanity with the one in this stack, and let nothing change the body.",
            ),
            Self::SignatureTooOld => (
                401,
                "signature_too_old",
                "Send the webhook again from Sanity, or raise SignatureMaxAgeSeconds if this delivery was genuine.",
            ),
            Self::NotARequest => (
                503,
                "not_a_request",
                "Call the function through its HTTP API with payload format 2.0; Sanity will try again.",
            ),
            Self::SecretUnavailable => (
                503,
                "secret_unavailable",
                "Try again; the webhook secret could not be read. The function's log says why.",
            ),
            Self::LedgerUnavailable => (
                503,
                "ledger_unavailable",
                "Try again; the event could not be stored. The function's log says why.",
            ),
            Self::OutOfTime => (
                503,
                "out_of_time",
                "Try again; there was too little time left to store the event.",
            ),
        }
    }

    /// The stable code.
    pub fn code(self) -> &'static str {
        self.parts().1
    }

    /// The metric that counts it.
    pub fn metric(self) -> &'static str {
        match self {
            Self::Method | Self::ContentType => "RequestsRefused",
            Self::EmptyBody
            | Self::SignatureMissing
            | Self::SignatureMalformed
            | Self::SignatureMismatch
            | Self::SignatureTooOld => "SignatureRefused",
            Self::NotARequest | Self::SecretUnavailable | Self::LedgerUnavailable | Self::OutOfTime => {
                "WebhookFaults"
            }
        }
    }
}

impl From<Refusal> for Answer {
    fn from(refusal: Refusal) -> Self {
        let (status, code, message) = refusal.parts();
        let body = [("error", code), ("message", message)];
        Self {
            status,
            body: body
                .map(|(name, text)| (name.to_owned(), text.into()))
                .into_iter()
                .collect(),
        }
    }
}

impl Answer {
    /// 200: the event is committed, now or before.
    pub fn received(event_id: &str) -> Self {
        let body = [
            ("received".to_owned(), true.into()),
            ("event_id".to_owned(), event_id.into()),
        ];
        Self {
            status: 200,
            body: body.into_iter().collect(),
        }
    }

    /// The same with one more field.
    #[must_use]
    pub fn with(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.body.insert(name.to_owned(), value.into());
        self
    }

    /// API Gateway's form of it (payload format 2.0).
    pub fn into_response(self) -> Value {
        let mut headers = json!({"content-type": "application/json", "cache-control": "no-store"});
        if self.status == 405 {
            headers["allow"] = "POST".into();
        }
        json!({
            "statusCode": self.status,
            "headers": headers,
            "body": Value::Object(self.body).to_string(),
            "isBase64Encoded": false,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_faults_of_ours_invite_a_retry() {
        for refusal in [
            Refusal::Method,
            Refusal::ContentType,
            Refusal::EmptyBody,
            Refusal::SignatureMissing,
            Refusal::SignatureMalformed,
            Refusal::SignatureMismatch,
            Refusal::SignatureTooOld,
            Refusal::NotARequest,
            Refusal::SecretUnavailable,
            Refusal::LedgerUnavailable,
            Refusal::OutOfTime,
        ] {
            let answer = Answer::from(refusal);
            let is_fault = refusal.metric() == "WebhookFaults";
            assert_eq!(answer.status == 503, is_fault, "{refusal:?}");
            assert!(
                is_fault || (400..500).contains(&answer.status) && answer.status != 429,
                "{refusal:?}"
            );
            let message = answer.body["message"].as_str().unwrap();
            assert!(message.ends_with('.') && message.len() > 30, "{message}");
        }
    }

    #[test]
    fn a_wrong_method_is_told_the_right_one() {
        let response = Answer::from(Refusal::Method).into_response();
        assert_eq!(response["headers"]["allow"], "POST");
        assert_eq!(response["statusCode"], 405);
        let body: Value = serde_json::from_str(response["body"].as_str().unwrap()).unwrap();
        assert_eq!(body["error"], "method");
    }
}
