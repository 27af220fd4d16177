//! Every format exports documents that load as identical documents, or refuses a document with an
//! error that names it.

use alluvium::export::{Encoder, Format};
use alluvium::load::{Csv, FieldType, Format as LoadFormat, Input};
use alluvium::{Collection, Database, Map, Result, Value};
use alluvium_document::Decimal;

fn collection() -> Collection {
    let db = Database::builder().env(alluvium_env::Env::in_memory(1)).memory(8 << 20).open("db").unwrap();
    db.collection("pets")
}

fn export(collection: &Collection, mut encoder: Encoder) -> Result<Vec<u8>> {
    let mut out = Vec::new();
    encoder.begin(&mut out)?;
    let mut cursor = collection.scan().run()?;
    while encoder.write_next(&mut cursor, &mut out)? {}
    encoder.end(&mut out);
    Ok(out)
}

fn text(collection: &Collection, encoder: Encoder) -> String {
    String::from_utf8(export(collection, encoder).unwrap()).unwrap()
}

#[test]
fn each_format() {
    let pets = collection();
    pets.insert_one(r#"{"_id":1,"a":{"b":"x, \"y\"","c":[1,{"$numberLong":"2"}]}}"#).unwrap();
    pets.insert_one(r#"{"_id":2,"a":5}"#).unwrap();
    let lines = "{\"_id\":1,\"a\":{\"b\":\"x, \\\"y\\\"\",\"c\":[1,2]}}\n{\"_id\":2,\"a\":5}\n";
    assert_eq!(text(&pets, Encoder::new(Format::JsonLines)), lines);
    let array = format!("[\n{}\n]\n", lines.trim_end().replace("}\n", "},\n"));
    assert_eq!(text(&pets, Encoder::new(Format::JsonArray)), array);
    let canonical = text(&pets, Encoder::new(Format::JsonLines).canonical(true));
    assert!(canonical.contains(r#""c":[{"$numberInt":"1"},{"$numberLong":"2"}]"#), "{canonical}");
    let rows = Encoder::new(Format::Csv { separator: b',' }).fields(["a.b", "_id", "a.c", "a.c.1"]);
    assert_eq!(text(&pets, rows), "a.b,_id,a.c,a.c.1\n\"x, \"\"y\"\"\",1,\"[1,2]\",2\n,2,,\n");
    let rows = Encoder::new(Format::Csv { separator: b'\t' }).fields(["a.b"]);
    assert_eq!(text(&pets, rows), "a.b\n\"x, \"\"y\"\"\"\n\"\"\n", "a row of nothing is no empty line");
    let part = Encoder::new(Format::JsonLines).fields(["a.b"]);
    assert_eq!(text(&pets, part), "{\"_id\":1,\"a.b\":\"x, \\\"y\\\"\"}\n{\"_id\":2}\n");
    let bson = export(&pets, Encoder::new(Format::Bson)).unwrap();
    let (first, taken) = alluvium_document::bson::take_document(&bson).unwrap();
    assert_eq!(first, pets.get(1).unwrap().unwrap().to_map().unwrap());
    assert!(taken < bson.len());
}

#[test]
fn nothing_at_all() {
    let pets = collection();
    pets.insert_one(r#"{"_id":1}"#).unwrap();
    pets.delete(1).unwrap();
    assert_eq!(text(&pets, Encoder::new(Format::JsonLines)), "");
    assert_eq!(text(&pets, Encoder::new(Format::JsonArray)), "[\n]\n");
    assert_eq!(text(&pets, Encoder::new(Format::Csv { separator: b',' }).fields(["a"])), "a\n");
    let error = export(&pets, Encoder::new(Format::Csv { separator: b',' })).unwrap_err().to_string();
    assert!(error.contains("names of its fields"), "{error}");
}

#[test]
fn a_document_that_would_come_back_as_another_is_named() {
    let huge: Decimal = "1234567890123456789012345678901234567890".parse().unwrap();
    let mut any_key = Map::new();
    any_key.push(Value::Int32(1), 2);
    let cases: [(Value, &str, bool, bool); 3] = [
        (Value::Decimal(huge), "decimal128", true, false),
        (Value::Map(any_key), "key of type int", false, false),
        (Value::Map([("$oid", "x")].into_iter().collect()), "\"$oid\"", false, true),
    ];
    for (value, reason, in_json, in_bson) in cases {
        let pets = collection();
        pets.insert_one([("_id", Value::from("rex")), ("a", value)].into_iter().collect::<Map>()).unwrap();
        for (format, fits) in [(Format::JsonLines, in_json), (Format::JsonArray, in_json), (Format::Bson, in_bson)] {
            match export(&pets, Encoder::new(format.clone())) {
                Ok(_) => assert!(fits, "{reason} {format:?}"),
                Err(error) => {
                    let error = error.to_string();
                    assert!(!fits && error.contains(reason), "{error}");
                    assert!(error.starts_with("document \"rex\" of main.pets cannot be written: "), "{error}");
                }
            }
        }
    }
}

#[test]
fn cells_come_back_with_declared_types() {
    let cases = [
        ("s", FieldType::String, Value::from("1")),
        ("i", FieldType::Int, Value::Int32(-1)),
        ("l", FieldType::Long, Value::Int64(1)),
        ("d", FieldType::Double, Value::from(1.0)),
        ("nan", FieldType::Double, Value::from(f64::NAN)),
        ("inf", FieldType::Double, Value::from(f64::NEG_INFINITY)),
        ("big", FieldType::Decimal, Value::Decimal("1.50".parse().unwrap())),
        ("b", FieldType::Bool, Value::Bool(false)),
        ("t", FieldType::Date, Value::DateTime(1_700_000_000_001)),
        ("old", FieldType::Date, Value::DateTime(-1)),
        ("o", FieldType::ObjectId, Value::ObjectId([0xab; 12])),
        ("j", FieldType::Json, Value::Array(vec![Value::Null, Value::ObjectId([1; 12])])),
    ];
    let mut map: Map = cases.iter().map(|(name, _, value)| (*name, value.clone())).collect();
    map.insert("_id", "x");
    let pets = collection();
    pets.insert_one(map.clone()).unwrap();
    let names: Vec<&str> = map.iter().filter_map(|(name, _)| name.as_str()).collect();
    let rows = text(&pets, Encoder::new(Format::Csv { separator: b',' }).fields(names));
    let types = cases.iter().map(|(name, kind, _)| ((*name).to_owned(), *kind)).collect();
    let again = collection();
    let format = LoadFormat::Csv(Csv { types, ..Csv::default() });
    let input = Input::stream("rows", std::io::Cursor::new(rows));
    again.load(input).format(format).alluvium_types(true).run().unwrap();
    let mut back = again.get("x").unwrap().unwrap().to_map().unwrap();
    back.entries.rotate_left(1);
    assert_eq!(back, map);
}
