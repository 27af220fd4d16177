//! Read and write concerns.

use crate::error::{CommandError, CommandResult};
use crate::fields::Fields;
use alluvium::{Durability, Map, Value};

/// How a write is acknowledged.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct WriteConcern {
    /// No reply is sent.
    pub unacknowledged: bool,
    /// The write waits until it is on the disk: `j: true`, or `w: "majority"`, since this server is the majority.
    pub synced: bool,
    /// The error for members that do not exist, such as `w: 2`. The write is done all the same, as in MongoDB.
    pub unsatisfiable: Option<CommandError>,
}

impl WriteConcern {
    /// The write concern of a command.
    ///
    /// # Errors
    /// Error 9 for a wrong one.
    pub(crate) fn parse(body: &Map) -> CommandResult<Self> {
        let Some(given) = body.document("writeConcern") else { return Ok(Self::default()) };
        let mut concern = Self { synced: given.flag("j") || given.flag("fsync"), ..Self::default() };
        match given.get("w") {
            None => {}
            Some(Value::String(mode)) if &**mode == "majority" => concern.synced = true,
            Some(Value::String(mode)) => {
                let message = format!("No write concern mode named '{mode}' found in replica set configuration");
                concern.unsatisfiable = Some(CommandError::new(79, "UnknownReplWriteConcern", message));
            }
            Some(number) if number.is_number() => match given.integer("w") {
                Some(0) => concern.unacknowledged = !concern.synced,
                Some(1) => {}
                Some(2..=50) => {
                    let error = CommandError::unsatisfiable_write_concern("Not enough data-bearing nodes");
                    concern.unsatisfiable = Some(error);
                }
                _ => {
                    let message = "w has to be a non-negative number and not greater than 50";
                    return Err(CommandError::failed_to_parse(message));
                }
            },
            Some(Value::Map(_)) => {
                let message = "No write concern tags are configured: use w: 1 or w: \"majority\"";
                concern.unsatisfiable = Some(CommandError::unsatisfiable_write_concern(message));
            }
            Some(_) => {
                let message = "w has to be a number, string, or object";
                return Err(CommandError::failed_to_parse(message));
            }
        }
        Ok(concern)
    }

    /// The durability of writes; `None` for the database's own.
    pub(crate) fn durability(&self) -> Option<Durability> {
        self.synced.then_some(Durability::Sync)
    }
}

/// What a read sees.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ReadLevel {
    /// The latest writes.
    Local,
    /// Writes that are on the disk.
    Majority,
    /// One state of all collections.
    Snapshot,
}

impl ReadLevel {
    /// The level of a command's read concern.
    ///
    /// # Errors
    /// Error 9 for an unknown one.
    pub(crate) fn parse(body: &Map) -> CommandResult<Self> {
        match body.document("readConcern").and_then(|concern| concern.text("level")) {
            None | Some("local" | "available") => Ok(Self::Local),
            Some("majority" | "linearizable") => Ok(Self::Majority),
            Some("snapshot") => Ok(Self::Snapshot),
            Some(other) => {
                let message =
                    format!("Enumeration value '{other}' for field 'readConcern.level' is not a valid value.");
                Err(CommandError::bad_value(message))
            }
        }
    }
}
