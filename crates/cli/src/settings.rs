//! Arguments that many commands share, and what they mean.

pub mod database;
pub mod ids;
pub(crate) mod queries;
pub mod size;
