//! The disk fails in the middle of work: once or from then on, with an I/O error or for want of
//! space, at any kind of operation, also with part of a write done or pages lost at a sync.
//! Errors say so; reads go on; a poisoned database takes no write; opening again recovers all
//! that was acknowledged.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use alluvium::ErrorKind;
use env::fault::{Fault, OpKind};
use env::marks::Rare;
use std::cell::RefCell;
use std::collections::BTreeMap;
use testkit::{Careful, seed};

/// A random fault within the next operations.
fn fault(rng: &mut fastrand::Rng) -> Fault {
    let mut fault = Fault::nth(rng.u64(1..40));
    match rng.u32(0..10) {
        0..=3 => fault = fault.of_changes(),
        4..=5 => fault = fault.of(OpKind::Sync),
        6 => fault = fault.of(OpKind::Write),
        7 => fault = fault.of(OpKind::Read),
        8 => fault = fault.of([OpKind::Create, OpKind::Allocate, OpKind::SyncDir, OpKind::Remove][rng.usize(0..4)]),
        _ => {}
    }
    match rng.u32(0..6) {
        0 => fault = fault.on(".log"),
        1 => fault = fault.on(".sst"),
        2 => fault = fault.on("MANIFEST"),
        _ => {}
    }
    match rng.u32(0..6) {
        0 => fault = fault.no_space(),
        1 => fault = fault.short(rng.usize(0..600)),
        2 => fault = fault.losing_pages(),
        3 => fault = fault.though_done(),
        _ => {}
    }
    if rng.bool() { fault.from_then_on() } else { fault }
}

/// A client on a good disk, then with a fault, then on a good one again. Counts what it met.
fn one(seed: u64, count: &dyn Fn(String)) {
    let mut client = Careful::new(seed, u64::MAX);
    for _ in 0..client.rng().usize(0..14) {
        assert!(client.step(), "the disk is good still");
    }
    let fault = fault(client.rng());
    client.world.faults.inject(fault);
    for _ in 0..25 {
        client.step();
    }
    count(format!("fired: {}", client.world.faults.fired() > 0));
    client.world.faults.clear();
    client.look("after the fault");
    if client.poisoned {
        assert!(!client.write(), "a poisoned database takes no write");
        assert_eq!(client.errors.last(), Some(&ErrorKind::Poisoned));
    }
    for kind in &client.errors {
        count(format!("{kind:?}"));
    }
    client.recover();
}

#[test]
fn an_error_at_any_operation_loses_nothing_acknowledged() {
    let met: RefCell<BTreeMap<String, u64>> = RefCell::default();
    let count = |what: String| *met.borrow_mut().entry(what).or_default() += 1;
    // A drop of an index had an unknown outcome, and a batch was made again for ever.
    one(349_962_157, &count);
    seed::each("an_error_at_any_operation_loses_nothing_acknowledged", 0, 1500, |seed| one(seed, &count));
    println!("{:?}", met.borrow());
    seed::tally("faults", met.borrow().get("fired: true").copied().unwrap_or(0));
    if seed::is_usual(1500) {
        for what in ["fired: true", "Io", "NoSpace", "Poisoned", "OutcomeUnknown"] {
            assert!(met.borrow().contains_key(what), "never met: {what}");
        }
    }
    seed::must_have_met(
        1500,
        &[
            Rare::LogPoisoned,
            Rare::ManifestPoisoned,
            Rare::StorePoisoned,
            Rare::WriteWithoutSpace,
            Rare::OutputTakenBack,
        ],
    );
}

#[test]
fn an_error_at_any_operation_of_opening_changes_nothing() {
    seed::each("an_error_at_any_operation_of_opening_changes_nothing", 0, 25, |seed| {
        for nth in 1.. {
            let mut client = Careful::new(seed, u64::MAX);
            for _ in 0..12 {
                assert!(client.step(), "the disk is good still");
            }
            let disk = client.world.killed();
            let fault = Fault::nth(nth);
            disk.faults.inject(match nth % 3 {
                0 => fault.no_space(),
                1 => fault.losing_pages(),
                _ => fault,
            });
            let options = testkit::random_options(client.rng(), 1, alluvium::Durability::Sync);
            let options = store::Options { partitions: None, ..options };
            if let Err(error) = disk.open(&options) {
                let named = matches!(error.kind(), ErrorKind::Io | ErrorKind::NoSpace | ErrorKind::Open);
                assert!(named && error.to_string().contains("db"), "{:?}: {error}", error.kind());
            }
            let struck = disk.faults.fired() > 0;
            client.world = disk;
            client.recover();
            if !struck {
                assert!(nth > 20, "opening has that many operations at least");
                break;
            }
        }
    });
}
