use crate::expression::Variables;
use crate::pipeline::Pipeline;
use alluvium_document::json;

/// The names of the stages after rewriting.
fn rewritten(stages: &str) -> String {
    let stages = json::parse(stages.as_bytes()).unwrap();
    let pipeline = Pipeline::parse(&stages, &Variables::NONE.seeded(1)).unwrap();
    pipeline.stages().iter().map(|stage| stage.name().trim_start_matches('$')).collect::<Vec<_>>().join(" ")
}

#[test]
fn filters_move_before_what_leaves_their_fields() {
    for (before, filter, moves) in [
        (r#"{"$project":{"a":1,"b.c":1}}"#, r#"{"a":1}"#, true),
        (r#"{"$project":{"a":1,"b.c":1}}"#, r#"{"_id":1,"a":2}"#, true),
        (r#"{"$project":{"a":1,"b.c":1}}"#, r#"{"b.c":1}"#, false),
        (r#"{"$project":{"a":1}}"#, r#"{"d":1}"#, false),
        (r#"{"$project":{"a":1,"_id":0}}"#, r#"{"_id":1}"#, false),
        (r#"{"$project":{"a":{"$add":["$b",1]}}}"#, r#"{"a":1}"#, false),
        (r#"{"$unset":"a.b"}"#, r#"{"b":1}"#, true),
        (r#"{"$unset":"a.b"}"#, r#"{"a.c":1}"#, false),
        (r#"{"$set":{"a":1}}"#, r#"{"b":1}"#, true),
        (r#"{"$set":{"a":1}}"#, r#"{"$expr":{"$eq":["$b",1]}}"#, true),
        (r#"{"$set":{"a":1}}"#, r#"{"$expr":{"$eq":["$a",1]}}"#, false),
        (r#"{"$set":{"a":1}}"#, r#"{"$expr":{"$in":["$b.c",[1,"$$ROOT"]]}}"#, false),
        (r#"{"$set":{"a":1}}"#, r#"{"$jsonSchema":{"required":["b"]}}"#, false),
        (r#"{"$unwind":"$a"}"#, r#"{"$expr":{"$gt":["$b",3]}}"#, true),
        (r#"{"$unwind":"$a"}"#, r#"{"$expr":{"$gt":[{"$size":"$a.b"},3]}}"#, false),
        (r#"{"$unwind":{"path":"$a","includeArrayIndex":"i"}}"#, r#"{"$expr":{"$gt":["$i",3]}}"#, false),
        (
            r#"{"$lookup":{"from":"c","as":"a","localField":"x","foreignField":"y"}}"#,
            r#"{"$expr":{"$gt":["$b",3]}}"#,
            true,
        ),
        (
            r#"{"$lookup":{"from":"c","as":"a","localField":"x","foreignField":"y"}}"#,
            r#"{"$expr":{"$gt":["$a",3]}}"#,
            false,
        ),
        (
            r#"{"$lookup":{"from":"c","as":"a.b","localField":"x","foreignField":"y"}}"#,
            r#"{"$or":[{"b":1},{"a.c":1}]}"#,
            false,
        ),
        (
            r#"{"$graphLookup":{"from":"c","as":"a","startWith":1,"connectFromField":"x","connectToField":"y"}}"#,
            r#"{"b":1}"#,
            true,
        ),
        (r#"{"$unwind":"$a"}"#, r#"{"$sampleRate":0.5}"#, false),
        // Stages that change the names of fields.
        (r#"{"$set":{"a":"$b"}}"#, r#"{"a.c":{"$exists":false}}"#, true),
        (r#"{"$set":{"a":"$b.c"}}"#, r#"{"a":1}"#, false),
        (r#"{"$project":{"a":"$b","c":1}}"#, r#"{"a":1,"$or":[{"c":2},{"a":3}]}"#, true),
        (r#"{"$project":{"a.x":"$b"}}"#, r#"{"a.x":1}"#, false),
        // Keys of groups and partitions.
        (r#"{"$group":{"_id":"$a"}}"#, r#"{"_id":{"$gt":1},"_id.x":{"$ne":3}}"#, true),
        (r#"{"$group":{"_id":"$a"}}"#, r#"{"_id":{"$exists":true}}"#, false),
        (r#"{"$group":{"_id":"$a","n":{"$sum":1}}}"#, r#"{"n":1}"#, false),
        (r#"{"$group":{"_id":"$a.b"}}"#, r#"{"_id":1}"#, false),
        (r#"{"$group":{"_id":{"k":"$a","l":"$b"}}}"#, r#"{"_id.k":{"$in":[1,2]}}"#, true),
        (r#"{"$group":{"_id":{"k":"$a","l":"$b"}}}"#, r#"{"_id":1}"#, false),
        (
            r#"{"$setWindowFields":{"partitionBy":"$a","sortBy":{"b":1},"output":{"n":{"$documentNumber":{}}}}}"#,
            r#"{"a":1}"#,
            true,
        ),
        (
            r#"{"$setWindowFields":{"partitionBy":"$a","sortBy":{"b":1},"output":{"n":{"$documentNumber":{}}}}}"#,
            r#"{"b":1}"#,
            false,
        ),
        (r#"{"$unwind":"$a"}"#, r#"{"b":1}"#, true),
        (r#"{"$unwind":"$a"}"#, r#"{"a":1}"#, false),
        (r#"{"$sort":{"a":1}}"#, r#"{"a":1}"#, true),
        (r#"{"$limit":3}"#, r#"{"a":1}"#, false),
        (r#"{"$replaceWith":"$a"}"#, r#"{"a":1}"#, false),
    ] {
        let stages = rewritten(&format!(r#"[{before},{{"$match":{filter}}}]"#));
        assert_eq!(stages.starts_with("match"), moves, "{before} {filter}: {stages}");
    }
}

#[test]
fn neighbours_are_merged() {
    let graph = |stages: &str| {
        let lookup = r#""from":"c","as":"a","startWith":"$x","connectFromField":"x","connectToField":"y""#;
        format!(r#"[{{"$graphLookup":{{{lookup}}}}},{stages}]"#)
    };
    for (stages, expected) in [
        (r#"[{"$match":{"a":1}},{"$sort":{"a":1}},{"$match":{"b":1}}]"#, "match sort"),
        (r#"[{"$sort":{"a":1}},{"$limit":5},{"$limit":3}]"#, "sort"),
        (r#"[{"$skip":2},{"$limit":3}]"#, "limit skip"),
        (r#"[{"$skip":2},{"$skip":3}]"#, "skip"),
        (r#"[{"$sort":{"a":1}},{"$skip":2},{"$limit":3}]"#, "sort skip"),
        (r#"[{"$sort":{"a":1}},{"$skip":2},{"$project":{"a":1}},{"$limit":3}]"#, "sort skip project"),
        (r#"[{"$set":{"a":1}},{"$skip":2},{"$limit":3},{"$skip":1}]"#, "limit skip set"),
        (r#"[{"$sort":{"a":1}},{"$lookup":{"from":"c","as":"a","pipeline":[]}},{"$limit":3}]"#, "sort lookup"),
        (r#"[{"$unwind":"$a"},{"$limit":3}]"#, "unwind limit"),
        (r#"[{"$sort":{"a":1}},{"$limit":3},{"$match":{"a":1}}]"#, "sort match"),
        (r#"[{"$sort":{"a":1}},{"$match":{}},{"$skip":0}]"#, "sort"),
        // Some conditions move, and the others stay.
        (r#"[{"$set":{"a":1}},{"$match":{"a":1,"b":2,"$expr":{"$eq":["$a","$b"]}}}]"#, "match set match"),
        (r#"[{"$group":{"_id":"$a","n":{"$sum":1}}},{"$match":{"_id":1,"n":{"$gt":2}}}]"#, "match group match"),
        (r#"[{"$redact":"$$KEEP"},{"$match":{"a":1,"b":{"$ne":2}}}]"#, "match redact match"),
        (r#"[{"$redact":"$$KEEP"},{"$match":{"b":{"$ne":2},"$nor":[{"c":1}]}}]"#, "redact match"),
        (r#"[{"$unionWith":"c"},{"$match":{"a":1}}]"#, "match unionWith"),
        (
            r#"[{"$lookup":{"from":"c","as":"a","localField":"x","foreignField":"y"}},{"$unwind":"$a"},{"$match":{"a.b":1,"c":2}}]"#,
            "match lookup unwind match",
        ),
        (
            r#"[{"$lookup":{"from":"c","as":"a","pipeline":[{"$sort":{"q":1}}]}},{"$unwind":"$a"},{"$match":{"a.b":1,"c":2}}]"#,
            "match lookup unwind",
        ),
        (
            r#"[{"$lookup":{"from":"c","as":"a","pipeline":[{"$sort":{"q":1}}]}},{"$unwind":{"path":"$a","preserveNullAndEmptyArrays":true}},{"$match":{"a.b":1}}]"#,
            "lookup unwind match",
        ),
        (&graph(r#"{"$unwind":"$a"},{"$match":{"a.b":1,"c":2}}"#), "match graphLookup match"),
        (
            &graph(r#"{"$unwind":{"path":"$a","includeArrayIndex":"i"}},{"$match":{"i":1}},{"$limit":1}"#),
            "graphLookup match limit",
        ),
        (&graph(r#"{"$match":{"b":2}},{"$limit":2},{"$unwind":"$a"},{"$limit":3}"#), "match limit graphLookup limit"),
        // An `$unwind` of a different field, and a second `$unwind`.
        (&graph(r#"{"$unwind":"$b"}"#), "graphLookup unwind"),
        (&graph(r#"{"$unwind":"$a"},{"$unwind":"$a"}"#), "graphLookup unwind"),
    ] {
        assert_eq!(rewritten(stages), expected, "{stages}");
    }
}
