//! Targets for files to load, and for files of a database.

use crate::worlds::{PATH, World, contents_of};
use alluvium::export::{self, Encoder};
use alluvium::load::{Csv, FieldType, Format, Input, LoadReport, OnBad};
use alluvium::repair;
use alluvium::{Collection, Database, Durability, Map, Value};
use alluvium_document::json::print_exact;
use alluvium_document::path::FieldPath;
use alluvium_env::{Env, OpenMode};
use alluvium_lsm::VersionEdit;
use alluvium_store::Options;
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::OnceLock;

pub(super) fn options() -> Options {
    Options {
        memory_bytes: 8 << 20,
        threads: Some(1),
        partitions: Some(1),
        durability: Durability::Bulk,
        disk_reserve_bytes: Some(0),
        background: false,
        ..Options::default()
    }
}

/// The options for a CSV file, derived from two bytes: the delimiter, whether the names of the fields are given, and
/// their types.
fn csv([first, second]: [u8; 2]) -> Csv {
    let kinds = ["auto", "string", "int", "long", "double", "decimal", "bool", "date", "objectId", "json"];
    let kind = |n: u8| kinds[usize::from(n) % kinds.len()].parse().expect("a type");
    let separator = [b',', b'\t', b';', b'|', b' ', b':', 0, b'"'][usize::from(first) % 8];
    let named = second & 0x08 != 0;
    Csv {
        separator,
        fields: named.then(|| ["_id", "a.b", "c"].map(str::to_owned).to_vec()),
        types: [("a.b", second >> 4), ("c", second & 7), ("_id", first >> 4)]
            .into_iter()
            .filter(|(_, n)| *n > 0)
            .map(|(name, n)| (name.to_owned(), kind(n)))
            .collect(),
        null: (first & 0x08 != 0).then(|| "NA".to_owned()),
        ..Csv::default()
    }
}

/// The format that the first byte selects, and the content after it.
fn format_of(data: &[u8]) -> Option<(Format, &[u8])> {
    let (kind, content) = data.split_first()?;
    if kind & 0x0f == 8 {
        let (how, content) = content.split_first_chunk::<2>()?;
        return Some((Format::Csv(csv(*how)), content));
    }
    let separated = |separator: u8| Format::Csv(Csv { separator, ..Csv::default() });
    let formats = [
        Format::JsonLines,
        Format::JsonArray,
        Format::JsonObjects,
        Format::JsonFields,
        Format::Bson,
        Format::ExactLines,
        separated(b','),
        separated(b'\t'),
    ];
    Some((formats[usize::from(*kind) % formats.len()].clone(), content))
}

fn load(collection: &Collection, format: Format, on_bad: OnBad, bytes: &[u8]) -> alluvium::Result<LoadReport> {
    collection
        .load(Input::stream("input", std::io::Cursor::new(bytes.to_vec())))
        .format(format)
        .on_bad(on_bad)
        .alluvium_types(true)
        .readers(1)
        .writers(1)
        .run()
}

/// All documents of a collection, in order.
fn all(collection: &Collection) -> Vec<Map> {
    let scan = collection.scan().run().expect("a scan");
    let decoded = scan.map(|document| document.expect("what was loaded can be read").to_map());
    decoded.map(|map| map.expect("what was loaded can be decoded")).collect()
}

/// A file to load. Its first byte selects the format. The loaded documents must be readable, and must be the same after
/// they are exported and loaded again.
pub fn loads(data: &[u8]) {
    let Some((format, content)) = format_of(data) else { return };
    let db = Database::builder().env(Env::in_memory(1)).options(options()).open("db").expect("an empty disk");
    let on_bad = match data[0] & 0xc0 {
        0x80 => OnBad::Skip,
        0xc0 => OnBad::Repair,
        _ => OnBad::Error,
    };
    let collection = db.create_collection("loaded").run().expect("a collection");
    let report = load(&collection, format, on_bad, content);
    let found = all(&collection);
    if let Ok(report) = report {
        assert_eq!(report.documents, found.len() as u64, "the report says otherwise");
    }
    if found.is_empty() {
        return;
    }
    let formats = [
        (export::Format::JsonLines, Format::JsonLines),
        (export::Format::JsonArray, Format::JsonArray),
        (export::Format::Bson, Format::Bson),
    ];
    for (at, (out, back)) in formats.into_iter().enumerate() {
        let mut bytes = Vec::new();
        let mut encoder = Encoder::new(out).canonical(true);
        let mut cursor = collection.scan().run().expect("a scan");
        let mut encoded = encoder.begin(&mut bytes);
        while encoded.is_ok()
            && encoder.write_next(&mut cursor, &mut bytes).unwrap_or_else(|e| {
                encoded = Err(e);
                false
            })
        {}
        // If a format cannot represent a value, the error names it.
        if encoded.is_err() {
            continue;
        }
        encoder.end(&mut bytes);
        let again = db.create_collection(&format!("again.{at}")).run().expect("a collection");
        load(&again, back.clone(), OnBad::Error, &bytes)
            .unwrap_or_else(|e| panic!("what was exported as {back:?}: {e}"));
        assert_eq!(all(&again), found, "{back:?}");
    }
    rows(&db, &collection, &found);
    let mut lines = Vec::new();
    if found.iter().all(|map| print_exact(map, &mut lines).map(|()| lines.push(b'\n')).is_ok()) {
        let again = db.create_collection("again.exact").run().expect("a collection");
        load(&again, Format::ExactLines, OnBad::Error, &lines).unwrap_or_else(|e| panic!("exact lines: {e}"));
        assert_eq!(all(&again), found, "exact lines");
    }
}

/// Exports documents as rows, and loads them again with the common types of their fields. The documents must be
/// unchanged, except for values that rows cannot represent: null, and 64-bit integers that fit 32 bits.
fn rows(db: &Database, collection: &Collection, found: &[Map]) {
    let columns = columns(found);
    if columns.first().is_none_or(|(name, _)| name != "_id") {
        return;
    }
    let separator = if found.len().is_multiple_of(2) { b',' } else { b'\t' };
    let names: Vec<String> = columns.iter().map(|(name, _)| name.clone()).collect();
    let mut encoder = Encoder::new(export::Format::Csv { separator }).fields(names);
    let mut bytes = Vec::new();
    encoder.begin(&mut bytes).expect("fields are given");
    let mut cursor = collection.scan().run().expect("a scan");
    while encoder.write_next(&mut cursor, &mut bytes).unwrap_or_else(|e| panic!("written as rows: {e}")) {}
    encoder.end(&mut bytes);
    let again = db.create_collection("again.rows").run().expect("a collection");
    let format = Format::Csv(Csv { separator, types: columns.clone(), ..Csv::default() });
    load(&again, format, OnBad::Error, &bytes).unwrap_or_else(|e| panic!("what was written as rows: {e}"));
    let kept = |map: &Map| -> Map {
        columns.iter().filter_map(|(name, _)| Some((name.as_str(), in_a_row(map.get(name)?)?))).collect()
    };
    assert_eq!(all(&again), found.iter().map(kept).collect::<Vec<_>>(), "rows");
}

/// The fields whose values have the same type in all documents with the field, and whose names can be in a header row;
/// `_id` comes first. Empty if the `_id`s have several types.
fn columns(found: &[Map]) -> Vec<(String, FieldType)> {
    let names: BTreeSet<&str> =
        found.iter().flat_map(|map| &map.entries).filter_map(|(name, _)| name.as_str()).collect();
    let once = |name: &str| {
        found.iter().all(|map| map.entries.iter().filter(|(key, _)| key.as_str() == Some(name)).count() < 2)
    };
    let plain = |name: &&str| !name.contains('.') && name.parse::<FieldPath>().is_ok() && once(name);
    let typed = |name: &str| {
        let mut kinds =
            found.iter().filter_map(|map| map.get(name)).filter(|value| in_a_row(value).is_some()).map(kind_of);
        let first = kinds.next()??;
        kinds.all(|kind| kind == Some(first)).then(|| (name.to_owned(), first))
    };
    let Some(id) =
        typed("_id").filter(|_| found.iter().all(|map| map.get("_id").is_some_and(|id| in_a_row(id).is_some())))
    else {
        return Vec::new();
    };
    let others = names.into_iter().filter(|name| *name != "_id").filter(plain).filter_map(typed);
    [id].into_iter().chain(others).collect()
}

/// The type of a column that contains such values.
fn kind_of(value: &Value) -> Option<FieldType> {
    Some(match value {
        Value::String(_) => FieldType::String,
        Value::Int32(_) | Value::Int64(_) => FieldType::Int,
        Value::Double(_) => FieldType::Double,
        Value::Decimal(_) => FieldType::Decimal,
        Value::Bool(_) => FieldType::Bool,
        Value::ObjectId(_) => FieldType::ObjectId,
        Value::DateTime(_) => FieldType::Date,
        _ => return None,
    })
}

/// The value after it was written to a row and read again.
fn in_a_row(value: &Value) -> Option<Value> {
    match value {
        Value::Null => None,
        Value::Int64(n) => Some(i32::try_from(*n).map_or(Value::Int64(*n), Value::Int32)),
        other => Some(other.clone()),
    }
}

/// An edit of a version, in the encoding of manifests.
pub fn edits(data: &[u8]) {
    let Ok(edit) = VersionEdit::decode(data) else { return };
    let _sound = edit.check();
    let mut bytes = Vec::new();
    edit.encode(&mut bytes);
    let again = VersionEdit::decode(&bytes).unwrap_or_else(|e| panic!("{e}: {edit:?}"));
    assert_eq!(format!("{edit:?}"), format!("{again:?}"));
}

/// A small database with sorted files, an index and a log, in the state after a kill.
pub(super) fn small() -> World {
    static MADE: OnceLock<World> = OnceLock::new();
    MADE.get_or_init(make_small).killed()
}

fn make_small() -> World {
    let world = World::new(3);
    let db = world.open(&options()).expect("an empty disk");
    let pets = db.create_collection("pets").run().expect("a collection");
    pets.create_index(r#"{"n":1}"#).run().expect("an index");
    for n in 0..12 {
        pets.put(n, format!(r#"{{"n":{n},"text":"some text {n}"}}"#)).expect("a put");
    }
    db.flush().expect("a flush");
    pets.update_blind(3, r#"{"$inc":{"n":1}}"#).expect("an update");
    pets.delete(4).expect("a delete");
    db.sync().expect("a sync");
    drop(db);
    world.killed()
}

/// Overwrites a part of a file of the database, and reads all parts that are readable.
fn over(data: &[u8], is_it: impl Fn(&Path) -> bool) {
    let (Some(place), Some(bytes)) = (data.first_chunk::<4>(), data.get(4..)) else { return };
    let world = small();
    let mut paths = Vec::new();
    for dir in ["db", "db/wal", "db/p000"] {
        let entries = world.env.fs.list(Path::new(dir)).unwrap_or_default();
        paths.extend(entries.into_iter().filter(|entry| !entry.is_dir).map(|entry| Path::new(dir).join(entry.name)));
    }
    let Some(path) = paths.into_iter().find(|path| is_it(path)) else { panic!("there is no such file") };
    let file = world.env.fs.open(&path, OpenMode::ReadWrite).expect("a file");
    let at = u64::from(u32::from_le_bytes(*place)) % (file.len().expect("a length") + 1);
    file.write_at(bytes, at).expect("a write");
    drop(file);
    read_all(&world, &Options { accept_log_damage: data[0] & 1 == 1, ..options() });
}

/// Repairs the database, which must not change it. Then opens it, and if that succeeds, reads all parts that are
/// readable.
pub(super) fn read_all(world: &World, options: &Options) {
    saves(world);
    let Ok(db) = world.open(options) else { return };
    let _damage = db.verify().run();
    let _read = read_documents(&db);
    let _flushed = db.flush();
    let _merged = db.compact().run();
    let _closed = db.close();
}

/// Repairs the database into another directory. The repair may fail, but the source must not change.
fn saves(world: &World) {
    let (from, to) = (Path::new(PATH), Path::new("saved"));
    let before = contents_of(&*world.mem, from);
    let _saved = repair::repair(from, to).env(world.env.clone()).memory(8 << 20).run();
    let mut after = contents_of(&*world.mem, from);
    // The repair may have created the lock file.
    after.retain(|path, _| before.contains_key(path) || !path.ends_with("LOCK"));
    assert!(after == before, "a repair has changed the database");
}

/// Reads every document, with any `_id`: content with valid checksums may be arbitrary.
fn read_documents(db: &alluvium::Database) -> alluvium::Result<()> {
    for info in db.collections() {
        let collection = db.collection(&info.full_name());
        for document in collection.scan().run()? {
            let document = document?;
            let _text = (document.id().clone(), document.to_map().is_ok());
        }
        let _indexes = collection.indexes()?;
    }
    Ok(())
}

/// A segment of the log is overwritten with the input; checksums are ignored.
pub fn segments(data: &[u8]) {
    over(data, |path| path.extension().is_some_and(|extension| extension == "log"));
}

/// A sorted file is overwritten with the input.
pub fn sorted_files(data: &[u8]) {
    over(data, |path| path.extension().is_some_and(|extension| extension == "sst"));
}
