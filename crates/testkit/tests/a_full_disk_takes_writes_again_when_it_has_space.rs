//! The disk becomes full at any time of any operation. Writes are refused by name and change nothing, reads continue,
//! and when there is more space, the same open database accepts writes again.

use alluvium::{ChangeEvent, ChangeScope, Database, Durability, ErrorKind, Map, Value};
use alluvium_testkit::faults::client::FaultClient;
use alluvium_testkit::model::recorded_changes;
use alluvium_testkit::{World, seed, sequence};
use std::cell::RefCell;
use std::collections::BTreeMap;

/// The number of steps on a disk with space, and on a full one, for each time that the disk becomes full.
const ROUNDS: [(u32, u32); 3] = [(10, 30); 3];

/// Fills the disk of a client several times. A failing sequence is shortened.
fn one(seed: u64, refused: &dyn Fn(ErrorKind)) {
    let all = ROUNDS.iter().map(|(good, full)| good + full).sum();
    sequence::check(all, |steps| {
        let mut client = FaultClient::new(seed, u64::MAX);
        let mut first = 0;
        for (good, full) in ROUNDS {
            let of = |from: u32, to: u32| steps.iter().copied().filter(move |number| (from..to).contains(number));
            let mut rng = fastrand::Rng::with_seed(seed ^ u64::from(first));
            for number in of(first, first + rng.u32(0..good)) {
                assert!(client.numbered_step(seed, number), "there is space: {:?}", client.errors);
            }
            client.world.mem.set_capacity(client.world.mem.used_bytes() + rng.u64(0..24) * 4096);
            for number in of(first + good, first + good + full) {
                client.numbered_step(seed, number);
                client.look("on a full disk");
            }
            first += good + full;
            client.world.mem.set_capacity(u64::MAX);
            assert!(!client.poisoned, "a full disk does not poison: {:?}", client.errors);
            for kind in client.errors.drain(..) {
                assert_eq!(kind, ErrorKind::NoSpace);
                refused(kind);
            }
            client.goes_on();
            assert!(client.errors.is_empty(), "with space again: {:?}", client.errors);
        }
        client.recover();
    });
}

#[test]
fn a_full_disk_takes_writes_again_when_it_has_space() {
    let met: RefCell<BTreeMap<String, u64>> = RefCell::default();
    seed::each("a_full_disk_takes_writes_again_when_it_has_space", 0, 250, |seed| {
        one(seed, &|kind| *met.borrow_mut().entry(format!("{kind:?}")).or_default() += 1);
    });
    println!("{:?}", met.borrow());
    assert!(seed::replayed().is_some() || !met.borrow().is_empty(), "the disk was never full");
    seed::must_have_met(250, &[&alluvium_store::marks::WRITE_WITHOUT_SPACE, &alluvium_wal::marks::DISK_RELIEVED]);
}

/// A text that cannot be compressed.
fn text_of(seed: u64) -> String {
    let mut rng = fastrand::Rng::with_seed(seed);
    (0..1500).map(|_| rng.alphanumeric()).collect()
}

#[test]
fn with_background_threads_too() {
    let world = World::new(1);
    let options = alluvium_store::Options {
        memory_bytes: 8 << 20,
        threads: Some(2),
        durability: Durability::Periodic,
        disk_reserve_bytes: Some(0),
        ..alluvium_store::Options::default()
    };
    let db: Database = world.open(&options).unwrap();
    let documents = db.collection("documents");
    let text = |n: u64| format!(r#"{{"_id":{n},"text":"{}"}}"#, text_of(n));
    documents.insert_one(text(0)).unwrap();
    let mut n = 1;
    for _ in 0..2 {
        world.mem.set_capacity(world.mem.used_bytes() + (6 << 20));
        let refused = loop {
            match documents.insert_one(text(n)) {
                Ok(_) => n += 1,
                Err(error) => break error,
            }
            assert!(n < 100_000, "the disk is never full");
        };
        assert_eq!(refused.kind(), ErrorKind::NoSpace, "{refused}");
        assert!(documents.get(0).unwrap().is_some() && documents.get(n as i64 - 1).unwrap().is_some());
        assert!(documents.get(n as i64).unwrap().is_none(), "what was refused is not there");
        world.mem.set_capacity(u64::MAX);
        // The background threads notice the free space at their next check.
        let deadline = std::time::Duration::from_secs(10);
        let clock = alluvium_env::Env::os().clock;
        let started = clock.now();
        while let Err(error) = documents.insert_one(text(n)) {
            assert_eq!(error.kind(), ErrorKind::NoSpace, "{error}");
            assert!(clock.now() - started < deadline, "it does not go on: {error}");
        }
        n += 1;
    }
    db.wait_for_compaction().unwrap();
    assert_eq!(documents.count().unwrap(), n);
    drop((db, documents));
    let db = world.killed().open(&options).unwrap();
    assert_eq!(db.collection("documents").count().unwrap(), n);
}

/// The `_id` and the text of a document.
fn parts(document: &Map) -> (i64, String) {
    let id = document.get("_id").and_then(Value::as_i64).expect("a number");
    (id, document.get("text").and_then(Value::as_str).expect("a text").to_owned())
}

/// Checks that the documents are those of a map, and that the newest change of each leads to it.
fn check(db: &Database, last: &BTreeMap<i64, String>) {
    let found = db.collection("documents").scan().run().unwrap().map(|found| parts(&found.unwrap().to_map().unwrap()));
    assert!(found.eq(last.iter().map(|(id, text)| (*id, text.clone()))), "the documents");
    let newest: BTreeMap<i64, Option<String>> = recorded_changes(db)
        .unwrap()
        .iter()
        .map(|change| match &change.event {
            ChangeEvent::Insert { document } | ChangeEvent::Replace { document } => {
                (parts(document).0, Some(parts(document).1))
            }
            event => (event.id().and_then(Value::as_i64).expect("a number"), None),
        })
        .collect();
    assert!(newest.iter().all(|(id, text)| last.get(id) == text.as_ref()), "the newest changes");
    assert!(newest.len() >= last.len(), "each document was changed after the changes that are lost");
    assert!(db.verify().run().unwrap().damage.is_empty());
}

/// The same documents are written again and again, so what fills the disk are their recorded changes, which a stream has
/// not read.
#[test]
fn a_stream_that_is_never_read_gives_way_to_writes() {
    let world = World::new(1);
    let options = alluvium_store::Options {
        memory_bytes: 8 << 20,
        durability: Durability::Periodic,
        disk_reserve_bytes: Some(2 << 20),
        background: false,
        ..alluvium_store::Options::default()
    };
    let db: Database = world.open(&options).unwrap();
    let documents = db.create_collection("documents").run().unwrap();
    db.record_changes(ChangeScope::Everything).unwrap();
    let mut never_read = db.watch().run().unwrap();
    world.mem.set_capacity(world.mem.used_bytes() + (24 << 20));
    assert!(!db.trim_changes().unwrap(), "there is space");
    let (mut last, mut n) = (BTreeMap::new(), 0);
    for round in 0..3 {
        let refused = loop {
            let (id, text) = ((n % 20) as i64, text_of(n));
            match documents.put(id, format!(r#"{{"text":"{text}"}}"#)) {
                Ok(()) => drop(last.insert(id, text)),
                Err(error) => break error,
            }
            n += 1;
            assert!(n < 100_000, "the disk is never full");
            if n.is_multiple_of(500) {
                db.flush().unwrap();
                db.store().run_pending().unwrap();
            }
        };
        assert_eq!(refused.kind(), ErrorKind::NoSpace, "{refused}");
        let before = recorded_changes(&db).unwrap().len();
        assert!(db.trim_changes().unwrap(), "round {round}: the disk is short");
        let after = recorded_changes(&db).unwrap().len();
        assert!((before / 5..before / 3).contains(&after), "round {round}: of {before} changes {after} are left");
        // Their files go, and writes continue on the same disk.
        db.flush().unwrap();
        db.store().run_pending().unwrap();
    }
    documents.delete(0).unwrap();
    last.remove(&0);

    let token = never_read.token();
    let lost = [never_read.next_event().err(), db.watch().resume_after(token).run().err()];
    for error in lost.into_iter().map(|error| error.expect("the place is lost")) {
        assert_eq!(error.code(), Some((286, "ChangeStreamHistoryLost")));
        assert!(error.to_string().contains("read the documents at a snapshot, and continue after"), "{error}");
    }
    check(&db, &last);
    let mut next = db.watch().run().unwrap();
    documents.put(0, r#"{"text":"again"}"#).unwrap();
    assert!(next.next_event().unwrap().is_some(), "a stream that begins now");
    last.insert(0, "again".to_owned());
    drop((db, documents, next, never_read));
    world.mem.set_capacity(u64::MAX);
    check(&world.killed().open(&options).unwrap(), &last);
}
