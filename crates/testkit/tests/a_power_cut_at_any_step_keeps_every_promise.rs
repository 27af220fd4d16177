//! The power is cut before every write, sync, rename, creation and removal of generated sequences, in all three
//! durabilities. Each disk after a cut can be opened, and keeps the promises. In calm sequences a database first grows,
//! and then the power is cut before some changes.

use alluvium::Durability;
use alluvium_env::fault::OpKind;
use alluvium_testkit::faults::power_cuts::{self, Hits, PointKind, Size};
use alluvium_testkit::worlds::FileKind;
use alluvium_testkit::{Phase, seed, sequence};
use std::cell::{Cell, RefCell};

/// The number of sequences, each of which is run with every durability. Each flushes at least three times, and
/// compacts.
const SEQUENCES: u64 = 200;

/// The kinds of crash points that must all occur; otherwise the test would prove less than its name says.
fn required(durability: Durability) -> Vec<PointKind> {
    use FileKind::{Directory, Lock, Log, Manifest, Sst, Superblock};
    use OpKind::{Allocate, Create, CreateDir, Remove, Rename, SetLen, Sync, SyncDir, Write};
    let mut kinds = vec![
        (Phase::Create, Lock, OpKind::Lock),
        (Phase::Create, Directory, CreateDir),
        (Phase::Create, Directory, SyncDir),
    ];
    let mut add = |phases: &[Phase], file: FileKind, ops: &[OpKind]| {
        kinds.extend(phases.iter().flat_map(|phase| ops.iter().map(|op| (*phase, file, *op))));
    };
    add(&[Phase::Create], Superblock, &[Create, Write, Sync, Rename]);
    add(&[Phase::Create], Manifest, &[Create, Write, Sync, Rename]);
    add(&[Phase::Create], Log, &[Create, Write, Allocate, Sync]);
    add(&[Phase::Open], Manifest, &[Create, Write, Sync, Rename, Remove]);
    add(&[Phase::Open], Log, &[Create, Write, Allocate, Sync]);
    add(&[Phase::Open, Phase::Write, Phase::Flush, Phase::Compaction], Directory, &[SyncDir]);
    add(&[Phase::Close], Log, &[Write, SetLen, Sync]);
    // When a segment is full, the next one is created.
    add(&[Phase::Write, Phase::Schema, Phase::Load], Log, &[Create, Write, Allocate]);
    add(&[Phase::Flush, Phase::Compaction], Log, &[Create, Write, Allocate, Sync, Remove]);
    add(&[Phase::Flush, Phase::Compaction], Sst, &[Create, Write, Sync]);
    add(&[Phase::Compaction, Phase::Purge], Sst, &[Remove]);
    // The steps of the build of an index: the index is declared, its runs are written and recorded, and it becomes
    // ready.
    add(&[Phase::Index], Sst, &[Create, Write, Sync]);
    add(&[Phase::Index], Manifest, &[Write, Sync]);
    add(&[Phase::Index], Log, &[Write, Sync]);
    add(&[Phase::Index], Directory, &[SyncDir]);
    add(&[Phase::Purge], Log, &[Sync]);
    add(&[Phase::Purge], Manifest, &[Write, Sync]);
    add(&[Phase::Flush, Phase::Compaction], Manifest, &[Write, Sync]);
    // A manifest that has grown is rewritten, and the old file is removed.
    add(&[Phase::Flush, Phase::Compaction], Manifest, &[Create, Rename, Remove]);
    match durability {
        Durability::Sync => add(&[Phase::Write, Phase::Schema, Phase::Load], Log, &[Sync]),
        _ => add(&[Phase::Sync, Phase::Load], Log, &[Sync]),
    }
    kinds
}

fn cut_everywhere(test: &str, durability: Durability) {
    let (hits, sequences) = (RefCell::new(Hits::default()), Cell::new(0));
    let name = format!("a_power_cut_at_any_step_keeps_every_promise {test}");
    seed::each(&name, 0, SEQUENCES, |seed| {
        sequence::check(power_cuts::STEPS, |steps| hits.borrow_mut().add(&power_cuts::run(seed, durability, steps)));
        sequences.set(sequences.get() + 1);
    });
    let hits = hits.into_inner();
    println!(
        "{test}: {} cuts, {} of them lossy, {} second cuts, {} of them written on after, {} builds went on",
        hits.total(),
        hits.lossy,
        hits.second_cuts,
        hits.second_cuts_written_on,
        hits.unfinished
    );
    seed::tally("crash points", hits.total());
    seed::tally("sequences of power cuts", sequences.get());
    for ((phase, file, op), count) in &hits.points {
        println!("  {phase:?} {file:?} {op:?} {count}");
    }
    if seed::is_usual(SEQUENCES) {
        let missed: Vec<_> = required(durability).into_iter().filter(|kind| !hits.points.contains_key(kind)).collect();
        assert!(missed.is_empty(), "these kinds of crash point were never hit: {missed:?}");
        assert!(hits.lossy > 0 && hits.second_cuts_written_on > 0 && hits.unfinished > 0);
    }
    seed::must_have_met(
        SEQUENCES,
        &[
            &alluvium_wal::marks::TORN_LOG,
            &alluvium_wal::marks::UNFINISHED_SEGMENT,
            &alluvium_store::marks::UNFINISHED_CREATION,
            &alluvium_lsm::marks::LEFT_OVERS,
            &alluvium_testkit::marks::CRASH_DURING_RECOVERY,
            &alluvium_collections::marks::BUILD_RESUMED,
            &alluvium_collections::marks::BUILD_RESUMED_WITHIN,
            &alluvium_store::marks::SEALED_FOR_LOG,
            &alluvium_collections::marks::SHAPES_FULL,
        ],
    );
}

#[test]
fn under_sync() {
    cut_everywhere("under_sync", Durability::Sync);
}

#[test]
fn under_periodic() {
    cut_everywhere("under_periodic", Durability::Periodic);
}

#[test]
fn under_bulk() {
    cut_everywhere("under_bulk", Durability::Bulk);
}

/// The number of calm sequences. Each of them reads thousands of documents some hundred times.
const CALM: u64 = 3;

#[test]
fn of_a_database_that_has_grown() {
    let hits = RefCell::new(Hits::default());
    let name = "a_power_cut_at_any_step_keeps_every_promise of_a_database_that_has_grown";
    let one = |seed: u64, size: Size| {
        let durability = [Durability::Sync, Durability::Periodic, Durability::Bulk][(seed % 3) as usize];
        sequence::check(power_cuts::STEPS, |steps| {
            hits.borrow_mut().add(&power_cuts::run_calm(seed, durability, steps, size))
        });
    };
    match seed::is_large() {
        true => seed::each_of(name, seed::LARGE, "1", CALM, |seed| one(seed, Size::large(seed))),
        false => seed::each(name, 20_000, CALM, |seed| one(seed, Size::USUAL)),
    }
    let hits = hits.into_inner();
    println!("{} cuts of {} kinds, {} documents at most", hits.total(), hits.points.len(), hits.documents);
    seed::tally("crash points", hits.total());
    seed::tally("crash points of databases that have grown", hits.total());
    if seed::is_usual(CALM) {
        assert!(hits.documents >= u64::from(Size::USUAL.documents) && hits.points.len() >= 20, "too small: {hits:?}");
    }
}
