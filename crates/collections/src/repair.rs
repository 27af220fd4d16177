//! Repair: creates a new database with everything that can still be read from a damaged database.
//!
//! The damaged database is only read. A document is *certain* if its newest version is intact and no newer version can
//! be lost; it is copied to its collection. A document is *doubtful* if a lost part may have changed or deleted it; it
//! is copied to a separate collection, `NAME.doubtful`. Therefore no deleted document reappears in its collection, and
//! no readable document is discarded. It is unknown which keys a lost part of the log may have changed, so such a loss
//! is reported by sequence numbers.

mod examine;
mod rows;
mod trees;

use crate::engine::EngineHandle;
use crate::error::{Error, Result};
use crate::index::Index;
use crate::indexes;
use crate::names::FullName;
use crate::options::CollectionOptions;
use crate::trees::{SYSTEM, read_documents, read_options};
use alluvium_env::Env;
use alluvium_exec::Limits;
use alluvium_store::{Durability, Options, Salvage};
use rows::{CollectionTrees, Rows};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use trees::Trees;

pub use alluvium_store::{Loss, LostNumbers};
pub use examine::{Examined, examine};

/// The logical database of collections whose names are lost.
const RECOVERED: &str = "recovered";
/// The maximum number of unreadable documents that a report names.
const MOST_NAMED: usize = 1000;

/// Options of a repair.
#[derive(Debug, Clone, Default)]
pub struct RepairOptions {
    /// The memory budget of the new database in bytes; `None` for the default.
    pub memory_bytes: Option<usize>,
    /// When this becomes true, the repair ends with [`Error::Stopped`] after at most one more file, and leaves no
    /// files.
    pub stop: Arc<AtomicBool>,
}

/// The saved documents and indexes of one collection.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RepairedCollection {
    /// The full name.
    pub name: String,
    /// The number of certain documents.
    pub documents: u64,
    /// The number of documents for which a newer version, or a deletion, may be lost.
    pub doubtful: u64,
    /// The collection that holds the doubtful documents, if there are any.
    pub doubtful_in: Option<String>,
    /// The number of documents of a capped collection whose place in the order of insertion is lost or doubtful.
    /// Documents without a place follow the others, in the order of their last full writes.
    pub unordered: u64,
    /// The number of documents that cannot be decoded although their checksums are correct.
    pub unreadable: u64,
    /// The indexes that were rebuilt over the certain documents.
    pub indexes: Vec<String>,
    /// The indexes that could not be built, with the reasons.
    pub indexes_lost: Vec<(String, String)>,
}

/// A document that cannot be decoded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unreadable {
    /// The full name of the collection.
    pub collection: String,
    /// The `_id`, as extended JSON.
    pub id: String,
    /// The description of the loss.
    pub reason: String,
}

/// The result of a repair: the saved contents, the losses, and their reasons.
#[derive(Debug, Clone, Default)]
pub struct RepairReport {
    /// The collections, ordered by name.
    pub collections: Vec<RepairedCollection>,
    /// The numbers of certain entries and of doubtful entries in trees that are not collections.
    pub others: (u64, u64),
    /// The number of indexes whose definitions are lost. Their collections are unknown.
    pub indexes_lost: u64,
    /// The unreadable parts of sorted files.
    pub losses: Vec<Loss>,
    /// The sequence numbers of operations that are lost from the log. Each may have changed or
    /// deleted any document.
    pub lost_numbers: Vec<LostNumbers>,
    /// Other problems, a sentence each.
    pub notes: Vec<String>,
    /// Documents that cannot be decoded; at most 1000 are listed.
    pub unreadable: Vec<Unreadable>,
    /// The number of sorted files read.
    pub files: u64,
    /// The number of whole data blocks in these files.
    pub blocks: u64,
}

impl RepairReport {
    /// True if nothing is lost, so that the new database has the complete contents of the damaged database.
    ///
    /// ```
    /// # let env = alluvium_env::Env::in_memory(1);
    /// # let db = alluvium::Database::builder().env(env.clone()).open("db")?;
    /// # db.collection("pets").put("rex", r#"{"kind": "dog"}"#)?;
    /// # db.close()?;
    /// let report = alluvium::repair::repair("db", "saved").env(env).run()?;
    /// assert!(report.is_whole(), "{:?} and {:?} are lost", report.losses, report.lost_numbers);
    /// # alluvium::Result::Ok(())
    /// ```
    pub fn is_whole(&self) -> bool {
        let whole = |c: &RepairedCollection| c.unreadable + c.doubtful + c.unordered == 0 && c.indexes_lost.is_empty();
        self.collections.iter().all(whole)
            && self.indexes_lost == 0
            && self.others.1 == 0
            && self.lost_numbers.is_empty()
            && !self.losses.iter().any(|loss| loss.entries)
    }

    /// The number of certain documents in all collections.
    ///
    /// ```
    /// # let env = alluvium_env::Env::in_memory(1);
    /// # let db = alluvium::Database::builder().env(env.clone()).open("db")?;
    /// # db.collection("pets").put("rex", r#"{"kind": "dog"}"#)?;
    /// # db.close()?;
    /// assert_eq!(alluvium::repair::repair("db", "saved").env(env).run()?.documents(), 1);
    /// # alluvium::Result::Ok(())
    /// ```
    pub fn documents(&self) -> u64 {
        self.collections.iter().map(|collection| collection.documents).sum()
    }

    /// The number of doubtful documents in all collections.
    ///
    /// ```
    /// # let env = alluvium_env::Env::in_memory(1);
    /// # let db = alluvium::Database::builder().env(env.clone()).open("db")?;
    /// # db.collection("pets").put("rex", r#"{"kind": "dog"}"#)?;
    /// # db.close()?;
    /// assert_eq!(alluvium::repair::repair("db", "saved").env(env).run()?.doubtful(), 0);
    /// # alluvium::Result::Ok(())
    /// ```
    pub fn doubtful(&self) -> u64 {
        self.collections.iter().map(|collection| collection.doubtful).sum()
    }
}

/// Describes the range of a loss: the tree, and the first and last `_id` that may be lost, if these are known.
///
/// ```
/// # let env = alluvium_env::Env::in_memory(1);
/// # let db = alluvium::Database::builder().env(env.clone()).open("db")?;
/// # db.collection("pets").put("rex", r#"{"kind": "dog"}"#)?;
/// # db.close()?;
/// for loss in alluvium::repair::repair("db", "saved").env(env).run()?.losses {
///     println!("{}: {}", loss.path.display(), alluvium::repair::describe_range(&loss));
/// }
/// # alluvium::Result::Ok(())
/// ```
pub fn describe_range(loss: &Loss) -> String {
    let split = |key: &[u8]| match key.split_first_chunk() {
        Some((tree, rest)) => (u32::from_be_bytes(*tree), rest.to_vec()),
        None => (0, Vec::new()),
    };
    // Bounds in the index of a file are shortened, so a bound is not always a complete `_id`.
    let show = |key: &[u8]| {
        let mut rest = key;
        match alluvium_document::key::decode(&mut rest) {
            Ok(id) if rest.is_empty() => crate::error::id_text(&id),
            _ if key.is_empty() => "the first".to_owned(),
            _ => format!("\"{}\"", key.escape_ascii()),
        }
    };
    let (tree, low) = split(&loss.from);
    match loss.to.as_deref().map(split) {
        Some((last, high)) if last == tree => format!("tree {tree}, from {} to {}", show(&low), show(&high)),
        Some((last, high)) => format!("from {} of tree {tree} to {} of tree {last}", show(&low), show(&high)),
        None => format!("from {} of tree {tree} to the last key of all", show(&low)),
    }
}

/// Reads the damaged database in `from`, and creates a new database with its readable contents in `to`. The directory
/// `to` must be empty or not exist. It appears when the new database is complete and durable.
///
/// ```
/// # let env = alluvium_env::Env::in_memory(1);
/// # let db = alluvium::Database::builder().env(env.clone()).open("db")?;
/// # db.collection("pets").put("rex", r#"{"kind": "dog"}"#)?;
/// # db.close()?;
/// let report = alluvium::repair::repair("db", "saved").env(env).run()?;
/// assert_eq!((report.documents(), report.is_whole()), (1, true));
/// # alluvium::Result::Ok(())
/// ```
///
/// # Errors
/// [`crate::error::ErrorKind::Open`] if `from` is not a database, or `to` exists and is not empty;
/// [`crate::ErrorKind::InUse`]; [`crate::error::ErrorKind::NoSpace`]; errors of reading and
/// writing. Damage is not an error: it is in the report.
pub fn repair(env: &Env, from: &Path, to: &Path, options: &RepairOptions) -> Result<RepairReport> {
    refuse_read_only(env, from)?;
    let mut salvage = Salvage::read_unless(env, from, &options.stop)?;
    alluvium_store::make_whole(env, to, |env, dir| {
        // No reserve is needed: no other process writes to the new database before it is complete,
        // and it is removed if the disk fills up before that.
        let defaults = Options::default();
        let options_of_new = Options {
            partitions: Some(salvage.partitions()),
            disk_reserve_bytes: Some(0),
            memory_bytes: options.memory_bytes.unwrap_or(defaults.memory_bytes),
            durability: Durability::Bulk,
            ..defaults
        };
        let engine = crate::open::open(env.clone(), dir, options_of_new)?;
        let mut report = fill(&salvage, &engine, options)?;
        engine.store().flush()?;
        engine.close()?;
        report.losses = std::mem::take(&mut salvage.losses);
        report.lost_numbers = std::mem::take(&mut salvage.lost_numbers);
        let notes = std::mem::take(&mut salvage.notes).into_iter().chain(std::mem::take(&mut salvage.torn));
        report.notes.splice(0..0, notes);
        (report.files, report.blocks) = (salvage.files, salvage.blocks);
        Ok(report)
    })
}

fn refuse_read_only(env: &Env, path: &Path) -> Result<()> {
    match alluvium_readonly::is_read_only(env, path).map_err(alluvium_store::Error::from)? {
        true => Err(Error::NeverChanges(path.to_owned())),
        false => Ok(()),
    }
}

fn fill(salvage: &Salvage, engine: &EngineHandle, options: &RepairOptions) -> Result<RepairReport> {
    let mut report = RepairReport::default();
    let trees = Trees::read(salvage)?;
    let mut names: BTreeMap<FullName, (u32, u32, bool)> = BTreeMap::new();
    for (tree, known) in &trees.described {
        match read_documents(&known.description) {
            Some((name, system)) => {
                // Two collections have the same name, because a rename or a drop between their creations is lost. The
                // newer collection keeps the name.
                if let Some(older) = names.insert(name.clone(), (*tree, system.0, known.doubtful)) {
                    let other = free_name(&names, older.0)?;
                    report.notes.push(format!("two collections are called {name}: the older one is {other} now"));
                    names.insert(other, (older.0, older.1, true));
                }
            }
            // A system tree is copied with its collection.
            None if known.description == [SYSTEM] => {}
            None => copy_tree(salvage, engine, *tree, known, &mut report)?,
        }
    }
    for (tree, system) in &trees.nameless {
        let name = free_name(&names, *tree)?;
        report.notes.push(format!("the name of a collection is lost: it is called {name}"));
        names.insert(name, (*tree, *system, true));
    }
    let taken: Vec<String> = names.keys().map(ToString::to_string).collect();
    for (name, (documents, system, doubtful)) in names {
        let mut doubtful_name = format!("{name}.doubtful");
        if FullName::parse(&doubtful_name).is_err() {
            // A name of the maximum length has no room for the suffix.
            doubtful_name = format!("{RECOVERED}.tree_{documents}.doubtful");
        }
        while taken.contains(&doubtful_name) {
            doubtful_name.push('_');
        }
        let doubtful_name = FullName::parse(&doubtful_name)?;
        engine.catalog.create(&name, CollectionOptions::default())?;
        let rows =
            Rows::new(engine, salvage, &name, CollectionTrees { documents, system }, &doubtful_name, &mut report)?;
        let mut collection = rows.copy(documents, doubtful, options, &mut report)?;
        for index in trees.indexes.get(&documents).into_iter().flatten() {
            make_index(engine, &name, index, options, &mut collection)?;
        }
        // The options are set after the documents are copied, because documents may be older than the validator.
        if let Some(known) = trees.described.get(&documents) {
            match read_options(&known.description) {
                Some(options) if options == CollectionOptions::default() => {}
                Some(options) => {
                    if options.order().is_some() {
                        collection.unordered = rows.copy_order(CollectionTrees { documents, system })?;
                    }
                    engine.catalog.change_options(&name, |known| *known = options)?;
                }
                None => {
                    report.notes.push(format!("the options of the collection {name}, such as its validator, are lost"))
                }
            }
        }
        report.collections.push(collection);
    }
    report.indexes_lost = trees.lost_indexes.len() as u64;
    Ok(report)
}

/// Rebuilds an index. Its remaining entries are not used.
fn make_index(
    engine: &EngineHandle,
    name: &FullName,
    made: &Index,
    options: &RepairOptions,
    collection: &mut RepairedCollection,
) -> Result<()> {
    let index = &made.definition;
    let declared = indexes::declare(engine, name, &index.keys_map(), &index.to_map());
    let built = declared.and_then(|declared| {
        let mut limits = Limits::default();
        limits.stop = Some(Arc::clone(&options.stop));
        declared.build(engine, name, &limits)?;
        Ok(declared.name().to_owned())
    });
    match built {
        Ok(name) => collection.indexes.push(name),
        // The index was still being built, and its build would have failed.
        Err(Error::Index(_) | Error::DuplicateIndexKey { .. }) if made.ready.is_none() => {}
        // Deleted documents may have reappeared, so that a key exists twice.
        Err(error @ (Error::Index(_) | Error::IndexConflict { .. } | Error::DuplicateIndexKey { .. })) => {
            collection.indexes_lost.push((index.name().to_owned(), error.to_string()));
        }
        Err(error) => return Err(error),
    }
    Ok(())
}

/// An unused name for a collection whose name is lost or belongs to another one.
fn free_name<T>(names: &BTreeMap<FullName, T>, tree: u32) -> Result<FullName> {
    let mut name = format!("tree_{tree}");
    loop {
        let free = FullName::new(RECOVERED, &name)?;
        if !names.contains_key(&free) {
            return Ok(free);
        }
        name.push('_');
    }
}

/// Copies a tree that is not a collection.
fn copy_tree(
    salvage: &Salvage,
    engine: &EngineHandle,
    tree: u32,
    known: &trees::Described,
    report: &mut RepairReport,
) -> Result<()> {
    let store = engine.store();
    let make = |description: &[u8]| match known.multivalue {
        true => store.create_multivalue_tree(description),
        false => store.create_trees(&[description]).map(|trees| trees[0]),
    };
    let certain = make(&known.description)?;
    let mut doubtful_tree = None;
    let mut broken = 0u64;
    salvage.scan(tree, &mut |key| {
        let Some(value) = trees::plain_value(key) else { return Ok(()) };
        let Ok(value) = value else {
            broken += 1;
            return Ok(());
        };
        let doubtful = key.doubtful || known.doubtful;
        let to = match (doubtful, doubtful_tree) {
            (false, _) => certain,
            (true, Some(tree)) => tree,
            (true, None) => *doubtful_tree.insert(make(&[b"doubtful ", known.description.as_slice()].concat())?),
        };
        let count = if doubtful { &mut report.others.1 } else { &mut report.others.0 };
        *count += 1;
        let mut batch = store.batch();
        match trees::multivalue_parts(key.key).filter(|_| known.multivalue) {
            Some((key, value)) => batch.put_value(to, &key, value),
            None => batch.put(to, key.key, value),
        }
        store.write(batch, Durability::Bulk).map(|_| ())
    })?;
    if broken > 0 {
        report.notes.push(format!("{broken} entries of tree {tree}, which is not a collection, cannot be read"));
    }
    Ok(())
}

/// An error if the repair shall stop.
fn check_stop(options: &RepairOptions) -> Result<()> {
    if options.stop.load(Ordering::Relaxed) { Err(Error::Stopped) } else { Ok(()) }
}
