//! Measures filters over comment-like documents: `cargo run --release -p alluvium-query --example filters [count]`. The
//! figures are nanoseconds of CPU per document that is looked at, each the best of several passes over rows in memory.
#![allow(clippy::disallowed_methods)]

#[path = "../../document/examples/support/generator.rs"]
mod generator;

use std::hint::black_box;
use std::sync::Arc;

use alluvium_document::row::encode_row;
use alluvium_document::shape::ShapeTable;
use alluvium_document::{Document, Map, Value, json, key};
use alluvium_query::filter::Filter;

const FILTERS: [&str; 8] = [
    "{}",
    r#"{"score":{"$gt":100}}"#,
    r#"{"subreddit":"pics"}"#,
    r#"{"subreddit":"pics","score":{"$gte":10,"$lt":100}}"#,
    r#"{"subreddit":{"$in":["pics","funny","news","worldnews","science"]}}"#,
    r#"{"$or":[{"score":{"$lt":0}},{"gilded":{"$gt":0}}]}"#,
    r#"{"body":{"$regex":"database"}}"#,
    r#"{"nothing.like.this":{"$exists":true}}"#,
];

/// Nanoseconds that this thread was on a CPU; other load on the machine does not count.
fn cpu_nanos() -> u64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// A row under a shape, as it is stored.
fn stored(table: &Arc<ShapeTable>, map: &Map) -> Document {
    let id = map.get("_id").or_else(|| map.get("id")).cloned().expect("an id");
    let (mut row, mut shapes) = (Vec::new(), Vec::new());
    encode_row(map, table, None, &mut row, &mut shapes).expect("a row");
    Document::from_row(table, &key::id_key(&id).expect("a key"), row).expect("a document")
}

fn main() {
    let count = std::env::args().nth(1).map_or(20_000, |count| count.parse().expect("a count"));
    let table = Arc::new(ShapeTable::new(Default::default()));
    let of_line = |line: &Vec<u8>| match json::parse(line).expect("JSON") {
        Value::Map(map) => stored(&table, &map),
        other => panic!("{other:?}"),
    };
    let documents: Vec<Document> = generator::comments(count, 42).iter().map(of_line).collect();
    for text in FILTERS {
        let map = json::parse(text.as_bytes()).expect("JSON");
        let filter = Filter::parse(map.as_map().expect("a map")).expect("a filter");
        let pass = || documents.iter().filter(|document| filter.matches(document).expect("a row")).count();
        let found = black_box(pass());
        let time = |_| {
            let start = cpu_nanos();
            black_box(pass());
            cpu_nanos() - start
        };
        let best = (0..9).map(time).min().unwrap_or_default();
        println!("{:>7.0} ns, {found:>6} match  {text}", best as f64 / documents.len() as f64);
    }
}
