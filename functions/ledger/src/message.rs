//! The queue's message: a wake-up, not an instruction (law 5).
//!
//! The Pipe's input template and the relay send the same flat shape. Should an update of the Pipe have dropped the template
//! (it has happened: terraform-provider-aws#33938), the whole stream record arrives instead; it is read as well.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::identity;

/// Version of the message's shape.
pub const VERSION: &str = "1";

/// Which item wants to be looked at.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Message {
    /// Version of this shape.
    pub version: String,
    /// The event.
    pub event_id: String,
    /// Partition of the document.
    pub document_key: String,
    /// Sort key of the item.
    pub sort_key: String,
}

/// Why a message says nothing.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum MessageError {
    /// Not JSON.
    #[error("the message is not JSON")]
    NotJson,
    /// JSON, but neither the template's shape nor a stream record.
    #[error("the message has no usable `{0}`")]
    Missing(&'static str),
    /// A shape of the future.
    #[error("the message has a version other than {VERSION}")]
    Version,
}

impl Message {
    /// A message for an item.
    pub fn new(event_id: &str, document_key: &str, sort_key: &str) -> Self {
        Self {
            version: VERSION.to_owned(),
            event_id: event_id.to_owned(),
            document_key: document_key.to_owned(),
            sort_key: sort_key.to_owned(),
        }
    }

    /// Reads a message's body.
    ///
    /// # Errors
    /// It is no wake-up; it belongs into the dead letter queue.
    pub fn read(body: &str) -> Result<Self, MessageError> {
        let value: Value = serde_json::from_str(body).map_err(|_| MessageError::NotJson)?;
        let record = value.get("dynamodb").and_then(|record| record.get("NewImage"));
        let text = |flat: &'static str, attribute: &str| {
            match record {
                Some(image) => image.get(attribute).and_then(|attribute| attribute.get("S")),
                None => value.get(flat),
            }
            .and_then(Value::as_str)
            .ok_or(MessageError::Missing(flat))
        };
        if record.is_none() && value.get("version").is_some_and(|version| version != VERSION) {
            return Err(MessageError::Version);
        }
        let message = Self::new(
            text("event_id", "event_id")?,
            text("document_key", "pk")?,
            text("sort_key", "sk")?,
        );
        if !message.event_id.starts_with("evt_") {
            return Err(MessageError::Missing("event_id"));
        }
        if !message.document_key.starts_with("DOC#") {
            return Err(MessageError::Missing("document_key"));
        }
        identity::second_of(&message.sort_key).ok_or(MessageError::Missing("sort_key"))?;
        Ok(message)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FLAT: &str =
        r#"{"version":"1","event_id":"evt_1","document_key":"DOC#1","sort_key":"E#000000000001#evt_1"}"#;

    #[test]
    fn hashicorp_terraform_provider_aws_33938_both_shapes_say_the_same() {
        let record = r#"{"eventName":"INSERT","dynamodb":{"Keys":{},"NewImage":{
            "pk":{"S":"DOC#1"},"sk":{"S":"E#000000000001#evt_1"},"event_id":{"S":"evt_1"},"slugs":{"L":[]}}}}"#;
        assert_eq!(Message::read(FLAT).unwrap(), Message::read(record).unwrap());
        assert_eq!(
            serde_json::to_string(&Message::read(FLAT).unwrap()).unwrap(),
            FLAT
        );
    }

    #[test]
    fn anything_else_is_refused() {
        let cases = [
            ("", MessageError::NotJson),
            ("{", MessageError::NotJson),
            ("[]", MessageError::Missing("event_id")),
            (
                "{\"dynamodb\":{\"NewImage\":{}}}",
                MessageError::Missing("event_id"),
            ),
            (r#"{"version":"2","event_id":"evt_1"}"#, MessageError::Version),
            (&FLAT.replace("DOC#1", ""), MessageError::Missing("document_key")),
            (
                &FLAT.replace("E#000000000001#evt_1", "HEAD"),
                MessageError::Missing("sort_key"),
            ),
            (
                &FLAT.replace("evt_1\",\"doc", "<$.dynamodb>\",\"doc"),
                MessageError::Missing("event_id"),
            ),
        ];
        for (body, expected) in cases {
            assert_eq!(Message::read(body), Err(expected), "{body}");
        }
    }
}
