//! The `alluvium` command.
fn main() {}
