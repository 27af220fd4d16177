//! If the system refuses to start threads, each operation succeeds with fewer, or returns an error. No operation waits
//! for a thread that was never started, and later operations work.

use alluvium::kv::Options;
use alluvium::load::{Input, OnDuplicate};
use alluvium::{Database, Error, ReadOnly};
use alluvium_env::Env;
use alluvium_env::thread::limit_starts;
use std::sync::atomic::{AtomicUsize, Ordering};

const DOCUMENTS: u64 = 3000;

fn lines() -> Vec<u8> {
    (0..DOCUMENTS).flat_map(|n| format!("{{\"_id\":{n},\"word\":\"word {}\"}}\n", n % 7).into_bytes()).collect()
}

fn input() -> Input {
    Input::stream("lines", std::io::Cursor::new(lines()))
}

/// Runs an operation with each limit of started threads from 0 to `most`. Returns how often it failed.
fn with_ever_more_threads(most: usize, run: impl Fn() -> Result<(), Error>) -> usize {
    let mut failed = 0;
    for threads in 0..=most {
        limit_starts(Some(threads));
        let result = run();
        limit_starts(None);
        if let Err(error) = result {
            assert!(error.to_string().contains("thread"), "{error}");
            failed += 1;
        }
    }
    failed
}

#[test]
fn a_load_an_opening_and_a_build_end() {
    let env = Env::in_memory(1);
    let options = Options { background: false, ..Options::default() };
    let db = Database::builder().env(env.clone()).options(options).open("db").unwrap();

    // One reader and one writer are enough.
    let loads = with_ever_more_threads(4, || {
        let loaded =
            db.collection("words").load(input()).readers(2).writers(2).on_duplicate(OnDuplicate::Replace).run()?;
        assert_eq!((loaded.documents, db.collection("words").count()?), (DOCUMENTS, DOCUMENTS));
        Ok(())
    });
    assert_eq!(loads, 3, "without a thread, with a writer, and with two writers");

    let opened = with_ever_more_threads(8, || {
        let options = Options { background: true, threads: Some(2), ..Options::default() };
        let other = Database::builder().env(env.clone()).options(options).open("other")?;
        other.collection("pets").put(1, r#"{"n":1}"#)?;
        other.close()
    });
    assert_eq!(opened, 3, "two workers and one that syncs");

    // The build needs the threads of the load, and one more that sorts.
    let number = AtomicUsize::new(0);
    let builds = with_ever_more_threads(8, || {
        let path = format!("words-{}", number.fetch_add(1, Ordering::Relaxed));
        let mut build = ReadOnly::build(path, "words").env(env.clone()).start()?;
        build.load(input()).readers(2).writers(2).run()?;
        build.finish().map(drop)
    });
    assert!((3..8).contains(&builds), "{builds}");
    db.close().unwrap();
}
