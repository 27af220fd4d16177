//! An index build that continues after the database was opened may find documents that cannot be indexed. The log then
//! reports that the index was dropped, and why. A process has only one logger, so this test is a separate program.

#![allow(clippy::disallowed_methods, clippy::disallowed_types)]

use alluvium::Database;
use std::path::Path;
use std::sync::Mutex;
use std::time::{Duration, Instant};

/// Collects the log's messages.
struct Told(Mutex<Vec<String>>);

static TOLD: Told = Told(Mutex::new(Vec::new()));

impl log::Log for Told {
    fn enabled(&self, _: &log::Metadata<'_>) -> bool {
        true
    }

    fn log(&self, record: &log::Record<'_>) {
        if record.level() == log::Level::Warn {
            self.0.lock().unwrap().push(record.args().to_string());
        }
    }

    fn flush(&self) {}
}

#[test]
fn an_index_build_that_fails_in_the_background_is_logged() {
    log::set_logger(&TOLD).unwrap();
    log::set_max_level(log::LevelFilter::Warn);
    let env = alluvium_env::Env::in_memory(1);
    let open = || Database::builder().env(env.clone()).partitions(2).open(Path::new("db")).unwrap();
    let db = open();
    let pets = db.collection("pets");
    pets.insert_many([r#"{"_id": 1, "u": 5}"#, r#"{"_id": 2, "u": 5}"#]).unwrap();
    drop(pets.create_index(r#"{"u": 1}"#).unique(true).start().unwrap());
    db.close().unwrap();
    drop((pets, db));
    let db = open();
    let deadline = Instant::now() + Duration::from_secs(60);
    while TOLD.0.lock().unwrap().is_empty() {
        assert!(Instant::now() < deadline, "nothing is told");
        std::thread::sleep(Duration::from_millis(5));
    }
    let told = TOLD.0.lock().unwrap().join("\n");
    let said = "the index u_1 of main.pets, which was being built, is given up, and dropped: document ";
    assert!(told.starts_with(said) && told.contains("the key {u: 5}"), "{told}");
    assert_eq!(db.collection("pets").indexes().unwrap().len(), 1);
}
