//! All types in public signatures can be named and created with this crate alone: this test imports
//! no other crate of the workspace.

use alluvium::env::Env;
use alluvium::kv::Options;
use alluvium::{
    Binary, BuildReadOnly, Code, Compression, Database, DbPointer, Decimal, Document, Double, Durability, Error,
    FieldPath, IntoDocument, Map, OnDuplicate, OpenReadOnly, ReadOnly, ReadOnlyBuild, Regex, Timestamp, doc, json, kv,
};
use std::collections::{BTreeMap, HashMap};
use std::path::Path;
use std::time::{Duration, SystemTime};

fn in_memory() -> Database {
    let options = Options { partitions: Some(1), compression: Compression::Zstd { level: 1 }, ..Options::default() };
    Database::builder().env(Env::in_memory(1)).options(options).open("db").unwrap()
}

#[test]
fn values_of_every_type_are_made_and_come_back() {
    let db = in_memory();
    let things = db.collection("things");
    let when = SystemTime::UNIX_EPOCH + Duration::from_millis(1_700_000_000_123);
    let all = doc! {
        "_id": ([7u8; 12]),
        "binary": Binary { subtype: 0, bytes: vec![1, 2] },
        "code": Code { code: "f()".to_owned(), scope: None },
        "date": when,
        "decimal": "1.50".parse::<Decimal>().unwrap(),
        "double": Double(0.5),
        "null": null,
        "pointer": DbPointer { namespace: "a.b".to_owned(), id: [1; 12] },
        "regex": Regex { pattern: "^a".to_owned(), options: "i".to_owned() },
        "timestamp": Timestamp { time: 1, increment: 2 },
        "list": [1, {"deep": [true, null]}, "text"],
    };
    things.insert_one(&all).unwrap();
    let found: Document = things.find_one(doc! {"double": {"$gt": 0.25}}).unwrap().unwrap();
    assert_eq!(found.to_map().unwrap(), all);
    assert_eq!(SystemTime::try_from(&json!(when)).unwrap(), when);
    assert!(SystemTime::try_from(&json!(1)).is_err());
    assert!("a.b".parse::<FieldPath>().is_ok());
}

#[test]
fn whatever_serde_serializes_is_a_document() {
    #[derive(serde::Serialize, serde::Deserialize, Debug, PartialEq)]
    struct Visits {
        by_room: HashMap<u32, u32>,
        last: SystemTime,
    }
    let db = in_memory();
    let c = db.collection("visits");
    let visits =
        Visits { by_room: HashMap::from([(12, 3)]), last: SystemTime::UNIX_EPOCH + Duration::from_secs(86_400) };
    c.put("rex", &visits).unwrap();
    let json = r#"{"_id":"rex","by_room":{"12":3},"last":{"$date":"1970-01-02T00:00:00Z"}}"#;
    assert_eq!(c.get("rex").unwrap().unwrap().to_string(), json);
    assert_eq!(db.typed_collection::<Visits>("visits").get("rex").unwrap(), Some(visits));
    let text = String::from(r#"{"n": 1}"#);
    c.put(1, &text).unwrap();
    c.put(2, BTreeMap::from([("n", 1)])).unwrap();
    c.put(3, serde_json::json!({"n": 1})).unwrap();
    c.put(4, bson::doc! {"n": 1}).unwrap();
    assert_eq!(c.find(HashMap::from([("n", 1)])).count().unwrap(), 4);
    let refused: Result<Map, _> = [1, 2].into_map();
    assert!(refused.unwrap_err().to_string().contains("array"));
}

#[test]
fn options_and_errors_are_named() {
    let env = Env::in_memory(1);
    let build: BuildReadOnly = ReadOnly::build("ro", "pets").on_duplicate(OnDuplicate::Skip);
    let mut build: ReadOnlyBuild = build.env(env.clone()).start().unwrap();
    let load: alluvium::load::Load<'_> = build.load(alluvium::load::Input::stream("nothing", std::io::empty()));
    load.readers(1).run().unwrap();
    build.finish().unwrap();
    let options: OpenReadOnly = ReadOnly::options().env(env);
    assert_eq!(options.open("ro").unwrap().count(), 0);
    let store = kv::Store::open(Env::in_memory(1), Path::new("kv"), kv::Options::default()).unwrap();
    let error: kv::Error = store.multivalue(kv::TreeId(99)).map(drop).unwrap_err();
    assert!(matches!(Error::from(error), Error::Store(kv::Error::NoSuchTree(99))));
    let tree = store.create_trees(&[b"t"]).unwrap()[0];
    let mut batch = store.batch();
    batch.put(tree, b"k", b"v");
    store.write(batch, Durability::Sync).unwrap();
    store.close().unwrap();
}

#[test]
fn copies_of_a_database_are_made_and_named() {
    use alluvium::backup::{self, CheckedCheckpoint, CheckpointReport};
    use alluvium::dump::{self, Dump, DumpReport, ReadDump, RestoredCollection};
    use alluvium::inspect::{self, FileKind, InspectFile};
    use alluvium::repair::{self, Examine, Examined, Repair, RepairReport};

    let env = Env::in_memory(1);
    let open = |path: &str| Database::builder().env(env.clone()).open(path).unwrap();
    let (db, other) = (open("db"), open("other"));
    db.collection("pets").put("rex", doc! {"age": 3}).unwrap();
    db.flush().unwrap();

    let checkpoint: backup::Checkpoint = db.checkpoint("checkpoint");
    let made: CheckpointReport = checkpoint.copy(true).run().unwrap();
    let check: backup::Check = backup::check("checkpoint").env(env.clone());
    let checked: CheckedCheckpoint = check.clone().quick(true).run().unwrap();
    assert!(check.is_there().unwrap() && checked.damage.is_empty());
    let restore: backup::Restore = backup::restore("checkpoint", "copy").env(env.clone());
    let restored: backup::RestoreReport = restore.disk_reserve(0).run().unwrap();
    assert_eq!((restored.checkpoint, restored.files), (made.id, 1));

    let write: dump::WriteDump<'_> = db.dump("dump");
    let written: DumpReport = write.run().unwrap();
    let read: ReadDump = dump::read("dump").env(env.clone());
    let dump: Dump = read.run().unwrap();
    let restore: dump::Restore<'_> = dump.restore(&other).readers(1).writers(1);
    let restored: RestoredCollection = restore.collection(&dump.collections[0]).unwrap();
    assert_eq!((written.documents, restored.documents), (1, 1));

    db.close().unwrap();
    let repair: Repair = repair::repair("db", "saved").env(env.clone());
    let report: RepairReport = repair.memory(8 << 20).run().unwrap();
    let examine: Examine = repair::examine("db").env(env.clone());
    let found: Examined = examine.run().unwrap();
    assert!(report.is_whole() && found.damage.is_empty());
    let file: InspectFile = inspect::file("db/ALLUVIUM").env(env.clone());
    let kind: FileKind = file.entries(true).run(|_| {}).unwrap();
    assert_eq!(kind, FileKind::Superblock);
}

#[test]
fn dates_of_chrono_become_dates() {
    use chrono::{DateTime, Utc};

    #[derive(serde::Serialize, serde::Deserialize, Debug, PartialEq)]
    struct Visit {
        #[serde(with = "alluvium::serde::chrono")]
        at: DateTime<Utc>,
    }
    let db = in_memory();
    let at = DateTime::from_timestamp_millis(-1).unwrap();
    let visits = db.typed_collection::<Visit>("visits");
    visits.put(1, &Visit { at }).unwrap();
    assert_eq!(visits.get(1).unwrap(), Some(Visit { at }));
    assert_eq!(visits.find(doc! {"at": {"$lte": at}}).count().unwrap(), 1);
    assert_eq!(visits.find(doc! {"at": {"$type": "date"}}).count().unwrap(), 1);
}

#[test]
fn dates_of_jiff_become_dates() {
    #[derive(serde::Serialize, serde::Deserialize, Debug, PartialEq)]
    struct Visit {
        #[serde(with = "alluvium::serde::jiff")]
        at: jiff::Timestamp,
    }
    let db = in_memory();
    let at = jiff::Timestamp::from_millisecond(-1).unwrap();
    let visits = db.typed_collection::<Visit>("visits");
    visits.put(1, &Visit { at }).unwrap();
    assert_eq!(visits.get(1).unwrap(), Some(Visit { at }));
    assert_eq!(visits.find(doc! {"at": {"$lte": at}}).count().unwrap(), 1);
    assert_eq!(visits.find(doc! {"at": {"$type": "date"}}).count().unwrap(), 1);
}
