//! A library of books: found by author, counted by shelf, lent to one reader at a time.
//!
//! ```text
//! cargo run --release -p alluvium --example lookup
//! ```

#![allow(clippy::disallowed_methods, reason = "a small program of its own")]

use alluvium::{Database, ErrorKind, Result};

fn main() -> Result<()> {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let db = Database::open(folder.path().join("library"))?;
    let books = db.collection("books");
    for number in 0..3000 {
        let author = ["austen", "borges", "calvino"][number % 3];
        let (year, shelf) = (1800 + number % 200, number % 7);
        books.put(number as i32, format!(r#"{{"author": "{author}", "year": {year}, "shelf": {shelf}}}"#))?;
    }
    // Index the existing documents; every later write keeps the indexes up to date.
    books.create_index(r#"{"author": 1, "year": -1}"#).run()?;
    books.create_index(r#"{"lent.to": 1}"#).options(r#"{"unique": true, "sparse": true}"#).run()?;

    let newest = books.find(r#"{"author": "borges"}"#).sort(r#"{"year": -1, "_id": 1}"#).limit(2).run()?;
    for book in newest {
        println!("{}", book?);
    }
    let old = r#"{"author": "austen", "year": {"$lt": 1810}}"#;
    println!("{} old ones on shelves {:?}", books.find(old).count()?, books.find(old).distinct("shelf")?.len());

    // A reader cannot borrow two books at a time: the unique index refuses the second one.
    books.update_one(r#"{"_id": 1}"#, r#"{"$set": {"lent": {"to": "ada"}}}"#).run()?;
    let refused = books.update_one(r#"{"_id": 2}"#, r#"{"$set": {"lent": {"to": "ada"}}}"#).run();
    println!("refused: {}", refused.is_err_and(|error| error.kind() == ErrorKind::DuplicateKey));

    // A put does not read the document that it replaces, so the old index entries remain; readers
    // skip them.
    books.put(1, r#"{"author": "borges", "year": 1941}"#)?;
    let stats = &books.index_stats()?[0];
    println!(
        "{} has about {} entries, {} of {} looked at are stale",
        stats.name,
        stats.entries / 1000 * 1000,
        stats.sampled_stale,
        stats.sampled
    );
    println!("damage: {}", db.verify().run()?.damage.len());
    db.close()
}
