//! Writers, flushes, compactions, snapshots and checkpoints under many schedules. Each snapshot and each checkpoint
//! shows every writer at one count, which includes all batches acknowledged before. Run with `--features shuttle`.
#![cfg(feature = "shuttle")]

use alluvium::Database;
use alluvium::backup;
use alluvium_env::sync::{Arc, Mutex};
use alluvium_env::thread::{JoinHandle, spawn};
use alluvium_testkit::concurrency::administration;
use alluvium_testkit::concurrency::schedules::{schedules, small_options};
use alluvium_testkit::concurrency::trails::{self, TrailView};
use alluvium_testkit::{World, map_of};

const WRITERS: u64 = 2;
const BATCHES: u64 = 4;

struct Crowd {
    world: World,
    db: Database,
    /// The last acknowledged count of each writer.
    acknowledged: Mutex<Vec<u64>>,
}

impl Crowd {
    fn write(&self, writer: u64) {
        for count in 1..=BATCHES {
            trails::batch(&self.db, writer, count).unwrap().commit().unwrap();
            self.acknowledged.lock()[writer as usize] = count;
        }
    }

    /// Checks that reads see each batch completely or not at all, and that no acknowledged batch is missing.
    fn look(look: &TrailView, acknowledged: &[u64], reverse: bool) -> Vec<u64> {
        let whole = |writer| look.whole(writer, reverse).unwrap_or_else(|broken| panic!("{broken}"));
        let found: Vec<u64> = (0..WRITERS).map(whole).collect();
        assert!(
            found.iter().zip(acknowledged).all(|(found, acknowledged)| found >= acknowledged),
            "{found:?} after {acknowledged:?}"
        );
        found
    }

    fn watch(&self) {
        // The same must be true without a snapshot.
        for writer in (0..WRITERS).chain(0..WRITERS) {
            trails::never_back(&self.db, writer).unwrap_or_else(|broken| panic!("{broken}"));
        }
        let acknowledged = self.acknowledged.lock().clone();
        let snapshot = self.db.snapshot();
        let found = Self::look(&TrailView::at(&self.db, &snapshot), &acknowledged, false);
        let again = Self::look(&TrailView::at(&self.db, &snapshot), &acknowledged, true);
        assert_eq!(found, again, "a snapshot has changed");
    }

    fn maintain(&self) {
        self.db.flush().unwrap();
        self.db.compact().run().unwrap();
        self.db.flush().unwrap();
    }

    /// Makes two checkpoints, the second based on the first, restores them, and checks them.
    fn back_up(&self) {
        let mut before = None;
        for round in 0..2 {
            let acknowledged = self.acknowledged.lock().clone();
            let (dir, to) = (format!("checkpoint-{round}"), format!("restored-{round}"));
            let mut checkpoint = self.db.checkpoint(&dir);
            if let Some(base) = before.replace(dir.clone()) {
                checkpoint = checkpoint.base(base);
            }
            let made = checkpoint.run().unwrap();
            assert!(made.seq <= self.db.store().visible());
            backup::restore(&dir, &to).env(self.world.env.clone()).quick(true).run().unwrap();
            let restored = Database::builder().env(self.world.env.clone()).options(small_options()).open(&to).unwrap();
            assert!(restored.report().lost.is_empty() && restored.report().clean);
            Self::look(&TrailView::at(&restored, &restored.snapshot()), &acknowledged, round == 0);
        }
    }
}

/// At any time of a drop, a snapshot has the collection with all its documents, or has no collection with its name.
#[test]
fn a_collection_that_is_dropped_is_whole_or_not_there() {
    let name = "a_collection_that_is_dropped_is_whole_or_not_there";
    schedules("threads_see_whole_batches_under_any_schedule", name, 1500, || {
        let db = World::new(7).open(&small_options()).unwrap();
        let pets = db.create_collection("pets").run().unwrap();
        pets.put(1, r#"{"n":1}"#).unwrap();
        let (other, looked) = (db.clone(), pets.clone());
        let watcher = spawn("thread", move || {
            for _ in 0..4 {
                let snapshot = other.snapshot();
                let found = looked.at(&snapshot).get(1).unwrap();
                // The document is missing exactly in snapshots after the drop.
                assert_eq!(found.is_some(), !other.collections_at(&snapshot).unwrap().is_empty());
            }
        });
        db.drop_collection("pets").unwrap();
        watcher.join().unwrap_or_else(|e| panic!("{e}"));
    });
}

/// At any time of a rename, a snapshot has the collection with all its documents under one name, and no collection
/// under the other.
#[test]
fn a_collection_that_is_renamed_has_one_name() {
    let name = "a_collection_that_is_renamed_has_one_name";
    schedules("threads_see_whole_batches_under_any_schedule", name, 1500, || {
        let db = World::new(7).open(&small_options()).unwrap();
        db.create_collection("pets").run().unwrap().put(1, r#"{"n":1}"#).unwrap();
        let other = db.clone();
        let watcher = spawn("thread", move || {
            for _ in 0..4 {
                let snapshot = other.snapshot();
                let has = |name| other.collection(name).at(&snapshot).get(1).unwrap().is_some();
                let listed = other.collections_at(&snapshot).unwrap();
                let name = |name: &str| listed.iter().any(|info| info.name == name);
                assert_eq!([has("pets"), name("pets")], [!has("animals"), !name("animals")]);
                assert_eq!(has("pets"), name("pets"));
            }
        });
        db.rename_collection("pets", "animals").unwrap();
        watcher.join().unwrap_or_else(|e| panic!("{e}"));
    });
}

/// Folds of deltas use the writer's shapes, even if a snapshot that was taken while the collection was created does not
/// have these shapes.
#[test]
fn deltas_on_a_collection_that_is_looked_at_while_it_is_created_are_read() {
    let name = "deltas_on_a_collection_that_is_looked_at_while_it_is_created_are_read";
    schedules("threads_see_whole_batches_under_any_schedule", name, 1500, || {
        let db = World::new(7).open(&small_options()).unwrap();
        let pets = db.collection("pets");
        let (other, looked) = (db.clone(), pets.clone());
        let watcher = spawn("thread", move || {
            for _ in 0..3 {
                assert!(looked.at(&other.snapshot()).get(1).unwrap().is_none());
            }
        });
        db.create_collection("pets").run().unwrap();
        watcher.join().unwrap_or_else(|e| panic!("{e}"));
        for id in 0..20 {
            pets.put(id, r#"{"n":0,"name":"of some pet"}"#).unwrap();
        }
        pets.update_blind(1, r#"{"$inc":{"n":1}}"#).unwrap();
        let found = pets.get(1).unwrap().unwrap().to_map().unwrap();
        assert_eq!(found, map_of(r#"{"_id":1,"n":1,"name":"of some pet"}"#));
    });
}

/// Checks find no damage, and copies are complete, while collections and indexes are created and dropped.
#[test]
fn checks_and_copies_hold_while_collections_come_and_go() {
    let name = "checks_and_copies_hold_while_collections_come_and_go";
    schedules("threads_see_whole_batches_under_any_schedule", name, 200, || {
        let world = World::new(7);
        let db = world.open(&small_options()).unwrap();
        let (other, env) = (db.clone(), world.env.clone());
        let administrator = spawn("thread", move || {
            for round in 0..3 {
                administration::administer(&other, &small_options(), &env, round).unwrap();
            }
        });
        for round in 0..4 {
            administration::come_and_go(&db, round).unwrap();
        }
        administrator.join().unwrap_or_else(|e| panic!("{e}"));
    });
}

#[test]
fn threads_see_whole_batches_under_any_schedule() {
    let (file, name) = ("threads_see_whole_batches_under_any_schedule", "threads_see_whole_batches_under_any_schedule");
    schedules(file, name, 200, || {
        let world = World::new(7);
        let db = world.open(&small_options()).unwrap();
        let crowd = Arc::new(Crowd { world, db, acknowledged: Mutex::new(vec![0; WRITERS as usize]) });
        let thread = |act: fn(&Crowd)| {
            let crowd = crowd.clone();
            spawn("thread", move || act(&crowd))
        };
        let threads: Vec<JoinHandle<()>> = vec![
            thread(|crowd| crowd.write(0)),
            thread(|crowd| crowd.write(1)),
            thread(Crowd::maintain),
            thread(Crowd::watch),
            thread(Crowd::back_up),
        ];
        for thread in threads {
            thread.join().unwrap_or_else(|e| panic!("{e}"));
        }
        let look = TrailView::at(&crowd.db, &crowd.db.snapshot());
        assert_eq!(Crowd::look(&look, &[BATCHES, BATCHES], false), [BATCHES, BATCHES]);
    });
}
