//! Expressions, formats of dates, collations and schemas. Each input is refused, or its evaluation ends, with results
//! that agree with each other.

use super::questions::documents;
use alluvium::{Database, Document, Map, Value};
use alluvium_document::json;
use alluvium_env::Env;
use alluvium_query::collation::Collation;
use alluvium_query::expression::{Expression, Scope};
use alluvium_query::filter::Filter;
use alluvium_query::validator::{ValidationAction, ValidationLevel, Validator};
use alluvium_store::Options;
use std::path::Path;
use std::time::Duration;

const LIMIT: Duration = Duration::from_secs(2);

/// An expression as JSON text, evaluated on documents of every kind, as rows and as maps.
pub fn expressions(data: &[u8]) {
    let Ok(expression) = json::parse(data) else { return };
    let options = Options { partitions: Some(1), background: false, ..Options::default() };
    let opened = Database::builder().env(Env::in_memory(1)).options(options).open(Path::new("db"));
    let Ok(database) = opened else { return };
    let collection = database.collection("c");
    collection.insert_many(documents()).expect("documents");
    let projection = Map::from([("x", expression)]);
    let list = |found: alluvium::Result<Vec<Document>>| {
        found.map(|list| list.iter().map(ToString::to_string).collect::<Vec<_>>()).map_err(|error| error.to_string())
    };
    let of_rows = collection.find("{}").projection(projection.clone()).max_time(LIMIT).run();
    let of_rows = list(of_rows.and_then(|found| found.collect()));
    let stages = [Map::from([("$replaceWith", "$$ROOT")]), Map::from([("$project", projection)])];
    let stages = Value::Array(stages.into_iter().map(Value::Map).collect());
    let of_maps = list(collection.aggregate(&stages).max_time(LIMIT).run().and_then(|found| found.collect()));
    // Results may differ with operators that mean something else in the projections of `find`, and with times and
    // random numbers.
    let differs = ["$slice", "$elemMatch", "$rand", "NOW", "$meta"];
    if let (Ok(rows), Ok(maps)) = (of_rows, of_maps)
        && !differs.iter().any(|word| data.windows(word.len()).any(|window| window == word.as_bytes()))
    {
        assert_eq!(rows, maps, "{}", String::from_utf8_lossy(data));
    }
}

/// A date format and a text that may be a date, separated by a zero byte, and optionally a time zone.
pub fn dates(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let mut parts = text.split('\0');
    let (format, date) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
    let zone = parts.next().map(Value::from).unwrap_or_default();
    let evaluated = |operator: &str, date: Value, format: &str| {
        let (name, of) = if operator == "$dateFromString" { ("dateString", date) } else { ("date", date) };
        let options = Map::from([(name, of), ("format", Value::from(format)), ("timezone", zone.clone())]);
        let expression = Map::from([(operator, Value::Map(options))]);
        let parsed = Expression::parse(&Value::Map(expression)).ok()?;
        parsed.evaluate(&mut Scope::of_map(&Map::new())).ok()?
    };
    let Some(parsed @ Value::DateTime(_)) = evaluated("$dateFromString", Value::from(date), format) else { return };
    // A date that is printed in full must be parsed as the same date.
    let full = "%Y-%m-%dT%H:%M:%S.%LZ";
    let options = Map::from([("date", parsed.clone()), ("format", Value::from(full))]);
    let printed = Expression::parse(&Value::Map(Map::from([("$dateToString", Value::Map(options))])));
    let printed = printed.ok().and_then(|printed| printed.evaluate(&mut Scope::of_map(&Map::new())).ok()?);
    if let Some(Value::String(text)) = printed {
        let again = Map::from([("$dateFromString", Value::Map(Map::from([("dateString", Value::String(text))])))]);
        let again = Expression::parse(&Value::Map(again)).ok();
        let again = again.and_then(|again| again.evaluate(&mut Scope::of_map(&Map::new())).ok()?);
        assert_eq!(again, Some(parsed), "{format:?} {date:?}");
    }
    let _printed = evaluated("$dateToString", Value::DateTime(1_700_000_000_000), format);
}

/// The options of a collation in the first line, followed by texts that are compared.
pub fn collations(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let mut lines = text.lines();
    let Ok(Value::Map(options)) = json::parse(lines.next().unwrap_or_default().as_bytes()) else { return };
    let Ok(Some(collation)) = Collation::parse(&options) else { return };
    assert_eq!(Collation::parse(&collation.to_map()), Ok(Some(collation.clone())));
    let texts: Vec<&str> = lines.take(8).collect();
    for a in &texts {
        for b in &texts {
            let order = collation.compare(a, b);
            assert_eq!(order, collation.compare(b, a).reverse(), "{a:?} {b:?}");
            assert_eq!(order, collation.text_key(a).cmp(&collation.text_key(b)), "{a:?} {b:?}");
        }
    }
}

/// A JSON schema, used as a filter and as a validator on documents of every kind.
pub fn schemas(data: &[u8]) {
    let Ok(schema @ Value::Map(_)) = json::parse(data) else { return };
    let rules = Map::from([("$jsonSchema", schema)]);
    let Ok(filter) = Filter::parse(&rules) else { return };
    let validator = Validator::new(rules, ValidationLevel::Strict, ValidationAction::Error).expect("the same rules");
    for map in documents() {
        let document = Document::from_map(&map).expect("a document");
        if let (Ok(matches), Ok(refusal)) = (filter.matches(&document), validator.refusal(&document, None)) {
            assert_eq!(matches, refusal.is_none(), "{document}");
        }
    }
}

pub(super) fn seeds(target: &str) -> &'static [&'static str] {
    match target {
        "expressions" => &[
            r#"{"$add":["$a",{"$multiply":["$d.e",2]},{"$numberDecimal":"1.5"}]}"#,
            r#"{"$map":{"input":"$c","as":"v","in":{"$cond":[{"$gt":["$$v",1]},"$$v",null]}}}"#,
            r#"{"$reduce":{"input":"$c","initialValue":[],"in":{"$concatArrays":["$$value",["$$this"]]}}}"#,
            r#"{"$regexFindAll":{"input":"$b","regex":"(t)(e)?"}}"#,
            r#"{"$let":{"vars":{"x":{"$ifNull":["$d",0]}},"in":{"$type":"$$x"}}}"#,
            r#"{"$dateTrunc":{"date":"$t","unit":"month","timezone":"Europe/Berlin"}}"#,
            r#"{"$convert":{"input":"$a","to":"decimal","onError":"no","onNull":null}}"#,
            r#"{"$setUnion":[{"$objectToArray":"$d"},[1,2]]}"#,
            r#"{"$substrCP":[{"$toString":"$a"},0,{"$strLenCP":"x"}]}"#,
        ],
        "dates" => &[
            "%Y-%m-%dT%H:%M:%S.%LZ\x002024-02-29T23:59:59.999Z",
            "%d.%m.%Y %H:%M\x0001.12.1999 07:05\0Europe/Paris",
            "%G-W%V-%u\x002020-W53-7",
            "%Y %j %z\x002021 365 +0530",
            "%B %d %Y\0March 3 2020\0+01",
        ],
        "collations" => &[
            "{\"locale\":\"en\",\"strength\":2}\nzoe\nZOE\nZoë\nx10\nx9",
            "{\"locale\":\"sv\",\"numericOrdering\":true,\"alternate\":\"shifted\"}\nöl\na-b\nab\n10\n9",
            "{\"locale\":\"de@collation=phonebook\",\"caseFirst\":\"upper\"}\nÄrger\nAerger\narger",
        ],
        "schemas" => &[
            r#"{"required":["a"],"properties":{"a":{"bsonType":["int","array"],"minimum":1}},"additionalProperties":false}"#,
            r#"{"anyOf":[{"properties":{"c":{"type":"array","items":{"type":"number"},"uniqueItems":true}}},{"not":{"required":["b"]}}]}"#,
            r#"{"patternProperties":{"^a":{"enum":[1,{"b":1},null]}},"minProperties":2,"dependencies":{"a":["b"]}}"#,
        ],
        _ => &[],
    }
}
