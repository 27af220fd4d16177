//! Writers, builders, droppers, compactions, checkpoints and readers of indexes under many schedules. At every snapshot
//! that an index serves, it refers to exactly the documents that yield its keys. Run with `--features shuttle`.
#![cfg(feature = "shuttle")]

use alluvium::backup;
use alluvium::{Collection, Database, ErrorKind, Map, Snapshot, Value};
use alluvium_env::fault::{Op, OpKind};
use alluvium_env::mem::CrashStyle;
use alluvium_env::sync::atomic::AtomicBool;
use alluvium_env::sync::{Arc, Mutex};
use alluvium_env::thread::{JoinHandle, spawn};
use alluvium_query::index::Definition;
use alluvium_testkit::IndexEntries;
use alluvium_testkit::World;
use alluvium_testkit::concurrency::schedules::{self, small_options};
use alluvium_testkit::model::indexes::{check_at, check_now, definition};
use std::path::Path;
use std::sync::atomic::Ordering;

/// Runs a scenario under many schedules.
fn schedules(name: &str, usual: u64, scenario: impl Fn() + Send + Sync + 'static) {
    schedules::schedules("indexes_hold_under_any_schedule", name, usual, scenario);
}

fn open() -> (World, Database, Collection) {
    let world = World::new(7);
    let db = world.open(&small_options()).unwrap();
    let pets = db.create_collection("pets").run().unwrap();
    (world, db, pets)
}

fn thread(act: impl FnOnce() + Send + 'static) -> JoinHandle<()> {
    spawn("thread", act)
}

fn join(threads: impl IntoIterator<Item = JoinHandle<()>>) {
    for thread in threads {
        thread.join().unwrap_or_else(|e| panic!("{e}"));
    }
}

fn healthy(db: &Database) {
    check_now(db).unwrap_or_else(|broken| panic!("{broken}"));
}

/// True if the index serves the snapshot; false if the index does not exist, or does not serve this snapshot yet.
fn serves(pets: &Collection, snapshot: &Snapshot, definition: &Definition) -> bool {
    match pets.index_entries(snapshot, definition.name(), false) {
        Ok(_) => true,
        Err(error) => {
            assert_eq!(error.kind(), ErrorKind::Namespace, "{error}");
            false
        }
    }
}

/// Checks an index at a new snapshot, if the index serves it.
fn look(db: &Database, pets: &Collection, definition: &Definition) {
    let snapshot = db.snapshot();
    if !serves(pets, &snapshot, definition) {
        return;
    }
    let documents = pets.at(&snapshot).scan().run().unwrap();
    let documents: Vec<Map> = documents.map(|document| document.unwrap().to_map().unwrap()).collect();
    match check_at(pets, definition, &snapshot, documents.iter()) {
        Ok(()) => {}
        // The index is dropped concurrently. An index that is created later does not serve older snapshots.
        Err(_) if !serves(pets, &snapshot, definition) => {}
        Err(what) => panic!("{what}"),
    }
}

const K: (&str, &str) = (r#"{"k":1}"#, "{}");
const UNIQUE: (&str, &str) = (r#"{"u":1}"#, r#"{"unique":true,"sparse":true}"#);

#[test]
fn documents_that_had_a_key_one_after_the_other_do_not_keep_it_from_being_unique() {
    schedules("documents_that_had_a_key_one_after_the_other_do_not_keep_it_from_being_unique", 300, || {
        let (_world, db, pets) = open();
        let build = pets.create_index(UNIQUE.0).options(UNIQUE.1).start().unwrap();
        // Each pair of documents has one key, which they hold in turn. The entry of the previous holder still exists.
        let turn = move |db: &Database, pets: &Collection, turn: i32| {
            let mut batch = db.write_batch();
            for pair in 0..12 {
                for which in 0..2 {
                    let key = if which == turn % 2 { pair } else { 100 + pair };
                    batch.put(pets, format!("{which} {pair}"), Map::from([("u", Value::from(key))])).unwrap();
                }
            }
            batch.commit().unwrap();
        };
        turn(&db, &pets, 0);
        turn(&db, &pets, 1);
        let (writer, built) = (pets.clone(), Arc::new(AtomicBool::new(false)));
        let (of, done) = (db.clone(), built.clone());
        let writer = thread(move || {
            // The writes continue until the build has finished, because its check comes last.
            (0..60).take_while(|_| !done.load(Ordering::SeqCst)).for_each(|now| turn(&of, &writer, now));
        });
        build.run().unwrap_or_else(|e| panic!("no two documents ever had one key: {e}"));
        built.store(true, Ordering::SeqCst);
        join([writer]);
        healthy(&db);
    });
}

#[test]
fn one_of_several_writers_gets_a_unique_key() {
    schedules("one_of_several_writers_gets_a_unique_key", 400, || {
        let (_world, db, pets) = open();
        pets.put("c", r#"{"n":1}"#).unwrap();
        let early = shuttle::rand::Rng::r#gen::<bool>(&mut shuttle::rand::thread_rng());
        if early {
            pets.create_index(UNIQUE.0).options(UNIQUE.1).run().unwrap();
        }
        let taken: Arc<Mutex<u32>> = Arc::default();
        let writers: Vec<_> = (0..4)
            .map(|which| {
                let (pets, db, taken) = (pets.clone(), db.clone(), taken.clone());
                thread(move || {
                    let done = match which {
                        0 => pets.put("a", r#"{"u":1}"#),
                        1 => pets.insert_one(r#"{"_id":"b","u":1.0}"#).map(drop),
                        2 => pets.update_one(r#"{"_id": "c"}"#, r#"{"$set":{"u":1}}"#).run().map(drop),
                        _ => {
                            let mut batch = db.write_batch();
                            batch.put(&pets, "d", r#"{"u":1}"#).unwrap();
                            batch.commit()
                        }
                    };
                    match done {
                        Ok(()) => *taken.lock() += 1,
                        Err(error) => assert_eq!(error.kind(), ErrorKind::DuplicateKey, "{error}"),
                    }
                })
            })
            .collect();
        let made = if early { Ok(String::new()) } else { pets.create_index(UNIQUE.0).options(UNIQUE.1).run() };
        join(writers);
        let taken = *taken.lock();
        match made {
            Ok(_) => assert_eq!(taken, 1, "several documents have one unique key"),
            Err(error) => assert!(error.kind() == ErrorKind::DuplicateKey && taken > 1, "{taken} have it: {error}"),
        }
        healthy(&db);
    });
}

#[test]
fn a_build_among_writers_misses_nothing() {
    schedules("a_build_among_writers_misses_nothing", 250, || {
        let (_world, db, pets) = open();
        for id in 0..4 {
            pets.put(id, format!(r#"{{"k":{id},"n":0}}"#)).unwrap();
        }
        db.flush().unwrap();
        let mut threads = Vec::new();
        for writer in 0..2 {
            let (pets, db) = (pets.clone(), db.clone());
            threads.push(thread(move || {
                pets.put(writer, r#"{"k":7}"#).unwrap();
                pets.update_blind(2, format!(r#"{{"$set":{{"k":{writer}}}}}"#).as_str()).unwrap();
                pets.update_blind(3, r#"{"$inc":{"n":1}}"#).unwrap();
                let mut batch = db.write_batch();
                batch.put(&pets, 5 + writer, r#"{"k":[1,2]}"#).unwrap();
                batch.delete(&pets, 1 - writer).unwrap();
                batch.update_blind(&pets, 3, r#"{"$inc":{"k":1}}"#).unwrap();
                batch.commit().unwrap();
                pets.put(writer, r#"{"k":0}"#).unwrap();
            }));
        }
        let (again, flushed) = (pets.clone(), db.clone());
        threads.push(thread(move || {
            // When the index is declared, the document is written again with the same content. The entry of the build
            // is then also in a file under a higher sequence number.
            let declared = || again.indexes().is_ok_and(|all| all.len() > 1);
            (0..1000).take_while(|_| !declared()).for_each(|_| alluvium_env::thread::yield_now());
            again.put(3, r#"{"k":3,"n":0}"#).unwrap();
            flushed.flush().unwrap();
        }));
        let (other, files) = (db.clone(), pets.clone());
        threads.push(thread(move || {
            other.flush().unwrap();
            other.sweep_indexes().unwrap();
            look(&other, &files, &definition(K.0, K.1));
            other.compact().run().unwrap();
            look(&other, &files, &definition(K.0, K.1));
        }));
        pets.create_index(K.0).run().unwrap();
        look(&db, &pets, &definition(K.0, K.1));
        join(threads);
        healthy(&db);
        // The merge combined the entries of the build with those written concurrently. Of equal entries only the newer
        // one remains, which a sweep must handle.
        db.compact().run().unwrap();
        db.sweep_indexes().unwrap();
        healthy(&db);
    });
}

#[test]
fn indexes_come_and_go_among_writers() {
    schedules("indexes_come_and_go_among_writers", 250, || {
        let (_world, db, pets) = open();
        pets.put(0, r#"{"k":0}"#).unwrap();
        let mut threads = Vec::new();
        for writer in 0..2 {
            let pets = pets.clone();
            threads.push(thread(move || {
                for k in 0..3 {
                    pets.put(writer, format!(r#"{{"k":{k}}}"#)).unwrap();
                    pets.update_one(r#"{"_id": 0}"#, format!(r#"{{"$set":{{"k":{k}}}}}"#).as_str()).run().unwrap();
                }
            }));
        }
        let dropper = pets.clone();
        threads.push(thread(move || {
            // The index may not exist yet.
            let dropped = dropper.drop_index("k_1");
            assert!(dropped.as_ref().err().is_none_or(|e| e.kind() == ErrorKind::Namespace), "{dropped:?}");
        }));
        let (files, looked) = (db.clone(), pets.clone());
        threads.push(thread(move || {
            files.flush().unwrap();
            look(&files, &looked, &definition(K.0, K.1));
            files.store().run_pending().unwrap();
        }));
        // Either index may be dropped while it is being built.
        for _ in 0..2 {
            match pets.create_index(K.0).run() {
                Ok(_) => {}
                Err(error) => assert_eq!(error.kind(), ErrorKind::Namespace, "{error}"),
            }
            look(&db, &pets, &definition(K.0, K.1));
        }
        join(threads);
        pets.create_index(K.0).run().unwrap();
        healthy(&db);
    });
}

#[test]
fn arrays_are_marked_before_they_are_written() {
    marked_before_it_is_written("arrays_are_marked_before_they_are_written", r#"{"k":[1,2]}"#);
}

#[test]
fn long_keys_are_marked_before_they_are_written() {
    let long = format!(r#"{{"k":"{}"}}"#, "k".repeat(9000));
    marked_before_it_is_written("long_keys_are_marked_before_they_are_written", &long);
}

/// Writers put the first documents for which the index needs a certain mark, and the process is killed.
fn marked_before_it_is_written(name: &str, document: &str) {
    let document = document.to_owned();
    schedules(name, 250, move || {
        let (world, db, pets) = open();
        pets.create_index(K.0).run().unwrap();
        let cuts: Arc<Mutex<Vec<World>>> = Arc::default();
        let (mem, into) = (world.mem.clone(), cuts.clone());
        world.faults.set_hook(Some(Arc::new(move |op: &Op<'_>| {
            if op.kind == OpKind::Write && into.lock().len() < 6 {
                let disk = World::over(mem.kill_clone(), op.number);
                into.lock().push(disk);
            }
        })));
        let writers: Vec<_> = (0..3)
            .map(|writer| {
                let (pets, document) = (pets.clone(), document.clone());
                thread(move || pets.put(writer, document.as_str()).unwrap())
            })
            .collect();
        join(writers);
        world.faults.set_hook(None);
        healthy(&db);
        for cut in std::mem::take(&mut *cuts.lock()) {
            let db = cut.open(&alluvium_store::Options { partitions: None, ..small_options() }).unwrap();
            healthy(&db);
        }
    });
}

#[test]
fn a_power_cut_beside_a_build_leaves_what_the_documents_yield() {
    schedules("a_power_cut_beside_a_build_leaves_what_the_documents_yield", 300, || {
        let (world, db, pets) = open();
        pets.put(0, r#"{"k":0}"#).unwrap();
        let cuts: Arc<Mutex<Vec<World>>> = Arc::default();
        let (mem, into) = (world.mem.clone(), cuts.clone());
        let chance = || shuttle::rand::Rng::r#gen::<bool>(&mut shuttle::rand::thread_rng());
        world.faults.set_hook(Some(Arc::new(move |op: &Op<'_>| {
            if op.kind.changes() && chance() {
                let style = if chance() { CrashStyle::AllLost } else { CrashStyle::Any };
                let disk = World::over(mem.crash_clone(op.number, style), op.number);
                into.lock().push(disk);
            }
        })));
        // Writers do not wait for the log, so documents that the build reads may be lost.
        let writer = pets.clone();
        let writer = thread(move || {
            for k in 1..12 {
                writer.put(k % 3, format!(r#"{{"k":{k}}}"#)).unwrap();
            }
        });
        pets.create_index(K.0).run().unwrap();
        join([writer]);
        world.faults.set_hook(None);
        healthy(&db);
        drop(db);
        for cut in std::mem::take(&mut *cuts.lock()) {
            let db = cut.open(&alluvium_store::Options { partitions: None, ..small_options() }).unwrap();
            healthy(&db);
            db.finish_indexes().unwrap();
            let pets = db.collection("pets");
            // Sequence numbers that were lost are assigned again, to other keys.
            for k in 20..26 {
                pets.put(k % 3, format!(r#"{{"k":{k}}}"#)).unwrap();
                healthy(&db);
            }
        }
    });
}

#[test]
fn a_checkpoint_has_what_it_says_is_built() {
    schedules("a_checkpoint_has_what_it_says_is_built", 400, || {
        let (world, db, pets) = open();
        for id in 0..4 {
            pets.put(id, format!(r#"{{"k":{id}}}"#)).unwrap();
        }
        let builder = pets.clone();
        let builder = thread(move || drop(builder.create_index(K.0).run().unwrap()));
        let dir = Path::new("checkpoint");
        db.checkpoint(dir).run().unwrap();
        join([builder]);
        let to = Path::new("restored");
        backup::restore(dir, to).env(world.env.clone()).quick(true).run().unwrap();
        let restored = Database::builder().env(world.env.clone()).options(small_options()).open(to).unwrap();
        healthy(&restored);
        restored.finish_indexes().unwrap();
        healthy(&restored);
    });
}

#[test]
fn an_index_that_is_gone_deletes_nothing() {
    schedules("an_index_that_is_gone_deletes_nothing", 400, || {
        let (world, db, pets) = open();
        let expired = || Map::from([("when", Value::DateTime(0))]);
        pets.create_index(r#"{"when":1}"#).options(r#"{"expireAfterSeconds":1}"#).run().unwrap();
        pets.put(1, expired()).unwrap();
        pets.put(2, expired()).unwrap();
        let (other, keeper) = (db.clone(), pets.clone());
        let keeper = thread(move || {
            other.drop_collection("pets").unwrap();
            keeper.put(1, Map::from([("when", Value::DateTime(0))])).unwrap();
            keeper.put(2, Map::from([("when", Value::DateTime(0))])).unwrap();
        });
        db.delete_expired().unwrap();
        join([keeper]);
        assert_eq!(pets.count().unwrap(), 2, "documents without an index never expire");
        drop(world);
    });
}

#[test]
fn loads_are_made_again_when_indexes_come() {
    schedules("loads_are_made_again_when_indexes_come", 150, || {
        let (_world, db, pets) = open();
        let builder = pets.clone();
        let builder = thread(move || drop(builder.create_index(K.0).run().unwrap()));
        let lines = b"{\"_id\":1,\"k\":1}\n{\"_id\":2,\"k\":[2]}\n{\"_id\":3}\n".to_vec();
        let input = alluvium::load::Input::stream("lines", std::io::Cursor::new(lines));
        pets.load(input).readers(1).writers(1).run().unwrap();
        join([builder]);
        assert_eq!(pets.count().unwrap(), 3);
        healthy(&db);
    });
}
