use super::*;

fn same(typed: &str, meant: &str) {
    match parse(typed) {
        Ok(value) => assert_eq!(value, json::parse(meant.as_bytes()).expect(meant), "{typed}"),
        Err(error) => panic!("{typed}: {error}"),
    }
}

#[test]
fn names_need_no_quotes() {
    same("{a: 1}", r#"{"a": 1}"#);
    same(
        "{ $or : [{a.b: {$gte: -1.5e3}}, {größe: null}] }",
        r#"{"$or": [{"a.b": {"$gte": -1.5e3}}, {"größe": null}]}"#,
    );
    same("{0: true, true: false, a-b: []}", r#"{"0": true, "true": false, "a-b": []}"#);
    same("{'a': {$oid: '5f43a1b2c3d4e5f601234567'}}", r#"{"a": {"$oid": "5f43a1b2c3d4e5f601234567"}}"#);
}

#[test]
fn texts_may_have_single_quotes() {
    same(r#"{'a': 'it\'s "so" {,}', "b": 'x\n\\'}"#, r#"{"a": "it's \"so\" {,}", "b": "x\n\\"}"#);
    same(r#"{"a": "it's: fine,"}"#, r#"{"a": "it's: fine,"}"#);
    same("'a'", r#""a""#);
}

#[test]
fn a_comma_may_follow_the_last_element() {
    same("{a: [1, 2, ], }", r#"{"a": [1, 2]}"#);
}

/// The constructors of mongosh 2, according to the section "Data Types" of its manual.
#[test]
fn values_may_be_constructed_as_in_the_shell() {
    for (typed, meant) in [
        (r#"ISODate("2024-05-01T12:30:00Z")"#, r#"{"$date": "2024-05-01T12:30:00Z"}"#),
        ("new ISODate('2024-05-01')", r#"{"$date": "2024-05-01T00:00:00Z"}"#),
        ("new Date(1714566600000)", r#"{"$date": "2024-05-01T12:30:00Z"}"#),
        (r#"ObjectId("5f43a1b2c3d4e5f601234567")"#, r#"{"$oid": "5f43a1b2c3d4e5f601234567"}"#),
        ("NumberInt(5)", "5"),
        (r#"NumberLong("9007199254740993")"#, "9007199254740993"),
        ("Long(5)", r#"{"$numberLong": "5"}"#),
        ("NumberDecimal('1.50')", r#"{"$numberDecimal": "1.50"}"#),
        ("Double(5)", r#"{"$numberDouble": "5"}"#),
        ("UUID('73ffd264-44b3-4c69-90e8-e7d1dfc035d4')", r#"{"$uuid": "73ffd264-44b3-4c69-90e8-e7d1dfc035d4"}"#),
        ("BinData(128, 'AQI=')", r#"{"$binary": {"base64": "AQI=", "subType": "80"}}"#),
        ("Timestamp(7, 1)", r#"{"$timestamp": {"t": 7, "i": 1}}"#),
        ("Timestamp({t: 7, i: 1})", r#"{"$timestamp": {"t": 7, "i": 1}}"#),
        ("MinKey", r#"{"$minKey": 1}"#),
        ("MaxKey()", r#"{"$maxKey": 1}"#),
        (
            "[NaN, Infinity, -Infinity]",
            r#"[{"$numberDouble": "NaN"}, {"$numberDouble": "Infinity"}, {"$numberDouble": "-Infinity"}]"#,
        ),
        ("RegExp('^a', 'i')", r#"{"$regularExpression": {"pattern": "^a", "options": "i"}}"#),
        (r"/^a\/b[/]\d/im", r#"{"$regularExpression": {"pattern": "^a/b[/]\\d", "options": "im"}}"#),
        ("DBRef('users', 1)", r#"{"$ref": "users", "$id": 1}"#),
        ("undefined", r#"{"$undefined": true}"#),
    ] {
        same(typed, meant);
        same(&format!("{{a: [{typed}, {{$gt: {typed}}}]}}"), &format!(r#"{{"a": [{meant}, {{"$gt": {meant}}}]}}"#));
    }
}

#[test]
fn errors_point_at_what_is_wrong() {
    for (typed, said) in [
        ("{Title: Inception}", "line 1, column 9: Inception is not a value: a text needs quotes, as in 'Inception'"),
        ("{a: {b: 1}", "line 1, column 11: the map that begins at line 1, column 1 has no end: '}' is missing"),
        ("{a: [1", "line 1, column 7: the array that begins at line 1, column 5 has no end: ']' is missing"),
        ("{a: 1]", "line 1, column 6: expected a comma or '}', the end of the map, not ']'"),
        ("{a: 1}}", "line 1, column 7: there is more after the end of the value: '}'"),
        ("{a: 1 b: 2}", "line 1, column 7: expected a comma or '}', the end of the map, not 'b'"),
        ("{a 1}", "line 1, column 4: expected a colon after the field name \"a\", not '1'"),
        ("{a:}", "line 1, column 4: expected a value, not '}'"),
        ("{a:", "line 1, column 4: the text ends where a value is expected"),
        ("", "line 1, column 1: the text ends where a value is expected"),
        ("{,}", "line 1, column 2: expected the name of a field, not ','"),
        ("[,]", "line 1, column 2: expected a value, not ','"),
        ("{a: 1,,}", "line 1, column 7: expected the name of a field, not ','"),
        ("{a: 'b}", "line 1, column 5: the text that begins here has no end: ' is missing"),
        ("{a: /b}", "line 1, column 5: the pattern that begins here has no end: / is missing"),
        ("{a: 12.5.3}", "line 1, column 5: '12.5.3' is not a number: a text needs quotes"),
        ("{a: 2024-05-01}", "line 1, column 5: '2024-05-01' is not a number: a text needs quotes"),
        (
            "{\n a: ISODate('x')}",
            "line 2, column 5: ISODate takes a date in ISO 8601, such as \"2024-05-01T12:30:00Z\"",
        ),
        ("{a: ObjectId('5f')}", "line 1, column 5: ObjectId takes 24 hexadecimal digits in quotes"),
        ("{a: NumberInt(3000000000)}", "line 1, column 5: NumberInt takes a 32-bit integer"),
        ("{a: ISODate('2024-05-01'}", "line 1, column 25: expected a comma or ')', not '}'"),
        ("{a: 1, a: 2}", "line 1, column 8: duplicate field \"a\""),
    ] {
        assert_eq!(parse(typed).map_err(|error| error.to_string()), Err(said.to_owned()), "{typed}");
    }
    let unknown = parse("{a: Foo(1)}").map_err(|error| error.to_string()).expect_err("Foo");
    assert!(unknown.starts_with("line 1, column 5: there is no constructor Foo; there are ISODate, "), "{unknown}");
    assert!(parse("{a: {$oid: 5}}").map_err(|error| error.to_string()).expect_err("$oid").contains("$oid"));
}

#[test]
fn any_text_is_read_or_refused() {
    assert!(parse(&"[".repeat(100_000)).is_err());
    assert!(parse(&"{a:".repeat(100_000)).is_err());
    assert!(parse(&"Date(".repeat(100_000)).is_err());
    for typed in
        ["'\\", "/\\", "new", "new Date", "{'a\\", "Date(", "Date(1", "-", "+1", "$", "{\u{e9}", "\u{a0}{a: 1}"]
    {
        drop(parse(typed));
    }
}

#[test]
fn what_is_json_is_read_as_json() {
    for typed in [r#"{"a": 1}"#, "[1,2]", "7", r#""x""#, "null", r#"{"'": ",]"}"#] {
        same(typed, typed);
    }
}
