//! JSON as it was written: members as slices of the text, and one canonical form of a whole.
//!
//! A parsed tree would lose what numbers looked like and could overflow the stack on the way; this walks the text once
//! it is known to be JSON ([`is_json`] needs no stack for nesting).

use std::ops::Range;

use serde::de::IgnoredAny;

/// Deeper nesting has no canonical form here. Sanity's own bound is 20.
const DEEPEST: usize = 128;

/// Whether the text is one JSON value.
pub(super) fn is_json(text: &str) -> bool {
    serde_json::from_str::<IgnoredAny>(text).is_ok()
}

/// The members of a JSON object in their order: key and value as written. `None` if the JSON is no object.
///
/// `text` must be JSON.
pub(super) fn members(text: &str) -> Option<Vec<(String, &str)>> {
    let mut walk = Walk { text, at: 0 };
    if !walk.enters(b'{') {
        return None;
    }
    let mut members = vec![];
    while !walk.leaves(b'}') {
        let key = walk.key();
        members.push((key, &text[walk.skip_value()]));
    }
    Some(members)
}

/// A text, if the JSON is one. A text with half a surrogate pair is none.
pub(super) fn text_of(json: &str) -> Option<String> {
    serde_json::from_str(json).ok()
}

/// The canonical form: no blanks, keys sorted by their UTF-8 bytes and without those in `without` at any level, of
/// equal keys the last, texts escaped in one way, numbers and lists as they are. `None` when nested deeper than 128.
///
/// `text` must be JSON.
pub(super) fn canonical(text: &str, without: &[&str]) -> Option<Vec<u8>> {
    let mut out = Vec::with_capacity(text.len());
    Walk { text, at: 0 }.write_canonical(&mut out, without, DEEPEST)?;
    Some(out)
}

/// A position in a text that is JSON. Over any other text it still comes to an end.
struct Walk<'a> {
    text: &'a str,
    at: usize,
}

impl Walk<'_> {
    fn peek(&mut self) -> Option<u8> {
        let rest = &self.text.as_bytes()[self.at..];
        self.at += rest.iter().take_while(|byte| b" \t\r\n".contains(byte)).count();
        self.text.as_bytes().get(self.at).copied()
    }

    fn enters(&mut self, bracket: u8) -> bool {
        let found = self.peek() == Some(bracket);
        self.at += usize::from(found);
        found
    }

    /// Steps over the closing bracket, or over the comma before the next item. The end of the text closes everything.
    fn leaves(&mut self, bracket: u8) -> bool {
        let next = self.peek();
        if next == Some(bracket) || next == Some(b',') {
            self.at += 1;
        }
        next == Some(bracket) || next.is_none()
    }

    /// A key and the colon after it.
    fn key(&mut self) -> String {
        self.peek();
        let key = &self.text[self.skip_string()];
        self.enters(b':');
        text_of(key).unwrap_or_else(|| key.to_owned())
    }

    fn skip_string(&mut self) -> Range<usize> {
        let start = self.at;
        self.at += 1;
        let bytes = self.text.as_bytes();
        while let Some(byte) = bytes.get(self.at) {
            match byte {
                b'\\' => self.at += 2,
                b'"' => break,
                _ => self.at += 1,
            }
        }
        self.at = (self.at + 1).min(bytes.len());
        start.min(self.at)..self.at
    }

    /// Number, `true`, `false` or `null`; at least one byte, so that a walk over anything comes to its end.
    fn skip_scalar(&mut self) -> Range<usize> {
        let start = self.at;
        let rest = &self.text.as_bytes()[start..];
        let length = rest
            .iter()
            .take_while(|byte| !b",:[]{}\" \t\r\n".contains(byte))
            .count();
        self.at = (start + length.max(1)).min(self.text.len());
        start..self.at
    }

    /// Any value, by counting brackets instead of recursing.
    fn skip_value(&mut self) -> Range<usize> {
        self.peek();
        let start = self.at;
        let mut open = 0_usize;
        while let Some(byte) = self.peek() {
            match byte {
                b'"' => _ = self.skip_string(),
                b'{' | b'[' => {
                    open += 1;
                    self.at += 1;
                }
                b'}' | b']' => {
                    open = open.saturating_sub(1);
                    self.at += 1;
                }
                b',' | b':' => self.at += 1,
                _ => _ = self.skip_scalar(),
            }
            if open == 0 {
                break;
            }
        }
        start..self.at
    }

    fn write_canonical(&mut self, out: &mut Vec<u8>, without: &[&str], depth: usize) -> Option<()> {
        let depth = depth.checked_sub(1)?;
        match self.peek()? {
            b'{' => self.write_object(out, without, depth)?,
            b'[' => {
                self.at += 1;
                out.push(b'[');
                let mut first = true;
                while !self.leaves(b']') {
                    if !std::mem::take(&mut first) {
                        out.push(b',');
                    }
                    self.write_canonical(out, without, depth)?;
                }
                out.push(b']');
            }
            b'"' => {
                let written = &self.text[self.skip_string()];
                write_text(out, text_of(written).as_deref(), written);
            }
            _ => {
                let scalar = self.skip_scalar();
                out.extend_from_slice(&self.text.as_bytes()[scalar]);
            }
        }
        Some(())
    }

    /// Members are written in the order of the text, then put in the order of their keys.
    fn write_object(&mut self, out: &mut Vec<u8>, without: &[&str], depth: usize) -> Option<()> {
        self.at += 1;
        let start = out.len();
        let mut members: Vec<(String, Range<usize>)> = vec![];
        while !self.leaves(b'}') {
            let key = self.key();
            if without.contains(&key.as_str()) {
                self.skip_value();
                continue;
            }
            let from = out.len();
            write_text(out, Some(&key), "");
            out.push(b':');
            self.write_canonical(out, without, depth)?;
            members.push((key, from..out.len()));
        }
        members.sort_by(|a, b| a.0.cmp(&b.0));
        let written = out.split_off(start);
        out.push(b'{');
        let mut first = true;
        for (index, (key, range)) in members.iter().enumerate() {
            if members.get(index + 1).is_some_and(|next| next.0 == *key) {
                continue;
            }
            if !std::mem::take(&mut first) {
                out.push(b',');
            }
            out.extend_from_slice(&written[range.start - start..range.end - start]);
        }
        out.push(b'}');
        Some(())
    }
}

/// A text in serde's escaping, or as it was written if it cannot be decoded.
fn write_text(out: &mut Vec<u8>, text: Option<&str>, written: &str) {
    match text.and_then(|text| serde_json::to_vec(text).ok()) {
        Some(escaped) => out.extend(escaped),
        None => out.extend_from_slice(written.as_bytes()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn canonical_text(text: &str) -> String {
        assert!(is_json(text), "{text}");
        String::from_utf8(canonical(text, &["_rev", "_updatedAt"]).unwrap()).unwrap()
    }

    #[test]
    fn one_form_for_all_ways_to_write_it() {
        let expected = r#"{"a":[3,1,2],"b":{"c":1.0,"d":"é"}}"#;
        for text in [
            r#"{"b":{"d":"é","c":1.0},"a":[3,1,2]}"#,
            "\n{ \"a\" : [ 3 , 1 , 2 ] ,\t\"b\" : { \"c\" : 1.0, \"d\" : \"\\u00e9\" } }\r\n",
            r#"{"_rev":"1","a":[3,1,2],"_updatedAt":{"x":[1,"}"]},"b":{"_rev":2,"c":1.0,"d":"\u00E9"}}"#,
            r#"{"a":"first","a":[3,1,2],"b":{"c":1.0,"d":"é"}}"#,
        ] {
            assert_eq!(canonical_text(text), expected, "{text}");
        }
    }

    #[test]
    fn different_content_has_different_forms() {
        assert_ne!(canonical_text("[1,2]"), canonical_text("[2,1]"));
        assert_ne!(canonical_text("1.0"), canonical_text("1"));
        assert_eq!(canonical_text("12345678901234567890.5"), "12345678901234567890.5");
        assert_eq!(
            canonical_text(r#"["\ud83d"]"#),
            r#"["\ud83d"]"#,
            "half a surrogate pair stays as written"
        );
        assert_eq!(canonical_text("{}"), "{}");
        assert_eq!(canonical_text("[]"), "[]");
    }

    #[test]
    fn depth_is_bounded_and_costs_no_stack() {
        let nested = |n: usize| format!("{{\"_id\":\"a\",\"x\":{}{}}}", "[".repeat(n), "]".repeat(n));
        assert!(canonical(&nested(127), &[]).is_some());
        for depth in [128, 3_000_000] {
            let text = nested(depth);
            assert!(is_json(&text));
            assert_eq!(canonical(&text, &[]), None);
            let members = members(&text).unwrap();
            assert_eq!(members.len(), 2);
            assert_eq!(members[0], ("_id".to_owned(), "\"a\""));
            assert_eq!(members[1].1.len(), depth * 2);
        }
    }

    #[test]
    fn members_come_as_written() {
        let found = members(r#" {"a": {"b":[1,"]}"]} , "\u0061":-1.50e+3,"c":null} "#).unwrap();
        let expected = [("a", r#"{"b":[1,"]}"]}"#), ("a", "-1.50e+3"), ("c", "null")];
        assert_eq!(found, expected.map(|(key, value)| (key.to_owned(), value)));
        assert_eq!(members("[1]"), None);
        assert_eq!(members("{}"), Some(vec![]));
    }

    fn any_json() -> impl Strategy<Value = serde_json::Value> {
        use serde_json::Value;
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            ".*".prop_map(Value::from),
        ];
        leaf.prop_recursive(4, 64, 6, |inner| {
            prop_oneof![
                proptest::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
                proptest::collection::btree_map(".{0,4}", inner, 0..6)
                    .prop_map(|map| Value::from(serde_json::Map::from_iter(map))),
            ]
        })
    }

    proptest! {
        // serde's maps are sorted, so its compact text of a value without the dropped keys is the canonical form.
        #[test]
        fn it_agrees_with_serde(value in any_json()) {
            for text in [value.to_string(), serde_json::to_string_pretty(&value).unwrap()] {
                prop_assert_eq!(String::from_utf8(canonical(&text, &[]).unwrap()).unwrap(), value.to_string());
            }
        }

        #[test]
        fn no_text_panics(text in "[\\[\\]{}\",:\\\\0-9a é\\n]{0,40}") {
            let _ = members(&text);
            let _ = canonical(&text, &["a"]);
        }
    }
}
