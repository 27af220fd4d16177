use super::super::Pipeline;
use super::*;
use crate::code::ErrorCode;
use crate::expression::Variables;
use alluvium_document::doc;

fn stage(name: &str, operand: impl Into<Value>) -> Value {
    Value::Map(Map::from([(name, operand.into())]))
}

fn one(name: &str, operand: impl Into<Value>) -> Value {
    Value::Array(vec![stage(name, operand)])
}

#[test]
fn rows_are_found_by_name_and_by_stage() {
    assert!(ROWS.is_sorted_by(|a, b| a.name < b.name));
    for row in all() {
        assert!(row.name.starts_with('$') && row.name.len() > 1, "{}", row.name);
        assert_eq!(find(row.name), Some(row));
        assert_eq!(row.stage.row(), row);
        assert_eq!(find(&row.name[1..]), None);
    }
    assert_eq!(find(""), None);
}

/// The parser supports exactly the stages that their rows mark as supported.
#[test]
fn the_parser_supports_what_the_table_says() {
    let parse = |stages: &[Value]| Pipeline::parse(&Value::Array(stages.to_vec()), &Variables::NONE);
    let code = |stages: &[Value]| parse(stages).err().map(|error| error.code());
    for row in all() {
        let alone = [stage(row.name, 1)];
        assert_eq!(code(&alone) == Some(ErrorCode::NotImplemented), row.missing.is_some(), "{}", row.name);
        assert_ne!(code(&alone), Some(ErrorCode::Location40324), "{}", row.name);
    }
    let operand = |name: &str| match name {
        "$documents" => Value::Array(Vec::new()),
        "$out" | "$merge" => "d".into(),
        _ => Value::Map(Map::new()),
    };
    let other = stage("$limit", 1);
    let placed = all().iter().filter(|row| row.missing.is_none() && row.position != Position::Anywhere);
    for row in placed {
        let this = stage(row.name, operand(row.name));
        assert_eq!(code(std::slice::from_ref(&this)), None, "{}", row.name);
        let (stages, expected) = match row.position {
            Position::First => ([other.clone(), this.clone()], ErrorCode::Location40602),
            _ => ([this.clone(), other.clone()], ErrorCode::Location40601),
        };
        assert_eq!(code(&stages), Some(expected), "{}", row.name);
        let facet = stage("$facet", Map::from([("x", Value::Array(vec![this]))]));
        assert_eq!(code(&[facet]), Some(ErrorCode::Location40600), "{}", row.name);
    }
}

#[test]
fn parsed_stages_have_names_of_the_table() {
    let stages = [
        doc! {"$match": {"a": 1}},
        doc! {"$set": {"b": 1}},
        doc! {"$unwind": "$a"},
        doc! {"$redact": "$$KEEP"},
        doc! {"$lookup": {"from": "d", "localField": "a", "foreignField": "a", "as": "x"}},
        doc! {"$merge": "d"},
    ];
    let names = stages.iter().map(|stage| stage.entries[0].0.as_str().unwrap().to_owned());
    let names: Vec<String> = names.collect();
    let pipeline = Value::Array(stages.into_iter().map(Value::Map).collect());
    let pipeline = Pipeline::parse(&pipeline, &Variables::NONE).unwrap();
    let parsed: Vec<&str> = pipeline.stages().iter().map(|stage| stage.name()).collect();
    assert_eq!(parsed, names);
}

/// An operand for a stage. It names `other` wherever the row says that the operand names a
/// collection, and has `inner` wherever the operand has a pipeline.
fn operand(row: &StageRow, other: &str, inner: Value) -> Map {
    let mut operand = Map::new();
    match row.collections {
        Collections::Option(name) | Collections::OptionOrOperand(name) | Collections::OptionOrText(name) => {
            operand.push(name, other);
        }
        Collections::None | Collections::Operand => {}
    }
    match row.pipelines {
        Pipelines::Option(name) => operand.push(name, inner),
        Pipelines::EachOption => operand.push("x", inner),
        Pipelines::None => {}
    }
    operand
}

#[test]
fn pipelines_in_stages_are_walked() {
    for row in all().iter().filter(|row| row.pipelines != Pipelines::None) {
        let mut inner = one("$count", "n");
        for _ in 0..50 {
            inner = one(row.name, operand(row, "d", inner));
        }
        let walked: Vec<RawStage<'_>> = walk(Some("c"), inner.as_array().unwrap()).collect();
        let names: Vec<&str> = walked.iter().map(|stage| stage.name).collect();
        assert_eq!((walked.len(), names[0], names[50]), (51, row.name, "$count"), "{}", row.name);
        let (first, last) = (walked[0], walked[50]);
        assert_eq!((first.depth, first.collection, first.in_facet), (0, Some("c"), false), "{}", row.name);
        let of_facet = row.pipelines == Pipelines::EachOption;
        let within = if of_facet { "c" } else { "d" };
        assert_eq!((last.depth, last.collection, last.in_facet), (50, Some(within), of_facet), "{}", row.name);
    }
}

#[test]
fn what_cannot_be_parsed_is_walked_as_well() {
    let pipeline = Value::Array(vec![
        Value::Null,
        Value::Map(doc! {"$match": {}, "$out": "d"}),
        stage("$lookup", 1),
        stage("$lookup", doc! {"pipeline": [{"$limit": 1}], "from": {"db": "b", "coll": "d"}}),
        Value::Map(Map::from_iter([
            (Value::from(5), Value::from(1)),
            (Value::from("$unionWith"), Value::Map(doc! {"coll": "e", "pipeline": [{"$skip": 1}, 2]})),
        ])),
    ]);
    let walked = walk(Some("c"), pipeline.as_array().unwrap());
    let shown: Vec<_> = walked.map(|s| (s.name, s.at, s.field, s.fields, s.collection, s.nearest_collection)).collect();
    assert_eq!(
        shown,
        [
            ("$match", 1, 0, 2, Some("c"), Some("c")),
            ("$out", 1, 1, 2, Some("c"), Some("c")),
            ("$lookup", 2, 0, 1, Some("c"), Some("c")),
            ("$lookup", 3, 0, 1, Some("c"), Some("c")),
            ("$limit", 0, 0, 1, None, Some("c")),
            ("", 4, 0, 2, Some("c"), Some("c")),
            ("$unionWith", 4, 1, 2, Some("c"), Some("c")),
            ("$skip", 0, 0, 1, Some("e"), Some("e")),
        ]
    );
    // If an option occurs several times, the parser uses one of the values.
    let union = StageName::UnionWith.row();
    let twice = Map { entries: [doc! {"coll": "d"}, doc! {"coll": "e"}].map(|map| map.entries[0].clone()).to_vec() };
    let twice = Value::Map(twice);
    let named =
        |row: &StageRow, operand: &Value| row.named_collections(operand).map(Value::to_string).collect::<Vec<_>>();
    assert_eq!(named(union, &twice), [r#""d""#, r#""e""#]);
    assert_eq!(named(union, &Value::from("d")), [r#""d""#]);
    assert!(named(union, &Value::Map(Map::new())).is_empty());
    assert_eq!(named(StageName::Merge.row(), &Value::Map(doc! {"coll": "d"})), [r#"{"coll":"d"}"#]);
    assert_eq!(named(StageName::Out.row(), &Value::from(1)), ["1"]);
    assert!(named(StageName::Lookup.row(), &Value::from("d")).is_empty());
}

#[test]
fn stages_that_write_are_known() {
    assert!(writes(&doc! {"$out": "d"}) && writes(&doc! {"$merge": "d"}) && writes(&doc! {"a": 1, "$out": "d"}));
    assert!(!writes(&doc! {"$match": {"$out": 1}}) && !writes(&Map::new()));
    assert!(all().iter().all(|row| !row.writes || row.position == Position::Last));
}
