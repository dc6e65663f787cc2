//! API Gateway's event (HTTP API, payload format 2.0) as a request: method, headers by lower-case name, raw bytes.
//!
//! Read by hand rather than with a library's type: those refuse the whole event for one header value that is not
//! ASCII, and a refused event is a 500 that nobody counts.

use std::collections::BTreeMap;

use base64::Engine;
use base64::alphabet::STANDARD;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use serde::Deserialize;
use serde_json::Value;

const BASE64: GeneralPurpose = GeneralPurpose::new(
    &STANDARD,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

/// A request as it came in.
#[derive(Debug, PartialEq, Eq)]
pub struct Request {
    /// The method, in capitals.
    pub method: String,
    /// Headers by lower-case name. API Gateway joins several of one name with commas.
    pub headers: BTreeMap<String, String>,
    /// The body's bytes, decoded if API Gateway encoded them; empty for none.
    pub body: Vec<u8>,
}

/// The event is not one of an HTTP API with payload format 2.0. The function is wired up wrongly, or API Gateway broke
/// its word: a fault of ours in any case.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NotARequest;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Event {
    request_context: Context,
    #[serde(default)]
    headers: Option<BTreeMap<String, Option<String>>>,
    #[serde(default)]
    body: Option<String>,
    #[serde(default)]
    is_base64_encoded: Option<bool>,
}

#[derive(Deserialize)]
struct Context {
    http: Http,
}

#[derive(Deserialize)]
struct Http {
    method: String,
}

impl Request {
    /// Reads an event.
    ///
    /// # Errors
    /// It is no event of this kind, or its base64 cannot be decoded.
    pub fn from_event(event: Value) -> Result<Self, NotARequest> {
        let event: Event = serde_json::from_value(event).map_err(|_| NotARequest)?;
        let mut headers = BTreeMap::new();
        for (name, value) in event.headers.unwrap_or_default() {
            let Some(value) = value else { continue };
            // Two spellings of one name are two headers, to be joined as API Gateway joins them.
            headers
                .entry(name.to_ascii_lowercase())
                .and_modify(|joined: &mut String| *joined = format!("{joined},{value}"))
                .or_insert(value);
        }
        let body = event.body.unwrap_or_default();
        let body = match event.is_base64_encoded {
            Some(true) => BASE64.decode(body).map_err(|_| NotARequest)?,
            _ => body.into_bytes(),
        };
        Ok(Self {
            method: event.request_context.http.method.to_ascii_uppercase(),
            headers,
            body,
        })
    }

    /// Whether the content type says JSON: `application/json` or `application/<anything>+json`, with any parameters.
    pub fn is_json(&self) -> bool {
        let content_type = self.headers.get("content-type").map_or("", String::as_str);
        let essence = content_type
            .split(';')
            .next()
            .unwrap_or_default()
            .trim()
            .to_ascii_lowercase();
        match essence.strip_prefix("application/") {
            Some("json") => true,
            Some(subtype) => {
                let name = subtype.strip_suffix("+json").unwrap_or_default();
                !name.is_empty()
                    && name
                        .bytes()
                        .all(|b| b.is_ascii_alphanumeric() || b"!#$&^_.+-".contains(&b))
            }
            None => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn event(changes: Value) -> Value {
        let mut event =
            json!({"version": "2.0", "requestContext": {"http": {"method": "POST"}}, "headers": {}});
        event
            .as_object_mut()
            .unwrap()
            .extend(changes.as_object().unwrap().clone());
        event
    }

    fn read(changes: Value) -> Request {
        Request::from_event(event(changes)).unwrap()
    }

    #[test]
    fn bytes_come_out_as_they_went_in() {
        let body = json!({"body": "{\"a\":\"\\u00e6 \u{1f680}\"}"});
        assert_eq!(read(body).body, "{\"a\":\"\\u00e6 \u{1f680}\"}".as_bytes());
        for encoded in ["eyJhIjoi//6AIn0=", "eyJhIjoi//6AIn0"] {
            let request = read(json!({"body": encoded, "isBase64Encoded": true}));
            assert_eq!(request.body, b"{\"a\":\"\xff\xfe\x80\"}");
        }
        let plain = read(json!({"body": "eyJhIjoi//6AIn0=", "isBase64Encoded": false}));
        assert_eq!(plain.body, b"eyJhIjoi//6AIn0=", "decoded only when flagged");
        assert_eq!(
            read(json!({"body": null, "isBase64Encoded": null, "headers": null})).body,
            b""
        );
    }

    #[test]
    fn header_names_have_no_case_and_the_same_name_twice_is_joined() {
        let request = read(json!({"headers": {"X-One": "1", "x-one": "2", "Y": null, "Z": "ø"}}));
        let expected =
            [("x-one", "1,2"), ("z", "ø")].map(|(name, value)| (name.to_owned(), value.to_owned()));
        assert_eq!(request.headers, BTreeMap::from(expected));
    }

    #[test]
    fn what_is_no_such_event_is_told() {
        for other in [
            json!(null),
            json!({}),
            json!({"version": "1.0", "httpMethod": "POST", "body": "{}"}),
            event(json!({"body": {"_id": "parsed"}})),
            event(json!({"body": "no base64!", "isBase64Encoded": true})),
        ] {
            assert_eq!(Request::from_event(other.clone()), Err(NotARequest), "{other}");
        }
    }

    #[test]
    fn json_is_told_by_the_content_type() {
        for (content_type, expected) in [
            ("application/json", true),
            ("Application/JSON; charset=utf-8", true),
            (" application/json ;x=y", true),
            ("application/vnd.sanity.v1+json", true),
            ("application/+json", false),
            ("application/jsonp", false),
            ("application/x, application/y+json", false),
            ("text/json", false),
            ("text/plain", false),
            ("", false),
        ] {
            assert_eq!(
                read(json!({"headers": {"Content-Type": content_type}})).is_json(),
                expected,
                "{content_type}"
            );
        }
        assert!(!read(json!({})).is_json());
    }
}
