use super::*;

fn columns(names: &[&str], types: &[(&str, FieldType)]) -> Result<Columns, BadField> {
    let types = types.iter().map(|(name, kind)| ((*name).to_owned(), *kind)).collect();
    Columns::new(names.iter().copied(), &Csv { types, ..Csv::default() })
}

fn document(names: &[&str], types: &[(&str, FieldType)], row: &[&str]) -> String {
    let map = columns(names, types).unwrap().document(&ByteRecord::from(row.to_vec())).unwrap();
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
        ("True", r#""True""#),
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
        let (field, reason) = columns.document(&ByteRecord::from(vec!["", text])).unwrap_err();
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
    let (_, reason) = columns.document(&ByteRecord::from(vec!["1"])).unwrap_err();
    assert_eq!(reason, "the row has 1 field, but there are names for 2");
    assert!(columns.document(&ByteRecord::from(vec!["1", "2", "3"])).is_err());
    let (field, reason) = columns.document(&ByteRecord::from(vec![&b"1"[..], b"\xff"])).unwrap_err();
    assert!(field == 2 && reason.contains("UTF-8"));
}
