//! purge
