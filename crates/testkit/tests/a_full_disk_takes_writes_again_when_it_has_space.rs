//! The disk becomes full at any time of any operation. Writes are refused by name and change nothing, reads continue,
//! and when there is more space, the same open database accepts writes again.

use alluvium::{Database, Durability, ErrorKind};
use alluvium_testkit::faults::client::FaultClient;
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
    // Text that cannot be compressed.
    let text = |n: u64| {
        let mut rng = fastrand::Rng::with_seed(n);
        let text: String = (0..1500).map(|_| rng.alphanumeric()).collect();
        format!(r#"{{"_id":{n},"text":"{text}"}}"#)
    };
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
