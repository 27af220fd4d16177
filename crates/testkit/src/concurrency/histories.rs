//! Histories: the calls of several clients with their results, across several crashes, and a check
//! that some sequential order explains them.
//!
//! Each client has its own thread. Clients read and write a few documents in two collections: with blind and checked
//! writes, deltas, batches, and by an index. Other threads flush, merge, and create and drop indexes. At an arbitrary
//! change to the disk the machine stops: its process is killed, or its power is cut. The documents found after the next
//! open are recorded as another read of the history, and the next clients continue from these documents. [`checker`]
//! then searches for an order of all calls that explains every result.

pub mod checker;
mod client;
pub mod file;
pub mod spec;

use crate::worlds::{World, random_options};
use alluvium::backup;
use alluvium::{Database, Durability, ErrorKind};
use alluvium_env::Env;
use alluvium_env::fault::Op;
use alluvium_env::mem::CrashStyle;
use alluvium_env::sync::Mutex;
use alluvium_env::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};
use checker::Call;
use client::{Client, NAMES, all};
use spec::{Act, Answer, Docs};
use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;

/// The maximum number of checkpoints between two crashes.
const CHECKPOINTS: usize = 3;

/// The maximum number of checks of the invariants between two crashes.
const LOOKS: usize = 200;

/// The maximum number of calls before a crash, as a multiple of the share of the calls for one life. It is large enough
/// to reach the time of the crash, and then a change to the disk.
const MOST_SHARES: usize = 6;

/// The size of a history.
#[derive(Debug, Clone, Copy)]
pub struct Size {
    /// The number of client threads.
    pub clients: usize,
    /// The minimum number of calls in total.
    pub calls: usize,
    /// The number of crashes. All of them happen.
    pub crashes: usize,
}

/// The work done.
#[derive(Debug, Default, Clone)]
pub struct Done {
    /// The number of histories.
    pub histories: u64,
    /// The number of calls of clients that were explained, or whose outcome is unknown.
    pub calls: u64,
    /// The number of calls whose outcome is unknown because the machine stopped.
    pub unknown: u64,
    /// The number of killed processes.
    pub kills: u64,
    /// The number of power cuts.
    pub cuts: u64,
}

impl Size {
    /// The maximum number of calls of a client between two crashes.
    pub fn calls_of_a_client(&self) -> u32 {
        (MOST_SHARES * self.calls.div_ceil(self.crashes + 1).max(self.clients)).div_ceil(self.clients) as u32
    }
}

impl Done {
    /// Adds the work of another history.
    pub fn add(&mut self, other: &Self) {
        self.histories += other.histories;
        self.calls += other.calls;
        self.unknown += other.unknown;
        self.kills += other.kills;
        self.cuts += other.cuts;
    }
}

/// The state that the threads of one process share.
pub struct Shared {
    clock: AtomicU64,
    values: Arc<AtomicI64>,
    stop: AtomicBool,
    documents: usize,
    default: Durability,
    /// The numbers of the calls that a client executes; `None` for all.
    only: Option<BTreeSet<u32>>,
    /// The last returned `sync` of each writer, as the time when it was called.
    synced: Mutex<Vec<(u64, u64)>>,
}

impl Shared {
    fn tick(&self) -> u64 {
        self.clock.fetch_add(1, Ordering::SeqCst)
    }

    fn stopped(&self) -> bool {
        self.stop.load(Ordering::SeqCst)
    }

    /// A new value. Values are so far apart that additions never lead from one to another.
    fn value(&self) -> i64 {
        self.values.fetch_add(1_000_000, Ordering::SeqCst)
    }

    fn last_value(&self) -> i64 {
        self.values.load(Ordering::SeqCst)
    }
}

/// The way in which a machine stops.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stop {
    Kill,
    Cut(CrashStyle),
}

/// The disk at the crash, and the time of the crash, which is between two ticks of the clock.
struct Crash {
    disk: World,
    before: u64,
    after: u64,
}

/// Runs one history.
///
/// # Panics
/// If no order of the calls explains their results, or an operation fails that must succeed.
pub fn run(seed: u64, size: Size) -> Done {
    run_some(seed, size, None)
}

/// Like [`run`], but each client executes only the calls with these numbers. Crashes happen at the same times, if there
/// are enough calls to reach these times.
///
/// # Panics
/// The same as for [`run`].
pub fn run_some(seed: u64, size: Size, only: Option<&[u32]>) -> Done {
    let mut rng = fastrand::Rng::with_seed(seed);
    let documents = rng.usize(3..=20);
    let partitions = rng.u32(1..=4);
    let mut world = World::new(seed);
    let values = Arc::new(AtomicI64::new(1_000_000));
    let mut known: Docs = vec![None; documents];
    let mut done = Done { histories: 1, ..Done::default() };
    for life in 0..=size.crashes {
        let durability = [Durability::Sync, Durability::Periodic, Durability::Bulk][rng.usize(0..3)];
        let mut options = random_options(&mut rng, partitions, durability);
        (options.background, options.threads) = (true, Some(2));
        if life == 0 {
            options.partitions = Some(partitions);
        }
        let db = world.open(&options).unwrap_or_else(|e| panic!("seed {seed}: life {life} does not open: {e}"));
        for name in NAMES {
            db.create_collection(name)
                .run()
                .or_else(|_| Ok::<_, alluvium::Error>(db.collection(name)))
                .expect("a collection");
        }
        db.sync().expect("a good disk");
        let shared = Shared {
            clock: AtomicU64::new(1),
            values: values.clone(),
            stop: AtomicBool::new(false),
            documents,
            default: durability,
            only: only.map(|only| only.iter().copied().collect()),
            synced: Mutex::default(),
        };
        let shared = Arc::new(shared);
        let stop = match rng.usize(0..4) {
            0..=1 => Stop::Kill,
            2 => Stop::Cut(CrashStyle::Any),
            _ => Stop::Cut(CrashStyle::AllLost),
        };
        let last = life == size.crashes;
        // The remaining lives share the remaining calls equally. A life that ends in a crash takes between half of its
        // share and one and a half times its share.
        let left = size.calls.saturating_sub(done.calls as usize);
        let share = left.div_ceil(size.crashes + 1 - life).max(size.clients);
        let each = if last { share } else { MOST_SHARES * share }.div_ceil(size.clients);
        // A call takes at least two ticks.
        let at = rng.u64(share as u64..=3 * share as u64);
        let crash = (!last).then(|| arm(&world, &shared, stop, at, rng.u64(..)));
        let calls = live(&db, &world.env, &shared, &mut rng, size.clients, each);
        world.faults.set_hook(None);
        let crash = crash.and_then(|slot| slot.lock().take());
        let stopped = crash.is_some();
        assert!(stopped || last || only.is_some(), "seed {seed}: life {life} was to crash at {at}, and did not");
        let (next, found, history) = end(world, db, &shared, crash, stop, calls, &mut rng);
        if let Err(broken) = checker::check(&known, &history) {
            let kept = keep(seed, life, &known, &history);
            panic!("seed {seed}, life {life} ({stop:?}, {durability:?}): {broken}\n{kept}");
        }
        done.calls += history.iter().filter(|call| !call.recovery).count() as u64;
        done.unknown += history.iter().filter(|call| call.returned.is_none()).count() as u64;
        done.kills += u64::from(stopped && stop == Stop::Kill);
        done.cuts += u64::from(stopped && stop != Stop::Kill);
        (world, known) = (next, found);
    }
    done
}

/// Writes an unexplained history to a file, because the threads will hardly race in the same way again, and returns a
/// message with the path of the file. It is a real file, which is not removed after the test.
#[allow(clippy::disallowed_methods)]
fn keep(seed: u64, life: usize, known: &Docs, history: &[Call]) -> String {
    let path = std::env::temp_dir().join(format!("alluvium-history-{seed}-{life}.jsonl"));
    match std::fs::write(&path, file::print(known, history)) {
        Ok(()) => format!(
            "the history is kept; check it again: ALLUVIUM_HISTORY={} cargo test -p alluvium-testkit --test \
             histories_are_linearizable a_history_in_a_file",
            path.display()
        ),
        Err(error) => format!("the history is not kept in {}: {error}", path.display()),
    }
}

/// Stops the machine at the first change to the disk at or after a given time.
fn arm(world: &World, shared: &Arc<Shared>, stop: Stop, at: u64, seed: u64) -> Arc<Mutex<Option<Crash>>> {
    let slot: Arc<Mutex<Option<Crash>>> = Arc::default();
    let (into, shared, mem) = (slot.clone(), shared.clone(), world.mem.clone());
    world.faults.set_hook(Some(Arc::new(move |_: &Op<'_>| {
        let mut slot = into.lock();
        if slot.is_none() && shared.clock.load(Ordering::SeqCst) >= at {
            let before = shared.tick();
            let disk = match stop {
                Stop::Kill => mem.kill_clone(),
                Stop::Cut(style) => mem.crash_clone(seed, style),
            };
            let after = shared.tick();
            *slot = Some(Crash { disk: World::over(disk, seed), before, after });
            shared.stop.store(true, Ordering::SeqCst);
        }
    })));
    slot
}

/// Runs the clients, while other threads do maintenance.
fn live(db: &Database, env: &Env, shared: &Shared, rng: &mut fastrand::Rng, clients: usize, each: usize) -> Vec<Call> {
    let seeds: Vec<u64> = (0..clients).map(|_| rng.u64(..)).collect();
    let keeper = rng.u64(..);
    let over = AtomicBool::new(false);
    alluvium_env::thread::scope(|scope| {
        let run = |(number, seed): (usize, u64)| {
            scope.spawn(move || {
                let mut client = Client::new(shared, db, seed, number);
                client.run(each);
                client.calls
            })
        };
        let threads: Vec<_> = seeds.into_iter().enumerate().map(run).collect();
        let (over, keeper) = (&over, scope.spawn(|| maintain(db, env, shared, &over, keeper)));
        let watcher = scope.spawn(|| watch(db, shared, over));
        let joined: Vec<_> = threads.into_iter().map(|thread| thread.join()).collect();
        over.store(true, Ordering::SeqCst);
        watcher.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        let restored = keeper.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        let calls = joined.into_iter().map(|calls| calls.unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        calls.flatten().chain(restored).collect()
    })
}

/// Makes a checkpoint and restores it. The restored content is recorded as another read of all documents.
fn through_a_checkpoint(db: &Database, env: &Env, shared: &Shared) -> Call {
    // A number that no other life of the process has used.
    let number = shared.value();
    let (dir, to) = (PathBuf::from(format!("checkpoint-{number}")), PathBuf::from(format!("restored-{number}")));
    let from = shared.tick();
    db.checkpoint(&dir).run().expect("a good disk");
    let when = shared.tick();
    backup::restore(&dir, &to).env(env.clone()).run().expect("a good disk");
    let options =
        alluvium_store::Options { background: false, memory_bytes: 8 << 20, ..alluvium_store::Options::default() };
    let restored = Database::builder().env(env.clone()).options(options).open(&to);
    let restored = restored.unwrap_or_else(|e| panic!("a checkpoint does not open: {e}"));
    let docs = all(&restored, &restored.snapshot(), shared.documents).expect("a checkpoint that reads");
    restored.close().expect("a good disk");
    [dir, to].iter().for_each(|dir| crate::worlds::remove_dir(env, dir));
    let returned = Some((when, Answer::Many(docs)));
    Call { act: Act::All, from, returned, durable: false, recovery: false, client: usize::MAX - 1 }
}

/// Flushes, merges, syncs, sweeps, creates and drops an index, and makes checkpoints. Returns the
/// contents of the checkpoints.
fn maintain(db: &Database, env: &Env, shared: &Shared, over: &AtomicBool, seed: u64) -> Vec<Call> {
    let mut rng = fastrand::Rng::with_seed(seed);
    let mut calls = Vec::new();
    while !over.load(Ordering::SeqCst) && !shared.stopped() {
        let collection = db.collection(NAMES[rng.usize(0..2)]);
        match rng.u32(0..12) {
            0 => db.compact().run().expect("a good disk"),
            1..=2 => db.wait_for_compaction().expect("a good disk"),
            3..=4 => {
                let from = shared.tick();
                db.sync().expect("a good disk");
                shared.synced.lock().push((from, shared.tick()));
            }
            5..=6 => drop(collection.create_index(r#"{"v":1}"#).run().expect("a good disk")),
            7 => {
                // The index may not exist.
                let dropped = collection.drop_index("v_1");
                assert!(dropped.as_ref().err().is_none_or(|e| e.kind() == ErrorKind::Namespace), "{dropped:?}");
            }
            8 => drop(db.sweep_indexes().expect("a good disk")),
            9 if calls.len() < CHECKPOINTS => calls.push(through_a_checkpoint(db, env, shared)),
            _ => db.flush().expect("a good disk"),
        }
    }
    calls
}

/// Checks the invariants between steps of the other threads.
fn watch(db: &Database, shared: &Shared, over: &AtomicBool) {
    for _ in 0..LOOKS {
        if over.load(Ordering::SeqCst) || shared.stopped() {
            break;
        }
        let broken = db.store().broken_invariant().expect("a good disk");
        assert!(broken.is_none(), "{broken:?}");
        alluvium_env::thread::yield_now();
    }
}

/// Ends a life, with a crash or by closing the database. Returns the disk, the documents found on it, and the history
/// that ends with a read of these documents.
fn end(
    world: World,
    db: Database,
    shared: &Shared,
    crash: Option<Crash>,
    stop: Stop,
    mut calls: Vec<Call>,
    rng: &mut fastrand::Rng,
) -> (World, Docs, Vec<Call>) {
    let last = shared.tick();
    let (disk, before, after, peaceful) = match crash {
        Some(crash) => (crash.disk, crash.before, crash.after, false),
        None => {
            db.close().expect("a good disk");
            (world.killed(), last, last, true)
        }
    };
    drop(db);
    // Calls that had not returned may have taken effect. Such calls are removed if they only read, and so are all calls
    // after the crash.
    calls.retain(|call| {
        call.from < after && (call.act.writes() || call.returned.as_ref().is_some_and(|r| r.0 < before))
    });
    for call in &mut calls {
        call.returned = call.returned.take().filter(|(when, _)| *when < before);
    }
    let options = looking(rng);
    let opened = disk.open(&options).unwrap_or_else(|e| panic!("after {stop:?} it does not open: {e}"));
    let found = all(&opened, &opened.snapshot(), shared.documents).unwrap_or_else(|e| panic!("it does not read: {e}"));
    let damage = opened.verify().run().unwrap_or_else(|e| panic!("verify: {e}")).damage;
    assert!(damage.is_empty(), "verify finds {damage:?}");
    let sound =
        || crate::model::indexes::check_now(&opened).unwrap_or_else(|broken| panic!("after {stop:?}: {broken}"));
    sound();
    if rng.bool() {
        // After this, the entries of builds have been merged with the entries written concurrently, and a sweep has
        // processed the remaining sequence numbers.
        opened
            .compact()
            .run()
            .and_then(|()| opened.sweep_indexes())
            .unwrap_or_else(|e| panic!("it does not merge: {e}"));
        sound();
        let again =
            all(&opened, &opened.snapshot(), shared.documents).unwrap_or_else(|e| panic!("it does not read: {e}"));
        assert_eq!(again, found, "merging has changed documents");
    }
    opened.close().unwrap_or_else(|e| panic!("close: {e}"));
    let durable = calls.iter().filter(|call| call.durable && call.returned.is_some()).map(|call| call.from);
    let synced = shared.synced.lock().iter().filter(|(_, to)| *to < before).map(|(from, _)| *from).max();
    let promised = if peaceful || stop == Stop::Kill { before } else { durable.chain(synced).max().unwrap_or(0) };
    let returned = Some((u64::MAX, Answer::Many(found.clone())));
    calls.push(Call { act: Act::All, from: promised, returned, durable: false, recovery: true, client: usize::MAX });
    (disk, found, calls)
}

/// Options for inspecting a disk.
fn looking(rng: &mut fastrand::Rng) -> alluvium_store::Options {
    alluvium_store::Options { partitions: None, ..random_options(rng, 1, Durability::Sync) }
}
