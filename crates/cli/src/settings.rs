//! Arguments that many commands share, and what they mean.

pub(crate) mod database;
pub(crate) mod ids;
pub(crate) mod questions;
pub(crate) mod size;
