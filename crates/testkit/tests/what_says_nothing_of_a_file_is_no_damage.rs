//! A file may fail to open for a reason that says nothing about the file: too many open files, no memory, no
//! permission. Such a file is not damaged: verify, repair, and the checks of checkpoints and read-only stores return
//! the error, and report nothing as damaged or lost. A refusal by a failing disk is a finding or an error.

use alluvium::{Database, Error, ErrorKind, ReadOnly, backup, repair};
use alluvium_env::fault::{Fault, OpKind};
use alluvium_env::mem::CrashStyle;
use alluvium_testkit::formats::read_only;
use alluvium_testkit::{PATH, World};

/// `EIO`.
const FAILING_DISK: i32 = 5;
/// `ENOMEM`, `EACCES`, `ENFILE`, `EMFILE`.
const CIRCUMSTANCES: [i32; 4] = [12, 13, 23, 24];

/// A database with files in each partition and a log, a checkpoint of it, and a read-only store.
fn make() -> World {
    let world = World::new(1);
    let db = Database::builder().env(world.env.clone()).memory(8 << 20).partitions(2).open(PATH).unwrap();
    for id in 0..50 {
        db.collection("pets").put(id, r#"{"kind": "dog"}"#).unwrap();
        if id % 20 == 19 {
            db.flush().unwrap();
        }
    }
    db.checkpoint("made").run().unwrap();
    db.close().unwrap();
    read_only::build(&world.env, "store", &read_only::documents(100));
    world
}

/// Runs a check, and returns its findings.
fn run(world: &World, check: &str) -> Result<Vec<String>, Error> {
    let env = world.env.clone();
    let texts = |damage: Vec<Error>| damage.iter().map(ToString::to_string).collect();
    Ok(match check {
        "verify" => {
            let db = Database::builder().env(env).memory(8 << 20).open(PATH)?;
            texts(db.verify().run()?.damage)
        }
        "examine" => {
            let found = repair::examine(PATH).env(env).run()?;
            let losses = found.losses.iter().map(|loss| loss.what.clone());
            let numbers = found.lost_numbers.iter().map(|lost| format!("{lost:?}"));
            found.damage.iter().cloned().chain(losses).chain(numbers).collect()
        }
        "repair" => {
            let report = repair::repair(PATH, "new").env(env).memory(8 << 20).run()?;
            assert!(!report.is_whole() || report.documents() == 50, "{report:?}");
            if report.is_whole() { Vec::new() } else { vec![format!("{report:?}")] }
        }
        "checkpoint" => {
            let checked = backup::check("made").env(env).run()?;
            checked.damage.iter().map(ToString::to_string).collect()
        }
        _ => texts(ReadOnly::options().env(env).open("store")?.verify()?),
    })
}

#[test]
fn what_says_nothing_of_a_file_is_no_damage() {
    let world = make();
    for check in ["verify", "examine", "repair", "checkpoint", "read-only"] {
        let whole = world.cut(1, CrashStyle::AllKept);
        assert_eq!(run(&whole, check).unwrap(), Vec::<String>::new(), "{check}");
        let opens = whole.faults.count(OpKind::Open);
        assert!(opens > 3, "{check}: {opens}");
        for errno in [&CIRCUMSTANCES[..], &[FAILING_DISK]].concat() {
            let mut refused = 0;
            for (nth, lasting) in (1..=opens).flat_map(|nth| [(nth, false), (nth, true)]) {
                let disk = world.cut(1, CrashStyle::AllKept);
                let fault = Fault::nth(nth).of(OpKind::Open).os_error(errno);
                disk.faults.inject(if lasting { fault.from_then_on() } else { fault });
                let found = run(&disk, check);
                assert!(disk.faults.fired() > 0, "{check}, error {errno} of open {nth}");
                if errno == FAILING_DISK {
                    continue;
                }
                let what = format!("{check}, error {errno} of open {nth}");
                match found {
                    Ok(damage) => assert!(damage.is_empty(), "{what}: {damage:?}"),
                    Err(error) => {
                        assert_ne!(error.kind(), ErrorKind::Corruption, "{what}: {error}");
                        refused += 1;
                    }
                }
            }
            assert!(errno == FAILING_DISK || refused > 0, "{check}: error {errno} was never returned");
        }
    }
}
