//! Every operator checks the interrupt in proportion to its work.

use crate::ErrorCode;
use crate::expression::operators::{self, Cost, Function, Parameters, prepared::Form};
use crate::expression::{EvaluateError, Expression, Interrupt, Interruption, Scope, Variables};
use alluvium_document::{Map, Value};
use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// The number of calls in one evaluation. It is so small that the loop around the calls does not
/// check the interrupt itself.
const CALLS: i32 = 32;

/// An interrupt that fails after this number of checks, and the counter of checks.
fn after(calls: usize) -> (Interrupt, Arc<AtomicUsize>) {
    let counter = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&counter);
    let interrupt = Interrupt::new(move || match counted.fetch_add(1, Ordering::Relaxed) {
        call if call < calls => Ok(()),
        _ => Err(Interruption { code: ErrorCode::Interrupted, message: "stopped".to_owned() }),
    });
    (interrupt, counter)
}

/// Large values of the types that operators accept; their size grows with the factor.
fn large(factor: i32) -> [Value; 5] {
    let numbers = (0..6_000 * factor).map(|n| Value::Int32(n.wrapping_mul(7919) % 50_021)).collect();
    let pairs = (0..2_000 * factor).map(|n| Value::Array(vec![Value::from(format!("k{n}")), Value::Int32(n)]));
    let mut fields = Map::new();
    (0..2_000 * factor).for_each(|n| fields.push(format!("f{n}"), n));
    let text = |part: &str| Value::from(part.repeat(100_000 * factor as usize));
    [Value::Array(numbers), Value::Array(pairs.collect()), Value::Map(fields), text("ab"), text("12")]
}

fn literal(value: Value) -> Value {
    Value::Map(Map::from([("$literal", value)]))
}

/// A value for the argument of this name; `None` if any value fits.
fn known(name: &str) -> Option<Value> {
    Some(match name {
        "method" => Value::from("approximate"),
        "p" => Value::Array(vec![Value::from(0.5)]),
        "to" => Value::from("string"),
        "unit" => Value::from("day"),
        "sortBy" => Value::Int32(1),
        "field" => Value::from("f"),
        "useLongestLength" => Value::Bool(true),
        _ => return None,
    })
}

fn named(names: &[&str], value: impl Fn(usize) -> Value) -> Value {
    let mut map = Map::new();
    for (at, name) in names.iter().enumerate() {
        let is_optional = !name.contains('!');
        let name = name.trim_end_matches(['!', '?', '~', '=']);
        // Other optional arguments accept only a few values.
        match known(name) {
            Some(value) => map.push(name, value),
            None if is_optional && !matches!(name, "chars" | "year") => {}
            None => map.push(name, value(at)),
        }
    }
    Value::Map(map)
}

/// A function that makes the operand of an operator. Its parameter is a function that makes each argument.
type Operand = dyn Fn(&dyn Fn(usize) -> Value) -> Value;

/// An operator, and the function that makes its operand.
struct Row {
    name: &'static str,
    /// The cost is [`Cost::Constant`].
    is_constant: bool,
    counts: bool,
    operand: Box<Operand>,
}

/// All rows of the tables.
fn rows() -> Vec<Row> {
    let plain = operators::tables().into_iter().flatten().map(|operator| {
        let parameters = operator.parameters;
        Row {
            name: operator.name,
            is_constant: operator.cost == Cost::Constant,
            counts: matches!(operator.function, Function::Counting(_)),
            operand: Box::new(move |value| match parameters {
                Parameters::Count(least, most) => Value::Array((0..most.min(least.max(2))).map(value).collect()),
                Parameters::One | Parameters::Only(_) => value(0),
                Parameters::Named(names, _) | Parameters::NamedOrOne(names, _) => named(names, value),
            }),
        }
    });
    let prepared = operators::prepared_tables().map(|operator| Row {
        name: operator.name,
        is_constant: false,
        counts: false,
        operand: Box::new(move |value| match operator.form {
            Form::Named | Form::NamedOrFirst => named(operator.names, value),
        }),
    });
    plain.chain(prepared).collect()
}

/// An expression that calls an operator with this operand a number of times.
fn repeated(name: &str, operand: Value, calls: i32) -> Value {
    let call = Value::Map(Map::from([(name, operand)]));
    let range = Map::from([("$range", Value::Array(vec![Value::Int32(0), Value::Int32(calls)]))]);
    // The value of the call is not kept.
    let body = Map::from([("$let", Map::from([("vars", Map::from([("x", call)]).into()), ("in", Value::Int32(0))]))]);
    let reduce: [(&str, Value); 3] = [("input", range.into()), ("initialValue", Value::Int32(0)), ("in", body.into())];
    Value::Map(Map::from([("$reduce", Map::from(reduce))]))
}

/// Operands in which one of the arguments, or all of them, is one of the large values.
fn operands(row: &Row, large: &[Value]) -> Vec<Value> {
    let mut all = Vec::new();
    for value in large {
        let mut operand = |place: Option<usize>, small: Value| {
            all.push((row.operand)(&|at| {
                literal(if place.is_none_or(|place| place == at) { value.clone() } else { small.clone() })
            }));
        };
        operand(None, Value::Null);
        for place in [0, 1] {
            operand(Some(place), Value::Int32(3));
            operand(Some(place), Value::from("b"));
        }
    }
    all
}

fn code(result: &Result<Option<Value>, EvaluateError>) -> Option<ErrorCode> {
    match result {
        Ok(_) => None,
        Err(EvaluateError::Expression(error)) => Some(error.code),
        Err(error) => panic!("{error}"),
    }
}

/// Constants are neither copied nor made, so only the operator itself counts them as work.
#[test]
fn every_operator_asks_in_proportion_to_its_arguments() {
    let large = large(6);
    let nothing = Map::new();
    let mut asked = BTreeSet::new();
    for row in rows().iter().filter(|row| !row.is_constant) {
        for operand in operands(row, &large) {
            let expression = repeated(row.name, operand, CALLS);
            // In this call no argument is large.
            if bson_size(&expression) < 100_000 {
                continue;
            }
            // The second interrupt ends the evaluation only after some calls, so at least one call
            // is made with all of the arguments.
            for calls in [0, 20] {
                let variables = Variables::NONE.interrupted_by(after(calls).0);
                let Ok(parsed) = Expression::parse_in(&expression, &variables) else { continue };
                let result = parsed.evaluate(&mut Scope::of_map(&nothing));
                let is_interrupted = code(&result) == Some(ErrorCode::Interrupted);
                assert!(result.is_err(), "{}: {calls} asks", row.name);
                assert!(calls > 0 || is_interrupted, "{}", row.name);
                if is_interrupted {
                    asked.insert(row.name);
                }
            }
        }
    }
    for row in rows().iter().filter(|row| !row.is_constant) {
        assert!(asked.contains(row.name), "{} never asked", row.name);
    }
}

fn bson_size(value: &Value) -> usize {
    alluvium_document::bson::bson_size(value)
}

/// If an operator's row has the wrong cost, this test takes a minute.
#[test]
#[allow(clippy::disallowed_methods, reason = "only the time shows what an operator reads")]
fn operators_of_constant_cost_do_not_read_their_arguments() {
    let large = large(60);
    let nothing = Map::new();
    for row in rows().iter().filter(|row| row.is_constant) {
        for operand in operands(row, &large) {
            let expression = repeated(row.name, operand, 50_000);
            let Ok(parsed) = Expression::parse(&expression) else { continue };
            let began = Instant::now();
            let Ok(_) = parsed.evaluate(&mut Scope::of_map(&nothing)) else { continue };
            assert!(began.elapsed() < Duration::from_secs(10), "{}", row.name);
        }
    }
}

/// While it sorts, one call of an operator checks the interrupt more often than for the size of its arguments.
#[test]
fn operators_that_sort_ask_while_they_do() {
    let [numbers, ..] = large(10);
    let nothing = Map::new();
    let mut counted = 0;
    for row in rows().iter().filter(|row| row.counts) {
        let n = Value::Int32(3);
        let operand =
            (row.operand)(&|at| literal(if at == 1 && row.name.ends_with('N') { n.clone() } else { numbers.clone() }));
        let (interrupt, asks) = after(usize::MAX);
        let parsed = Expression::parse_in(&repeated(row.name, operand, 1), &Variables::NONE.interrupted_by(interrupt));
        parsed.unwrap().evaluate(&mut Scope::of_map(&nothing)).unwrap_or_else(|error| panic!("{}: {error}", row.name));
        let (asks, arguments) = (asks.load(Ordering::Relaxed), bson_size(&numbers) >> 16);
        assert!(asks > 8 * arguments, "{}: {asks} asks, {arguments} for the arguments", row.name);
        counted += 1;
    }
    assert!(counted >= 8, "{counted}");
}

/// Large values are read, copied and made outside of operators.
#[test]
fn copies_of_large_values_are_work() {
    let [numbers, _, fields, ..] = large(10);
    let document = Map::from([("numbers", numbers.clone()), ("fields", fields)]);
    let of = |text: &str| alluvium_document::json::parse(text.as_bytes()).unwrap();
    for (operator, operand) in [
        ("$cond", of(r#"["$numbers",1,2]"#)),
        ("$ifNull", of(r#"["$fields",1]"#)),
        ("$and", of(r#"["$numbers",1]"#)),
        ("$or", of(r#"["$fields","$none"]"#)),
        ("$switch", of(r#"{"branches":[{"case":"$$ROOT","then":1}]}"#)),
        ("$let", of(r#"{"vars":{"y":"$numbers"},"in":{"$size":"$$y"}}"#)),
        ("$map", of(r#"{"input":{"$slice":["$numbers",1]},"in":1}"#)),
        ("$filter", of(r#"{"input":"$numbers","cond":0,"limit":1}"#)),
        ("$reduce", of(r#"{"input":[1,2],"initialValue":"$fields","in":"$$value"}"#)),
        ("$expr", of(r#"{"a":"$numbers"}"#)),
        ("$expr", of(r#"["$fields"]"#)),
        ("$ifNull", Value::Array(vec![literal(numbers.clone()), Value::Null])),
    ] {
        let variables = Variables::NONE.interrupted_by(after(3).0);
        let parsed = Expression::parse_in(&repeated(operator, operand, CALLS), &variables).unwrap();
        let result = parsed.evaluate(&mut Scope::of_map(&document));
        assert_eq!(code(&result), Some(ErrorCode::Interrupted), "{operator}");
    }
}

/// Both texts may be long. An implementation that searches one text for each character of the other would be slow.
#[test]
fn trimming_is_linear() {
    let many = |c: &str| Value::from(c.repeat(4 << 20));
    let chars = Value::from("b".repeat(4 << 20) + "a");
    let trim = Map::from([("$trim", Map::from([("input", literal(many("a"))), ("chars", literal(chars))]))]);
    let trimmed = Expression::parse(&trim.into()).unwrap().evaluate(&mut Scope::of_map(&Map::new()));
    assert_eq!(trimmed, Ok(Some(Value::from(""))));
}

/// The number of values is the product of two sizes.
#[test]
fn zip_is_refused_before_it_makes_too_many_values() {
    let mut inputs = vec![Value::Array(vec![]); 100_000];
    inputs.push(Value::Array(vec![Value::Int32(1); 100_000]));
    let zip = Map::from([("inputs", literal(Value::Array(inputs))), ("useLongestLength", Value::Bool(true))]);
    let zip: Value = Map::from([("$zip", zip)]).into();
    let result = Expression::parse(&zip).unwrap().evaluate(&mut Scope::of_map(&Map::new()));
    assert_eq!(code(&result), Some(ErrorCode::BSONObjectTooLarge));
}
