//! Hostile files derived from a database: superblocks, listings of checkpoints, read-only stores, dumps. If the first
//! byte of the input is even, the content gets valid checksums.

use super::storage::{options, read_all, small};
use crate::formats::read_only as store;
use crate::worlds::{PATH, World};
use alluvium::backup;
use alluvium::dump;
use alluvium::load::Metadata;
use alluvium::{Database, ReadOnly};
use alluvium_env::OpenMode;
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::OnceLock;

/// The version of formats.
const VERSION: u32 = 1;

/// Replaces the content of a file.
fn replace(world: &World, path: &Path, bytes: &[u8]) {
    let file = world.env.fs.open(path, OpenMode::ReadWrite).expect("a file");
    file.set_len(0).and_then(|()| file.write_at(bytes, 0)).expect("a write");
}

fn content(world: &World, path: &str) -> Vec<u8> {
    let file = world.env.fs.open(Path::new(path), OpenMode::Read).expect("a file");
    let mut bytes = vec![0; file.len().expect("a length") as usize];
    file.read_exact_at(&mut bytes, 0).expect("a read");
    bytes
}

/// The bytes of a superblock: a magic number, a version, and a payload with a checksum.
fn framed(magic: &[u8], payload: &[u8]) -> Vec<u8> {
    let mut bytes = magic.to_vec();
    bytes.extend_from_slice(&VERSION.to_le_bytes());
    alluvium_codec::frame::put(&mut bytes, payload, u64::from(VERSION), 12).expect("a short payload");
    bytes
}

/// The payload of a superblock.
fn unframed(bytes: &[u8]) -> Vec<u8> {
    alluvium_codec::frame::get(&mut &bytes[12..], u64::from(VERSION), 12).expect("a whole superblock").to_vec()
}

/// The superblock of a database is replaced by the input.
pub fn superblocks(data: &[u8]) {
    let Some((kind, data)) = data.split_first() else { return };
    let bytes = if kind % 2 == 1 { data.to_vec() } else { framed(b"alluvium", data) };
    let world = small();
    replace(&world, &Path::new(PATH).join("ALLUVIUM"), &bytes);
    read_all(&world, &options());
}

/// A disk with a checkpoint in `monday`.
fn with_checkpoint() -> World {
    static MADE: OnceLock<World> = OnceLock::new();
    let make = || {
        let world = small();
        let db = world.open(&options()).expect("a database");
        db.checkpoint("monday").copy(true).run().expect("a checkpoint");
        drop(db);
        world.killed()
    };
    MADE.get_or_init(make).killed()
}

/// The listing of a checkpoint is replaced by the input. If the checkpoint passes the check, it is restored and read.
pub fn listings(data: &[u8]) {
    let Some((kind, data)) = data.split_first() else { return };
    let mut bytes = data.to_vec();
    if kind % 2 == 0 {
        // Completes the last line of the listing with the checksum.
        let body = data.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
        let sum = alluvium_codec::checksum64(&data[..body], u64::from(VERSION));
        bytes.extend_from_slice(format!(" {sum:016x}\n").as_bytes());
    }
    let world = with_checkpoint();
    replace(&world, Path::new("monday/CHECKPOINT"), &bytes);
    let checked = backup::check("monday").env(world.env.clone()).run();
    let passed = checked.is_ok_and(|checked| checked.damage.is_empty());
    let to = Path::new("restored");
    let restored = backup::restore("monday", to).env(world.env.clone()).run();
    assert_eq!(restored.is_ok(), passed, "check and restore differ: {restored:?}");
    if passed {
        let db =
            Database::builder().env(world.env.clone()).options(options()).open(to).expect("what was restored opens");
        assert!(db.verify().run().expect("it can be checked").damage.is_empty());
    }
}

/// A read-only store in `ro`.
fn with_read_only() -> World {
    static MADE: OnceLock<World> = OnceLock::new();
    let make = || {
        let world = World::new(1);
        store::build(&world.env, "ro", &store::documents(20));
        world
    };
    MADE.get_or_init(make).killed()
}

/// Opens the read-only store. If that succeeds, reads everything in it.
fn read_store(world: &World, interval: Option<u64>) {
    let options = ReadOnly::options().env(world.env.clone()).memory(1 << 20).index_interval(interval);
    let Ok(store) = options.open("ro") else { return };
    let _damage = store.verify();
    let _got = (store.get(7).is_ok(), store.get("string").is_ok(), store.get("absent").is_ok());
    // A hostile file may contain cycles.
    if let Ok(scan) = store.scan().limit(10_000).run() {
        scan.filter_map(Result::ok).for_each(|document| drop(document.to_map()));
    }
}

/// The superblock of a read-only store is replaced by the input.
pub fn read_only(data: &[u8]) {
    let Some((kind, data)) = data.split_first() else { return };
    let bytes = if kind % 2 == 1 { data.to_vec() } else { framed(b"alluv-ro", data) };
    let world = with_read_only();
    replace(&world, Path::new("ro/READONLY"), &bytes);
    read_store(&world, None);
}

/// An index file is overwritten with the input at an offset, which is in the first two bytes. If the offset is odd, the
/// checksum of the footer is updated.
pub fn index_files(data: &[u8]) {
    let Some((place, data)) = data.split_first_chunk::<2>() else { return };
    let world = with_read_only();
    let mut bytes = content(&world, "ro/index-4.idx");
    let at = usize::from(u16::from_le_bytes(*place)) % bytes.len();
    let end = bytes.len().min(at + data.len());
    bytes[at..end].copy_from_slice(&data[..end - at]);
    if place[0] % 2 == 1 {
        let footer = bytes.len() - 112;
        let number = bytes[footer + 8..footer + 16].try_into().map_or(0, u64::from_le_bytes);
        let sum = alluvium_codec::checksum64(&bytes[footer + 8..], number);
        bytes[footer..footer + 8].copy_from_slice(&sum.to_le_bytes());
    }
    replace(&world, Path::new("ro/index-4.idx"), &bytes);
    read_store(&world, Some(4));
}

/// A dump in `dump`.
fn with_dump() -> World {
    static MADE: OnceLock<World> = OnceLock::new();
    let make = || {
        let world = small();
        let db = world.open(&options()).expect("a database");
        db.dump("dump").run().expect("a dump");
        drop(db);
        world.killed()
    };
    MADE.get_or_init(make).killed()
}

/// The metadata of a collection in a dump is replaced by the input: the indexes in it are created, or refused with a
/// reason.
pub fn metadata(data: &[u8]) {
    let world = with_dump();
    replace(&world, Path::new("dump/main/pets.metadata.json"), data);
    let Ok(dump) = dump::read("dump").env(world.env.clone()).run() else { return };
    let [collection] = &dump.collections[..] else { panic!("one collection: {dump:?}") };
    let metadata = collection.metadata.as_ref().map_or_else(Metadata::default, |(_, metadata)| metadata.clone());
    let db = Database::builder().env(world.env.clone()).options(options()).open("other").expect("an empty disk");
    let restored = dump.restore(&db).readers(1).run();
    let indexes = db.collection(&collection.name).indexes().unwrap_or_default();
    let made: BTreeSet<String> = indexes.into_iter().map(|index| index.name).filter(|name| name != "_id_").collect();
    if restored.is_ok() {
        let not: BTreeSet<String> = metadata.unsupported_indexes().into_iter().map(|(name, _)| name).collect();
        let listed: BTreeSet<String> = metadata.index_names().into_iter().collect();
        assert!(
            listed.iter().all(|name| made.contains(name) || not.contains(name)),
            "{made:?} and {not:?} of {listed:?}"
        );
        assert!(made.len() <= listed.len(), "{made:?} of {listed:?}");
    }
    assert!(db.verify().run().expect("it can be checked").damage.is_empty());
}

/// The seeds of these targets.
pub(super) fn seeds(target: &str) -> Vec<Vec<u8>> {
    let both = |payload: Vec<u8>, bytes: Vec<u8>| vec![[&[0][..], &payload].concat(), [&[1][..], &bytes].concat()];
    match target {
        "superblocks" => {
            let bytes = content(&small(), "db/ALLUVIUM");
            both(unframed(&bytes), bytes)
        }
        "read_only" => {
            let bytes = content(&with_read_only(), "ro/READONLY");
            both(unframed(&bytes), bytes)
        }
        "listings" => {
            let bytes = content(&with_checkpoint(), "monday/CHECKPOINT");
            // The payload is the file without the checksum and the space before it.
            both(bytes[..bytes.len() - 18].to_vec(), bytes)
        }
        "index_files" => vec![vec![0, 0, 4, 2, 1], vec![1, 2, 0xff, 0xff], vec![0x51, 0, 9, 9, 9]],
        _ => vec![
            content(&with_dump(), "dump/main/pets.metadata.json"),
            br#"{"options":{},"indexes":[{"v":2,"key":{"n":-1,"text":1},"name":"x","unique":true}]}"#.to_vec(),
            br#"{"indexes":[{"key":{"a":"text"},"name":"t"},{"key":{"b":{"$numberInt":"1"}},"name":"t"}],"type":"view"}"#.to_vec(),
        ],
    }
}
