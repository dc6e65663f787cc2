//! Sanity as the simulation has it: every version of every document, and when the query index shows it.

use serde_json::{Value, json};
use time::OffsetDateTime;

use crate::{
    config::Config,
    random::Random,
    script::{Content, Edit, Script},
};

/// Epoch second at which every history begins.
pub const START: i64 = 1_900_000_000;
/// Second of what was there before.
const BEFORE: i64 = START - 1_000_000;
/// The one dataset.
pub const DATASET: &str = "production";
/// The one project.
pub const PROJECT: &str = "project";

/// One version of a document.
#[derive(Debug, Clone, PartialEq)]
pub struct Version {
    /// Since the start: when the index shows it.
    pub visible: f64,
    /// Its place among the document's versions.
    pub index: usize,
    /// `_rev`; none: it does not exist.
    pub revision: Option<String>,
    /// `_updatedAt`, epoch seconds; of a deleted one the last it had.
    pub second: i64,
    /// What it says.
    pub content: Option<Content>,
}

/// What the GraphQL API says of a page: its version, and that of each component it shows.
pub type Page = (usize, Vec<(usize, Option<String>)>);
/// What a visitor gets at a slug: the page's document with its content, or none for a 404.
pub type Shown = Option<(usize, Page)>;

/// All documents.
#[derive(Debug)]
pub struct Lake {
    pages: usize,
    replicas: f64,
    versions: Vec<Vec<Version>>,
    /// (document, version) of which a webhook reached us.
    pub delivered: std::collections::BTreeSet<(usize, usize)>,
}

/// A change that was made.
#[derive(Debug, Clone)]
pub struct Change {
    /// The version it made.
    pub index: usize,
    /// The webhook's body.
    pub body: Value,
}

impl Lake {
    /// The documents before the history begins.
    pub fn new(script: &Script, config: &Config) -> Self {
        let first = |(document, content): (usize, &Option<Content>)| {
            vec![Version {
                visible: f64::NEG_INFINITY,
                index: 0,
                revision: content.as_ref().map(|_| format!("{}-r0", id(config, document))),
                second: BEFORE - document as i64,
                content: content.clone(),
            }]
        };
        Self {
            pages: config.pages,
            replicas: config.replicas,
            versions: script.initial.iter().enumerate().map(first).collect(),
            delivered: std::collections::BTreeSet::new(),
        }
    }

    /// How many documents there are, pages first.
    pub fn documents(&self) -> usize {
        self.versions.len()
    }

    /// How many of them are pages.
    pub fn pages(&self) -> usize {
        self.pages
    }

    /// Every version of a document.
    pub fn versions(&self, document: usize) -> &[Version] {
        &self.versions[document]
    }

    /// What a document says in truth.
    pub fn latest(&self, document: usize) -> &Version {
        let versions = &self.versions[document];
        &versions[versions.len() - 1]
    }

    /// What the index shows of a document at `now`; each read may meet a replica that is behind.
    pub fn visible(&self, document: usize, now: f64, random: &mut Random) -> &Version {
        let behind = if self.replicas > 0.0 && random.chance(0.3) {
            random.between(0.0, self.replicas)
        } else {
            0.0
        };
        let versions = &self.versions[document];
        versions
            .iter()
            .rev()
            .find(|version| version.visible <= now - behind)
            .unwrap_or(&versions[0])
    }

    /// Makes a change. None: there was nothing to delete.
    pub fn change(&mut self, edit: &Edit, config: &Config) -> Option<Change> {
        let before = self.latest(edit.document).clone();
        let (operation, revision, second) = match (&before.content, &edit.content) {
            (None, None) => return None,
            // A delete is told with the revision and time of what it deleted.
            (Some(_), None) => ("delete", before.revision.clone(), before.second),
            (held, Some(_)) => {
                let operation = if held.is_none() { "create" } else { "update" };
                let revision = format!("{}-r{}", id(config, edit.document), edit.number + 1);
                let second = START + edit.at as i64 - edit.backdated;
                (operation, Some(revision), second)
            }
        };
        let slug = |content: &Option<Content>| {
            let slug = content.as_ref().and_then(|content| content.slug);
            slug.map(slug_name)
        };
        let body = body(
            config,
            edit.document,
            operation,
            revision.as_deref(),
            (!edit.hook.timeless).then_some(second),
            [slug(&edit.content), slug(&before.content)],
            before.revision.as_deref(),
        );
        let index = before.index + 1;
        self.versions[edit.document].push(Version {
            visible: before.visible.max(edit.at + edit.lag),
            index,
            revision: edit.content.as_ref().and(revision),
            second,
            content: edit.content.clone(),
        });
        Some(Change { index, body })
    }

    /// What a visitor would get at a slug if the documents were as `get` says.
    pub fn shown<'a>(&self, slug: usize, mut get: impl FnMut(usize) -> &'a Version) -> Shown {
        let versions: Vec<&Version> = (0..self.documents()).map(&mut get).collect();
        let page = (0..self.pages).find(|page| {
            versions[*page]
                .content
                .as_ref()
                .is_some_and(|content| content.slug == Some(slug))
        })?;
        Some((page, page_of(&versions, page)?))
    }

    /// What the page's object says if the documents were as `get` says.
    pub fn object<'a>(&self, page: usize, get: impl FnMut(usize) -> &'a Version) -> Option<Page> {
        let versions: Vec<&Version> = (0..self.documents()).map(get).collect();
        page_of(&versions, page)
    }

    /// What a visitor should get at a slug.
    pub fn truth(&self, slug: usize) -> Shown {
        self.shown(slug, |document| self.latest(document))
    }
}

fn page_of(versions: &[&Version], page: usize) -> Option<Page> {
    let content = versions[page].content.as_ref()?;
    let component = |document: &usize| (*document, versions[*document].revision.clone());
    Some((
        versions[page].index,
        content.shows.iter().map(component).collect(),
    ))
}

/// `_id` of a document.
pub fn id(config: &Config, document: usize) -> String {
    if document < config.pages {
        format!("page-{document}")
    } else {
        format!("banner-{}", document - config.pages)
    }
}

/// The document with this `_id`.
pub fn document(config: &Config, id: &str) -> Option<usize> {
    (0..config.pages + config.components).find(|document| self::id(config, *document) == id)
}

/// `_type` of a document.
pub fn kind(config: &Config, document: usize) -> &'static str {
    if document < config.pages { "page" } else { "banner" }
}

/// A slug's text.
pub fn slug_name(slug: usize) -> String {
    format!("/{}", char::from(b'a' + slug as u8))
}

/// The number of a slug's text.
pub fn slug_number(name: &str) -> Option<usize> {
    let letter = name.strip_prefix('/')?.bytes().next()?;
    Some(usize::from(letter.checked_sub(b'a')?))
}

/// The body of a webhook; `slugs` are the present and the former.
pub fn body(
    config: &Config,
    document: usize,
    operation: &str,
    revision: Option<&str>,
    second: Option<i64>,
    slugs: [Option<String>; 2],
    previous: Option<&str>,
) -> Value {
    let [slug, previous_slug] = slugs;
    let updated_at = second
        .and_then(|second| OffsetDateTime::from_unix_timestamp(second).ok())
        .map(ledger::record::rfc3339);
    json!({
        "_id": id(config, document), "_type": kind(config, document), "_rev": revision, "_updatedAt": updated_at,
        "operation": operation, "slug": slug, "previousSlug": previous_slug, "previousRevision": previous,
        "projectId": PROJECT, "dataset": DATASET,
    })
}
