//! Runs tests from seeds, and repeats failures with selected seeds and steps.

pub mod seed;
pub mod sequence;
