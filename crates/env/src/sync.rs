//! Locks, condition variables and atomics.
//!
//! In the manner of `parking_lot`: `lock()` gives the guard, and a panic does not poison.
//! With the cargo feature `shuttle` the same names run on shuttle's scheduler, which tries
//! interleavings; such code must then run within `shuttle::check_*`.

#[cfg(not(feature = "shuttle"))]
mod real;
#[cfg(feature = "shuttle")]
mod simulated;

#[cfg(not(feature = "shuttle"))]
pub use real::*;
#[cfg(feature = "shuttle")]
pub use simulated::*;

pub use std::sync::Arc;

#[cfg(test)]
mod tests;
