use super::*;

fn same(typed: &str, meant: &str) {
    assert_eq!(parse(typed).expect(typed), json::parse(meant.as_bytes()).expect(meant), "{typed}");
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

#[test]
fn the_rest_is_refused_with_the_error_of_what_was_typed() {
    for typed in
        ["{a: b}", "{a: 'b}", "{,}", "[,]", "{a: 1,,}", "{a 1}", "", "{", "[1", "{a:", "'", "{'a\\", "{a: undefined}"]
    {
        let strict = json::parse(typed.as_bytes()).expect_err(typed);
        assert_eq!(parse(typed).expect_err(typed).to_string(), strict.to_string(), "{typed}");
    }
}

#[test]
fn what_is_json_is_read_as_json() {
    for typed in [r#"{"a": 1}"#, "[1,2]", "7", r#""x""#, "null", r#"{"'": ",]"}"#] {
        same(typed, typed);
    }
}
