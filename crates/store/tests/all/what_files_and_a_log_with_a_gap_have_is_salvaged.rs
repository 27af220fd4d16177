//! A log with a gap, and files that the manifest lists only in part or not at all. Their undamaged parts are salvaged.
//! Data that an operation in the gap may have deleted or changed is doubtful.

use crate::common::disk::{self, Copies, copies, put_back};
use alluvium_codec::entry::Kind;
use alluvium_env::fault::{Fault, FaultFs, OpKind};
use alluvium_env::mem::MemFs;
use alluvium_env::{Env, Fs};
use alluvium_store::{Bounds, Compression, Durability, EntryRun, Options, Salvage, Store, TreeChanges, TreeId, Tuning};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

fn env_of(mem: &Arc<MemFs>) -> Env {
    disk::env_of(&(mem.clone() as Arc<dyn Fs>))
}

/// One partition, in which each tree has separate files of several blocks.
fn open(mem: &Arc<MemFs>) -> Store {
    let tuning = Tuning { small_tree_bytes: Some(1), ..Tuning::default() };
    let sizes = Options { memory_bytes: 8 << 20, block_bytes: 1 << 10, ..Options::default() };
    let options = Options { partitions: Some(1), background: false, compression: Compression::None, tuning, ..sizes };
    Store::open(env_of(mem), Path::new("db"), options).unwrap()
}

fn write(store: &Store, tree: TreeId, key: &str, value: Option<&str>) -> u64 {
    let mut batch = store.batch();
    match value {
        Some(value) => batch.put(tree, key.as_bytes(), value.as_bytes()),
        None => batch.delete(tree, key.as_bytes()),
    }
    store.write(batch, Durability::Sync).unwrap()
}

fn sorted(mem: &MemFs) -> Vec<PathBuf> {
    copies(mem, "db/p000", ".sst").into_iter().map(|(path, _)| path).collect()
}

/// The salvaged content of a tree: values by key, and whether each is doubtful.
fn left_in(salvage: &Salvage, tree: TreeId) -> BTreeMap<String, (String, bool)> {
    let mut found = BTreeMap::new();
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    let visit = &mut |key: &alluvium_store::SalvagedKey<'_>| {
        if key.versions[0].kind == Kind::Put {
            found.insert(text(key.key), (text(&key.versions[0].value), key.doubtful));
        }
        Ok(())
    };
    salvage.scan(tree.0, visit).unwrap();
    found
}

fn salvage(mem: &Arc<MemFs>) -> Salvage {
    Salvage::read(&env_of(mem), Path::new("db")).unwrap()
}

/// A store with two trees. Its manifest has lost the second of two flushes, and its log has a gap.
struct Forgotten {
    mem: Arc<MemFs>,
    trees: Vec<TreeId>,
    /// The file of the first flush, which the manifest names.
    listed: PathBuf,
    /// The file of the second flush, which the manifest does not name.
    newer: PathBuf,
}

/// The first flush has the first tree, and the second flush the tree `second`.
fn forgotten(second: usize) -> Forgotten {
    let mem = Arc::new(MemFs::new());
    let store = open(&mem);
    let trees = store.create_trees(&[b"first", b"second"]).unwrap();
    let put = |tree: usize, n: u32| {
        let value = format!("{n} in tree {tree}, {}", "and more of it ".repeat(6));
        write(&store, trees[tree], &format!("{n:03}"), Some(&value));
    };
    (0..40).for_each(|n| put(0, n));
    store.flush().unwrap();
    let (manifest, before) = (copies(&*mem, "db/p000", "MANIFEST"), sorted(&mem));
    (100..140).for_each(|n| put(second, n));
    let log = copies(&*mem, "db/wal", "wal-");
    store.flush().unwrap();
    let newer: Vec<_> = sorted(&mem).into_iter().filter(|path| !before.contains(path)).collect();
    assert_eq!(newer.len(), 1);
    let mem = Arc::new(mem.kill_clone());
    put_back(&*mem, "db/p000", "MANIFEST", &manifest);
    put_back(&*mem, "db/wal", "wal-", &log);
    disk::damage_log(&mem, &format!("120 in tree {second}"));
    let listed = before.iter().find(|path| disk::read(&*mem, path).windows(12).any(|window| window == b"30 in tree 0"));
    Forgotten { listed: listed.unwrap().clone(), newer: newer[0].clone(), mem, trees }
}

impl Forgotten {
    /// Checks that all last writes are salvaged, including the ones that the log has lost.
    fn check(&self, tree: usize, what: &str) -> Salvage {
        let salvage = salvage(&self.mem);
        let found = left_in(&salvage, self.trees[tree]);
        assert!(!salvage.lost_numbers.is_empty(), "{what}: the log has no gap");
        for n in 100..140 {
            let value = found.get(&format!("{n:03}")).map(|(value, _)| value.as_str());
            let right = value.is_some_and(|value| value.starts_with(&format!("{n} in tree {tree}")));
            assert!(right, "{what}: {n} is {value:?}\n{:?}", salvage.notes);
        }
        salvage
    }
}

#[test]
fn a_newer_file_without_its_end_counts() {
    let with = forgotten(0);
    assert!(with.check(0, "whole").losses.is_empty());
    disk::cut_end(&with.mem, &with.newer);
    let salvage = with.check(0, "without its end");
    assert!(salvage.losses.iter().any(|loss| loss.path == with.newer), "{:?}", salvage.losses);
}

#[test]
fn a_newer_file_that_cannot_be_opened_is_named() {
    let with = forgotten(0);
    let failing = FaultFs::over(with.mem.clone());
    failing.inject(Fault::nth(1).of(OpKind::Open).on(with.newer.to_string_lossy()).from_then_on());
    let salvage = Salvage::read(&disk::env_of(&(Arc::new(failing) as Arc<dyn Fs>)), Path::new("db")).unwrap();
    assert!(salvage.losses.iter().any(|loss| loss.path == with.newer), "{:?}", salvage.losses);
}

#[test]
fn a_newer_file_counts_beside_a_manifest_whose_header_is_damaged() {
    let with = forgotten(0);
    let manifest: Copies = copies(&*with.mem, "db/p000", "MANIFEST");
    for at in [0, 12, 20, 28, 36] {
        put_back(&*with.mem, "db/p000", "MANIFEST", &manifest);
        disk::flip(&*with.mem, &manifest.last().unwrap().0, at);
        let salvage = with.check(0, &format!("byte {at} of the header"));
        assert!(salvage.losses.is_empty(), "byte {at}: {:?}", salvage.losses);
    }
}

#[test]
fn what_the_manifest_says_of_a_file_bounds_what_it_lost() {
    let with = forgotten(1);
    disk::cut_end(&with.mem, &with.listed);
    let salvage = with.check(1, "a listed file without its end");
    assert!(salvage.losses.iter().any(|loss| loss.path == with.listed), "{:?}", salvage.losses);
    let doubtful = left_in(&salvage, with.trees[1]).into_iter().filter(|(_, (_, doubtful))| *doubtful);
    assert_eq!(doubtful.collect::<Vec<_>>(), [], "{:?}", salvage.losses);
    assert_eq!(left_in(&salvage, with.trees[0]).len(), 40);
}

#[test]
fn the_trees_of_a_listed_file_that_is_missing_are_known() {
    let with = forgotten(1);
    with.mem.remove(&with.listed).unwrap();
    let salvage = with.check(1, "a listed file is missing");
    assert!(salvage.losses.iter().any(|loss| loss.path == with.listed), "{:?}", salvage.losses);
    assert!(salvage.trees().contains(&with.trees[0].0), "{:?}", salvage.trees());
}

/// A key is put, and then deleted by a write in the gap of the log. Both writes are flushed, and then the manifests are
/// lost.
#[test]
fn what_a_gap_may_have_deleted_is_doubtful_whatever_tree_is_newer() {
    for (older, cut) in [(false, false), (true, false), (true, true)] {
        let mem = Arc::new(MemFs::new());
        let store = open(&mem);
        let trees = store.create_trees(&[b"first", b"second"]).unwrap();
        if older {
            write(&store, trees[0], "stays", Some("a value"));
            store.flush().unwrap();
        }
        write(&store, trees[0], "goes", Some("what was deleted"));
        write(&store, trees[0], "goes", None);
        write(&store, trees[1], "other", Some("the last"));
        let log = copies(&*mem, "db/wal", "wal-");
        store.flush().unwrap();
        assert!(!store.get(trees[0], b"goes", &mut Vec::new()).unwrap());
        let mem = Arc::new(mem.kill_clone());
        put_back(&*mem, "db/p000", "MANIFEST", &Copies::new());
        put_back(&*mem, "db/wal", "wal-", &log);
        disk::damage_log(&mem, "goes");
        if cut {
            disk::cut_end(&mem, sorted(&mem).last().unwrap());
        }
        let salvage = salvage(&mem);
        let what = format!("an older file: {older}, cut: {cut}: {:?}", salvage.losses);
        let found = left_in(&salvage, trees[0]);
        assert_eq!(found["goes"], ("what was deleted".to_owned(), true), "{what}");
        assert_eq!(found.get("stays").is_some_and(|(_, doubtful)| !doubtful), older, "{what}");
        assert_eq!(left_in(&salvage, trees[1])["other"].0, "the last", "{what}");
    }
}

#[test]
fn an_index_that_was_built_makes_nothing_doubtful() {
    for registered in [false, true] {
        let mem = Arc::new(MemFs::new());
        let store = open(&mem);
        let tree = store.create_trees(&[b"documents"]).unwrap()[0];
        let index =
            store.change_trees(1, |_| TreeChanges { create: vec![b"index".to_vec()], ..TreeChanges::default() });
        let index = index.unwrap()[0];
        if registered {
            store.flush().unwrap();
        }
        write(&store, tree, "one", Some("the first"));
        write(&store, tree, "two", Some("the second"));
        let last = write(&store, tree, "three", Some("the third"));
        let mut run = EntryRun::new(index);
        run.push(b"entry", last, b"");
        store.ingest(0, &mut run).unwrap();
        assert!(store.scan(index, Bounds::all(), None).unwrap().next().unwrap().is_some());
        let mem = Arc::new(mem.kill_clone());
        put_back(&*mem, "db/p000", "MANIFEST", &Copies::new());
        disk::damage_log(&mem, "the second");
        let salvage = salvage(&mem);
        assert_eq!(salvage.lost_numbers.len(), 1);
        let certain = |value: &str| (value.to_owned(), false);
        let found = left_in(&salvage, tree);
        let expected = [("one", "the first"), ("three", "the third")];
        assert_eq!(found, expected.map(|(key, value)| (key.to_owned(), certain(value))).into());
    }
}
