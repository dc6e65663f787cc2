//! webhook
fn main() {}
