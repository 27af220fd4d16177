#![allow(clippy::disallowed_methods, reason = "a test of real files")]

use super::*;
use crate::config::Config;
use rustyline::history::DefaultHistory;

fn helper(collection: Option<&str>) -> Helper {
    let db = Database::builder().env(alluvium_env::Env::in_memory(1)).open("db").expect("a database");
    for id in 0..50 {
        db.collection("pets").put(id, r#"{"kind":"dog","chip":{"number":1}}"#).expect("space");
    }
    db.collection("pets").create_index(r#"{"kind": 1}"#).run().expect("an index");
    db.create_collection("shop.orders").run().expect("a collection");
    db.create_collection("old pets").run().expect("a collection");
    let context = crate::context::Context {
        definition: crate::app::definition,
        config: &Config::default(),
        run_for_visitor: |_| 0,
    };
    let definition = super::super::definition::definition(context, db.path(), collection);
    Helper::new(definition, Some(db), collection.map(str::to_owned))
}

/// The candidates for the end of the line, and the offset at which they begin.
fn completed(helper: &Helper, line: &str) -> (usize, Vec<String>) {
    let history = DefaultHistory::new();
    let (from, pairs) = helper.complete(line, line.len(), &Context::new(&history)).expect("an answer");
    (from, pairs.into_iter().map(|pair| pair.replacement).collect())
}

#[track_caller]
fn expect(helper: &Helper, line: &str, from: usize, words: &[&str]) {
    assert_eq!(completed(helper, line), (from, words.iter().map(|word| (*word).to_owned()).collect()), "{line}");
}

#[test]
fn commands_collections_options_and_fields_are_completed() {
    let free = helper(None);
    expect(&free, "up", 0, &["update"]);
    expect(&free, "us", 0, &["use"]);
    expect(&free, "get p", 4, &["pets"]);
    expect(&free, "get ", 4, &["'old pets'", "pets", "shop.orders"]);
    expect(&free, "use sh", 4, &["shop.orders"]);
    expect(&free, "help sta", 5, &["stats"]);
    expect(&free, "mv ke", 3, &["keys"]);
    expect(&free, "scan pets --rev", 10, &["--reverse"]);
    expect(&free, "scan pets --fields ki", 19, &["kind"]);
    expect(&free, "scan pets --fields kind,n", 24, &["number"]);
    expect(&free, "update pets 1 {\"$un", 16, &["$unset"]);
    expect(&free, "update pets 1 {\"$set\": {\"ch", 25, &["chip"]);
    expect(&free, "index dr", 6, &["drop"]);
    expect(&free, "index drop pets ki", 16, &["kind_1"]);
    expect(&free, "index drop pets _id_ ki", 21, &["kind_1"]);
    expect(&free, "find pets --hint k", 17, &["kind_1"]);
    expect(&free, "find pets {\"ki", 12, &["kind"]);
    expect(&free, "find pets {\"chip\": {\"$gt", 21, &["$gt", "$gte"]);
    // Names without quotes; in updates only operators of updates.
    expect(&free, "find pets {chip: {$gt", 18, &["$gt", "$gte"]);
    expect(&free, "find pets {chip:{$in", 17, &["$in"]);
    expect(&free, "update pets 1 {$in", 15, &["$in", "$inc"]);
    expect(&free, "find pets {ki", 11, &["kind"]);
    // In pipelines: stages, expressions, and fields in expressions.
    expect(&free, "aggregate pets [{$gro", 17, &["$group"]);
    expect(&free, "aggregate pets [{\"$group\": {\"_id\": \"$ki", 36, &["$kind"]);
    expect(&free, "aggregate pets {$set: {a: {$dateTr", 27, &["$dateTrunc"]);
    // The second line of a command.
    let mut second = helper(None);
    second.continues("find pets {kind: 'dog',\n");
    expect(&second, "  chip: {$gt", 9, &["$gt", "$gte"]);
    expect(&second, "nu", 0, &["number"]);
    expect(&free, "distinct pets ki", 14, &["kind"]);
    expect(&free, "count nowhere --me", 14, &[]);
    let (_, options) = completed(&free, "put pets rex --");
    assert!(options.contains(&"--sync".to_owned()) && !options.contains(&"--database".to_owned()), "{options:?}");
    let used = helper(Some("pets"));
    expect(&used, "scan --fields ki", 14, &["kind"]);
    expect(&used, "index drop ki", 11, &["kind_1"]);
    expect(&used, "distinct ki", 9, &["kind"]);
    expect(&used, "put 1 {\"nu", 8, &["number"]);
}

#[test]
fn options_may_stand_anywhere_before() {
    let free = helper(None);
    // An option with a value, an option without a value, and an option with `=`.
    expect(&free, "scan --limit 5 pe", 15, &["pets"]);
    expect(&free, "scan --reverse pe", 15, &["pets"]);
    expect(&free, "scan --limit=5 pe", 15, &["pets"]);
    expect(&free, "scan --limit 5 pets --fields ki", 29, &["kind"]);
    expect(&free, "scan --limit 5 pets --fields=kind,chip.nu", 39, &["number"]);
    expect(&free, "find --limit 5 pets {\"ki", 22, &["kind"]);
    expect(&free, "find --limit 5 pets '{\"chip.nu", 28, &["number"]);
    expect(&free, "find pets --sort {\"ki", 19, &["kind"]);
    expect(&free, "find pets {\"a\": {\"$bitsAllS", 18, &["$bitsAllSet"]);
    expect(&free, "put -- pe", 7, &["pets"]);
    expect(&free, "load --on-duplicate rep", 20, &["replace"]);
    expect(&free, "load --on-duplicate=rep", 20, &["replace"]);
    expect(&free, "distinct --json pets ki", 21, &["kind"]);
    // A collection other than the one in use.
    let used = helper(Some("shop.orders"));
    expect(&used, "scan --collection pe", 18, &["pets"]);
    expect(&used, "scan --collection pets --fields ki", 32, &["kind"]);
    expect(&used, "scan --fields ki", 14, &[]);
    // The completion of an incomplete word takes precedence over the history.
    let history = DefaultHistory::new();
    let (from, found) = free.complete("get pe 7", 6, &Context::new(&history)).expect("an answer");
    assert_eq!((from, found.len(), found[0].replacement.as_str()), (4, 1, "pets"));
}

#[test]
fn names_with_blanks_are_quoted() {
    let free = helper(None);
    expect(&free, "get ol", 4, &["'old pets'"]);
    expect(&free, "get 'old p", 4, &["'old pets'"]);
    expect(&free, "get \"pe", 4, &["\"pets\""]);
}

#[test]
fn files_are_completed_where_they_may_stand() {
    let dir = tempfile::tempdir().expect("a directory");
    std::fs::write(dir.path().join("airports.json"), "").expect("space");
    let line = format!("load pets {}/air", dir.path().display());
    let (_, found) = completed(&helper(None), &line);
    assert!(found.len() == 1 && found[0].ends_with("airports.json"), "{found:?}");
}

#[test]
fn a_command_alone_hints_at_what_it_takes() {
    let history = DefaultHistory::new();
    let helper = helper(None);
    let hint = |line: &str| helper.hint(line, line.len(), &Context::new(&history));
    let get = hint("get ").expect("a hint");
    assert_eq!((get.display(), get.completion()), ("<COLLECTION> <ID>...", None));
    assert!(hint("verify ").is_none() && hint("nonsense ").is_none());
}
