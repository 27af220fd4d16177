//! The scenarios of `bench-peers` count their operations, and find wrong results of a store.

use alluvium_env::sync::Mutex;
use alluvium_workbench::peer::{DocumentSession, Documents, Failure, Found, Stripes, ours};
use alluvium_workbench::scenarios::kv::{Mix, Settings as MixSettings};
use alluvium_workbench::scenarios::peers::{DocumentFigures, Settings, documents, kv, opening, put_before_kill};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

fn small() -> Settings {
    Settings {
        documents: 600,
        threads: 3,
        // Each phase ends after the number of operations, even on a slow machine.
        duration: Duration::from_secs(600),
        operations: 4_000,
        memory_bytes: 8 << 20,
        cold_memory_bytes: 8 << 20,
        cold_gets: 100,
        ..Settings::default()
    }
}

#[test]
fn comments_are_put_read_and_updated_in_alluvium() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("db");
    let figures = documents(&|memory| ours::documents(&path, memory), &path, &small()).unwrap();
    assert_eq!(figures.put.documents, 600);
    assert!(figures.put.json_bytes > 600 * 700 && figures.put.disk_bytes > 0);
    assert!(figures.put.settled_cpu_us >= figures.put.cpu_us && figures.put.cpu_us > 0.0);
    let (get, field) = (figures.get.unwrap(), figures.field.unwrap());
    assert_eq!((get.operations, field.operations), (4_000, 4_000));
    assert!(get.fields > 30.0, "comments have about 44 fields, {} were decoded", get.fields);
    assert!(get.latency.p50 > 0.0);
    assert_eq!(figures.cold.unwrap().operations, 100, "each document once");
    assert_eq!(figures.update.unwrap().operations, 4_000);
    assert_eq!(figures.transaction.unwrap().operations, 40_000, "ten updates in each transaction");
}

#[test]
fn a_mix_counts_its_operations() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("db");
    let settings = MixSettings {
        mix: Mix::Balanced,
        threads: 2,
        duration: Duration::from_secs(1),
        value_bytes: 100,
        ..MixSettings::default()
    };
    let figures = kv(ours::key_values(&path, 8 << 20).unwrap(), &path, &settings).unwrap();
    assert!(figures.operations > 0 && figures.settled_cpu_us >= figures.cpu_us);
    // The operations after the last whole second have no sample.
    let sampled: u64 = figures.outcome.samples.iter().map(|sample| sample.operations()).sum();
    assert!(
        sampled <= figures.operations && figures.outcome.samples.iter().all(|sample| sample.get_found <= sample.get)
    );
    assert!(figures.disk_bytes > 0);
}

/// A defect of a store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mistake {
    None,
    /// Gets return another document.
    Other,
    /// Every tenth document is lost.
    Loses,
    /// Some updates are acknowledged but not written.
    Forgets,
    /// Transactions lack their last update.
    Splits,
    /// Puts fail after some time.
    Fails,
}

/// Documents in memory: the score of each `_id`.
#[derive(Clone)]
struct Fake {
    scores: Arc<Mutex<BTreeMap<String, i64>>>,
    mistake: Mistake,
}

impl Documents for Fake {
    fn session(&self) -> Result<Box<dyn DocumentSession + '_>, Failure> {
        Ok(Box::new(FakeSession(self)))
    }
    fn settle(&self) -> Result<(), Failure> {
        Ok(())
    }
    fn close(self: Box<Self>) -> Result<(), Failure> {
        Ok(())
    }
}

struct FakeSession<'a>(&'a Fake);

impl DocumentSession for FakeSession<'_> {
    fn put(&mut self, id: &str, json: &str) -> Result<(), Failure> {
        let json: serde_json::Value = serde_json::from_str(json)?;
        assert_eq!(json["_id"], id);
        let mut scores = self.0.scores.lock();
        match self.0.mistake {
            Mistake::Fails if scores.len() == 400 => return Err("the disk is gone".into()),
            Mistake::Loses if id.ends_with('7') => return Ok(()),
            _ => {}
        }
        let before = scores.insert(id.to_owned(), json["score"].as_i64().unwrap());
        assert_eq!(before, None, "each document comes once");
        Ok(())
    }

    fn get(&mut self, id: &str) -> Result<Option<Found>, Failure> {
        let scores = self.0.scores.lock();
        let found = match self.0.mistake {
            Mistake::Other => scores.first_key_value(),
            _ => scores.get_key_value(id),
        };
        Ok(found.map(|(id, score)| Found { id: id.clone(), score: *score, fields: 2 }))
    }

    fn score(&mut self, id: &str) -> Result<Option<i64>, Failure> {
        Ok(self.0.scores.lock().get(id).copied())
    }

    fn increment(&mut self, id: &str) -> Result<bool, Failure> {
        let mut scores = self.0.scores.lock();
        if let Some(score) = scores.get_mut(id) {
            if self.0.mistake != Mistake::Forgets || !id.ends_with('7') {
                *score += 1;
            }
            return Ok(true);
        }
        Ok(false)
    }

    fn increment_all(&mut self, ids: &[&str]) -> Result<Option<bool>, Failure> {
        let lost = usize::from(self.0.mistake == Mistake::Splits && !ids.is_empty());
        let mut all = true;
        for id in &ids[..ids.len() - lost] {
            all &= self.increment(id)?;
        }
        Ok(Some(all))
    }
}

fn run_fake(mistake: Mistake) -> Result<DocumentFigures, Failure> {
    let dir = tempfile::tempdir().unwrap();
    let fake = Fake { scores: Arc::new(Mutex::new(BTreeMap::new())), mistake };
    documents(&|_| Ok(Box::new(fake.clone())), &dir.path().join("none"), &small())
}

#[test]
fn every_document_comes_once_and_the_counts_add_up() {
    let figures = run_fake(Mistake::None).unwrap();
    assert_eq!(figures.put.documents, 600);
    assert_eq!(figures.get.map(|get| (get.operations, get.fields)), Some((4_000, 2.0)));
    assert_eq!(figures.update.map(|update| update.operations), Some(4_000));
    assert_eq!(figures.transaction.map(|transaction| transaction.operations), Some(40_000));
}

#[test]
fn mistakes_of_a_store_are_errors() {
    for (mistake, message) in [
        (Mistake::Other, "a get of"),
        (Mistake::Loses, "was put, and is not found"),
        (Mistake::Forgets, "and its score rose by 0"),
        (Mistake::Splits, "times, and its score rose by"),
        (Mistake::Fails, "the disk is gone"),
    ] {
        let error = run_fake(mistake).unwrap_err().to_string();
        assert!(error.contains(message), "{mistake:?}: {error}");
    }
}

#[test]
fn random_ids_are_in_no_order_and_differ() {
    let dir = tempfile::tempdir().unwrap();
    let fake = Fake { scores: Arc::default(), mistake: Mistake::None };
    let settings = Settings { random_ids: true, ..small() };
    let figures = documents(&|_| Ok(Box::new(fake.clone())), &dir.path().join("none"), &settings).unwrap();
    assert_eq!(figures.put.documents, 600);
    let scores = fake.scores.lock();
    assert_eq!(scores.len(), 600);
    let first: std::collections::BTreeSet<u8> = scores.keys().map(|id| id.as_bytes()[0]).collect();
    assert_eq!(first.len(), 16);
}

#[test]
fn what_was_put_is_found_after_opening() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("db");
    let open = |memory| ours::documents(&path, memory);
    put_before_kill(&*open(8 << 20).unwrap(), &small()).unwrap();
    let figures = opening(&open, &path, &small()).unwrap();
    for opened in [figures.killed, figures.cold] {
        assert!(opened.open_ms > 0.0);
        assert_eq!((opened.first.operations, opened.later.operations), (4_000, 4_000));
    }
}

#[test]
fn an_acknowledged_document_that_is_missing_after_opening_is_an_error() {
    let fake = Fake { scores: Arc::default(), mistake: Mistake::Loses };
    put_before_kill(&fake, &small()).unwrap();
    let dir = tempfile::tempdir().unwrap();
    let error = opening(&|_| Ok(Box::new(fake.clone())), &dir.path().join("none"), &small()).unwrap_err();
    assert!(error.to_string().contains("was put, and is not found"), "{error}");
}

#[test]
fn updates_of_pairs_lose_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let store = ours::key_values(&dir.path().join("db"), 8 << 20).unwrap();
    store.session().unwrap().put(b"n", &0_u64.to_le_bytes()).unwrap();
    alluvium_env::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                let mut session = store.session().unwrap();
                for _ in 0..500 {
                    let found = session.update(b"n", &mut |old, new| {
                        let number = u64::from_le_bytes(old.try_into()?) + 1;
                        new.extend_from_slice(&number.to_le_bytes());
                        Ok(())
                    });
                    assert!(found.unwrap());
                }
            });
        }
    });
    let (mut session, mut value) = (store.session().unwrap(), Vec::new());
    assert!(session.get(b"n", &mut value).unwrap());
    assert_eq!(value, 2000_u64.to_le_bytes());
    assert!(!session.update(b"m", &mut |_, _| Ok(())).unwrap());
    assert!(session.delete(b"n").unwrap() && !session.delete(b"n").unwrap());
}

#[test]
fn a_key_has_one_lock() {
    let (stripes, seen) = (Stripes::default(), Mutex::new(0_u64));
    alluvium_env::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..1000 {
                    stripes.with(b"key", || {
                        let before = *seen.lock();
                        alluvium_env::thread::yield_now();
                        *seen.lock() = before + 1;
                    });
                }
            });
        }
    });
    assert_eq!(*seen.lock(), 4000);
}
