//! Fixtures: small complete databases of one format version, which every later build must be able to open, and files
//! that list their contents.
//!
//! `cargo run -p alluvium-testkit --example fixture -- DIRECTORY` writes the fixtures of this build ([`all`]):
//! databases with a file `expected.jsonl` in directories such as `closed/`, `killed/`, `ranges/` and `segments/`, and
//! the fixtures of [`copies`]. The file has one line for each document, or one for a whole collection that is too large
//! to read, and one for each key of the multivalue tree. The lines are Extended JSON that keeps every type
//! ([`alluvium_document::json::print_exact`]).

mod changes;
mod copies;

pub use copies::{Fixture, LINES, LOADED, copies, load_input, print_read_only, restored, write_input};

use super::types::types;
use crate::model::{Id, State, map_of, read_state};
use crate::read_entries::IndexEntries;
use crate::worlds::{PATH, World, files_in};
use alluvium::{CappedLimits, Compression, Database, Durability, Map, ValidationLevel, Value};
use alluvium_document::json::{parse_exact, print_exact};
use alluvium_store::{Options, TreeId, Tuning, ValuesOf};
use std::path::{Path, PathBuf};

/// How the process that wrote a fixture ended, and the content of the fixture.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// The process closed the database, which is large enough for dictionaries.
    Closed,
    /// The process was killed.
    Killed,
    /// The process was killed after it had deleted ranges. Some of these are in the manifests, and some only in the
    /// log.
    Ranges,
    /// The process was killed when the log had several segments. Each segment except the newest has a note of its
    /// successor.
    Segments,
    /// The process was killed; the indexes have keys that are cut, in files and in the log.
    Long,
    /// The process was killed; a collection has options.
    Options,
    /// The process was killed; the indexes have collations.
    Collated,
    /// The process was killed; a collection is capped.
    Capped,
    /// The process was killed; one collection keeps the order of insertion, and another one has definitions of indexes
    /// that are not built.
    Natural,
    /// The process was killed; documents are nested 101 to 180 levels deep.
    Deep,
    /// The process was killed; changes are recorded.
    Changes,
}

/// The description of the multivalue tree, which belongs to no collection.
pub const VALUES: &[u8] = b"\xffvalues";
/// The offset of the note of a segment's successor (`docs/format/wal.md`).
const FOLLOWER: usize = 4608;
/// The collection that keeps the order of insertion.
const NATURAL: &str = "main.arrivals";
/// A collection with more documents is listed with its count and a checksum.
const MANY: usize = 100;

/// The options for writing and reading fixtures.
pub fn options(compression: Compression) -> Options {
    Options {
        memory_bytes: 8 << 20,
        background: false,
        threads: Some(1),
        durability: Durability::Sync,
        block_bytes: 1 << 10,
        segment_bytes: Some(16 << 10),
        disk_reserve_bytes: Some(0),
        compression,
        // Only long batches of fixtures are compressed in the log.
        tuning: Tuning { log_compression_bytes: Some(4 << 10), ..Tuning::default() },
        ..Options::default()
    }
}

/// Creates a fixture: its files, by their paths within the database, and its expected content.
///
/// # Panics
/// If the database does not have the content that was written, or lacks a feature of the fixture.
pub fn make(end: End) -> (Vec<(PathBuf, Vec<u8>)>, Vec<u8>) {
    let mut world = World::new(1);
    let db = fill(&world, end, &mut |_| {});
    let expected = print(&db);
    match end {
        End::Closed => db.close().expect("it closes"),
        _ => world = world.killed(),
    }
    let files = files_in(&*world.mem, Path::new(PATH));
    let within = |(path, bytes): (PathBuf, Vec<u8>)| (path.strip_prefix(PATH).expect("within").to_owned(), bytes);
    let files: Vec<_> = files.into_iter().map(within).collect();
    let dictionaries = files.iter().any(|(path, bytes)| path.extension() == Some("sst".as_ref()) && dictionary(bytes));
    assert_eq!(dictionaries, end == End::Closed);
    let segments = files.iter().filter(|(path, _)| path.extension() == Some("log".as_ref()));
    let followed = segments.map(|(_, bytes)| bytes[FOLLOWER..][..8] != [0; 8]).collect::<Vec<_>>();
    assert!(matches!(followed.split_last(), Some((false, before)) if before.iter().all(|followed| *followed)));
    assert_eq!(followed.len() > 3, matches!(end, End::Segments | End::Long), "{end:?}: {} segments", followed.len());
    let repeated = |(_, bytes): &(PathBuf, Vec<u8>)| bytes.windows(1000).any(|part| part.iter().all(|b| *b == b'k'));
    let logs = files.iter().filter(|(path, _)| path.extension() == Some("log".as_ref()));
    assert!(logs.clone().count() > 0 && !logs.clone().any(repeated), "long texts are compressed in the log");
    (files, expected)
}

/// All fixtures of this build, by name.
///
/// # Panics
/// If a fixture cannot be created.
pub fn all() -> Vec<(&'static str, Fixture)> {
    let ends = [
        ("closed", End::Closed),
        ("killed", End::Killed),
        ("ranges", End::Ranges),
        ("segments", End::Segments),
        ("long", End::Long),
        ("options", End::Options),
        ("collated", End::Collated),
        ("capped", End::Capped),
        ("natural", End::Natural),
        ("deep", End::Deep),
        ("changes", End::Changes),
    ];
    let database = |(name, end)| {
        let (files, expected) = make(end);
        let mut files: Fixture = files.into_iter().map(|(path, bytes)| (Path::new("db").join(path), bytes)).collect();
        files.push(("expected.jsonl".into(), expected));
        (name, files)
    };
    ends.into_iter().map(database).chain(copies()).collect()
}

/// Creates the database of a fixture on an empty disk. Calls `watch` after each write that is only
/// in the log.
///
/// # Panics
/// If the database does not have the content that was written, or lacks a feature of the fixture.
pub fn fill(world: &World, end: End, watch: &mut dyn FnMut(&Database)) -> Database {
    let mut maker = Maker { world, db: None, state: State::default(), watch: None };
    maker.first_run();
    maker.second_run();
    maker.third_run(end);
    maker.watch = Some(watch);
    maker.written();
    maker.tail();
    match end {
        End::Ranges => maker.delete_values("blue"),
        End::Segments => maker.segments(),
        End::Long => maker.long(),
        End::Options => maker.options(),
        End::Collated => maker.collated(),
        End::Capped => maker.capped(),
        End::Natural => maker.natural(),
        End::Deep => maker.deep(),
        End::Changes => maker.changes(),
        End::Closed | End::Killed => {}
    }
    let db = maker.db.take().expect("open");
    let found = read_state(&db).expect("it reads").without_indexes();
    crate::model::indexes::check_now(&db).expect("the indexes lead to the documents");
    assert!(found == maker.state, "{}", maker.state.difference(&found));
    let partitions = db.store().stats().partitions;
    assert!(partitions.iter().all(|p| p.runs > 2 && p.tombstones > 0), "{partitions:?}");
    assert_eq!(partitions.iter().any(|p| p.ranges > 0), end == End::Ranges, "{partitions:?}");
    db
}

/// True for a sorted file with a dictionary, according to the fifth number of its footer (`docs/format/sst.md`).
fn dictionary(file: &[u8]) -> bool {
    let number = |at: usize| file[file.len() - at..][..8].iter().any(|byte| *byte != 0);
    number(112 - 32)
}

/// An index as one line: its definition, and its entries if it is ready.
fn index_line(db: &Database, name: &str, index: alluvium::IndexInfo) -> Vec<(&'static str, Value)> {
    let mut line = vec![("ns", name.into()), ("index", Value::Map(index.definition)), ("ready", index.ready.into())];
    if index.ready && index.is_built {
        let shown = db.collection(name).index_shown(&db.snapshot(), &index.name, false).expect("it reads");
        let checksum = alluvium_codec::checksum64(format!("{shown:?}").as_bytes(), 0);
        line.push(("entries", (shown.len() as i32).into()));
        line.push(("checksum", format!("{checksum:016x}").into()));
    }
    line
}

/// The content of a database in the form of `expected.jsonl`, with one line for each item.
///
/// # Panics
/// If the database cannot be read.
pub fn print(db: &Database) -> Vec<u8> {
    let mut out = Vec::new();
    let mut line = |entries: Vec<(&str, Value)>| {
        let map: Map = entries.into_iter().map(|(name, value)| (Value::from(name), value)).collect();
        print_exact(&map, &mut out).expect("every value has a text");
        out.push(b'\n');
    };
    for (name, contents) in read_state(db).expect("it reads").collections {
        let options = db.collection(&name).options().expect("it exists");
        if !options.is_empty() {
            line(vec![("ns", name.as_str().into()), ("options", Value::Map(options))]);
        }
        if name == NATURAL || db.collection(&name).capped().expect("it exists").is_some() {
            let found = db.collection(&name).find(Map::new()).run().expect("it reads");
            let ids = found.map(|document| document.expect("it reads").id().clone()).collect();
            line(vec![("ns", name.as_str().into()), ("order", Value::Array(ids))]);
        }
        let documents: Vec<Value> = contents.documents.values().map(|map| Value::Map((**map).clone())).collect();
        let count = documents.len();
        let indexes = db.collection(&name).indexes().expect("it reads").into_iter();
        indexes.filter(|index| index.name != "_id_").for_each(|index| line(index_line(db, &name, index)));
        if count > MANY {
            let mut all = Vec::new();
            print_exact(&[(Value::from("all"), Value::Array(documents))].into(), &mut all)
                .expect("every value has one");
            let checksum = format!("{:016x}", alluvium_codec::checksum64(&all, 0));
            line(vec![("ns", name.into()), ("count", (count as i32).into()), ("checksum", checksum.into())]);
            continue;
        }
        line(vec![("ns", name.as_str().into()), ("count", (count as i32).into())]);
        for document in documents {
            line(vec![("ns", name.as_str().into()), ("document", document)]);
        }
    }
    changes::lines(db).into_iter().for_each(&mut line);
    let store = db.store();
    let trees = store.trees().into_iter().filter(|(_, description)| description == VALUES);
    for (tree, _) in trees {
        let all = store.multivalue(tree).expect("a multivalue tree");
        let mut keys = all.keys(None).expect("it reads");
        while let Some(key) = keys.next().expect("it reads").map(<[u8]>::to_vec) {
            let mut values = all.values(ValuesOf::key(&key)).expect("it reads");
            let mut found = Vec::new();
            while let Some(value) = values.next().expect("it reads") {
                found.push(Value::from(String::from_utf8_lossy(value).into_owned()));
            }
            line(vec![("key", String::from_utf8_lossy(&key).into_owned().into()), ("values", Value::Array(found))]);
        }
    }
    out
}

struct Maker<'a> {
    world: &'a World,
    db: Option<Database>,
    state: State,
    /// Called after each write, from the time when writes are only in the log.
    watch: Option<&'a mut dyn FnMut(&Database)>,
}

impl Maker<'_> {
    fn db(&self) -> &Database {
        self.db.as_ref().expect("open")
    }

    fn written(&mut self) {
        if let (Some(watch), Some(db)) = (&mut self.watch, &self.db) {
            watch(db);
        }
    }

    fn open(&mut self, compression: Compression) {
        if let Some(db) = self.db.take() {
            db.close().expect("it closes");
        }
        let options = Options { partitions: Some(2), ..options(compression) };
        self.db = Some(self.world.open(&options).expect("it opens"));
    }

    fn put(&mut self, name: &str, id: Id, map: Map) {
        let value = map.get("_id").expect("an _id").clone();
        self.db().collection(name).put(value, map.clone()).expect("a put");
        self.state.create(name);
        self.state.put(name, id, map);
        self.written();
    }

    fn json(&mut self, name: &str, id: i64, rest: &str) {
        self.put(name, Id::Number(2 * id), map_of(&format!(r#"{{"_id":{id},{rest}}}"#)));
    }

    fn delete(&mut self, name: &str, id: i64) {
        self.db().collection(name).delete(id).expect("a delete");
        assert!(self.state.delete(name, &Id::Number(2 * id)));
        self.written();
    }

    /// Adds to `n` and sets `seen`, with a blind update.
    fn apply(&mut self, name: &str, id: i64) {
        self.db().collection(name).update_blind(id, r#"{"$inc":{"n":5},"$set":{"seen":true}}"#).expect("a delta");
        let mut map = Map::clone(self.state.get(name, &Id::Number(2 * id)).expect("it is there"));
        let n = map.get("n").and_then(Value::as_i64).expect("a number") as i32;
        map.insert("n", Some(Value::Int32(n + 5)));
        map.insert("seen", Some(Value::Bool(true)));
        self.state.put(name, Id::Number(2 * id), map);
        self.written();
    }

    fn values(&self) -> TreeId {
        let trees = self.db().store().trees();
        trees.into_iter().find(|(_, description)| description == VALUES).expect("the tree").0
    }

    fn value(&mut self, key: &str, value: &str) {
        let store = self.db().store();
        let tree = store.multivalue(self.values()).expect("the tree");
        tree.put(key.as_bytes(), value.as_bytes(), Durability::Sync).expect("a value");
        self.written();
    }

    /// Deletes all values of a key by one range.
    fn delete_values(&mut self, key: &str) {
        let mut batch = self.db().store().batch();
        batch.delete_values(self.values(), key.as_bytes());
        self.db().store().write(batch, Durability::Sync).expect("a deleted range");
        self.written();
    }

    /// A collection with a validator that all documents satisfy.
    fn options(&mut self) {
        let people = self.db().collection("main.people");
        let rules = r#"{"$jsonSchema":{"required":["n"],"properties":{"n":{"bsonType":"int"}}}}"#;
        people.set_validator(rules).level(ValidationLevel::Moderate).run().expect("the options are written");
        self.written();
    }

    /// All types, and most documents, in a base run of uncompressed blocks.
    fn first_run(&mut self) {
        self.open(Compression::None);
        for (at, (name, value)) in types().into_iter().enumerate() {
            let map = [("_id", Value::from(name)), ("at", (at as i32).into()), ("value", value)];
            let map = map.into_iter().map(|(name, value)| (Value::from(name), value)).collect();
            self.put("main.types", Id::Text(name.to_owned()), map);
        }
        for id in 0..60 {
            self.json("main.people", id, &format!(r#""name":"person {id}","n":{id}"#));
            self.json("library.books", id, &format!(r#""title":"book {id}","by":{{"name":"author {}"}}"#, id % 7));
            self.json("main.gone", id, r#""dropped":true"#);
        }
        self.db().store().create_multivalue_tree(VALUES).expect("a tree");
        for n in 0..30 {
            self.value(["red", "green", "blue"][n % 3], &format!("value {n:02}"));
        }
        self.db().compact().run().expect("it compacts");
    }

    fn index(&self, name: &str, keys: &str, options: &str) {
        self.db().collection(name).create_index(keys).options(options).run().expect("an index");
    }

    /// Indexes on the existing documents. After that, tombstones, other shapes, stale entries, and a dropped
    /// collection, in blocks of LZ4.
    fn second_run(&mut self) {
        self.open(Compression::Lz4);
        // Updates of fields on which no index depends stay deltas.
        self.index("main.people", r#"{"name":-1}"#, r#"{"unique":true}"#);
        self.index("main.people", r#"{"name":1,"tags":-1}"#, "{}");
        self.index("main.people", r#"{"tags":1}"#, r#"{"sparse":true}"#);
        self.index("main.gone", r#"{"dropped":1}"#, "{}");
        self.index("library.books", r#"{"by.name":"hashed"}"#, "{}");
        let partial = r#"{"partialFilterExpression":{"by.name":{"$gt":"author 3"}},"name":"late authors"}"#;
        self.index("library.books", r#"{"title":1}"#, partial);
        self.index("library.books", r#"{"lent":1}"#, r#"{"expireAfterSeconds":60}"#);
        for id in (3..57).step_by(3) {
            self.json("main.people", id, &format!(r#""n":{id},"name":"changed {id}","tags":["a","b",{id}]"#));
            self.delete("library.books", id + 1);
        }
        self.db().drop_collection("main.gone").expect("it was there");
        self.state.collections.remove("main.gone");
        self.db().flush().expect("it flushes");
    }

    /// Deltas of rows in the runs below, in blocks of zstd, with dictionaries for collections that are large enough.
    fn third_run(&mut self, end: End) {
        self.open(Compression::Zstd { level: 3 });
        for id in (0..60).step_by(4) {
            self.apply("main.people", id);
        }
        for id in (0..60).step_by(10) {
            self.delete("main.people", id + 1);
        }
        if end == End::Ranges {
            // Values in the base run and in the memtable are deleted by a range. Values that are added after the range
            // remain.
            self.value("red", "gone");
            self.delete_values("red");
            self.value("red", "after the range");
        }
        for id in 0..if end == End::Closed { 440 } else { 0 } {
            let text = "the quick brown fox jumps over the lazy dog ".repeat(60 + id as usize % 3);
            self.json("library.many", id, &format!(r#""kind":"comment","score":{},"text":"{text}{id}""#, id % 50));
        }
        self.db().flush().expect("it flushes");
    }

    /// Writes that are only in the log: puts, deletes, deltas, a batch over several collections, a value, and an index
    /// that is not built.
    fn tail(&mut self) {
        let declared = self.db().collection("main.types").create_index(r#"{"value":1}"#).start();
        drop(declared.expect("an index"));
        self.written();
        for id in 70..75 {
            self.json("main.people", id, &format!(r#""name":"late {id}","n":{id}"#));
        }
        self.delete("main.people", 2);
        self.apply("main.people", 8);
        self.apply("main.people", 73);
        self.value("green", "late");
        let mut batch = self.db().write_batch();
        for name in ["main.people", "library.books"] {
            let map = map_of(&format!(r#"{{"_id":80,"in":"{name}"}}"#));
            batch.put(&self.db().collection(name), 80, map.clone()).expect("a put");
            self.state.put(name, Id::Number(160), map);
        }
        batch.commit().expect("a batch");
        self.written();
    }

    /// Values with the longest keys that are not cut and the shortest that are, in indexes of several kinds.
    fn long(&mut self) {
        let text = |end: &str| format!("{}{end}", "k".repeat(8189));
        self.json("library.long", 0, &format!(r#""text":"{}","n":0"#, text("")));
        self.json("library.long", 1, &format!(r#""text":"{}","n":1"#, text("a")));
        self.index("library.long", r#"{"text":1}"#, r#"{"unique":true}"#);
        self.index("library.long", r#"{"n":1,"text":-1}"#, "{}");
        self.json("library.long", 2, &format!(r#""text":"{}","n":[2,3]"#, text("b")));
        self.db().flush().expect("it flushes");
        // Only in the log: a new key, a key that no longer exists, and a key that a delta does not change.
        self.json("library.long", 3, &format!(r#""text":["{}","short"],"n":3"#, text("c")));
        self.json("library.long", 1, r#""n":1"#);
        self.apply("library.long", 0);
    }

    /// Collation keys in indexes with two collations, and a collection with its own collation.
    fn collated(&mut self) {
        let options = r#"{"collation":{"locale":"de","strength":2}}"#;
        self.db().create_collection("library.names").options(options).run().expect("it is new");
        self.json("library.names", 1, r#""name":"Äpfel""#);
        self.index("library.names", r#"{"name":1}"#, r#"{"unique":true}"#);
        self.json("library.names", 2, r#""name":"apfel""#);
        for (id, word) in (0..).zip(["Zoë", "zoe", "ZOE", "ärger", "Arg", "x10", "x9", "日本", "di Silva"]) {
            self.json("library.words", id, &format!(r#""word":"{word}","in":{{"word":["{word}"]}},"n":{id}"#));
        }
        self.index("library.words", r#"{"word":1,"n":-1}"#, r#"{"collation":{"locale":"en","strength":1}}"#);
        let options = r#"{"unique":true,"collation":{"locale":"sv","numericOrdering":true,"alternate":"shifted"}}"#;
        self.index("library.words", r#"{"in":-1}"#, options);
        self.db().flush().expect("it flushes");
        // Only in the log: more keys, and one that no longer exists.
        self.json("library.words", 20, r#""word":["Öl","öl"],"in":"Öl""#);
        self.json("library.words", 1, r#""word":"Tom","n":1"#);
    }

    /// Documents of a capped collection, in files and in the log: some are removed because they are too old, one is
    /// changed, and one is deleted.
    fn capped(&mut self) {
        let log = self.db().create_collection("main.log");
        log.capped(CappedLimits { size_bytes: 400, documents: Some(5) }).run().expect("a collection");
        self.index("main.log", r#"{"n":1}"#, "{}");
        for (n, id) in (0..).zip([8, 3, 9, 1, 7, 2]) {
            self.json("main.log", id, &format!(r#""n":{n}"#));
        }
        assert!(self.state.delete("main.log", &Id::Number(16)));
        self.db().flush().expect("it flushes");
        // Only in the log. The last document makes the collection exceed its size.
        self.json("main.log", 9, r#""n":20"#);
        self.delete("main.log", 1);
        self.json("main.log", 4, &format!(r#""text":"{}""#, "t".repeat(300)));
        assert!(self.state.delete("main.log", &Id::Number(6)));
    }

    /// The order of insertion, in files and in the log, and definitions of indexes that are not built.
    fn natural(&mut self) {
        self.db().create_collection(NATURAL).natural_order(true).run().expect("a collection");
        for id in [8, 3, 9, 1, 7] {
            self.json(NATURAL, id, &format!(r#""n":{id}"#));
        }
        self.delete(NATURAL, 3);
        self.json("main.places", 1, r#""at":{"type":"Point","coordinates":[1,2]},"text":"a place""#);
        self.index("main.places", r#"{"at":"2dsphere"}"#, "{}");
        self.index("main.places", r#"{"text":"text"}"#, r#"{"default_language":"french"}"#);
        self.db().flush().expect("it flushes");
        // Only in the log: a deleted document that is inserted again, a changed document, a new document, and a
        // definition.
        self.json(NATURAL, 3, r#""n":"again""#);
        self.json(NATURAL, 9, r#""n":"changed""#);
        self.json(NATURAL, 2, r#""n":2"#);
        self.index("main.places", r#"{"$**":1}"#, "{}");
    }

    /// Documents that builds before 2026-11-28 cannot read, in files and in the log.
    fn deep(&mut self) {
        let nested = |levels: usize| {
            // The document itself is one level, each pair is two levels, and the innermost value is one or two.
            let pairs = (levels - 2) / 2;
            let rest = if levels.is_multiple_of(2) { r#"{"end":1}"# } else { r#"{"end":[1]}"# };
            format!(r#""d":{}{rest}{}"#, r#"[{"d":"#.repeat(pairs), "}]".repeat(pairs))
        };
        for levels in [101, 140] {
            self.json("main.deep", levels as i64, &nested(levels));
        }
        self.index("main.deep", r#"{"d":1}"#, "{}");
        self.db().flush().expect("it flushes");
        for levels in [179, 180] {
            self.json("main.deep", levels as i64, &nested(levels));
        }
        self.json("main.deep", 140, &nested(102));
    }

    /// More data than one segment can hold, only in the log: the same documents are rewritten.
    fn segments(&mut self) {
        for round in 0..30 {
            let text = "so many words that a segment is full of them soon ".repeat(20);
            self.json("main.people", 90 + round % 5, &format!(r#""name":"round {round}","n":{round},"text":"{text}""#));
            self.apply("main.people", 90 + round % 5);
        }
    }
}

/// Checks that every line of `expected` is valid, because the file may be edited by hand.
///
/// # Panics
/// If a line is invalid. The message contains the first such line.
pub fn check(expected: &[u8]) {
    for line in expected.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
        let parsed = parse_exact(line);
        assert!(matches!(parsed, Ok(Value::Map(_))), "{}: {parsed:?}", String::from_utf8_lossy(line));
    }
}
