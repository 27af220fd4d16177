//! A client on a failing disk. It interprets every error as documented, and tracks which states are possible.

mod recovery;
pub(super) mod steps;

use crate::model::{Documents, Phase, State, read_state};
use crate::worlds::{PATH, World, random_options};
use alluvium::{Change, ChangeScope, Database, Durability, Error, ErrorKind, Snapshot};
use alluvium_env::mem::MemFs;
use alluvium_env::sync::Mutex;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The first two collections.
const NAMES: [&str; 2] = ["main.a", "other.b"];

/// A database on a failing disk, with the states that its client considers possible.
pub struct FaultClient {
    /// The machine of the database.
    pub world: World,
    pub(super) db: Option<Database>,
    /// The state after all acknowledged writes.
    pub acknowledged: State,
    /// The state after the write whose outcome is unknown, if there is one.
    pub unknown: Option<State>,
    /// The states that a power cut may leave: the last one that was promised to be durable, and all later ones.
    pub(super) since_durable: Vec<State>,
    /// The state after the current operation.
    pub(super) under_way: Vec<State>,
    /// The states after each operation of the last step. Some steps create a collection first.
    pub(super) of_step: Vec<State>,
    /// True if a write was refused because the database is poisoned.
    pub poisoned: bool,
    /// True if the power was cut and the database was not opened since. The disk then has at least the durable state.
    cut: bool,
    /// True if faults also affect reads. Otherwise reads always succeed.
    pub reads_may_fail: bool,
    /// The kinds of errors that occurred.
    pub errors: Vec<ErrorKind>,
    /// The current phase.
    pub(super) phase: Arc<Mutex<Phase>>,
    /// Whether reads of the open database show the write with unknown outcome, once this is known. It must not change.
    shows_unknown: Option<bool>,
    snapshots: Vec<(Snapshot, State)>,
    checkpoints: Vec<Checkpoint>,
    /// True if the changes are recorded from the beginning.
    records: bool,
    /// The number from which on the changes are recorded, once that was acknowledged.
    recorded: Option<u64>,
    /// The recorded changes that were read, which a power cut must not take back.
    given_out: Vec<Change>,
    /// The number of them before the last step.
    given_before: usize,
    rng: fastrand::Rng,
    documents: Documents,
    durability: Durability,
    partitions: u32,
    pub(super) log: Vec<String>,
}

/// A checkpoint that was started.
struct Checkpoint {
    dir: PathBuf,
    /// The states that the checkpoint may contain.
    states: Vec<State>,
    /// True if the checkpoint was reported as complete.
    acknowledged: bool,
}

impl FaultClient {
    /// A database with two collections on a disk of this size.
    pub fn new(seed: u64, disk_bytes: u64) -> Self {
        let mut client = Self::begin(seed, disk_bytes);
        assert!(client.open(), "the disk is good still: {:?}", client.log);
        for name in NAMES {
            assert!(client.create(name), "the disk is good still: {:?}", client.log);
        }
        client.db().sync().expect("the disk is good still");
        client.durable();
        client
    }

    /// A client without a database. Its first step creates the database.
    pub fn begin(seed: u64, disk_bytes: u64) -> Self {
        let mut rng = fastrand::Rng::with_seed(seed);
        let (partitions, records) = (rng.u32(1..=3), rng.bool());
        Self {
            world: World::over(MemFs::with_capacity(disk_bytes), seed),
            db: None,
            acknowledged: State::default(),
            unknown: None,
            since_durable: vec![State::default()],
            under_way: Vec::new(),
            of_step: Vec::new(),
            poisoned: false,
            cut: false,
            reads_may_fail: false,
            errors: Vec::new(),
            phase: Arc::new(Mutex::new(Phase::Create)),
            shows_unknown: None,
            snapshots: Vec::new(),
            checkpoints: Vec::new(),
            records,
            recorded: None,
            given_out: Vec::new(),
            given_before: 0,
            rng,
            documents: Documents::default(),
            durability: Durability::Sync,
            partitions,
            log: Vec::new(),
        }
    }

    /// The open database.
    pub fn db(&self) -> &Database {
        self.db.as_ref().expect("it is open")
    }

    /// The random number generator.
    pub fn rng(&mut self) -> &mut fastrand::Rng {
        &mut self.rng
    }

    /// Opens the database, or creates it. The content found is then durable, and the database accepts writes again.
    fn open(&mut self) -> bool {
        let begun = *self.phase.lock();
        match begun {
            Phase::Create => self.remove_empty(),
            _ => *self.phase.lock() = Phase::Open,
        }
        self.durability = [Durability::Sync, Durability::Periodic, Durability::Bulk][self.rng.usize(0..3)];
        let options = random_options(&mut self.rng, self.partitions, self.durability);
        let options = alluvium_store::Options { partitions: Some(self.partitions), ..options };
        let opened = self.world.open(&options);
        self.log.push(format!("open: {:?}", opened.as_ref().map(|_| ())));
        let found = opened.and_then(|db| read_state(&db).map(|found| (db, found)));
        match found {
            Ok((db, found)) => {
                (self.db, self.poisoned, self.shows_unknown) = (Some(db), false, None);
                let found = found.without_indexes();
                self.expect(&found, "after opening");
                (self.acknowledged, self.unknown) = (found, None);
                self.durable();
                *self.phase.lock() = Phase::Write;
                let is_begun = !self.records || self.recorded.is_some() || !self.acknowledged.collections.is_empty();
                is_begun || self.record()
            }
            Err(error) => {
                self.note(&error);
                false
            }
        }
    }

    /// Begins to record the changes of all collections, of which there are none yet.
    fn record(&mut self) -> bool {
        let begun =
            self.attempt(Phase::Schema, "record changes", None, false, |db| db.record_changes(ChangeScope::Everything));
        self.recorded = begun.ok().map(|token| token.number);
        self.recorded.is_some()
    }

    /// Removes the empty directory of a failed creation. The name of this directory may be lost later, which no caller
    /// can know (docs/DURABILITY.md).
    fn remove_empty(&self) {
        let (fs, path) = (&self.world.env.fs, Path::new(PATH));
        if fs.exists(path).is_ok_and(|is| is) && fs.list(path).is_ok_and(|entries| entries.is_empty()) {
            let _left = fs.remove_dir(path);
        }
    }

    /// Closes the database or only drops it, and opens it again.
    fn reopen(&mut self) -> bool {
        *self.phase.lock() = Phase::Close;
        self.snapshots.clear();
        if let Some(db) = self.db.take()
            && self.rng.bool()
        {
            let closed = db.close();
            self.log.push(format!("close: {closed:?}"));
            match closed {
                Ok(()) if self.unknown.is_none() => self.durable(),
                Ok(()) => {}
                Err(error) => {
                    self.note(&error);
                }
            }
        }
        self.open()
    }

    /// Runs an operation that leads to the state `next` if it succeeds. The operation may make all earlier writes
    /// durable.
    fn attempt<T>(
        &mut self,
        phase: Phase,
        what: &str,
        next: Option<State>,
        makes_durable: bool,
        act: impl FnOnce(&Database) -> alluvium::Result<T>,
    ) -> Result<T, ErrorKind> {
        *self.phase.lock() = phase;
        self.under_way = next.iter().cloned().collect();
        let result = act(self.db());
        *self.phase.lock() = Phase::Write;
        self.log.push(format!("{what}: {:?}", result.as_ref().map(|_| ())));
        match result {
            Ok(done) => {
                if let Some(next) = next {
                    let fine = !self.poisoned && self.unknown.is_none();
                    assert!(fine, "a write is acknowledged after {:?}", self.log);
                    self.acknowledged = next.clone();
                    self.of_step.push(next.clone());
                    self.since_durable.push(next);
                }
                if makes_durable && self.unknown.is_none() {
                    self.durable();
                }
                Ok(done)
            }
            Err(error) => {
                // The operation with unknown outcome may have dropped, renamed or created the collection. In all other
                // cases it is known whether the collection exists.
                if error.kind() == ErrorKind::Namespace {
                    assert!(self.unknown.is_some(), "{what}: {error}\nafter {:?}", self.log);
                    return Err(ErrorKind::Namespace);
                }
                let kind = self.note(&error);
                if let (ErrorKind::OutcomeUnknown, Some(next)) = (kind, next) {
                    self.in_doubt(next);
                }
                Err(kind)
            }
        }
    }

    fn in_doubt(&mut self, next: State) {
        assert!(self.unknown.is_none(), "two unknown outcomes: {:?}", self.log);
        self.since_durable.push(next.clone());
        self.unknown = Some(next);
    }

    fn durable(&mut self) {
        self.since_durable = vec![self.acknowledged.clone()];
    }

    /// Records an error. Its kind must be one that a failing disk explains, and its text must name a file.
    fn note(&mut self, error: &Error) -> ErrorKind {
        let (kind, text) = (error.kind(), error.to_string());
        let explained = [ErrorKind::Io, ErrorKind::NoSpace, ErrorKind::Poisoned, ErrorKind::OutcomeUnknown];
        assert!(explained.contains(&kind), "{kind:?}: {text}, after {:?}", self.log);
        // The directory of databases and checkpoints is the current directory.
        let named = ["db/", "db:", "checkpoint-", " .:", " ./"].iter().any(|name| text.contains(name));
        assert!(named, "the error names no file: {text}");
        self.poisoned |= matches!(kind, ErrorKind::Poisoned | ErrorKind::OutcomeUnknown);
        self.errors.push(kind);
        kind
    }

    /// Checks that `found` is the acknowledged state, with or without the write whose outcome is unknown.
    fn expect(&self, found: &State, when: &str) {
        let fine = *found == self.acknowledged || self.unknown.as_ref() == Some(found);
        let difference = || self.acknowledged.difference(found);
        assert!(fine, "{when}: acknowledged and found differ:\n{}\nafter {:?}", difference(), self.log);
    }

    /// Reads everything, now and at all snapshots. All acknowledged writes must be found, even if the database is
    /// poisoned or the disk is full.
    pub fn look(&mut self, when: &str) {
        let Some(db) = &self.db else { return };
        match read_state(db) {
            Ok(found) => {
                let found = found.without_indexes();
                self.expect(&found, when);
                let shows = self.unknown.as_ref().is_some_and(|unknown| *unknown == found);
                if self.unknown.as_ref().is_some_and(|unknown| *unknown != self.acknowledged) {
                    let before = *self.shows_unknown.get_or_insert(shows);
                    assert!(before == shows, "{when}: what is shown of a write in doubt changes: {:?}", self.log);
                }
            }
            Err(error) => self.unread(&error, when),
        }
        match self.db().store().broken_invariant() {
            Ok(broken) => assert!(broken.is_none(), "{when}: {broken:?}\nafter {:?}", self.log),
            Err(error) => assert!(self.reads_may_fail, "{when}: {error}\nafter {:?}", self.log),
        }
        for at in (0..self.snapshots.len()).rev() {
            let (snapshot, state) = &self.snapshots[at];
            match self.at_snapshot(snapshot) {
                Ok(found) => assert!(
                    found == *state,
                    "{when}: a snapshot has changed:\n{}\nafter {:?}",
                    state.difference(&found),
                    self.log
                ),
                Err(error) if error.kind() == ErrorKind::SnapshotTooOld => drop(self.snapshots.swap_remove(at)),
                Err(error) => self.unread(&error, when),
            }
        }
    }

    fn unread(&mut self, error: &Error, when: &str) {
        assert!(self.reads_may_fail, "{when}: reads do not go on: {error}\nafter {:?}", self.log);
        self.note(error);
    }

    /// Continues on a working disk: the open database must be correct, and accept writes. A poisoned database must
    /// accept them after it is opened again.
    pub fn goes_on(&mut self) {
        self.reads_may_fail = false;
        let opened = self.db.is_some() || self.open();
        assert!(opened, "it does not open on a good disk: {:?}", self.log);
        self.look("on a good disk");
        crate::model::indexes::check_now(self.db()).unwrap_or_else(|broken| panic!("{broken}\nafter {:?}", self.log));
        let poisoned = self.poisoned;
        if !self.write() {
            // If a failure was not reported before, this write reports it.
            let reported = [Some(ErrorKind::Poisoned), Some(ErrorKind::OutcomeUnknown).filter(|_| !poisoned)];
            assert!(reported.contains(&self.errors.last().copied()), "after {:?}", self.log);
            self.look("poisoned, after a write that was refused");
            assert!(!self.write() && !self.update() && !self.create("main.new"), "a poisoned database takes no write");
            self.look("poisoned, after others that were refused");
            assert!(self.reopen(), "it does not open on a good disk: {:?}", self.log);
            assert!(self.write(), "opened again, it does not go on: {:?}", self.log);
        } else {
            assert!(!poisoned, "a poisoned database takes a write: {:?}", self.log);
        }
        for (what, done) in [("flush", self.flush()), ("compact", self.compact())] {
            assert!(done, "{what} fails on a good disk: {:?}", self.log);
        }
        self.look("after going on");
    }
}
