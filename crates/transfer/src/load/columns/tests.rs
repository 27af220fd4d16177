use super::*;

fn columns(names: &[&str], types: &[(&str, FieldType)]) -> Result<Columns, BadField> {
    let types = types.iter().map(|(name, kind)| ((*name).to_owned(), *kind)).collect();
    let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
    Columns::new(&names, false, &Csv { types, ..Csv::default() })
}

fn row<'a>(fields: impl IntoIterator<Item = &'a [u8]>) -> Vec<RowField<'a>> {
    fields.into_iter().map(|text| RowField { text: text.into(), is_quoted: false }).collect()
}

fn texts<'a>(fields: &[&'a str]) -> Vec<RowField<'a>> {
    row(fields.iter().map(|text| text.as_bytes()))
}

fn document(names: &[&str], types: &[(&str, FieldType)], row: &[&str]) -> String {
    let map = columns(names, types).unwrap().document(&texts(row), false).unwrap();
    json::to_string(&Value::Map(map), json::Format::CANONICAL).unwrap()
}

#[test]
fn types_are_told_from_the_texts() {
    let cases = [
        ("1", r#"{"$numberInt":"1"}"#),
        ("-2147483649", r#"{"$numberLong":"-2147483649"}"#),
        ("1.5", r#"{"$numberDouble":"1.5"}"#),
        ("1e3", r#"{"$numberDouble":"1000.0"}"#),
        ("12345678901234567890", r#"{"$numberDecimal":"12345678901234567890"}"#),
        ("true", "true"),
        ("false", "false"),
        ("True", "true"),
        ("FALSE", "false"),
        ("tRUE", r#""tRUE""#),
        (".097", r#"{"$numberDouble":"0.097"}"#),
        ("-.5", r#"{"$numberDouble":"-0.5"}"#),
        (".", r#"".""#),
        // DuckDB 1.4 and pandas 2.3 read this as infinity, but such a text is part of a hash.
        ("31e4659", r#""31e4659""#),
        ("1e-7000", r#""1e-7000""#),
        ("12345678901234567890123456789012345", r#""12345678901234567890123456789012345""#),
        ("007", r#""007""#),
        ("+1", r#""+1""#),
        ("1.", r#""1.""#),
        ("1 ", r#""1 ""#),
        ("-", r#""-""#),
        ("NaN", r#""NaN""#),
        ("null", r#""null""#),
        ("2024-01-02", r#""2024-01-02""#),
    ];
    for (text, value) in cases {
        assert_eq!(document(&["a"], &[], &[text]), format!("{{\"a\":{value}}}"), "{text}");
    }
}

#[test]
fn declared_types_are_taken_or_refused() {
    use FieldType::*;
    let cases = [
        (String, "1", r#""1""#),
        (Int, "1", r#"{"$numberInt":"1"}"#),
        (Int, "3000000000", r#"{"$numberLong":"3000000000"}"#),
        (Long, "1", r#"{"$numberLong":"1"}"#),
        (Double, "1", r#"{"$numberDouble":"1.0"}"#),
        (Double, "-Infinity", r#"{"$numberDouble":"-Infinity"}"#),
        (Decimal, "1.50", r#"{"$numberDecimal":"1.50"}"#),
        (Bool, "true", "true"),
        (Date, "1970-01-01T00:00:01Z", r#"{"$date":{"$numberLong":"1000"}}"#),
        (Date, "1960-02-03", r#"{"$date":{"$numberLong":"-312768000000"}}"#),
        (Date, "1960-02-03 00:00:00", r#"{"$date":{"$numberLong":"-312768000000"}}"#),
        (Date, "1970-01-01T00:00:01", r#"{"$date":{"$numberLong":"1000"}}"#),
        (Date, "+010000-01-01T00:00:00Z", r#"{"$date":{"$numberLong":"253402300800000"}}"#),
        (Date, "-5", r#"{"$date":{"$numberLong":"-5"}}"#),
        (ObjectId, "0123456789abcdef01234567", r#"{"$oid":"0123456789abcdef01234567"}"#),
        (
            Json,
            "[1,{\"$oid\":\"0123456789abcdef01234567\"}]",
            r#"[{"$numberInt":"1"},{"$oid":"0123456789abcdef01234567"}]"#,
        ),
        (Auto, "1", r#"{"$numberInt":"1"}"#),
    ];
    for (kind, text, value) in cases {
        assert_eq!(document(&["a"], &[("a", kind)], &[text]), format!("{{\"a\":{value}}}"));
    }
    for (kind, text) in [
        (Int, "1.0"),
        (Int, "9223372036854775808"),
        (Long, "x"),
        (Double, "1,5"),
        (Decimal, "x"),
        (Bool, "yes"),
        (Date, "yesterday"),
        (ObjectId, "0123"),
        (Json, "{"),
    ] {
        let columns = columns(&["x", "a"], &[("a", kind)]).unwrap();
        let (field, reason) = columns.document(&texts(&["", text]), false).unwrap_err();
        assert_eq!(field, 2);
        assert!(reason.contains(kind.name()) && reason.contains(text), "{reason}");
    }
}

#[test]
fn dots_make_maps_and_empty_fields_are_absent() {
    let names = ["_id", "a.b", "c", "a.d.e", "a.d.f"];
    let row = |row: &[&str]| document(&names, &[("_id", FieldType::String)], row);
    assert_eq!(row(&["1", "x", "y", "z", ""]), r#"{"_id":"1","a":{"b":"x","d":{"e":"z"}},"c":"y"}"#);
    assert_eq!(row(&["1", "", "y", "", ""]), r#"{"_id":"1","c":"y"}"#);
    assert_eq!(row(&["", "", "", "", "z"]), r#"{"a":{"d":{"f":"z"}}}"#);
}

#[test]
fn names_that_make_no_document_are_refused() {
    let refused = |names: &[&str], types: &[(&str, FieldType)]| columns(names, types).unwrap_err();
    let (field, reason) = refused(&["a", "b", "a"], &[]);
    assert!(field == 3 && reason.contains("twice"), "{reason}");
    let (field, reason) = refused(&["a.b", "x", "a"], &[]);
    assert!(field == 1 && reason.contains("a map"), "{reason}");
    assert!(columns(&["a.b", "ab", "a!.b"], &[]).is_ok());
    let (field, reason) = refused(&["a", ""], &[]);
    assert!(field == 2 && reason.contains("empty name"), "{reason}");
    assert!(refused(&["a"], &[("b", FieldType::Int)]).1.contains("\"b\""));
}

#[test]
fn rows_of_other_lengths_are_refused() {
    let columns = columns(&["a", "b"], &[]).unwrap();
    let (_, reason) = columns.document(&texts(&["1"]), false).unwrap_err();
    assert_eq!(reason, "the row has 1 field, but there are names for 2");
    assert!(columns.document(&texts(&["1", "2", "3"]), false).is_err());
    let (field, reason) = columns.document(&row([&b"1"[..], b"\xff"]), false).unwrap_err();
    assert!(field == 2 && reason.contains("UTF-8"));
}

#[test]
fn the_type_of_a_column_is_decided_from_a_sample() {
    let names = ["zip", "ok", "n", "none"].map(str::to_owned);
    let mut columns = Columns::new(&names, true, &Csv { null: Some("NA".to_owned()), ..Csv::default() }).unwrap();
    columns.sample(&texts(&["10001", "TRUE", "1", ""]));
    columns.sample(&texts(&["00501", "false", "NA", ""]));
    columns.decide();
    let shown = |row: &[RowField<'_>]| {
        json::to_string(&Value::Map(columns.document(row, false).unwrap()), json::Format::RELAXED).unwrap()
    };
    assert_eq!(shown(&texts(&["10001", "True", ".5", "7"])), r#"{"zip":"10001","ok":true,"n":0.5,"none":7}"#);
    assert_eq!(shown(&texts(&["", "yes", "NA", "x"])), r#"{"ok":"yes","n":null,"none":"x"}"#);
    let quoted = |text: &'static str| RowField { text: text.as_bytes().into(), is_quoted: true };
    assert_eq!(shown(&[quoted(""), quoted(""), quoted("NA"), quoted("")]), r#"{"zip":"","n":"NA","none":""}"#);
    let report = columns.report();
    assert_eq!((report[0].kind, report[0].sampled, report[0].numbers), (ColumnKind::Text, 2, 1));
    assert_eq!((report[0].text.as_deref(), report[0].is_only_text), (Some("00501"), true));
    assert_eq!((report[1].kind, report[1].others), (ColumnKind::Boolean, 1));
    assert_eq!((report[2].kind, report[2].others), (ColumnKind::Number, 1));
    assert_eq!(report[3].kind, ColumnKind::Each);
}

#[test]
fn a_separator_at_the_end_of_a_row_is_no_field() {
    let columns = columns(&["a", "b"], &[]).unwrap();
    assert!(columns.document(&texts(&["1", "2", ""]), false).is_ok());
    let lossy = columns.document(&row([&b"x"[..], b"caf\xe9"]), true).unwrap();
    assert_eq!(lossy.get("b"), Some(&Value::from("caf\u{fffd}")));
}
