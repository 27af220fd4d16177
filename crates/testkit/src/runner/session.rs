//! The context of every operation: a database, its model, and the random numbers for both.

use super::counts;
use super::kept::{Checkpoints, KeptSnapshot, OpenCursor, ReadVersion};
use super::moved::{ASIDE, Moved};
use super::observer::Observer;
use crate::model::{Documents, Id, Phase, State, Timeline, read_state};
use crate::replay::sequence;
use crate::worlds::{PATH, World, random_options};
use alluvium::{Collection, Database, Durability};
use alluvium_env::fault::Hook;
use alluvium_env::sync::Mutex;
use alluvium_store::{Options, Tuning};
use std::collections::VecDeque;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

/// The collections that operations choose from.
pub(super) const NAMES: [&str; 6] = ["main.a", "main.b", "other.c", "other.a", "main.d.e", "third.ü"];

/// The set of operations.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mix {
    /// All operations.
    All,
    /// Only operations that write, for power cuts.
    Writes,
}

/// Creates the hook for a world: for the first world, and for each world after a kill.
pub type MakeHook = Box<dyn Fn(&World, &Arc<Mutex<Timeline>>) -> Hook>;

/// A database, its model, and the random numbers for both.
pub(crate) struct Session {
    /// The world in which the database runs.
    pub(super) world: World,
    /// The database; `None` only while it is being reopened.
    pub(super) db: Option<Database>,
    /// The expected state of the database.
    pub(super) state: State,
    /// The states that a power cut may leave.
    pub(super) timeline: Arc<Mutex<Timeline>>,
    /// The options of the open database.
    pub(super) options: Options,
    /// The number of flushes that wrote something.
    pub(super) flushes: u32,
    /// The number of calls that merged files.
    pub(super) compactions: u32,
    pub(super) seed: u64,
    pub(super) rng: fastrand::Rng,
    pub(super) mix: Mix,
    pub(super) documents: Documents,
    pub(super) snapshots: Vec<KeptSnapshot>,
    pub(super) checkpoints: Checkpoints,
    /// Set while the directory of the database is at another path.
    pub(super) moved: Option<Moved>,
    /// The open cursors.
    pub(super) cursors: Vec<OpenCursor>,
    /// The versions of documents that were read.
    pub(super) versions: Vec<ReadVersion>,
    pub(super) dirty: bool,
    /// True if a collection or an index was dropped since the last merge of files.
    pub(super) dropped: bool,
    /// The serial number of the last index.
    pub(super) serial: u64,
    pub(super) partitions: u32,
    pub(super) durability: Option<Durability>,
    pub(super) background: bool,
    pub(super) usual_tuning: bool,
    pub(super) hook: Option<MakeHook>,
    pub(super) observer: Observer,
    pub(super) log: VecDeque<String>,
}

impl Session {
    /// A new database in a new world; see [`super::Runner::with_hook`].
    pub(super) fn new(
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
        let mut session = Self {
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
            moved: None,
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
            observer: Observer::default(),
            log: VecDeque::new(),
        };
        session.open();
        session
    }

    /// The database.
    pub(super) fn db(&self) -> &Database {
        self.db.as_ref().expect("the database is open")
    }

    /// The current path of the directory of the database.
    pub(super) fn home(&self) -> &'static Path {
        Path::new(if self.moved.is_some() { ASIDE } else { PATH })
    }

    /// Moves the directory back to its path, if it was moved.
    pub(super) fn put_back(&mut self) {
        if let Some(moved) = self.moved.take() {
            moved.put_back(&self.world);
        }
    }

    /// Opens the database with new random options.
    pub(super) fn open(&mut self) {
        self.put_back();
        let durability =
            self.durability.unwrap_or([Durability::Sync, Durability::Periodic, Durability::Bulk][self.rng.usize(0..3)]);
        self.options = random_options(&mut self.rng, self.partitions, durability);
        self.options.background = self.background;
        if self.usual_tuning {
            (self.options.tuning, self.options.file_bytes) = (Tuning::default(), None);
        }
        self.options.direct_io = self.rng.u8(0..4) == 0;
        if self.mix == Mix::All && !self.background {
            // With these options, the database may end kept snapshots.
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
            None => Some(self.observer.hook()),
        });
        let db = self.world.open(&self.options).unwrap_or_else(|e| panic!("the database does not open: {e}"));
        self.db = Some(db);
        self.timeline.lock().phase = Phase::Write;
        // The content that is found by opening is durable.
        self.timeline.lock().durable();
        let found = read_state(self.db()).unwrap_or_else(|e| panic!("after opening: {e}"));
        assert!(found == self.state, "expected and found differ after opening:\n{}", self.state.difference(&found));
    }

    pub(super) fn any_name(&mut self) -> String {
        // Usually the name of an existing collection.
        let names: Vec<&String> = self.state.collections.keys().collect();
        if !names.is_empty() && self.rng.u8(0..8) > 0 {
            return names[self.rng.usize(0..names.len())].clone();
        }
        NAMES[self.rng.usize(0..NAMES.len())].to_owned()
    }

    pub(super) fn any_id(&mut self, name: &str) -> Id {
        let known = self.state.documents(name).filter(|d| !d.is_empty());
        match known {
            Some(documents) if self.rng.bool() => {
                let at = self.rng.usize(0..documents.len());
                documents.keys().nth(at).cloned().expect("within")
            }
            _ => Id::random(&mut self.rng),
        }
    }

    /// A collection with a random durability, and whether its writes are durable when they are acknowledged.
    pub(super) fn handle(&mut self, name: &str) -> (Collection, bool) {
        let collection = self.db().collection(name);
        match self.rng.u8(0..10) {
            0 => (collection.with_durability(Durability::Sync), true),
            1 => (collection.with_durability(Durability::Bulk), false),
            _ => (collection, self.options.durability == Durability::Sync),
        }
    }

    /// The states that result from creating these collections, which happens before a write to them.
    pub(super) fn created(&self, names: &[&str]) -> Vec<State> {
        let mut steps = Vec::new();
        let mut state = self.state.clone();
        for name in names {
            if state.create(name) {
                steps.push(state.clone());
            }
        }
        steps
    }

    pub(super) fn after(&self, steps: &[State]) -> State {
        steps.last().unwrap_or(&self.state).clone()
    }

    /// Runs `act`, which leads the database through the states in `steps`. Each state is one batch.
    pub(super) fn write<T>(
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
            self.observer.open(self.db(), &self.state, seed);
        }
        let result = act(self.db.as_ref().expect("the database is open"));
        for snapshot in self.observer.close() {
            if self.snapshots.len() < 6 {
                self.snapshots.push(KeptSnapshot { snapshot, state: self.state.clone() });
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

    pub(super) fn note(&mut self, what: String) {
        if self.log.len() == 60 {
            self.log.pop_front();
        }
        self.log.push_back(what);
    }

    /// Counts an operation if `any` is true: it changed or found something.
    pub(super) fn effect(&self, operation: &str, any: bool) {
        counts::add(operation, any);
    }

    /// True if the options end snapshots because of their age or the space that they pin.
    pub(super) fn snapshots_may_end(&self) -> bool {
        let usual = alluvium_store::Options::default();
        self.options.snapshot_max_age < usual.snapshot_max_age || self.options.snapshot_max_debt_bytes.is_some()
    }
}

impl Drop for Session {
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
