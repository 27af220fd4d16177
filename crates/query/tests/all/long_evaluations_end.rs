//! Evaluations that would take minutes with one document end when their query must end. Searches for patterns end after
//! a number of steps, which bounds their time.

use alluvium_document::{Document, Map, Value, json};
use alluvium_query::ErrorCode;
use alluvium_query::expression::{EvaluateError, Expression, Interrupt, Interruption, Scope, Variables};
use alluvium_query::filter::{Filter, FilterError};
use alluvium_query::pipeline::Pipeline;
use alluvium_query::update::{Context, Update};
use alluvium_query::validator::{ValidationAction, ValidationLevel, Validator};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Variables with an interrupt that fails after this number of checks.
fn stopped_after(calls: usize) -> Variables {
    Variables::NONE.interrupted_by(interrupt_after(calls))
}

fn interrupt_after(calls: usize) -> Interrupt {
    counting_down(&Arc::new(AtomicUsize::new(calls)))
}

/// An interrupt that decrements `left` at each check, and fails at zero.
fn counting_down(left: &Arc<AtomicUsize>) -> Interrupt {
    let left = left.clone();
    Interrupt::new(move || match left.load(Ordering::Relaxed).checked_sub(1) {
        Some(less) => {
            left.store(less, Ordering::Relaxed);
            Ok(())
        }
        None => Err(Interruption { code: ErrorCode::Interrupted, message: "stopped".to_owned() }),
    })
}

fn numbers(count: i32) -> Value {
    Value::Array((0..count).map(Value::Int32).collect())
}

fn map(fields: impl IntoIterator<Item = (&'static str, Value)>) -> Value {
    let mut map = Map::new();
    fields.into_iter().for_each(|(name, value)| map.push(name, value));
    Value::Map(map)
}

/// Expressions with slow steps, evaluated for one document. The loop around the steps does not itself check the
/// interrupt.
#[test]
fn expressions_end() {
    let text = |part: &str| map([("$literal", Value::from(part.repeat((4 << 20) / part.len())))]);
    let array = || map([("$literal", numbers(600_000))]);
    for step in [
        map([("$setUnion", Value::Array(vec![array(), array()]))]),
        map([("$setIsSubset", Value::Array(vec![array(), array()]))]),
        map([("$toUpper", text("ab"))]),
        map([("$strLenCP", text("ab"))]),
        map([("$in", Value::Array(vec![Value::Int32(-1), array()]))]),
        map([("$split", Value::Array(vec![text("abcdefgh,"), Value::from(",")]))]),
        map([("$regexMatch", map([("input", text("a")), ("regex", Value::from("(?=a*b)a"))]))]),
        map([("$regexFind", map([("input", text("ab")), ("regex", Value::from("([ab]{20})[c-z]"))]))]),
        map([("$replaceAll", map([("input", text("ab")), ("find", "a".into()), ("replacement", "c".into())]))]),
    ] {
        let range = map([("$range", Value::Array(vec![Value::Int32(0), Value::Int32(32)]))]);
        let body = map([("$let", map([("vars", map([("step", step.clone())])), ("in", Value::Int32(1))]))]);
        let expression = map([("$reduce", map([("input", range), ("initialValue", Value::Int32(0)), ("in", body)]))]);
        let expression = Expression::parse_in(&expression, &stopped_after(5)).unwrap();
        let result = expression.evaluate(&mut Scope::of_map(&Map::new()));
        let Err(EvaluateError::Expression(error)) = result else { panic!("{result:?}") };
        assert_eq!(error.code, ErrorCode::Interrupted, "{error}");
    }
}

/// Filters whose conditions are evaluated for each element.
#[test]
fn filters_end() {
    let texts = Value::Array(vec![Value::from("a".repeat(1 << 10)); 1_000]);
    let maps = Value::Array((0..20_000).map(|n| map([("x", Value::Int32(n))])).collect());
    let text = Value::from("a".repeat(80_000));
    let long = Value::from("ab".repeat(2 << 20));
    let document = Map::from([("a", numbers(600_000)), ("s", text), ("l", long), ("t", texts), ("m", maps)]);
    let backwards = Value::Array((0..600_000).rev().map(Value::Int32).collect());
    let none = Value::Array((0..5_000).map(|n| map([("x", map([("$ne", Value::Int32(-n))]))])).collect());
    let regexes: Vec<Value> = (0..200)
        .map(|n| {
            json::parse(format!(r#"{{"$regularExpression":{{"pattern":"b{n}","options":""}}}}"#).as_bytes()).unwrap()
        })
        .collect();
    for (field, condition) in [
        ("a", map([("$all", backwards)])),
        ("m", map([("$elemMatch", map([("$nor", none)]))])),
        ("s", map([("$regex", "(?=a*b)a".into())])),
        ("t", map([("$regex", "a.*b".into())])),
        ("l", map([("$regex", "a[ab]{20}[c-z]".into())])),
        ("t", map([("$in", Value::Array(regexes))])),
        ("t", map([("$elemMatch", map([("$regex", "(?=a*b)a".into())]))])),
    ] {
        let filter = Map::from([(field, condition)]);
        // The parser checks the interrupt, too.
        let left = Arc::new(AtomicUsize::new(usize::MAX));
        let filter = Filter::parse_in(&filter, &Variables::NONE.interrupted_by(counting_down(&left))).unwrap();
        left.store(5, Ordering::Relaxed);
        let result = filter.matches_map(&document);
        assert_eq!(result.as_ref().err().map(FilterError::code), Some(ErrorCode::Interrupted), "{field}: {result:?}");
    }
}

#[test]
fn updates_end() {
    let mut document = Map::from([("a", Value::Array(vec![Value::from("a".repeat(80_000)); 10]))]);
    let pull = map([("$pull", map([("a", map([("$regex", "(?=a*b)a".into())]))]))]);
    let Value::Map(pull) = pull else { unreachable!() };
    let update = Update::parse_in(&pull, &[], &stopped_after(5)).unwrap();
    let result = update.apply_to_map(&mut document, &Context::default());
    assert!(result.is_err_and(|error| error.to_string().contains("stopped")));
}

/// Updates that copy much data but keep little of it, or examine many elements.
#[test]
fn updates_of_many_elements_end() {
    let large = Value::Array(vec![Value::from("a".repeat(100_000))]);
    let none = map([("$each", large), ("$slice", Value::Int32(0))]);
    let lists = Value::Array(vec![Value::Array(Vec::new()); 10_000]);
    let fields: Vec<(String, Value)> = (0..1_000).map(|n| (format!("n.$[x].f{n}"), Value::Int32(1))).collect();
    let mut many = Map::new();
    fields.into_iter().for_each(|(name, value)| many.push(name, value));
    let never = map([("x", Value::Int32(-1))]);
    for (update, filters) in
        [(map([("$push", map([("l.$[]", none)]))]), vec![]), (map([("$set", Value::Map(many))]), vec![never])]
    {
        let Value::Map(update) = update else { unreachable!() };
        let mut document = Map::from([("l", lists.clone()), ("n", numbers(10_000))]);
        let update = Update::parse_in(&update, &filters, &stopped_after(20)).unwrap();
        let result = update.apply_to_map(&mut document, &Context::default());
        assert!(result.as_ref().is_err_and(|error| error.to_string().contains("stopped")), "{result:?}");
    }
}

/// Checks of one document by a schema, in queries and by a validator.
#[test]
fn schemas_end() {
    let names = |count: usize| (0..count).map(|n| Value::from(format!("field {n}"))).collect::<Vec<_>>();
    let mut fields = Map::new();
    names(20_000).into_iter().for_each(|name| fields.push(name.as_str().unwrap_or_default(), Value::Int32(1)));
    let (all, texts) = (Value::Map(fields), Value::Array(vec![Value::from("a".repeat(80_000)); 50]));
    let number = || map([("bsonType", Value::from("int"))]);
    let named = || {
        let mut properties = Map::new();
        names(20_000).iter().for_each(|name| properties.push(name.as_str().unwrap_or_default(), number()));
        Value::Map(properties)
    };
    let document = Map::from([("_id", Value::Int32(1)), ("n", numbers(600_000)), ("m", all), ("t", texts)]);
    for (field, schema) in [
        ("n", map([("items", number())])),
        ("n", map([("uniqueItems", Value::Bool(true))])),
        ("n", map([("enum", Value::Array(vec![numbers(30_000); 30]))])),
        ("n", map([("not", map([("anyOf", Value::Array(vec![map([("items", number())]); 3]))]))])),
        ("m", map([("required", Value::Array(names(20_000)))])),
        ("m", map([("properties", named())])),
        ("m", map([("dependencies", map([("field 1", Value::Array(names(20_000)))]))])),
        ("t", map([("items", map([("maxLength", Value::Int32(1_000_000))]))])),
    ] {
        let rules = Map::from([("$jsonSchema", map([("properties", map([(field, schema)]))]))]);
        let result = Filter::parse_in(&rules, &stopped_after(20)).unwrap().matches_map(&document);
        assert_eq!(result.as_ref().err().map(FilterError::code), Some(ErrorCode::Interrupted), "{field}: {result:?}");
        let validator = Validator::new(rules, ValidationLevel::Strict, ValidationAction::Error).unwrap();
        let document = Document::from_map(&document).unwrap();
        validator.refusal(&document, None).unwrap();
        assert!(validator.may_take_long(&document));
        let result = validator.interrupted_by(&interrupt_after(20)).refusal(&document, None);
        assert_eq!(result.as_ref().err().map(FilterError::code), Some(ErrorCode::Interrupted), "{field}: {result:?}");
    }
}

/// The check of a document is short, but explaining why it is refused takes long.
#[test]
fn reasons_of_validators_end() {
    let mut elements = vec![Value::Int32(1); 20_000];
    elements.push(Value::from("no number"));
    let document = Document::from_map(&Map::from([("_id", Value::Int32(1)), ("n", Value::Array(elements))])).unwrap();
    let items = map([("items", map([("bsonType", Value::from("int"))]))]);
    let rules = Map::from([("$jsonSchema", map([("properties", map([("n", items)]))]))]);
    let validator = Validator::new(rules.clone(), ValidationLevel::Strict, ValidationAction::Error).unwrap();
    assert!(validator.refusal(&document, None).unwrap().is_some());
    let filter = Filter::parse_in(&rules, &stopped_after(100)).unwrap();
    assert_eq!(filter.matches(&document), Ok(false));
    let result = validator.interrupted_by(&interrupt_after(100)).refusal(&document, None);
    assert_eq!(result.as_ref().err().map(FilterError::code), Some(ErrorCode::Interrupted), "{result:?}");
}

/// Parsing of long commands.
#[test]
fn parsing_ends() {
    let each = |count: i32, make: &dyn Fn(i32) -> Value| Value::Array((0..count).map(make).collect());
    let many = |count: i32| {
        let mut fields = Map::new();
        (0..count).for_each(|n| fields.push(format!("f{n}"), Value::Int32(1)));
        Value::Map(fields)
    };
    let interrupted = |code: Option<ErrorCode>, what: &str| assert_eq!(code, Some(ErrorCode::Interrupted), "{what}");
    for (what, filter) in [
        ("$all", map([("a", map([("$all", numbers(100_000))]))])),
        ("$in", map([("a", map([("$in", numbers(100_000))]))])),
        ("$nin", map([("a", map([("$nin", numbers(100_000))]))])),
        ("$or", map([("$or", each(100_000, &|n| map([("a", Value::Int32(n))])))])),
        ("$and", map([("$and", each(100_000, &|n| map([("a", Value::Int32(n))])))])),
        ("fields", many(100_000)),
        ("$expr", map([("$expr", map([("$in", Value::Array(vec![Value::Int32(1), numbers(100_000)]))]))])),
        ("$elemMatch", map([("a", map([("$elemMatch", map([("$in", numbers(100_000))]))]))])),
    ] {
        let Value::Map(filter) = filter else { unreachable!() };
        interrupted(Filter::parse_in(&filter, &stopped_after(10)).err().map(|error| error.code()), what);
        let stages = Value::Array(vec![map([("$match", Value::Map(filter))])]);
        interrupted(Pipeline::parse(&stages, &stopped_after(10)).err().map(|error| error.code()), what);
    }
    let update = Map::from([("$set", many(100_000))]);
    interrupted(Update::parse_in(&update, &[], &stopped_after(10)).err().map(|error| error.code()), "$set");
    let expression = Expression::parse_in(&each(100_000, &|_| Value::from("$a")), &stopped_after(10));
    interrupted(expression.err().map(|error| error.code), "an array");
    let stages = Value::Array(vec![map([("$project", many(100_000))])]);
    interrupted(Pipeline::parse(&stages, &stopped_after(10)).err().map(|error| error.code()), "$project");
}

/// There is no interrupt. Steps are counted as the text is read, so their number bounds the time.
#[test]
fn searches_end_after_a_number_of_steps() {
    let document = Map::from([("s", Value::from("a".repeat(80_000)))]);
    for pattern in ["(?=a*b)a", "(?>a*)b(?=c)", "(?<!x)(?=.*y)a", "(a+)\\1+b", "a*+b"] {
        let filter = Filter::parse(&Map::from([("s", map([("$regex", pattern.into())]))])).unwrap();
        let result = filter.matches_map(&document);
        let Err(error) = result else { panic!("{pattern}: {result:?}") };
        assert_eq!(error.code().number(), 51156, "{error}");
        assert!(error.to_string().contains(pattern) && error.to_string().contains("look-around"), "{error}");
        // Operators of expressions return the same error.
        for operator in ["$regexMatch", "$regexFind", "$regexFindAll"] {
            let expression = map([(operator, map([("input", "$s".into()), ("regex", pattern.into())]))]);
            let result = Expression::parse(&expression).unwrap().evaluate(&mut Scope::of_map(&document));
            let Err(EvaluateError::Expression(error)) = result else { panic!("{operator} {pattern}: {result:?}") };
            assert_eq!(error.code.number(), 51156, "{operator} {pattern}");
        }
    }
}
