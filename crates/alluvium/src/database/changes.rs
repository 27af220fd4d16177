//! Change streams.

use super::Database;
use crate::oplog::Oplog;
use crate::watch::Watch;
use alluvium_collections::changes::{self, ChangeToken, Changes};
use alluvium_collections::error::Result;
use alluvium_collections::history::{ChangeRetention, RecordedScope, Scope};
use alluvium_collections::oplog;
use alluvium_collections::retention::{self, KeptChanges};
use alluvium_collections::snapshot::Snapshot;
use alluvium_collections::watch::ClusterTimes;
use std::sync::Arc;

/// Recorded changes of documents.
impl Database {
    /// Begins to record the changes of the documents in a scope, each in the batch of its write. The scope is kept by name:
    /// collections that are created in it later, or renamed into it, are recorded, too, also after a restart.
    ///
    /// Each write of a recorded document reads the document under an exclusive lock, and writes the change beside it. A
    /// write that changes nothing is not recorded. The creation and the drop of collections, of their indexes and of the
    /// logical database, renames, and changes of options are recorded, too. All ways to write are recorded: by `_id` and by
    /// filter, batches, transactions, loads, expiry, and deletes of the oldest documents of capped collections. Changes are
    /// kept for [`crate::Builder::change_retention`]; [`Database::stop_recording`] drops them. A repair does not save
    /// them. An older version of Alluvium refuses the database.
    ///
    /// Returns the place at which the changes begin.
    ///
    /// ```
    /// # let db = alluvium::Database::in_memory()?;
    /// use alluvium::{ChangeEvent, ChangeScope, FullName};
    /// let pets = db.collection("pets");
    /// let scope = ChangeScope::Collection(FullName::parse("pets")?);
    /// db.record_changes(scope.clone())?;
    /// pets.put("rex", r#"{"age": 3}"#)?;
    /// pets.delete("rex")?;
    /// let events: Vec<ChangeEvent> = db.changes(&scope, None)?.map(|change| Ok(change?.event)).collect::<alluvium::Result<_>>()?;
    /// use ChangeEvent::{Create, Delete, Insert};
    /// assert!(matches!(&events[..], [Create { .. }, Insert { .. }, Delete { .. }]));
    /// # alluvium::Result::Ok(())
    /// ```
    ///
    /// # Errors
    /// As for any write.
    pub fn record_changes(&self, scope: Scope) -> Result<ChangeToken> {
        let number = self.engine.catalog.record_changes(scope, None)?;
        Ok(ChangeToken { database: self.engine.store().database_id(), number })
    }

    /// Watches the changes of all collections, except those of the logical databases `admin`, `config` and `local`, as
    /// documents in the form of MongoDB. The first such stream begins to record them ([`Database::record_changes`]).
    ///
    /// ```
    /// # let db = alluvium::Database::in_memory()?;
    /// let mut changes = db.watch().run()?;
    /// db.collection("shop.pets").put("rex", r#"{"age": 3}"#)?;
    /// let ns = changes.next().expect("an event")?.get("ns").cloned();
    /// assert_eq!(ns, Some(alluvium::doc! {"db": "shop", "coll": "pets"}.into()));
    /// # alluvium::Result::Ok(())
    /// ```
    pub fn watch(&self) -> Watch {
        Watch::new(&self.engine, Ok(Scope::Everything))
    }

    /// Ends the recording of a scope. Returns false if the scope was not recorded. When no scope is left, all recorded
    /// changes are dropped.
    ///
    /// ```
    /// # let db = alluvium::Database::in_memory()?;
    /// use alluvium::ChangeScope;
    /// db.record_changes(ChangeScope::Everything)?;
    /// assert!(db.stop_recording(&ChangeScope::Everything)?);
    /// assert!(db.recorded().is_empty());
    /// # alluvium::Result::Ok(())
    /// ```
    ///
    /// # Errors
    /// As for any write.
    pub fn stop_recording(&self, scope: &Scope) -> Result<bool> {
        self.engine.catalog.stop_recording(scope)
    }

    /// The scopes that are recorded, each with the number after which its changes are complete.
    ///
    /// ```
    /// # let db = alluvium::Database::in_memory()?;
    /// use alluvium::ChangeScope;
    /// db.record_changes(ChangeScope::Logical("shop".into()))?;
    /// assert_eq!(db.recorded()[0].scope, ChangeScope::Logical("shop".into()));
    /// # alluvium::Result::Ok(())
    /// ```
    pub fn recorded(&self) -> Vec<RecordedScope> {
        self.engine.catalog.recorded_scopes()
    }

    /// Describes the changes that are kept after a number, such as that of a recorded scope. Their number and bytes are
    /// estimates.
    ///
    /// ```
    /// # let db = alluvium::Database::in_memory()?;
    /// db.record_changes(alluvium::ChangeScope::Everything)?;
    /// db.collection("pets").put("rex", r#"{"age": 3}"#)?;
    /// let kept = db.kept_changes(db.recorded()[0].since)?;
    /// assert!(kept.changes == 2 && kept.first_ms.is_some()); // The creation of the collection, and the put.
    /// # alluvium::Result::Ok(())
    /// ```
    ///
    /// # Errors
    /// Errors of reading.
    pub fn kept_changes(&self, since: u64) -> Result<KeptChanges> {
        retention::kept_changes(&self.engine, since)
    }

    /// The time and the size for which recorded changes are kept.
    ///
    /// ```
    /// # let db = alluvium::Database::in_memory()?;
    /// assert_eq!(db.change_retention(), alluvium::ChangeRetention::default());
    /// # alluvium::Result::Ok(())
    /// ```
    pub fn change_retention(&self) -> ChangeRetention {
        self.engine.catalog.change_retention()
    }

    /// Reads the changes of a scope after a token, in the order in which they were committed; without a token from the
    /// begin of the recording. The scope must be recorded, or be within one that is.
    ///
    /// The result is an iterator, which returns `None` at the end and continues when there are more changes;
    /// [`Changes::next_within`] waits for them. Only changes that survive a power cut are returned; if necessary, the log
    /// is synced first.
    ///
    /// ```
    /// # let db = alluvium::Database::in_memory()?;
    /// use alluvium::{ChangeEvent, ChangeScope};
    /// use std::time::Duration;
    /// let scope = ChangeScope::Everything;
    /// db.create_collection("pets").run()?;
    /// db.record_changes(scope.clone())?;
    /// db.collection("pets").put("rex", r#"{"age": 3}"#)?;
    /// let mut changes = db.changes(&scope, None)?;
    /// let change = changes.next_within(Duration::from_secs(1))?.expect("a change");
    /// assert!(matches!(change.event, ChangeEvent::Insert { document } if document.get("age") == Some(&3.into())));
    /// let token = changes.token();
    /// db.collection("pets").put("rex", r#"{"age": 4}"#)?;
    /// let change = db.changes(&scope, Some(token))?.next().expect("a change")?;
    /// assert!(matches!(change.event, ChangeEvent::Replace { .. }));
    /// # alluvium::Result::Ok(())
    /// ```
    ///
    /// # Errors
    /// [`crate::Error::ChangesNotRecorded`]; [`crate::Error::ChangesLost`] if the token is of another database, or changes
    /// after it are not recorded.
    pub fn changes(&self, scope: &Scope, after: Option<ChangeToken>) -> Result<Changes> {
        changes::changes(&self.engine, scope, after)
    }

    /// The changes of all collections as the entries of MongoDB's collection `local.oplog.rs`, made when they are read. The
    /// scope [`Scope::Everything`] must be recorded. The entries have the times of a cluster.
    ///
    /// ```
    /// # let db = alluvium::Database::in_memory()?;
    /// # struct Numbers;
    /// # impl alluvium::ClusterTimes for Numbers {
    /// #     fn time(&self, number: u64) -> Option<alluvium::Timestamp> {
    /// #         Some(alluvium::Timestamp { time: 1, increment: u32::try_from(number).ok()? })
    /// #     }
    /// # }
    /// let log = db.oplog(std::sync::Arc::new(Numbers));
    /// assert!(matches!(log.find("{}").run(), Err(alluvium::Error::ChangesNotRecorded { .. })));
    /// db.record_changes(alluvium::ChangeScope::Everything)?;
    /// assert_eq!(log.find("{}").count()?, 1); // The begin.
    /// # alluvium::Result::Ok(())
    /// ```
    pub fn oplog(&self, times: Arc<dyn ClusterTimes>) -> Oplog {
        Oplog::new(oplog::Oplog::new(&self.engine, times))
    }

    /// The place among the changes at which a snapshot is: [`Database::changes`] after it has the changes that the
    /// snapshot does not see. To keep a copy, read the documents at a snapshot, and then the changes after it. Syncs the
    /// log, so that the place survives a power cut.
    ///
    /// ```
    /// # let db = alluvium::Database::in_memory()?;
    /// use alluvium::ChangeScope;
    /// db.record_changes(ChangeScope::Everything)?;
    /// db.collection("pets").put("rex", r#"{"age": 3}"#)?; // also creates the collection
    /// let snapshot = db.snapshot();
    /// db.collection("pets").put("tom", r#"{"age": 1}"#)?;
    /// let after = db.change_token(&snapshot)?;
    /// assert_eq!(db.changes(&ChangeScope::Everything, Some(after))?.count(), 1);
    /// # alluvium::Result::Ok(())
    /// ```
    ///
    /// # Errors
    /// Errors of syncing the log.
    pub fn change_token(&self, snapshot: &Snapshot) -> Result<ChangeToken> {
        let store = self.engine.store();
        if !store.options().read_only {
            store.sync()?;
        }
        Ok(ChangeToken { database: store.database_id(), number: snapshot.store.seq() })
    }
}
