//! CSV and TSV: field names that are given or in the first row, quotes, all kinds of line ends, and rows with a wrong
//! number of fields.

use alluvium::load::{ColumnKind, Csv, Format, Input, Load, OnBad};
use alluvium::{Collection, Database};
use alluvium_env::sync::Mutex;
use std::io::{Cursor, Write};
use std::sync::Arc;

fn collection() -> Collection {
    let db = Database::builder().env(alluvium_env::Env::in_memory(1)).memory(8 << 20).open("db").unwrap();
    db.collection("c")
}

fn load_as<'a>(collection: &'a Collection, text: &[u8], csv: Csv) -> Load<'a> {
    let input = Input::stream("input", Cursor::new(text.to_owned()));
    collection.load(input).format(Format::Csv(csv))
}

fn rows(text: &str) -> Vec<String> {
    let collection = collection();
    load_as(&collection, text.as_bytes(), Csv::default()).run().unwrap();
    all(&collection)
}

fn error(text: &str) -> String {
    load_as(&collection(), text.as_bytes(), Csv::default()).run().unwrap_err().to_string()
}

fn all(collection: &Collection) -> Vec<String> {
    collection.scan().run().unwrap().map(|document| document.unwrap().to_string()).collect()
}

#[test]
fn rows_become_documents() {
    let expected = [r#"{"_id":1,"a":"x, \"y\"\nz"}"#, r#"{"_id":2,"a":"true"}"#];
    for end in ["\n", "\r\n", "\r"] {
        let text = ["_id,a", "1,\"x, \"\"y\"\"\nz\"", "", "2,true", ""].join(end);
        assert_eq!(rows(&text), expected, "{text:?}");
        assert_eq!(rows(text.trim_end()), expected, "without an end of the last line");
        assert_eq!(rows(&format!("\u{feff}{text}")), expected, "with a mark of the encoding");
    }
    assert_eq!(rows(""), [""; 0]);
    assert_eq!(rows("_id,a"), [""; 0]);
    assert_eq!(
        rows("_id,a\n1,\u{feff}\n\u{feff},2\n"),
        ["{\"_id\":\"1\",\"a\":\"\u{feff}\"}", "{\"_id\":\"\u{feff}\",\"a\":\"2\"}"]
    );
    // A quote within a field, after its start, is a literal character.
    assert_eq!(rows("_id,a\n1,5\" disk\n2,6\" disk\n").len(), 2);
}

#[test]
fn names_can_be_given() {
    let csv = |names: &[&str]| Csv {
        separator: b';',
        fields: Some(names.iter().map(|name| (*name).to_owned()).collect()),
        ..Csv::default()
    };
    let collection = collection();
    let load = |names: &[&str]| load_as(&collection, b"\xef\xbb\xbf7;x\n8;\n", csv(names)).run();
    load(&["_id", "a.b"]).unwrap();
    assert_eq!(all(&collection), [r#"{"_id":7,"a":{"b":"x"}}"#, r#"{"_id":8}"#]);
    assert!(load(&["a", "a"]).unwrap_err().to_string().contains("appears twice"));
    assert!(load(&["a"]).unwrap_err().to_string().contains("line 1 column 1: the row has 2 fields"));
}

#[test]
fn a_field_becomes_the_id_or_one_is_made() {
    let collection = collection();
    load_as(&collection, b"a,b\n1,2\n", Csv::default()).id_field("b").run().unwrap();
    assert_eq!(all(&collection), [r#"{"_id":2,"a":1,"b":2}"#]);
    let error = load_as(&collection, b"a,b\n1,\n", Csv::default()).id_field("b").run().unwrap_err().to_string();
    assert!(error.contains("line 2 column 1: the document has no field \"b\""), "{error}");
    assert!(rows("a\n1\n")[0].starts_with("{\"_id\":{\"$oid\":"));
}

#[derive(Clone, Default)]
struct Shared(Arc<Mutex<Vec<u8>>>);

impl Write for Shared {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().extend_from_slice(bytes);
        Ok(bytes.len())
    }
    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[test]
fn rows_that_do_not_fit_are_named_by_line_and_field() {
    let text = b"_id,a\n1,\"\n\n\"\n2\n3,x,y\n4,\xff\n5,x\n";
    let collection = collection();
    let rejects = Shared::default();
    let load = load_as(&collection, text, Csv::default()).on_bad(OnBad::Skip);
    let report = load.rejects(rejects.clone()).run().unwrap();
    assert_eq!((report.documents, report.rejected), (2, 3));
    let lines = String::from_utf8(rejects.0.lock().clone()).unwrap();
    let lines: Vec<serde_json::Value> = lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let place = |at: usize| (lines[at]["line"].as_u64().unwrap(), lines[at]["column"].as_u64().unwrap());
    assert_eq!((place(0), &lines[0]["text"]), ((5, 1), &"2".into()));
    assert_eq!((place(1), &lines[1]["text"]), ((6, 1), &"3,x,y".into()));
    assert_eq!((place(2), &lines[2]["text"]), ((7, 2), &"4,\u{fffd}".into()));
}

#[test]
fn what_is_no_file_of_rows_is_named() {
    let malformed = error("_id,a\n1,\"x, \"y\" z\"\n");
    assert!(malformed.starts_with("input line 2 column 2: text follows the closing quote of a field"), "{malformed}");
    assert!(error("a,\"b\"c\n1,2\n").starts_with("input line 1 column 2: text follows the closing quote"));
    assert_eq!(error("a,\"b\n1,2\n"), "input line 1 column 2: a quote is opened here and not closed");
    assert_eq!(error("a,b\n1,2\nx,\"y\n1,2\n"), "input line 3 column 3: a quote is opened here and not closed");
    let csv = Csv { separator: b'"', ..Csv::default() };
    let error = load_as(&collection(), b"a", csv).run().unwrap_err().to_string();
    assert!(error.contains("cannot be a quote"), "{error}");
}

#[test]
fn headers_of_other_programs_are_taken() {
    // pandas' to_csv writes its index under an empty name; R's write.table names no column of row names.
    assert_eq!(rows(",_id,a,a\n0,1,2,3\n"), [r#"{"_id":1,"column_1":0,"a":2,"a_2":3}"#]);
    assert_eq!(
        rows("_id,a\nr1,1,2\nr2,3,4\n"),
        [r#"{"_id":1,"column_1":"r1","a":2}"#, r#"{"_id":3,"column_1":"r2","a":4}"#]
    );
    // Excel writes a first line that names the separator; a separator may end each row.
    assert_eq!(rows("sep=;\r\n_id;a.b;a;\r\n1;x;y;\r\n"), [r#"{"_id":1,"a_b":"x","a":"y"}"#]);
    let collection = collection();
    let csv = Csv { skip_lines: 2, null: Some("NA".to_owned()), ..Csv::default() };
    load_as(&collection, b"a title\n\n_id,n,t\n1,NA,\"NA\"\n2,5,\"\"\n", csv).run().unwrap();
    assert_eq!(all(&collection), [r#"{"_id":1,"n":null,"t":"NA"}"#, r#"{"_id":2,"n":5,"t":""}"#]);
}

#[test]
fn malformed_fields_are_kept_whole_if_that_is_asked() {
    let text = b"_id,a\n1,\"a\"b\n2,\"x, \"y\" z\"\n3,caf\xe9\n";
    let repaired = collection();
    let report = load_as(&repaired, text, Csv::default()).on_bad(OnBad::Repair).run().unwrap();
    assert_eq!((report.documents, report.repaired), (3, 3));
    assert_eq!(
        all(&repaired),
        [r#"{"_id":1,"a":"\"a\"b"}"#, r#"{"_id":2,"a":"\"x, \"y\" z\""}"#, "{\"_id\":3,\"a\":\"caf\u{fffd}\"}"]
    );
    let plain = collection();
    let csv = Csv { has_quotes: false, ..Csv::default() };
    load_as(&plain, b"_id,a\n1,\"a\"b\n2,\"x\n", csv).run().unwrap();
    assert_eq!(all(&plain), [r#"{"_id":1,"a":"\"a\"b"}"#, r#"{"_id":2,"a":"\"x"}"#]);
}

#[test]
fn the_types_of_columns_are_decided_from_the_first_rows() {
    let mut text = "_id,zip,flag,late\n".to_owned();
    for n in 0..25_000 {
        let zip = if n % 10 == 0 { "00501" } else { "10001" };
        let late = if n == 24_000 { "x" } else { "7" };
        text += &format!("{n},{zip},{},{late}\n", ["TRUE", "True", "false"][n % 3]);
    }
    let collection = collection();
    let report = load_as(&collection, text.as_bytes(), Csv::default()).run().unwrap();
    assert_eq!(collection.count().unwrap(), 25_000);
    let found = |id: i32| collection.get(id).unwrap().unwrap().to_string();
    assert_eq!(found(1), r#"{"_id":1,"zip":"10001","flag":true,"late":7}"#);
    assert_eq!(found(24_000), r#"{"_id":24000,"zip":"00501","flag":true,"late":"x"}"#);
    let zip = &report.columns[1];
    assert_eq!((zip.kind, zip.text.as_deref(), zip.numbers * 10), (ColumnKind::Text, Some("00501"), zip.sampled * 9));
    assert_eq!((report.columns[3].kind, report.columns[3].others), (ColumnKind::Number, 1));
}
