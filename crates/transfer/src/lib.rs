//! Files in other formats: loads, exports, dumps and restores.
//!
//! The functions take an [`EngineHandle`](alluvium_collections::engine::EngineHandle) and
//! collection names. Crate `alluvium` has the handles for users.

#![deny(missing_docs)]
#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::expect_used, clippy::panic))]

pub mod dump;
pub mod export;
pub mod load;
pub mod marks;
pub mod packing;
pub mod read_only_build;
#[cfg(test)]
mod testing;
