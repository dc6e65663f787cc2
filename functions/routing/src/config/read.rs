//! Reading a TOML table key by key, collecting problems instead of stopping at the first.

use std::collections::BTreeSet;
use std::ops::{Range, RangeInclusive};

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::Problem;

/// The problems found so far in one file.
pub(super) struct Problems<'t> {
    text: &'t str,
    found: Vec<Problem>,
}

impl<'t> Problems<'t> {
    pub(super) fn new(text: &'t str) -> Self {
        Self { text, found: vec![] }
    }

    /// Records that `what` is wrong with `key` at `at`.
    pub(super) fn add(&mut self, at: usize, key: &str, what: impl Into<String>) {
        let before = self.text.get(..at).unwrap_or(self.text);
        self.found.push(Problem {
            line: before.matches('\n').count() + 1,
            key: key.to_owned(),
            what: what.into(),
        });
    }

    pub(super) fn into_sorted(mut self) -> Vec<Problem> {
        self.found.sort();
        self.found
    }
}

/// One table of the file, with the keys that were asked for.
pub(super) struct Table<'a, 't> {
    table: &'a DeTable<'t>,
    at: usize,
    path: String,
    known: BTreeSet<&'static str>,
}

impl<'a, 't> Table<'a, 't> {
    pub(super) fn root(table: &'a DeTable<'t>) -> Self {
        Self {
            table,
            at: 0,
            path: String::new(),
            known: BTreeSet::new(),
        }
    }

    pub(super) fn path_of(&self, key: &str) -> String {
        // Quoted where TOML would want it: a Sanity type may hold a dot.
        let bare = key
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"_-".contains(&byte));
        let key = if bare { key.to_owned() } else { format!("{key:?}") };
        match self.path.as_str() {
            "" => key,
            path => format!("{path}.{key}"),
        }
    }

    fn get(&mut self, key: &'static str) -> Option<&'a Spanned<DeValue<'t>>> {
        self.known.insert(key);
        self.table.get(key)
    }

    /// A required text.
    pub(super) fn text(&mut self, key: &'static str, problems: &mut Problems<'_>) -> String {
        match self.optional_text(key, problems) {
            Some(text) => text,
            None => {
                if !self.table.contains_key(key) {
                    self.missing(key, "a text", problems);
                }
                String::new()
            }
        }
    }

    /// A text that may be missing, but not be empty.
    pub(super) fn optional_text(&mut self, key: &'static str, problems: &mut Problems<'_>) -> Option<String> {
        let value = self.get(key)?;
        let text = value
            .get_ref()
            .as_str()
            .map(str::trim)
            .filter(|text| !text.is_empty());
        if text.is_none() {
            problems.add(
                start(value),
                &self.path_of(key),
                "must be a text that is not empty",
            );
        }
        text.map(str::to_owned)
    }

    /// Whether there is such a key.
    pub(super) fn has(&self, key: &str) -> bool {
        self.table.contains_key(key)
    }

    /// A flag that may be missing.
    pub(super) fn optional_flag(&mut self, key: &'static str, problems: &mut Problems<'_>) -> Option<bool> {
        let value = self.get(key)?;
        let flag = value.get_ref().as_bool();
        if flag.is_none() {
            problems.add(start(value), &self.path_of(key), "must be true or false");
        }
        flag
    }

    /// A required whole number within `range`.
    pub(super) fn number(
        &mut self,
        key: &'static str,
        range: RangeInclusive<usize>,
        problems: &mut Problems<'_>,
    ) -> usize {
        let Some(value) = self.get(key) else {
            self.missing(key, "a whole number", problems);
            return *range.start();
        };
        let number = value
            .get_ref()
            .as_integer()
            .and_then(|number| usize::from_str_radix(number.as_str(), number.radix()).ok())
            .filter(|number| range.contains(number));
        number.unwrap_or_else(|| {
            let what = format!("must be a whole number from {} to {}", range.start(), range.end());
            problems.add(start(value), &self.path_of(key), what);
            *range.start()
        })
    }

    /// A list of texts, each with where it is; a missing list is empty.
    pub(super) fn texts(
        &mut self,
        key: &'static str,
        problems: &mut Problems<'_>,
    ) -> Option<Vec<(String, usize)>> {
        let value = self.get(key)?;
        let path = self.path_of(key);
        let Some(items) = value.get_ref().as_array() else {
            problems.add(start(value), &path, "must be a list of texts");
            return Some(vec![]);
        };
        let mut texts = vec![];
        for item in items.iter() {
            match item.get_ref().as_str() {
                Some(text) if !text.is_empty() => texts.push((text.to_owned(), start(item))),
                _ => problems.add(start(item), &path, "must hold texts that are not empty"),
            }
        }
        Some(texts)
    }

    /// A table under this one; an absent one is reported if `required`.
    pub(super) fn table(
        &mut self,
        key: &'static str,
        required: bool,
        problems: &mut Problems<'_>,
    ) -> Option<Table<'a, 't>> {
        let Some(value) = self.get(key) else {
            if required {
                self.missing(key, "a table", problems);
            }
            return None;
        };
        self.sub_table(key, value, problems)
    }

    /// Every entry of this table, whatever its key; each must be a table.
    pub(super) fn tables(&self, problems: &mut Problems<'_>) -> Vec<(String, Table<'a, 't>)> {
        self.table
            .iter()
            .filter_map(|(name, value)| {
                let mut table = self.sub_table(name.get_ref(), value, problems)?;
                table.at = start(name);
                Some((name.get_ref().to_string(), table))
            })
            .collect()
    }

    fn sub_table(
        &self,
        key: &str,
        value: &'a Spanned<DeValue<'t>>,
        problems: &mut Problems<'_>,
    ) -> Option<Table<'a, 't>> {
        let path = self.path_of(key);
        match value.get_ref().as_table() {
            Some(table) => Some(Table {
                table,
                at: start(value),
                path,
                known: BTreeSet::new(),
            }),
            None => {
                problems.add(start(value), &path, "must be a table");
                None
            }
        }
    }

    /// Where the value under `key` is, or the table if there is none.
    pub(super) fn position(&self, key: &str) -> usize {
        self.table.get(key).map_or(self.at, start)
    }

    /// The table's own position.
    pub(super) fn at(&self) -> usize {
        self.at
    }

    /// The table's own dotted path.
    pub(super) fn path(&self) -> &str {
        &self.path
    }

    /// Reports every key that nobody asked for.
    pub(super) fn finish(self, problems: &mut Problems<'_>) {
        for key in self.table.keys() {
            if !self.known.contains(key.get_ref().as_ref()) {
                let known: Vec<&str> = self.known.iter().copied().collect();
                let what = format!("is not known here; known are {}", known.join(", "));
                problems.add(start(key), &self.path_of(key.get_ref()), what);
            }
        }
    }

    fn missing(&self, key: &str, what: &str, problems: &mut Problems<'_>) {
        problems.add(
            self.at,
            &self.path_of(key),
            format!("is missing; it must be {what}"),
        );
    }
}

fn start<T>(spanned: &Spanned<T>) -> usize {
    let Range { start, .. } = spanned.span();
    start
}
