use super::*;

const AS_JSON: IdArgs = IdArgs { id_string: false };
const AS_STRING: IdArgs = IdArgs { id_string: true };

#[test]
fn json_is_taken_as_json_and_all_else_as_a_string() {
    assert_eq!(AS_JSON.parse("17"), Value::from(17));
    assert_eq!(AS_JSON.parse("\"17\""), Value::from("17"));
    assert_eq!(AS_JSON.parse("evn2i5p"), Value::from("evn2i5p"));
    assert_eq!(AS_JSON.parse("null"), Value::Null);
    assert_eq!(AS_JSON.parse(""), Value::from(""));
    assert_eq!(AS_JSON.parse("a b"), Value::from("a b"));
    let id = AS_JSON.parse(r#"{"$oid":"5f43a1b2c3d4e5f601234567"}"#);
    assert_eq!(id.type_name(), "objectId");
}

#[test]
fn a_string_can_be_forced() {
    assert_eq!(AS_STRING.parse("17"), Value::from("17"));
    assert_eq!(AS_STRING.parse("1e5"), Value::from("1e5"));
}

#[test]
fn field_paths_lose_blanks_and_are_refused_by_name() {
    let args = |fields: &[&str]| FieldArgs { fields: Some(fields.iter().map(|field| (*field).to_owned()).collect()) };
    assert_eq!(args(&["a", " b.c ", "$schema"]).paths().unwrap(), Some(vec!["a", "b.c", "$schema"]));
    assert_eq!(FieldArgs { fields: None }.paths().unwrap(), None);
    for (fields, says) in [
        (&[""][..], "no name"),
        (&["a", " ", "b"], "no name"),
        (&["a."], "\"a.\" is not a path"),
        (&["a..b"], "\"a..b\" is not a path"),
        (&["s", "t", " s"], "names s twice"),
    ] {
        let refused = args(fields).paths().unwrap_err().to_string();
        assert!(refused.contains(says), "{fields:?}: {refused}");
    }
}
