//! Runs operations against a database and the model, and compares.

use crate::by_id::Versioned;
use crate::checkpoints::Checkpoints;
use crate::peek::Peek;
use crate::state::{State, read_state};
use crate::world::{World, random_options};
use crate::{Documents, Phase, Timeline, sequence};
use alluvium::{Database, Durability, Snapshot};
use alluvium_env::fault::Hook;
use alluvium_env::sync::Mutex;
use alluvium_store::{Options, Tuning};
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

/// Which operations are done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mix {
    /// All of them.
    All,
    /// Those that write: nobody looks but a power cut.
    Writes,
}

/// Makes a hook for a world: the first one, and each after a kill.
pub type MakeHook = Box<dyn Fn(&World, &Arc<Mutex<Timeline>>) -> Hook>;

/// A snapshot with what it should show for ever.
pub(crate) struct Kept {
    pub snapshot: Snapshot,
    pub state: State,
}

/// A database, its model, and the randomness that drives both.
pub struct Runner {
    /// Where the database runs.
    pub world: World,
    /// The database; `None` only while it is being reopened.
    pub(crate) db: Option<Database>,
    /// What it should hold.
    pub state: State,
    /// What a power cut may leave.
    pub timeline: Arc<Mutex<Timeline>>,
    /// What it was opened with.
    pub options: Options,
    /// Flushes of something, so far.
    pub flushes: u32,
    /// Calls that merged files, so far.
    pub compactions: u32,
    pub(crate) seed: u64,
    pub(crate) rng: fastrand::Rng,
    pub(crate) mix: Mix,
    pub(crate) documents: Documents,
    pub(crate) snapshots: Vec<Kept>,
    pub(crate) checkpoints: Checkpoints,
    /// Cursors that are open.
    pub(crate) cursors: Vec<crate::cursors::Open>,
    /// Versions of documents that were read.
    pub(crate) versions: Vec<Versioned>,
    pub(crate) dirty: bool,
    /// A collection or an index was dropped since files were merged.
    pub(crate) dropped: bool,
    /// The number of the last index.
    pub(crate) serial: u64,
    partitions: u32,
    durability: Option<Durability>,
    pub(crate) background: bool,
    usual_tuning: bool,
    hook: Option<MakeHook>,
    peek: Peek,
    log: VecDeque<String>,
}

impl Runner {
    /// A new database in a new world. With a `durability`, all options that are drawn have it.
    pub fn new(seed: u64, mix: Mix, durability: Option<Durability>) -> Self {
        Self::with_hook(seed, mix, durability, false, false, None)
    }

    /// As [`Runner::new`], with background threads.
    pub fn in_background(seed: u64) -> Self {
        Self::with_hook(seed, Mix::All, None, true, false, None)
    }

    /// As [`Runner::new`]; a hook is made before the database is created, and again in the world
    /// after each kill. With `usual_tuning`, sizes are those of large databases.
    pub fn with_hook(
        seed: u64,
        mix: Mix,
        durability: Option<Durability>,
        background: bool,
        usual_tuning: bool,
        hook: Option<MakeHook>,
    ) -> Self {
        let mut rng = fastrand::Rng::with_seed(seed);
        let world = World::new(seed);
        let timeline = Arc::new(Mutex::new(Timeline::new()));
        let partitions = [1, 2, 2, 3, 5][rng.usize(0..5)];
        let mut runner = Self {
            world,
            db: None,
            state: State::default(),
            timeline,
            options: Options::default(),
            flushes: 0,
            compactions: 0,
            seed,
            rng,
            mix,
            documents: Documents::default(),
            snapshots: Vec::new(),
            checkpoints: Checkpoints::default(),
            cursors: Vec::new(),
            versions: Vec::new(),
            dirty: false,
            dropped: false,
            serial: 0,
            partitions,
            durability,
            background,
            usual_tuning,
            hook,
            peek: Peek::default(),
            log: VecDeque::new(),
        };
        runner.open();
        runner
    }

    /// The database.
    pub fn db(&self) -> &Database {
        self.db.as_ref().expect("the database is open")
    }

    /// Opens the database with other random options.
    pub(crate) fn open(&mut self) {
        let durability =
            self.durability.unwrap_or([Durability::Sync, Durability::Periodic, Durability::Bulk][self.rng.usize(0..3)]);
        self.options = random_options(&mut self.rng, self.partitions, durability);
        self.options.background = self.background;
        if self.usual_tuning {
            (self.options.tuning, self.options.file_bytes) = (Tuning::default(), None);
        }
        self.options.direct_io = self.rng.u8(0..4) == 0;
        if self.mix == Mix::All && !self.background {
            // Snapshots that are kept may be ended then.
            self.options.snapshot_max_age =
                [Duration::from_secs(3600), Duration::from_millis(300)][self.rng.usize(0..2)];
            self.options.snapshot_max_debt_bytes = [None, Some(4 << 10)][self.rng.usize(0..2)];
        }
        if self.timeline.lock().phase == Phase::Create {
            self.options.partitions = Some(self.partitions);
        }
        self.note(format!("open {:?}", self.options));
        self.world.faults.set_hook(match &self.hook {
            Some(make) => Some(make(&self.world, &self.timeline)),
            None => Some(self.peek.hook()),
        });
        let db = self.world.open(&self.options).unwrap_or_else(|e| panic!("the database does not open: {e}"));
        self.db = Some(db);
        self.timeline.lock().phase = Phase::Write;
        // Opening makes what it has found durable.
        self.timeline.lock().durable();
        let found = read_state(self.db()).unwrap_or_else(|e| panic!("after opening: {e}"));
        assert!(found == self.state, "expected and found differ after opening:\n{}", self.state.difference(&found));
    }

    /// Does one random operation, which follows from the seed and the step's number.
    pub fn step(&mut self, number: u32) {
        self.rng = sequence::rng_of(self.seed, number);
        self.world.clock.advance(Duration::from_millis(self.rng.u64(0..40)));
        self.operation();
        self.check_invariants();
        if self.mix == Mix::All {
            self.forget_ended();
            self.check_indexes();
            if number.is_multiple_of(3) {
                self.check_derived();
            }
        }
    }

    /// What must hold at any moment, also while background threads are in the middle of something.
    fn check_invariants(&self) {
        let broken = self.db().store().broken_invariant().unwrap_or_else(|e| panic!("looking for files: {e}"));
        assert!(broken.is_none(), "{broken:?}");
    }

    /// Does the random operations of these numbers and then compares everything.
    pub fn run(&mut self, steps: &[u32]) {
        for number in steps {
            self.step(*number);
        }
        self.check_all();
    }

    /// Compares all documents, and has every file checked.
    pub fn check_all(&mut self) {
        self.forget_ended();
        let found = read_state(self.db()).unwrap_or_else(|e| panic!("reading everything: {e}"));
        assert!(found == self.state, "expected and found differ:\n{}", self.state.difference(&found));
        let damage = self.db().verify().unwrap_or_else(|e| panic!("verify: {e}"));
        assert!(damage.is_empty(), "verify finds {damage:?}");
        for at in (0..self.snapshots.len()).rev() {
            self.check_snapshot(at);
        }
        self.drain_cursors();
        self.check_indexes();
        self.check_derived();
    }

    /// Closes the database, and checks all of it after opening it again.
    pub fn finish(mut self) {
        self.note("close and check".to_owned());
        self.check_all();
        self.close();
        self.open();
        self.check_all();
        self.close();
    }

    /// Closes the database. All that was written is durable then.
    pub(crate) fn close(&mut self) {
        self.snapshots.clear();
        self.timeline.lock().phase = Phase::Close;
        if let Some(db) = self.db.take() {
            db.close().unwrap_or_else(|e| panic!("close: {e}"));
        }
        self.end_cursors();
        let mut timeline = self.timeline.lock();
        timeline.durable();
        timeline.phase = Phase::Open;
    }

    /// Goes on in the world as the death of the process leaves it.
    pub(crate) fn kill(&mut self) {
        let world = self.world.killed();
        self.snapshots.clear();
        // The old process must not be heard of again.
        self.world.faults.set_hook(None);
        self.cursors.clear();
        self.db = None;
        self.world = world;
        self.timeline.lock().phase = Phase::Open;
    }

    /// Runs `act`, which leads through `steps`, each a batch.
    pub(crate) fn write<T>(
        &mut self,
        phase: Phase,
        steps: &[State],
        durable: bool,
        act: impl FnOnce(&Database) -> alluvium::Result<T>,
    ) -> alluvium::Result<T> {
        {
            let mut timeline = self.timeline.lock();
            timeline.phase = phase;
            for state in steps {
                timeline.push(state);
            }
        }
        let moves_files = matches!(phase, Phase::Flush | Phase::Compaction | Phase::Purge);
        if moves_files && self.mix == Mix::All && !self.background {
            let seed = self.rng.u64(..);
            self.peek.open(self.db(), &self.state, seed);
        }
        let result = act(self.db.as_ref().expect("the database is open"));
        for snapshot in self.peek.close() {
            if self.snapshots.len() < 6 {
                self.snapshots.push(Kept { snapshot, state: self.state.clone() });
            }
        }
        if let Some(last) = steps.last() {
            self.state = last.clone();
            self.dirty = true;
        }
        let mut timeline = self.timeline.lock();
        timeline.phase = Phase::Write;
        if durable {
            timeline.durable();
        }
        result
    }

    pub(crate) fn note(&mut self, what: String) {
        if self.log.len() == 60 {
            self.log.pop_front();
        }
        self.log.push_back(what);
    }
}

impl Drop for Runner {
    fn drop(&mut self) {
        if std::thread::panicking() && !sequence::is_quiet() {
            eprintln!("the last operations:");
            for line in &self.log {
                eprintln!("  {line}");
            }
        }
        self.world.faults.set_hook(None);
    }
}
