use crate::expression::Variables;
use crate::pipeline::Pipeline;
use alluvium_document::json;

/// The names of the stages after rewriting.
fn rewritten(stages: &str) -> String {
    let stages = json::parse(stages.as_bytes()).unwrap();
    let pipeline = Pipeline::parse(&stages, &Variables::NONE).unwrap();
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
        (r#"{"$set":{"a":1}}"#, r#"{"$expr":{"$eq":["$b",1]}}"#, false),
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
    for (stages, expected) in [
        (r#"[{"$match":{"a":1}},{"$sort":{"a":1}},{"$match":{"b":1}}]"#, "match sort"),
        (r#"[{"$sort":{"a":1}},{"$limit":5},{"$limit":3}]"#, "sort"),
        (r#"[{"$skip":2},{"$limit":3}]"#, "limit skip"),
        (r#"[{"$skip":2},{"$skip":3}]"#, "skip"),
    ] {
        assert_eq!(rewritten(stages), expected, "{stages}");
    }
}
