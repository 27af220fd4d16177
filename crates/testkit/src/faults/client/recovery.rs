//! Checks after the process has ended, or the power was cut.

use super::FaultClient;
use crate::model::{State, read_state, recorded_changes};
use crate::worlds::{World, random_options};
use alluvium::backup;
use alluvium::{Change, Database, Durability};
use alluvium_env::mem::CrashStyle;
use std::path::Path;

impl FaultClient {
    /// Ends the process or cuts the power, opens the database on a working disk, compares its content, and continues to
    /// write.
    pub fn recover(mut self) {
        self.world.faults.clear();
        self.world.faults.set_hook(None);
        if self.db.is_some() && self.recorded.is_some() && self.rng.bool() {
            self.write();
            self.changes();
        }
        let way = self.rng.u8(0..3);
        let (disk, allowed): (World, Vec<State>) = match way {
            0 => {
                self.snapshots.clear();
                let _poisoned_or_closed = self.db.take().map(|db| db.close());
                (self.world.killed(), self.now())
            }
            1 => (self.world.killed(), self.now()),
            _ => (self.world.cut(self.rng.u64(..), CrashStyle::Any), self.since_durable.clone()),
        };
        disk.mem.set_capacity(u64::MAX);
        self.given_before = self.given_out.len();
        let db = self.examine(&disk, &allowed, &format!("way {way}"));
        let recorded = db.recorded().first().map(|recorded| recorded.since);
        assert!(recorded == self.recorded || self.recorded.is_none(), "recorded since {recorded:?}: {:?}", self.log);
        let found = read_state(&db).unwrap_or_else(|e| panic!("it does not read: {e}\nafter {:?}", self.log));
        self.examine_checkpoints(&disk);
        let cut = disk.cut(self.rng.u64(..), CrashStyle::Any);
        self.check_durable(&cut, &found);
        db.finish_indexes().unwrap_or_else(|e| panic!("builds do not go on: {e}\nafter {:?}", self.log));
        self.sound(&db);
        db.collection("main.after").put("x", r#"{"n":1}"#).expect("it goes on");
        db.compact().run().expect("it goes on");
        assert_eq!(db.collection("main.after").count().expect("it goes on"), 1);
        db.close().expect("it goes on");
    }

    /// Cuts the power. The client continues with the disk after the cut, and has no open database.
    pub fn cut(&mut self) {
        self.world = self.world.cut(self.rng.u64(..), CrashStyle::Any);
        (self.db, self.cut) = (None, true);
    }

    /// Kills the process. The client continues with the disk, and has no open database.
    pub fn kill(&mut self) {
        (self.world, self.db) = (self.world.killed(), None);
    }

    /// Checks a database that was opened, whichever operations failed before: its state must be an allowed one, and is
    /// durable from now on.
    ///
    /// # Panics
    /// If the state is not allowed, or cannot be read.
    pub fn found(&mut self, db: &Database, when: &str) {
        let found = read_state(db).unwrap_or_else(|e| panic!("{when}: it does not read: {e}\nafter {:?}", self.log));
        let (found, allowed) = (found.without_indexes(), self.now());
        let difference = || allowed[0].difference(&found);
        assert!(allowed.contains(&found), "{when}:\n{}\nafter {:?}", difference(), self.log);
        self.sound(db);
        (self.acknowledged, self.unknown, self.cut) = (found, None, false);
        self.durable();
    }

    /// The states that may be found now, by this process or by the next one that opens the disk.
    fn now(&self) -> Vec<State> {
        if self.cut {
            return self.since_durable.clone();
        }
        std::iter::once(self.acknowledged.clone()).chain(self.unknown.clone()).collect()
    }

    /// Opens a disk, and checks that it has no damage and contains one of these states.
    pub(in crate::faults) fn examine(&mut self, disk: &World, allowed: &[State], when: &str) -> Database {
        let options = random_options(&mut self.rng, 1, Durability::Sync);
        let options = alluvium_store::Options { partitions: None, ..options };
        let db = disk.open(&options);
        let db = db.unwrap_or_else(|e| panic!("{when}: it does not open: {e}\nafter {:?}", self.log));
        let found = read_state(&db);
        let found = found.unwrap_or_else(|e| panic!("{when}: it does not read: {e}\nafter {:?}", self.log));
        let found = found.without_indexes();
        assert!(
            allowed.contains(&found),
            "{when}: none of {} states is found; each of them and what is found differ:\n{}\nafter {:?}",
            allowed.len(),
            allowed.iter().map(|state| state.difference(&found)).collect::<Vec<_>>().join("\nor\n"),
            self.log
        );
        let damage = db.verify().run().expect("verify").damage;
        assert!(damage.is_empty(), "{when}: verify finds {damage:?} after {:?}", self.log);
        self.sound(&db);
        self.check_changes(&db, &found, &self.given_out[..self.given_before], when);
        db
    }

    /// Checks that the recorded changes have led to the state, and that those that were given out are among them.
    fn check_changes(&self, db: &Database, found: &State, given_out: &[Change], when: &str) {
        // The power may have been cut before the recording was acknowledged.
        let Some(since) = self.recorded.filter(|since| db.recorded().iter().any(|one| one.since == *since)) else {
            return;
        };
        let changes = recorded_changes(db);
        let changes = changes.unwrap_or_else(|e| panic!("{when}: since {since}: {e}\nafter {:?}", self.log));
        let mut replayed = State::default();
        changes.iter().for_each(|change| replayed.apply(change));
        let difference = || replayed.difference(found);
        assert!(replayed == *found, "{when}: the changes lead to something else:\n{}\n{:?}", difference(), self.log);
        let lost = given_out.iter().find(|change| !changes.contains(change));
        assert!(lost.is_none(), "{when}: a change was given out, and is lost: {lost:?}\nafter {:?}", self.log);
    }

    fn sound(&self, db: &Database) {
        crate::model::indexes::check_now(db).unwrap_or_else(|broken| panic!("{broken}\nafter {:?}", self.log));
    }

    /// Checks that every directory with the name of a checkpoint is complete, and that all acknowledged checkpoints
    /// exist.
    pub(in crate::faults) fn examine_checkpoints(&self, disk: &World) {
        for one in &self.checkpoints {
            let is_there = disk.env.fs.exists(&one.dir).expect("a good disk")
                && backup::check(&one.dir).env(disk.env.clone()).is_there().expect("a good disk");
            assert!(is_there || !one.acknowledged, "{} is not there after {:?}", one.dir.display(), self.log);
            if !is_there {
                continue;
            }
            let to = Path::new("restored");
            let restored = backup::restore(&one.dir, to).env(disk.env.clone()).run();
            restored.unwrap_or_else(|e| panic!("{} is not whole: {e}\nafter {:?}", one.dir.display(), self.log));
            let options = alluvium_store::Options {
                background: false,
                memory_bytes: 8 << 20,
                ..alluvium_store::Options::default()
            };
            let db = Database::builder().env(disk.env.clone()).options(options).open(to);
            let db = db.unwrap_or_else(|e| panic!("what was restored does not open: {e}\nafter {:?}", self.log));
            let found = read_state(&db).expect("it reads").without_indexes();
            let difference = || one.states[0].difference(&found);
            assert!(one.states.contains(&found), "{}:\n{}\nafter {:?}", one.dir.display(), difference(), self.log);
            self.check_changes(&db, &found, &[], "in a checkpoint");
            db.close().expect("a good disk");
            crate::worlds::remove_dir(&disk.env, to);
        }
    }

    /// Checks that the state found by opening is durable, even if the disk lost writes before.
    fn check_durable(&self, cut: &World, expected: &State) {
        let options = alluvium_store::Options { background: false, ..alluvium_store::Options::default() };
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
