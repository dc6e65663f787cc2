//! consumer
fn main() {}
