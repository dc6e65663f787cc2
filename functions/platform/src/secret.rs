//! A text that must not be seen, and what can go wrong in getting it.

use std::fmt;

/// A secret text. It has no `Serialize`, and neither `Debug` nor `Display` shows it; only [`Secret::expose`] does.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// Wraps a text as it is: not trimmed, not normalised.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// The text itself. Never log it, never put it into an error.
    pub fn expose(&self) -> &str {
        &self.0
    }

    /// Whether there is nothing in it.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(hidden)")
    }
}

impl fmt::Display for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("hidden")
    }
}

/// Which version of a secret: during a rotation two are live.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum SecretVersion {
    /// The version that Secrets Manager labels `AWSCURRENT`.
    Current,
    /// The version labelled `AWSPREVIOUS`; a secret that was never rotated has none.
    Previous,
}

impl SecretVersion {
    /// `current` or `previous`, as events record it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Current => "current",
            Self::Previous => "previous",
        }
    }

    /// The staging label of Secrets Manager.
    pub fn stage(self) -> &'static str {
        match self {
            Self::Current => "AWSCURRENT",
            Self::Previous => "AWSPREVIOUS",
        }
    }
}

/// Why a secret could not be had. Every one of these is a fault of ours: a request must not be refused for it, but
/// answered so that the sender tries again. No variant holds any part of a secret.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SecretError {
    /// The role may not read the secret, or not use its key.
    #[error("reading the secret was denied")]
    Denied,
    /// There is no such secret, or it has no current version.
    #[error("the secret does not exist or has no current version")]
    Missing,
    /// Secrets Manager did not answer as it should; the text is its error code.
    #[error("the secret store is not available: {0}")]
    Unavailable(String),
    /// The current version holds nothing.
    #[error("the secret is empty")]
    Empty,
    /// The current version holds bytes instead of text.
    #[error("the secret is not a text")]
    NotText,
    /// The secret should be JSON of a given shape and is not.
    #[error("the secret is not the JSON object that it should be")]
    NotJson,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_shows_itself_only_on_request() {
        let secret = Secret::new("hunter2");
        assert!(!format!("{secret:?} {secret} {secret:#?}").contains("hunter2"));
        assert_eq!(secret.expose(), "hunter2");
    }
}
