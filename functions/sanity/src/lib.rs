//! sanity
