//! Locks, condition variables and atomics.
//!
//! Like `parking_lot`: `lock()` returns the guard, and a panic does not poison. With the cargo
//! feature `shuttle`, the same types run on shuttle's scheduler, which tries interleavings; code
//! that uses them must then run within `shuttle::check_*`. With the feature `loom`, they run in
//! loom's model, which tries all orders that the memory model allows; code that uses them must then
//! run within [`crate::orders::check`].

#[cfg(not(any(feature = "loom", feature = "shuttle")))]
mod real;
#[cfg(any(feature = "loom", feature = "shuttle"))]
mod simulated;

#[cfg(not(any(feature = "loom", feature = "shuttle")))]
pub use real::*;
#[cfg(any(feature = "loom", feature = "shuttle"))]
pub use simulated::*;

pub use std::sync::Arc;

#[cfg(test)]
mod tests;
