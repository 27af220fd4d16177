//! Checks a whole store: every block, every reference, every count.

use crate::batch::{LogRecord, decode_record};
use crate::error::{Error, Result};
use crate::files::LOG_DIR;
use crate::files::superblock::{self, Superblock};
use crate::keys::{self, partition_of};
use crate::store::Store;
use crate::trees::{SYSTEM, TreeId};
use alluvium_codec::entry::Kind;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

impl Store {
    /// Checks every file. For sorted files, checks every block, the order of entries, filters, counts, and the
    /// description in the manifest. Also checks that every key is in the partition for its hash, and in a tree that was
    /// created. Reads the manifests, the superblock and the log again. Returns the damage found, one error for each
    /// damaged place.
    ///
    /// ```
    /// # use alluvium_store::{Options, Store};
    /// # fn main() -> alluvium_store::Result<()> {
    /// # let store = Store::open(alluvium_env::Env::in_memory(1), std::path::Path::new("db"), Options::default())?;
    /// assert!(store.verify()?.is_empty());
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// An error that prevents the check.
    pub fn verify(&self) -> Result<Vec<Error>> {
        self.verify_unless(&AtomicBool::new(false))
    }

    /// As [`Store::verify`], until `stop` is set. Then returns the damage found so far, within about a second.
    ///
    /// ```
    /// # use std::sync::atomic::AtomicBool;
    /// # use alluvium_store::{Options, Store};
    /// # fn main() -> alluvium_store::Result<()> {
    /// # let store = Store::open(alluvium_env::Env::in_memory(1), std::path::Path::new("db"), Options::default())?;
    /// let stop = AtomicBool::new(false); // which another thread may set
    /// assert!(store.verify_unless(&stop)?.is_empty());
    /// # store.close()
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`Store::verify`].
    pub fn verify_unless(&self, stop: &AtomicBool) -> Result<Vec<Error>> {
        self.verify_until(&|| stop.load(Ordering::Relaxed))
    }

    /// As [`Store::verify_unless`], until `stop` returns true. `stop` is called between blocks.
    ///
    /// ```
    /// # use alluvium_store::{Options, Store};
    /// # fn main() -> alluvium_store::Result<()> {
    /// # let store = Store::open(alluvium_env::Env::in_memory(1), std::path::Path::new("db"), Options::default())?;
    /// assert!(store.verify_until(&|| false)?.is_empty());
    /// # store.close()
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`Store::verify`].
    pub fn verify_until(&self, stop: &dyn Fn() -> bool) -> Result<Vec<Error>> {
        self.health.check_open()?;
        let mut damage = Vec::new();
        if let Err(error) = self.verify_superblock() {
            damage.push(error);
        }
        for (index, partition) in (0..).zip(&*self.partitions) {
            let found = partition.verify_with(&mut |key, kind| self.misplaced(index, key, kind), stop);
            damage.extend(found.damage.into_iter().map(Error::Storage));
            // Another process may remove files after this store is closed.
            self.health.check_open()?;
        }
        if !stop()
            && let Err(error) = self.verify_log(&mut damage)
        {
            damage.push(error);
        }
        self.health.check_open()?;
        // A place that could not be read for such a reason was not checked, and may be undamaged.
        match damage.iter().position(Error::is_circumstance) {
            Some(at) => Err(damage.swap_remove(at)),
            None => Ok(damage),
        }
    }

    fn verify_superblock(&self) -> Result<()> {
        let damaged = |what| Error::from(alluvium_env::Error::corrupt(&self.path().join(superblock::NAME), 0, what));
        match Superblock::read(&self.env, self.path())? {
            None => Err(damaged("the superblock is missing: without it the database cannot be opened again")),
            Some(found) if found != self.superblock => Err(damaged("it is not the superblock of the open database")),
            Some(_) => Ok(()),
        }
    }

    /// Describes the error if an entry is in the wrong partition or tree.
    fn misplaced(&self, partition: u32, key: &[u8], kind: Kind) -> Option<String> {
        let Some((tree, rest)) = key.split_first_chunk() else { return Some("a key without its tree".to_owned()) };
        let tree = TreeId(u32::from_be_bytes(*tree));
        if tree != SYSTEM && tree.0 >= self.trees.next() {
            return Some(format!("a key of tree {}, which was never made", tree.0));
        }
        if self.trees.is_index(tree) {
            // An index entry is in the partition of its document. Only the layer above can read the document's key from
            // the entry.
            return None;
        }
        let hash = match keys::of_multivalue(rest).filter(|_| self.trees.is_multivalue(tree)) {
            Some(key) => alluvium_codec::hash64(&key),
            None => alluvium_codec::hash64(rest),
        };
        let place = if tree == SYSTEM { 0 } else { partition_of(hash, self.superblock.partitions) };
        // A deleted range may have keys in every partition, and is in each of them. For a dropped tree, it is no longer
        // known whether it was a multivalue tree.
        let known = kind != Kind::RangeDelete && (tree == SYSTEM || self.trees.description(tree).is_some());
        (known && place != partition).then(|| format!("a key of tree {} that belongs to partition {place}", tree.0))
    }

    /// Reads the log up to the visible number.
    fn verify_log(&self, damage: &mut Vec<Error>) -> Result<()> {
        let _hold = self.holds.hold();
        if self.holds.is_damaged() || self.wal.poisoned().is_some() {
            // The damage of the log was accepted, or the end of the log is not known.
            return Ok(());
        }
        let (from, to) = (self.wal.oldest_seq(), self.visibility.visible());
        if to < from {
            return Ok(());
        }
        let dir = self.path().join(LOG_DIR);
        let read = self.wal.read_back(from, to, &mut |record| {
            let bad =
                |what: String| alluvium_env::Error::corrupt(&dir, 0, format!("number {}: {what}", record.first_seq));
            let wrong = match decode_record(&record) {
                Ok(LogRecord::Batch(ops)) => {
                    ops.iter().find_map(|(at, entry)| self.misplaced(*at, entry.key, entry.kind))
                }
                Ok(LogRecord::Flushed { .. }) => None,
                Err(error) => Some(error.to_string()),
            };
            damage.extend(wrong.map(|what| Error::from(bad(what))));
            Ok(())
        });
        read.map_err(|error| match error {
            alluvium_env::Error::Corrupt { path, offset, what } => {
                let advice = "flush, which makes it unnecessary, before the database is closed";
                alluvium_env::Error::corrupt(Path::new(&path), offset, format!("{what}: {advice}")).into()
            }
            error => error.into(),
        })
    }
}
