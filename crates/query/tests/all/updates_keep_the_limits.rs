//! No update makes a document that cannot be stored, and no update takes memory far beyond the maximum size of
//! documents.

use crate::common::{draft_of, plain};
use alluvium_document::{Code, MAX_DEPTH, Map, Value, bson};
use alluvium_query::filter::Filter;
use alluvium_query::fold::fold;
use alluvium_query::update::{Context, MAX_DOCUMENT_BYTES, Replacement, Update, UpdateError};

const CONTEXT: Context = Context { time_ms: 0, inserting: false };

fn update(operator: &str, path: &str, operand: impl Into<Value>) -> Result<Update, UpdateError> {
    Update::parse(&Map::from([(operator, Map::from([(path, operand.into())]))]))
}

fn path(names: usize) -> String {
    vec!["a"; names].join(".")
}

fn nested(levels: usize) -> Value {
    (0..levels).fold(Value::Null, |inner, _| Value::Array(vec![inner]))
}

/// The deepest value that is allowed at this path, for each operator that stores a value.
#[test]
fn documents_nest_to_the_limit_and_no_further() {
    for names in [1, 2, 50, MAX_DEPTH - 2, MAX_DEPTH - 1] {
        let each = |value: Value| Value::Map(Map::from([("$each", Value::Array(vec![value]))]));
        let cases = [
            ("$set", nested as fn(usize) -> Value, 0),
            ("$setOnInsert", nested, 0),
            ("$min", nested, 0),
            ("$max", nested, 0),
            ("$push", nested, 1),
            ("$addToSet", nested, 1),
        ];
        for (operator, value, own) in cases {
            let levels = MAX_DEPTH - names - own;
            let fits = update(operator, &path(names), value(levels)).unwrap();
            let made = fits.for_upsert(1, 0).unwrap();
            assert!(!Value::Map(made.clone()).is_too_deep(), "{operator} {names}");
            assert!(Value::Map(made).is_deeper_than(MAX_DEPTH - 1), "{operator} {names}");
            let delta = fits.to_delta(&CONTEXT).unwrap();
            assert_eq!(Update::from_delta(&delta).unwrap().is_empty(), operator == "$setOnInsert");
            let error = update(operator, &path(names), value(levels + 1)).unwrap_err();
            assert_eq!((error.code().number(), error.code().name()), (15, "Overflow"), "{operator} {names}");
        }
        assert_eq!(update("$push", &path(names), each(nested(MAX_DEPTH - names))).unwrap_err().code().number(), 15);
    }
    assert_eq!(update("$push", &path(MAX_DEPTH), 1).unwrap_err().code().number(), 15);
    assert!(update("$set", &path(MAX_DEPTH), 1).is_ok());
    assert_eq!(update("$set", &path(MAX_DEPTH + 1), 1).unwrap_err().code().number(), 15);
    assert_eq!(update("$pull", "a", Map::from([("$in", nested(MAX_DEPTH))])).unwrap_err().code().number(), 15);
}

/// A code with a scope counts as one level, both in an update and in the delta that stores the update.
#[test]
fn codes_nest_to_the_limit_and_no_further() {
    let codes = |levels: usize| {
        (0..levels).fold(Value::Null, |inner, _| {
            Value::Code(Box::new(Code { code: String::new(), scope: Some(Map::from([("s", inner)])) }))
        })
    };
    for levels in [50, 51, MAX_DEPTH - 2, MAX_DEPTH - 1] {
        let set = update("$set", "a", codes(levels)).unwrap();
        let delta = set.to_delta(&CONTEXT).unwrap();
        let document = Map::from([("_id", Value::from(1))]);
        let folded = fold(Some(draft_of(&document)), [delta.as_slice()]).unwrap();
        assert_eq!(folded.refused, 0, "{levels}");
        assert_eq!(folded.draft.unwrap().into_map().unwrap().get("a"), Some(&codes(levels)), "{levels}");
        assert_eq!(set.for_upsert(1, 0).unwrap().get("a"), Some(&codes(levels)), "{levels}");
    }
    for levels in [MAX_DEPTH, MAX_DEPTH + 1] {
        assert_eq!(update("$set", "a", codes(levels)).unwrap_err().code().number(), 15, "{levels}");
    }
}

#[test]
fn a_rename_may_not_nest_deeper_than_the_limit() {
    let document = Map::from([("_id", Value::from(1)), ("deep", nested(MAX_DEPTH - 2))]);
    for (to, fits) in [("x.y", true), ("x.y.z", false)] {
        let rename = update("$rename", "deep", to).unwrap();
        let mut map = document.clone();
        let result = rename.apply_to_map(&mut map, &CONTEXT).map_err(|error| error.code().number());
        assert_eq!(result.err(), if fits { None } else { Some(15) });
        assert!(!Value::Map(map).is_too_deep());
        let delta = rename.to_delta(&CONTEXT).unwrap();
        assert_eq!(fold(Some(draft_of(&document)), [&delta[..]]).unwrap().refused, u64::from(!fits));
    }
}

/// A document that is `missing` bytes below the limit.
fn large(missing: usize) -> Map {
    let mut map = Map::from([("_id", Value::from(1)), ("a", Value::Array(Vec::new())), ("n", Value::from(1))]);
    let size = bson::document_size(&map) + 1 + "text".len() + 1 + 5;
    map.push("text", "x".repeat(MAX_DOCUMENT_BYTES - size - missing));
    assert_eq!(bson::document_size(&map), MAX_DOCUMENT_BYTES - missing);
    map
}

#[test]
fn documents_grow_to_the_limit_and_no_further() {
    // A boolean takes 4 bytes as an element of an array, or under a name of one character.
    let four: [(&str, &str, Value); 3] =
        [("$push", "a", true.into()), ("$set", "b", true.into()), ("$inc", "n", 1i64.into())];
    for (missing, fits) in [(4, true), (3, false)] {
        let document = large(missing);
        for (operator, path, operand) in &four {
            let update = update(operator, path, operand.clone()).unwrap();
            let mut map = document.clone();
            let result =
                update.apply_to_map(&mut map, &CONTEXT).map_err(|error| (error.code().number(), error.code().name()));
            assert_eq!(result.err(), if fits { None } else { Some((10334, "BSONObjectTooLarge")) }, "{operator}");
            for draft in [draft_of(&document), plain(&document)] {
                assert_eq!(update.apply(&mut draft.clone(), &CONTEXT).is_ok(), fits);
                let delta = update.to_delta(&CONTEXT).unwrap();
                let folded = fold(Some(draft), [&delta[..]]).unwrap();
                assert_eq!(folded.refused, u64::from(!fits));
                assert_eq!(&folded.draft.unwrap().into_map().unwrap(), if fits { &map } else { &document });
            }
        }
    }
}

/// A chain of deltas with which the document grows to the limit, where a delta is refused, then shrinks, and grows
/// again.
#[test]
fn a_chain_of_deltas_is_measured_where_it_must_be() {
    let delta = |operator, path, operand: Value| update(operator, path, operand).unwrap().to_delta(&CONTEXT).unwrap();
    let push = delta("$push", "a", "x".repeat(1 << 20).into());
    let two = Map::from([("$push", Map::from([("a", "x".repeat(1 << 20)), ("b", "y".repeat(1 << 19))]))]);
    let two = Update::parse(&two).unwrap().to_delta(&CONTEXT).unwrap();
    let clear = delta("$set", "a", Value::Array(Vec::new()));
    let chain = [vec![&push; 20], vec![&two; 2], vec![&clear], vec![&two; 3]].concat();
    let document = Map::from([("_id", Value::from(1)), ("a", Value::Array(Vec::new()))]);
    let folded = fold(Some(draft_of(&document)), chain.into_iter().map(|delta| &delta[..])).unwrap();
    // 15 deltas fit; 5 deltas and the two pairs do not. Afterwards there is room again.
    assert_eq!(folded.refused, 5 + 2);
    let after = folded.draft.unwrap().into_map().unwrap();
    let count = |name| after.get(name).and_then(Value::as_array).map(<[Value]>::len);
    assert_eq!((count("a"), count("b")), (Some(3), Some(3)));
}

/// A decimal beyond decimal128 counts by the length of its text, so a chain of such decimals cannot be folded to many
/// times the limit.
#[test]
fn long_decimals_fill_a_document_to_the_limit_and_no_further() {
    let long = Value::Decimal("7".repeat(3 << 20).parse().unwrap());
    let push = update("$push", "a", long.clone()).unwrap();
    let delta = push.to_delta(&CONTEXT).unwrap();
    let mut document = Map::from([("_id", Value::from(1)), ("a", Value::Array(Vec::new()))]);
    for draft in [draft_of(&document), plain(&document)] {
        let folded = fold(Some(draft), vec![&delta[..]; 8]).unwrap();
        assert_eq!(folded.refused, 3);
    }
    for _ in 0..5 {
        push.apply_to_map(&mut document, &CONTEXT).unwrap();
    }
    assert_eq!(push.apply_to_map(&mut document, &CONTEXT).unwrap_err().code().number(), 10334);
    let both = Map::from([("$set", Map::from([("b", long.clone()), ("c", long)]))]);
    assert_eq!(Update::parse(&both).unwrap().apply_to_map(&mut document, &CONTEXT).unwrap_err().code().number(), 10334);
}

#[test]
fn a_delta_is_no_larger_than_a_document() {
    let set = |len: usize| update("$set", "a", "x".repeat(len)).unwrap().to_delta(&CONTEXT);
    // The bytes around the value: version, operator, path, and the head of the value with its length.
    let around = 1 + 1 + 2 + 1 + 4;
    assert_eq!(set(MAX_DOCUMENT_BYTES - around).map(|delta| delta.len()), Ok(MAX_DOCUMENT_BYTES));
    assert_eq!(set(MAX_DOCUMENT_BYTES - around + 1).unwrap_err().code().number(), 10334);
}

/// Each of the changes is within the limits, but all together would take gigabytes.
#[test]
fn many_changes_do_not_fill_the_memory_before_the_size_is_looked_at() {
    const ARRAYS: usize = 100;
    let names: Vec<String> = (0..ARRAYS).map(|n| format!("f{n}")).collect();
    let mut document: Map = names.iter().map(|name| (name.as_str(), Value::Array(Vec::new()))).collect();
    let paths: Map = names.iter().map(|name| (format!("{name}.1400000"), 1)).collect();
    let update = Update::parse(&Map::from([("$set", paths)])).unwrap();
    let error = update.apply_to_map(&mut document, &CONTEXT).unwrap_err();
    assert_eq!(error.code().number(), 10334);
    let made: usize = document.iter().filter_map(|(_, value)| value.as_array()).map(|elements| elements.len()).sum();
    assert!(made < 3_000_000, "{made}");
}

#[test]
fn an_array_is_filled_up_as_far_as_mongodb_does() {
    let set = |at: usize| {
        let mut document = Map::from([("a", Value::Array(vec![Value::from(0)]))]);
        let result = update("$set", &format!("a.{at}"), 1).unwrap().apply_to_map(&mut document, &CONTEXT);
        (result.map_err(|error| error.code().number()), document.get("a").and_then(Value::as_array).map(<[Value]>::len))
    };
    assert_eq!(set(1_500_002), (Err(34), Some(1)));
    let (result, len) = set(1_500_001);
    assert_eq!((result.is_ok(), len), (true, Some(1_500_002)));
}

/// Each element is within the limits, but all together would take gigabytes.
#[test]
fn many_elements_do_not_fill_the_memory_before_the_size_is_looked_at() {
    let mut document = Map::from([("_id", Value::from(1)), ("a", Value::Array(vec![Value::Null; 10_000]))]);
    let set = update("$set", "a.$[]", "x".repeat(1 << 20)).unwrap();
    let delta = set.to_delta(&CONTEXT).unwrap();
    assert_eq!(fold(Some(draft_of(&document)), [&delta[..]]).unwrap().refused, 1);
    assert_eq!(set.apply_to_map(&mut document, &CONTEXT).unwrap_err().code().number(), 10334);
    let set =
        document.get("a").and_then(Value::as_array).unwrap().iter().filter(|value| **value != Value::Null).count();
    assert!(set < 40, "{set}");
}

/// A delta is decoded later, so its conditions must not be deeper or larger than a filter may be.
#[test]
fn a_condition_has_the_limits_of_a_filter_in_its_one_form_too() {
    for levels in [MAX_DEPTH - 6, MAX_DEPTH - 5, MAX_DEPTH - 4, MAX_DEPTH - 3, MAX_DEPTH - 2, MAX_DEPTH - 1] {
        let conditions = [Map::from([("x", nested(levels))]), Map::from([("$eq", nested(levels))])];
        for condition in conditions {
            match update("$pull", "a", condition) {
                Ok(update) => {
                    let delta = update.to_delta(&CONTEXT).unwrap();
                    assert_eq!(Update::from_delta(&delta), Ok(update));
                    assert!(levels < MAX_DEPTH - 1);
                }
                Err(error) => {
                    assert_eq!(error.code().number(), 15, "{error}");
                    assert!(levels > MAX_DEPTH - 6);
                }
            }
        }
    }
    let all = update("$pullAll", "a", Value::Array(vec![nested(MAX_DEPTH - 1)])).unwrap();
    assert_eq!(Update::from_delta(&all.to_delta(&CONTEXT).unwrap()), Ok(all));
    assert_eq!(update("$pullAll", "a", Value::Array(vec![nested(MAX_DEPTH)])).unwrap_err().code().number(), 15);
}

/// For any operand, either the update is refused, or its delta can be decoded. A document with another delta could not
/// be read.
#[test]
fn no_operator_makes_a_delta_that_nests_too_deep_to_be_read() {
    let each = |value: Value| Value::Map(Map::from([("$each", Value::Array(vec![value]))]));
    let with = |name: &str, value: Value| Value::Map(Map::from([(name, value)]));
    let operators = [
        "$set",
        "$setOnInsert",
        "$unset",
        "$inc",
        "$mul",
        "$min",
        "$max",
        "$push",
        "$addToSet",
        "$pull",
        "$pullAll",
        "$pop",
        "$bit",
        "$rename",
        "$currentDate",
    ];
    let mut refused = 0;
    for levels in MAX_DEPTH - 8..=MAX_DEPTH + 2 {
        for operator in operators {
            let value = nested(levels);
            let operands = [
                value.clone(),
                Value::Array(vec![value.clone()]),
                each(value.clone()),
                with("b", value.clone()),
                with("$eq", value.clone()),
                with("$in", Value::Array(vec![value.clone()])),
                with("$elemMatch", with("$eq", value)),
            ];
            for operand in operands {
                match update(operator, "a", operand).and_then(|update| Ok((update.to_delta(&CONTEXT)?, update))) {
                    Ok((_, update)) if operator == "$setOnInsert" => assert!(!update.is_empty()),
                    Ok((delta, update)) => assert_eq!(Update::from_delta(&delta), Ok(update), "{operator} {levels}"),
                    Err(_) => refused += 1,
                }
            }
        }
    }
    assert!(refused > 100, "{refused}");
    assert!(update("$pull", "a", nested(MAX_DEPTH)).is_ok());
    assert_eq!(update("$pull", "a", nested(MAX_DEPTH + 1)).unwrap_err().code().number(), 15);
}

/// The places of all changes are determined before the first change is made. The list of places must not fill the
/// memory.
#[test]
fn paths_stand_for_no_more_elements_than_a_limit() {
    const ELEMENTS: usize = 1 << 18;
    let document = Map::from([("_id", Value::from(1)), ("a", Value::Array(vec![Value::from(7); ELEMENTS]))]);
    let unset = |paths: usize| {
        let mut fields: Map = (0..paths).map(|n| (format!("a.$[].f{n:02}"), 1)).collect();
        fields.push("n", 1);
        Update::parse(&Map::from([("$unset", fields)])).unwrap()
    };
    for (paths, fits) in [(16, true), (17, false)] {
        let update = unset(paths);
        let mut map = document.clone();
        let result =
            update.apply_to_map(&mut map, &CONTEXT).map_err(|error| (error.code().number(), error.to_string()));
        let said = "the paths of the update lead to elements at more than 4194304 positions together, the last one \
                    being 'a.$[].f16': update fewer fields of them at a time";
        assert_eq!(result.err(), if fits { None } else { Some((10334, said.to_owned())) });
        let delta = update.to_delta(&CONTEXT).unwrap();
        let folded = fold(Some(draft_of(&document)), [&delta[..]]).unwrap();
        assert_eq!(folded.refused, u64::from(!fits));
        assert_eq!(folded.draft.unwrap().into_map().unwrap(), document);
    }
    // For nested arrays, each place has a position for each of its names.
    let inner = Value::Array(vec![Value::from(7); 1 << 11]);
    let mut document = Map::from([("a", Value::Array(vec![inner; 1 << 11]))]);
    let error = update("$set", "a.$[].$[]", 1).unwrap().apply_to_map(&mut document, &CONTEXT).unwrap_err();
    assert_eq!(error.code().number(), 10334);
}

#[test]
fn an_upsert_by_a_filter_has_the_limits_of_a_document() {
    let filter = |value: Value| Filter::parse(&Map::from([(path(3), value)])).unwrap();
    let set = update("$set", "b", 1).unwrap();
    assert!(set.for_upsert_by(&filter(nested(MAX_DEPTH - 3)), 0).is_ok());
    assert_eq!(set.for_upsert_by(&filter(nested(MAX_DEPTH - 2)), 0).unwrap_err().code().number(), 15);
    let text = |len: usize| Value::from("x".repeat(len));
    let large = Filter::parse(&Map::from([("a", text(9 << 20))])).unwrap();
    let more = update("$set", "b", text(9 << 20)).unwrap();
    assert_eq!(more.for_upsert_by(&large, 0).unwrap_err().code().number(), 10334);
    let replacement = |map: Map| Replacement::parse(&map).map(|_| ()).map_err(|error| error.code().number());
    assert_eq!(replacement(Map::from([("a", nested(MAX_DEPTH - 1))])), Ok(()));
    assert_eq!(replacement(Map::from([("a", nested(MAX_DEPTH))])), Err(15));
    assert_eq!(replacement(Map::from([("a", text(MAX_DOCUMENT_BYTES))])), Err(10334));
}

/// The patterns of all conditions of an update count together, although each of them is within the limit for a single
/// pattern.
#[test]
fn patterns_of_an_update_have_a_limit_together() {
    let pattern = |n: usize| Map::from([("$regex", format!("^q\\pL{{20}}x{n}"))]);
    let pulls = |count: usize| {
        let fields: Map = (0..count).map(|n| (format!("a{n}"), Value::Map(pattern(n)))).collect();
        Map::from([("$pull", Value::Map(fields))])
    };
    Update::parse(&pulls(10)).unwrap();
    let error = Update::parse(&pulls(1500)).unwrap_err();
    assert_eq!((error.code().number(), error.to_string().contains("too large together")), (51091, true), "{error}");

    let sets = |count: usize| Map::from([("$set", (0..count).map(|n| (format!("a.$[f{n}]"), 1)).collect::<Map>())]);
    let filters = |count| (0..count).map(|n| Map::from([(format!("f{n}"), pattern(n))]).into()).collect::<Vec<Value>>();
    Update::parse_with(&sets(10), &filters(10)).unwrap();
    assert_eq!(Update::parse_with(&sets(1500), &filters(1500)).unwrap_err().code().number(), 51091);
}
