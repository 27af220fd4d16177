//! CSV and TSV: field names from the first row or given, quotes, all kinds of line ends, rows with
//! a wrong number of fields.

use alluvium::load::{Csv, Format, Input, Load, OnBad};
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
    let expected = [r#"{"_id":1,"a":"x, \"y\"\nz"}"#, r#"{"_id":2,"a":true}"#];
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
        ["{\"_id\":1,\"a\":\"\u{feff}\"}", "{\"_id\":\"\u{feff}\",\"a\":2}"]
    );
    // A quote within a field, after its start, is a literal character.
    assert_eq!(rows("_id,a\n1,5\" disk\n2,6\" disk\n").len(), 2);
}

#[test]
fn names_can_be_given() {
    let csv = |names: &[&str]| Csv {
        separator: b';',
        fields: Some(names.iter().map(|name| (*name).to_owned()).collect()),
        types: Vec::new(),
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
    assert_eq!(error("a,a\n1,2\n"), "input line 1 column 2: the field a appears twice");
    assert_eq!(error("a,\n1,2\n"), "input line 1 column 2: the name of field 2, \"\": a field path has an empty name");
    assert_eq!(error("a,\"b\n1,2\n"), "input line 1 column 1: a quote is opened here and not closed");
    assert_eq!(error("a,b\n1,2\nx,\"y\n1,2\n"), "input line 3 column 3: a quote is opened here and not closed");
    let csv = Csv { separator: b'"', ..Csv::default() };
    let error = load_as(&collection(), b"a", csv).run().unwrap_err().to_string();
    assert!(error.contains("cannot be a quote"), "{error}");
}
