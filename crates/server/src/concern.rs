//! Read and write concerns.

use crate::error::{CommandError, CommandResult};
use crate::fields::{self, Field, Fields, Kind, optional};
use alluvium::{Durability, Map, Timestamp, Value};

/// How a write is acknowledged.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct WriteConcern {
    /// True if the client does not want to learn of failures: `w: 0`.
    pub unacknowledged: bool,
    /// True if the write waits until it is on the disk: `j: true`, or `w: "majority"`, because this server alone is the
    /// majority.
    pub synced: bool,
    /// The error if the write concern asks for more members than exist, such as `w: 2`. The write is still done, as in
    /// MongoDB.
    pub unsatisfiable: Option<CommandError>,
}

/// The fields of a write concern.
const WRITE_FIELDS: &[Field] = &[
    optional("w", Kind::Any),
    optional("j", Kind::Flag),
    optional("fsync", Kind::Flag),
    optional("wtimeout", Kind::Any),
    optional("provenance", Kind::Text),
];

/// The fields of a read concern.
const READ_FIELDS: &[Field] = &[
    optional("level", Kind::Text),
    optional("afterClusterTime", Kind::Any),
    optional("afterOpTime", Kind::Any),
    optional("atClusterTime", Kind::Any),
    optional("provenance", Kind::Text),
];

/// The possible origins of a concern. Clients send the origin that they received.
const PROVENANCES: [&str; 5] =
    ["clientSupplied", "implicitDefault", "customDefault", "getLastErrorDefaults", "internalWriteDefault"];

/// Checks the fields of a concern.
fn check(name: &str, known: &[Field], given: &Map) -> CommandResult<()> {
    fields::refuse_unknown(name, known, given.entries.iter().map(|(name, _)| name))?;
    fields::check(name, known, given)?;
    match given.text("provenance").filter(|provenance| !PROVENANCES.contains(provenance)) {
        None => Ok(()),
        Some(other) => Err(wrong_value(name, "provenance", other)),
    }
}

fn wrong_value(concern: &str, field: &str, value: &str) -> CommandError {
    let message = format!("Enumeration value '{value}' for field '{concern}.{field}' is not a valid value.");
    CommandError::bad_value(message)
}

impl WriteConcern {
    /// The write concern of a command. A server without a replica set refuses concerns with other members.
    ///
    /// # Errors
    /// Error 2, 9, 14 or 40415 for an invalid write concern.
    pub(crate) fn parse(body: &impl Fields, in_set: bool) -> CommandResult<Self> {
        let Some(given) = body.document("writeConcern") else { return Ok(Self::default()) };
        check("writeConcern", WRITE_FIELDS, given)?;
        if given.truncated("wtimeout").is_some_and(|millis| millis > i64::from(i32::MAX)) {
            return Err(CommandError::failed_to_parse("wtimeout must be an integer of 32 bits"));
        }
        let mut concern = Self { synced: given.flag("j") || given.flag("fsync"), ..Self::default() };
        match given.get("w") {
            None => {}
            Some(Value::String(mode)) if &**mode == "majority" => concern.synced = true,
            Some(Value::String(_) | Value::Null) if !in_set => {
                let message = "cannot use non-majority 'w' mode when a host is not a member of a replica set";
                return Err(CommandError::bad_value(message));
            }
            Some(Value::String(mode)) => {
                let message = format!("No write concern mode named '{mode}' found in replica set configuration");
                concern.unsatisfiable = Some(CommandError::new(79, "UnknownReplWriteConcern", message));
            }
            Some(number) if number.as_f64().is_some_and(f64::is_nan) => {
                return Err(CommandError::failed_to_parse("w has to be a non-negative number and not greater than 50"));
            }
            Some(number) if number.is_number() => match given.truncated("w") {
                Some(0) => concern.unacknowledged = !concern.synced,
                Some(1) => {}
                Some(2..=50) if !in_set => {
                    return Err(CommandError::bad_value("cannot use 'w' > 1 when a host is not replicated"));
                }
                Some(2..=50) => {
                    let error = CommandError::unsatisfiable_write_concern("Not enough data-bearing nodes");
                    concern.unsatisfiable = Some(error);
                }
                _ => {
                    let message = "w has to be a non-negative number and not greater than 50";
                    return Err(CommandError::failed_to_parse(message));
                }
            },
            Some(Value::Map(tags)) if tags.is_empty() || tags.iter().any(|(_, count)| !count.is_number()) => {
                let message = "the tags of w are an object of numbers";
                return Err(CommandError::failed_to_parse(message));
            }
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

    /// The durability of the writes; `None` means the default of the database.
    pub(crate) fn durability(&self) -> Option<Durability> {
        self.synced.then_some(Durability::Sync)
    }
}

/// The writes that a read sees.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ReadLevel {
    /// The latest writes.
    Local,
    /// The latest writes, as `Local`: without sharding, the two levels are the same.
    Available,
    /// Only writes that are on the disk.
    Majority,
    /// As `Majority`, and all commands with this level have one order.
    Linearizable,
    /// A single state of all collections.
    Snapshot,
}

/// The read concern of a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ReadConcern {
    /// The level.
    pub level: ReadLevel,
    /// The time up to which the read must see all writes.
    pub after: Option<Timestamp>,
    /// The time of the snapshot.
    pub at: Option<Timestamp>,
}

impl ReadConcern {
    /// The read concern of a command.
    ///
    /// # Errors
    /// Error 2 for an unknown level, 14 for a time of another type, 72 for times that do not fit the level.
    pub(crate) fn parse(body: &impl Fields) -> CommandResult<Self> {
        let Some(given) = body.document("readConcern") else {
            return Ok(Self { level: ReadLevel::Local, after: None, at: None });
        };
        check("readConcern", READ_FIELDS, given)?;
        let level = match given.text("level") {
            None | Some("local") => ReadLevel::Local,
            Some("available") => ReadLevel::Available,
            Some("majority") => ReadLevel::Majority,
            Some("linearizable") => ReadLevel::Linearizable,
            Some("snapshot") => ReadLevel::Snapshot,
            Some(other) => return Err(wrong_value("readConcern", "level", other)),
        };
        let (after, at) = (time(given, "afterClusterTime")?, time(given, "atClusterTime")?);
        if at.is_some() && level != ReadLevel::Snapshot {
            return Err(CommandError::invalid_options(
                "readConcern.atClusterTime is allowed with level: snapshot only",
            ));
        }
        if at.is_some() && after.is_some() {
            return Err(CommandError::invalid_options("Specifying a timestamp for readConcern snapshot twice"));
        }
        Ok(Self { level, after, at })
    }
}

fn time(concern: &Map, name: &str) -> CommandResult<Option<Timestamp>> {
    match concern.get(name) {
        None => Ok(None),
        Some(Value::Timestamp(time)) if time.time == 0 => {
            let message = format!("readConcern.{name} cannot be a null timestamp");
            Err(CommandError::invalid_options(message))
        }
        Some(Value::Timestamp(time)) => Ok(Some(*time)),
        Some(other) => {
            let found = other.type_name();
            let message =
                format!("BSON field 'readConcern.{name}' is the wrong type '{found}', expected type 'timestamp'");
            Err(CommandError::type_mismatch(message))
        }
    }
}
