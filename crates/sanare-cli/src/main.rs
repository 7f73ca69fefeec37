//! The `sanare` binary.
fn main() {}
