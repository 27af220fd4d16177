//! Counters that many threads increment without reading them: updates are written as deltas, and merged when read.
//!
//! ```text
//! cargo run --release -p alluvium --example counters
//! ```

#![allow(clippy::disallowed_methods, reason = "a small program of its own")]

use alluvium::{Database, Result};

const PAGES: [&str; 3] = ["/", "/docs", "/blog"];
const THREADS: usize = 4;
const VISITS: usize = 3000;

fn main() -> Result<()> {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let db = Database::open(folder.path().join("counters"))?;
    let pages = db.collection("pages");
    for page in PAGES {
        pages.put(page, r#"{"visits": 0, "longest_ms": 0}"#)?;
    }
    let threads: Vec<_> = (0..THREADS)
        .map(|thread| {
            let pages = pages.clone();
            std::thread::spawn(move || -> Result<()> {
                for visit in 0..VISITS {
                    let took_ms = (visit * 7 + thread) % 500;
                    let update = format!(r#"{{"$inc": {{"visits": 1}}, "$max": {{"longest_ms": {took_ms}}}}}"#);
                    pages.update_blind(PAGES[visit % PAGES.len()], update)?;
                }
                Ok(())
            })
        })
        .collect();
    for thread in threads {
        thread.join().expect("the thread")?;
    }
    for page in pages.scan().run()? {
        println!("{}", page?);
    }
    // A ticket number must be given out only once, so this update reads the old value.
    let tickets = db.collection("tickets");
    tickets.update_one(r#"{"_id": "next"}"#, r#"{"$inc": {"n": 1}}"#).upsert(true).run()?;
    println!("{:?}", tickets.get("next")?.map(|document| document.to_string()));
    db.close()
}
