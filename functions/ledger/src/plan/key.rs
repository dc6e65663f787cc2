//! What a purge names: an object of the GraphQL schema, or a slug.

use serde::{Deserialize, Serialize};

/// One thing to purge.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(tag = "key", rename_all = "snake_case")]
pub enum Key {
    /// An object of the GraphQL schema, by its type and `_id`. Only the GraphQL CDN knows objects.
    Object {
        /// The GraphQL type, e.g. `Product`.
        graphql_type: String,
        /// The Sanity document's `_id`.
        id: String,
    },
    /// A slug: `Routing` by `slug` in the GraphQL CDN, and a path of the storefront and of the HTML CDN.
    Slug {
        /// As the route holds it, unencoded.
        slug: String,
    },
}

/// The caches in front of an edit, from the innermost outwards (law 10).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Layer {
    /// Caches answers of the GraphQL API, e.g. Stellate.
    GraphqlCdn,
    /// Caches rendered pages, e.g. Next.js.
    Storefront,
    /// Caches HTML in front of the storefront, e.g. CloudFront.
    HtmlCdn,
}

impl Layer {
    /// Every layer, innermost first.
    pub const ALL: [Self; 3] = [Self::GraphqlCdn, Self::Storefront, Self::HtmlCdn];
}

impl Key {
    /// Whether it is an object of this document.
    pub fn is_object_of(&self, document_id: &str) -> bool {
        matches!(self, Self::Object { id, .. } if id == document_id)
    }

    /// The layers that know this key, innermost first.
    pub fn layers(&self) -> &'static [Layer] {
        match self {
            Self::Object { .. } => &Layer::ALL[..1],
            Self::Slug { .. } => &Layer::ALL,
        }
    }
}
