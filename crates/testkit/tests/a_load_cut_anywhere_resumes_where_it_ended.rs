//! A load of a file is interrupted at any change to the disk, by a kill of the process or a power cut. The documents
//! found are the beginning of the file, in whole slices. If the file is loaded again, the load continues from there,
//! and in the end each line is loaded once. This is also true if the text ends without a newline, or if it is an array
//! or an object, where closing characters follow the last document.

use alluvium::load::{Format, Input, LoadReport, OnBad, OnDuplicate, Outcome};
use alluvium::{Database, Durability};
use alluvium_env::fault::Op;
use alluvium_env::mem::CrashStyle;
use alluvium_env::sync::Mutex;
use alluvium_env::{Env, OpenMode};
use alluvium_store::Options;
use alluvium_testkit::{World, seed};
use std::path::Path;
use std::sync::Arc;

const LINES: usize = 700;
const INPUT: &str = "input";

/// Formats, each with the text before, between and after the documents.
const TEXTS: [(Format, [&str; 3]); 5] = [
    (Format::JsonLines, ["", "\n", "\n"]),
    (Format::JsonLines, ["", "\n", ""]),
    (Format::JsonArray, ["[", ", ", "]"]),
    (Format::JsonArray, [" [\n", "\n,\n", "\n\n]\n\n"]),
    (Format::JsonObjects, ["", "\n\n", " "]),
];

fn options(seed: u64) -> Options {
    let mut rng = fastrand::Rng::with_seed(seed);
    Options { partitions: None, ..alluvium_testkit::random_options(&mut rng, 1, Durability::Periodic) }
}

/// A line of about 700 bytes. Every seventh line has no `_id`, so that one is generated.
fn line(n: usize) -> String {
    let text = format!("line {n} ").repeat(60 + n % 17);
    match n % 7 {
        0 => format!(r#"{{"n":{n},"text":"{text}"}}"#),
        _ => format!(r#"{{"_id":{n},"n":{n},"text":"{text}"}}"#),
    }
}

fn write_input(env: &Env, [before, between, behind]: [&str; 3], bad: Option<usize>) {
    let mut lines: Vec<String> = (0..LINES).map(line).collect();
    if let Some(bad) = bad {
        // An array is not a valid `_id`.
        lines[bad] = format!(r#"{{"_id":[{bad}],"n":{bad}}}"#);
    }
    let text = format!("{before}{}{behind}", lines.join(between));
    let file = env.fs.open(Path::new(INPUT), OpenMode::CreateNew).unwrap();
    file.write_at(text.as_bytes(), 0).unwrap();
    file.sync().unwrap();
    env.fs.sync_dir(Path::new("")).unwrap();
}

fn load(world: &World, db: &Database, format: &Format) -> alluvium::Result<LoadReport> {
    load_with(world, db, format, OnBad::Error)
}

fn load_with(world: &World, db: &Database, format: &Format, on_bad: OnBad) -> alluvium::Result<LoadReport> {
    let input = Input::file_in(&world.env, Path::new(INPUT))?;
    let (format, on_duplicate) = (format.clone(), OnDuplicate::Error);
    db.collection("c").load(input).format(format).readers(2).on_duplicate(on_duplicate).on_bad(on_bad).run()
}

/// The numbers of the lines that are loaded, sorted.
fn numbers(db: &Database) -> Vec<i64> {
    let Ok(scan) = db.collection("c").scan().run() else { return Vec::new() };
    let number = |map: alluvium::Map| map.get("n").and_then(alluvium::Value::as_i64).unwrap();
    let mut found: Vec<i64> = scan.map(|d| number(d.unwrap().to_map().unwrap())).collect();
    found.sort_unstable();
    found
}

/// Opens the disk after an interruption, compares its content, and continues the load.
fn check(disk: &World, format: &Format, context: &str, finished: bool, seed: u64) -> usize {
    let db = disk.open(&options(seed)).unwrap_or_else(|e| panic!("{context}: {e}"));
    let found = numbers(&db);
    assert_eq!(found, (0..found.len() as i64).collect::<Vec<_>>(), "{context}: not the beginning of the input");
    assert!(!finished || found.len() == LINES, "{context}: the load was acknowledged");
    let report = load(disk, &db, format).unwrap_or_else(|e| panic!("{context}: {e}"));
    match report.outcome {
        Outcome::AlreadyDone => assert_eq!(found.len(), LINES, "{context}"),
        _ => {
            assert_eq!(report.documents_before, found.len() as u64, "{context}: it goes on somewhere else");
            assert_eq!(report.documents as usize, LINES - found.len(), "{context}: it loads something twice");
        }
    }
    assert_eq!(numbers(&db), (0..LINES as i64).collect::<Vec<_>>(), "{context}");
    found.len()
}

#[test]
fn a_load_cut_anywhere_resumes_where_it_ended() {
    let beginnings = Mutex::new(std::collections::BTreeSet::new());
    seed::each("a_load_cut_anywhere_resumes_where_it_ended", 0, TEXTS.len() as u64, |seed| {
        let world = World::new(seed);
        let (format, parts) = &TEXTS[seed as usize % TEXTS.len()];
        write_input(&world.env, *parts, None);
        let db = world.open(&options(seed)).unwrap();
        let cuts: Arc<Mutex<Vec<(World, String)>>> = Arc::default();
        let (mem, into) = (world.mem.clone(), cuts.clone());
        world.faults.set_hook(Some(Arc::new(move |op: &Op<'_>| {
            let disk = match op.number % 4 {
                0 => mem.kill_clone(),
                1 => mem.crash_clone(op.number, CrashStyle::AllLost),
                _ => mem.crash_clone(op.number, CrashStyle::Any),
            };
            into.lock().push((World::over(disk, op.number), format!("before {:?} of {}", op.kind, op.path.display())));
        })));
        let report = load(&world, &db, format).unwrap();
        world.faults.set_hook(None);
        assert_eq!((report.outcome, report.documents as usize), (Outcome::Done, LINES));
        let cuts = std::mem::take(&mut *cuts.lock());
        assert!(cuts.len() > 10);
        for (disk, context) in cuts {
            beginnings.lock().insert(check(&disk, format, &format!("seed {seed}, {context}"), false, seed + 1));
        }
        check(&world.cut(seed, CrashStyle::AllLost), format, "after the load", true, seed + 2);
    });
    let beginnings = beginnings.into_inner();
    println!("loads went on after {beginnings:?} lines");
    assert!(seed::replayed().is_some() || beginnings.len() > 3, "{beginnings:?}");
}

/// Each run ends at the bad record again, and the records before it are loaded once. A run that skips bad records
/// continues after it.
#[test]
fn a_load_that_failed_resumes_with_the_record_that_failed() {
    seed::each("a_load_cut_anywhere_resumes_where_it_ended", 0, 4 * TEXTS.len() as u64, |seed| {
        let world = World::new(seed);
        let (format, parts) = &TEXTS[seed as usize % TEXTS.len()];
        let bad = fastrand::Rng::with_seed(seed).usize(0..LINES);
        write_input(&world.env, *parts, Some(bad));
        let db = world.open(&options(seed)).unwrap();
        let mut said = None;
        for run in 0..3 {
            let error = load(&world, &db, format).expect_err("a record is bad").to_string();
            assert_eq!(said.get_or_insert_with(|| error.clone()), &error, "seed {seed}, run {run}");
            assert_eq!(numbers(&db), (0..bad as i64).collect::<Vec<_>>(), "seed {seed}, run {run}");
        }
        let report = load_with(&world, &db, format, OnBad::Skip).unwrap();
        assert_eq!((report.rejected, report.documents as usize), (1, LINES - 1 - bad), "seed {seed}");
        let others: Vec<i64> = (0..LINES as i64).filter(|n| *n != bad as i64).collect();
        assert_eq!(numbers(&db), others, "seed {seed}");
    });
}
