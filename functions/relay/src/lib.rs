//! The relay: what is READY and due is settled, sent again, or DEAD (law 12). As a library, so that tests and simulations run
//! the same step as the function.

pub mod aws;
pub mod step;
