//! Access to the entries of an index, for tests.

use alluvium::{Collection, Result, Snapshot, Value};
use alluvium_collections::index_scan::{FoundEntry, IndexScan, Proof};
use alluvium_collections::names::FullName;
use alluvium_store::Bounds;

/// An index key, the key of the `_id`, and the values of the parts. A missing value is `None`.
pub type ShownEntry = (Vec<u8>, Vec<u8>, Vec<Option<Value>>);

/// Reads the entries of an index.
pub trait IndexEntries {
    /// The entries at a snapshot, in the order of their keys.
    ///
    /// # Errors
    /// Errors of any read. Also if there is no such index, or if the index is not ready at the snapshot and entries are
    /// to be proved.
    fn found_entries(&self, snapshot: &Snapshot, index: &str, proof: Proof) -> Result<Vec<FoundEntry>>;

    /// The keys of the entries, each with the key of its `_id`: all entries (`raw`), or the entries that sequence
    /// numbers prove.
    ///
    /// # Errors
    /// The same as for [`IndexEntries::found_entries`].
    fn index_entries(&self, snapshot: &Snapshot, index: &str, raw: bool) -> Result<Vec<(Vec<u8>, Vec<u8>)>> {
        let proof = if raw { Proof::None } else { Proof::Numbers };
        let found = self.found_entries(snapshot, index, proof)?;
        Ok(found.into_iter().map(|entry| (entry.key, entry.id)).collect())
    }

    /// The entries that sequence numbers prove, or, with `fetch`, the entries that documents prove: the key, the key of
    /// the `_id`, and the values of the parts.
    ///
    /// # Errors
    /// The same as for [`IndexEntries::found_entries`].
    fn index_shown(&self, snapshot: &Snapshot, index: &str, fetch: bool) -> Result<Vec<ShownEntry>> {
        let proof = if fetch { Proof::Documents } else { Proof::Numbers };
        let found = self.found_entries(snapshot, index, proof)?;
        Ok(found.into_iter().map(|entry| (entry.key, entry.id, entry.values)).collect())
    }
}

impl IndexEntries for Collection {
    fn found_entries(&self, snapshot: &Snapshot, index: &str, proof: Proof) -> Result<Vec<FoundEntry>> {
        let name = FullName::parse(&self.full_name()?)?;
        let mut scan = IndexScan::open(self.as_ref(), &name, snapshot, index, Bounds::all(), proof)?;
        let mut found = Vec::new();
        while scan.next_by(proof)? {
            found.push(scan.found()?);
        }
        Ok(found)
    }
}
