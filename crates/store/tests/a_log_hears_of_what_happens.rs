//! The store sends events to the facade `log`: opening, recovery, flushes, merges and failures, each at its level.

use alluvium_env::Env;
use alluvium_env::mem::{CrashStyle, MemFs};
use alluvium_env::sync::Mutex;
use alluvium_env::{ManualClock, SeededRng};
use alluvium_store::{Durability, Options, Store};
use log::Level;
use std::sync::Arc;

/// Keeps the messages. The facade has one logger per process, so this test is its own program.
struct Kept(Mutex<Vec<(Level, String)>>);

static KEPT: Kept = Kept(Mutex::new(Vec::new()));

impl log::Log for Kept {
    fn enabled(&self, _: &log::Metadata<'_>) -> bool {
        true
    }

    fn log(&self, record: &log::Record<'_>) {
        self.0.lock().push((record.level(), record.args().to_string()));
    }

    fn flush(&self) {}
}

/// Checks that, for each expected pair, an event since the last call has this level and these words.
#[track_caller]
fn heard(expected: &[(Level, &str)]) {
    let events = std::mem::take(&mut *KEPT.0.lock());
    for (level, words) in expected {
        let found = events.iter().any(|(at, text)| at == level && text.contains(words));
        assert!(found, "{level} {words}: {events:?}");
    }
}

#[test]
fn a_log_hears_of_what_happens() {
    log::set_logger(&KEPT).unwrap();
    log::set_max_level(log::LevelFilter::Debug);
    let disk = Arc::new(MemFs::with_capacity(128 << 20));
    let env = || Env { fs: disk.clone(), clock: Arc::new(ManualClock::new()), rng: Arc::new(SeededRng::new(1)) };
    let options = || Options { partitions: Some(1), memory_bytes: 8 << 20, background: false, ..Options::default() };
    let store = Store::open(env(), "db".as_ref(), options()).unwrap();
    let tree = store.create_trees(&[b"tree"]).unwrap()[0];
    heard(&[(Level::Info, "created db with 1 partitions")]);
    for round in 0..3_u8 {
        let mut batch = store.batch();
        for key in 0..50_u8 {
            batch.put(tree, &[key], &[round; 100]);
        }
        store.write(batch, Durability::Bulk).unwrap();
        store.flush().unwrap();
    }
    store.compact().unwrap();
    heard(&[(Level::Debug, "flushed a memtable of db"), (Level::Debug, "merged ")]);
    store.close().unwrap();
    heard(&[(Level::Info, "closed db")]);
    let store = Store::open(env(), "db".as_ref(), options()).unwrap();
    heard(&[(Level::Info, "which had been closed cleanly")]);
    let mut batch = store.batch();
    batch.put(tree, b"key", b"value");
    store.write(batch, Durability::Sync).unwrap();
    // After a power cut the log is recovered. A missing log is reported as damage.
    let crashed = Arc::new(disk.crash_clone(7, CrashStyle::AllLost));
    drop(store);
    KEPT.0.lock().clear();
    let env = || Env { fs: crashed.clone(), clock: Arc::new(ManualClock::new()), rng: Arc::new(SeededRng::new(1)) };
    drop(Store::open(env(), "db".as_ref(), options()).unwrap());
    heard(&[(Level::Info, "which had not been closed"), (Level::Info, "2 records of the log replayed")]);
    for entry in env().fs.list("db/wal".as_ref()).unwrap() {
        env().fs.remove(std::path::Path::new("db/wal").join(entry.name).as_ref()).unwrap();
    }
    assert!(Store::open(env(), "db".as_ref(), options()).is_err());
    heard(&[(Level::Error, "db was not opened: db/wal is damaged")]);
}
