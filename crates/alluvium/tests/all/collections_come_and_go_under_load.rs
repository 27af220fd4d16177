//! Threads write, read, scan, drop, rename and load the same collections concurrently.

use alluvium::{Database, Error, ErrorKind};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Errors that are expected during concurrent drops and renames.
fn expected(error: &Error) -> bool {
    matches!(error.kind(), ErrorKind::Namespace)
}

fn count(db: &Database) -> Vec<(String, u64)> {
    let names = db.collections().into_iter().map(|c| c.full_name());
    names.map(|name| (name.clone(), db.collection(&name).count().unwrap())).collect()
}

#[test]
fn nothing_but_missing_collections_is_ever_reported() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("db");
    let db = Database::builder().memory(8 << 20).open(&path).unwrap();
    let stop = AtomicBool::new(false);
    let written = AtomicU64::new(0);
    std::thread::scope(|scope| {
        let (db, stop, written) = (&db, &stop, &written);
        for thread in 0..3u64 {
            scope.spawn(move || {
                let mut n = 0u64;
                while !stop.load(Ordering::Relaxed) {
                    n += 1;
                    let id = (thread << 40 | n) as i64;
                    let text = format!(r#"{{"n": {n}, "f{}": [1, 2]}}"#, n % 7);
                    db.collection(["a", "b"][n as usize % 2]).put(id, text.as_str()).unwrap();
                    if n.is_multiple_of(5) {
                        // Two documents of one batch: either both exist or neither does.
                        let mut batch = db.write_batch();
                        batch.put(&db.collection("pairs"), id, text.as_str()).unwrap();
                        batch.put(&db.collection("pairs"), id + (1 << 60), text.as_str()).unwrap();
                        batch.commit().unwrap();
                    }
                    written.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
        scope.spawn(move || {
            while !stop.load(Ordering::Relaxed) {
                for name in ["a", "b", "pairs"] {
                    let documents = match db.collection(name).scan().run() {
                        Ok(cursor) => cursor.collect::<Result<Vec<_>, _>>(),
                        Err(error) => Err(error),
                    };
                    match documents {
                        Ok(documents) if name == "pairs" => {
                            assert!(documents.len().is_multiple_of(2), "half a pair: {}", documents.len());
                        }
                        Ok(_) => {}
                        Err(error) => assert!(expected(&error), "{error}"),
                    }
                }
            }
        });
        scope.spawn(move || {
            while !stop.load(Ordering::Relaxed) {
                for result in
                    [db.drop_collection("a"), db.rename_collection("b", "a"), db.drop_collection("pairs"), db.flush()]
                {
                    assert!(result.as_ref().err().is_none_or(expected), "{result:?}");
                }
                std::thread::sleep(Duration::from_millis(5));
            }
        });
        let started = Instant::now();
        while started.elapsed() < Duration::from_secs(4) {
            std::thread::sleep(Duration::from_millis(50));
        }
        stop.store(true, Ordering::Relaxed);
    });
    assert!(written.load(Ordering::Relaxed) > 100);
    assert!(db.verify().run().unwrap().damage.is_empty());
    let before = count(&db);
    db.close().unwrap();
    drop(db);
    let db = Database::open(&path).unwrap();
    assert_eq!(count(&db), before);
}
