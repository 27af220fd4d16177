//! Repairs of damaged databases: they must not change the source, and every document that they
//! report as certain must have existed.

use crate::worlds::{FileKind, World, contents_of};
use alluvium::Database;
use alluvium::repair;
use alluvium_env::fault::{Op, OpKind};
use alluvium_env::sync::Mutex;
use alluvium_store::Options;
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

/// One in this many cases is also repaired.
const ONE_IN: u64 = 40;

/// The text of each document.
pub(super) type Written = BTreeSet<String>;

/// Adds all documents of some collections.
fn documents(db: &Database, names: impl IntoIterator<Item = String>, into: &mut Written) {
    for name in names {
        for document in db.collection(&name).scan().run().expect("a scan") {
            into.insert(format!("{:?}", document.expect("a document").to_map().expect("a map")));
        }
    }
}

/// Adds all documents of a database.
pub(super) fn all(db: &Database, into: &mut Written) {
    documents(db, db.collections().iter().map(alluvium::CollectionInfo::full_name), into);
}

/// Copies of the disk before each change of a manifest, recorded while a database is filled.
pub(super) struct Moments(Arc<Mutex<Vec<World>>>);

impl Moments {
    pub fn watch(world: &World) -> Self {
        let seen: Arc<Mutex<Vec<World>>> = Arc::default();
        let (into, mem) = (seen.clone(), world.mem.clone());
        world.faults.set_hook(Some(Arc::new(move |op: &Op<'_>| {
            if op.kind == OpKind::Write && FileKind::of(op.path) == FileKind::Manifest {
                into.lock().push(World::over(mem.kill_clone(), op.number));
            }
        })));
        Self(seen)
    }

    /// Stops recording, and adds the documents on all recorded disks.
    pub fn end(self, world: &World, path: &str, options: &Options, into: &mut Written) {
        world.faults.set_hook(None);
        for disk in std::mem::take(&mut *self.0.lock()) {
            // The first disks have no database yet.
            let opened = Database::builder().env(disk.env.clone()).options(options.clone()).open(path);
            opened.iter().for_each(|db| all(db, into));
        }
    }
}

/// Repairs a damaged disk, in a few of the cases. Returns whether the report claims that nothing is lost, and the
/// documents that the report calls certain.
pub(super) fn repair(
    options: &Options,
    ever: &Written,
    disk: &World,
    path: &str,
    context: &str,
) -> Option<(bool, Written)> {
    if !alluvium_codec::checksum64(context.as_bytes(), 0).is_multiple_of(ONE_IN) {
        return None;
    }
    let (disk, from, to) = (disk.killed(), Path::new(path), Path::new("repaired"));
    let before = contents_of(&*disk.mem, from);
    let report = repair::repair(from, to).env(disk.env.clone()).memory(8 << 20).run();
    let mut after = contents_of(&*disk.mem, from);
    // The repair may have created the lock file.
    after.retain(|path, _| before.contains_key(path) || !path.ends_with("LOCK"));
    assert!(after == before, "{context}: a repair changes what it repairs");
    let report = report.unwrap_or_else(|e| panic!("{context}: it is not repaired: {e}"));
    let db = Database::builder().env(disk.env.clone()).options(options.clone()).open(to);
    let db = db.unwrap_or_else(|e| panic!("{context}: what was repaired does not open: {e}"));
    let damage = db.verify().run().expect("it can be checked").damage;
    assert!(damage.is_empty(), "{context}: what was repaired is damaged: {damage:?}");
    let mut certain = Written::new();
    documents(&db, report.collections.iter().map(|one| one.name.clone()), &mut certain);
    if let Some(other) = certain.iter().find(|document| !ever.contains(*document)) {
        panic!("{context}: certain after a repair, and it has never been there: {other}");
    }
    Some((report.is_whole(), certain))
}
