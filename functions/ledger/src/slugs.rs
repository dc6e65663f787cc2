//! Every slug that a document's pages ever had, kept in the head: what `compensate` purges again (law 5).
//!
//! The events cannot say it. A webhook may name no slug, a reconciled edit knows only the present one, and a path that the
//! routing query computed is in no event at all. The plan knows them all (law 8), so each wake remembers those of its plan.
//! Only what no wake of the document itself saw is missing: a slug between two renames whose webhooks were lost, written to the
//! routes by the wake of a component.

use serde::{Deserialize, Serialize};

/// Bytes of slugs that a head holds. An item may have 400 KB, but every wake reads and writes its head.
const MOST_BYTES: usize = 16 * 1024;

/// The slugs, oldest first, each once.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SlugsEver {
    slugs: Vec<String>,
    /// True once a slug had to be forgotten.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    cut: bool,
}

impl SlugsEver {
    /// Adds a slug, as the purge names it. The oldest are forgotten where there are more than 16 KB of them.
    pub fn remember(&mut self, slug: &str) {
        if self.slugs.iter().any(|held| held == slug) {
            return;
        }
        self.slugs.push(slug.to_owned());
        let mut bytes: usize = self.slugs.iter().map(String::len).sum();
        let mut forgotten = 0;
        while bytes > MOST_BYTES {
            bytes -= self.slugs[forgotten].len();
            forgotten += 1;
        }
        self.slugs.drain(..forgotten);
        self.cut |= forgotten > 0;
    }

    /// The slugs, oldest first.
    pub fn as_slice(&self) -> &[String] {
        &self.slugs
    }

    /// Whether older slugs were forgotten.
    pub fn is_cut(&self) -> bool {
        self.cut
    }

    /// True when no slug is known.
    pub fn is_empty(&self) -> bool {
        self.slugs.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_slug_is_kept_once_in_the_order_of_its_coming() {
        let mut ever = SlugsEver::default();
        for slug in ["/b", "/a", "/b"] {
            ever.remember(slug);
        }
        assert_eq!(ever.as_slice(), ["/b", "/a"]);
        assert!(!ever.is_cut());
    }

    #[test]
    fn the_oldest_are_forgotten_at_the_bound_and_that_is_known() {
        let mut ever = SlugsEver::default();
        let slug = |number: usize| format!("/{number:01799}");
        for number in 0..20 {
            ever.remember(&slug(number));
        }
        assert_eq!(ever.as_slice().len(), MOST_BYTES / 1800);
        assert_eq!(ever.as_slice().last(), Some(&slug(19)));
        assert!(ever.is_cut());
        let stored = serde_json::to_string(&ever).unwrap();
        assert_eq!(serde_json::from_str::<SlugsEver>(&stored).unwrap(), ever);
    }
}
