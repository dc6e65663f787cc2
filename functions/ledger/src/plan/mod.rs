//! The purge plan (law 8).

mod key;

pub use key::{Key, Layer};
