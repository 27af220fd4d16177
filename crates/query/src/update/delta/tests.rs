use super::*;
use crate::update::tests::update;

const CONTEXT: Context = Context { time_ms: 1000, inserting: false };

fn hex(text: &str) -> Vec<u8> {
    text.split_whitespace().map(|byte| u8::from_str_radix(byte, 16).unwrap()).collect()
}

/// The examples of `docs/format/delta.md`.
#[test]
fn bytes() {
    let cases = [
        (r#"{"$set":{"a":"x"}}"#, "01  01 17 61 17 78"),
        (r#"{"$unset":{"a.b":""}}"#, "01  02 37 61 2E 62"),
        (r#"{"$inc":{"score":1}}"#, "01  03 57 73 63 6F 72 65 14"),
        (r#"{"$mul":{"a":2.0}}"#, "01  04 17 61 2A"),
        (r#"{"$min":{"a":-1}}"#, "01  05 17 61 15"),
        (r#"{"$max":{"a":null}}"#, "01  06 17 61 01"),
        (r#"{"$push":{"a":1}}"#, "01  07 17 61 14"),
        (r#"{"$push":{"a":{"$each":[1,2]}}}"#, "01  08 17 61 04 28 14 24"),
        (r#"{"$push":{"a":{"$each":[],"$position":0,"$slice":-3,"$sort":1}}}"#, "01  08 17 61 74 08 04 35 14"),
        (r#"{"$push":{"a":{"$each":[1],"$sort":{"b":-1}}}}"#, "01  08 17 61 44 18 14 19 17 62 15"),
        (r#"{"$addToSet":{"a":1}}"#, "01  09 17 61 18 14"),
        (r#"{"$pull":{"a":1}}"#, "01  0A 17 61 14"),
        (r#"{"$pull":{"a":{"$gt":1}}}"#, "01  0B 17 61 19 77 65 6C 65 6D 65 6E 74 19 37 24 67 74 14"),
        (r#"{"$pull":{"a":{"b":1}}}"#, "01  0C 17 61 19 17 62 19 37 24 65 71 14"),
        (r#"{"$pullAll":{"a":[1,2]}}"#, "01  10 17 61 28 14 24"),
        (r#"{"$bit":{"a":{"and":1,"xor":2}}}"#, "01  11 17 61 48 04 14 24 24"),
        (r#"{"$inc":{"a.$[]":1}}"#, "01  03 57 61 2E 24 5B 5D 14"),
        (r#"{"$pop":{"a":-1}}"#, "01  0D 17 61"),
        (r#"{"$pop":{"a":1}}"#, "01  0E 17 61"),
        (r#"{"$rename":{"a":"b"}}"#, "01  0F 17 62 17 61"),
        (r#"{"$currentDate":{"a":true}}"#, "01  01 17 61 FD D0 0F"),
        (r#"{"$setOnInsert":{"a":1}}"#, "01"),
        (r#"{"$inc":{"b":1,"a":2}}"#, "01  03 17 61 24  03 17 62 14"),
    ];
    for (text, bytes) in cases {
        let delta = update(text).to_delta(&CONTEXT).unwrap();
        assert_eq!(delta, hex(bytes), "{text}");
        assert_eq!(Update::from_delta(&delta).unwrap().to_delta(&CONTEXT).unwrap(), delta);
    }
}

#[test]
fn what_no_encoder_writes_is_refused() {
    let cases = [
        ("", "empty"),
        ("01  00 17 61 14", "no operator 0"),
        ("01  13 17 61 14", "no operator 19"),
        ("01  03 17 61", "end"),
        ("01  03 14 14", "path is not a string"),
        ("01  03 07 14", "empty name"),
        ("01  03 27 24 61 14", "dollar sign"),
        ("01  03 37 5F 69 64 14", "changes _id"),
        ("01  0F 17 62 37 5F 69 64", "changes _id"),
        ("01  03 17 61 17 61", "needs a number"),
        ("01  03 17 62 14  03 17 61 14", "out of order"),
        ("01  03 17 61 14  03 17 61 14", "out of order"),
        ("01  03 17 61 14  03 37 61 2E 62 14", "conflict"),
        ("01  0F 17 62 17 62", "neither path"),
        ("01  08 17 61 84 18 14", "unknown modifiers"),
        ("01  08 17 61 15 18 14", "unknown modifiers"),
        ("01  08 17 61 04 14", "values of type int"),
        ("01  08 17 61 14 18 14 2A", "integer of type double"),
        ("01  08 17 61 44 18 14 24", "$sort"),
        ("01  0A 17 61 4F", "undefined"),
        ("01  0B 17 61 14", "condition of type int"),
        ("01  0C 17 61 19 27 24 78 14", "unknown operator $x"),
        ("01  10 17 61 14", "values of type int"),
        ("01  11 17 61 08", "no operation"),
        ("01  11 17 61 18 04", "without an operand"),
        ("01  11 17 61 28 34 14", "unknown operation"),
        ("01  11 17 61 28 04 2A", "takes integers"),
        ("01  03 37 61 2E 24 14", "not resolved"),
        ("01  0F 57 61 2E 24 5B 5D 17 62", "no path with a positional operator"),
        ("01  0F 17 62 57 61 2E 24 5B 5D", "no path with a positional operator"),
        ("01  03 67 61 2E 24 5B 78 5D 14", "no array filter"),
        ("01  12 17 78 09", "is not used"),
        ("01  12 17 58 09", "lower-case letter"),
        ("01  12 14 09", "not a string"),
        ("01  12 17 79 09  12 17 78 09", "out of order"),
        ("01  12 17 78 09  12 17 78 09", "out of order"),
        ("01  03 17 61 14  12 17 78 09", "no operator 18"),
    ];
    for (bytes, message) in cases {
        let error = Update::from_delta(&hex(bytes)).unwrap_err();
        assert!(matches!(&error, DeltaError::Damaged(why) if why.contains(message)), "{bytes}: {error}");
    }
    for version in [0, 2, 0x11, 0xff] {
        assert_eq!(Update::from_delta(&[version, 3, 0x17, 0x61, 0x14]), Err(DeltaError::Version(version)));
    }
}

#[test]
fn a_delta_never_changes_the_id() {
    for text in [r#"{"$set":{"_id":1}}"#, r#"{"$set":{"a":1,"_id.b":1}}"#, r#"{"$rename":{"_id":"a"}}"#] {
        let error = update(text).to_delta(&CONTEXT).unwrap_err();
        assert_eq!((error.code().number(), error.to_string().contains("cannot be a delta")), (66, true), "{error}");
    }
}

#[test]
fn array_filters_come_before_the_changes_that_use_them() {
    let parse = |text: &str, filters: &[&str]| {
        let filters: Vec<Value> = filters.iter().map(|text| Value::Map(crate::update::tests::map(text))).collect();
        Update::parse_with(&crate::update::tests::map(text), &filters).unwrap()
    };
    let update = parse(r#"{"$inc":{"a.$[x]":1}}"#, &[r#"{"x":{"$gt":1}}"#]);
    let delta = update.to_delta(&CONTEXT).unwrap();
    assert_eq!(delta, hex("01  12 17 78 19 17 78 19 37 24 67 74 14  03 67 61 2E 24 5B 78 5D 14"));
    assert_eq!(Update::from_delta(&delta), Ok(update));
    // The notation of the filters does not matter.
    let text = r#"{"$inc":{"a.$[y]":1,"b.$[x].c":1}}"#;
    let one = parse(text, &[r#"{"x":1}"#, r#"{"$and":[{"y":2}]}"#]);
    let other = parse(text, &[r#"{"y":{"$eq":2}}"#, r#"{"x":{"$eq":1}}"#]);
    assert_eq!(one, other);
    assert_eq!(one.to_delta(&CONTEXT), other.to_delta(&CONTEXT));
    // Changes that apply only to inserts are not kept, and neither are their filters.
    let insert = parse(r#"{"$setOnInsert":{"a.$[x]":1},"$set":{"b.$[y]":1}}"#, &[r#"{"x":1}"#, r#"{"y":1}"#]);
    let kept = Update::from_delta(&insert.to_delta(&CONTEXT).unwrap()).unwrap();
    assert_eq!(kept, parse(r#"{"$set":{"b.$[y]":1}}"#, &[r#"{"y":1}"#]));
}

#[test]
fn what_another_build_may_answer_otherwise_is_no_delta() {
    for text in [
        r#"{"$pull":{"a":{"$regularExpression":{"pattern":"x","options":""}}}}"#,
        r#"{"$pull":{"a":{"$regex":"x"}}}"#,
        r#"{"$pull":{"a":{"b":{"$not":{"$regex":"x"}}}}}"#,
        r#"{"$pull":{"a":{"$in":[{"$regularExpression":{"pattern":"x","options":""}}]}}}"#,
        r#"{"$set":{"a.$":1}}"#,
        r#"{"$set":{"a.$.b":1}}"#,
    ] {
        let error = update(text).to_delta(&CONTEXT).unwrap_err();
        assert_eq!(error.code().number(), 2, "{text}: {error}");
    }
    // x0C: the same filter in the bytes of a delta.
    let filter = "19 17 62 19 67 24 72 65 67 65 78 17 78";
    let error = Update::from_delta(&hex(&format!("01  0C 17 61 {filter}"))).unwrap_err();
    assert!(error.to_string().contains("regular expression"), "{error}");
}

/// A condition with any number of branches and any content is decoded as it was written.
#[test]
fn conditions_of_many_branches_are_read_as_they_were_written() {
    let or = |name: &str, branches: usize| {
        let odd = format!(r#"{{"{name}":{{"$eq":{{"$x":1}}}}}}"#);
        let plain = (1..branches).map(|n| format!(r#"{{"{name}":{n}}}"#));
        format!(r#"{{"$or":[{}]}}"#, plain.chain([odd]).collect::<Vec<_>>().join(","))
    };
    for branches in [2, 65, 66, 200] {
        let pull = update(&format!(r#"{{"$pull":{{"a":{}}}}}"#, or("b", branches)));
        let filter = Value::Map(crate::update::tests::map(&or("x.b", branches)));
        let text = crate::update::tests::map(r#"{"$inc":{"a.$[x].n":1}}"#);
        for update in [pull, Update::parse_with(&text, &[filter]).unwrap()] {
            assert_eq!(Update::from_delta(&update.to_delta(&CONTEXT).unwrap()), Ok(update), "{branches}");
        }
    }
    for text in [r#"{"$pull":{"a":{"$id":1}}}"#, r#"{"$pull":{"a":{"x":{"$elemMatch":{"$ref":"u","$id":1}}}}}"#] {
        let update = update(text);
        assert_eq!(Update::from_delta(&update.to_delta(&CONTEXT).unwrap()), Ok(update), "{text}");
    }
}

#[test]
fn a_condition_that_would_not_be_read_again_is_no_delta() {
    use crate::filter::tree::{Clause, Condition, In, Path, Test};
    let of_list = |value: Value| {
        let condition = Condition::Test(Test::In(In::new(vec![value, Value::from(1)], Vec::new())));
        Filter::of(vec![Clause::Field { path: Path::new("b"), condition }])
    };
    let filter = of_list(Value::Map(alluvium_document::Map::from([("$x", 1)])));
    assert_eq!(check_kept(&of_list(Value::from(2)), "a condition", Filter::parse), Ok(()));
    assert_eq!(check_kept(&filter, "a condition", Filter::parse).unwrap_err().code().number(), 2);
    let mut update = update(r#"{"$pull":{"a":{"b":1}}}"#);
    update.changes[0].action = Action::Pull(Pull::Fields(filter));
    let error = update.to_delta(&CONTEXT).unwrap_err();
    assert!(error.code().number() == 2 && error.to_string().contains("cannot be kept in a delta"), "{error}");
}
