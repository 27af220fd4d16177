//! A load reports correct lines, counts and positions, and continues where it ended.

use alluvium::load::{Input, OnBad, OnDuplicate, Outcome};
use alluvium::{Database, Value};
use std::collections::BTreeSet;
use std::io::Cursor;
use std::io::Write;
use std::sync::Arc;

fn database(seed: u64) -> (alluvium_env::Env, Database) {
    let env = alluvium_env::Env::in_memory(seed);
    let db = Database::builder().env(env.clone()).memory(8 << 20).open("db").unwrap();
    (env, db)
}

fn input(text: &str) -> Input {
    Input::stream("lines", Cursor::new(text.to_owned()))
}

fn all(db: &Database, name: &str) -> Vec<String> {
    let cursor = db.collection(name).scan().run().unwrap();
    cursor.map(|d| d.unwrap().to_string()).collect()
}

#[test]
fn a_bad_line_is_named_by_line_column_and_reason() {
    let (_, db) = database(1);
    let text = "{\"_id\":1}\n\n{\"_id\":2,\"a\":}\n{\"_id\":3}\n";
    let error = db.collection("c").load(input(text)).run().unwrap_err();
    let message = error.to_string();
    assert!(message.contains("line 3 column 14"), "{message}");
    assert_eq!(all(&db, "c"), ["{\"_id\":1}"], "what stands before it is loaded");
}

#[test]
fn bad_lines_can_be_skipped_and_are_kept_apart() {
    let (_, db) = database(2);
    let rejects = Shared::default();
    let report = db
        .collection("c")
        .load(input("{\"_id\":1}\nnonsense\n{\"_id\":[1]}\n{\"_id\":2}"))
        .on_bad(OnBad::Skip)
        .rejects(rejects.clone())
        .run()
        .unwrap();
    assert_eq!((report.documents, report.rejected), (2, 2));
    let text = String::from_utf8(rejects.0.lock().clone()).unwrap();
    let lines: Vec<serde_json::Value> = text.lines().map(|l| serde_json::from_str(l).unwrap()).collect();
    assert_eq!(lines[0]["line"], 2);
    assert_eq!(lines[0]["text"], "nonsense");
    assert_eq!(lines[1]["line"], 3);
}

#[derive(Clone, Default)]
struct Shared(Arc<alluvium_env::sync::Mutex<Vec<u8>>>);

impl Write for Shared {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().extend_from_slice(bytes);
        Ok(bytes.len())
    }
    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[test]
fn duplicates_end_replace_or_skip() {
    let text = "{\"_id\":1,\"n\":1}\n{\"_id\":2,\"n\":1}\n{\"_id\":1,\"n\":2}\n{\"_id\":3,\"n\":1}\n";
    let (_, db) = database(3);
    let load = |name: &str, on_duplicate| db.collection(name).load(input(text)).on_duplicate(on_duplicate).run();
    let error = load("error", OnDuplicate::Error).unwrap_err().to_string();
    assert!(error.contains("line 3") && error.contains("_id 1"), "{error}");
    assert_eq!(all(&db, "error").len(), 2);
    assert_eq!(load("replace", OnDuplicate::Replace).unwrap().documents, 4);
    assert_eq!(all(&db, "replace")[0], "{\"_id\":1,\"n\":2}", "the later line wins");
    let report = load("skip", OnDuplicate::Skip).unwrap();
    assert_eq!((report.documents, report.duplicates), (3, 1));
    assert_eq!(all(&db, "skip")[0], "{\"_id\":1,\"n\":1}", "the earlier line stays");
    // Load the same input again, when all documents exist.
    assert_eq!(load("skip", OnDuplicate::Skip).unwrap().duplicates, 4);
}

fn write_file(env: &alluvium_env::Env, path: &str, bytes: &[u8]) {
    let file = env.fs.open(path.as_ref(), alluvium_env::OpenMode::CreateNew).unwrap();
    file.write_at(bytes, 0).unwrap();
}

#[test]
fn a_finished_load_says_so_and_changes_nothing() {
    let (env, db) = database(4);
    write_file(&env, "in.jsonl", b"{\"a\":1}\n{\"a\":2}\n");
    let load = || {
        let input = Input::file_in(&env, "in.jsonl").unwrap();
        db.collection("c").load(input).run().unwrap()
    };
    assert_eq!(load().outcome, Outcome::Done);
    let before = all(&db, "c");
    let second = load();
    assert_eq!((second.outcome, second.documents, second.documents_before), (Outcome::AlreadyDone, 0, 2));
    assert_eq!(all(&db, "c"), before);
}

#[test]
fn generated_ids_depend_on_the_file_and_the_place_alone() {
    let mut runs = Vec::new();
    for seed in [5, 6] {
        let (env, db) = database(seed);
        write_file(&env, "in.jsonl", b"{\"a\":1}\n{\"a\":2}\n{\"_id\":7}\n");
        let input = Input::file_in(&env, "in.jsonl").unwrap();
        db.collection("c").load(input).run().unwrap();
        runs.push(all(&db, "c"));
    }
    assert_eq!(runs[0], runs[1]);
    assert_eq!(runs[0].len(), 3);
}

#[test]
fn generated_ids_identify_the_input_by_seven_bytes() {
    let (env, db) = database(8);
    for n in 0..20 {
        let name = format!("{n}.jsonl");
        write_file(&env, &name, format!("{{\"n\":{n}}}\n{{\"n\":{n}}}\n").as_bytes());
        let input = Input::file_in(&env, &name).unwrap();
        db.collection("c").load(input).run().unwrap();
    }
    let ids = db.collection("c").scan().run().unwrap().map(|document| match document.unwrap().id() {
        Value::ObjectId(id) => id.to_vec(),
        other => panic!("{other:?}"),
    });
    let ids: Vec<Vec<u8>> = ids.collect();
    let parts = |from: usize, to: usize| ids.iter().map(|id| id[from..to].to_vec()).collect::<BTreeSet<_>>();
    assert_eq!((ids.len(), parts(0, 7).len(), parts(4, 7).len(), parts(7, 12).len()), (40, 20, 20, 3));
}

#[test]
fn a_load_that_failed_goes_on_at_the_line_that_failed() {
    let (env, db) = database(7);
    let mut text = String::new();
    for n in 0..30_000 {
        text.push_str(&format!("{{\"_id\":{n},\"text\":\"some text to make slices\"}}\n"));
    }
    text.push_str("bad\n");
    for n in 30_000..40_000 {
        text.push_str(&format!("{{\"_id\":{n}}}\n"));
    }
    write_file(&env, "in.jsonl", text.as_bytes());
    let load = |on_bad| {
        let input = Input::file_in(&env, "in.jsonl").unwrap();
        db.collection("c").load(input).on_bad(on_bad).run()
    };
    let error = load(OnBad::Error).unwrap_err().to_string();
    assert!(error.contains("line 30001 column 1"), "{error}");
    assert_eq!(db.collection("c").count().unwrap(), 30_000);
    let error = load(OnBad::Error).unwrap_err().to_string();
    assert!(error.contains("line 30001 column 1"), "the second run names the same line: {error}");
    let report = load(OnBad::Skip).unwrap();
    assert_eq!((report.documents_before, report.documents, report.rejected), (30_000, 10_000, 1));
    assert_eq!(db.collection("c").count().unwrap(), 40_000);
}

#[test]
fn another_field_becomes_the_id_and_stays() {
    let (_, db) = database(8);
    db.collection("c").load(input("{\"a\":1,\"id\":\"x\"}\n")).id_field("id").run().unwrap();
    assert_eq!(all(&db, "c"), ["{\"_id\":\"x\",\"a\":1,\"id\":\"x\"}"]);
    let error = db.collection("c").load(input("{\"a\":1}\n")).id_field("id").run().unwrap_err().to_string();
    assert!(error.contains("\"id\""), "{error}");
}
