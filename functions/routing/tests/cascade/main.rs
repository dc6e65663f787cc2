//! What one changed document makes of its own pages and of those that depend on it.

#![allow(clippy::unwrap_used)]

mod bounds;
mod components;
mod guards;
mod joined;
mod pages;
mod property;
mod references;
mod world;
