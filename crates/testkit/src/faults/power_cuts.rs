//! Power cuts at every step of a sequence, and the checks after each.

mod calm;

use crate::marks;
use crate::model::{Allowed, Phase, State, Timeline, read_state};
use crate::reading;
use crate::runner::{By, MakeHook, Mix, Runner};
use crate::worlds::{FileKind, PATH, World};
use alluvium::{Database, Durability};
use alluvium_env::fault::{Op, OpKind};
use alluvium_env::mem::{CrashStyle, MemFs};
use alluvium_env::sync::Mutex;
use alluvium_env::sync::atomic::{AtomicBool, Ordering};
use alluvium_store::Options;
use calm::Calm;
pub use calm::Size;
use std::any::Any;
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::path::Path;
use std::sync::Arc;

/// A kind of crash point: phase, kind of file, operation.
pub type PointKind = (Phase, FileKind, OpKind);

/// Counts of power cuts.
#[derive(Debug, Default, Clone)]
pub struct Hits {
    /// The number of cuts for each kind.
    pub points: BTreeMap<PointKind, u64>,
    /// The number of cuts during the recovery from another cut.
    pub second_cuts: u64,
    /// The number of second cuts after which everything was checked, and the database was written to and reopened.
    pub second_cuts_written_on: u64,
    /// The number of cuts after which the last state was not found completely.
    pub lossy: u64,
    /// The number of cuts after which the build of an index continued.
    pub unfinished: u64,
    /// The maximum number of documents found after a cut.
    pub documents: u64,
}

impl Hits {
    /// The total number of first cuts.
    pub fn total(&self) -> u64 {
        self.points.values().sum()
    }

    /// Adds the counts of another run.
    pub fn add(&mut self, other: &Self) {
        for (kind, count) in &other.points {
            *self.points.entry(*kind).or_default() += count;
        }
        self.second_cuts += other.second_cuts;
        self.second_cuts_written_on += other.second_cuts_written_on;
        self.lossy += other.lossy;
        self.unfinished += other.unfinished;
        self.documents = self.documents.max(other.documents);
    }
}

struct Cutter {
    seed: u64,
    hits: Mutex<Hits>,
    /// Selects the changes at which the power is cut; `None` selects all.
    calm: Option<Calm>,
    /// The first broken promise. It is stored, because a panic must not unwind through the hook: the store is in the
    /// middle of an operation then, and could not be closed afterwards.
    failure: Mutex<Option<Box<dyn Any + Send>>>,
}

const STYLES: [CrashStyle; 4] = [CrashStyle::Any, CrashStyle::Any, CrashStyle::AllLost, CrashStyle::AllKept];

impl Cutter {
    fn cut(&self, mem: &MemFs, timeline: &Mutex<Timeline>, op: &Op<'_>) {
        if self.failure.lock().is_some() {
            return;
        }
        // The lock of the timeline is free, because it is never held during operations on files.
        let phase = timeline.lock().phase;
        let kind = (phase, FileKind::of(op.path), op.kind);
        if self.calm.as_ref().is_some_and(|calm| !calm.cuts(kind, self.seed)) {
            return;
        }
        let allowed = timeline.lock().allowed();
        let number = {
            let mut hits = self.hits.lock();
            *hits.points.entry(kind).or_default() += 1;
            hits.total()
        };
        let mut rng = fastrand::Rng::with_seed(self.seed.rotate_left(20) ^ number);
        let style = STYLES[rng.usize(0..STYLES.len())];
        let context = format!("cut {number} ({style:?}) in {phase:?} before {:?} of {}", op.kind, op.path.display());
        let disk = World::over(mem.crash_clone(rng.u64(..), style), rng.u64(..));
        let mut after = After { rng, hits: Hits::default(), context, second: false };
        match catch_unwind(AssertUnwindSafe(|| after.check(&disk, &allowed))) {
            Ok(()) => self.hits.lock().add(&after.hits),
            Err(broken) => *self.failure.lock() = Some(broken),
        }
    }

    /// Panics with the failure, if there was one.
    fn check(&self) {
        if let Some(broken) = self.failure.lock().take() {
            resume_unwind(broken);
        }
    }
}

/// The checks after a cut.
struct After {
    rng: fastrand::Rng,
    hits: Hits,
    context: String,
    /// True if this cut happened during the recovery from another cut.
    second: bool,
}

impl After {
    fn fail(&self, what: &str) -> ! {
        panic!("{}: {what}", self.context)
    }

    fn options(&mut self) -> Options {
        let mut options = crate::worlds::random_options(&mut self.rng, 1, Durability::Sync);
        options.partitions = None;
        options
    }

    /// Opens the disk, compares and checks the database, writes to it, cuts the power again, and reopens it.
    fn check(&mut self, disk: &World, allowed: &Allowed) {
        if !self.second && self.rng.u8(0..80) == 0 {
            self.cut_in_recovery(disk, allowed);
        }
        let options = self.options();
        let read_only = match self.rng.u8(0..5) {
            0 => self.read_only(disk, &options),
            _ => None,
        };
        let db = disk.open(&options).unwrap_or_else(|e| self.fail(&format!("it does not open: {e}")));
        let found = read_state(&db).unwrap_or_else(|e| self.fail(&format!("it does not read: {e}")));
        let Some(at) = allowed.find(&found) else { self.fail(&allowed.explain(&found)) };
        if let Some(read_only) = read_only.filter(|state| *state != found) {
            self.fail(&format!("opened for reading only, it differs:\n{}", found.difference(&read_only)));
        }
        self.check_invariants(&db);
        self.hits.lossy += u64::from(at + 1 < allowed.len());
        self.hits.documents = found.collections.values().map(|contents| contents.documents.len() as u64).sum();
        let damage = db.verify().run().unwrap_or_else(|e| self.fail(&format!("verify: {e}"))).damage;
        if !damage.is_empty() {
            self.fail(&format!("verify finds {damage:?}"));
        }
        self.check_indexes(&db);
        let mut next = self.finish_indexes(&db, found);
        // Checks that deleted content does not reappear, and that new writes get new sequence numbers.
        if self.rng.u8(0..3) == 0 {
            self.write_on(&db, &mut next);
            self.check_indexes(&db);
        }
        if self.rng.bool() {
            next.create("main.after");
            let map = crate::model::map_of(r#"{"_id":"after","n":-1}"#);
            next.put("main.after", crate::model::Id::Text("after".to_owned()), map.clone());
            db.collection("main.after").put("after", map).unwrap_or_else(|e| self.fail(&format!("writing on: {e}")));
        }
        let again = match self.rng.u8(0..3) {
            0 => disk.cut(self.rng.u64(..), CrashStyle::Any),
            1 => disk.killed(),
            _ => {
                db.close().unwrap_or_else(|e| self.fail(&format!("close: {e}")));
                disk.cut(self.rng.u64(..), CrashStyle::AllLost)
            }
        };
        drop(db);
        let options = self.options();
        let db = again.open(&options).unwrap_or_else(|e| self.fail(&format!("it does not open again: {e}")));
        let found = read_state(&db).unwrap_or_else(|e| self.fail(&format!("it does not read again: {e}")));
        if found != next {
            self.fail(&format!("after the second opening, expected and found differ:\n{}", next.difference(&found)));
        }
        self.check_invariants(&db);
        self.check_indexes(&db);
    }

    /// The content of the database when it is opened for reading only. It must equal the content after an open that
    /// recovers the database on the disk.
    fn read_only(&mut self, disk: &World, options: &Options) -> Option<State> {
        let copies = self.rng.u8(0..4) == 0;
        // A copy of the disk is used.
        let disk = disk.killed();
        reading::read(&disk, Path::new(PATH), options, copies).unwrap_or_else(|broken| self.fail(&broken))
    }

    fn check_invariants(&self, db: &Database) {
        match db.store().broken_invariant() {
            Ok(None) => {}
            broken => self.fail(&format!("{broken:?}")),
        }
    }

    fn check_indexes(&self, db: &Database) {
        crate::model::indexes::check_now(db).unwrap_or_else(|broken| self.fail(&broken));
    }

    /// Usually continues the interrupted builds. An index that cannot be built is removed, and nothing else changes.
    fn finish_indexes(&mut self, db: &Database, found: State) -> State {
        let unfinished =
            |state: &State| state.collections.values().any(|c| c.indexes.values().any(|index| !index.ready));
        if !unfinished(&found) || self.rng.u8(0..4) == 0 {
            return found;
        }
        self.hits.unfinished += 1;
        let done = db.finish_indexes();
        let next = read_state(db).unwrap_or_else(|e| self.fail(&format!("it does not read: {e}")));
        if next.without_indexes() != found.without_indexes() || unfinished(&next) {
            self.fail(&format!("indexes were finished, and now differ:\n{}", found.difference(&next)));
        }
        if done.is_err() != (next != found) {
            self.fail(&format!("indexes were finished: {done:?}; differences:\n{}", found.difference(&next)));
        }
        self.check_indexes(db);
        next
    }

    /// Writes a blind delete and a blind put to an existing collection. They must get new sequence numbers.
    fn write_on(&mut self, db: &Database, next: &mut State) {
        let names: Vec<String> = next.collections.keys().cloned().collect();
        if names.is_empty() {
            return;
        }
        let name = names[self.rng.usize(0..names.len())].clone();
        let ids: Vec<crate::model::Id> = next.collections[&name].documents.keys().cloned().collect();
        let (collection, id) = (db.collection(&name), crate::model::Id::random(&mut self.rng));
        let gone = if ids.is_empty() { id.clone() } else { ids[self.rng.usize(0..ids.len())].clone() };
        next.delete(&name, &gone);
        let deleted = collection.delete(gone.value(&mut self.rng));
        deleted.unwrap_or_else(|e| self.fail(&format!("deleting on: {e}")));
        let map = crate::model::Documents::after().with_id(&id, &mut self.rng);
        let mut with = next.clone();
        with.put(&name, id.clone(), map.clone());
        let refused = with.refuses(&name, std::slice::from_ref(&id));
        let done = collection.put(id.value(&mut self.rng), map);
        match done {
            Ok(()) if !refused => *next = with,
            Err(_) if refused => {}
            other => self.fail(&format!("writing on, refused: {refused}: {other:?}")),
        }
    }

    /// Cuts the power at every step of the recovery.
    fn cut_in_recovery(&mut self, disk: &World, allowed: &Allowed) {
        let first = disk.killed();
        let cuts: Arc<Mutex<Vec<(World, String, bool)>>> = Arc::default();
        let (seed, mem, into) = (self.rng.u64(..), first.mem.clone(), cuts.clone());
        let changed = AtomicBool::new(false);
        first.faults.set_hook(Some(Arc::new(move |op: &Op<'_>| {
            let style = STYLES[(seed.wrapping_add(op.number) % 4) as usize];
            let disk = World::over(mem.crash_clone(seed ^ op.number, style), seed);
            let words = format!("before {:?} of {} ({style:?})", op.kind, op.path.display());
            let looks = matches!(op.kind, OpKind::Lock | OpKind::CreateDir | OpKind::Sync | OpKind::SyncDir);
            into.lock().push((disk, words, changed.fetch_or(!looks, Ordering::SeqCst)));
        })));
        let options = self.options();
        let db = first.open(&options).unwrap_or_else(|e| self.fail(&format!("it does not open (recovery): {e}")));
        first.faults.set_hook(None);
        let recovers = !db.report().clean;
        drop(db);
        let cuts = std::mem::take(&mut *cuts.lock());
        for (disk, words, changed) in cuts {
            // If the recovery has changed nothing so far, or had nothing to do, the second recovery is the same as the
            // first one.
            if recovers && changed {
                marks::CRASH_DURING_RECOVERY.hit();
            }
            self.hits.second_cuts += 1;
            let context = format!("{}; second cut {words}", self.context);
            if self.rng.u8(0..6) == 0 {
                let rng = fastrand::Rng::with_seed(self.rng.u64(..));
                After { rng, hits: Hits::default(), context, second: true }.check(&disk, allowed);
                self.hits.second_cuts_written_on += 1;
                continue;
            }
            let fail = |what: String| -> ! { panic!("{context}: {what}") };
            let db = disk.open(&options).unwrap_or_else(|e| fail(format!("it does not open: {e}")));
            let found = read_state(&db).unwrap_or_else(|e| fail(format!("it does not read: {e}")));
            if allowed.find(&found).is_none() {
                fail(allowed.explain(&found));
            }
            crate::model::indexes::check_now(&db).unwrap_or_else(|broken| fail(broken));
            let done = db.finish_indexes();
            if done.is_err() && read_state(&db).is_ok_and(|now| now == found) {
                fail(format!("an index is not built: {done:?}"));
            }
            crate::model::indexes::check_now(&db).unwrap_or_else(|broken| fail(broken));
        }
    }
}

/// The minimum number of steps of a sequence. More steps are run until the sequence has flushed and compacted.
pub const STEPS: u32 = 20;
/// The minimum number of flushes in every sequence.
const FLUSHES: u32 = 3;

/// The number of documents that [`run_calm`] adds at once before the first cut.
const GROWS_BY_AT_FIRST: u32 = 500;
/// The number of documents that are added after every fifth step.
const GROWS_BY: u32 = 60;

/// Runs one sequence of steps, and cuts the power before each of its changes to the disk.
///
/// # Panics
/// If a promise is broken after a cut.
pub fn run(seed: u64, durability: Durability, steps: &[u32]) -> Hits {
    let (cutter, mut runner) = begin(seed, durability, None);
    for number in steps {
        runner.step(*number);
        cutter.check();
    }
    for number in STEPS.. {
        if runner.flushes() >= FLUSHES {
            break;
        }
        runner.step(number);
        runner.flush();
        cutter.check();
    }
    end(&cutter, runner)
}

/// Grows a database, and then runs a sequence of steps with power cuts before some of its changes to the disk.
///
/// # Panics
/// If a promise is broken after a cut.
pub fn run_calm(seed: u64, durability: Durability, steps: &[u32], size: Size) -> Hits {
    let (cutter, mut runner) = begin(seed, durability, Some(size));
    let growths = size.documents / GROWS_BY_AT_FIRST;
    for number in 0..growths {
        runner.grow(number, GROWS_BY_AT_FIRST, if number % 2 == 0 { By::Load } else { By::Insert });
        // Now the documents are in files, in several runs that can be merged.
        runner.flush();
    }
    cutter.calm.as_ref().expect("it is calm").end();
    for number in steps {
        runner.step(*number);
        if number % 5 == 0 {
            runner.grow(growths + number, GROWS_BY, By::Insert);
        }
        cutter.check();
    }
    runner.flush();
    end(&cutter, runner)
}

fn begin(seed: u64, durability: Durability, size: Option<Size>) -> (Arc<Cutter>, Runner) {
    let calm = size.map(Calm::new);
    let cutter = Arc::new(Cutter { seed, hits: Mutex::default(), calm, failure: Mutex::default() });
    let it = cutter.clone();
    let make: MakeHook = Box::new(move |world, timeline| {
        let (it, mem, timeline) = (it.clone(), world.mem.clone(), timeline.clone());
        Arc::new(move |op: &Op<'_>| it.cut(&mem, &timeline, op))
    });
    let usual_tuning = size.is_some_and(|size| size.usual_tuning);
    let runner = Runner::with_hook(seed, Mix::Writes, Some(durability), false, usual_tuning, Some(make));
    cutter.check();
    (cutter, runner)
}

fn end(cutter: &Cutter, mut runner: Runner) -> Hits {
    if runner.compactions() == 0 {
        runner.compact();
    }
    cutter.check();
    runner.finish();
    cutter.check();
    cutter.hits.lock().clone()
}
