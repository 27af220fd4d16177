//! Commands on a database that another process serves: they run there, with the standard streams, the working
//! directory and the settings of the process that was started ([decision 0071](../../../docs/decisions)).
//!
//! Over the owner's socket ([`alluvium_server::connect`]) the visitor sends its arguments, and its streams as
//! descriptors. The host answers with one byte when it begins, one when the command reads a terminal, and the exit code
//! at the end. The end of either side's connection stops the command.

pub(crate) mod host;
mod message;
mod place;
pub(crate) mod target;
pub(crate) mod visitor;
