//! Tidy checks and figures.
fn main() {}
