//! Arguments that many commands share, and their resolution.

pub mod access;
pub mod database;
pub mod ids;
pub(crate) mod pipelines;
pub(crate) mod queries;
pub(crate) mod retention;
pub(crate) mod scopes;
pub mod size;
