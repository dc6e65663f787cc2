//! What Cascata knows of Sanity: how a webhook is signed, what its body says, and how content is asked for.
//!
//! Nothing in here stores or decides anything; the crate turns bytes into facts and says which of them are signed.

pub mod delivery;
pub mod query;
pub mod signature;
