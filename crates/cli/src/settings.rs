//! Arguments that many commands share, and what they mean.

pub mod database;
pub mod ids;
pub(crate) mod questions;
pub mod size;
