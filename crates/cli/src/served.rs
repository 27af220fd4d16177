//! Commands on a database that another process serves: the serving process runs them, with the standard streams, the
//! working directory and the settings of the process that was started ([decision 0071](../../../docs/decisions)).
//!
//! The process that was started is called the visitor, and the serving process the host. Over the owner's socket
//! ([`alluvium_server::connect`]) the visitor sends its arguments, and its streams as descriptors. The host sends one
//! byte when the command begins, one byte when the command reads a terminal, and the exit code at the end. If either
//! side closes the connection, the command stops.

pub(crate) mod host;
mod message;
mod place;
pub(crate) mod target;
pub(crate) mod visitor;
