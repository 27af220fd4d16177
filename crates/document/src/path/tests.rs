use super::*;
use crate::json::parse;

fn path(text: &str) -> FieldPath {
    text.parse().unwrap()
}

fn get(json: &str, at: &str) -> Option<Value> {
    path(at).get(&parse(json.as_bytes()).unwrap()).cloned()
}

fn all(json: &str, at: &str) -> Vec<Value> {
    let value = parse(json.as_bytes()).unwrap();
    let mut found = Vec::new();
    let count = path(at).visit(&value, &mut |value| found.push(value.clone()));
    assert_eq!(count, found.len());
    found
}

#[test]
fn names() {
    let p = path("a.bc.0");
    assert_eq!(p.names().collect::<Vec<_>>(), ["a", "bc", "0"]);
    assert_eq!((p.depth(), p.first(), p.as_str(), p.to_string()), (3, "a", "a.bc.0", "a.bc.0".to_owned()));
    assert!(p.starts_with(&path("a.bc")) && p.starts_with(&p));
    assert!(!p.starts_with(&path("a.b")) && !path("a").starts_with(&p));
}

#[test]
fn what_is_no_path() {
    for bad in ["", ".", "a.", ".a", "a..b"] {
        assert_eq!(bad.parse::<FieldPath>(), Err(PathError::EmptyName), "{bad}");
    }
    assert_eq!("a\0".parse::<FieldPath>(), Err(PathError::Nul));
    assert_eq!(["a"; 201].join(".").parse::<FieldPath>(), Err(PathError::TooLong));
    assert!(["a"; 200].join(".").parse::<FieldPath>().is_ok());
}

#[test]
fn one_value() {
    let json = r#"{"a":{"b":[10,{"c":20}],"0":"zero"},"a.b":1}"#;
    assert_eq!(get(json, "a.b.0"), Some(10.into()));
    assert_eq!(get(json, "a.b.1.c"), Some(20.into()));
    assert_eq!(get(json, "a.0"), Some("zero".into()));
    for missing in ["a.b.c", "a.b.2", "a.b.00", "a.b.+1", "a.b.-1", "b", "a.b.0.x"] {
        assert_eq!(get(json, missing), None, "{missing}");
    }
    let value = parse(json.as_bytes()).unwrap();
    assert_eq!(path("a.b.1.c").get_in(value.as_map().unwrap()), Some(&20.into()));
}

#[test]
fn all_values() {
    let json = r#"{"a":[{"b":1},{"b":[2,3]},4,[{"b":5}],{"c":6}],"d":7}"#;
    assert_eq!(all(json, "a.b"), [1.into(), parse(b"[2,3]").unwrap()]);
    assert_eq!(all(json, "a.b.1"), [3.into()]);
    assert_eq!(all(json, "a.0.b"), [1.into()]);
    assert_eq!(all(json, "a.3.b"), [5.into()]);
    assert_eq!(all(json, "d"), [7.into()]);
    assert_eq!(all(json, "d.e"), []);
    assert_eq!(all(r#"{"a":[{"0":1}]}"#, "a.0"), [parse(b"{\"0\":1}").unwrap(), 1.into()]);
}

#[test]
fn positions_in_arrays_are_plain_numbers() {
    assert_eq!((array_index("0"), array_index("10")), (Some(0), Some(10)));
    for name in ["", "00", "01", "+1", "-1", "1.0", "x", "99999999999999999999999"] {
        assert_eq!(array_index(name), None, "{name}");
    }
}

/// MongoDB 8.0, `src/mongo/util/str.cpp`, `parseUnsignedBase10Integer`.
#[test]
fn positions_of_updates_are_digits() {
    for (name, at) in [("0", 0), ("00", 0), ("10", 10), ("0000000000000000000000000000010", 10)] {
        assert_eq!(update_index(name), Some(at), "{name}");
    }
    for name in ["", "+1", "-1", "-0", "1.0", "x", "0x1", "99999999999999999999999"] {
        assert_eq!(update_index(name), None, "{name}");
    }
}

#[test]
fn a_value_is_set_in_maps() {
    let set = |json: &str, at: &str| {
        let Value::Map(mut map) = crate::json::parse(json.as_bytes()).unwrap() else { panic!("{json}") };
        path(at).set_in(&mut map, Value::Int32(1));
        Value::Map(map).to_string()
    };
    assert_eq!(set("{}", "a.b.c"), r#"{"a":{"b":{"c":1}}}"#);
    assert_eq!(set(r#"{"a":{"x":2,"b":3},"z":4}"#, "a.b"), r#"{"a":{"x":2,"b":1},"z":4}"#);
    assert_eq!(set(r#"{"a":[{"b":2}]}"#, "a.b"), r#"{"a":{"b":1}}"#);
}
