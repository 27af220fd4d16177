//! Salvage: reading the undamaged parts of a damaged store, without changing the store.
//!
//! Every version of a key that can still be read is in a sorted file or in the log, and has its number. Therefore the
//! newest version is known without runs and levels. Data that cannot be read is a *loss*: a range of keys up to a
//! number in a sorted file, or a range of numbers of the log. A key is *doubtful* if a loss may have contained a newer
//! version, such as a tombstone: without the tombstone, a deleted key would reappear.

mod compare;
mod entry;
mod files;
mod log;
mod merge;
mod partial;

use crate::error::{Error, Result, check_stop};
use crate::files::listing::Listing;
use crate::files::superblock::Superblock;
use crate::files::{self as directory, LOCK_NAME, LOG_DIR};
use crate::keys::key_of;
use crate::report::LostNumbers;
use alluvium_codec::entry::{Kind, Seq};
use alluvium_env::{Env, FileLock};
use log::SalvagedLog;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// A sorted file that cannot be read, or a part of one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Loss {
    /// The damaged file.
    pub path: PathBuf,
    /// The offset of the loss in the file.
    pub offset: u64,
    /// The length in bytes; 0 if it is not known.
    pub bytes: u64,
    /// A description of the damage.
    pub what: String,
    /// The partition.
    pub partition: u32,
    /// True if entries between the keys below may be lost. False if only data about entries is lost, such as an index.
    pub entries: bool,
    /// The lowest internal key that may be lost; empty if unknown.
    pub from: Vec<u8>,
    /// The highest internal key that may be lost; `None` if unknown.
    pub to: Option<Vec<u8>>,
    /// No lost entry has a higher number.
    pub max_seq: Seq,
}

/// One version of a key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Version {
    /// Its sequence number.
    pub seq: Seq,
    /// The kind of the operation.
    pub kind: Kind,
    /// The value, or the delta.
    pub value: Vec<u8>,
    /// True if the version is in the log, and the log has no gap. Then no newer version is lost.
    latest: bool,
    /// True if the version is in a file that other files may have replaced.
    replaced: bool,
}

/// The remaining versions of a key.
#[derive(Debug)]
pub struct SalvagedKey<'a> {
    /// The tree of the key.
    pub tree: u32,
    /// The key, without its tree.
    pub key: &'a [u8],
    /// The versions, newest first; at least one.
    pub versions: &'a [Version],
    /// True if a newer version may be lost.
    pub doubtful: bool,
}

/// The undamaged parts of a damaged store.
pub struct Salvage {
    pub(super) env: Env,
    dir: PathBuf,
    stop: Arc<AtomicBool>,
    partitions: Vec<files::SalvagedPartition>,
    /// True if some partition has no list of its files: see [`files::FoundFiles`].
    unlisted: bool,
    /// The losses in sorted files.
    pub losses: Vec<Loss>,
    /// The numbers of the operations that are lost from the log.
    pub lost_numbers: Vec<LostNumbers>,
    /// Descriptions of other damage, one sentence each.
    pub notes: Vec<String>,
    /// Descriptions of incomplete ends of files, one sentence each. These files were being written when the process
    /// ended. No durable data is lost by them.
    pub torn: Vec<String>,
    /// The number of sorted files that were read.
    pub files: u64,
    /// The number of undamaged data blocks in these files.
    pub blocks: u64,
    _lock: Option<Box<dyn FileLock>>,
}

impl Salvage {
    /// Reads the store in `dir`: every block of every sorted file, the manifests and the log. Takes the lock of the
    /// store, and writes nothing.
    ///
    /// ```
    /// # use alluvium_store::{Durability, Options, Salvage, Store};
    /// # let env = alluvium_env::Env::in_memory(1);
    /// # let store = Store::open(env.clone(), "db".as_ref(), Options::default())?;
    /// # let pets = store.create_trees(&[b"pets"])?[0];
    /// # let mut batch = store.batch();
    /// # batch.put(pets, b"rex", b"dog");
    /// # store.write(batch, Durability::Sync)?;
    /// # store.close()?;
    /// let salvage = Salvage::read(&env, "db".as_ref())?;
    /// assert!(salvage.losses.is_empty() && salvage.lost_numbers.is_empty());
    /// # alluvium_store::Result::Ok(())
    /// ```
    ///
    /// # Errors
    /// [`Error::NotADatabase`], [`Error::IsCheckpoint`], [`Error::InUse`], and [`Error::Storage`]
    /// for a newer format.
    pub fn read(env: &Env, dir: &Path) -> Result<Self> {
        Self::read_unless(env, dir, &Arc::default())
    }

    /// As [`Salvage::read`], until `stop` is set; `stop` is checked between files. Setting `stop` also stops
    /// [`Salvage::scan`].
    ///
    /// ```
    /// # use alluvium_store::{Error, Options, Salvage, Store};
    /// # let env = alluvium_env::Env::in_memory(1);
    /// # Store::open(env.clone(), "db".as_ref(), Options::default())?.close()?;
    /// let stop = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(true));
    /// assert!(matches!(Salvage::read_unless(&env, "db".as_ref(), &stop), Err(Error::Stopped)));
    /// # alluvium_store::Result::Ok(())
    /// ```
    ///
    /// # Errors
    /// As [`Salvage::read`]; [`Error::Stopped`] if it was stopped.
    pub fn read_unless(env: &Env, dir: &Path, stop: &Arc<AtomicBool>) -> Result<Self> {
        let env = &directory::hold(env, dir)?.ok_or_else(|| Error::NotADatabase(dir.to_owned()))?;
        let lock = lock(env, dir)?;
        let mut notes = Vec::new();
        let superblock = match Superblock::read(env, dir) {
            Ok(found) => found,
            Err(error @ Error::Storage(alluvium_env::Error::NewerFormat { .. })) => return Err(error),
            Err(error) if error.is_circumstance() => return Err(error),
            Err(error) => {
                notes.push(error.to_string());
                None
            }
        };
        let partitions = partition_dirs(env, dir)?;
        if superblock.is_none() {
            if partitions == 0 {
                return Err(Error::NotADatabase(dir.to_owned()));
            }
            if Listing::read(env, dir).is_ok() {
                return Err(Error::IsCheckpoint(dir.to_owned()));
            }
            notes.push("the superblock is lost: the partitions were counted, and the id is that of the log".to_owned());
        }
        let partitions = superblock.map_or(partitions, |found| found.partitions);
        let id = match superblock {
            Some(found) => Some(found.database_id),
            None => log::id_of(env, &dir.join(LOG_DIR))?.or(files::id_of(env, dir, partitions)?),
        };
        let mut log = SalvagedLog::read(env, &dir.join(LOG_DIR), id, partitions, stop)?;
        let mut found = files::read(env, dir, id, partitions, &log)?;
        compare::compare(env, &mut log, &mut found)?;
        notes.append(&mut log.notes);
        notes.append(&mut found.notes);
        for (partition, entries) in found.partitions.iter_mut().zip(log.entries) {
            partition.take_log(entries);
        }
        let (env, dir, lost_numbers) = (env.clone(), dir.to_owned(), log.lost);
        let mut torn = log.torn;
        torn.append(&mut found.torn);
        let files::FoundFiles { partitions, unlisted, losses, files, blocks, .. } = found;
        let stop = stop.clone();
        Ok(Self { env, dir, stop, partitions, unlisted, losses, lost_numbers, notes, torn, files, blocks, _lock: lock })
    }

    /// The directory of the store.
    ///
    /// ```
    /// # use alluvium_store::{Durability, Options, Salvage, Store};
    /// # let env = alluvium_env::Env::in_memory(1);
    /// # let store = Store::open(env.clone(), "db".as_ref(), Options::default())?;
    /// # let pets = store.create_trees(&[b"pets"])?[0];
    /// # let mut batch = store.batch();
    /// # batch.put(pets, b"rex", b"dog");
    /// # store.write(batch, Durability::Sync)?;
    /// # store.close()?;
    /// let salvage = Salvage::read(&env, "db".as_ref())?;
    /// assert_eq!(salvage.path(), std::path::Path::new("db"));
    /// # alluvium_store::Result::Ok(())
    /// ```
    pub fn path(&self) -> &Path {
        &self.dir
    }

    /// The number of partitions.
    ///
    /// ```
    /// # use alluvium_store::{Durability, Options, Salvage, Store};
    /// # let env = alluvium_env::Env::in_memory(1);
    /// # let store = Store::open(env.clone(), "db".as_ref(), Options::default())?;
    /// # let pets = store.create_trees(&[b"pets"])?[0];
    /// # let mut batch = store.batch();
    /// # batch.put(pets, b"rex", b"dog");
    /// # store.write(batch, Durability::Sync)?;
    /// # store.close()?;
    /// let salvage = Salvage::read(&env, "db".as_ref())?;
    /// assert_eq!(salvage.partitions(), 4);
    /// # alluvium_store::Result::Ok(())
    /// ```
    pub fn partitions(&self) -> u32 {
        self.partitions.len() as u32
    }

    /// The trees that have keys, including keys that are lost.
    ///
    /// ```
    /// # use alluvium_store::{Durability, Options, Salvage, Store};
    /// # let env = alluvium_env::Env::in_memory(1);
    /// # let store = Store::open(env.clone(), "db".as_ref(), Options::default())?;
    /// # let pets = store.create_trees(&[b"pets"])?[0];
    /// # let mut batch = store.batch();
    /// # batch.put(pets, b"rex", b"dog");
    /// # store.write(batch, Durability::Sync)?;
    /// # store.close()?;
    /// let salvage = Salvage::read(&env, "db".as_ref())?;
    /// assert!(salvage.trees().contains(&pets.0));
    /// # alluvium_store::Result::Ok(())
    /// ```
    pub fn trees(&self) -> BTreeSet<u32> {
        self.partitions.iter().flat_map(|partition| partition.trees()).collect()
    }

    /// The definitions that values of a tree use, by number, from the sorted files with these values. They do not
    /// depend on the tree of definitions, which may be lost.
    ///
    /// ```
    /// # use alluvium_store::{Durability, Options, Salvage, Store};
    /// # let env = alluvium_env::Env::in_memory(1);
    /// # let store = Store::open(env.clone(), "db".as_ref(), Options::default())?;
    /// # let pets = store.create_trees(&[b"pets"])?[0];
    /// # let mut batch = store.batch();
    /// # batch.put(pets, b"rex", b"dog");
    /// # store.write(batch, Durability::Sync)?;
    /// # store.close()?;
    /// let salvage = Salvage::read(&env, "db".as_ref())?;
    /// assert!(salvage.definitions(pets.0).is_empty()); // the layer of documents has definitions
    /// # alluvium_store::Result::Ok(())
    /// ```
    pub fn definitions(&self, tree: u32) -> BTreeMap<u32, &[u8]> {
        let defined = self.partitions.iter().filter_map(|partition| partition.defined.get(&tree));
        defined.flatten().map(|(number, definition)| (*number, definition.as_slice())).collect()
    }

    /// True if entries of this tree may be lost in sorted files. A missing file counts too, even if no manifest lists
    /// it and its absence cannot be noticed.
    ///
    /// ```
    /// # use alluvium_store::{Durability, Options, Salvage, Store};
    /// # let env = alluvium_env::Env::in_memory(1);
    /// # let store = Store::open(env.clone(), "db".as_ref(), Options::default())?;
    /// # let pets = store.create_trees(&[b"pets"])?[0];
    /// # let mut batch = store.batch();
    /// # batch.put(pets, b"rex", b"dog");
    /// # store.write(batch, Durability::Sync)?;
    /// # store.close()?;
    /// let salvage = Salvage::read(&env, "db".as_ref())?;
    /// assert!(!salvage.has_losses_in(pets.0));
    /// # alluvium_store::Result::Ok(())
    /// ```
    pub fn has_losses_in(&self, tree: u32) -> bool {
        let (low, high) = (tree.to_be_bytes(), tree.saturating_add(1).to_be_bytes());
        let within = |loss: &Loss| {
            loss.entries
                && loss.from.as_slice() < &high[..]
                && loss.to.as_ref().is_none_or(|to| to.as_slice() >= &low[..])
        };
        self.unlisted || self.losses.iter().any(within)
    }

    /// Calls `visit` with the remaining versions of each key of a tree. Partitions are visited one after the other, and
    /// keys in their order within each partition.
    ///
    /// ```
    /// # use alluvium_store::{Durability, Options, Salvage, Store};
    /// # let env = alluvium_env::Env::in_memory(1);
    /// # let store = Store::open(env.clone(), "db".as_ref(), Options::default())?;
    /// # let pets = store.create_trees(&[b"pets"])?[0];
    /// # let mut batch = store.batch();
    /// # batch.put(pets, b"rex", b"dog");
    /// # store.write(batch, Durability::Sync)?;
    /// # store.close()?;
    /// let salvage = Salvage::read(&env, "db".as_ref())?;
    /// let mut found = Vec::new();
    /// salvage.scan(pets.0, &mut |key| {
    ///     found.push((key.key.to_vec(), key.versions[0].value.clone(), key.doubtful));
    ///     Ok(())
    /// })?;
    /// assert_eq!(found, [(b"rex".to_vec(), b"dog".to_vec(), false)]);
    /// # alluvium_store::Result::Ok(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Storage`], the errors of `visit`, and [`Error::Stopped`] if it was stopped
    /// ([`Salvage::read_unless`]).
    pub fn scan(&self, tree: u32, visit: &mut dyn FnMut(&SalvagedKey<'_>) -> Result<()>) -> Result<()> {
        for (index, partition) in (0..).zip(&self.partitions) {
            check_stop(&self.stop)?;
            let losses: Vec<&Loss> =
                self.losses.iter().filter(|loss| loss.partition == index && loss.entries).collect();
            partition.scan(&self.env, &self.stop, tree, &mut |key, versions| {
                let doubtful = is_doubtful(&losses, key, versions);
                visit(&SalvagedKey { tree, key: key_of(key), versions, doubtful })
            })?;
        }
        Ok(())
    }
}

/// True if a loss may have contained a version that is newer than the newest full write among `versions`.
fn is_doubtful(losses: &[&Loss], key: &[u8], versions: &[Version]) -> bool {
    let full = versions.iter().find(|version| version.kind != Kind::Delta);
    if full.is_some_and(|full| full.latest) {
        return false;
    }
    let above = full.map_or(0, |full| full.seq);
    let holds = |loss: &Loss| {
        loss.max_seq > above && loss.from.as_slice() <= key && loss.to.as_ref().is_none_or(|to| key <= to.as_slice())
    };
    versions.iter().take_while(|version| version.seq >= above).any(|version| version.replaced)
        || losses.iter().any(|loss| holds(loss))
}

/// Takes the lock of readers of a store. Writes nothing to the directory.
fn lock(env: &Env, dir: &Path) -> Result<Option<Box<dyn FileLock>>> {
    let path = dir.join(LOCK_NAME);
    let exists = env.fs.exists(&path)?;
    // A reader may have no permission to write in the directory.
    match env.fs.try_lock_to_read(&path) {
        Ok(Some(lock)) => Ok(Some(lock)),
        Ok(None) => Err(Error::in_use(env, dir, &path)),
        // The lock file may be missing from a damaged database, and some file systems cannot lock directories.
        Err(_) if !exists => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// The number of partitions, computed from their directories: the highest number plus one.
fn partition_dirs(env: &Env, dir: &Path) -> Result<u32> {
    let entries = directory::list(env, dir)?;
    let dirs = entries.iter().filter(|entry| entry.is_dir);
    let indexes = dirs.filter_map(|entry| directory::partition_of_dir(&entry.name));
    Ok(indexes.filter(|index| *index < 256).max().map_or(0, |index| index + 1))
}
