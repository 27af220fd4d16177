//! Parameters that clients set with `setParameter` and `setClusterParameter`. They last until the server stops, except
//! the version of `setFeatureCompatibilityVersion`, which is stored.

use crate::error::{CommandError, CommandResult};
use crate::fields::{Fields, is_true, truncated};
use crate::settings;
use alluvium::{Database, Map, Value};
use std::collections::BTreeMap;
use std::time::Duration;

/// The default feature compatibility version.
pub(crate) const FEATURES: &str = "8.2";
/// The possible feature compatibility versions.
pub(crate) const FEATURE_VERSIONS: [&str; 2] = ["8.0", "8.2"];
/// The most characters of `automationServiceDescriptor`.
const DESCRIPTOR_MAX: usize = 64;
/// The longest time limit in milliseconds.
const MILLIS_MAX: i64 = i32::MAX as i64;
/// The verbosity that means the verbosity of the component above.
const INHERITED: i32 = -1;

/// Parameters that launchers and test suites set, with MongoDB's defaults. They have no effect here.
const WITHOUT_EFFECT: [(&str, Value); 6] = [
    ("diagnosticDataCollectionEnabled", Value::Bool(false)),
    ("disableLogicalSessionCacheRefresh", Value::Bool(false)),
    ("maxTransactionLockRequestTimeoutMillis", Value::Int32(5)),
    ("periodicNoopIntervalSecs", Value::Int32(10)),
    ("syncdelay", Value::Int32(60)),
    ("writePeriodicNoops", Value::Bool(true)),
];

/// The log components, as paths.
const COMPONENTS: [&str; 40] = [
    "accessControl",
    "assert",
    "command",
    "control",
    "executor",
    "ftdc",
    "geo",
    "globalIndex",
    "index",
    "network",
    "network.asio",
    "network.bridge",
    "network.connectionPool",
    "processHealth",
    "query",
    "query.optimizer",
    "query.ce",
    "query.rejected",
    "queryStats",
    "replication",
    "replication.election",
    "replication.heartbeats",
    "replication.initialSync",
    "replication.rollback",
    "resharding",
    "sharding",
    "sharding.migration",
    "sharding.migrationPerf",
    "sharding.rangeDeleter",
    "sharding.shardingCatalogRefresh",
    "storage",
    "storage.journal",
    "storage.recovery",
    "storage.wt",
    "storage.wt.wtCheckpoint",
    "storage.wt.wtCompact",
    "storage.wt.wtEviction",
    "tenantMigration",
    "transaction",
    "write",
];

/// The parameters of a server.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Parameters {
    /// True if fewer messages are logged.
    pub quiet: bool,
    /// The verbosity of the log.
    pub log_level: i32,
    /// The verbosity of log components, by their paths.
    components: BTreeMap<&'static str, i32>,
    descriptor: String,
    /// The time after which a cursor that is not read is closed.
    cursor_timeout: Duration,
    /// The seconds after which an open transaction is aborted.
    transaction_seconds: i32,
    /// The seconds between two searches for expired documents.
    ttl_seconds: i32,
    /// True if expired documents are deleted.
    ttl_enabled: bool,
    /// The parameters without effect that were set.
    without_effect: BTreeMap<&'static str, Value>,
    /// The feature compatibility version.
    pub features: String,
    /// The cluster parameters that differ from their defaults.
    cluster: BTreeMap<&'static str, Map>,
}

impl Default for Parameters {
    fn default() -> Self {
        Self {
            quiet: false,
            log_level: 0,
            components: BTreeMap::new(),
            descriptor: String::new(),
            cursor_timeout: crate::cursors::IDLE,
            transaction_seconds: 60,
            ttl_seconds: 60,
            ttl_enabled: true,
            without_effect: BTreeMap::new(),
            features: FEATURES.to_owned(),
            cluster: BTreeMap::new(),
        }
    }
}

impl Parameters {
    /// The defaults, with the stored version.
    ///
    /// # Errors
    /// Errors of reading.
    pub(crate) fn open(db: &Database) -> CommandResult<Self> {
        let mut parameters = Self::default();
        if let Some(stored) = settings::FEATURES.read(db)? {
            match stored.text("version").filter(|version| FEATURE_VERSIONS.contains(version)) {
                Some(version) => parameters.features = version.to_owned(),
                None => log::error!("{} has no version that this server knows", settings::FEATURES.shown()),
            }
        }
        Ok(parameters)
    }

    /// Stores the feature compatibility version. The version is on the disk when this function returns.
    ///
    /// # Errors
    /// Errors of writing.
    pub(crate) fn store_features(&mut self, db: &Database, version: &str) -> CommandResult<()> {
        settings::FEATURES.write(db, Map::from([("version", Value::from(version))]))?;
        self.features = version.to_owned();
        Ok(())
    }

    /// The time after which a cursor that is not read is closed.
    pub(crate) fn cursor_timeout(&self) -> Duration {
        self.cursor_timeout
    }

    /// The time after which an open transaction is aborted.
    pub(crate) fn transaction_lifetime(&self) -> Duration {
        Duration::from_secs(self.transaction_seconds.unsigned_abs().into())
    }

    /// The parameters that can be set.
    pub(crate) fn to_map(&self) -> Map {
        let millis = i64::try_from(self.cursor_timeout.as_millis()).unwrap_or(i64::MAX);
        let mut map = Map::from([
            ("quiet", Value::Bool(self.quiet)),
            ("logLevel", Value::Int32(self.log_level)),
            ("logComponentVerbosity", Value::Map(self.verbosity(""))),
            ("automationServiceDescriptor", Value::from(self.descriptor.as_str())),
            ("cursorTimeoutMillis", Value::Int64(millis)),
            ("transactionLifetimeLimitSeconds", Value::Int32(self.transaction_seconds)),
            ("ttlMonitorSleepSecs", Value::Int32(self.ttl_seconds)),
            ("ttlMonitorEnabled", Value::Bool(self.ttl_enabled)),
        ]);
        for (name, default) in WITHOUT_EFFECT {
            map.push(name, self.without_effect.get(name).cloned().unwrap_or(default));
        }
        map
    }

    /// The time between two searches for expired documents; `None` if expired documents are not deleted.
    pub(crate) fn expiry_interval(&self) -> Option<Duration> {
        self.ttl_enabled.then(|| Duration::from_secs(self.ttl_seconds.unsigned_abs().into()))
    }

    /// The verbosity of a component and of the components below it.
    fn verbosity(&self, above: &str) -> Map {
        let own = if above.is_empty() { self.log_level } else { *self.components.get(above).unwrap_or(&INHERITED) };
        let mut map = Map::from([("verbosity", Value::Int32(own))]);
        for path in COMPONENTS {
            let (parent, name) = path.rsplit_once('.').unwrap_or(("", path));
            if parent == above {
                map.push(name, self.verbosity(path));
            }
        }
        map
    }

    /// Sets a parameter. Returns false if no parameter has the name.
    ///
    /// # Errors
    /// Errors 2, 14 and 15 for an invalid value.
    pub(crate) fn set(&mut self, name: &str, value: &Value) -> CommandResult<bool> {
        match name {
            "quiet" => self.quiet = is_true(value),
            "logLevel" => self.log_level = level(name, value)?,
            "logComponentVerbosity" => match value {
                Value::Map(components) => self.set_components("", components)?,
                other => {
                    let message = format!("log component verbosity is an object, not {}", other.type_name());
                    return Err(CommandError::type_mismatch(message));
                }
            },
            "automationServiceDescriptor" => match value {
                Value::String(text) if text.chars().count() <= DESCRIPTOR_MAX => self.descriptor = text.to_string(),
                Value::String(_) => {
                    let message = format!("{name} has at most {DESCRIPTOR_MAX} characters");
                    return Err(CommandError::new(15, "Overflow", message));
                }
                _ => return Err(CommandError::type_mismatch(format!("{name} is a string"))),
            },
            "cursorTimeoutMillis" => match truncated(value).and_then(|millis| u64::try_from(millis).ok()) {
                Some(millis) if millis > 0 => self.cursor_timeout = Duration::from_millis(millis),
                _ => return Err(CommandError::bad_value(format!("{name} is a positive number of milliseconds"))),
            },
            "transactionLifetimeLimitSeconds" => self.transaction_seconds = seconds(name, value)?,
            "ttlMonitorSleepSecs" => self.ttl_seconds = seconds(name, value)?,
            "ttlMonitorEnabled" => self.ttl_enabled = is_true(value),
            _ => return self.set_without_effect(name, value),
        }
        Ok(true)
    }

    fn set_without_effect(&mut self, name: &str, value: &Value) -> CommandResult<bool> {
        let Some((name, default)) = WITHOUT_EFFECT.into_iter().find(|(known, _)| *known == name) else {
            return Ok(false);
        };
        let value = match (default, truncated(value)) {
            (Value::Bool(_), _) => Value::Bool(is_true(value)),
            (_, Some(number)) => i32::try_from(number).map_or(Value::Int64(number), Value::Int32),
            (_, None) => return Err(CommandError::bad_value(format!("{name} is a number, not {value}"))),
        };
        self.without_effect.insert(name, value);
        Ok(true)
    }

    fn set_components(&mut self, above: &str, components: &Map) -> CommandResult<()> {
        for (name, value) in components.iter() {
            let name = name.as_str().unwrap_or_default();
            if name == "verbosity" {
                let level = component_level(value)?;
                match COMPONENTS.iter().find(|path| **path == above) {
                    Some(path) => drop(self.components.insert(path, level)),
                    None => self.log_level = level.max(0),
                }
                continue;
            }
            let path = if above.is_empty() { name.to_owned() } else { format!("{above}.{name}") };
            let Some(path) = COMPONENTS.iter().find(|known| **known == path) else {
                return Err(CommandError::bad_value(format!("Invalid component name {path}")));
            };
            match value {
                Value::Map(inner) => self.set_components(path, inner)?,
                level => drop(self.components.insert(path, component_level(level)?)),
            }
        }
        Ok(())
    }

    /// The value of a cluster parameter; `None` if no parameter has the name.
    pub(crate) fn of_cluster(&self, name: &str) -> Option<Map> {
        let (name, default) = CLUSTER.iter().find(|(known, _)| *known == name)?;
        Some(self.cluster.get(name).cloned().unwrap_or_else(|| default.to_map()))
    }

    /// Sets a cluster parameter.
    ///
    /// # Errors
    /// Error 4 for an unknown name; 2, 14 and 52 for an invalid value.
    pub(crate) fn set_of_cluster(&mut self, name: &str, value: &Value) -> CommandResult<()> {
        let Some((name, kind)) = CLUSTER.iter().find(|(known, _)| *known == name) else {
            return Err(CommandError::no_such_key(format!("Unknown server parameter: {name}")));
        };
        self.cluster.insert(name, kind.parse(name, value)?);
        Ok(())
    }
}

fn seconds(name: &str, value: &Value) -> CommandResult<i32> {
    match truncated(value).and_then(|seconds| i32::try_from(seconds).ok()) {
        Some(seconds) if seconds > 0 => Ok(seconds),
        _ => Err(CommandError::bad_value(format!("{name} is a positive number of seconds"))),
    }
}

fn level(name: &str, value: &Value) -> CommandResult<i32> {
    let number = match value {
        Value::Bool(flag) => Some(i64::from(*flag)),
        value => truncated(value),
    };
    match number.and_then(|number| i32::try_from(number).ok()).filter(|level| *level >= 0) {
        Some(level) => Ok(level),
        None => Err(CommandError::bad_value(format!("{name} is a number of at least 0, not {value}"))),
    }
}

/// The verbosity of a component. A negative verbosity means the verbosity of the component above.
fn component_level(value: &Value) -> CommandResult<i32> {
    let wrong = || CommandError::bad_value(format!("the verbosity of a component is a number, not {value}"));
    if value.as_f64().is_some_and(f64::is_nan) {
        return Err(wrong());
    }
    let level = truncated(value).and_then(|level| i32::try_from(level).ok()).ok_or_else(wrong)?;
    Ok(level.max(INHERITED))
}

/// The cluster parameter with the default time limit of reads.
pub(crate) const DEFAULT_MAX_TIME: &str = "defaultMaxTimeMS";

/// The cluster parameters.
const CLUSTER: [(&str, ClusterParameter); 4] = [
    ("changeStreamOptions", ClusterParameter::ChangeStreamOptions),
    ("changeStreams", ClusterParameter::Seconds),
    (DEFAULT_MAX_TIME, ClusterParameter::Milliseconds),
    ("pauseMigrationsDuringMultiUpdates", ClusterParameter::Enabled),
];

/// The names of the cluster parameters.
pub(crate) fn cluster_names() -> impl Iterator<Item = &'static str> {
    CLUSTER.iter().map(|(name, _)| *name)
}

/// The form of a cluster parameter.
#[derive(Debug, Clone, Copy)]
enum ClusterParameter {
    /// `{preAndPostImages: {expireAfterSeconds: N or "off"}}`
    ChangeStreamOptions,
    /// `{expireAfterSeconds: N}`
    Seconds,
    /// `{readOperations: N}`
    Milliseconds,
    /// `{enabled: BOOL}`
    Enabled,
}

impl ClusterParameter {
    /// The default value.
    fn to_map(self) -> Map {
        match self {
            Self::ChangeStreamOptions => images(Value::from("off")),
            Self::Seconds => Map::from([("expireAfterSeconds", Value::Int64(3600))]),
            Self::Milliseconds => Map::from([("readOperations", Value::Int64(0))]),
            Self::Enabled => Map::from([("enabled", Value::Bool(false))]),
        }
    }

    fn parse(self, name: &str, value: &Value) -> CommandResult<Map> {
        let bad = |what: &str| Err(CommandError::bad_value(format!("{name} is {what}, not {value}")));
        let Some(given) = value.as_map() else { return bad("an object") };
        if let Some((field, _)) = given.iter().find(|(field, _)| field.as_str().is_some_and(|f| f.starts_with('$'))) {
            let message = format!("the field {field} of {name} begins with '$'");
            return Err(CommandError::new(52, "DollarPrefixedFieldName", message));
        }
        let (field, form) = match self {
            Self::ChangeStreamOptions => ("preAndPostImages", "{preAndPostImages: {expireAfterSeconds: N or \"off\"}}"),
            Self::Seconds => ("expireAfterSeconds", "{expireAfterSeconds: N}"),
            Self::Milliseconds => ("readOperations", "{readOperations: N}"),
            Self::Enabled => ("enabled", "{enabled: true or false}"),
        };
        if given.iter().any(|(name, _)| name.as_str() != Some(field)) {
            return bad(form);
        }
        let wrong = || Err(CommandError::type_mismatch(format!("{name} is {form}, not {value}")));
        match (self, given.get(field)) {
            (Self::ChangeStreamOptions, Some(Value::Map(inner))) => match inner.get("expireAfterSeconds") {
                Some(Value::String(off)) if &**off == "off" => Ok(images(Value::from("off"))),
                Some(seconds) if truncated(seconds).is_some_and(|seconds| seconds > 0) => {
                    Ok(images(Value::Int64(truncated(seconds).unwrap_or(1))))
                }
                _ => bad(form),
            },
            (Self::ChangeStreamOptions, _) => bad(form),
            (_, None | Some(Value::Null)) => Ok(self.to_map()),
            (Self::Seconds, Some(seconds)) => match truncated(seconds) {
                Some(seconds) if seconds > 0 => Ok(Map::from([("expireAfterSeconds", Value::Int64(seconds))])),
                Some(_) => bad(form),
                None => wrong(),
            },
            (Self::Milliseconds, Some(millis)) => match truncated(millis) {
                Some(millis @ 0..=MILLIS_MAX) => Ok(Map::from([("readOperations", Value::Int64(millis))])),
                Some(_) => bad(form),
                None => wrong(),
            },
            (Self::Enabled, Some(Value::Bool(enabled))) => Ok(Map::from([("enabled", Value::Bool(*enabled))])),
            (Self::Enabled, Some(_)) => wrong(),
        }
    }
}

fn images(expiry: Value) -> Map {
    Map::from([("preAndPostImages", Value::Map(Map::from([("expireAfterSeconds", expiry)])))])
}

#[cfg(test)]
mod tests;
