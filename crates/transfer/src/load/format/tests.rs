use super::*;

#[test]
fn names_tell_the_format() {
    let of = Format::of_name;
    assert_eq!(of("a.jsonl"), Some(Format::JsonLines));
    assert_eq!(of("a.b/c.NDJSON.gz"), Some(Format::JsonLines));
    assert_eq!(of("dump/main/pets.bson.zst"), Some(Format::Bson));
    assert_eq!(of("a.csv"), Some(Format::Csv(Csv::default())));
    assert_eq!(of("a.tsv.gz"), Some(Format::Csv(Csv { separator: b'\t', ..Csv::default() })));
    assert_eq!(of("a.json"), None);
    assert_eq!(of("a"), None);
    assert!(Format::is_json_name("a.json.zst") && !Format::is_json_name("a.jsonl"));
}

#[test]
fn json_is_told_by_its_beginning() {
    let of = |text: &str| Format::of_json(text.as_bytes());
    assert_eq!(of(""), Format::JsonLines);
    assert_eq!(of("{\"a\":1}\n{\"a\":2}\n"), Format::JsonLines);
    assert_eq!(of("{\"a\":\"}\"}"), Format::JsonLines);
    assert_eq!(of(" \n[{\"a\":1}]"), Format::JsonArray);
    assert_eq!(of("\u{feff}[]"), Format::JsonArray);
    assert_eq!(of("{\n  \"a\": 1\n}\n"), Format::JsonObjects);
    assert_eq!(of("{\"a\":1} {\"a\":2}"), Format::JsonObjects);
    assert_eq!(of("{\"a\":\"no end to be seen"), Format::JsonObjects);
    assert_eq!(of("text"), Format::JsonLines);
}

#[test]
fn loads_in_other_formats_are_other_loads() {
    let formats = [
        Format::JsonLines,
        Format::JsonArray,
        Format::JsonObjects,
        Format::JsonFields,
        Format::Bson,
        Format::ExactLines,
        Format::Csv(Csv::default()),
        Format::Csv(Csv { separator: b'\t', ..Csv::default() }),
        Format::Csv(Csv { fields: Some(vec!["a".into()]), ..Csv::default() }),
        Format::Csv(Csv { types: vec![("a".into(), FieldType::Int)], ..Csv::default() }),
        Format::Csv(Csv { types: vec![("a".into(), FieldType::Long)], ..Csv::default() }),
    ];
    let mut marks: Vec<_> = formats.iter().map(Format::mark).collect();
    assert!(marks[0].is_empty(), "as before there were others");
    marks.sort();
    marks.dedup();
    assert_eq!(marks.len(), formats.len());
}

#[test]
fn types_have_names() {
    for (name, kind) in TYPES {
        assert_eq!(name.parse(), Ok(kind));
        assert_eq!(kind.name(), name);
    }
    assert!("number".parse::<FieldType>().unwrap_err().contains("auto, string, int"));
}
