use super::*;
use alluvium_document::json;

pub(super) fn map(text: &str) -> Map {
    match json::parse(text.as_bytes()) {
        Ok(Value::Map(map)) => map,
        other => panic!("{text}: {other:?}"),
    }
}

pub(super) fn update(text: &str) -> Update {
    Update::parse(&map(text)).unwrap()
}

#[test]
fn the_paths_are_those_of_all_operators_and_both_of_a_rename() {
    let update = update(r#"{"$set":{"b.c":1,"a":2},"$setOnInsert":{"s":1},"$rename":{"x":"y.z"},"$pull":{"p":1}}"#);
    let mut paths: Vec<&str> = update.paths().map(FieldPath::as_str).collect();
    paths.sort_unstable();
    assert_eq!(paths, ["a", "b.c", "p", "s", "x", "y.z"]);
}

#[test]
fn the_same_changes_are_the_same_update_however_written() {
    let one = update(r#"{"$set":{"b":1},"$inc":{"a":1},"$push":{"c":1}}"#);
    assert_eq!(one, update(r#"{"$push":{"c":{"$each":[1]}},"$inc":{"a":1},"$set":{"b":1}}"#));
    assert_ne!(one, update(r#"{"$push":{"c":1},"$inc":{"a":1.0},"$set":{"b":1}}"#));
    assert!(!one.is_empty());
    assert!(update(r#"{"$set":{},"$inc":{}}"#).is_empty());
}

#[test]
fn messages_name_the_operator_and_the_field() {
    let cases = [
        (r#"{"$inc":{"a.b":1}}"#, "$inc of 'a.b' cannot create field 'b' in 'a', which is of type string"),
        (r#"{"$inc":{"a":1}}"#, "cannot apply $inc to 'a', which is of type string, not a number"),
        (r#"{"$push":{"a":1}}"#, "cannot apply $push to 'a', which is of type string, not an array"),
        (r#"{"$unset":{"_id":1}}"#, "$unset of '_id' would change _id, which never changes"),
        (r#"{"$set":{"c.2000000":1}}"#, "$set of 'c.2000000' would fill the array up with more than 1500000 nulls"),
        (r#"{"$pushAll":{"a":[1]}}"#, "the update operator $pushAll is not supported"),
        (r#"{"$bit":{"a":{"and":1}}}"#, "cannot apply $bit to 'a', which is of type string, not an integer"),
        (r#"{"$inc":{"a":"x"}}"#, "$inc of 'a' needs a number, this is of type string"),
        (r#"{"$set":{"a.b":1,"a":1}}"#, "updating the path 'a.b' would conflict with updating 'a'"),
        (r#"{"$set":{"a.$[]":1}}"#, "$set of 'a.$[]' needs an array at 'a', which is of type string"),
        (r#"{"$set":{"b.c.$[]":1}}"#, "$set of 'b.c.$[]' needs an array at 'b.c', which is missing"),
        (r#"{"$set":{"a.$[x]":1}}"#, "no array filter has the name 'x' of the path 'a.$[x]'"),
        (r#"{"$inc":{"c.$":1}}"#, "$inc of 'c.$': the filter matches no element for '$': add a condition on the array"),
    ];
    for (text, message) in cases {
        let mut document = map(r#"{"_id":1,"a":"x","c":[]}"#);
        let result = Update::parse(&map(text)).and_then(|u| u.apply_to_map(&mut document, &Context::default()));
        assert_eq!(result.unwrap_err().to_string(), message);
    }
    let error = Update::parse(&map(r#"{"a":1}"#)).unwrap_err();
    assert!(error.to_string().ends_with("use replace"), "{error}");
}

#[test]
fn timestamps_hold_seconds_and_stay_within_their_range() {
    let update = update(r#"{"$currentDate":{"t":{"$type":"timestamp"}}}"#);
    for (time_ms, time) in [(1_999, 1), (0, 0), (-1, 0), (i64::MIN, 0), (i64::MAX, u32::MAX)] {
        let document = update.for_upsert(1, time_ms).unwrap();
        let timestamp = alluvium_document::value::Timestamp { time, increment: 1 };
        assert_eq!(document.get("t"), Some(&Value::Timestamp(timestamp)));
    }
}

#[test]
fn a_change_adds_no_more_bytes_than_it_says() {
    let cases = [
        ("{}", r#"{"$set":{"a.b.c":"text"}}"#),
        (r#"{"a":[]}"#, r#"{"$set":{"a.100.b":1}}"#),
        (r#"{"a":1}"#, r#"{"$inc":{"a":{"$numberDecimal":"1"}}}"#),
        (r#"{"a":[1]}"#, r#"{"$push":{"a":{"$each":[1,2,{"x":"y"}],"$position":0}}}"#),
        ("{}", r#"{"$addToSet":{"a":{"$each":[1,2,3,4,5,6]}}}"#),
        ("{}", r#"{"$min":{"a":{"b":[1,2,3]}}}"#),
        ("{}", r#"{"$mul":{"a":{"$numberDecimal":"1"}}}"#),
        (r#"{"a":{"b":"x"}}"#, r#"{"$rename":{"a.b":"longer.name.0"}}"#),
        ("{}", r#"{"$currentDate":{"a":true}}"#),
    ];
    let digits = "7".repeat(15_000);
    let long = [
        (r#"{"a":{"$numberDecimal":"1E-12399"}}"#.to_owned(), r#"{"$inc":{"a":1}}"#.to_owned()),
        (
            r#"{"a":{"$numberDecimal":"-1E-12000"}}"#.to_owned(),
            r#"{"$inc":{"a":{"$numberDecimal":"1E+399"}}}"#.to_owned(),
        ),
        (
            r#"{"a":7}"#.to_owned(),
            format!(r#"{{"$mul":{{"a":{{"$numberDecimal":"-{}E-99999"}}}}}}"#, &digits[..12_399]),
        ),
        ("{}".to_owned(), format!(r#"{{"$inc":{{"a":{digits}}}}}"#)),
        (r#"{"a":[]}"#.to_owned(), format!(r#"{{"$push":{{"a":{digits}}}}}"#)),
    ];
    let cases = cases.map(|(before, text)| (before.to_owned(), text.to_owned()));
    for (before, text) in cases.iter().chain(&long) {
        let mut document = map(before);
        let size = bson::document_size(&document);
        let update = update(text);
        assert!(update.apply_to_map(&mut document, &Context { time_ms: 0, inserting: true }).unwrap().changed);
        let growth = bson::document_size(&document) - size;
        let [change] = &update.changes[..] else { panic!() };
        let most = change.action.growth_max(&change.path);
        assert!(growth > 0 && growth <= most && most < 16_000, "{text}: {growth} {most}");
    }
    // A position far beyond the end saturates instead of overflowing.
    let update = update(r#"{"$set":{"a.18446744073709551615":1}}"#);
    assert_eq!(update.changes[0].action.growth_max(&update.changes[0].path), usize::MAX);
}

#[test]
fn an_unknown_operator_gets_the_nearest_as_a_suggestion() {
    let error = Update::parse(&Map::from([("$ste", Map::from([("a", 1)]))])).unwrap_err();
    let message = "unknown update operator $ste: did you mean $set?";
    assert_eq!((error.code().number(), error.to_string().as_str()), (9, message));
}
