//! One mutation for many types: an alias a type, everything else in variables.

use serde_json::{Map, Value, json};

/// A key as Stellate knows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Item<'a> {
    pub(super) graphql_type: &'a str,
    pub(super) field: &'a str,
    pub(super) value: &'a str,
}

/// A request, and which of its items each alias stands for.
#[derive(Debug)]
pub(super) struct Mutation {
    query: String,
    variables: Map<String, Value>,
    /// By alias `p0`, `p1`, …: places in the list of items. None is empty.
    pub(super) groups: Vec<Vec<usize>>,
}

/// `[_A-Za-z][_0-9A-Za-z]*`, the grammar of names in the GraphQL specification.
pub(super) fn is_graphql_name(text: &str) -> bool {
    let mut bytes = text.bytes();
    bytes
        .next()
        .is_some_and(|first| first == b'_' || first.is_ascii_alphabetic())
        && bytes.all(|byte| byte == b'_' || byte.is_ascii_alphanumeric())
}

impl Mutation {
    /// The mutation for `items`; `apart` gives each item an alias of its own, else items of one type share one. `None` without
    /// items: a mutation without keys would purge whole types.
    pub(super) fn of(items: &[Item<'_>], apart: bool, soft: bool) -> Option<Self> {
        let mut groups: Vec<Vec<usize>> = Vec::new();
        for (place, item) in items.iter().enumerate() {
            let same = groups.last_mut().filter(|group| {
                !apart
                    && group
                        .last()
                        .and_then(|last| items.get(*last))
                        .is_some_and(|last| {
                            (last.graphql_type, last.field) == (item.graphql_type, item.field)
                        })
            });
            match same {
                Some(group) => group.push(place),
                None => groups.push(vec![place]),
            }
        }
        if groups.is_empty() {
            return None;
        }
        let mut declared = vec!["$soft: Boolean".to_owned()];
        let mut fields = Vec::new();
        let mut variables = Map::from_iter([("soft".to_owned(), Value::Bool(soft))]);
        for (alias, group) in groups.iter().enumerate() {
            let of_group: Vec<&Item<'_>> = group.iter().filter_map(|place| items.get(*place)).collect();
            let key_fields: Vec<Value> = of_group
                .iter()
                .map(|item| json!({"name": item.field, "value": item.value}))
                .collect();
            declared.push(format!("$t{alias}: String!, $k{alias}: [KeyFieldInput!]"));
            fields.push(format!(
                "p{alias}: _purgeType(type: $t{alias}, keyFields: $k{alias}, soft: $soft)"
            ));
            variables.insert(
                format!("t{alias}"),
                json!(of_group.first().map(|item| item.graphql_type)),
            );
            variables.insert(format!("k{alias}"), Value::Array(key_fields));
        }
        let query = format!(
            "mutation Purge({}) {{ {} }}",
            declared.join(", "),
            fields.join(" ")
        );
        Some(Self {
            query,
            variables,
            groups,
        })
    }

    /// The body to post.
    pub(super) fn body(&self) -> String {
        json!({"query": self.query, "variables": self.variables}).to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn item<'a>(graphql_type: &'a str, field: &'a str, value: &'a str) -> Item<'a> {
        Item {
            graphql_type,
            field,
            value,
        }
    }

    #[test]
    fn the_body_of_a_purge() {
        let items = [
            item("Page", "_id", "page-1"),
            item("Page", "_id", "page-2"),
            item("Routing", "slug", "/caffè \"x\""),
        ];
        let body = Mutation::of(&items, false, true).unwrap().body();
        let golden = include_str!("../../tests/golden/stellate-purge.json");
        let parse = |text: &str| serde_json::from_str::<Value>(text).unwrap();
        assert_eq!(parse(&body), parse(golden), "{body}");
    }

    #[test]
    fn items_told_apart_have_an_alias_each() {
        let items = [item("Page", "_id", "1"), item("Page", "_id", "2")];
        assert_eq!(Mutation::of(&items, false, false).unwrap().groups, [vec![0, 1]]);
        assert_eq!(
            Mutation::of(&items, true, false).unwrap().groups,
            [vec![0], vec![1]]
        );
    }

    #[test]
    fn law_10_without_items_there_is_no_mutation() {
        assert!(Mutation::of(&[], false, false).is_none());
        assert!(Mutation::of(&[], true, true).is_none());
    }

    #[test]
    fn names_of_graphql() {
        for name in ["Page", "_x", "a", "SpfProduct2", "__typename"] {
            assert!(is_graphql_name(name), "{name}");
        }
        for text in ["", "2a", "a-b", "a b", "caffè", "a.b", "Page{", "a\n", "٣"] {
            assert!(!is_graphql_name(text), "{text:?}");
        }
    }
}
