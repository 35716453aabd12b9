//! The `isobox` program.
fn main() {}
