use super::*;
use crate::value::Code;
use proptest::prelude::*;

fn fails(text: &str, line: usize, column: usize, reason: Reason) {
    let error = parse(text.as_bytes()).unwrap_err();
    assert_eq!((error.line, error.column, error.reason), (line, column, reason), "{text}");
}

#[test]
fn everything_that_json_has() {
    let text = r#" { "a" : [ 1 , -2.5 , true , false , null , "x" , [ ] , { } ] ,
        "b\n\"\\\/\b\f\r\t\u00e9\ud83d\ude00" : {"":0} } "#;
    let list: Vec<Value> = vec![
        1.into(),
        (-2.5).into(),
        true.into(),
        false.into(),
        ().into(),
        "x".into(),
        Value::Array(vec![]),
        Map::new().into(),
    ];
    let map = Map::from([("a", Value::Array(list)), ("b\n\"\\/\u{8}\u{c}\r\té😀", Map::from([("", 0)]).into())]);
    assert_eq!(parse(text.as_bytes()).unwrap(), Value::Map(map));
    assert_eq!(parse(b"\"\"").unwrap(), Value::from(""));
    assert_eq!(parse(b"7").unwrap(), Value::from(7));
}

#[test]
fn structure() {
    fails("", 1, 1, Reason::UnexpectedEnd);
    fails("  ", 1, 3, Reason::UnexpectedEnd);
    fails("{", 1, 2, Reason::UnexpectedEnd);
    fails("{\"a\":1", 1, 7, Reason::UnexpectedEnd);
    fails("[1,\n 2,\n é]", 3, 2, Reason::Expected("a value"));
    fails("[1,]", 1, 4, Reason::Expected("a value"));
    fails("[1 2]", 1, 4, Reason::Expected("a comma or the end of the array"));
    fails("{\"a\":1,}", 1, 8, Reason::Expected("a field name in quotes"));
    fails("{a:1}", 1, 2, Reason::Expected("a field name in quotes"));
    fails("{\"a\" 1}", 1, 6, Reason::Expected("a colon"));
    fails("{\"é\":1 \"b\":2}", 1, 8, Reason::Expected("a comma or the end of the map"));
    fails("{} x", 1, 4, Reason::Trailing);
    fails("1 2", 1, 3, Reason::Trailing);
    fails("truf", 1, 4, Reason::Expected("a value"));
    fails("tru", 1, 4, Reason::UnexpectedEnd);
    fails("nulll", 1, 5, Reason::Trailing);
    fails("NaN", 1, 1, Reason::NotFinite("NaN"));
    fails("[Infinit]", 1, 2, Reason::Expected("a value"));
    fails("\u{feff}1", 1, 1, Reason::Expected("a value"));
    fails("'a'", 1, 1, Reason::Expected("a value"));
    fails("[1]\u{a0}", 1, 4, Reason::Trailing);
}

#[test]
fn numbers() {
    fails("[01]", 1, 2, Reason::InvalidNumber);
    fails("[1.]", 1, 4, Reason::InvalidNumber);
    fails("[.5]", 1, 2, Reason::Expected("a value"));
    fails("[+1]", 1, 2, Reason::Expected("a value"));
    fails("[-]", 1, 3, Reason::InvalidNumber);
    fails("[1e]", 1, 4, Reason::InvalidNumber);
    fails("[1x]", 1, 3, Reason::Expected("a comma or the end of the array"));
    fails("[0x1]", 1, 3, Reason::Expected("a comma or the end of the array"));
    fails("[-Infinity]", 1, 2, Reason::NotFinite("Infinity"));
    fails("[1e9999999999]", 1, 2, Reason::NumberOutOfRange);
}

#[test]
fn strings() {
    fails("\"abc", 1, 5, Reason::UnexpectedEnd);
    fails("\"ab\nc\"", 1, 4, Reason::ControlCharacter);
    fails("\"a\\nb\u{1}c\"", 1, 6, Reason::ControlCharacter);
    fails("{\"a\u{1f}\":1}", 1, 4, Reason::ControlCharacter);
    fails("\"\\x\"", 1, 3, Reason::InvalidEscape);
    fails("\"\\u12g4\"", 1, 6, Reason::InvalidEscape);
    fails("\"\\u+123\"", 1, 4, Reason::InvalidEscape);
    fails("\"\\u12", 1, 6, Reason::UnexpectedEnd);
    fails("\"\\", 1, 3, Reason::UnexpectedEnd);
    fails("\"\\ud800\"", 1, 3, Reason::LoneSurrogate);
    fails("\"\\udc00\"", 1, 3, Reason::LoneSurrogate);
    fails("\"\\ud800\\ud800\"", 1, 3, Reason::LoneSurrogate);
    fails("\"\\ud800\\n\"", 1, 3, Reason::LoneSurrogate);
    let error = parse(b"{\"a\":\n \"x\xff\"}").unwrap_err();
    assert_eq!((error.line, error.column, error.offset, error.reason), (2, 4, 9, Reason::InvalidUtf8));
    assert!(parse(b"\"\xed\xa0\x80\"").is_err());
    assert!(parse(b"\"\xc0\x80\"").is_err());
    assert_eq!(parse("\"\u{7f}\u{2028}\"".as_bytes()).unwrap(), Value::from("\u{7f}\u{2028}"));
}

#[test]
fn errors_are_friendly() {
    let error = parse(b"{\"a\":1,\n\"a\":2}").unwrap_err();
    assert_eq!(error.to_string(), "line 2, column 1: duplicate field \"a\"");
}

/// Maps with few names, more than a few, and many; the same with escapes.
#[test]
fn duplicate_fields() {
    for count in [1, 7, 8, 9, 20, 63, 64, 65, 66, 200, 1000] {
        for twice in [0, count / 2, count - 1] {
            let mut fields: Vec<String> = (0..count).map(|i| format!("\"field{i}\":{i}")).collect();
            assert!(parse(format!("{{{}}}", fields.join(",")).as_bytes()).is_ok());
            let start = fields.join(",").len() + 2;
            fields.push(format!("\"f\\u0069eld{twice}\":0"));
            fields.push("\"last\":0".into());
            let error = parse(format!("{{{}}}", fields.join(",")).as_bytes()).unwrap_err();
            assert_eq!((error.offset, error.reason), (start, Reason::DuplicateField(format!("field{twice}"))));
        }
    }
    fails("{\"a\":{\"b\":1,\"b\":2},\"a\":1}", 1, 13, Reason::DuplicateField("b".into()));
    assert!(parse(b"{\"a\":{\"a\":{\"a\":1}},\"b\":[{\"a\":1},{\"a\":1}]}").is_ok());
    fails("{\"$oid\":\"\",\"$oid\":\"\"}", 1, 12, Reason::DuplicateField("$oid".into()));
}

#[test]
fn a_map_may_have_very_many_fields() {
    let fields: Vec<String> = (0..50_000).map(|i| format!("\"prefix..{i:06}..suffix\":0")).collect();
    let value = parse(format!("{{{}}}", fields.join(",")).as_bytes()).unwrap();
    assert_eq!(value.as_map().unwrap().len(), 50_000);
}

#[test]
fn the_limit_of_levels_and_no_more() {
    let nested = |open: &str, close: &str, levels| format!("{}1{}", open.repeat(levels), close.repeat(levels));
    for (open, close) in [("[", "]"), ("{\"a\":", "}")] {
        assert!(parse(nested(open, close, MAX_DEPTH).as_bytes()).is_ok());
        let at = MAX_DEPTH * open.len() + 1;
        fails(&nested(open, close, MAX_DEPTH + 1), 1, at, Reason::TooDeep);
        fails(&nested(open, close, 100_000), 1, at, Reason::TooDeep);
        fails(&open.repeat(1_000_000), 1, at, Reason::TooDeep);
    }
}

/// Names that libraries use internally for raw numbers are ordinary names here.
#[test]
fn no_name_is_magic() {
    for name in ["$serde_json::private::Number", "$serde_json::private::RawValue", "$sonic_rs::private::JsonNumber"] {
        let text = format!("{{\"{name}\":\"1\"}}");
        assert_eq!(parse(text.as_bytes()).unwrap(), Map::from([(name, "1")]).into());
    }
}

#[test]
fn a_parser_is_clean_after_an_error() {
    let mut parser = Parser::new();
    assert!(parser.parse(b"{\"a\":[1,2,{\"b\":").is_err());
    assert!(parser.entries.is_empty() && parser.elements.is_empty());
    assert_eq!(parser.parse(b"{\"c\":[3]}").unwrap(), parse(b"{\"c\":[3]}").unwrap());
    assert!(parser.parse(format!("[{}]", vec!["0"; 100_000].join(",")).as_bytes()).is_ok());
    assert!(parser.elements.capacity() < 10_000);
}

/// True if `serde_json` agrees. It accepts duplicate fields, and is equally strict otherwise.
fn agrees_with_serde_json(bytes: &[u8]) -> bool {
    let ours = parse(bytes);
    match (serde_json::from_slice::<serde_json::Value>(bytes), &ours) {
        (Ok(_), Ok(_)) | (Err(_), Err(_)) => true,
        (Ok(_), Err(error)) => {
            matches!(error.reason, Reason::DuplicateField(_) | Reason::Extended { .. } | Reason::NumberOutOfRange)
        }
        // Numbers beyond doubles are decimals here and errors there.
        (Err(error), Ok(_)) => error.to_string().starts_with("number out of range"),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2048))]

    #[test]
    fn any_bytes_are_taken_without_panic(bytes in proptest::collection::vec(any::<u8>(), 0..50)) {
        prop_assert!(agrees_with_serde_json(&bytes));
    }

    #[test]
    fn what_looks_like_json_is_judged_as_elsewhere(
        text in "([\\[\\]{},:\" ]|\"a\"|\"b\":|1|-0|1\\.5|2e3|true|null|\\\\u00e9|\\\\|\n|é){0,14}"
    ) {
        prop_assert!(agrees_with_serde_json(text.as_bytes()), "{}", text);
    }

    #[test]
    fn strings_are_judged_as_elsewhere(text in "\"([a\"\\\\/nu0dDcC8é\u{1}\u{7f}]|\\\\ud83d|\\\\ude00|\\\\u00){0,9}\"") {
        prop_assert!(agrees_with_serde_json(text.as_bytes()), "{}", text);
        let theirs = serde_json::from_str::<String>(&text).ok().map(Value::from);
        prop_assert_eq!(parse(text.as_bytes()).ok(), theirs);
    }

    #[test]
    fn special_bytes_are_found_wherever_they_are(bytes in proptest::collection::vec(prop_oneof![4 => 0x20u8..=255, 1 => any::<u8>()], 0..40)) {
        let slow = bytes.iter().position(|&b| b < 0x20 || b == b'"' || b == b'\\').unwrap_or(bytes.len());
        prop_assert_eq!(find_special(&bytes), slow);
    }
}

#[test]
fn the_levels_of_extended_json_do_not_count() {
    let scope = |inner| Value::Code(Box::new(Code { code: "c".into(), scope: Some(inner) }));
    let map = |value| Map { entries: vec![(Value::from("a"), value)] };
    let mut value = Value::DateTime(-1);
    let mut code = Value::Int64(1);
    for _ in 0..MAX_DEPTH {
        value = Value::Map(map(value));
        code = scope(map(code));
    }
    for value in [value, code] {
        let text = crate::json::to_string(&value, crate::json::Format::CANONICAL).unwrap();
        assert_eq!(parse(text.as_bytes()).unwrap(), value);
        let over = format!("[{text}]");
        assert_eq!(parse(over.as_bytes()).unwrap_err().reason, Reason::TooDeep);
    }
}

#[test]
fn what_others_write_is_repaired_if_that_is_asked() {
    let repaired = |json: &[u8]| parse_repaired(json).unwrap();
    // Python's json.dumps writes NaN and Infinity (its parameter allow_nan, true by default).
    assert_eq!(repaired(b"NaN"), Value::from(f64::NAN));
    assert_eq!(
        repaired(b"[Infinity,-Infinity,-1]"),
        Value::Array(vec![f64::INFINITY.into(), f64::NEG_INFINITY.into(), Value::Int32(-1)])
    );
    // JSON.stringify of JavaScript writes lone surrogates as escapes; jq and Go put U+FFFD there.
    assert_eq!(repaired(b"\"a\\ud83dz\\ude00\\ud83d\\ude00\""), Value::from("a\u{fffd}z\u{fffd}\u{1f600}"));
    assert_eq!(repaired(b"\"caf\xe9\tau\""), Value::from("caf\u{fffd}\tau"));
    for json in ["{", "[NaN", "Nan", "\"\\x\"", "-Inf"] {
        assert!(parse_repaired(json.as_bytes()).is_err(), "{json}");
    }
}
