//! A collation determines the equality and order of strings in every operation. With any indexes, whether they have the
//! same collation, another collation or none, the results are the same as those of a scan.

use alluvium::{Collection, Database, Document, Hint, Map, Value, json};
use alluvium_query::collation::Collation;
use proptest::prelude::*;
use std::collections::BTreeSet;

fn map(text: &str) -> Map {
    match json::parse(text.as_bytes()) {
        Ok(Value::Map(map)) => map,
        other => panic!("{text}: {other:?}"),
    }
}

fn filled(documents: &[&str]) -> (Database, Collection) {
    let db = Database::in_memory().unwrap();
    let c = db.collection("c");
    c.insert_many(documents).unwrap();
    (db, c)
}

fn ids(found: impl IntoIterator<Item = alluvium::Result<Document>>) -> String {
    let ids = found.into_iter().map(|document| document.unwrap().id().to_string());
    ids.collect::<Vec<_>>().join(" ")
}

const WORDS: [&str; 12] = [
    r#"{"_id": 1, "a": "Zoë"}"#,
    r#"{"_id": 2, "a": "zoe"}"#,
    r#"{"_id": 3, "a": "ZOE"}"#,
    r#"{"_id": 4, "a": "ärger"}"#,
    r#"{"_id": 5, "a": "arg"}"#,
    r#"{"_id": 6, "a": "öl"}"#,
    r#"{"_id": 7, "a": ["Öl", "x10"]}"#,
    r#"{"_id": 8, "a": {"b": "zoe"}}"#,
    r#"{"_id": 9, "a": 7}"#,
    r#"{"_id": 10, "a": "x9"}"#,
    r#"{"_id": 11}"#,
    r#"{"_id": 12, "a": "x-9"}"#,
];

#[test]
fn filters_and_sorts_follow_the_collation() {
    let (_db, c) = filled(&WORDS);
    let en1 = r#"{"locale": "en", "strength": 1}"#;
    let en2 = r#"{"locale": "en", "strength": 2}"#;
    let en3 = r#"{"locale": "en"}"#;
    let sv1 = r#"{"locale": "sv", "strength": 1}"#;
    let numeric = r#"{"locale": "en", "numericOrdering": true}"#;
    let shifted = r#"{"locale": "en", "alternate": "shifted"}"#;
    for (collation, filter, expected) in [
        (en1, r#"{"a": "zoe"}"#, "1 2 3"),
        (en2, r#"{"a": "zoe"}"#, "2 3"),
        (en3, r#"{"a": "zoe"}"#, "2"),
        (en1, r#"{"a": "OL"}"#, "6 7"),
        (sv1, r#"{"a": "OL"}"#, ""),
        (sv1, r#"{"a": "ÖL"}"#, "6 7"),
        (en1, r#"{"a": {"b": "ZOË"}}"#, "8"),
        (en1, r#"{"a.b": "ZOË"}"#, "8"),
        (en1, r#"{"a": ["ol", "X10"]}"#, "7"),
        (en1, r#"{"a": {"$ne": "zoe"}}"#, "4 5 6 7 8 9 10 11 12"),
        (en1, r#"{"a": {"$in": ["ZOE", "ARG", 7]}}"#, "1 2 3 5 9"),
        (en1, r#"{"a": {"$nin": ["ZOE", "ARG", "ol", "x9"]}}"#, "4 8 9 11 12"),
        (en1, r#"{"a": {"$all": ["OL", "X10"]}}"#, "7"),
        (en1, r#"{"a": {"$elemMatch": {"$gt": "x", "$lt": "y"}}}"#, "7"),
        (en1, r#"{"a": {"$gte": "ol", "$lt": "X"}}"#, "6 7"),
        (sv1, r#"{"a": {"$gt": "zz"}}"#, "4 6 7"),
        (numeric, r#"{"a": {"$gt": "x9"}}"#, "1 2 3 7"),
        (en3, r#"{"a": {"$lt": "x9", "$gt": "x"}}"#, "7 12"),
        (shifted, r#"{"a": "x9"}"#, "10 12"),
        // Patterns ignore the collation.
        (en1, r#"{"a": {"$regex": "^zoe"}}"#, "2"),
        (en1, r#"{"a": {"$not": {"$eq": "zoe"}, "$type": "string"}}"#, "4 5 6 7 10 12"),
        (en1, r#"{"$or": [{"a": "ZOE"}, {"a": "ol"}]}"#, "1 2 3 6 7"),
        (en1, r#"{"$nor": [{"a": "ZOE"}, {"a": "ol"}], "a": {"$exists": true}}"#, "4 5 8 9 10 12"),
        (en1, r#"{"$expr": {"$eq": ["$a", "ZOE"]}}"#, "1 2 3"),
        (en1, r#"{"$expr": {"$in": ["$a", ["ZOE", "ARG"]]}}"#, "1 2 3 5"),
        (en1, r#"{"$expr": {"$eq": ["b", "B"]}, "a": "arg"}"#, "5"),
        (en1, r#"{"a": "ZOE", "_id": {"$gt": 1}}"#, "2 3"),
    ] {
        let found = ids(c.find(filter).sort(r#"{"_id": 1}"#).collation(collation).run().unwrap());
        assert_eq!(found, expected, "{filter} {collation}");
        assert_eq!(c.find(filter).collation(collation).count().unwrap(), expected.split_whitespace().count() as u64);
    }
    for (collation, sort, expected) in [
        (en3, r#"{"a": 1, "_id": 1}"#, "11 9 5 4 6 7 12 10 2 3 1 8"),
        (en1, r#"{"a": 1, "_id": -1}"#, "11 9 5 4 7 6 12 10 3 2 1 8"),
        (numeric, r#"{"a": -1, "_id": 1}"#, "8 1 3 2 7 10 12 6 4 5 9 11"),
        (r#"{"locale": "sv"}"#, r#"{"a": 1, "_id": 1}"#, "11 9 5 12 7 10 2 3 1 4 6 8"),
        (r#"{"locale": "simple"}"#, r#"{"a": 1, "_id": 1}"#, "11 9 3 1 5 12 7 10 2 4 6 8"),
    ] {
        let found = ids(c.find("{}").sort(sort).collation(collation).run().unwrap());
        let stages = format!(r#"[{{"$sort": {sort}}}]"#);
        let sorted = ids(c.aggregate(stages.as_str()).collation(collation).run().unwrap());
        assert_eq!((found.as_str(), sorted.as_str()), (expected, expected), "{sort} {collation}");
    }
}

#[test]
fn ids_follow_the_collation_of_a_query() {
    let (_db, c) =
        filled(&[r#"{"_id": "A"}"#, r#"{"_id": "b"}"#, r#"{"_id": "B"}"#, r#"{"_id": "c"}"#, r#"{"_id": 1}"#]);
    let en = r#"{"locale": "en", "strength": 2}"#;
    assert_eq!(ids(c.find(r#"{"_id": "a"}"#).collation(en).run().unwrap()), r#""A""#);
    assert_eq!(c.find(r#"{"_id": {"$in": ["a", "B", 1]}}"#).collation(en).count().unwrap(), 4);
    let sorted = r#"{"locale": "en"}"#;
    assert_eq!(ids(c.find("{}").sort(r#"{"_id": -1}"#).collation(sorted).run().unwrap()), r#""c" "B" "b" "A" 1"#);
    assert_eq!(ids(c.find("{}").sort(r#"{"_id": 1}"#).collation(sorted).run().unwrap()), r#"1 "A" "b" "B" "c""#);
    // Entries with equal keys are in the order of the bytes of `_id`.
    c.update_many("{}", r#"{"$set": {"k": 1}}"#).run().unwrap();
    for create in [c.create_index(r#"{"k": 1}"#), c.create_index(r#"{"k": 1}"#).collation(sorted).name("k")] {
        let index = create.run().unwrap();
        let by_index = c.find(r#"{"k": 1}"#).hint(index).sort(r#"{"_id": 1}"#).collation(sorted);
        assert_eq!(ids(by_index.run().unwrap()), r#"1 "A" "b" "B" "c""#);
    }
    // A filter on `_id` with a collation may match several documents.
    let updated = c.update_many(r#"{"_id": "B"}"#, r#"{"$set": {"x": 1}}"#).collation(en).run().unwrap();
    assert_eq!((updated.matched_count, updated.modified_count), (2, 2));
    assert_eq!(c.delete_many(r#"{"_id": "B"}"#).collation(en).run().unwrap().deleted_count, 2);
    assert_eq!(c.count().unwrap(), 3);
}

#[test]
fn distinct_values_and_groups_follow_the_collation() {
    let (_db, c) = filled(&WORDS);
    let en = r#"{"locale": "en", "strength": 1}"#;
    let distinct = |filter: &str| {
        let values = c.find(filter).collation(en).distinct("a").unwrap();
        values.iter().map(ToString::to_string).collect::<Vec<_>>()
    };
    let found = distinct("{}");
    // The distinct values are 7, ärger, arg, öl (one of two), x10, x9, x-9, zoe (one of three), and a map.
    assert_eq!(found.len(), 9, "{found:?}");
    for index in ["{}", en] {
        let mut create = c.create_index(r#"{"a": 1}"#).name("i");
        if index == en {
            create = create.collation(en);
        }
        create.run().unwrap();
        assert_eq!(c.find("{}").hint("i").collation(en).distinct("a").unwrap().len(), 9, "{index}");
        assert_eq!(c.find("{}").hint("i").distinct("a").unwrap().len(), 12, "{index}");
        c.drop_index("i").unwrap();
    }
    let group = |stages: &str| {
        let found = c.aggregate(stages).collation(en).run().unwrap();
        found.map(|document| document.unwrap().to_string()).collect::<Vec<_>>().join(" ")
    };
    assert_eq!(
        group(
            r#"[{"$match": {"a": {"$in": ["ZOE", "ARG"]}}}, {"$group": {"_id": {"$toLower": "$a"}, "n": {"$sum": 1}}}, {"$sort": {"n": 1}}]"#
        ),
        r#"{"_id":"arg","n":1} {"_id":"zoe","n":3}"#.replace("zoe", "zoë")
    );
    assert_eq!(
        group(
            r#"[{"$match": {"_id": {"$lt": 4}}}, {"$group": {"_id": null, "all": {"$addToSet": "$a"}, "min": {"$min": "$a"}, "max": {"$max": "$a"}}}]"#
        ),
        r#"{"_id":null,"all":["Zoë"],"min":"Zoë","max":"Zoë"}"#
    );
}

#[test]
fn updates_follow_the_collation() {
    let (_db, c) = filled(&[
        r#"{"_id": 1, "name": "Rex", "tags": ["Big", "old"], "top": "m", "low": "m", "grades": [{"k": "A", "n": 1}, {"k": "b", "n": 2}]}"#,
    ]);
    let en = r#"{"locale": "en", "strength": 2}"#;
    let update = |update: &str| {
        let done = c.update_one(r#"{"name": "REX"}"#, update).collation(en).run().unwrap();
        assert_eq!(done.matched_count, 1, "{update}");
        done.modified_count
    };
    assert_eq!(update(r#"{"$addToSet": {"tags": "BIG"}}"#), 0);
    assert_eq!(update(r#"{"$addToSet": {"tags": {"$each": ["OLD", "new", "NEW", "big", "Old"]}}}"#), 1);
    assert_eq!(update(r#"{"$max": {"top": "M"}, "$min": {"low": "A"}}"#), 1);
    assert_eq!(update(r#"{"$max": {"top": "N"}}"#), 1);
    assert_eq!(update(r#"{"$push": {"tags": {"$each": ["Cat"], "$sort": 1}}}"#), 1);
    assert_eq!(update(r#"{"$pull": {"tags": "OLD"}}"#), 1);
    assert_eq!(update(r#"{"$pull": {"tags": {"$in": ["NEW"]}}}"#), 1);
    assert_eq!(update(r#"{"$pullAll": {"tags": ["CAT"]}}"#), 1);
    assert_eq!(update(r#"[{"$set": {"same": {"$eq": ["$name", "rex"]}}}]"#), 1);
    let filtered = c.update_one(r#"{"name": "REX"}"#, r#"{"$set": {"grades.$[g].n": 5}}"#);
    assert_eq!(filtered.array_filters([r#"{"g.k": "a"}"#]).collation(en).run().unwrap().modified_count, 1);
    let positional = c.update_one(r#"{"grades.k": "B"}"#, r#"{"$set": {"grades.$.n": 6}}"#);
    assert_eq!(positional.collation(en).run().unwrap().modified_count, 1);
    let expected = r#"{"_id":1,"name":"Rex","tags":["Big"],"top":"N","low":"A","grades":[{"k":"A","n":5},{"k":"b","n":6}],"same":true}"#;
    assert_eq!(c.get(1).unwrap().unwrap().to_string(), expected);
    // Projections, upserts and writes that return the document use the collation, too.
    let projected =
        c.find(r#"{"grades.k": "B"}"#).projection(r#"{"grades": {"$elemMatch": {"k": "B"}}}"#).collation(en);
    assert_eq!(projected.first().unwrap().unwrap().to_string(), r#"{"_id":1,"grades":[{"k":"b","n":6}]}"#);
    let upsert = c.update_one(r#"{"name": "TOM"}"#, r#"{"$set": {"n": 1}}"#).upsert(true).collation(en).run().unwrap();
    assert!(upsert.upserted_id.is_some());
    let again = c.update_one(r#"{"name": "tom"}"#, r#"{"$set": {"n": 2}}"#).upsert(true).collation(en).run().unwrap();
    assert_eq!((again.matched_count, again.upserted_id), (1, None));
    let found = c.find_one_and_update(r#"{"name": "Tom"}"#, r#"{"$set": {"n": 3}}"#).collation(en).run().unwrap();
    assert!(found.is_some());
    assert!(c.find_one_and_delete(r#"{"name": "toM"}"#).collation(en).run().unwrap().is_some());
    assert!(c.find(r#"{"name": "TOM"}"#).first().unwrap().is_none());
}

#[test]
fn unique_indexes_compare_by_their_collation() {
    let (db, c) = filled(&[r#"{"_id": 1, "a": "rex"}"#]);
    c.create_index(r#"{"a": 1}"#).unique(true).collation(r#"{"locale": "en", "strength": 2}"#).run().unwrap();
    let error = c.insert_one(r#"{"_id": 2, "a": "REX"}"#).unwrap_err();
    assert_eq!(error.code().map(|(code, _)| code), Some(11000));
    assert!(error.to_string().contains("CollationKey(0x"), "{error}");
    c.insert_one(r#"{"_id": 2, "a": "réx"}"#).unwrap();
    c.insert_one(r#"{"_id": 3, "a": ["x", "y"]}"#).unwrap();
    assert!(c.insert_one(r#"{"_id": 4, "a": ["Y"]}"#).is_err());
    // The build of a unique index refuses two existing documents with equal keys.
    let d = db.collection("d");
    d.insert_many([r#"{"a": "x"}"#, r#"{"a": "X"}"#]).unwrap();
    d.create_index(r#"{"a": 1}"#).unique(true).run().unwrap();
    let create = d.create_index(r#"{"a": 1}"#).name("collated").unique(true);
    assert!(create.collation(r#"{"locale": "en", "strength": 1}"#).run().is_err());
    assert!(db.verify().run().unwrap().damage.is_empty());
}

#[test]
fn an_index_serves_queries_of_its_collation() {
    let (_db, c) = filled(&[r#"{"_id": 1, "a": 7}"#, r#"{"_id": 2}"#]);
    let en = r#"{"locale": "en", "strength": 1}"#;
    c.insert_many((100..1000).map(|n| format!(r#"{{"_id": {n}, "a": "w{n}", "n": {n}}}"#))).unwrap();
    c.create_index(r#"{"a": 1, "n": 1}"#).name("i").collation(en).run().unwrap();
    let listed = c.indexes().unwrap();
    let definition = &listed.iter().find(|index| index.name == "i").unwrap().definition;
    let stored = definition.get("collation").and_then(Value::as_map).unwrap();
    assert_eq!((stored.get("strength"), stored.get("locale")), (Some(&Value::Int32(1)), Some(&Value::from("en"))));
    let explain = |filter: &str, collation: Option<&str>, sort: &str| {
        let mut find = c.find(filter).sort(sort).limit(5);
        if let Some(collation) = collation {
            find = find.collation(collation);
        }
        let explained = find.explain().unwrap();
        (explained.keys_examined > 0, explained.documents_examined < 50)
    };
    let indexed = (true, true);
    assert_eq!(explain(r#"{"a": "W500"}"#, Some(en), "{}"), indexed);
    assert_eq!(explain(r#"{"a": {"$gte": "W5", "$lt": "w501"}}"#, Some(en), r#"{"a": 1}"#), indexed);
    assert_eq!(explain("{}", Some(en), r#"{"a": -1}"#), indexed);
    // For a query with another collation, or none, the index finds no strings, and its order is not used.
    for other in [None, Some(r#"{"locale": "en", "strength": 2}"#), Some(r#"{"locale": "sv", "strength": 1}"#)] {
        assert!(!explain(r#"{"a": "w500"}"#, other, "{}").0, "{other:?}");
        assert!(!explain("{}", other, r#"{"a": -1}"#).0, "{other:?}");
        // The index still finds numbers.
        assert_eq!(explain(r#"{"a": 7}"#, other, "{}"), indexed, "{other:?}");
        assert_eq!(explain(r#"{"a": {"$lt": 9}}"#, other, r#"{"a": 1}"#), indexed, "{other:?}");
        assert!(explain(r#"{"a": null}"#, other, "{}").0, "{other:?}");
    }
    let shown = c.find(r#"{"a": "W500"}"#).collation(en).explain().unwrap().to_string();
    assert!(shown.contains("index i forward: a in [\"CollationKey(0x"), "{shown}");
    // An index with a collation never gives values.
    let values = c.find(r#"{"a": "W500"}"#).projection(r#"{"a": 1, "_id": 0}"#).collation(en);
    assert_eq!(values.clone().first().unwrap().unwrap().to_string(), r#"{"a":"w500"}"#);
    assert_eq!(values.explain().unwrap().documents_examined, 1);
    // Counts need no values.
    let counted = c.find(r#"{"a": {"$gte": "W5", "$lt": "W6"}}"#).collation(en).explain_count().unwrap();
    assert_eq!((counted.returned, counted.documents_examined), (100, 0));
    let error = c.create_index(r#"{"a": 1}"#).collation(r#"{"locale": "xx"}"#).run().unwrap_err();
    assert_eq!(error.code(), Some((2, "BadValue")));
    let error = c.find("{}").collation(r#"{"locale": "fr", "backwards": true}"#).run().err().unwrap();
    assert!(error.to_string().contains("backwards"), "{error}");
}

#[test]
fn a_partial_index_compares_by_its_collation() {
    let (_db, c) = filled(&WORDS);
    c.insert_many((100..1000).map(|n| format!(r#"{{"_id": {n}, "a": "w{n}"}}"#))).unwrap();
    let en = r#"{"locale": "en", "strength": 1}"#;
    c.create_index(r#"{"a": 1}"#).name("i").partial_filter(r#"{"a": {"$gte": "Z"}}"#).collation(en).run().unwrap();
    let hinted = |filter: &str, collation: &str| {
        ids(c.find(filter).sort(r#"{"_id": 1}"#).hint("i").collation(collation).run().unwrap())
    };
    assert_eq!(hinted(r#"{"a": {"$exists": true}}"#, en), "1 2 3");
    let plan = |filter: &str, collation: &str| c.find(filter).collation(collation).explain().unwrap().keys_examined;
    assert!(plan(r#"{"a": "zoe"}"#, en) > 0);
    assert_eq!(plan(r#"{"a": "zoe"}"#, r#"{"locale": "en", "strength": 2}"#), 0);
    assert_eq!(plan(r#"{"a": "zoe"}"#, r#"{"locale": "simple"}"#), 0);
}

#[test]
fn lookups_follow_the_collation() {
    let (db, c) = filled(&[r#"{"_id": 1, "k": "A"}"#, r#"{"_id": 2, "k": "b"}"#]);
    let d = db.collection("d");
    d.insert_many([r#"{"_id": 1, "k": "a", "up": "B"}"#, r#"{"_id": 2, "k": "B", "up": "á"}"#]).unwrap();
    let en = r#"{"locale": "en", "strength": 1}"#;
    let run = |stages: &str| {
        let found = c.aggregate(stages).collation(en).run().unwrap();
        found.map(|document| document.unwrap().to_string()).collect::<Vec<_>>().join(" ")
    };
    for index in [false, true] {
        if index {
            d.create_index(r#"{"k": 1}"#).collation(en).run().unwrap();
        }
        assert_eq!(
            run(
                r#"[{"$lookup": {"from": "d", "localField": "k", "foreignField": "k", "as": "d"}}, {"$project": {"d": "$d._id"}}, {"$sort": {"_id": 1}}]"#
            ),
            r#"{"_id":1,"d":[1]} {"_id":2,"d":[2]}"#
        );
        assert_eq!(
            run(
                r#"[{"$match": {"k": "a"}}, {"$lookup": {"from": "d", "let": {"k": "$k"}, "pipeline": [{"$match": {"$expr": {"$eq": ["$k", "$$k"]}}}], "as": "d"}}, {"$project": {"d": "$d._id"}}]"#
            ),
            r#"{"_id":1,"d":[1]}"#
        );
        assert_eq!(
            run(
                r#"[{"$match": {"k": "a"}}, {"$graphLookup": {"from": "d", "startWith": "$k", "connectFromField": "up", "connectToField": "k", "as": "d"}}, {"$project": {"n": {"$size": "$d"}}}]"#
            ),
            r#"{"_id":1,"n":2}"#
        );
    }
}

const COLLATIONS: [&str; 6] = [
    r#"{"locale": "en", "strength": 1}"#,
    r#"{"locale": "en", "strength": 2}"#,
    r#"{"locale": "sv"}"#,
    r#"{"locale": "de@collation=phonebook", "strength": 1, "caseLevel": true}"#,
    r#"{"locale": "en", "alternate": "shifted", "numericOrdering": true}"#,
    r#"{"locale": "simple"}"#,
];

fn word() -> impl Strategy<Value = String> {
    let part = prop::sample::select(vec!["a", "A", "á", "b", "B", "z", "ä", "ae", "1", "10", "9", "-", " ", "ß", "ss"]);
    prop::collection::vec(part, 0..3).prop_map(|parts| parts.concat())
}

fn json_of(value: &impl serde::Serialize) -> String {
    serde_json::to_string(value).unwrap()
}

fn value() -> impl Strategy<Value = String> {
    let text = word().prop_map(|text| json_of(&text)).boxed();
    prop_oneof![
        6 => text.clone(),
        1 => (0..3i32).prop_map(|n| n.to_string()),
        1 => Just("null".to_owned()),
        1 => prop::collection::vec(text.clone(), 0..3).prop_map(|all| format!("[{}]", all.join(","))),
        1 => text.prop_map(|text| format!(r#"{{"x": {text}}}"#)),
    ]
}

fn filter() -> impl Strategy<Value = String> {
    let condition = (prop::sample::select(vec!["$eq", "$ne", "$gt", "$gte", "$lt", "$lte"]), value());
    let condition = condition.prop_map(|(operator, value)| format!(r#"{{"{operator}": {value}}}"#)).boxed();
    let list = prop::collection::vec(value(), 0..4);
    let list = (prop::sample::select(vec!["$in", "$nin", "$all"]), list);
    let list = list.prop_map(|(operator, all)| format!(r#"{{"{operator}": [{}]}}"#, all.join(",")));
    let one = prop_oneof![
        4 => condition.clone(),
        2 => list,
        1 => condition.clone().prop_map(|inner| format!(r#"{{"$not": {inner}}}"#)),
        1 => condition.prop_map(|inner| format!(r#"{{"$elemMatch": {inner}}}"#)),
        1 => prop::sample::select(vec!["^[aA]", "^a", "^A", "^1"]).prop_map(|it| format!(r#"{{"$regex": "{it}"}}"#)),
        1 => Just(r#"{"$exists": true}"#.to_owned()),
    ];
    let field = (prop::sample::select(vec!["a", "b", "a.x"]), one);
    let field = field.prop_map(|(path, one)| format!(r#"{{"{path}": {one}}}"#)).boxed();
    let expression = (prop::sample::select(vec!["$eq", "$gt", "$lte"]), word());
    let expression =
        expression.prop_map(|(operator, word)| format!(r#"{{"$expr": {{"{operator}": ["$a", {}]}}}}"#, json_of(&word)));
    prop_oneof![
        4 => field.clone(),
        1 => expression,
        2 => (field.clone(), field.clone()).prop_map(|(a, b)| format!(r#"{{"$and": [{a}, {b}]}}"#)),
        1 => (field.clone(), field.clone()).prop_map(|(a, b)| format!(r#"{{"$or": [{a}, {b}]}}"#)),
        1 => (field.clone(), field).prop_map(|(a, b)| format!(r#"{{"$nor": [{a}, {b}]}}"#)),
    ]
}

/// Compares the documents that a query finds for conditions on a word with a direct evaluation of the condition.
fn check_by_hand(c: &Collection, word: &str, options: &str) {
    let collation = Collation::parse(&map(options)).unwrap();
    let compare = |text: &str| match &collation {
        Some(collation) => collation.compare(text, word),
        None => text.as_bytes().cmp(word.as_bytes()),
    };
    for operator in ["$eq", "$gt", "$lte"] {
        let wanted = |text: &str| match operator {
            "$eq" => compare(text).is_eq(),
            "$gt" => compare(text).is_gt(),
            _ => compare(text).is_le(),
        };
        let matches = |document: &Document| match document.to_map().unwrap().get("a") {
            Some(Value::String(text)) => wanted(text),
            Some(Value::Array(all)) => all.iter().filter_map(Value::as_str).any(wanted),
            _ => false,
        };
        let all = c.find("{}").sort(r#"{"_id": 1}"#).run().unwrap().map(Result::unwrap);
        let expected: Vec<String> = all.filter(matches).map(|document| document.id().to_string()).collect();
        let filter = format!(r#"{{"a": {{"{operator}": {}}}}}"#, json_of(&word));
        let found = c.find(filter.as_str()).sort(r#"{"_id": 1}"#).collation(options).run().unwrap();
        assert_eq!(ids(found), expected.join(" "), "{filter} {options}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, ..ProptestConfig::default() })]

    #[test]
    fn any_index_gives_what_a_scan_gives(
        documents in prop::collection::vec((prop::option::of(value()), prop::option::of(value())), 1..40),
        indexes in prop::collection::vec((0..4usize, 0..COLLATIONS.len()), 0..4),
        blind in prop::collection::vec((0..40usize, value()), 0..10),
        queries in prop::collection::vec((filter(), 0..COLLATIONS.len(), -1..=1i32), 1..6),
        by_hand in word(),
    ) {
        let db = Database::in_memory().unwrap();
        let c = db.collection("c");
        let keys = [r#"{"a": 1}"#, r#"{"a": -1, "b": 1}"#, r#"{"b": "hashed"}"#, r#"{"a.x": 1, "b": -1}"#];
        let mut names: BTreeSet<String> = BTreeSet::new();
        for (keys_at, collation) in &indexes {
            let name = format!("i{keys_at}_{collation}");
            let create = c.create_index(keys[*keys_at]).name(&name).collation(COLLATIONS[*collation]);
            // A hashed index would refuse documents with arrays.
            if *keys_at != 2 && names.insert(name.clone()) {
                create.run().unwrap();
            }
        }
        for (id, (a, b)) in documents.iter().enumerate() {
            let field = |name: &str, value: &Option<String>| {
                value.as_ref().map_or(String::new(), |value| format!(r#", "{name}": {value}"#))
            };
            // Two arrays in one document cannot be indexed together.
            let b = b.as_ref().filter(|b| !b.starts_with('[') || !a.as_ref().is_some_and(|a| a.starts_with('['))).cloned();
            let document = format!(r#"{{"_id": {id}{}{}}}"#, field("a", a), field("b", &b));
            c.insert_one(document.as_str()).unwrap();
        }
        for (id, value) in &blind {
            let document = format!(r#"{{"_id": {id}, "a": {value}}}"#);
            c.put(*id as i32, document.as_str()).unwrap();
        }
        for (filter, collation, direction) in &queries {
            let collation = COLLATIONS[*collation];
            let sort = match direction {
                0 => r#"{"_id": 1}"#.to_owned(),
                direction => format!(r#"{{"a": {direction}, "_id": 1}}"#),
            };
            let run = |hint: Option<Hint>| {
                let mut find = c.find(filter.as_str()).sort(sort.as_str()).collation(collation);
                if let Some(hint) = hint {
                    find = find.hint(hint);
                }
                ids(find.run().unwrap())
            };
            let expected = run(Some(Hint::from(r#"{"$natural": 1}"#)));
            prop_assert_eq!(run(None), expected.clone(), "{} {} {}", filter, sort, collation);
            for name in &names {
                let found = run(Some(Hint::from(name.as_str())));
                prop_assert_eq!(found, expected.clone(), "{} {} {} by {}", filter, sort, collation, name);
                let values = c.find(filter.as_str()).collation(collation);
                let by_index = values.clone().hint(name.as_str()).distinct("a").unwrap().len();
                let by_scan = values.hint(r#"{"$natural": 1}"#).distinct("a").unwrap().len();
                prop_assert_eq!(by_index, by_scan, "distinct {} {} by {}", filter, collation, name);
                let counted = c.find(filter.as_str()).collation(collation).hint(name.as_str()).count().unwrap();
                prop_assert_eq!(counted as usize, expected.split_whitespace().count(), "{} {} by {}", filter, collation, name);
            }
        }
        COLLATIONS.iter().for_each(|collation| check_by_hand(&c, &by_hand, collation));
        prop_assert!(db.verify().run().unwrap().damage.is_empty());
    }
}
