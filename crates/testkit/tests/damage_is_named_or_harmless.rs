//! In a file of any kind, a byte is flipped, or the file is truncated to any length, removed, or replaced by another
//! file. The result is a named error or the right result, never a panic or a wrong result, and the check finds the
//! damage.

use alluvium::{Compression, Database};
use alluvium_store::Options;
use alluvium_testkit::faults::damage::Outcome::{Dropped, Earlier, Found, Harmless, Other, Refused, Reported};
use alluvium_testkit::faults::damage::{self, Counts, Coverage, Outcome, Specimen, Stride, Subject};
use alluvium_testkit::formats::fixtures::End;
use alluvium_testkit::{World, read_state, seed};
use std::cell::RefCell;
use std::path::Path;

/// Damages every subject once for each seed. All outcomes in `wanted` must occur.
fn damage(test: &str, usual: u64, subjects: &[Subject], stride: fn(&Path) -> Stride, wanted: &[(&str, &str, Outcome)]) {
    let counts = RefCell::new(Counts::new());
    let covered = RefCell::new(subjects.iter().map(|_| Coverage::default()).collect::<Vec<_>>());
    seed::each(&format!("damage_is_named_or_harmless {test}"), 1, usual, |seed| {
        for (subject, covered) in subjects.iter().zip(covered.borrow_mut().iter_mut()) {
            damage::tally(&mut counts.borrow_mut(), subject.damage(seed, stride, covered));
        }
    });
    let (counts, covered) = (counts.into_inner(), covered.into_inner());
    println!("bytes that were flipped: {:?}", Coverage::of_kinds(&covered));
    Coverage::tally(test, &covered);
    for ((kind, what, outcome), count) in &counts {
        println!("{kind} {what} {outcome:?} {count}");
    }
    if seed::is_usual(usual) {
        damage::must_have_met(&counts, wanted);
    }
}

fn small_databases() -> Vec<Subject> {
    let makes = [(Compression::None, true), (Compression::Zstd { level: 3 }, false), (Compression::Lz4, false)];
    let other = damage::small(Compression::Lz4, true, 9);
    makes.map(|(compression, closed)| damage::subject(damage::small(compression, closed, 1), &other)).into()
}

/// Each seed damages one small database or read-only store: flips every byte of every file, and truncates each file to
/// every length. Manifests and segments of the log, which consist mostly of zeros, are truncated to one in 61 lengths
/// (`wal` and `lsm` have their own tests of this). The usual two seeds cover files of all types, and four seeds cover
/// all subjects.
#[test]
fn of_every_byte() {
    let every = |path: &Path| match damage::kind_of(path).as_str() {
        "MANIFEST" | "wal-.log" => Stride { flips: 1, cuts: 61 },
        _ => Stride { flips: 1, cuts: 1 },
    };
    let mut subjects = small_databases();
    subjects.insert(2, damage::read_only());
    let usual = 2;
    let (counts, covered) = (RefCell::new(Counts::new()), RefCell::new(Vec::new()));
    covered.borrow_mut().resize_with(subjects.len(), Coverage::default);
    seed::each("damage_is_named_or_harmless of_every_byte", 1, usual, |seed| {
        let at = (seed % subjects.len() as u64) as usize;
        let more = subjects[at].damage(seed, every, &mut covered.borrow_mut()[at]);
        damage::tally(&mut counts.borrow_mut(), more);
    });
    let kinds = Coverage::of_kinds(covered.borrow().iter());
    println!("bytes that were flipped: {kinds:?}");
    Coverage::tally("of_every_byte", covered.borrow().iter());
    if seed::is_usual(usual) {
        for kind in ["ALLUVIUM", "MANIFEST", "sst", "wal-.log", "READONLY", "data.sst", "index-.idx"] {
            assert!(
                kinds.get(kind).is_some_and(|(flipped, all)| flipped == all),
                "not every byte of {kind}: {kinds:?}"
            );
        }
    }
}

/// Bytes and lengths of the files of small databases. A few seeds together cover all of them.
#[test]
fn of_small_databases() {
    let every = |path: &Path| match damage::kind_of(path).as_str() {
        "ALLUVIUM" | "LOCK" => Stride { flips: 1, cuts: 1 },
        "wal-.log" => Stride { flips: 13, cuts: 31 },
        _ => Stride { flips: 5, cuts: 11 },
    };
    let wanted = [
        ("ALLUVIUM", "flip", Refused),
        ("ALLUVIUM", "swap", Refused),
        ("MANIFEST", "flip", Refused),
        ("MANIFEST", "cut", Refused),
        ("MANIFEST", "swap", Refused),
        ("sst", "flip", Found),
        ("sst", "cut", Refused),
        ("sst", "swap", Refused),
        ("wal-.log", "flip", Refused),
        ("wal-.log", "flip", Dropped(1)),
        ("wal-.log", "flip", Reported),
        ("wal-.log", "cut", Refused),
        ("wal-.log", "cut", Dropped(1)),
        ("wal-.log", "remove", Refused),
        ("MANIFEST", "older", Refused),
        ("sst", "older", Refused),
        ("sst", "back", Harmless),
        ("wal-.log", "older", Refused),
        ("wal-.log", "back", Refused),
        ("wal-.log", "back", Harmless),
    ];
    damage("of_small_databases", 1, &small_databases(), every, &wanted);
}

/// Some bytes and lengths of databases that have content of every kind.
#[test]
fn of_databases_with_everything() {
    let some = |path: &Path| match damage::kind_of(path).as_str() {
        "ALLUVIUM" | "LOCK" => Stride { flips: 5, cuts: 5 },
        _ => Stride { flips: 97, cuts: 499 },
    };
    let closed = damage::fixture(End::Closed, 9);
    let subjects = [End::Killed, End::Ranges].map(|end| damage::subject(damage::fixture(end, 1), &closed));
    let wanted = [
        ("MANIFEST", "flip", Refused),
        ("MANIFEST", "flip", Reported),
        ("sst", "flip", Found),
        ("sst", "flip", Refused),
        ("sst", "swap", Refused),
        ("wal-.log", "flip", Refused),
    ];
    damage("of_databases_with_everything", 1, &subjects, some, &wanted);
}

#[test]
fn of_a_closed_database_with_dictionaries() {
    let few = |path: &Path| match damage::kind_of(path).as_str() {
        "ALLUVIUM" | "LOCK" => Stride { flips: 11, cuts: 11 },
        _ => Stride { flips: 499, cuts: 1999 },
    };
    let subject = damage::subject(damage::fixture(End::Closed, 1), &damage::fixture(End::Killed, 9));
    let wanted = [("MANIFEST", "flip", Refused), ("sst", "flip", Found), ("wal-.log", "flip", Refused)];
    damage("of_a_closed_database_with_dictionaries", 1, &[subject], few, &wanted);
}

#[test]
fn of_a_checkpoint() {
    let some = |path: &Path| match damage::kind_of(path).as_str() {
        "CHECKPOINT" => Stride { flips: 1, cuts: 11 },
        _ => Stride { flips: 149, cuts: 499 },
    };
    let wanted = [
        ("CHECKPOINT", "flip", Refused),
        ("CHECKPOINT", "swap", Refused),
        ("MANIFEST", "flip", Refused),
        ("sst", "flip", Refused),
        ("sst", "remove", Refused),
        ("wal-.log", "flip", Refused),
        ("wal-.log", "cut", Refused),
    ];
    damage("of_a_checkpoint", 1, &[damage::checkpoint()], some, &wanted);
}

#[test]
fn of_a_read_only_store() {
    let some = |path: &Path| match damage::kind_of(path).as_str() {
        "READONLY" => Stride { flips: 1, cuts: 1 },
        _ => Stride { flips: 7, cuts: 17 },
    };
    let wanted = [
        ("READONLY", "flip", Refused),
        ("READONLY", "swap", Refused),
        ("data.sst", "flip", Found),
        ("data.sst", "cut", Refused),
        ("index-.idx", "flip", Found),
        ("index-.idx", "swap", Found),
    ];
    damage("of_a_read_only_store", 1, &[damage::read_only()], some, &wanted);
}

#[test]
fn of_a_dump() {
    let some = |_: &Path| Stride { flips: 61, cuts: 61 };
    let wanted = [
        ("people.bson", "flip", Other),
        ("people.bson", "cut", Refused),
        ("people.bson.gz", "flip", Refused),
        ("people.bson.gz", "cut", Refused),
        ("people.metadata.json.gz", "cut", Refused),
        ("types.alluvium.jsonl", "remove", Refused),
    ];
    damage("of_a_dump", 1, &[damage::dump(false), damage::dump(true)], some, &wanted);
}

fn cut(made: &Specimen, path: &Path, at: u64) -> World {
    let disk = made.disk.killed();
    disk.env.fs.open(path, alluvium_env::OpenMode::ReadWrite).unwrap().set_len(at).unwrap();
    disk
}

/// The writes in the log are lost from the newest to the oldest, in this order only.
#[test]
fn a_log_cut_at_every_byte_after_a_kill() {
    let made = damage::small(Compression::None, false, 1);
    let (path, end, first_end) = damage::last_segment(&made);
    let mut lost = 0;
    // The groups are preceded by a header and zeros.
    for at in (0..end).rev().filter(|at| *at > 8100 || at % 97 == 0) {
        let disk = cut(&made, &path, at);
        match made.judge(&disk, alluvium_testkit::PATH, &format!("cut at {at} of {end}")) {
            // The header and the note were durable before the older segments were removed.
            Refused => assert!(at < first_end, "cut at {at} of {end}"),
            Dropped(now) | Earlier(now) => {
                assert!(now >= lost, "cut at {at}: more is lost by a later cut");
                assert!(at + 1 < end || now == 1, "the cut of one byte costs one write");
                lost = now;
            }
            other => panic!("cut at {at} of {end}: {other:?}"),
        }
    }
    assert!(lost >= 3, "the cuts went through several records, not {lost}");
}

#[test]
fn a_log_cut_after_a_clean_close_opens_for_who_accepts_it() {
    let made = damage::small(Compression::None, true, 1);
    let (path, end, _) = damage::last_segment(&made);
    let whole = read_state(&made.disk.killed().open(&made.options).unwrap()).unwrap();
    for at in (end - 80..end).rev() {
        let context = format!("cut at {at} of {end}");
        let disk = cut(&made, &path, at);
        assert_eq!(
            made.judge(&disk, alluvium_testkit::PATH, &context),
            Refused,
            "{context}: the seal says that more was there"
        );
        let willing = Options { accept_log_damage: true, ..made.options.clone() };
        let db: Database = disk.open(&willing).unwrap_or_else(|e| panic!("{context}: {e}"));
        assert!(read_state(&db).unwrap() != whole, "{context}");
        assert!(!db.report().lost.is_empty(), "{context}: nothing is reported");
    }
}
