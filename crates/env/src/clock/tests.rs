//! Tests of the clocks.
