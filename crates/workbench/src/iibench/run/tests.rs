use super::*;
use crate::iibench::engine::Sizes;
use crate::iibench::ours::{self, Layer};
use alluvium_env::sync::Mutex;
use std::collections::BTreeSet;

fn small(indexes: usize) -> Settings {
    Settings {
        rows: 12_345,
        loaders: 3,
        indexes,
        interval: 5_000,
        queries: 20,
        memory_bytes: 8 << 20,
        ..Settings::default()
    }
}

fn run_ours(layer: Layer, settings: &Settings) -> Report {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("db");
    let engine = ours::open(layer, &path, settings).unwrap();
    let mut lines = 0;
    let report = run("ours", engine, &path, settings, &mut |_| lines += 1).unwrap();
    assert_eq!(lines, report.intervals.len());
    report
}

#[test]
fn pairs_are_inserted_and_found_in_every_index() {
    let report = run_ours(Layer::Pairs, &small(3));
    assert_eq!(report.rows, 12_345);
    assert_eq!(report.intervals.iter().map(|interval| interval.cost.inserts).sum::<u64>(), 12_345);
    assert!(report.intervals.len() >= 2);
    assert_eq!(report.sizes.indexes.len(), 3);
    assert!(report.sizes.rows > 0 && report.disk_bytes > report.sizes.rows);
    let kinds: Vec<_> = report.queries.iter().map(|query| (query.index, query.fetched)).collect();
    assert_eq!(kinds, [(0, false), (1, false), (1, true), (2, false), (2, true), (3, false), (3, true)]);
    // Each query finds ten entries, except queries near the end of an index.
    assert!(report.queries.iter().all(|query| query.entries > 9.0), "{:?}", report.queries);
    let load = &report.load;
    assert!(load.harness_cpu_seconds > 0.0 && load.foreground_cpu_seconds > 0.0);
    assert!(load.harness_cpu_seconds + load.foreground_cpu_seconds < load.cpu_seconds * 1.01);
    let text = Report::side_by_side(&[report.clone(), report]);
    assert!(text.contains("query of index 3 with rows") && text.contains("bytes an index entry"), "{text}");
}

#[test]
fn documents_without_indexes_are_inserted_and_found() {
    let report = run_ours(Layer::Documents, &small(0));
    assert_eq!((report.rows, report.queries.len()), (12_345, 1));
    assert_eq!(report.bytes_per_entry(), None);
    assert!(report.intervals_text().contains("settling"));
}

#[test]
fn documents_with_indexes_are_inserted_and_found() {
    let report = run_ours(Layer::Documents, &Settings { rewrite: 1, ..small(3) });
    assert_eq!((report.rows, report.sizes.indexes.len()), (12_345, 3));
    for state in [State::Inserted, State::Rewritten, State::Merged] {
        let found: Vec<_> = report.queries.iter().filter(|query| query.state == state).collect();
        assert!(found.len() == 7 && found.iter().all(|query| query.entries > 9.0), "{state:?}: {found:?}");
    }
    assert!(report.sizes.rows > 0 && report.sizes.indexes.iter().all(|bytes| *bytes > 0), "{:?}", report.sizes);
    let all = report.sizes.rows + report.sizes.indexes.iter().sum::<u64>();
    assert!(all < report.disk_bytes, "no file counts twice");
    assert!(report.bytes_per_entry().is_some_and(|bytes| bytes < report.bytes_per_row()));
}

#[test]
fn a_directory_with_something_in_it_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("db");
    ours::open(Layer::Pairs, &path, &small(0)).unwrap().close().unwrap();
    let error = ours::open(Layer::Pairs, &path, &small(0)).err().unwrap();
    assert!(error.to_string().contains("is not empty"), "{error}");
}

/// An engine that keeps only the `_id`s of its rows.
#[derive(Default)]
struct Fake {
    ids: Mutex<BTreeSet<i64>>,
    fails_at: Option<i64>,
    /// The minimum time of a batch, in seconds.
    slow: f64,
}

struct FakeSession<'a>(&'a Fake, Vec<i64>);

impl Engine for std::sync::Arc<Fake> {
    fn session(&self) -> Result<Box<dyn Session + '_>, Failure> {
        Ok(Box::new(FakeSession(self, Vec::new())))
    }
    fn settle(&self) -> Result<(), Failure> {
        Ok(())
    }
    fn merge(&self) -> Result<(), Failure> {
        Ok(())
    }
    fn sizes(&self) -> Result<Sizes, Failure> {
        Ok(Sizes::default())
    }
    fn close(self: Box<Self>) -> Result<(), Failure> {
        Ok(())
    }
}

impl Session for FakeSession<'_> {
    fn prepare(&mut self, rows: &[Row]) {
        self.1 = rows.iter().map(|row| row.id).collect();
    }
    fn insert(&mut self) -> Result<(), Failure> {
        let clock = Env::os().clock;
        let until = clock.now() + Duration::from_secs_f64(self.0.slow);
        while clock.now() < until {
            alluvium_env::thread::yield_now();
        }
        if self.0.fails_at.is_some_and(|at| self.1.contains(&at)) {
            return Err("the disk is gone".into());
        }
        let mut ids = self.0.ids.lock();
        assert!(self.1.iter().all(|id| ids.insert(*id)), "each row comes once");
        Ok(())
    }
    fn rewrite(&mut self, _: &[Row]) -> Result<(), Failure> {
        Ok(())
    }
    fn query(&mut self, _: usize, _: &Row, _: usize, _: bool) -> Result<Option<usize>, Failure> {
        Ok(None)
    }
}

fn run_fake(fake: Fake, settings: &Settings) -> (Result<Report, Failure>, BTreeSet<i64>) {
    let (fake, dir) = (std::sync::Arc::new(fake), tempfile::tempdir().unwrap());
    let report = run("fake", Box::new(fake.clone()), dir.path(), settings, &mut |_| {});
    let ids = fake.ids.lock().clone();
    (report, ids)
}

#[test]
fn every_row_comes_once_whatever_the_loaders() {
    let (report, ids) = run_fake(Fake::default(), &Settings { loaders: 10, ..small(3) });
    assert_eq!(report.unwrap().rows, 12_345);
    assert!(ids.into_iter().eq(0..12_345));
}

#[test]
fn a_failing_engine_ends_the_run() {
    let (report, _) = run_fake(Fake { fails_at: Some(4_321), ..Fake::default() }, &small(0));
    assert_eq!(report.unwrap_err().to_string(), "the disk is gone");
}

#[test]
fn a_run_is_cut_when_its_time_is_over() {
    let fake = Fake { slow: 0.05, ..Fake::default() };
    let settings = Settings { rows: 1_000_000, limit_seconds: 0.2, loaders: 2, ..small(0) };
    let (report, ids) = run_fake(fake, &settings);
    let report = report.unwrap();
    assert!(report.rows >= 2_000 && report.rows < 500_000, "{}", report.rows);
    assert_eq!(report.rows, ids.len() as u64);
}
