//! The operation log.

use crate::aggregate::Aggregate;
use crate::find::Find;
use crate::origin::Origin;
use alluvium_collections::oplog;
use alluvium_document::IntoDocument;
use alluvium_store::Durability;

/// The recorded changes as the entries of MongoDB's collection `local.oplog.rs`; returned by [`crate::Database::oplog`].
#[derive(Clone)]
pub struct Oplog {
    oplog: oplog::Oplog,
}

impl std::fmt::Debug for Oplog {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Oplog").finish_non_exhaustive()
    }
}

impl Oplog {
    pub(crate) fn new(oplog: oplog::Oplog) -> Self {
        Self { oplog }
    }

    /// Entries that match a filter. A sort by `$natural` or `ts` is a direction of reading, and a condition on `ts` limits what
    /// is read.
    ///
    /// ```
    /// # let db = alluvium::Database::in_memory()?;
    /// # struct Numbers;
    /// # impl alluvium::ClusterTimes for Numbers {
    /// #     fn time(&self, number: u64) -> Option<alluvium::Timestamp> {
    /// #         Some(alluvium::Timestamp { time: 1, increment: u32::try_from(number).ok()? })
    /// #     }
    /// # }
    /// db.record_changes(alluvium::ChangeScope::Everything)?;
    /// db.collection("pets").put("rex", r#"{"age": 3}"#)?;
    /// let log = db.oplog(std::sync::Arc::new(Numbers));
    /// let last = log.find("{}").sort(r#"{"$natural": -1}"#).first()?.expect("an entry").to_map()?;
    /// assert_eq!(last.get("o"), Some(&alluvium::doc! {"_id": "rex", "age": 3}.into()));
    /// # alluvium::Result::Ok(())
    /// ```
    pub fn find(&self, filter: impl IntoDocument) -> Find {
        Find::over(Origin::Oplog(self.oplog.clone()), filter)
    }

    /// A pipeline over the entries.
    ///
    /// ```
    /// # let db = alluvium::Database::in_memory()?;
    /// # struct Numbers;
    /// # impl alluvium::ClusterTimes for Numbers {
    /// #     fn time(&self, number: u64) -> Option<alluvium::Timestamp> {
    /// #         Some(alluvium::Timestamp { time: 1, increment: u32::try_from(number).ok()? })
    /// #     }
    /// # }
    /// db.record_changes(alluvium::ChangeScope::Everything)?;
    /// db.collection("pets").put("rex", r#"{"age": 3}"#)?;
    /// let by_kind = db.oplog(std::sync::Arc::new(Numbers)).aggregate(r#"[{"$sortByCount": "$op"}]"#);
    /// assert_eq!(by_kind.run()?.count(), 3); // The begin, the creation of the collection, and the put.
    /// # alluvium::Result::Ok(())
    /// ```
    pub fn aggregate(&self, stages: impl IntoDocument) -> Aggregate {
        Aggregate::over(Origin::Oplog(self.oplog.clone()), Durability::Periodic, stages)
    }
}
