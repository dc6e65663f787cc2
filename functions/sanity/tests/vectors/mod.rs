//! The format of the signature vectors, and how a case is put to the check.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use sanity::signature::{self, SignatureError, SignedAt};
use serde::Deserialize;
use serde_json::Value;

/// One request and what Sanity's package said to it.
#[derive(Debug, Deserialize)]
pub(crate) struct Case {
    /// Its name.
    pub(crate) name: String,
    #[serde(default)]
    secret: Option<String>,
    #[serde(default)]
    header: Value,
    #[serde(default)]
    body: Value,
    /// What the package said.
    pub(crate) expected_valid: bool,
    /// The package's HTTP status for a refusal; absent where it throws a plain error.
    #[serde(default)]
    pub(crate) error_status: Option<u16>,
    /// What a strict check of header and bytes says, without the minimum time.
    pub(crate) raw_bytes_hmac_ok: bool,
    #[serde(default)]
    transport_level: bool,
    #[serde(default)]
    headers: Value,
    #[serde(default)]
    body_kind: Option<String>,
    #[serde(default)]
    body_base64: Option<String>,
}

/// How our verdict compares.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Judgement {
    /// The same as the package's.
    Right,
    /// Another one, without a reason.
    Wrong(String),
    /// Another one, decided knowingly: see the table in `sanity::signature`.
    Knowingly(&'static str),
}

/// Reads a file of cases: a list, or an object that holds the list as `cases` or `vectors`.
pub(crate) fn read(bytes: &[u8]) -> Result<Vec<Case>, String> {
    let mut whole: Value = serde_json::from_slice(bytes).map_err(|error| error.to_string())?;
    let list = ["cases", "vectors"]
        .iter()
        .find_map(|name| whole.get_mut(name).map(Value::take));
    serde_json::from_value(list.unwrap_or(whole)).map_err(|error| error.to_string())
}

impl Case {
    /// Our verdict. At transport level the header is looked up as an HTTP server does, whatever its case, and what is
    /// not one text is refused.
    pub(crate) fn verdict(&self) -> Result<SignedAt, SignatureError> {
        if self
            .body_kind
            .as_deref()
            .is_some_and(|kind| kind != "string" && kind != "buffer")
        {
            // A body that was parsed, or is not there: no bytes to check.
            return Err(self.header().err().unwrap_or(SignatureError::EmptyBody));
        }
        let raw = self.raw().ok_or(SignatureError::EmptyBody)?;
        signature::verify(
            &raw,
            &self.header()?,
            self.secret.as_deref().unwrap_or_default().as_bytes(),
        )
    }

    /// Compares our verdict with the package's.
    pub(crate) fn judge(&self) -> Judgement {
        let ours = self.verdict();
        if ours.is_ok() == self.expected_valid {
            return Judgement::Right;
        }
        let reason = if self.raw_bytes_hmac_ok == self.expected_valid {
            None
        } else {
            self.reason(ours.is_ok())
        };
        match reason {
            Some(reason) => Judgement::Knowingly(reason),
            None => {
                let package = if self.expected_valid { "accepts" } else { "refuses" };
                Judgement::Wrong(format!("the package {package} it"))
            }
        }
    }

    /// The decisions of `sanity::signature`, each only where its cause is present.
    fn reason(&self, accepted: bool) -> Option<&'static str> {
        let not_utf8 = self.raw().is_some_and(|raw| std::str::from_utf8(&raw).is_err());
        let other_case =
            self.headers.get(signature::HEADER).is_none() && self.signature_headers().next().is_some();
        match (accepted, not_utf8, other_case) {
            (true, true, _) => Some(
                "these very bytes were signed; the package decodes them to U+FFFD first and checks others",
            ),
            (false, true, _) => {
                Some("these bytes were never signed; the package signs them after replacement by U+FFFD")
            }
            (true, _, true) => {
                Some("HTTP header names have no case; the package reads one key of a plain object")
            }
            _ => None,
        }
    }

    fn raw(&self) -> Option<Vec<u8>> {
        match &self.body_base64 {
            Some(encoded) => STANDARD.decode(encoded).ok(),
            None => self.body.as_str().map(|body| body.as_bytes().to_vec()),
        }
    }

    fn header(&self) -> Result<String, SignatureError> {
        let mut found = self.signature_headers();
        let value = if self.transport_level {
            found.next()
        } else {
            Some(&self.header)
        };
        match value {
            Some(Value::String(value)) if found.next().is_none() => Ok(value.clone()),
            None | Some(Value::Null) if self.transport_level => Err(SignatureError::Missing),
            _ => Err(SignatureError::Malformed),
        }
    }

    /// The signature headers of a case at transport level, whatever the case of their names.
    fn signature_headers(&self) -> impl Iterator<Item = &Value> {
        let headers = self.headers.as_object().into_iter().flatten();
        headers
            .filter(|(name, _)| name.eq_ignore_ascii_case(signature::HEADER))
            .map(|(_, value)| value)
    }
}
