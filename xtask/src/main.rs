//! Tasks of the house.
fn main() {}
