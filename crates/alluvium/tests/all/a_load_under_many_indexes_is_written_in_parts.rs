//! If a slice of a load, with its index entries, exceeds the largest possible batch, the slice is
//! written in parts, with the same result.

use alluvium::load::{Format, Input, Load, OnBad, OnDuplicate};
use alluvium::{Collection, Database, Error, ErrorKind};
use alluvium_env::sync::Mutex;
use std::sync::Arc;

/// A writer of rejected lines whose content the test can read.
#[derive(Clone, Default)]
struct Rejects(Arc<Mutex<Vec<u8>>>);

impl std::io::Write for Rejects {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// With this budget a batch has at most 1.6 MB. The index entries of a slice of 128 KB exceed this
/// size.
const SMALL: usize = 8 << 20;
const LARGE: usize = 256 << 20;

fn database(memory: usize, unique: bool) -> (Database, Collection) {
    let db = Database::builder().env(alluvium_env::Env::in_memory(1)).memory(memory).partitions(2).open("db").unwrap();
    let c = indexed(&db, unique);
    (db, c)
}

fn indexed(db: &Database, unique: bool) -> Collection {
    let c = db.collection("c");
    for keys in [r#"{"a": 1}"#, r#"{"a": -1}"#, r#"{"a": 1, "n": 1}"#] {
        c.create_index(keys).run().unwrap();
    }
    if unique {
        c.create_index(r#"{"u": 1}"#).unique(true).run().unwrap();
    }
    c
}

fn document(id: i32, u: i32) -> String {
    let elements: Vec<String> = (0..60).map(|element| (element + id % 7).to_string()).collect();
    format!(r#"{{"_id": {id}, "n": {id}, "u": {u}, "a": [{}]}}"#, elements.join(","))
}

fn documents() -> Vec<String> {
    (0..1500).map(|id| document(id, id)).collect()
}

/// The figures of a load or its error, the rejected lines, and the documents in the collection.
type Seen = (std::result::Result<(u64, u64, u64, u64), String>, String, Vec<String>);

fn load(memory: usize, unique: bool, text: &str, with: impl Fn(Load<'_>) -> Load<'_>) -> Seen {
    let (db, c) = database(memory, unique);
    c.put("has it", r#"{"u": -1}"#).unwrap();
    c.put(1200, r#"{"u": -2}"#).unwrap();
    let rejects = Rejects::default();
    let input = Input::stream("input", std::io::Cursor::new(text.as_bytes().to_vec()));
    let result = with(c.load(input)).rejects(rejects.clone()).run();
    let figures = result.map(|done| (done.documents, done.duplicates, done.rejected, done.bytes));
    assert!(memory != SMALL || db.verify().run().unwrap().damage.is_empty());
    let rejected = String::from_utf8(rejects.0.lock().clone()).unwrap();
    let left = c.scan().run().unwrap().map(|document| document.unwrap().to_string()).collect();
    (figures.map_err(|error| error.to_string()), rejected, left)
}

/// Loads the text with both budgets, and compares the effects.
fn compared(unique: bool, text: &str, with: impl Fn(Load<'_>) -> Load<'_>) -> Seen {
    let (small, large) = (load(SMALL, unique, text, &with), load(LARGE, unique, text, &with));
    assert_eq!(small.0, large.0);
    assert_eq!(small.1, large.1);
    assert!(small.2 == large.2, "{:?}", small.0);
    small
}

#[test]
fn all_documents_come_in() {
    let lines = documents().join("\n");
    let (_, c) = database(SMALL, false);
    let report = c.load(Input::stream("input", std::io::Cursor::new(lines.into_bytes()))).run();
    assert_eq!(report.unwrap().documents, 1500);
    assert_eq!(c.count().unwrap(), 1500);
}

#[test]
fn duplicates_are_found_as_ever() {
    let mut lines = documents();
    for at in [3, 400, 1100] {
        lines[at] = document(at as i32 - 1, -10 - at as i32);
    }
    lines.insert(500, String::new());
    let text = lines.join("\n");
    for (unique, on_duplicate) in [false, true]
        .into_iter()
        .flat_map(|u| [OnDuplicate::Skip, OnDuplicate::Replace, OnDuplicate::Error].map(|d| (u, d)))
    {
        let (result, _, left) = compared(unique, &text, |load| load.on_duplicate(on_duplicate));
        match on_duplicate {
            OnDuplicate::Skip => assert_eq!(result.map(|figures| (figures.0, figures.1)), Ok((1496, 4))),
            OnDuplicate::Replace => assert_eq!((result.map(|figures| figures.0), left.len()), (Ok(1500), 1498)),
            OnDuplicate::Error => assert!(result.unwrap_err().starts_with("input line 4: "), "{}", left.len()),
        }
    }
    // The first duplicate comes long after the first part was written.
    let (result, _, left) = compared(false, &documents().join("\n"), |load| load);
    assert!(result.unwrap_err().starts_with("input line 1201: "));
    assert_eq!(left.len(), 1202);
}

#[test]
fn bad_documents_are_reported_with_their_lines() {
    let mut lines = documents();
    lines.retain(|line| !line.starts_with(r#"{"_id": 1200,"#));
    for at in [0, 7, 8, 350, 351, 700, 1498] {
        lines[at] = format!("  nonsense {at}");
    }
    lines.insert(600, "\n".to_owned());
    lines[1000] = document(5000, -1);
    let mut skipped = None;
    for format in [Format::JsonLines, Format::JsonArray] {
        let text = match format {
            Format::JsonLines => lines.join("\n"),
            // Elements of an array, several on a line, some of which are not documents.
            _ => {
                let elements: Vec<&String> = lines.iter().filter(|line| !line.trim().is_empty()).collect();
                let element =
                    |line: &&String| if line.contains("nonsense") { "17".to_owned() } else { (*line).clone() };
                let elements: Vec<String> = elements.iter().map(element).collect();
                format!("[{}]", elements.chunks(3).map(|three| three.join(", ")).collect::<Vec<_>>().join(",\n"))
            }
        };
        let (result, rejected, left) = compared(true, &text, |load| load.on_bad(OnBad::Skip).format(format.clone()));
        assert_eq!(result.map(|figures| (figures.0, figures.2)), Ok((1491, 8)));
        assert_eq!((rejected.lines().count(), left.len()), (8, 1493));
        assert_eq!(*skipped.get_or_insert_with(|| left.clone()), left);
        let late = text.replacen("nonsense 0", r#"{"u": 90000}"#, 1);
        let (result, ..) = compared(true, &late, |load| load.format(format.clone()));
        assert!(result.is_err());
    }
    // A bad line ends the load after some parts were written.
    let mut lines = documents();
    lines.truncate(1100);
    lines[1000] = "nonsense".to_owned();
    let (result, _, left) = compared(false, &lines.join("\n"), |load| load);
    assert!(result.unwrap_err().starts_with("input line 1001 column "));
    assert_eq!(left.len(), 1002);
}

#[test]
fn a_load_goes_on_with_the_line_that_ended_it() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("c.jsonl");
    std::fs::write(&file, documents().join("\n")).unwrap();
    let db = Database::builder().memory(SMALL).partitions(2).open(dir.path().join("db")).unwrap();
    let c = indexed(&db, false);
    c.put(1101, "{}").unwrap();
    let load = || c.load(Input::file(&file).unwrap()).run();
    for _ in 0..2 {
        let error = load().unwrap_err().to_string();
        assert!(error.contains("line 1102: "), "{error}");
        assert_eq!(c.count().unwrap(), 1102);
    }
    c.delete(1101).unwrap();
    let report = load().unwrap();
    assert_eq!((report.documents, report.documents_before, c.count().unwrap()), (399, 1101, 1500));
    assert!(db.verify().run().unwrap().damage.is_empty());
}

#[test]
fn a_document_that_fits_into_no_batch_is_named() {
    let tuning = alluvium_store::Tuning { max_batch_bytes: Some(SMALL / 5), ..alluvium_store::Tuning::default() };
    let options = alluvium_store::Options { tuning, ..alluvium_store::Options::default() };
    let env = alluvium_env::Env::in_memory(1);
    let db = Database::builder().env(env).options(options).memory(SMALL).partitions(2).open("db").unwrap();
    let c = indexed(&db, false);
    let elements: Vec<String> = (0..60_000).map(|element| element.to_string()).collect();
    let mut lines = documents();
    lines[700] = format!(r#"{{"_id": 700, "a": [{}]}}"#, elements.join(","));
    let input = Input::stream("input", std::io::Cursor::new(lines.join("\n").into_bytes()));
    let error = c.load(input).run().unwrap_err();
    let Error::LoadOf { line: 701, error: inner, .. } = &error else { panic!("{error}") };
    assert!(matches!(**inner, Error::Store(alluvium_store::Error::BatchTooLarge { .. })), "{error}");
    assert_eq!(error.kind(), ErrorKind::Invalid, "{error}");
    assert_eq!(c.count().unwrap(), 700);
}
