//! The disk is full, at any moment of any operation: writes are refused by name and change
//! nothing, reads go on, and with more space the same open database goes on.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use alluvium::{Database, Durability, ErrorKind};
use env::marks::Rare;
use std::cell::RefCell;
use std::collections::BTreeMap;
use testkit::{Careful, World, seed};

#[test]
fn a_full_disk_that_gets_space_goes_on() {
    let met: RefCell<BTreeMap<String, u64>> = RefCell::default();
    seed::each("a_full_disk_that_gets_space_goes_on", 0, 250, |seed| {
        let mut client = Careful::new(seed, u64::MAX);
        for _ in 0..3 {
            for _ in 0..client.rng().usize(0..10) {
                assert!(client.step(), "there is space: {:?}", client.errors);
            }
            let more = client.rng().u64(0..24) * 4096;
            client.world.mem.set_capacity(client.world.mem.used_bytes() + more);
            for _ in 0..30 {
                client.step();
                client.look("on a full disk");
            }
            client.world.mem.set_capacity(u64::MAX);
            assert!(!client.poisoned, "a full disk does not poison: {:?}", client.errors);
            for kind in client.errors.drain(..) {
                assert_eq!(kind, ErrorKind::NoSpace);
                *met.borrow_mut().entry(format!("{kind:?}")).or_default() += 1;
            }
            client.goes_on();
            assert!(client.errors.is_empty(), "with space again: {:?}", client.errors);
        }
        client.recover();
    });
    println!("{:?}", met.borrow());
    assert!(seed::replayed().is_some() || !met.borrow().is_empty(), "the disk was never full");
    seed::must_have_met(250, &[Rare::WriteWithoutSpace, Rare::DiskRelieved]);
}

#[test]
fn with_background_threads_too() {
    let world = World::new(1);
    let options = store::Options {
        memory_bytes: 8 << 20,
        threads: Some(2),
        durability: Durability::Periodic,
        disk_reserve_bytes: Some(0),
        ..store::Options::default()
    };
    let db: Database = world.open(&options).unwrap();
    let documents = db.collection("documents");
    // Text that does not compress.
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
        // Space is found again by itself, within a look of the workers.
        let deadline = std::time::Duration::from_secs(10);
        let clock = env::Env::os().clock;
        let started = clock.now();
        while let Err(error) = documents.insert_one(text(n)) {
            assert_eq!(error.kind(), ErrorKind::NoSpace, "{error}");
            assert!(clock.now() - started < deadline, "it does not go on: {error}");
        }
        n += 1;
    }
    db.settle().unwrap();
    assert_eq!(documents.count().unwrap(), n);
    drop((db, documents));
    let db = world.killed().open(&options).unwrap();
    assert_eq!(db.collection("documents").count().unwrap(), n);
}
