//! Inserts rows of iibench as values in batches of 1,000, on one thread, and prints the time: to be run under a profiler.
//!
//! `insert_many DIR ROWS INDEXES`; the directory must not be there yet.
#![allow(clippy::disallowed_methods)]

use alluvium::{Database, Durability, Map};
use alluvium_workbench::iibench::{INDEXES, Row};

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [dir, rows, indexes] = arguments.as_slice() else {
        eprintln!("usage: insert_many DIR ROWS INDEXES");
        return;
    };
    let (rows, indexes): (u64, usize) = (rows.parse().unwrap(), indexes.parse().unwrap());
    let database = Database::builder().durability(Durability::Bulk).open(dir).unwrap();
    let collection = database.create_collection("receipts").run().unwrap();
    for fields in &INDEXES[..indexes] {
        let mut keys = Map::new();
        fields.iter().for_each(|field| keys.push(field.name(), 1));
        collection.create_index(keys).run().unwrap();
    }
    let clock = alluvium_env::Env::os().clock;
    let mut spent = std::time::Duration::ZERO;
    for from in (0..rows).step_by(1_000) {
        let batch: Vec<Map> = (from..rows.min(from + 1_000)).map(|id| Row::new(1, id, 10).document()).collect();
        let began = clock.now();
        insert(&collection, batch);
        spent += clock.now() - began;
    }
    println!("{:.2} µs a row in insert_many", spent.as_secs_f64() * 1e6 / rows.max(1) as f64);
    database.close().unwrap();
}

/// A name for profilers to begin at.
#[inline(never)]
fn insert(collection: &alluvium::Collection, batch: Vec<Map>) {
    collection.insert_many(batch).unwrap();
}
