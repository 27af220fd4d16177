//! A fault at every change to the disk of a sequence.
//!
//! The sequence runs once on a working disk, and its changes are counted. Then it runs again for each change and each
//! way in which that change can fail, alone or with all later changes. Reads continue to work and return correct
//! results the whole time. After the fault, a copy of the disk is taken as after a power cut before the next change. At
//! the end the disk works again, and the open database must accept writes, or report that it is poisoned and accept
//! writes after it is opened again. Then the power is cut or the process is killed.

use super::client::FaultClient;
use super::client::steps::Step;
use crate::model::{Phase, State};
use crate::replay::seed;
use crate::worlds::{FileKind, World};
use alluvium::ErrorKind;
use alluvium_env::fault::{Fault, Op, OpKind};
use alluvium_env::mem::CrashStyle;
use alluvium_env::sync::Mutex;
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;

/// A kind of change: the phase, the kind of file, and the operation. Other files, including a checkpoint's listing,
/// count as directories.
pub type Point = (Phase, FileKind, OpKind);

/// The way in which a change fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Effect {
    /// An I/O error without effect.
    Error,
    /// No space, without effect.
    NoSpace,
    /// Only part of a write is executed.
    Short,
    /// A sync loses the dirty pages; a sync of a directory loses the new entries.
    LostPages,
    /// The change is executed, but an error is reported.
    ThoughDone,
}

impl Effect {
    /// The ways in which an operation of this kind can fail.
    pub fn all(kind: OpKind) -> &'static [Self] {
        match kind {
            OpKind::Write => &[Self::Error, Self::NoSpace, Self::Short, Self::ThoughDone],
            OpKind::Sync | OpKind::SyncDir => &[Self::Error, Self::NoSpace, Self::LostPages, Self::ThoughDone],
            _ => &[Self::Error, Self::NoSpace, Self::ThoughDone],
        }
    }

    /// A fault with this effect.
    pub fn on(self, fault: Fault, rng: &mut fastrand::Rng) -> Fault {
        match self {
            Self::Error => fault,
            Self::NoSpace => fault.no_space(),
            Self::Short => fault.short(rng.usize(0..600)),
            Self::LostPages => fault.losing_pages(),
            Self::ThoughDone => fault.though_done(),
        }
    }
}

/// Counts of faults and their results.
#[derive(Debug, Default)]
pub struct Tally {
    /// The number of faults by kind of change, effect, and whether all later changes failed, too.
    pub faults: BTreeMap<(Point, Effect, bool), u64>,
    /// The number of errors of each kind that the client received.
    pub errors: BTreeMap<String, u64>,
    /// The number of final states of each kind: poisoned, not open, or neither.
    pub ends: BTreeMap<&'static str, u64>,
    /// The number of power cuts before the change after a fault.
    pub cuts: u64,
}

/// The steps of a sequence: each kind several times, in a random order.
fn steps(seed: u64) -> Vec<Step> {
    use Step::{
        Changes, Checkpoint, Compact, Flush, Index, Insert, Load, Look, Pending, Reopen, Schema, Snapshot, Sync,
        Transaction, Update, Write,
    };
    let mut rng = fastrand::Rng::with_seed(seed ^ 0x5eed);
    let mut steps = vec![
        Write,
        Write,
        Write,
        Write,
        Write,
        Transaction,
        Transaction,
        Transaction,
        Changes,
        Insert,
        Insert,
        Update,
        Update,
        Update,
        Load,
        Load,
        Schema,
        Schema,
        Index,
        Index,
        Index,
        Flush,
        Flush,
        Flush,
        Pending,
        Compact,
        Sync,
        Checkpoint,
        Checkpoint,
        Snapshot,
        Reopen,
    ];
    rng.shuffle(&mut steps);
    // The sequence begins with the creation of the database and of data to flush and merge, and ends with closing the
    // database.
    steps.splice(0..0, [Reopen, Schema, Schema, Write, Write, Flush, Write, Flush, Compact]);
    steps.extend([Look, Reopen]);
    steps
}

/// The steps of one of three short sequences.
fn short_steps(seed: u64) -> Vec<Step> {
    use Step::{Changes, Checkpoint, Compact, Flush, Index, Insert, Reopen, Schema, Sync, Transaction, Update, Write};
    match seed % 3 {
        0 => vec![Reopen, Write, Flush, Write, Flush, Compact, Transaction, Reopen, Write],
        1 => vec![Reopen, Schema, Insert, Flush, Index, Update, Sync, Checkpoint, Reopen],
        _ => vec![Reopen, Insert, Reopen, Transaction, Checkpoint, Flush, Changes, Schema, Checkpoint, Compact],
    }
}

/// A sequence: its steps, and the seed of its random numbers.
struct Sequence {
    seed: u64,
    steps: Vec<Step>,
}

/// The changes to a working disk that a sequence makes.
fn points(sequence: &Sequence) -> Vec<Point> {
    let mut client = FaultClient::begin(sequence.seed, u64::MAX);
    let points: Arc<Mutex<Vec<Point>>> = Arc::default();
    let (into, phase) = (points.clone(), client.phase.clone());
    client.world.faults.set_hook(Some(Arc::new(move |op: &Op<'_>| {
        let point = (*phase.lock(), FileKind::of(op.path), op.kind);
        into.lock().push(point);
    })));
    for step in &sequence.steps {
        assert!(client.take(*step), "a good disk: {:?}", client.log);
    }
    client.recover();
    points.lock().clone()
}

/// A change that fails.
#[derive(Debug, Clone, Copy)]
struct Trial {
    /// The number of the change in the sequence, from 1.
    at: u64,
    point: Point,
    effect: Effect,
    lasting: bool,
}

/// The number of seeds that share a sequence. Each seed fails a part of the changes.
pub const PARTS: u64 = 10;

/// Fails a part of the changes of one sequence, each in every way: one change of each kind, or, with `every`, all of
/// them in a random order until the time is over.
///
/// # Panics
/// If a promise is broken.
pub fn run(seed: u64, every: bool, met: &mut Tally) {
    let (seed, part) = (seed / PARTS, seed % PARTS);
    let mut rng = fastrand::Rng::with_seed(seed);
    let sequence = Sequence { seed, steps: steps(seed) };
    let mut kinds: BTreeMap<Point, Vec<u64>> = BTreeMap::new();
    for (at, point) in points(&sequence).into_iter().enumerate() {
        kinds.entry(point).or_default().push(at as u64 + 1);
    }
    let mut trials = Vec::new();
    for (point, places) in kinds {
        let one = places[rng.usize(0..places.len())];
        for at in places.into_iter().filter(|at| at % PARTS == part && (every || *at == one)) {
            trials.extend(Effect::all(point.2).iter().map(|effect| (at, point, *effect)));
        }
    }
    let started = seed::now();
    if every {
        rng.shuffle(&mut trials);
    }
    for (at, point, effect) in trials {
        if seed::requested_seconds().is_some() && !seed::has_time(started) {
            break;
        }
        strike_each_way(&sequence, Strike { at, point, effect }, every, met);
    }
}

/// Fails a part of the changes of one short sequence. Each of them fails in every way, alone and
/// together with all later changes. Returns the number of faults in all parts of the sequence, and
/// in this part.
///
/// # Panics
/// If a promise is broken.
pub fn run_short(seed: u64, met: &mut Tally) -> (u64, u64) {
    let (seed, part) = (seed / PARTS, seed % PARTS);
    let sequence = Sequence { seed, steps: short_steps(seed) };
    let (mut all, mut made) = (0, 0);
    for (at, point) in (1..).zip(points(&sequence)) {
        let effects = Effect::all(point.2);
        all += 2 * effects.len() as u64;
        for effect in effects.iter().filter(|_| at % PARTS == part) {
            made += strike_each_way(&sequence, Strike { at, point, effect: *effect }, true, met);
        }
    }
    (all, made)
}

/// A change that fails, and its effect.
struct Strike {
    /// The number of the change.
    at: u64,
    point: Point,
    effect: Effect,
}

/// Fails a change, either alone or with all later ones; with `both`, once in each way.
fn strike_each_way(sequence: &Sequence, place: Strike, both: bool, met: &mut Tally) -> u64 {
    let Strike { at, point, effect } = place;
    let mut rng = fastrand::Rng::with_seed(sequence.seed ^ at.rotate_left(32) ^ effect as u64);
    let lasting = rng.bool();
    strike(sequence, Trial { at, point, effect, lasting }, &mut rng, met);
    if both {
        strike(sequence, Trial { at, point, effect, lasting: !lasting }, &mut rng, met);
    }
    1 + u64::from(both)
}

fn strike(sequence: &Sequence, trial: Trial, rng: &mut fastrand::Rng, met: &mut Tally) {
    let result = catch_unwind(AssertUnwindSafe(|| one(sequence, trial, rng, met)));
    if let Err(broken) = result {
        eprintln!("the fault: {trial:?}");
        resume_unwind(broken);
    }
}

/// Runs a sequence with one fault.
fn one(sequence: &Sequence, trial: Trial, rng: &mut fastrand::Rng, met: &mut Tally) {
    let mut client = FaultClient::begin(sequence.seed, u64::MAX);
    let fault = trial.effect.on(Fault::nth(trial.at).of_changes(), rng);
    client.world.faults.inject(if trial.lasting { fault.from_then_on() } else { fault });
    let cut: Arc<Mutex<Option<World>>> = Arc::default();
    arm(&client, trial, cut.clone(), rng.u64(..));
    let later = if rng.bool() { rng.usize(1..9) } else { 0 };
    let mut left = None;
    for step in &sequence.steps {
        let before = client.since_durable.clone();
        client.take(*step);
        if client.world.faults.fired() > 0 {
            client.look("after the fault");
            left = Some(left.map_or(later, |left: usize| left - 1));
        }
        met.cuts += u64::from(check_cut(&mut client, &cut, before));
        if left == Some(0) {
            break;
        }
    }
    assert!(client.world.faults.fired() > 0, "the sequence has fewer changes now: {:?}", client.log);
    *met.faults.entry((trial.point, trial.effect, trial.lasting)).or_default() += 1;
    for kind in &client.errors {
        *met.errors.entry(format!("{kind:?}")).or_default() += 1;
    }
    let end = match (&client.db, client.poisoned) {
        (None, _) => "not open",
        (_, true) => "poisoned",
        _ if client.errors.is_empty() => "no error was reported",
        _ if client.errors.iter().all(|kind| *kind == ErrorKind::NoSpace) => "went on after no space",
        _ => "went on after an error",
    };
    *met.ends.entry(end).or_default() += 1;
    if rng.bool() {
        client.world.faults.clear();
        client.goes_on();
    }
    client.recover();
}

/// Prepares a power cut before the change after the fault, and a check that the fault hit the intended change.
fn arm(client: &FaultClient, trial: Trial, cut: Arc<Mutex<Option<World>>>, seed: u64) {
    let (mem, phase, changes) = (client.world.mem.clone(), client.phase.clone(), Mutex::new(0));
    client.world.faults.set_hook(Some(Arc::new(move |op: &Op<'_>| {
        let change = {
            let mut changes = changes.lock();
            *changes += 1;
            *changes
        };
        if change == trial.at {
            let point = (*phase.lock(), FileKind::of(op.path), op.kind);
            assert_eq!(point, trial.point, "the sequence is another one this time: {}", op.path.display());
        }
        if change == trial.at + 1 {
            *cut.lock() = Some(World::over(mem.crash_clone(seed, CrashStyle::Any), seed));
        }
    })));
}

/// If the power was cut in the step that has just ended, checks the disk: its state must have been durable before the
/// step, be durable now, or be one in between.
fn check_cut(client: &mut FaultClient, cut: &Mutex<Option<World>>, before: Vec<State>) -> bool {
    let Some(disk) = cut.lock().take() else { return false };
    let done = client.of_step.iter().chain(&client.since_durable).chain(&client.under_way).cloned();
    let states: Vec<State> = before.into_iter().chain(done).collect();
    let db = client.examine(&disk, &states, "cut before the change after the fault");
    drop(db);
    true
}
