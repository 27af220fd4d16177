//! Runs each hot path a fixed number of times, with the same data and on one thread: `cargo xtask counts` runs this
//! program under callgrind and divides the instructions of a path by its operations.
//!
//! Usage: `alluvium-counts DIRECTORY`. It prints the name of each path and the number of its operations.

#![deny(missing_docs)]
#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::expect_used, clippy::panic))]

mod data;
mod wire;

use alluvium::load::Input;
use alluvium::{ChangeScope, Collection, Database, Durability, Map, doc};
use alluvium_env::Env;
use alluvium_store::Options;
use std::error::Error;
use std::hint::black_box;

type Outcome<T = ()> = Result<T, Box<dyn Error>>;

/// The documents that are read or changed, and the documents that are loaded.
const COMMENTS: u64 = 6000;
const PUTS: u64 = 2000;
const GETS: u64 = 4000;
const UPDATES: u64 = 2000;
const QUERIES: u64 = 200;
const SALES: u64 = 8000;
/// The number of sales that are inserted at once.
const SALES_BATCH: u64 = 1000;

fn main() -> Outcome {
    let Some(dir) = std::env::args().nth(1) else { return Err("usage: alluvium-counts DIRECTORY".into()) };
    let database = open(&dir)?;
    let comments = database.create_collection("comments").run()?;
    let texts: Vec<String> = (0..COMMENTS).map(data::comment).collect();
    comments.insert_many(texts.iter().map(String::as_str))?;
    comments.create_index(doc! {"author": 1}).run()?;
    settle(&database)?;
    reads(&comments)?;
    questions(&comments)?;
    updates(&comments)?;
    puts(&database)?;
    inserts(&database)?;
    recorded(&format!("{dir}-recorded"), &texts)?;
    messages(&format!("{dir}-wire"))?;
    // The load is last: its threads leave the heap in a different order each time, which changes the work of the
    // allocator.
    load(&database)?;
    database.close()?;
    Ok(())
}

/// A database on real files, but with neither real time nor chance. Flushes and compactions run on this thread when they
/// are called.
fn open(dir: &str) -> Outcome<Database> {
    let env = Env { fs: Env::os().fs, ..Env::in_memory(1) };
    let options = Options {
        background: false,
        durability: Durability::Bulk,
        memory_bytes: 64 << 20,
        partitions: Some(4),
        ..Options::default()
    };
    Ok(Database::builder().env(env).options(options).open(dir)?)
}

/// The messages have a database of their own, so that the load does not compact their documents.
fn messages(dir: &str) -> Outcome {
    let database = open(dir)?;
    wire::messages(&database)?;
    Ok(database.close()?)
}

/// Prints the name of a path and the number of its operations, and runs it.
fn path(name: &str, operations: u64, mut work: impl FnMut() -> Outcome) -> Outcome {
    println!("{name} {operations}");
    measured(&mut work)
}

/// Callgrind sets its counts to zero when this function begins, and writes them when it returns. Therefore it must
/// remain a function, and its call of `work` must not become a jump.
#[inline(never)]
fn measured(work: &mut dyn FnMut() -> Outcome) -> Outcome {
    let outcome = work();
    black_box(&outcome);
    outcome
}

/// Writes all memtables to files, and runs the compactions that are due.
fn settle(database: &Database) -> Outcome {
    database.store().flush()?;
    Ok(database.store().run_pending()?)
}

/// A load, including the flushes and compactions that it causes.
fn load(database: &Database) -> Outcome {
    let loaded = database.create_collection("loaded").run()?;
    let lines: String = (0..COMMENTS).map(|number| data::comment(number) + "\n").collect();
    let mut lines = Some(lines.into_bytes());
    path("load", COMMENTS, || {
        let input = Input::stream("comments", std::io::Cursor::new(lines.take().unwrap_or_default()));
        let report = loaded.load(input).readers(1).writers(1).run()?;
        settle(database)?;
        expect("loaded", report.documents, COMMENTS)
    })
}

/// Gets, a query by index, and a scan. All read files whose blocks are in the cache.
fn reads(comments: &Collection) -> Outcome {
    let mut random = fastrand::Rng::with_seed(1);
    let ids: Vec<String> = (0..GETS).map(|_| data::comment_id(random.u64(0..COMMENTS))).collect();
    let get_all = || {
        let mut found = 0;
        for id in &ids {
            found += u64::from(black_box(comments.get(id.as_str())?).is_some());
        }
        expect("got", found, GETS)
    };
    let find_all = || {
        let mut found = 0;
        for number in 0..QUERIES {
            for document in comments.find(doc! {"author": data::author(number)}).run()? {
                black_box(document?);
                found += 1;
            }
        }
        if found < QUERIES { Err("the index finds too little".into()) } else { Ok(()) }
    };
    let scan = || {
        let mut found = 0;
        for document in comments.scan().run()? {
            black_box(document?);
            found += 1;
        }
        expect("scanned", found, COMMENTS)
    };
    scan()?;
    path("scan", COMMENTS, scan)?;
    get_all()?;
    path("get", GETS, get_all)?;
    find_all()?;
    path("find-by-index", QUERIES, find_all)
}

/// Queries over all documents, whose blocks are in the cache: sorts by a field without an index, and a group with few
/// groups.
fn questions(comments: &Collection) -> Outcome {
    let sorted = |query: alluvium::Find, count: u64| {
        let mut found = 0;
        for document in query.run()? {
            black_box(document?);
            found += 1;
        }
        expect("sorted", found, count)
    };
    let all = || comments.find(doc! {}).sort(doc! {"score": -1});
    path("sort", COMMENTS, || sorted(all().projection(doc! {"author": 1, "score": 1}), COMMENTS))?;
    path("sort-whole", COMMENTS, || sorted(all(), COMMENTS))?;
    path("first-ten", COMMENTS, || sorted(all().limit(10), 10))?;
    let by_place = r#"[{"$group": {"_id": "$subreddit", "count": {"$sum": 1}, "score": {"$avg": "$score"}}}]"#;
    path("group", COMMENTS, || {
        let mut groups = 0;
        for group in comments.aggregate(by_place).run()? {
            black_box(group?);
            groups += 1;
        }
        expect("grouped", groups, data::PLACES)
    })
}

/// Writes whose changes are recorded, in a database of their own: updates as those of [`updates`], and puts as those of
/// [`puts`].
fn recorded(dir: &str, texts: &[String]) -> Outcome {
    let database = open(dir)?;
    let comments = database.create_collection("comments").run()?;
    comments.insert_many(texts.iter().map(String::as_str))?;
    comments.create_index(doc! {"author": 1}).run()?;
    settle(&database)?;
    database.record_changes(ChangeScope::Everything)?;
    path("update-recorded", UPDATES, || checked_updates(&comments, 0..UPDATES))?;
    let collection = database.create_collection("texts").run()?;
    let (first, rest) = numbered_texts();
    put_all(&collection, &first)?;
    path("put-recorded", PUTS, || put_all(&collection, &rest))?;
    Ok(database.close()?)
}

/// Updates by `$inc`: first updates that read and check the document, then blind updates of other documents.
fn updates(comments: &Collection) -> Outcome {
    let add_one = doc! {"$inc": {"score": 1}};
    let blind = |numbers: std::ops::Range<u64>| {
        for number in numbers {
            comments.update_blind(data::comment_id(number), &add_one)?;
        }
        Ok(())
    };
    path("update-checked", UPDATES, || checked_updates(comments, 0..UPDATES))?;
    path("update-blind", UPDATES, || blind(UPDATES..2 * UPDATES))
}

fn checked_updates(comments: &Collection, numbers: std::ops::Range<u64>) -> Outcome {
    let add_one = doc! {"$inc": {"score": 1}};
    let mut changed = 0;
    for number in numbers {
        let filter = doc! {"_id": data::comment_id(number)};
        changed += comments.update_one(filter, &add_one).run()?.modified_count;
    }
    expect("updated", changed, UPDATES)
}

/// Puts of JSON text.
fn puts(database: &Database) -> Outcome {
    let collection = database.create_collection("texts").run()?;
    let (first, rest) = numbered_texts();
    put_all(&collection, &first)?;
    path("put-json", PUTS, || put_all(&collection, &rest))
}

type Texts = Vec<(String, String)>;

/// Ids with their texts, in two halves.
fn numbered_texts() -> (Texts, Texts) {
    let mut first: Texts = (0..2 * PUTS).map(|number| (data::comment_id(number), data::comment(number))).collect();
    let rest = first.split_off(PUTS as usize);
    (first, rest)
}

fn put_all(collection: &Collection, texts: &Texts) -> Outcome {
    for (id, text) in texts {
        collection.put(id.as_str(), text.as_str())?;
    }
    Ok(())
}

/// Inserts of maps into a collection with three indexes, including the flushes and compactions that they cause.
fn inserts(database: &Database) -> Outcome {
    let sales = database.create_collection("sales").run()?;
    for keys in data::sale_indexes() {
        sales.create_index(keys).run()?;
    }
    let batch = |from: u64| -> Vec<Map> { (from..from + SALES_BATCH).map(data::sale).collect() };
    sales.insert_many(batch(0))?;
    settle(database)?;
    let mut batches: Vec<Vec<Map>> = (1..=SALES / SALES_BATCH).map(|number| batch(number * SALES_BATCH)).collect();
    path("iibench-insert", SALES, || {
        for batch in std::mem::take(&mut batches) {
            sales.insert_many(batch)?;
        }
        settle(database)
    })
}

fn expect(what: &str, found: u64, expected: u64) -> Outcome {
    if found == expected { Ok(()) } else { Err(format!("{what} {found} of {expected} documents").into()) }
}
