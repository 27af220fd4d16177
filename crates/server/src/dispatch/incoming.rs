//! A request before its command runs.

use crate::body::Body;
use crate::client::Client;
use crate::commands::Command;
use crate::concern::WriteConcern;
use crate::error::CommandResult;
use crate::fail_points::Failure;
use crate::shared::Shared;
use alluvium::Timestamp;
use alluvium_wire::Sequence;

/// A request with a known command.
pub(super) struct Incoming<'a> {
    pub shared: &'a Shared,
    pub client: &'a Client,
    pub command: &'static Command,
    /// The database that the request is sent to.
    pub db: &'a str,
    pub body: &'a Body,
    pub sequences: &'a [Sequence],
    /// The failure that a fail point sets for the request.
    pub failure: Option<&'a Failure>,
    pub write_concern: &'a CommandResult<WriteConcern>,
    /// The cluster time that the client has sent.
    pub cluster_time: &'a CommandResult<Option<Timestamp>>,
    /// The full name of the collection, or the name of the database.
    pub namespace: &'a str,
}
