//! A client on a bad disk: it takes every error for what it says, and knows what may be found.

use crate::state::{State, read_state};
use crate::world::{World, random_options};
use crate::{Documents, Id};
use alluvium::{Database, Durability, Error, ErrorKind};
use env::mem::{CrashStyle, MemFs};

const NAMES: [&str; 2] = ["main.a", "other.b"];
/// Indexes that refuse none of the documents.
const INDEXES: [(&str, &str); 4] = [
    (r#"{"k":1}"#, "{}"),
    (r#"{"n":-1}"#, r#"{"unique":true}"#),
    (r#"{"by.name":1}"#, r#"{"sparse":true}"#),
    (r#"{"tags":1,"_id":1}"#, r#"{"partialFilterExpression":{"n":{"$gt":3}}}"#),
];

/// A database on a bad disk, and what its client knows.
pub struct Careful {
    /// The machine.
    pub world: World,
    db: Option<Database>,
    /// All acknowledged writes.
    pub acknowledged: State,
    /// With the write whose outcome is unknown, if there is one.
    pub unknown: Option<State>,
    /// What a power cut may leave: from the last state that was promised to be durable on.
    since_durable: Vec<State>,
    /// A write was refused because the database is poisoned.
    pub poisoned: bool,
    /// The kinds of error that were met.
    pub errors: Vec<ErrorKind>,
    rng: fastrand::Rng,
    documents: Documents,
    durability: Durability,
    log: Vec<String>,
}

impl Careful {
    /// A database with two collections on a disk of this size.
    pub fn new(seed: u64, disk_bytes: u64) -> Self {
        let mut rng = fastrand::Rng::with_seed(seed);
        let durability = [Durability::Sync, Durability::Periodic][rng.usize(0..2)];
        let world = World::over(MemFs::with_capacity(disk_bytes), seed);
        let partitions = rng.u32(1..=3);
        let options = store::Options { partitions: Some(partitions), ..random_options(&mut rng, 1, durability) };
        let db = world.open(&options).expect("the disk is good still");
        let mut acknowledged = State::default();
        for name in NAMES {
            db.create_collection(name).expect("the disk is good still");
            acknowledged.create(name);
        }
        db.sync().expect("the disk is good still");
        Self {
            world,
            db: Some(db),
            since_durable: vec![acknowledged.clone()],
            acknowledged,
            unknown: None,
            poisoned: false,
            errors: Vec::new(),
            rng,
            documents: Documents::default(),
            durability,
            log: Vec::new(),
        }
    }

    /// The database.
    pub fn db(&self) -> &Database {
        self.db.as_ref().expect("it is open")
    }

    /// The randomness.
    pub fn rng(&mut self) -> &mut fastrand::Rng {
        &mut self.rng
    }

    /// Does one random operation. True if it went well.
    pub fn step(&mut self) -> bool {
        match self.rng.u32(0..24) {
            0..=12 => self.write(),
            20..=23 => self.index(),
            13..=14 => self.maintenance("flush", true, |db| db.flush()),
            15 => self.maintenance("pending", false, |db| Ok(db.store().run_pending()?)),
            16 => self.maintenance("compact", true, |db| db.compact()),
            17 => self.maintenance("sync", true, |db| db.sync()),
            _ => {
                self.look("between");
                true
            }
        }
    }

    /// Writes a batch of some documents.
    pub fn write(&mut self) -> bool {
        let mut batch = self.db().write_batch();
        let mut next = self.acknowledged.clone();
        for _ in 0..self.rng.usize(1..4) {
            let name = NAMES[self.rng.usize(0..2)];
            let collection = self.db().collection(name);
            let id = Id::random(&mut self.rng);
            let value = id.value(&mut self.rng);
            if self.rng.u8(0..4) == 0 {
                next.delete(name, &id);
                batch.delete(&collection, value).expect("a delete");
            } else {
                let map = self.documents.with_id(&id, &mut self.rng);
                next.put(name, id, map.clone());
                batch.put(&collection, value, map).expect("a put");
            }
        }
        let result = batch.commit();
        self.log.push(format!("write: {result:?}"));
        match result {
            Ok(()) => {
                assert!(!self.poisoned && self.unknown.is_none(), "a write is acknowledged after {:?}", self.log);
                self.acknowledged = next.clone();
                self.since_durable.push(next);
                if self.durability == Durability::Sync {
                    self.durable();
                }
                true
            }
            Err(error) => {
                if self.note(&error) == ErrorKind::OutcomeUnknown {
                    assert!(self.unknown.is_none(), "two unknown outcomes: {:?}", self.log);
                    self.since_durable.push(next.clone());
                    self.unknown = Some(next);
                }
                false
            }
        }
    }

    /// Makes an index, goes on with builds, drops one, or sweeps. Whatever fails, documents stay as they are.
    fn index(&mut self) -> bool {
        let name = NAMES[self.rng.usize(0..2)];
        let collection = self.db().collection(name);
        let (keys, options) = INDEXES[self.rng.usize(0..INDEXES.len())];
        let name = crate::indexes::definition((keys, options)).name().to_owned();
        let result = match self.rng.u32(0..8) {
            0..=3 => collection.create_index_with(keys, options).map(drop),
            4 => collection.start_index(keys, options).map(drop),
            5 => self.db().finish_indexes(),
            6 => self.db().sweep_indexes().map(drop),
            _ => collection.drop_index(&name),
        };
        self.log.push(format!("index {name}: {result:?}"));
        match result {
            Ok(()) => true,
            Err(error) if error.kind() == ErrorKind::Namespace => true,
            Err(error) => {
                self.note(&error);
                false
            }
        }
    }

    fn maintenance(
        &mut self,
        what: &str,
        makes_durable: bool,
        act: impl FnOnce(&Database) -> alluvium::Result<()>,
    ) -> bool {
        let result = act(self.db());
        self.log.push(format!("{what}: {result:?}"));
        match result {
            Ok(()) if makes_durable && self.unknown.is_none() => self.durable(),
            Ok(()) => {}
            Err(error) => {
                self.note(&error);
                return false;
            }
        }
        true
    }

    fn durable(&mut self) {
        self.since_durable = vec![self.acknowledged.clone()];
    }

    /// Takes note of an error: of one of the kinds that a bad disk explains, naming what failed.
    fn note(&mut self, error: &Error) -> ErrorKind {
        let (kind, text) = (error.kind(), error.to_string());
        let explained = [ErrorKind::Io, ErrorKind::NoSpace, ErrorKind::Poisoned, ErrorKind::OutcomeUnknown];
        assert!(explained.contains(&kind), "{kind:?}: {text}, after {:?}", self.log);
        assert!(text.contains("db/") || text.contains("db:"), "the error names no file: {text}");
        self.poisoned |= matches!(kind, ErrorKind::Poisoned | ErrorKind::OutcomeUnknown);
        self.errors.push(kind);
        kind
    }

    /// Reads everything: all that was acknowledged is there. Errors are for a bad disk.
    pub fn look(&mut self, when: &str) {
        match read_state(self.db()) {
            Ok(found) => {
                let found = found.without_indexes();
                let fine = found == self.acknowledged || self.unknown.as_ref() == Some(&found);
                assert!(
                    fine,
                    "{when}: acknowledged and found differ:\n{}\nafter {:?}",
                    self.acknowledged.difference(&found),
                    self.log
                );
            }
            Err(error) => {
                self.note(&error);
            }
        }
    }

    /// Ends the process, or cuts the power; opens again on a good disk; compares, and writes on.
    pub fn recover(mut self) {
        self.world.faults.clear();
        let way = self.rng.u8(0..3);
        let unknown = self.unknown.take();
        let with_unknown = || std::iter::once(self.acknowledged.clone()).chain(unknown.clone());
        let (disk, allowed): (World, Vec<State>) = match way {
            0 => {
                let _poisoned_or_closed = self.db().close();
                self.db = None;
                (self.world.killed(), with_unknown().collect())
            }
            1 => (self.world.killed(), with_unknown().collect()),
            _ => (self.world.cut(self.rng.u64(..), CrashStyle::Any), self.since_durable.clone()),
        };
        disk.mem.set_capacity(u64::MAX);
        let options = random_options(&mut self.rng, 1, Durability::Sync);
        let options = store::Options { partitions: None, ..options };
        let db = disk.open(&options).unwrap_or_else(|e| panic!("it does not open: {e}\nafter {:?}", self.log));
        let found = read_state(&db).unwrap_or_else(|e| panic!("it does not read: {e}\nafter {:?}", self.log));
        assert!(
            allowed.contains(&found.without_indexes()),
            "way {way}: none of {} states is found; acknowledged and found differ:\n{}\nafter {:?}",
            allowed.len(),
            self.acknowledged.difference(&found),
            self.log
        );
        let damage = db.verify().expect("verify");
        assert!(damage.is_empty(), "verify finds {damage:?} after {:?}", self.log);
        let cut = disk.cut(self.rng.u64(..), CrashStyle::Any);
        self.check_durable(&cut, &found);
        let sound = |db: &Database| {
            crate::indexes::check_now(db).unwrap_or_else(|broken| panic!("{broken}\nafter {:?}", self.log));
        };
        sound(&db);
        db.finish_indexes().unwrap_or_else(|e| panic!("builds do not go on: {e}\nafter {:?}", self.log));
        sound(&db);
        db.collection("main.after").put("x", r#"{"n":1}"#).expect("it goes on");
        db.compact().expect("it goes on");
        assert_eq!(db.collection("main.after").count().expect("it goes on"), 1);
        db.close().expect("it goes on");
    }

    /// What opening has found is durable, whatever the disk had lost before.
    fn check_durable(&self, cut: &World, expected: &State) {
        let options = store::Options { background: false, ..store::Options::default() };
        let db = cut.open(&options);
        let db = db.unwrap_or_else(|e| panic!("cut after opening, it does not open: {e}\nafter {:?}", self.log));
        let found = read_state(&db).expect("it reads");
        let difference = expected.difference(&found);
        assert!(
            found == *expected,
            "cut after opening, expected and found differ:\n{difference}\nafter {:?}",
            self.log
        );
    }
}
