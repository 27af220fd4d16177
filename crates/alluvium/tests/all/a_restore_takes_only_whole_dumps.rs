//! A restore refuses collections with documents, continues after an interruption, and reads dumps
//! of other programs.

use alluvium::dump;
use alluvium::load::OnDuplicate;
use alluvium::{Database, Error, Result};
use alluvium_env::{Env, OpenMode};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

fn open(env: &Env, path: &str) -> Database {
    Database::builder().env(env.clone()).memory(8 << 20).open(path).unwrap()
}

fn dumped(env: &Env) -> Database {
    let db = open(env, "db");
    db.collection("pets").insert_many((0..10).map(|n| format!(r#"{{"_id":{n},"a":"x"}}"#))).unwrap();
    db.collection("huge").insert_one(r#"{"_id":1,"n":1234567890123456789012345678901234567890}"#).unwrap();
    assert_eq!(db.dump("dump").alluvium_types(true).run().unwrap().others, 1);
    db
}

fn write(env: &Env, path: &str, bytes: &[u8]) {
    let path = Path::new(path);
    env.fs.create_dir_all(path.parent().unwrap()).unwrap();
    if env.fs.exists(path).unwrap() {
        env.fs.remove(path).unwrap();
    }
    env.fs.open(path, OpenMode::CreateNew).unwrap().write_at(bytes, 0).unwrap();
}

fn restore(env: &Env, db: &Database, on_duplicate: Option<OnDuplicate>) -> Result<Vec<(String, u64, u64, u64)>> {
    let report = dump::read("dump").env(env.clone()).run()?.restore(db).on_duplicate(on_duplicate).run()?;
    let figures = report.collections.into_iter();
    Ok(figures.map(|c| (c.name, c.documents, c.documents_before, c.duplicates)).collect())
}

#[test]
fn a_collection_with_documents_is_refused_unless_duplicates_are_thought_of() {
    let env = Env::in_memory(1);
    dumped(&env);
    let other = open(&env, "other");
    other.collection("pets").insert_one(r#"{"_id":3,"mine":true}"#).unwrap();
    let error = restore(&env, &other, None).unwrap_err().to_string();
    assert!(error.contains("main.pets has documents already"), "{error}");
    assert_eq!(other.collections().len(), 1, "nothing is restored");
    let error = restore(&env, &other, Some(OnDuplicate::Error)).unwrap_err().to_string();
    assert!(error.contains("dump/main/pets.bson document 4") && error.contains("_id 3"), "{error}");
    let report = restore(&env, &other, Some(OnDuplicate::Skip)).unwrap();
    assert_eq!(report[1], ("main.pets".to_owned(), 6, 3, 1));
    assert!(other.collection("pets").get(3).unwrap().unwrap().to_string().contains("mine"));
    let report = restore(&env, &other, Some(OnDuplicate::Replace)).unwrap();
    assert_eq!(report, [("main.huge".to_owned(), 1, 0, 0), ("main.pets".to_owned(), 10, 0, 0)]);
    assert!(!other.collection("pets").get(3).unwrap().unwrap().to_string().contains("mine"));
}

#[test]
fn run_again_it_is_refused_and_brings_back_what_is_gone() {
    let env = Env::in_memory(2);
    dumped(&env);
    let other = open(&env, "other");
    let stop = Arc::new(AtomicBool::new(true));
    let dump = dump::read("dump").env(env.clone()).run().unwrap();
    assert!(matches!(dump.restore(&other).stop_when(stop).run(), Err(Error::Stopped)));
    let figures = |name: &str, now, before| (name.to_owned(), now, before, 0);
    assert_eq!(restore(&env, &other, None).unwrap(), [figures("main.huge", 1, 0), figures("main.pets", 10, 0)]);
    // A user changes a document. If the restore runs again, it must not report this document as
    // restored.
    other.collection("pets").put(3, r#"{"mine":true}"#).unwrap();
    let error = restore(&env, &other, None).unwrap_err().to_string();
    assert!(error.contains("restored before") && error.contains("may have changed"), "{error}");
    assert!(other.collection("pets").get(3).unwrap().unwrap().to_string().contains("mine"));
    let report = restore(&env, &other, Some(OnDuplicate::Skip)).unwrap();
    assert_eq!(report[1], ("main.pets".to_owned(), 0, 0, 10));
    assert_eq!(restore(&env, &other, Some(OnDuplicate::Replace)).unwrap()[1], figures("main.pets", 10, 0));
    assert!(!other.collection("pets").get(3).unwrap().unwrap().to_string().contains("mine"));
    for n in 0..10 {
        other.collection("pets").delete(n).unwrap();
    }
    assert_eq!(restore(&env, &other, None).unwrap()[1], figures("main.pets", 10, 0));
    assert_eq!(other.collection("pets").count().unwrap(), 10);
}

#[test]
fn a_dump_that_lost_documents_is_found_out() {
    let env = Env::in_memory(3);
    dumped(&env);
    let path = Path::new("dump/main/pets.bson");
    let file = env.fs.open(path, OpenMode::ReadWrite).unwrap();
    // The last of the ten documents is cut off.
    file.set_len(file.len().unwrap() / 10 * 9).unwrap();
    let error = restore(&env, &open(&env, "other"), None).unwrap_err().to_string();
    assert_eq!(error, "dump/main/pets.bson has 9 documents, but its metadata counts 10: the dump is incomplete");
    file.set_len(file.len().unwrap() - 1).unwrap();
    let error = restore(&env, &open(&env, "third"), None).unwrap_err().to_string();
    assert!(error.contains("pets.bson document 9") && error.contains("ends within"), "{error}");
}

#[test]
fn dumps_of_mongodump_are_read_and_what_is_no_collection_is_passed_over() {
    let env = Env::in_memory(4);
    let one = b"\x0e\0\0\0\x10_id\0\x07\0\0\0\0";
    let zstd = |bytes: &[u8]| {
        let mut packer = alluvium::Packing::Zstd.writer(Vec::new()).unwrap();
        std::io::Write::write_all(&mut packer, bytes).unwrap();
        packer.finish().unwrap()
    };
    let long = format!("{}%24{}", "a".repeat(208), "b".repeat(27));
    write(&env, "dump/shop/pets.bson", one);
    write(&env, "dump/shop/pets.metadata.json", br#"{"options":{},"indexes":[{"name":"_id_"},{"name":"a_1"}]}"#);
    write(&env, "dump/shop/old.bson.zst", &zstd(one));
    write(&env, &format!("dump/shop/{long}.bson"), one);
    write(&env, &format!("dump/shop/{long}.metadata.json"), br#"{"collectionName":"a long name"}"#);
    write(&env, "dump/shop/view.metadata.json", br#"{"type":"view"}"#);
    write(&env, "dump/shop/system.views.bson", one);
    write(&env, "dump/shop/%24admin.system.users.bson", one);
    write(&env, "dump/shop/%zz.bson", one);
    write(&env, "dump/shop/notes.txt", b"");
    write(&env, "dump/oplog.bson", one);
    write(&env, "dump/shop/deep/x.bson", one);
    let dump = dump::read("dump").env(env.clone()).run().unwrap();
    let names: Vec<&str> = dump.collections.iter().map(|c| c.name.as_str()).collect();
    assert_eq!(names, ["shop.a long name", "shop.old", "shop.pets"]);
    assert_eq!(dump.collections[2].metadata.as_ref().unwrap().1.index_names(), ["a_1"]);
    let mut passed: Vec<String> = dump.passed_over.iter().map(|(path, _)| path.display().to_string()).collect();
    passed.sort();
    assert_eq!(
        passed,
        [
            "dump/oplog.bson",
            "dump/shop/%24admin.system.users.bson",
            "dump/shop/deep",
            "dump/shop/notes.txt",
            "dump/shop/system.views.bson",
        ]
    );
    let mut skipped: Vec<String> = dump.skipped.iter().map(|(path, _)| path.display().to_string()).collect();
    skipped.sort();
    assert_eq!(skipped, ["dump/shop/%zz.bson", "dump/shop/view.metadata.json"]);
    let db = open(&env, "db");
    dump.restore(&db).run().unwrap();
    for name in ["shop.pets", "shop.old", "shop.a long name"] {
        assert!(db.collection(name).get(7).unwrap().is_some(), "{name}");
    }
}

#[test]
fn what_is_no_dump_is_named() {
    let env = Env::in_memory(5);
    env.fs.create_dir_all(Path::new("dump")).unwrap();
    let error = || dump::read("dump").env(env.clone()).run().unwrap_err().to_string();
    assert!(error().contains("dump holds no dump"));
    write(&env, "dump/pets.bson", b"");
    // If the files are in the given directory itself, its name is the name of the logical database.
    assert_eq!(dump::read("dump").env(env.clone()).run().unwrap().collections[0].name, "dump.pets");
    write(&env, "dump/main/pets.bson", b"");
    write(&env, "dump/main/pets.bson.gz", b"");
    assert!(error().contains("are versions of one file"));
    env.fs.remove(Path::new("dump/main/pets.bson.gz")).unwrap();
    write(&env, "dump/main/%70ets.bson", b"");
    assert!(error().contains("are both of collection main.pets"));
    assert!(dump::read("nowhere").env(env.clone()).run().is_err());
}

#[test]
fn a_dump_that_was_made_anew_is_another() {
    // The new dump has the same length as the old one, and the same content in its first megabyte
    // and a half.
    let documents = |last: &str| {
        let text = "x".repeat(100_000);
        let lines = (0..16).map(move |n| format!(r#"{{"_id":{n},"text":"{text}"}}"#));
        lines.chain([format!(r#"{{"_id":16,"text":"{last}"}}"#)]).collect::<Vec<_>>()
    };
    for stopped in [false, true] {
        let env = Env::in_memory(6);
        let db = open(&env, "db");
        db.collection("pets").insert_many(documents("first")).unwrap();
        db.dump("dump").run().unwrap();
        let path = Path::new("dump/main/pets.bson");
        let file = env.fs.open(path, OpenMode::ReadWrite).unwrap();
        let len = file.len().unwrap();
        let other = open(&env, "other");
        if stopped {
            // The file ends within the documents, as if it had been truncated.
            let mut end = vec![0; 40_000];
            file.read_exact_at(&mut end, len - 40_000).unwrap();
            file.set_len(len - 40_000).unwrap();
            restore(&env, &other, None).unwrap_err();
            file.write_at(&end, len - 40_000).unwrap();
        } else {
            restore(&env, &other, None).unwrap();
        }
        let before = other.collection("pets").count().unwrap();
        let mut end = [0; 60];
        file.read_exact_at(&mut end, len - 60).unwrap();
        let at = end.windows(5).position(|five| five == b"first").unwrap();
        file.write_at(b"other", len - 60 + at as u64).unwrap();
        assert_eq!(file.len().unwrap(), len);
        let error = restore(&env, &other, None).unwrap_err().to_string();
        assert!(error.contains("main.pets has documents already"), "{error}");
        assert_eq!(other.collection("pets").count().unwrap(), before, "nothing is restored");
        restore(&env, &other, Some(OnDuplicate::Replace)).unwrap();
        let last = other.collection("pets").get(16).unwrap().unwrap().to_string();
        assert!(last.contains("other"), "{last}");
    }
}
