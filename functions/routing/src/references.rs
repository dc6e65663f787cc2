//! Which documents a document references.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::model::{is_document_id, published};

/// The published documents that `document` references, wherever in it a `_ref` stands: in arrays, nested objects, and the
/// blocks and annotations of portable text. A weak reference counts like any other, and so does one to a draft or a version:
/// the document meant is the published one.
///
/// A reference into another dataset is none of ours: nothing that happens to its document reaches this dataset's events.
/// The document itself is not left out, nor what does not exist.
pub fn references(document: &Value) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    // Sanity nests at most 20 deep, and serde_json reads at most 128; a list costs no stack at all.
    let mut open = vec![document];
    while let Some(value) = open.pop() {
        match value {
            Value::Array(items) => open.extend(items),
            Value::Object(fields) => {
                let elsewhere = ["_dataset", "_projectId"]
                    .iter()
                    .any(|key| fields.contains_key(*key));
                if let Some(id) = fields.get("_ref").and_then(Value::as_str)
                    && !elsewhere
                {
                    let id = published(id);
                    if is_document_id(id) {
                        found.insert(id.to_owned());
                    }
                }
                open.extend(fields.values());
            }
            _ => {}
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_reference_is_found_wherever_it_stands() {
        let cases = [
            ("a field", json!({"author": {"_ref": "a"}}), vec!["a"]),
            (
                "arrays and nested objects",
                json!({"sections": [{"items": [{"_ref": "a"}, {"deep": {"deeper": {"_ref": "b"}}}]}]}),
                vec!["a", "b"],
            ),
            (
                "portable text: a block, an annotation, an image",
                json!({"body": [
                    {"_type": "block", "markDefs": [{"_key": "k", "_type": "link", "to": {"_ref": "a"}}],
                     "children": [{"_type": "span", "text": "_ref"}, {"_type": "inline", "who": {"_ref": "b"}}]},
                    {"_type": "image", "asset": {"_ref": "image-c-1x1-png", "_type": "reference"}},
                ]}),
                vec!["a", "b", "image-c-1x1-png"],
            ),
            (
                "weak, or to be made strong",
                json!([{"_ref": "a", "_weak": true}, {"_ref": "b", "_weak": true, "_strengthenOnPublish": {}}]),
                vec!["a", "b"],
            ),
            (
                "a draft or a version means the published document",
                json!([{"_ref": "drafts.a"}, {"_ref": "versions.r1.b"}]),
                vec!["a", "b"],
            ),
            ("the same twice", json!([{"_ref": "a"}, {"_ref": "a"}]), vec!["a"]),
            (
                "another dataset, another project, a media library",
                json!([{"_ref": "a", "_dataset": "d"}, {"_ref": "b", "_projectId": "p", "_dataset": "d"},
                       {"_ref": "media-library:ml:c"}]),
                vec![],
            ),
            (
                "no id at all",
                json!([{"_ref": null}, {"_ref": 7}, {"_ref": ""}, {"_ref": "a b"}, {"_ref": "drafts."}]),
                vec![],
            ),
            ("no references", json!({"_id": "p", "title": "a"}), vec![]),
            ("no object", json!(null), vec![]),
        ];
        for (name, document, expected) in cases {
            let found: Vec<String> = references(&document).into_iter().collect();
            assert_eq!(found, expected, "{name}");
        }
    }
}
