//! The default concerns that `setDefaultRWConcern` sets, for commands that have no concern.

use crate::concern::WriteConcern;
use crate::error::CommandResult;
use crate::fields::Fields;
use crate::settings;
use alluvium::{Database, Map, Timestamp, Value};
use alluvium_env::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

/// The defaults, and the flags that each command reads.
#[derive(Default)]
pub(crate) struct DefaultConcerns {
    defaults: Mutex<Defaults>,
    syncs_reads: AtomicBool,
    syncs_writes: AtomicBool,
}

/// The defaults that clients have set.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Defaults {
    /// The default read level.
    pub read: Option<String>,
    /// The default write concern.
    pub write: Option<Map>,
    /// The cluster time of the last change, and the clock time in milliseconds since 1970.
    pub updated: Option<(Timestamp, i64)>,
}

impl DefaultConcerns {
    /// Reads the stored defaults. A standalone server has no defaults.
    ///
    /// # Errors
    /// Errors of reading.
    pub(crate) fn open(db: &Database, in_set: bool) -> CommandResult<Self> {
        let concerns = Self::default();
        if let Some(stored) = settings::CONCERNS.read(db)?.filter(|_| in_set) {
            match Defaults::from_map(&stored) {
                Some((defaults, syncs_writes)) => concerns.set(&mut concerns.defaults.lock(), defaults, syncs_writes),
                None => log::error!("{} cannot be read, and is not used", settings::CONCERNS.shown()),
            }
        }
        Ok(concerns)
    }

    /// The current defaults.
    pub(crate) fn get(&self) -> Defaults {
        self.defaults.lock().clone()
    }

    /// Stores new defaults, which `plan` makes from the present ones; `plan` also returns whether writes wait until
    /// they are on the disk. The defaults are on the disk when this function returns.
    ///
    /// # Errors
    /// Errors of the plan, and of writing.
    pub(crate) fn change(
        &self,
        db: &Database,
        plan: impl FnOnce(Defaults, bool) -> CommandResult<(Defaults, bool)>,
    ) -> CommandResult<Defaults> {
        let mut present = self.defaults.lock();
        let (defaults, syncs_writes) = plan(present.clone(), self.syncs_writes())?;
        settings::CONCERNS.write(db, defaults.to_map())?;
        self.set(&mut present, defaults.clone(), syncs_writes);
        Ok(defaults)
    }

    fn set(&self, present: &mut Defaults, defaults: Defaults, syncs_writes: bool) {
        self.syncs_reads.store(defaults.read.as_deref() == Some("majority"), Ordering::Release);
        self.syncs_writes.store(syncs_writes, Ordering::Release);
        *present = defaults;
    }

    /// True if reads see only data that is on the disk.
    pub(crate) fn syncs_reads(&self) -> bool {
        self.syncs_reads.load(Ordering::Acquire)
    }

    /// True if writes wait until they are on the disk.
    pub(crate) fn syncs_writes(&self) -> bool {
        self.syncs_writes.load(Ordering::Acquire)
    }
}

impl Defaults {
    /// The defaults in MongoDB's stored format.
    fn to_map(&self) -> Map {
        let mut map = Map::new();
        if let Some(level) = &self.read {
            map.push("defaultReadConcern", Map::from([("level", Value::from(level.as_str()))]));
        }
        if let Some(write) = &self.write {
            map.push("defaultWriteConcern", write.clone());
        }
        if let Some((time, at)) = self.updated {
            map.push("updateOpTime", Value::Timestamp(time));
            map.push("updateWallClockTime", Value::DateTime(at));
        }
        map
    }

    /// Reads the defaults from a stored document, and whether writes wait for the disk.
    fn from_map(map: &Map) -> Option<(Self, bool)> {
        let read = match map.document("defaultReadConcern") {
            Some(read) => Some(read.text("level")?.to_owned()),
            None => None,
        };
        let write = map.document("defaultWriteConcern").cloned();
        let given = Map::from([("writeConcern", Value::Map(write.clone().unwrap_or_default()))]);
        let concern = WriteConcern::parse(&given, true).ok()?;
        let updated = match (map.get("updateOpTime"), map.get("updateWallClockTime")) {
            (Some(Value::Timestamp(time)), Some(Value::DateTime(at))) => Some((*time, *at)),
            _ => None,
        };
        Some((Self { read, write, updated }, concern.synced))
    }
}
