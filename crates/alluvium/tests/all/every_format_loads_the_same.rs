//! The same documents in every format give the same collection, even if the load is interrupted and
//! continued.

use alluvium::load::{Csv, FieldType, Format, Identity, Input, LoadReport, OnBad, Outcome};
use alluvium::{Database, Map, Value};
use std::io::{self, Cursor, Read};

const DOCUMENTS: usize = 12_000;

fn database(seed: u64) -> Database {
    // The smallest budget makes the load write many small slices.
    let env = alluvium_env::Env::in_memory(seed);
    Database::builder().env(env).memory(8 << 20).open("db").unwrap()
}

/// A document that rows of CSV can represent, too.
fn document(n: usize) -> Map {
    let mut inner = Map::new();
    inner.push("text", format!("some \"text\", with {n}\nlines, é and [{{"));
    if !n.is_multiple_of(3) {
        inner.push("half", n as f64 / 2.0);
    }
    let mut map = Map::new();
    map.push("_id", format!("id {n:05}"));
    map.push("n", n as i32);
    map.push("in", inner);
    map.push("even", n.is_multiple_of(2));
    map
}

fn json(n: usize, pretty: bool) -> String {
    let format = alluvium_document::json::Format { pretty, canonical: false };
    alluvium_document::json::to_string(&Value::Map(document(n)), format).unwrap()
}

/// The documents in each format.
fn inputs() -> Vec<(Format, Vec<u8>)> {
    let all = 0..DOCUMENTS;
    let lines: String = all.clone().map(|n| json(n, false) + "\n").collect();
    let one_line = format!("[{}]", all.clone().map(|n| json(n, false)).collect::<Vec<_>>().join(","));
    let pretty = all.clone().map(|n| json(n, true)).collect::<Vec<_>>();
    let fields: Vec<String> = all
        .clone()
        .map(|n| {
            let mut map = document(n);
            let id = map.remove("_id").unwrap();
            let text =
                alluvium_document::json::to_string(&Value::Map(map), alluvium_document::json::Format::RELAXED).unwrap();
            format!(
                "\n {} : {text}",
                alluvium_document::json::to_string(&id, alluvium_document::json::Format::RELAXED).unwrap()
            )
        })
        .collect();
    let mut bson = Vec::new();
    let mut exact = "\u{feff}".to_owned().into_bytes();
    for n in all {
        alluvium_document::bson::encode_document(&document(n), &mut bson).unwrap();
        alluvium_document::json::print_exact(&document(n), &mut exact).unwrap();
        exact.push(b'\n');
    }
    let types = vec![("in.half".to_owned(), FieldType::Double)];
    vec![
        (Format::JsonLines, lines.into_bytes()),
        (Format::JsonArray, one_line.into_bytes()),
        (Format::JsonArray, format!("\u{feff}[\n{}\n]\n", pretty.join(",\n")).into_bytes()),
        (Format::JsonObjects, pretty.join("\n").into_bytes()),
        (Format::JsonFields, format!("{{{}\n}}\n", fields.join(",")).into_bytes()),
        (Format::Csv(Csv { types: types.clone(), ..Csv::default() }), rows(',', "\r\n")),
        (Format::Csv(Csv { separator: b'\t', types, ..Csv::default() }), rows('\t', "\n")),
        (Format::Bson, bson),
        (Format::ExactLines, exact),
    ]
}

fn rows(separator: char, end: &str) -> Vec<u8> {
    let row = |fields: [&str; 5]| fields.join(&separator.to_string()) + end;
    let mut text = "\u{feff}".to_owned() + &row(["_id", "n", "in.text", "\"in.half\"", "even"]);
    for n in 0..DOCUMENTS {
        let quoted = format!("\"some \"\"text\"\", with {n}\nlines, é and [{{\"");
        let half = if n.is_multiple_of(3) { String::new() } else { format!("{}", n as f64 / 2.0) };
        let even = n.is_multiple_of(2).to_string();
        text += &row([&format!("id {n:05}"), &n.to_string(), &quoted, &half, &even]);
    }
    text.into_bytes()
}

fn all(db: &Database, name: &str) -> Vec<Map> {
    db.collection(name).scan().run().unwrap().map(|d| d.unwrap().to_map().unwrap()).collect()
}

#[test]
fn every_format_loads_the_same() {
    let db = database(1);
    let expected: Vec<Map> = (0..DOCUMENTS).map(document).collect();
    for (at, (format, bytes)) in inputs().into_iter().enumerate() {
        let name = format!("c{at}");
        let input = Input::stream("input", Cursor::new(bytes));
        let report = db.collection(&name).load(input).format(format.clone()).readers(2).run().unwrap();
        assert_eq!(report.documents as usize, DOCUMENTS, "{format:?}");
        assert_eq!(all(&db, &name), expected, "{format:?}");
    }
}

/// A stream that fails after a number of bytes.
struct Failing {
    bytes: Cursor<Vec<u8>>,
    left: usize,
}

impl Read for Failing {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let want = buffer.len().min(self.left);
        if want == 0 && !buffer.is_empty() {
            return Err(io::Error::other("the cable is out"));
        }
        let read = self.bytes.read(&mut buffer[..want])?;
        self.left -= read;
        Ok(read)
    }
}

fn load_part(db: &Database, name: &str, format: &Format, bytes: &[u8], part: usize) -> alluvium::Result<LoadReport> {
    let stream = Failing { bytes: Cursor::new(bytes.to_vec()), left: part };
    let identity = Identity { size: bytes.len() as u64, hash: 7 };
    db.collection(name).load(Input::decoded("input", identity, stream)).format(format.clone()).readers(2).run()
}

#[test]
fn every_format_goes_on_where_it_was_cut_short() {
    let db = database(2);
    let expected: Vec<Map> = (0..DOCUMENTS).map(document).collect();
    for (at, (format, bytes)) in inputs().into_iter().enumerate() {
        let name = format!("c{at}");
        let mut loaded = Vec::new();
        for part in [bytes.len() / 3, bytes.len() * 2 / 3, bytes.len() - 1] {
            let error = load_part(&db, &name, &format, &bytes, part).unwrap_err().to_string();
            assert!(error.contains("the cable is out"), "{error}");
            loaded.push(db.collection(&name).count().unwrap());
        }
        // Documents that were parsed but not written when the stream failed are missing: at most
        // three slices.
        assert!(loaded.is_sorted() && loaded[1] > 0 && loaded[1] < DOCUMENTS as u64, "{format:?}: {loaded:?}");
        let report = load_part(&db, &name, &format, &bytes, usize::MAX).unwrap();
        assert_eq!((report.outcome, report.documents_before), (Outcome::Done, loaded[2]), "{format:?}");
        assert_eq!(report.documents + report.documents_before, DOCUMENTS as u64);
        assert_eq!(all(&db, &name), expected, "{format:?}");
        let again = load_part(&db, &name, &format, &bytes, usize::MAX).unwrap();
        assert_eq!(again.outcome, Outcome::AlreadyDone);
    }
}

/// Damages the input, and returns the position as errors report it.
fn spoil(format: &Format, bytes: &mut [u8]) -> String {
    let find = |bytes: &[u8], what: &str| {
        let found = bytes.windows(what.len()).position(|window| window == what.as_bytes());
        found.unwrap_or_else(|| panic!("no {what:?} in the input"))
    };
    if *format == Format::Bson {
        // Make the type of a value in this document invalid.
        let at = find(bytes, "id 03000") + "id 03000\0".len();
        bytes[at] = 0x55;
        return "input document 3001 (from byte".to_owned();
    }
    let at = match format {
        Format::Csv(_) => find(bytes, "id 03000") + "id 03000".len(),
        _ => find(bytes, "with 3000\\n"),
    };
    let line_start = bytes[..at].iter().rposition(|b| *b == b'\n').map_or(0, |at| at + 1);
    let line = bytes[..line_start].iter().filter(|b| **b == b'\n').count() + 1;
    let mut column = std::str::from_utf8(&bytes[line_start..at]).unwrap().chars().count() + 1;
    if bytes[..at].starts_with("\u{feff}".as_bytes()) && line_start == 0 {
        column -= 1;
    }
    if matches!(format, Format::Csv(_)) {
        // An additional delimiter makes one field too many.
        bytes[at - 1] = bytes[at];
        return format!("input line {line} column 1: the row has 6 fields");
    }
    bytes[at] = 1;
    format!("input line {line} column {column}: a control character")
}

#[test]
fn columns_of_a_first_line_behind_the_mark_of_the_encoding_are_right() {
    let db = database(1);
    for format in [Format::JsonLines, Format::ExactLines] {
        let input = Input::stream("input", Cursor::new("\u{feff}{\"_id\":1,x}\n{\"_id\":2}\n".as_bytes().to_vec()));
        let error = db.collection("c").load(input).format(format.clone()).readers(2).run().unwrap_err();
        assert!(error.to_string().contains("input line 1 column 10: "), "{format:?}: {error}");
    }
}

#[test]
fn a_bad_document_is_named_and_skipped_in_every_format_also_by_a_load_that_goes_on() {
    let db = database(3);
    for (at, (format, mut bytes)) in inputs().into_iter().enumerate() {
        let place = spoil(&format, &mut bytes);
        let name = format!("c{at}");
        load_part(&db, &name, &format, &bytes, bytes.len() / 2).unwrap_err();
        for _ in 0..2 {
            let error = load_part(&db, &name, &format, &bytes, usize::MAX).unwrap_err().to_string();
            assert!(error.starts_with(&place), "{format:?}: {error}, not {place}");
            assert_eq!(db.collection(&name).count().unwrap(), 3000, "{format:?}");
        }
        let identity = Identity { size: bytes.len() as u64, hash: 7 };
        let input = Input::decoded("input", identity, Cursor::new(bytes));
        let collection = db.collection(&name);
        let load = collection.load(input).format(format.clone()).readers(2);
        let report = load.on_bad(OnBad::Skip).run().unwrap();
        assert_eq!((report.rejected, report.documents), (1, DOCUMENTS as u64 - 3001), "{format:?}");
    }
}

#[test]
fn an_input_that_ends_too_early_loads_what_is_whole_and_says_so() {
    let db = database(4);
    for (at, (format, bytes)) in inputs().into_iter().enumerate() {
        let found: fn(&str) -> bool = match &format {
            Format::JsonLines | Format::ExactLines => |error| error.contains("line 12000 column"),
            Format::Bson => |error| error.contains("document 12000") && error.contains("ends within"),
            Format::Csv(_) => |error| error.contains("a quote is opened here"),
            _ => |error| error.contains("the text ends too early"),
        };
        let cut = bytes.windows(4).rposition(|window| window == b"with").unwrap();
        let name = format!("c{at}");
        for on_bad in [OnBad::Error, OnBad::Skip] {
            let identity = Identity { size: cut as u64, hash: 7 };
            let input = Input::decoded("input", identity, Cursor::new(bytes[..cut].to_vec()));
            let result = db.collection(&name).load(input).format(format.clone()).readers(2).on_bad(on_bad).run();
            assert_eq!(db.collection(&name).count().unwrap(), DOCUMENTS as u64 - 1, "{format:?}");
            match result {
                Err(error) => assert!(found(&error.to_string()), "{format:?}: {error}"),
                // If the input ends within its last line, this line is rejected.
                Ok(report) => assert!(on_bad == OnBad::Skip && report.rejected == 1, "{format:?}"),
            }
        }
    }
}

#[test]
fn the_same_file_in_another_format_is_another_load() {
    let db = database(5);
    let load = |format: &Format| load_part(&db, "c", format, b"{\"_id\":1}\n", usize::MAX).unwrap().outcome;
    assert_eq!(load(&Format::JsonLines), Outcome::Done);
    assert_eq!(load(&Format::JsonLines), Outcome::AlreadyDone);
    assert_eq!(load(&Format::Csv(Csv::default())), Outcome::Done);
    assert_eq!(load(&Format::Csv(Csv { separator: b'\t', ..Csv::default() })), Outcome::Done);
}
