//! Runs the cases of `tests/oracle`: reads one case per line from standard input, as Extended JSON, and prints the
//! result of each as canonical Extended JSON, or the error.
//!
//! A case has `docs` for the collection `c`, `other` for the collection `d`, and one of `filter`, `pipeline` and
//! `update` (with the `filter` for one document).

use std::io::{BufRead, BufWriter, Write};

use alluvium::json::{self, Format};
use alluvium::{Database, Map, Value, doc};

/// The documents after the case was executed.
fn run(case: &Map) -> alluvium::Result<Vec<Value>> {
    let db = Database::in_memory()?;
    for (collection, field) in [("c", "docs"), ("d", "other")] {
        let documents = case.get(field).and_then(Value::as_array).unwrap_or_default();
        db.collection(collection).insert_many(documents.iter().filter_map(Value::as_map).cloned())?;
    }
    let filter = case.get("filter").and_then(Value::as_map).cloned().unwrap_or_default();
    let collection = db.collection("c");
    let mut results = Vec::new();
    if let Some(stages) = case.get("pipeline") {
        for found in collection.aggregate(stages.clone()).run()? {
            results.push(Value::Map(found?.to_map()?));
        }
        return Ok(results);
    }
    if let Some(update) = case.get("update").and_then(Value::as_map) {
        collection.update_one(filter, update.clone()).sort(doc! {"_id": 1}).run()?;
    }
    let read = match case.get("update") {
        Some(_) => Map::default(),
        None => case.get("filter").and_then(Value::as_map).cloned().unwrap_or_default(),
    };
    let mut find = collection.find(read).sort(doc! {"_id": 1});
    if let Some(projection) = case.get("projection").and_then(Value::as_map) {
        find = find.projection(projection.clone());
    }
    for found in find.run()? {
        results.push(Value::Map(found?.to_map()?));
    }
    Ok(results)
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut out = BufWriter::new(std::io::stdout().lock());
    for line in std::io::stdin().lock().lines() {
        let answer = match json::parse(line?.as_bytes()) {
            Ok(Value::Map(case)) => match run(&case) {
                Ok(results) => doc! {"result": Value::Array(results)},
                Err(error) => {
                    let code = error.code().map_or(0, |(code, _)| code);
                    doc! {"error": error.to_string(), "code": code}
                }
            },
            Ok(_) => doc! {"error": "the case is no map", "code": 0},
            Err(error) => doc! {"error": error.to_string(), "code": 0},
        };
        writeln!(out, "{}", json::to_string(&Value::Map(answer), Format::CANONICAL)?)?;
        out.flush()?;
    }
    Ok(())
}
