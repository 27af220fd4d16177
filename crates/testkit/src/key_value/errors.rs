//! The disk fails at one change of a sequence of operations on the key/value store, with deletes of ranges. Each batch
//! exists or does not exist, as the store reported, for current readers, at older snapshots, and after the store is
//! opened again.

use super::{Cuts, KvRunner, State, options, read};
use crate::faults::errors::Effect;
use crate::replay::{seed, sequence};
use crate::worlds::{FileKind, PATH, World};
use alluvium::Durability;
use alluvium_env::fault::{Fault, Op, OpKind};
use alluvium_env::mem::CrashStyle;
use alluvium_env::sync::Mutex;
use alluvium_store::{Error, Store};
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::path::Path;
use std::sync::Arc;

/// The number of steps of a sequence.
const STEPS: u32 = 40;
/// The maximum number of snapshots kept.
const SNAPSHOTS: usize = 3;

/// The kind of work that a step does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Doing {
    /// A batch is written.
    Write,
    /// Memtables are written to files.
    Flush,
    /// Files are merged.
    Merge,
    /// `sync` is called.
    Sync,
    /// The store is closed or dropped, and opened again.
    Reopen,
}

/// A kind of change: the kind of work, the kind of file, and the operation.
pub type Point = (Doing, FileKind, OpKind);

/// Counts of faults and their results.
#[derive(Debug, Default)]
pub struct Tally {
    /// The number of faults by kind of change and effect.
    pub faults: BTreeMap<(Point, Effect), u64>,
    /// The number of errors of each kind that the store reported.
    pub reported: BTreeMap<&'static str, u64>,
    /// The number of power cuts before the change after a fault.
    pub cuts: u64,
}

/// A store on a failing disk, with the states that its client considers possible. The state of the runner is the
/// acknowledged state.
struct Client {
    runner: KvRunner,
    /// The state after the batch whose outcome is unknown, if there is one.
    unknown: Option<State>,
    /// Whether reads of the open store show that batch, once this is known. It must not change.
    shows_unknown: Option<bool>,
    /// The states that a power cut may leave.
    since_durable: Vec<State>,
    /// The state after the batch of the last step.
    under_way: Option<State>,
    poisoned: bool,
    reported: Vec<&'static str>,
    doing: Arc<Mutex<Doing>>,
}

impl Client {
    fn new(seed: u64) -> Self {
        let runner = KvRunner::new(seed, Cuts::None, false);
        let doing = Arc::new(Mutex::new(Doing::Write));
        Self {
            runner,
            unknown: None,
            shows_unknown: None,
            since_durable: vec![State::default()],
            under_way: None,
            poisoned: false,
            reported: Vec::new(),
            doing,
        }
    }

    /// Records an error, which must be one that a failing disk can cause.
    fn note(&mut self, error: &Error) {
        let word = match error {
            Error::Storage(alluvium_env::Error::Io { .. }) => "an error",
            Error::NoSpace(_) | Error::NoSpaceToOpen { .. } => "no space",
            Error::Poisoned(_) => "poisoned",
            Error::OutcomeUnknown(_) => "outcome unknown",
            other => panic!("{other}\nafter {:?}", self.reported),
        };
        self.poisoned |= matches!(error, Error::Poisoned(_) | Error::OutcomeUnknown(_));
        self.reported.push(word);
    }

    fn durable(&mut self) {
        if self.unknown.is_none() {
            self.since_durable = vec![self.runner.state.clone()];
        }
    }

    /// Executes the step with this number. Returns true if it succeeded.
    fn step(&mut self, number: u32) -> bool {
        self.runner.rng = sequence::rng_of(self.runner.seed, number);
        self.under_way = None;
        if self.runner.store.is_none() {
            return self.open();
        }
        match self.runner.rng.u32(0..100) {
            0..=54 => self.write(),
            55..=66 => self.attempt(Doing::Flush, Store::flush),
            67..=76 => self.attempt(Doing::Merge, |store| store.run_one_pending().map(drop)),
            77..=81 => self.attempt(Doing::Merge, Store::compact),
            82..=87 => self.attempt(Doing::Sync, Store::sync),
            88..=94 => {
                self.snapshot();
                true
            }
            _ => self.reopen(),
        }
    }

    fn write(&mut self) -> bool {
        *self.doing.lock() = Doing::Write;
        let (batch, next) = self.runner.batch();
        // The success of an empty batch would not show that the disk works.
        if batch.is_empty() {
            return true;
        }
        let sync = self.runner.rng.u8(0..4) == 0;
        let durability = if sync { Durability::Sync } else { self.runner.options.durability };
        self.under_way = Some(next.clone());
        let written = self.runner.store().write(batch, durability);
        self.runner.note(format!("{:?}", written.as_ref().map(|_| ())));
        match written {
            Ok(_) => {
                assert!(!self.poisoned, "a batch is acknowledged after {:?}", self.reported);
                self.since_durable.push(next.clone());
                self.runner.state = next;
                if durability == Durability::Sync {
                    self.durable();
                }
                true
            }
            Err(error) => {
                self.note(&error);
                if matches!(error, Error::OutcomeUnknown(_)) {
                    assert!(self.unknown.is_none(), "two unknown outcomes: {:?}", self.reported);
                    self.since_durable.push(next.clone());
                    self.unknown = Some(next);
                }
                false
            }
        }
    }

    /// Executes an operation that does not change the content. If it succeeds, the content is durable, unless the
    /// operation is a single merge.
    fn attempt(&mut self, doing: Doing, act: impl FnOnce(&Store) -> alluvium_store::Result<()>) -> bool {
        *self.doing.lock() = doing;
        let done = act(self.runner.store());
        self.runner.note(format!("{doing:?}: {done:?}"));
        match done {
            Ok(()) if doing != Doing::Merge => self.durable(),
            Ok(()) => {}
            Err(ref error) => self.note(error),
        }
        done.is_ok()
    }

    fn snapshot(&mut self) {
        if self.runner.snapshots.len() >= SNAPSHOTS {
            let at = self.runner.rng.usize(0..SNAPSHOTS);
            self.runner.snapshots.swap_remove(at);
        } else if self.unknown.is_none() {
            let taken = (self.runner.store().snapshot(), self.runner.state.clone());
            self.runner.snapshots.push(taken);
        }
    }

    fn reopen(&mut self) -> bool {
        *self.doing.lock() = Doing::Reopen;
        self.runner.snapshots.clear();
        if let Some(store) = self.runner.store.take()
            && self.runner.rng.bool()
        {
            let closed = store.close();
            self.runner.note(format!("close: {closed:?}"));
            match closed {
                Ok(()) => self.durable(),
                Err(error) => self.note(&error),
            }
        }
        self.open()
    }

    /// Opens the store. The content found is then durable, and the store accepts batches again.
    fn open(&mut self) -> bool {
        *self.doing.lock() = Doing::Reopen;
        let runner = &mut self.runner;
        runner.options = options(&mut runner.rng, runner.partitions, false);
        let opened = Store::open(runner.world.env.clone(), Path::new(PATH), runner.options.clone());
        runner.note(format!("open: {:?}", opened.as_ref().map(|_| ())));
        match opened {
            Ok(store) => {
                let found = read(&store, &store.snapshot());
                self.expect(&found, "after opening");
                (self.runner.store, self.runner.state) = (Some(store), found);
                (self.unknown, self.shows_unknown, self.poisoned) = (None, None, false);
                self.durable();
                true
            }
            Err(error) => {
                self.note(&error);
                false
            }
        }
    }

    fn expect(&self, found: &State, when: &str) {
        let fine = *found == self.runner.state || self.unknown.as_ref() == Some(found);
        assert!(fine, "{when}: what is found was not acknowledged, after {:?}", self.reported);
    }

    /// Reads everything, now and at all snapshots.
    fn look(&mut self, when: &str) {
        let Some(store) = &self.runner.store else { return };
        let found = read(store, &store.snapshot());
        self.expect(&found, when);
        if let Some(unknown) = self.unknown.as_ref().filter(|unknown| **unknown != self.runner.state) {
            let shows = *unknown == found;
            let before = *self.shows_unknown.get_or_insert(shows);
            assert!(before == shows, "{when}: what is shown of a batch in doubt changes");
        }
        (0..self.runner.snapshots.len()).for_each(|at| self.runner.check_snapshot(at));
    }

    /// Continues on a working disk: an open store must be correct and accept batches. A poisoned store must accept them
    /// after it is opened again.
    fn goes_on(&mut self) {
        self.runner.world.faults.clear();
        assert!(self.runner.store.is_some() || self.open(), "it does not open on a good disk");
        self.look("on a good disk");
        // Writes several batches, because some of them are empty.
        let poisoned = self.poisoned;
        self.under_way = None;
        let taken = (0..3).all(|_| self.write());
        assert!(!(poisoned && self.under_way.is_some() && taken), "a poisoned store takes a batch");
        assert!(taken || self.poisoned, "a good disk refuses a batch: {:?}", self.reported);
        self.look("after a batch on a good disk");
        if self.poisoned {
            assert!(self.reopen(), "it does not open on a good disk");
        }
        for what in [Store::flush, Store::compact] {
            assert!(self.attempt(Doing::Flush, what), "upkeep fails on a good disk: {:?}", self.reported);
        }
        self.look("after going on");
    }

    /// Opens the disk after the process has ended or the power was cut. The content must be an allowed one, must be
    /// durable, and must not change when files are merged.
    fn recover(mut self) {
        let runner = &mut self.runner;
        let (disk, allowed): (World, Vec<State>) = match runner.rng.bool() {
            true => (runner.world.cut(runner.rng.u64(..), CrashStyle::Any), self.since_durable.clone()),
            false => (runner.world.killed(), self.unknown.iter().chain([&runner.state]).cloned().collect()),
        };
        self.examine(&disk, &allowed, "at the end");
    }

    fn examine(&mut self, disk: &World, allowed: &[State], when: &str) {
        let options = options(&mut self.runner.rng, self.runner.partitions, false);
        let open = |disk: &World| super::open(disk, &options);
        let store = open(disk);
        let found = read(&store, &store.snapshot());
        assert!(
            allowed.contains(&found),
            "{when}: none of {} states is found after {:?}",
            allowed.len(),
            self.reported
        );
        let cut = open(&disk.cut(self.runner.rng.u64(..), CrashStyle::Any));
        assert!(read(&cut, &cut.snapshot()) == found, "{when}: what opening has found is not durable");
        store.compact().expect("it goes on");
        assert!(read(&store, &store.snapshot()) == found, "{when}: it changes when files are merged");
        let damage = store.verify().expect("verify");
        assert!(damage.is_empty(), "{when}: {damage:?}");
    }
}

/// The changes to a working disk that a sequence makes.
fn points(seed: u64) -> Vec<Point> {
    let mut client = Client::new(seed);
    let points: Arc<Mutex<Vec<Point>>> = Arc::default();
    let (into, doing) = (points.clone(), client.doing.clone());
    client.runner.world.faults.set_hook(Some(Arc::new(move |op: &Op<'_>| {
        let point = (*doing.lock(), FileKind::of(op.path), op.kind);
        into.lock().push(point);
    })));
    for number in 0..STEPS {
        assert!(client.step(number), "a good disk: {:?}", client.reported);
        client.look("on a good disk");
    }
    client.runner.world.faults.set_hook(None);
    points.lock().clone()
}

/// Fails changes of one sequence: one change of each kind in each way. If a number of seconds was requested, fails all
/// changes in a random order until the time is over.
///
/// # Panics
/// If a promise is broken.
pub fn sweep(seed: u64, met: &mut Tally) {
    let mut rng = fastrand::Rng::with_seed(seed);
    let mut kinds: BTreeMap<Point, Vec<u64>> = BTreeMap::new();
    for (at, point) in (1..).zip(points(seed)) {
        kinds.entry(point).or_default().push(at);
    }
    let timed = seed::requested_seconds().is_some();
    let mut trials = Vec::new();
    for (point, places) in kinds {
        let one = places[rng.usize(0..places.len())];
        for at in places.into_iter().filter(|at| timed || seed::replayed().is_some() || *at == one) {
            trials.extend(Effect::all(point.2).iter().map(|effect| (at, point, *effect)));
        }
    }
    let started = seed::now();
    if timed {
        rng.shuffle(&mut trials);
    }
    for trial in trials {
        if timed && !seed::has_time(started) {
            break;
        }
        if let Err(broken) = catch_unwind(AssertUnwindSafe(|| strike(seed, trial.0, trial.1, trial.2, met))) {
            eprintln!("the fault: {trial:?}");
            resume_unwind(broken);
        }
    }
}

/// Runs a sequence with one fault, which happens once, or at every later operation as well.
fn strike(seed: u64, at: u64, point: Point, effect: Effect, met: &mut Tally) {
    let mut rng = fastrand::Rng::with_seed(seed ^ at.rotate_left(32) ^ effect as u64);
    let mut client = Client::new(seed);
    let faults = client.runner.world.faults.clone();
    let fault = effect.on(Fault::nth(at).of_changes(), &mut rng);
    faults.inject(if rng.bool() { fault.from_then_on() } else { fault });
    let cut: Arc<Mutex<Option<World>>> = Arc::default();
    let (mem, into, changes, cut_seed) = (client.runner.world.mem.clone(), cut.clone(), Mutex::new(0), rng.u64(..));
    faults.set_hook(Some(Arc::new(move |_: &Op<'_>| {
        let mut changes = changes.lock();
        *changes += 1;
        if *changes == at + 1 {
            *into.lock() = Some(World::over(mem.crash_clone(cut_seed, CrashStyle::Any), cut_seed));
        }
    })));
    let mut left = rng.u32(0..9);
    for number in 0..STEPS {
        let before = client.since_durable.clone();
        client.step(number);
        if let Some(disk) = cut.lock().take() {
            let states = before.into_iter().chain(client.since_durable.clone()).chain(client.under_way.clone());
            client.examine(&disk, &states.collect::<Vec<_>>(), "cut before the change after the fault");
            met.cuts += 1;
        }
        if faults.fired() > 0 {
            client.look("after the fault");
            if left == 0 {
                break;
            }
            left -= 1;
        }
    }
    assert!(faults.fired() > 0, "the sequence has fewer changes now");
    *met.faults.entry((point, effect)).or_default() += 1;
    for word in &client.reported {
        *met.reported.entry(word).or_default() += 1;
    }
    if rng.bool() {
        client.goes_on();
    }
    faults.set_hook(None);
    client.recover();
}
