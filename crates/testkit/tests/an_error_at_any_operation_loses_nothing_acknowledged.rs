//! The disk fails in the middle of work. The failure occurs at every change of a sequence, once or from then on: an I/O
//! error or a lack of space, a write that is done in part, a sync that loses pages, or a change that is done although
//! an error is reported. Failures also occur at any operation while a database is opened or created. Errors are
//! reported; reads continue and are right; a poisoned database accepts no write; and opening it again recovers
//! everything that was acknowledged, even if the power is cut before the next change.

use alluvium::ErrorKind;
use alluvium_env::fault::{Fault, OpKind};
use alluvium_testkit::faults::client::FaultClient;
use alluvium_testkit::faults::errors::{self, Effect, Point, Tally};
use alluvium_testkit::key_value::errors as faults;
use alluvium_testkit::worlds::FileKind;
use alluvium_testkit::{Phase, seed, sequence};
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

/// A random fault within the next operations. The result is true if it may also occur at a read.
fn fault(rng: &mut fastrand::Rng) -> (Fault, bool) {
    let mut fault = Fault::nth(rng.u64(1..40));
    let mut reads = false;
    match rng.u32(0..10) {
        0..=3 => fault = fault.of_changes(),
        4..=5 => fault = fault.of(OpKind::Sync),
        6 => fault = fault.of(OpKind::Write),
        7 => (fault, reads) = (fault.of(OpKind::Read), true),
        8 => fault = fault.of([OpKind::Create, OpKind::Allocate, OpKind::SyncDir, OpKind::Remove][rng.usize(0..4)]),
        _ => reads = true,
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
    (if rng.bool() { fault.from_then_on() } else { fault }, reads)
}

/// Runs a client on a working disk, then with a fault, and then on a working disk again. Counts the faults. A failing
/// sequence is shortened.
fn one(seed: u64, count: &dyn Fn(String)) {
    let mut rng = fastrand::Rng::with_seed(seed);
    let good = rng.u32(0..14);
    let (fault, reads) = fault(&mut rng);
    let goes_on = rng.u8(0..4) > 0;
    sequence::check(good + rng.u32(1..26), |steps| {
        let mut client = FaultClient::new(seed, u64::MAX);
        let (before, behind): (Vec<u32>, Vec<u32>) = steps.iter().partition(|number| **number < good);
        for number in before {
            assert!(client.numbered_step(seed, number), "the disk is good still: {:?}", client.errors);
        }
        client.reads_may_fail = reads;
        client.world.faults.inject(fault.clone());
        for number in behind {
            client.numbered_step(seed, number);
        }
        client.look("while the disk is bad");
        count(format!("fired: {}", client.world.faults.fired() > 0));
        client.world.faults.clear();
        if goes_on {
            client.goes_on();
        }
        for kind in &client.errors {
            count(format!("{kind:?}"));
        }
        client.recover();
    });
}

#[test]
fn an_error_at_any_operation_loses_nothing_acknowledged() {
    const SEQUENCES: u64 = 800;
    let met: RefCell<BTreeMap<String, u64>> = RefCell::default();
    let count = |what: String| *met.borrow_mut().entry(what).or_default() += 1;
    let name = "an_error_at_any_operation_loses_nothing_acknowledged an_error_at_any_operation_loses_nothing";
    seed::each(name, 0, SEQUENCES, |seed| one(seed, &count));
    println!("{:?}", met.borrow());
    seed::tally("faults", met.borrow().get("fired: true").copied().unwrap_or(0));
    if seed::is_usual(SEQUENCES) {
        for what in ["fired: true", "Io", "NoSpace", "Poisoned", "OutcomeUnknown"] {
            assert!(met.borrow().contains_key(what), "never met: {what}");
        }
    }
    seed::must_have_met(
        SEQUENCES,
        &[
            &alluvium_wal::marks::LOG_POISONED,
            &alluvium_lsm::marks::MANIFEST_POISONED,
            &alluvium_store::marks::STORE_POISONED,
            &alluvium_store::marks::WRITE_WITHOUT_SPACE,
            &alluvium_lsm::marks::OUTPUT_TAKEN_BACK,
        ],
    );
}

/// The kinds of changes that must each have failed in each way.
fn required() -> BTreeSet<Point> {
    use FileKind::{Directory, Lock, Log, Manifest, Sst, Superblock};
    use OpKind::{Allocate, Create, CreateDir, HardLink, Remove, Rename, SetLen, Sync, SyncDir, Write};
    let mut kinds = BTreeSet::new();
    let mut add = |phases: &[Phase], file: FileKind, ops: &[OpKind]| {
        kinds.extend(phases.iter().flat_map(|phase| ops.iter().map(|op| (*phase, file, *op))));
    };
    add(&[Phase::Create], Lock, &[OpKind::Lock]);
    add(&[Phase::Create], Directory, &[CreateDir, SyncDir]);
    add(&[Phase::Create], Superblock, &[Create, Write, Sync, Rename]);
    add(&[Phase::Create, Phase::Open], Manifest, &[Create, Write, Sync, Rename]);
    add(&[Phase::Create, Phase::Open], Log, &[Create, Write, Allocate, Sync]);
    add(&[Phase::Open], Lock, &[OpKind::Lock]);
    add(&[Phase::Open], Manifest, &[Remove]);
    add(&[Phase::Open, Phase::Write, Phase::Flush, Phase::Compaction, Phase::Checkpoint], Directory, &[SyncDir]);
    add(&[Phase::Close], Log, &[Write, SetLen, Sync]);
    add(&[Phase::Write, Phase::Load], Log, &[Create, Write, Allocate, Sync]);
    add(&[Phase::Schema, Phase::Index], Log, &[Write, Sync]);
    add(&[Phase::Sync], Log, &[Sync]);
    add(&[Phase::Flush, Phase::Compaction], Log, &[Write, Sync, Remove]);
    add(&[Phase::Flush, Phase::Compaction, Phase::Index], Sst, &[Create, Write, Sync]);
    add(&[Phase::Flush, Phase::Compaction, Phase::Index], Manifest, &[Write, Sync]);
    add(&[Phase::Compaction], Sst, &[Remove]);
    add(&[Phase::Checkpoint], Sst, &[HardLink]);
    add(&[Phase::Checkpoint], Directory, &[CreateDir, Write, Sync, Rename]);
    add(&[Phase::Checkpoint], Log, &[Write, Sync]);
    kinds
}

#[test]
fn at_every_change_of_a_sequence() {
    const SEQUENCES: u64 = 6 * errors::PARTS;
    let met = RefCell::new(Tally::default());
    let every = !seed::is_usual(SEQUENCES);
    seed::each("an_error_at_any_operation_loses_nothing_acknowledged at_every_change", 0, SEQUENCES, |seed| {
        errors::run(seed, every, &mut met.borrow_mut());
    });
    let met = met.into_inner();
    let total: u64 = met.faults.values().sum();
    println!("{total} faults, {} cuts right after one; {:?}; {:?}", met.cuts, met.errors, met.ends);
    seed::tally("faults", total);
    if every {
        return;
    }
    let mut missed = Vec::new();
    for point in required() {
        for effect in Effect::all(point.2) {
            let met = [false, true].iter().any(|lasting| met.faults.contains_key(&(point, *effect, *lasting)));
            if !met {
                missed.push((point, *effect));
            }
        }
        for lasting in [false, true] {
            let met = Effect::all(point.2).iter().any(|effect| met.faults.contains_key(&(point, *effect, lasting)));
            assert!(met, "no fault of {point:?} that is lasting: {lasting}");
        }
    }
    assert!(missed.is_empty(), "these faults never struck: {missed:?}");
    assert!(met.cuts > total / 4, "{} cuts after {total} faults", met.cuts);
    for end in ["not open", "poisoned", "went on after no space", "went on after an error"] {
        assert!(met.ends.contains_key(end), "no sequence ended so: {end}");
    }
}

#[test]
fn at_each_change_of_short_sequences_in_every_way() {
    const SEQUENCES: u64 = 3;
    let (met, faults) = (RefCell::new(Tally::default()), RefCell::new(BTreeMap::<u64, (u64, u64)>::new()));
    let name = "an_error_at_any_operation_loses_nothing_acknowledged of_short_sequences";
    seed::each(name, 0, SEQUENCES * errors::PARTS, |seed| {
        let (all, made) = errors::run_short(seed, &mut met.borrow_mut());
        let mut faults = faults.borrow_mut();
        let sum = faults.entry(seed / errors::PARTS).or_default();
        *sum = (all, sum.1 + made);
    });
    let (met, faults) = (met.into_inner(), faults.into_inner());
    println!("faults of all that there are, by sequences: {faults:?}; {:?}; {:?}", met.errors, met.ends);
    seed::tally("faults", faults.values().map(|(_, made)| made).sum());
    if seed::is_usual(SEQUENCES * errors::PARTS) {
        for sequence in 0..SEQUENCES {
            let (all, made) = faults[&sequence];
            assert!(all == made && all >= 400, "of {all} faults of the sequence {sequence} {made} were made");
        }
        assert_eq!(met.faults.values().sum::<u64>(), faults.values().map(|(_, made)| made).sum::<u64>());
    }
    seed::must_have_met(SEQUENCES * errors::PARTS, &[&alluvium_wal::marks::SEGMENT_IN_DOUBT]);
}

#[test]
fn at_changes_of_a_store_with_deletes_of_ranges() {
    const SEQUENCES: u64 = 8;
    let met = RefCell::new(faults::Tally::default());
    let name = "an_error_at_any_operation_loses_nothing_acknowledged with_deletes_of_ranges";
    seed::each(name, 30_000, SEQUENCES, |seed| faults::sweep(seed, &mut met.borrow_mut()));
    let met = met.into_inner();
    let total: u64 = met.faults.values().sum();
    println!("{total} faults, {} cuts right after one; {:?}", met.cuts, met.reported);
    seed::tally("faults", total);
    if seed::is_usual(SEQUENCES) {
        for word in ["an error", "no space", "poisoned", "outcome unknown"] {
            assert!(met.reported.contains_key(word), "never reported: {word}");
        }
        assert!(met.cuts > total / 4, "{} cuts after {total} faults", met.cuts);
    }
}

/// Fails every operation of opening or creating a database, one in each run. The ways of failing alternate, and differ
/// with the next seed.
fn open_with_faults(seed: u64, create: bool) {
    use Effect::{Error, LostPages, NoSpace, Short, ThoughDone};
    for nth in 1.. {
        let mut client = match create {
            true => FaultClient::begin(seed, u64::MAX),
            false => FaultClient::new(seed, u64::MAX),
        };
        for _ in 0..if create { 0 } else { 12 } {
            assert!(client.step(), "the disk is good still: {:?}", client.errors);
        }
        // The process was killed, or, with every other seed, the power was cut.
        match seed % 2 == 1 && !create {
            true => client.cut(),
            false => client.kill(),
        }
        let effect = [Error, NoSpace, Short, LostPages, ThoughDone][((nth + seed) % 5) as usize];
        let fault = effect.on(Fault::nth(nth), client.rng());
        let fault = if client.rng().bool() { fault.from_then_on() } else { fault };
        client.world.faults.inject(fault);
        let options = alluvium_testkit::random_options(client.rng(), 1, alluvium::Durability::Sync);
        let options = alluvium_store::Options { partitions: None, ..options };
        let opened = client.world.open(&options);
        let struck = client.world.faults.fired() > 0;
        client.world.faults.clear();
        match opened {
            // The fault had no effect on opening, or there were fewer operations.
            Ok(db) => client.found(&db, &format!("opened with {effect:?} at {nth}")),
            Err(error) => {
                let named = matches!(error.kind(), ErrorKind::Io | ErrorKind::NoSpace);
                let text = error.to_string();
                assert!(named && (text.contains("db") || text.contains(" .:")), "{nth}: {effect:?}: {text}");
            }
        }
        client.recover();
        if !struck {
            assert!(nth > 20, "opening has that many operations at least");
            break;
        }
    }
}

#[test]
fn an_error_at_any_operation_of_opening_changes_nothing() {
    let name = "an_error_at_any_operation_loses_nothing_acknowledged of_opening";
    seed::each(name, 0, 25, |seed| open_with_faults(seed, false));
}

#[test]
fn an_error_at_any_operation_of_creating_leaves_nothing_in_the_way() {
    let name = "an_error_at_any_operation_loses_nothing_acknowledged of_creating";
    seed::each(name, 0, 15, |seed| open_with_faults(seed, true));
}
