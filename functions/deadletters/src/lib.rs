//! What the queue and the Pipe gave up on: marked in the ledger, told to a person once, and kept until it is settled.
//!
//! A function of its own, not a second job of the relay: the relay is what everything falls back on, so neither its time nor
//! its rights are spent on two more queues and a topic.

pub mod aws;
pub mod letter;
pub mod notice;
pub mod step;
