//! Pipelines return the results that MongoDB's documentation describes. The cases are in `pipelines/cases.jsonl`, each
//! with documents, stages, and results or the code of an error. A line that begins with `//` is a comment.
//!
//! Each case is run over a collection without indexes, with an index on each field that a `$match` names, and with so
//! little memory that groups and sorts continue in files.

use alluvium::{Database, Map, Value, json};

const CASES: &str = include_str!("../pipelines/cases.jsonl");

struct Case {
    line: usize,
    text: &'static str,
    map: Map,
}

fn cases() -> Vec<Case> {
    let lines = CASES.lines().enumerate().filter(|(_, text)| !text.is_empty() && !text.starts_with("//"));
    let case = |(at, text): (usize, &'static str)| match json::parse(text.as_bytes()) {
        Ok(Value::Map(map)) => Case { line: at + 1, text, map },
        other => panic!("line {}: {other:?}: {text}", at + 1),
    };
    lines.map(case).collect()
}

/// The results as texts; sorted unless the case says that they have an order.
fn results(db: &Database, case: &Case) -> Result<Vec<String>, (i32, String)> {
    let stages = case.map.get("pipeline").unwrap_or_else(|| panic!("line {}: no pipeline", case.line)).clone();
    let error = |error: alluvium::Error| (error.code().map_or(0, |(code, _)| code), error.to_string());
    let mut aggregate = db.collection("c").aggregate(stages);
    if let Some(variables) = case.map.get("let").and_then(Value::as_map) {
        aggregate = aggregate.variables(variables.clone());
    }
    if let Some(collation) = case.map.get("collation").and_then(Value::as_map) {
        aggregate = aggregate.collation(collation.clone());
    }
    let mut found = Vec::new();
    for document in aggregate.run().map_err(error)? {
        found.push(document.map_err(error)?.to_string());
    }
    if !case.map.contains("ordered") {
        found.sort();
    }
    Ok(found)
}

fn expected(case: &Case) -> Result<Vec<String>, i32> {
    if let Some(code) = case.map.get("code") {
        return Err(i32::try_from(code.as_i64().expect("a code")).expect("a small code"));
    }
    let values = case.map.get("result").and_then(Value::as_array).unwrap_or_else(|| panic!("line {}", case.line));
    let mut texts: Vec<String> = values.iter().map(ToString::to_string).collect();
    if !case.map.contains("ordered") {
        texts.sort();
    }
    Ok(texts)
}

fn fill(db: &Database, case: &Case) {
    for (collection, field) in [("c", "docs"), ("d", "other")] {
        let documents = case.map.get(field).and_then(Value::as_array).unwrap_or_default();
        let documents: Vec<Map> = documents.iter().filter_map(Value::as_map).cloned().collect();
        db.collection(collection).insert_many(documents).unwrap_or_else(|e| panic!("line {}: {e}", case.line));
    }
}

/// The difference from the expected results of a case, if there is one.
fn check(case: &Case, how: &str, db: &Database) -> Option<String> {
    let got = results(db, case);
    let same = match (&got, &expected(case)) {
        (Ok(got), Ok(expected)) => got == expected,
        (Err((code, _)), Err(expected)) => code == expected,
        _ => false,
    };
    let expected = expected(case);
    (!same).then(|| format!("line {} {how}: {}\n  got      {got:?}\n  expected {expected:?}\n", case.line, case.text))
}

fn assert_none(wrong: &[String]) {
    assert!(wrong.is_empty(), "{} cases:\n{}", wrong.len(), wrong.concat());
}

#[test]
fn cases_give_their_results() {
    let mut wrong = Vec::new();
    for case in cases() {
        let db = Database::in_memory().unwrap();
        fill(&db, &case);
        wrong.extend(check(&case, "as it is", &db));
        // An index on a field that the first stages use must not change the results.
        for field in ["a", "b", "k"] {
            let index = Map::from([(field, 1)]);
            db.collection("c").create_index(index.clone()).run().unwrap();
            db.collection("d").create_index(index).run().unwrap();
        }
        wrong.extend(check(&case, "with indexes", &db));
    }
    assert_none(&wrong);
}

#[test]
fn cases_give_the_same_in_files() {
    use alluvium_store::{Options, Tuning};
    let mut wrong = Vec::new();
    for case in cases() {
        if case.map.contains("code") || case.map.contains("in_memory") {
            continue;
        }
        let tuning = Tuning { gather_bytes: Some(1), ..Tuning::default() };
        let options = Options { tuning, ..Options::default() };
        let env = alluvium_env::Env::in_memory(1);
        let db = Database::builder().env(env).options(options).open("db").unwrap();
        fill(&db, &case);
        wrong.extend(check(&case, "in files", &db));
    }
    assert_none(&wrong);
}
