use super::*;
use alluvium_document::json;

fn map(text: &str) -> Map {
    match json::parse(text.as_bytes()) {
        Ok(Value::Map(map)) => map,
        other => panic!("{text}: {other:?}"),
    }
}

fn document(text: &str) -> Document {
    Document::from_map(&map(text)).unwrap()
}

/// The details of a refusal; empty if the document is not refused.
fn details(rules: &str, text: &str) -> String {
    let validator = Validator::new(map(rules), ValidationLevel::Strict, ValidationAction::Error).unwrap();
    match validator.refusal(&document(text), None).unwrap() {
        None => String::new(),
        Some(refusal) => Value::Map(refusal).to_string().replace('"', ""),
    }
}

#[test]
fn conditions_are_named() {
    for (rules, text, expected) in [
        (r#"{"a": 1}"#, r#"{"_id": 7, "a": 1}"#, ""),
        ("{}", r#"{"_id": 7}"#, ""),
        (
            r#"{"a": {"$gt": 5}}"#,
            r#"{"_id": 7, "a": 1}"#,
            "{failingDocumentId:7,details:{operatorName:$gt,specifiedAs:{a:{$gt:5}},reason:comparison failed,\
             consideredValue:1}}",
        ),
        (
            r#"{"a": {"$type": "string"}}"#,
            r#"{"_id": 7, "a": 1}"#,
            "{failingDocumentId:7,details:{operatorName:$type,specifiedAs:{a:{$type:string}},reason:type did not \
             match,consideredValue:1,consideredType:int}}",
        ),
        (
            r#"{"a": {"$exists": true}, "b": 2}"#,
            r#"{"_id": 7}"#,
            "{failingDocumentId:7,details:{operatorName:$and,clausesNotSatisfied:[{index:0,details:{operatorName:\
             $exists,specifiedAs:{a:{$exists:true}},reason:path does not exist}},{index:1,details:{operatorName:$eq,\
             specifiedAs:{b:2},reason:field was missing}}]}}",
        ),
        (
            r#"{"$nor": [{"a": 1}, {"b": 1}]}"#,
            r#"{"_id": 7, "b": 1}"#,
            "{failingDocumentId:7,details:{operatorName:$nor,clausesSatisfied:[{index:1,details:{operatorName:$eq,\
             specifiedAs:{b:1},reason:comparison succeeded,consideredValue:1}}]}}",
        ),
        (
            r#"{"a": {"$not": {"$size": 2}}}"#,
            r#"{"_id": 7, "a": [1, 2]}"#,
            "{failingDocumentId:7,details:{operatorName:$not,details:{operatorName:$size,specifiedAs:{a:{$size:2}},\
             reason:array length was equal to given size,consideredValue:[1,2]}}}",
        ),
        (
            r#"{"$expr": {"$gt": ["$a", "$b"]}}"#,
            r#"{"_id": 7, "a": 1, "b": 2}"#,
            "{failingDocumentId:7,details:{operatorName:$expr,specifiedAs:{$expr:{$gt:[$a,$b]}},reason:expression did \
             not match,expressionResult:false}}",
        ),
    ] {
        assert_eq!(details(rules, text), expected, "{rules} {text}");
    }
}

/// The rules of a schema that a document violates.
fn rules(schema: &str, text: &str) -> String {
    let all = details(&format!(r#"{{"$jsonSchema": {schema}}}"#), text);
    let begin = "{failingDocumentId:7,details:{operatorName:$jsonSchema,schemaRulesNotSatisfied:[";
    match all.strip_prefix(begin).and_then(|rest| rest.strip_suffix("]}}")) {
        Some(rules) => rules.to_owned(),
        None => all,
    }
}

#[test]
fn rules_of_schemas_are_named() {
    for (schema, text, expected) in [
        (r#"{"required": ["a"]}"#, r#"{"_id": 7, "a": 1}"#, ""),
        (
            r#"{"required": ["a", "b"]}"#,
            r#"{"_id": 7, "a": 1}"#,
            "{operatorName:required,specifiedAs:{required:[a,b]},missingProperties:[b]}",
        ),
        (
            r#"{"properties": {"a": {"bsonType": "string", "description": "a name"}, "b": {"minimum": 3}}}"#,
            r#"{"_id": 7, "a": 1, "b": 2}"#,
            "{operatorName:properties,propertiesNotSatisfied:[{propertyName:a,description:a name,details:[{operatorName:\
             bsonType,specifiedAs:{bsonType:string},reason:type did not match,consideredValue:1,consideredType:int}]},\
             {propertyName:b,details:[{operatorName:minimum,specifiedAs:{minimum:3},reason:comparison failed,\
             consideredValue:2}]}]}",
        ),
        (
            r#"{"properties": {"_id": {}, "a": {}}, "additionalProperties": false}"#,
            r#"{"_id": 7, "a": 1, "c": 2}"#,
            "{operatorName:additionalProperties,specifiedAs:{additionalProperties:false},additionalProperties:[c]}",
        ),
        (
            r#"{"properties": {"a": {"items": {"enum": [1, 2]}}}}"#,
            r#"{"_id": 7, "a": [1, 3]}"#,
            "{operatorName:properties,propertiesNotSatisfied:[{propertyName:a,details:[{operatorName:items,reason:At \
             least one item did not match the sub-schema,itemIndex:1,details:[{operatorName:enum,specifiedAs:{enum:[1,2]},\
             reason:value was not found in enum,consideredValue:3}]}]}]}",
        ),
        (
            r#"{"oneOf": [{"required": ["a"]}, {"required": ["b"]}]}"#,
            r#"{"_id": 7, "a": 1, "b": 2}"#,
            "{operatorName:oneOf,reason:more than one subschema matched,matchingSchemaIndexes:[0,1]}",
        ),
        (
            r#"{"dependencies": {"a": ["b", "_id"]}}"#,
            r#"{"_id": 7, "a": 1}"#,
            "{operatorName:dependencies,failingDependencies:[{conditionalProperty:a,missingProperties:[b]}]}",
        ),
        (
            r#"{"maxProperties": 1}"#,
            r#"{"_id": 7, "a": 1}"#,
            "{operatorName:maxProperties,specifiedAs:{maxProperties:1},reason:specified number of properties was not \
             satisfied,numberOfProperties:2}",
        ),
    ] {
        assert_eq!(rules(schema, text), expected, "{schema} {text}");
    }
}

#[test]
fn moderate_spares_what_was_wrong_before() {
    let refused = |level, before: &str| {
        let validator = Validator::new(map(r#"{"a": 1}"#), level, ValidationAction::Error).unwrap();
        validator.refusal(&document(r#"{"_id": 7}"#), Some(&document(before))).unwrap().is_some()
    };
    assert!(refused(ValidationLevel::Strict, r#"{"_id": 7, "a": 2}"#));
    assert!(!refused(ValidationLevel::Moderate, r#"{"_id": 7, "a": 2}"#));
    assert!(refused(ValidationLevel::Moderate, r#"{"_id": 7, "a": 1}"#));
    assert!(!refused(ValidationLevel::Off, r#"{"_id": 7, "a": 1}"#));
}

#[test]
fn options_are_read_as_they_are_written() {
    let validator = |text: &str| Validator::from_options(&map(text));
    let options = r#"{"validator": {"a": {"$gt": 1}}, "validationLevel": "moderate", "validationAction": "warn"}"#;
    let read = validator(options).unwrap().unwrap();
    assert_eq!((read.level(), read.action()), (ValidationLevel::Moderate, ValidationAction::Warn));
    assert_eq!(read.to_options(), map(options));
    assert_eq!(validator(r#"{"validationLevel": "strict"}"#), Ok(None));
    for (options, message) in [
        (r#"{"validator": 5}"#, "validator must be a map, not of type int"),
        (r#"{"validator": {}, "validationLevel": "hard"}"#, "validationLevel is one of off, strict and moderate"),
        (r#"{"validator": {}, "validationAction": true}"#, "validationAction must be a string, not of type bool"),
        (r#"{"validator": {"a": {"$gtt": 1}}}"#, "$gt"),
    ] {
        let error = validator(options).unwrap_err().to_string();
        assert!(error.contains(message), "{options}: {error}");
    }
}
