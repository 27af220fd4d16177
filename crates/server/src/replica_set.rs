//! The replica set whose only member is this server: its name, and the address that `hello` returns to clients.
//!
//! A client keeps the address that it connected to, unless `replSetInitiate`, `replSetReconfig` or the settings of the
//! server set another address. `docs/decisions/0084-a-client-stays-where-it-came.md` has the reasons.

use crate::config::Config;
use crate::error::{CommandError, CommandResult};
use crate::fields::Fields;
use crate::host::{Host, SetName};
use crate::security::login::Peer;
use alluvium::{Collection, Database, Durability, Map, Value};
use alluvium_env::sync::Mutex;
use std::sync::atomic::{AtomicI64, Ordering};

/// The replica set of a server.
pub(crate) struct ReplicaSet {
    db: Database,
    /// `None` for a standalone server.
    name: Option<SetName>,
    /// The address in the settings of the server.
    advertised: Option<Host>,
    /// The configuration stored by `replSetInitiate` and `replSetReconfig`.
    stored: Mutex<Option<Stored>>,
    /// Locked while a thread plans and stores another configuration.
    changing: Mutex<()>,
    /// The number of changes since the server started.
    changes: AtomicI64,
}

/// A stored configuration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Stored {
    /// The name of the set.
    pub name: String,
    /// The version number of the configuration.
    pub version: i32,
    /// The address of the member; `None` means the address that each client connected to.
    pub host: Option<Host>,
}

/// The current configuration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Present {
    /// The name, the version and the address, whether stored or default.
    pub config: Stored,
    /// True if a configuration was stored.
    pub is_initiated: bool,
    /// True if the name comes from the settings, and therefore cannot be changed.
    pub fixed_name: bool,
    /// The address from the settings, which cannot be changed.
    pub fixed_host: Option<Host>,
}

impl ReplicaSet {
    /// Reads the configuration of a database.
    ///
    /// # Errors
    /// Errors of reading.
    pub(crate) fn open(db: &Database, config: &Config) -> CommandResult<Self> {
        let set = Self {
            db: db.clone(),
            name: config.replica_set.clone(),
            advertised: config.advertise.clone(),
            stored: Mutex::new(None),
            changing: Mutex::new(()),
            changes: AtomicI64::new(0),
        };
        let stored = set.read()?;
        if let (Some(SetName::Given(name)), Some(stored)) = (&set.name, &stored)
            && *name != stored.name
        {
            log::warn!("the replica set is called {name} now, by the settings, and no longer {}", stored.name);
        }
        *set.stored.lock() = stored;
        Ok(set)
    }

    fn collection(&self) -> Collection {
        self.db.logical_database("local").collection("replset").with_durability(Durability::Sync)
    }

    /// The identifier of the database: sixteen hexadecimal digits that no other database has.
    fn database(&self) -> String {
        format!("{:016x}", self.db.store().database_id())
    }

    /// Reads the stored configuration. A configuration that was copied from another database is ignored, because it
    /// would send clients to the server of the other database.
    fn read(&self) -> CommandResult<Option<Stored>> {
        let own = self.database();
        for document in self.collection().find(Map::new()).run()? {
            let document = document?.to_map().map_err(alluvium::Error::from)?;
            match Stored::from_map(&document) {
                Some((database, stored)) if database == own => return Ok(Some(stored)),
                Some((_, stored)) => log::warn!(
                    "the configuration of the replica set {} is that of the database that this one is a copy of, and is \
                     not used: replSetInitiate makes another one",
                    stored.name
                ),
                None => log::error!("a configuration in local.replset cannot be read, and is not used"),
            }
        }
        Ok(None)
    }

    /// The current configuration; `None` for a standalone server.
    pub(crate) fn present(&self) -> Option<Present> {
        let name = self.name.as_ref()?;
        let stored = self.stored.lock().clone();
        let is_initiated = stored.is_some();
        let mut config = stored.unwrap_or_else(|| Stored { name: self.default_name(), version: 1, host: None });
        if let SetName::Given(given) = name {
            config.name.clone_from(given);
        }
        if let Some(host) = &self.advertised {
            config.host = Some(host.clone());
        }
        let fixed_name = matches!(name, SetName::Given(_));
        Some(Present { config, is_initiated, fixed_name, fixed_host: self.advertised.clone() })
    }

    /// The current configuration.
    ///
    /// # Errors
    /// Error 76 for a standalone server.
    pub(crate) fn require(&self) -> CommandResult<Present> {
        self.present().ok_or_else(|| CommandError::no_replication("not running with --replica-set"))
    }

    /// The default name of the set, which no other database has.
    fn default_name(&self) -> String {
        format!("alluvium-{}", self.database().get(..8).unwrap_or_default())
    }

    /// The address that a client is given.
    pub(crate) fn host(&self, peer: &Peer) -> Host {
        let of_set = || self.stored.lock().as_ref().filter(|_| self.name.is_some())?.host.clone();
        self.advertised.clone().or_else(of_set).unwrap_or_else(|| peer.reached.clone())
    }

    /// The number of changes since the server started.
    pub(crate) fn changes(&self) -> i64 {
        self.changes.load(Ordering::Acquire)
    }

    /// Stores a new configuration, which `plan` makes from the present one. The new configuration is on the disk when
    /// this function returns.
    ///
    /// # Errors
    /// Error 76 for a standalone server; errors of the plan, and of writing.
    pub(crate) fn change(&self, plan: impl FnOnce(&Present) -> CommandResult<Stored>) -> CommandResult<()> {
        let _changing = self.changing.lock();
        let stored = plan(&self.require()?)?;
        let collection = self.collection();
        collection.put(stored.name.as_str(), stored.to_map(&self.database()))?;
        for document in collection.find(Map::new()).run()? {
            let id = document?.id().clone();
            if id.as_str() != Some(stored.name.as_str()) {
                collection.delete(id)?;
            }
        }
        *self.stored.lock() = Some(stored);
        self.changes.fetch_add(1, Ordering::AcqRel);
        Ok(())
    }
}

impl Stored {
    /// Reads a document of `local.replset`: the identifier of the database that wrote it, and the configuration.
    fn from_map(map: &Map) -> Option<(String, Self)> {
        let database = map.document("alluvium")?.text("database")?.to_owned();
        let name = map.text("_id").filter(|name| !name.is_empty())?.to_owned();
        let version = i32::try_from(map.integer("version")?).ok().filter(|version| *version > 0)?;
        let member = map.elements("members")?.first()?.as_map()?;
        let host = match member.get("host") {
            Some(host) => Some(host.as_str()?.parse().ok()?),
            None => None,
        };
        Some((database, Self { name, version, host }))
    }

    fn to_map(&self, database: &str) -> Map {
        let mut member = Map::from([("_id", Value::Int32(0))]);
        if let Some(host) = &self.host {
            member.push("host", host.as_str());
        }
        Map::from([
            ("_id", Value::from(self.name.as_str())),
            ("version", Value::Int32(self.version)),
            ("members", Value::Array(vec![Value::Map(member)])),
            ("alluvium", Value::Map(Map::from([("database", Value::from(database))]))),
        ])
    }
}
