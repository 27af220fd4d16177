//! Running a test from a seed, and running again what failed: which seeds, and which steps of a sequence.

pub mod seed;
pub mod sequence;
