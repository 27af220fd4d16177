//! Plain JSON is returned with the same fields, in the same order, with the same number values.

use crate::common::Place;

/// Lines of input, each with its printed form if that differs.
const LINES: &[(&str, Option<&str>)] = &[
    (r#"{"_id":1,"b":1,"a":2,"":0,"B":3}"#, None),
    (r#"{"_id":2,"empty":{},"none":[],"null":null,"yes":true,"no":false,"text":""}"#, None),
    (r#"{"_id":3,"deep":{"a":{"b":[1,[2,[3,{"c":[]}]]]}}}"#, None),
    (
        r#"{"_id":4,"escapes":"\"\\/\b\f\n\r\t\u0001\u00e9\ud83d\ude00"}"#,
        Some("{\"_id\":4,\"escapes\":\"\\\"\\\\/\\b\\f\\n\\r\\t\\u0001é😀\"}"),
    ),
    (r#"{"_id":5,"i32":2147483647,"i64":2147483648,"min":-9223372036854775808,"max":9223372036854775807}"#, None),
    (r#"{"_id":6,"beyond":9223372036854775808,"far":123456789012345678901234567890}"#, None),
    (r#"{"_id":7,"half":0.5,"tenth":0.1,"many":3.141592653589793}"#, None),
    (r#"{"_id":8,"exact":0.1000000000000000055511151231257827021181583404541015625}"#, None),
    (r#"{"_id":9,"a.b":1,"$a":2," ":3,"ключ":"значение","鍵":"値"}"#, None),
    (r#"{"_id":10,"list":[1,"a",null,{"x":1},{"x":"y"},[]]}"#, None),
    (r#"{"_id":"text","same":{"same":{"same":"same"}}}"#, None),
    (r#"{"_id":{"a":1,"b":"c"},"compound":true}"#, None),
    (r#"{"x":1,"_id":11,"y":2}"#, Some(r#"{"_id":11,"x":1,"y":2}"#)),
    ("  { \"_id\" : 12 , \"blanks\" : [ 1 , 2 ] }  ", Some(r#"{"_id":12,"blanks":[1,2]}"#)),
];

#[test]
fn awkward_json_comes_back_the_same() {
    let place = Place::new();
    // Each line occurs twice with the same shape, to cover rows with and without a shape.
    let text: String = LINES.iter().map(|(line, _)| format!("{line}\n")).collect();
    place.write("in.jsonl", &text);
    // One number has more digits than BSON can represent.
    assert!(place.bad(1, &["load", "db", "c", "in.jsonl"]).contains("in.jsonl line 8 column 1: exact: a decimal"));
    place.good(&["load", "db", "c", "in.jsonl", "--on-duplicate", "replace", "--alluvium-types"]);
    place.good(&["load", "db", "c", "in.jsonl", "--again", "--on-duplicate", "replace", "--alluvium-types"]);
    let scanned = place.good(&["scan", "db", "c"]);
    let mut printed: Vec<&str> = scanned.lines().collect();
    let mut expected: Vec<&str> = LINES.iter().map(|(line, other)| other.unwrap_or(line)).collect();
    printed.sort_unstable();
    expected.sort_unstable();
    assert_eq!(printed, expected);
}

#[test]
fn numbers_keep_their_values_whatever_their_spelling() {
    let place = Place::new();
    place.write("in.jsonl", "{\"_id\":1,\"n\":[1.0,1e3,-0,-0.0,1E-2,12.50,1e400,100000000000000000000]}\n");
    place.good(&["load", "db", "c", "in.jsonl"]);
    let expected = "{\"_id\":1,\"n\":[1.0,1000.0,0,-0.0,0.01,12.5,1E+400,100000000000000000000]}\n";
    assert_eq!(place.good(&["get", "db", "c", "1"]), expected);
}
