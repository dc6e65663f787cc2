//! Random histories: the real decision code of webhook, ledger, consumer, relay, reconcile, dead letters and operator, over the
//! ledger and the routes in memory, on virtual time, with everything around it modelled: Sanity and its lagging index, stream,
//! Pipe and FIFO queue, processes that die or freeze at any await, failing targets, three layers of caches and the visitors
//! that fill them.
//!
//! A history is a seed and a [`config`]; the same two give the same history. What must hold when all is quiet is in [`verdict`];
//! [`config::Switches`] break a law each, to show that the rig would see it.

pub mod caches;
pub mod config;
pub mod functions;
pub mod history;
pub mod jobs;
pub mod lagging;
pub mod lake;
pub mod late;
pub mod letters;
pub mod ports;
pub mod process;
pub mod random;
pub mod script;
pub mod table;
pub mod targets;
pub mod transport;
pub mod verdict;
pub mod world;
