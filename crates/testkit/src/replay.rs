//! Running a test from a seed, and repeating failures with selected seeds and steps.

pub mod seed;
pub mod sequence;
