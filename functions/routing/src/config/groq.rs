//! The little that is known of a GROQ query without evaluating it.

use std::collections::BTreeSet;

/// What a query mentions outside comments.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Mentions {
    /// Names of parameters, without `$`.
    pub(super) parameters: BTreeSet<String>,
    /// Identifiers and the contents of string literals (`"routes": …` and `routes` name the same field).
    pub(super) words: BTreeSet<String>,
}

/// Finds what `query` mentions.
pub(super) fn mentions(query: &str) -> Mentions {
    let mut found = Mentions::default();
    let mut rest = query;
    while let Some(first) = rest.chars().next() {
        if rest.starts_with("//") {
            rest = rest.split_once('\n').map_or("", |(_, after)| after);
        } else if first == '"' || first == '\'' {
            let (literal, after) = literal(&rest[1..], first);
            found.words.insert(literal.to_owned());
            rest = after;
        } else if first == '$' {
            let (name, after) = word(&rest[1..]);
            found.parameters.insert(name.to_owned());
            rest = after;
        } else if first == '_' || first.is_ascii_alphabetic() {
            let (name, after) = word(rest);
            found.words.insert(name.to_owned());
            rest = after;
        } else {
            rest = &rest[first.len_utf8()..];
        }
    }
    found
}

/// The string literal at the start of `text` (after its opening quote), and what follows it.
fn literal(text: &str, quote: char) -> (&str, &str) {
    let mut escaped = false;
    for (at, char) in text.char_indices() {
        match char {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            char if char == quote => return (&text[..at], &text[at + 1..]),
            _ => {}
        }
    }
    (text, "")
}

/// The identifier at the start of `text`, and what follows it.
fn word(text: &str) -> (&str, &str) {
    let end = text
        .find(|char: char| char != '_' && !char.is_ascii_alphanumeric())
        .unwrap_or(text.len());
    text.split_at(end)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_and_strings_are_told_apart() {
        let found = mentions(
            "*[_id in $ids]{ // $later\n \"routes\": 'a // $b \\' \" é', price > 5 && x == '$' + $lang }",
        );
        assert_eq!(found.parameters, ["ids", "lang"].map(String::from).into());
        for word in ["_id", "routes", "price", "x", "$", "a // $b \\' \" é"] {
            assert!(found.words.contains(word), "{word}");
        }
        assert!(!found.words.contains("later"));
    }

    #[test]
    fn unfinished_text_ends() {
        for query in ["\"open", "'open\\", "//", "$", ""] {
            mentions(query);
        }
    }
}
