//! Why something was refused or failed, short enough to store and safe enough to show.

use std::fmt;

use platform::Secret;
use serde::{Deserialize, Serialize};

/// No reason is longer, in characters.
const LONGEST: usize = 200;
/// What is quoted of a foreign text, in characters.
const LONGEST_QUOTE: usize = 140;

/// One line of at most 200 characters, without control characters. It is built from a fixed vocabulary and status codes; of
/// a foreign text only a GraphQL or page error message is quoted, cut and with our own secrets taken out.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
pub struct Reason(String);

impl Reason {
    /// A reason in our own words.
    pub fn new(text: impl AsRef<str>) -> Self {
        Self(one_line(text.as_ref(), LONGEST))
    }

    /// Our own words and, behind a colon, what the target said. `secrets` are taken out of the quote before it is cut.
    pub(crate) fn quoting(ours: &str, theirs: &str, secrets: &[&Secret]) -> Self {
        let mut quote = theirs.to_owned();
        for secret in secrets.iter().filter(|secret| !secret.expose().trim().is_empty()) {
            quote = quote.replace(secret.expose().trim(), "[secret]");
        }
        match one_line(&quote, LONGEST_QUOTE) {
            quote if quote.is_empty() => Self::new(ours),
            quote => Self::new(format!("{ours}: {quote}")),
        }
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

fn one_line(text: &str, longest: usize) -> String {
    // Cut first: a hostile message may be long. Collapsing white space only shortens.
    let head: String = text
        .chars()
        .take(4 * longest)
        .map(|c| if c.is_control() { ' ' } else { c })
        .collect();
    let words: Vec<&str> = head.split_whitespace().collect();
    let line = words.join(" ");
    match line.char_indices().nth(longest) {
        None => line,
        Some(_) => line.chars().take(longest - 1).chain(['…']).collect(),
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.0, f)
    }
}

impl From<&str> for Reason {
    fn from(text: &str) -> Self {
        Self::new(text)
    }
}

impl From<String> for Reason {
    fn from(text: String) -> Self {
        Self::new(text)
    }
}

impl From<Reason> for String {
    fn from(reason: Reason) -> Self {
        reason.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reason_is_one_short_line() {
        let reason = Reason::new(format!("a\n\tb\u{0}c\r\n {}", "è".repeat(500)));
        assert!(reason.as_str().starts_with("a b c è"));
        assert_eq!(reason.as_str().chars().count(), 200);
        assert!(reason.as_str().ends_with('…'));
    }

    #[test]
    fn our_secrets_never_come_back_in_a_quote() {
        let token = Secret::new("  s3cret-token\n");
        let reason = Reason::quoting(
            "GraphQL error",
            "bad token s3cret-token!",
            &[&token, &Secret::new("")],
        );
        assert_eq!(reason.as_str(), "GraphQL error: bad token [secret]!");
    }

    #[test]
    fn a_secret_at_the_cut_is_not_halved_into_view() {
        let token = Secret::new("abcdefghijklmnop");
        let said = format!("{}{}", "x".repeat(LONGEST_QUOTE - 4), token.expose());
        assert!(
            !Reason::quoting("HTTP 400", &said, &[&token])
                .as_str()
                .contains("abc")
        );
    }
}
