//! The list of operators.

use super::{parsed, value};
use crate::expression::node::Node;
use crate::expression::{Expression, Scope, names, operators};
use alluvium_document::{Map, Value};

/// The operators that MongoDB 8.0's manual lists as aggregation expressions, except operators that are only
/// accumulators.
const MONGODB: &str = "abs acos acosh add allElementsTrue and anyElementTrue arrayElemAt arrayToObject asin asinh \
    atan atan2 atanh avg binarySize bitAnd bitNot bitOr bitXor bsonSize ceil cmp concat concatArrays cond convert cos \
    cosh dateAdd dateDiff dateFromParts dateFromString dateSubtract dateToParts dateToString dateTrunc dayOfMonth \
    dayOfWeek dayOfYear degreesToRadians divide eq exp filter first firstN floor getField gt gte hour ifNull in \
    indexOfArray indexOfBytes indexOfCP isArray isNumber isoDayOfWeek isoWeek isoWeekYear last lastN let literal ln \
    log log10 lt lte ltrim map max maxN median mergeObjects millisecond min minN minute mod month multiply ne not \
    objectToArray or percentile pow radiansToDegrees rand range reduce regexFind regexFindAll regexMatch replaceAll \
    replaceOne reverseArray round rtrim second setDifference setEquals setField setIntersection setIsSubset setUnion \
    sigmoid sin sinh size slice sortArray split sqrt stdDevPop stdDevSamp strLenBytes strLenCP strcasecmp substr \
    substrBytes substrCP subtract sum switch tan tanh toBool toDate toDecimal toDouble toInt toLong toLower \
    toObjectId toString toUUID toUpper trim trunc tsIncrement tsSecond type unsetField week year zip";

/// Operators that are refused with a reason.
const REFUSED: [&str; 4] = ["accumulator", "function", "meta", "toHashedIndexKey"];

#[test]
fn every_operator_of_mongodb_is_known() {
    for name in MONGODB.split_whitespace() {
        let operator = format!("${name}");
        // Whatever the form of the operand, the error is never that the operator is not supported.
        for operand in ["{}", "[]", "1", r#""$a""#] {
            let found = value(&format!(r#"{{"{operator}":{operand}}}"#), "{}");
            assert!(!["error 168"].contains(&found.as_str()), "{operator}");
            assert!(name == "rand" || found != "error 238", "{operator}");
        }
        assert!(names::is_known(&operator), "{operator}");
    }
    for name in REFUSED {
        assert_eq!(value(&format!(r#"{{"${name}":{{}}}}"#), "{}"), "error 238", "{name}");
    }
}

#[test]
fn no_name_occurs_twice() {
    let mut all: Vec<&str> = operators::names().collect();
    all.sort_unstable();
    assert!(all.windows(2).all(|pair| pair[0] != pair[1]));
}

/// The number of calls that keep data derived from their constants.
fn kept(expression: &Expression) -> usize {
    let is_kept = |node: &Node| matches!(node, Node::Prepared(call) if call.prepared.is_some());
    match &expression.node {
        Node::Array(nodes) => nodes.iter().filter(|node| is_kept(node)).count(),
        node => usize::from(is_kept(node)),
    }
}

#[test]
fn constant_patterns_and_zones_are_kept() {
    for (text, expected) in [
        (r#"{"$regexMatch":{"input":"$a","regex":"x"}}"#, 1),
        (r#"{"$regexFind":{"input":"$a","regex":"x","options":"i"}}"#, 1),
        (r#"{"$regexFindAll":{"input":"$a","regex":{"$regularExpression":{"pattern":"x","options":"i"}}}}"#, 1),
        (r#"{"$regexMatch":{"input":"$a","regex":"$b"}}"#, 0),
        (r#"{"$regexMatch":{"input":"$a","regex":"x","options":"$b"}}"#, 0),
        (r#"{"$hour":{"date":"$a","timezone":"Europe/London"}}"#, 1),
        (r#"{"$hour":{"date":"$a","timezone":"$b"}}"#, 0),
        (r#"{"$hour":"$a"}"#, 0),
    ] {
        assert_eq!(kept(&Expression::parse(&parsed(text)).unwrap()), expected, "{text}");
    }
}

#[test]
fn patterns_that_are_kept_have_a_budget() {
    let all: Vec<String> = (0..60)
        .map(|n| format!(r#"{{"$regexMatch":{{"input":"$a","regex":"[\\pL\\d]{{{}}}"}}}}"#, 20 + n % 3))
        .collect();
    let expression = Expression::parse(&parsed(&format!("[{}]", all.join(",")))).unwrap();
    let kept = kept(&expression);
    assert!((1..60).contains(&kept), "{kept}");
    // A pattern that is not kept is compiled for each document.
    let fields = Map::from([("a", "x".repeat(21))]);
    let Ok(Some(Value::Array(found))) = expression.evaluate(&mut Scope::of_map(&fields)) else { unreachable!() };
    let expected: Vec<Value> = (0..60).map(|n| Value::Bool(n % 3 < 2)).collect();
    assert_eq!(found, expected);
}
