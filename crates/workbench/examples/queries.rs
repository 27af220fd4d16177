//! Queries over fixed data, one kind for each run, to be counted in instructions:
//!
//! ```text
//! cargo build --release -p alluvium-workbench --example queries
//! valgrind --tool=callgrind --callgrind-out-file=/dev/null --collect-atstart=no \
//!     --toggle-collect='*measured*' target/release/examples/queries fetch
//! ```
//!
//! The kinds are those of `KINDS`. The data come from a formula, and the database is in memory, so the same kind does the
//! same work each time. Counts differ by up to 0.3%, those of `one` by up to 1%: hash tables have random seeds.

#![allow(clippy::disallowed_methods, reason = "a small program of its own")]

use alluvium::{Collection, Database, Result};
use std::hint::black_box;

const DOCUMENTS: u32 = 20_000;
const KINDS: [&str; 10] = ["fetch", "covered", "count", "sort", "union", "merge", "one", "limit", "scan", "arrays"];

fn main() -> Result<()> {
    let kind = std::env::args().nth(1).unwrap_or_default();
    if !KINDS.contains(&kind.as_str()) {
        println!("one of {}", KINDS.join(", "));
        return Ok(());
    }
    let db = Database::builder().env(alluvium_env::Env::in_memory(1)).open("db")?;
    let pets = db.collection("pets");
    pets.create_index(r#"{"age": 1}"#).run()?;
    pets.create_index(r#"{"kind": 1, "age": 1}"#).run()?;
    pets.create_index(r#"{"owner": 1}"#).run()?;
    pets.create_index(r#"{"tags": 1}"#).run()?;
    for first in (0..DOCUMENTS).step_by(1000) {
        pets.insert_many((first..first + 1000).map(pet))?;
    }
    db.flush()?;
    // Statistics and plans are made beforehand.
    measure(&kind, &pets)?;
    println!("{kind}: {} documents", measured(&kind, &pets)?);
    db.close()
}

fn pet(number: u32) -> String {
    let (age, kind, owner) = (number.wrapping_mul(2_654_435_761) >> 16, number % 16, number.wrapping_mul(40_503) % 500);
    format!(
        r#"{{"_id": {number}, "age": {age}, "kind": "kind{kind:02}", "owner": "owner{owner:03}",
            "tags": ["a{}", "b{}", "c{}"], "notes": "pet number {number} of {DOCUMENTS} eats {kind} times a day"}}"#,
        number % 7,
        number % 11,
        number % 13
    )
}

#[inline(never)]
fn measured(kind: &str, pets: &Collection) -> Result<u64> {
    measure(kind, pets)
}

#[inline(never)]
fn measure(kind: &str, pets: &Collection) -> Result<u64> {
    let mut found = 0;
    let mut take = |documents: alluvium::Cursor| -> Result<()> {
        for document in documents {
            black_box(document?);
            found += 1;
        }
        Ok(())
    };
    match kind {
        "fetch" => take(pets.find(r#"{"age": {"$gte": 1000, "$lt": 20000}}"#).hint("age_1").run()?)?,
        "covered" => {
            let kinds = pets.find(r#"{"kind": {"$gte": "kind04", "$lt": "kind12"}}"#).hint("kind_1_age_1");
            take(kinds.projection(r#"{"_id": 0, "kind": 1, "age": 1}"#).run()?)?;
        }
        "count" => return pets.find(r#"{"kind": {"$gte": "kind04", "$lt": "kind12"}}"#).count(),
        "sort" => {
            take(pets.find(r#"{"kind": "kind07"}"#).hint("kind_1_age_1").sort(r#"{"notes": -1}"#).limit(20).run()?)?;
        }
        "union" => {
            let any = r#"{"$or": [{"age": {"$lt": 600}}, {"owner": {"$lt": "owner010"}}]}"#;
            take(pets.find(any).run()?)?;
        }
        "merge" => {
            let any = r#"{"$or": [{"kind": "kind03"}, {"kind": "kind05"}, {"kind": "kind08"}]}"#;
            take(pets.find(any).sort(r#"{"age": 1}"#).run()?)?;
        }
        "one" => {
            for number in 0..2000 {
                let owner = format!(r#"{{"owner": "owner{:03}"}}"#, number % 500);
                take(pets.find(owner.as_str()).limit(1).run()?)?;
            }
        }
        "limit" => {
            for number in 0..200 {
                let age = format!(r#"{{"age": {{"$gte": {}}}, "kind": "kind03"}}"#, number * 100);
                take(pets.find(age.as_str()).hint("age_1").sort(r#"{"age": 1}"#).limit(10).run()?)?;
            }
        }
        "scan" => take(pets.find(r#"{"notes": {"$gte": "pet number 5"}}"#).run()?)?,
        _ => take(pets.find(r#"{"tags": {"$in": ["a3", "b5", "c7"]}}"#).hint("tags_1").run()?)?,
    }
    Ok(found)
}
