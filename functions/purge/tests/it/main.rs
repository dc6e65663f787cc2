//! The targets against servers that answer as Stellate and Next.js do, and as they should not.

// Helpers of tests are tests too: what fails here must fail loudly.
#![allow(clippy::unwrap_used)]

mod law_10;
mod server;
mod stellate;
mod storefront;
mod transport;
