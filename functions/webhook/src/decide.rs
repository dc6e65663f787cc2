//! What becomes of a verified delivery: handled, stored and left alone, or stored for a person.

use ledger::record::{Decision, Settings};
use routing::{RoutesConfig, TypePolicy};
use sanity::delivery::{Delivery, Fact};

/// Decides. The reasons are stable codes:
///
/// | state | reason | when |
/// |---|---|---|
/// | `in_review` | those of [`sanity::delivery::ReviewReason`] | the body cannot be acted on |
/// | `ignored` | `draft_or_version` | the document is a draft or belongs to a release |
/// | `in_review` | `project_not_configured`, `dataset_not_configured` | this stack has no business with it |
/// | `ignored` | `type_ignored` | the type is listed under `ignored` in `routes.toml` |
/// | `in_review` | `unknown_type` | the type is not listed at all, and `unknown_types` is `review` |
pub fn decide(delivery: &Delivery, settings: &Settings, routes: &RoutesConfig) -> Decision {
    if let Some(reason) = delivery.review {
        return in_review(reason.as_str());
    }
    if delivery.is_draft_or_version() {
        return ignored("draft_or_version");
    }
    let is_other = |fact: &Option<Fact<String>>, known: &[String]| {
        fact.as_ref().is_some_and(|fact| !known.contains(&fact.value))
    };
    if is_other(&delivery.project, std::slice::from_ref(&settings.project)) {
        return in_review("project_not_configured");
    }
    if is_other(&delivery.dataset, &settings.datasets) {
        return in_review("dataset_not_configured");
    }
    // A body without a type is one of a type that nobody has listed.
    match routes.type_policy(delivery.document_type.as_deref().unwrap_or_default()) {
        TypePolicy::Routed | TypePolicy::Component => Decision::Pending,
        TypePolicy::Ignored => ignored("type_ignored"),
        TypePolicy::Review => in_review("unknown_type"),
    }
}

fn ignored(reason: &str) -> Decision {
    Decision::Ignored {
        reason: reason.to_owned(),
    }
}

fn in_review(reason: &str) -> Decision {
    Decision::InReview {
        reason: reason.to_owned(),
    }
}
