//! relay
fn main() {}
