//! Transactions of several clients, beside writers without transactions, and a check that they have snapshot isolation.
//!
//! Each client has its own thread. They append to lists in two collections, one of them with an index over the items
//! and one over their number; keep units in step with lists, under a unique index; and put registers that others delete.
//! Other threads flush, merge, and let snapshots grow old. In some runs the machine stops at an arbitrary change to the
//! disk. [`checker`] then looks for what snapshot isolation forbids, and for what was lost.

pub mod checker;
mod client;

use crate::model::indexes::check_now;
use crate::worlds::{World, random_options};
use alluvium::{Database, Durability, ErrorKind};
use alluvium_env::fault::Op;
use alluvium_env::mem::CrashStyle;
use alluvium_env::sync::Mutex;
use alluvium_env::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};
use checker::{Kind, Last, Outcome, Step, Transaction};
use client::{Client, REGISTERS, Tables, append_to};
use std::sync::Arc;
use std::time::Duration;

/// The age at which snapshots end in runs that let them end.
const SHORT_AGE: Duration = Duration::from_millis(300);

/// The size of a run.
#[derive(Debug, Clone, Copy)]
pub struct Size {
    /// The number of threads that use transactions.
    pub clients: usize,
    /// The number of threads that write and read without transactions.
    pub plain: usize,
    /// The number of transactions of each client, and of calls of each of the others.
    pub transactions: usize,
}

/// The work done.
#[derive(Debug, Default, Clone)]
pub struct Done {
    /// The number of runs.
    pub runs: u64,
    /// The number of transactions that were committed, and of calls without a transaction.
    pub committed: u64,
    /// The number of transactions that were aborted, by their client or by an error.
    pub aborted: u64,
    /// The number of conflicts.
    pub conflicts: u64,
    /// The number of errors because a snapshot had ended.
    pub too_old: u64,
    /// The number of unique keys that were refused.
    pub refused: u64,
    /// The number of transactions whose outcome is unknown because the machine stopped.
    pub unknown: u64,
    /// The number of crashes.
    pub crashes: u64,
}

impl Done {
    /// Adds the work of another run.
    pub fn add(&mut self, other: &Self) {
        self.runs += other.runs;
        self.committed += other.committed;
        self.aborted += other.aborted;
        self.conflicts += other.conflicts;
        self.too_old += other.too_old;
        self.refused += other.refused;
        self.unknown += other.unknown;
        self.crashes += other.crashes;
    }
}

/// The state that the threads of a run share.
struct Shared {
    clock: AtomicU64,
    items: AtomicI64,
    stop: AtomicBool,
    conflicts: AtomicU64,
    too_old: AtomicU64,
    refused: AtomicU64,
}

impl Shared {
    fn new() -> Arc<Self> {
        Arc::new(Self {
            clock: AtomicU64::new(1),
            items: AtomicI64::new(1),
            stop: AtomicBool::new(false),
            conflicts: AtomicU64::new(0),
            too_old: AtomicU64::new(0),
            refused: AtomicU64::new(0),
        })
    }

    fn tick(&self) -> u64 {
        self.clock.fetch_add(1, Ordering::SeqCst)
    }

    fn item(&self, kind: Kind) -> i64 {
        checker::item(self.items.fetch_add(1, Ordering::SeqCst), kind)
    }

    fn stopped(&self) -> bool {
        self.stop.load(Ordering::SeqCst)
    }

    fn done(&self, history: &[Transaction], crashed: bool) -> Done {
        let count = |outcome| history.iter().filter(|one| one.outcome == outcome).count() as u64;
        let counter = |counter: &AtomicU64| counter.load(Ordering::SeqCst);
        Done {
            runs: 1,
            committed: count(Outcome::Committed),
            aborted: count(Outcome::Aborted),
            conflicts: counter(&self.conflicts),
            too_old: counter(&self.too_old),
            refused: counter(&self.refused),
            unknown: count(Outcome::Unknown),
            crashes: u64::from(crashed),
        }
    }
}

/// The disk at a crash, and the times before and after it.
struct Crash {
    disk: World,
    before: u64,
    after: u64,
}

/// Runs the clients once, and checks what they saw and left.
///
/// # Panics
/// If snapshot isolation is broken, something is lost, or an operation fails that must succeed.
pub fn run(seed: u64, size: Size) -> Done {
    let mut rng = fastrand::Rng::with_seed(seed);
    let crashes = rng.u8(0..3) == 0;
    let durability = match crashes {
        true => Durability::Sync,
        false => [Durability::Sync, Durability::Periodic, Durability::Bulk][rng.usize(0..3)],
    };
    let partitions = rng.u32(1..=4);
    let mut options = random_options(&mut rng, partitions, durability);
    (options.background, options.threads, options.partitions) = (true, Some(2), Some(partitions));
    let ages = !crashes && rng.bool();
    if ages {
        options.snapshot_max_age = SHORT_AGE;
    }
    let world = World::new(seed);
    let db = world.open(&options).unwrap_or_else(|e| panic!("it does not open: {e}"));
    let tables = Tables { lists: rng.usize(5..=10) };
    tables.create(&db).unwrap_or_else(|e| panic!("it cannot be filled: {e}"));
    let shared = Shared::new();
    let calls = ((size.clients + size.plain) * size.transactions) as u64;
    let crash = crashes.then(|| arm(&world, &shared, rng.u64(calls / 4..calls), rng.u64(..)));
    let history = live(&db, &world, &shared, &mut rng, size, tables, ages);
    world.faults.set_hook(None);
    let crash = crash.and_then(|slot| slot.lock().take());
    let about = |broken: String| -> ! { panic!("seed {seed}, {tables:?}, {durability:?}: {broken}") };
    let Some(Crash { disk, before, after }) = crash else {
        let history = end(&db, &world, &shared, history, tables, ages);
        let Some(last) = history.last().map(|reader| tables.contents(reader)) else { return Done::default() };
        checker::check(&history, &Last::Whole(last)).unwrap_or_else(|broken| about(broken));
        check_now(&db).unwrap_or_else(|broken| about(broken));
        db.close().unwrap_or_else(|e| panic!("close: {e}"));
        return shared.done(&history, false);
    };
    drop(db);
    let history = until(history, before, after);
    let opened = disk.open(&options).unwrap_or_else(|e| about(format!("after the crash it does not open: {e}")));
    check_now(&opened).unwrap_or_else(|broken| about(broken));
    let reader = Client::new(&shared, &opened, 0, 0, tables, false).everything();
    checker::check_alone(&reader).unwrap_or_else(|broken| about(format!("after the crash: {broken}")));
    checker::check(&history, &Last::Recovered(tables.contents(&reader))).unwrap_or_else(|broken| about(broken));
    shared.done(&history, true)
}

/// Stops the machine at the first change to the disk at or after a given time: kills its process, or cuts its power.
fn arm(world: &World, shared: &Arc<Shared>, at: u64, seed: u64) -> Arc<Mutex<Option<Crash>>> {
    let slot: Arc<Mutex<Option<Crash>>> = Arc::default();
    let (into, shared, mem) = (slot.clone(), shared.clone(), world.mem.clone());
    world.faults.set_hook(Some(Arc::new(move |_: &Op<'_>| {
        let mut slot = into.lock();
        if slot.is_none() && shared.clock.load(Ordering::SeqCst) >= at {
            let before = shared.tick();
            let disk = match seed % 3 {
                0 => mem.kill_clone(),
                1 => mem.crash_clone(seed, CrashStyle::Any),
                _ => mem.crash_clone(seed, CrashStyle::AllLost),
            };
            let after = shared.tick();
            *slot = Some(Crash { disk: World::over(disk, seed), before, after });
            shared.stop.store(true, Ordering::SeqCst);
        }
    })));
    slot
}

/// The history until a crash. Of what had not returned, only the writes count, which may have been made.
fn until(mut history: Vec<Transaction>, before: u64, after: u64) -> Vec<Transaction> {
    history.retain(|one| one.begun < after);
    for one in &mut history {
        if one.ended >= before {
            one.steps.retain(|step| matches!(step, Step::Append(..) | Step::Put(..)));
            if one.outcome == Outcome::Committed {
                one.outcome = Outcome::Unknown;
            }
        }
    }
    history
}

/// Runs the clients, while another thread does maintenance.
fn live(
    db: &Database,
    world: &World,
    shared: &Shared,
    rng: &mut fastrand::Rng,
    size: Size,
    tables: Tables,
    ages: bool,
) -> Vec<Transaction> {
    let seeds: Vec<u64> = (0..size.clients + size.plain).map(|_| rng.u64(..)).collect();
    let keeper = rng.u64(..);
    let over = AtomicBool::new(false);
    alluvium_env::thread::scope(|scope| {
        let run = |(number, seed): (usize, u64)| {
            scope.spawn(move || {
                let mut client = Client::new(shared, db, seed, number, tables, ages);
                client.run(size.transactions, number >= size.clients);
                client.history
            })
        };
        let threads: Vec<_> = seeds.into_iter().enumerate().map(run).collect();
        let over = &over;
        let keeper = scope.spawn(move || maintain(db, world, shared, over, ages, keeper));
        let joined: Vec<_> = threads.into_iter().map(|thread| thread.join()).collect();
        over.store(true, Ordering::SeqCst);
        keeper.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        joined.into_iter().flat_map(|one| one.unwrap_or_else(|panic| std::panic::resume_unwind(panic))).collect()
    })
}

/// Flushes and merges, creates and drops indexes, and lets time pass.
fn maintain(db: &Database, world: &World, shared: &Shared, over: &AtomicBool, ages: bool, seed: u64) {
    let mut rng = fastrand::Rng::with_seed(seed);
    while !over.load(Ordering::SeqCst) && !shared.stopped() {
        match rng.u32(0..16) {
            0 => db.compact().run().expect("a good disk"),
            1 => db.wait_for_compaction().expect("a good disk"),
            2..=3 => db.flush().expect("a good disk"),
            4 => drop(db.sweep_indexes().expect("a good disk")),
            7..=8 if rng.bool() => client::change_indexes(db, &mut rng),
            5..=6 if ages => {
                world.clock.advance(SHORT_AGE / 2);
                db.store().run_pending().expect("a good disk");
            }
            _ => alluvium_env::thread::yield_now(),
        }
    }
}

/// The end of a run without a crash. Nothing holds a list any more; a transaction whose snapshot has ended is refused;
/// and a last transaction reads everything.
fn end(
    db: &Database,
    world: &World,
    shared: &Shared,
    mut history: Vec<Transaction>,
    tables: Tables,
    ages: bool,
) -> Vec<Transaction> {
    let transaction = db.begin();
    let begun = shared.tick();
    let mut steps = Vec::new();
    for list in 0..tables.lists {
        let item = shared.item(Kind::Plain);
        let appended = append_to(&transaction.collection(Tables::name(list)), list, item);
        appended.unwrap_or_else(|e| panic!("every transaction has ended, and list {list} is not free: {e}"));
        steps.push(Step::Append(list, item));
    }
    transaction.commit().unwrap_or_else(|e| panic!("no other client writes: {e}"));
    history.push(Transaction { client: 0, begun, ended: shared.tick(), steps, outcome: Outcome::Committed });
    if ages {
        refused_when_old(db, world);
    }
    history.push(Client::new(shared, db, 0, 0, tables, false).everything());
    history
}

/// Checks that a transaction is refused whose snapshot has ended, since deletes may have left no trace.
fn refused_when_old(db: &Database, world: &World) {
    let registers = db.collection(REGISTERS);
    let transaction = db.begin();
    transaction.within(&registers).put("old", r#"{"v":-1}"#).expect("a good disk");
    world.clock.advance(SHORT_AGE * 2);
    db.store().run_pending().expect("a good disk");
    let read = transaction.within(&registers).get("old").expect_err("a read at a snapshot that has ended");
    assert_eq!(read.kind(), ErrorKind::SnapshotTooOld, "{read}");
    let refused = transaction.commit().expect_err("a transaction whose snapshot has ended");
    assert_eq!(refused.kind(), ErrorKind::SnapshotTooOld, "{refused}");
    registers.delete("old").unwrap_or_else(|e| panic!("a refused transaction keeps its claims: {e}"));
}
