//! The seeds' scenarios, as a library that the command line runs.

#![deny(missing_docs)]

pub mod comments;
pub mod iibench;
pub mod keys;
pub mod process;
pub mod scenarios;
