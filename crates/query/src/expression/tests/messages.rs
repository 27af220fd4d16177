//! The error messages that programs search for are the same as MongoDB's.

use super::{Map, parsed};
use crate::expression::{Expression, Scope};

/// The error message of an expression that is evaluated without a document.
fn message(expression: &str) -> String {
    match Expression::parse(&parsed(expression)) {
        Ok(expression) => match expression.evaluate(&mut Scope::of_map(&Map::new())) {
            Ok(value) => format!("no error: {value:?}"),
            Err(error) => error.to_string(),
        },
        Err(error) => error.to_string(),
    }
}

/// The texts are from MongoDB's manual, `$convert` and `$toInt` (8.0), and from answers of servers 4.0 to 8.0 that
/// public reports of client libraries quote.
#[test]
fn conversions() {
    let end = "in $convert with no onError value";
    for (expression, expected) in [
        (r#"{"$toInt":"12x"}"#, format!("Failed to parse number '12x' {end}: Did not consume whole string.")),
        (r#"{"$toInt":"abc"}"#, format!("Failed to parse number 'abc' {end}: Did not consume any digits")),
        (r#"{"$toInt":"3000000000"}"#, format!("Failed to parse number '3000000000' {end}: Overflow")),
        (
            r#"{"$toLong":"99999999999999999999"}"#,
            format!("Failed to parse number '99999999999999999999' {end}: Overflow"),
        ),
        (r#"{"$toDouble":"12,50"}"#, format!("Failed to parse number '12,50' {end}: Did not consume whole string.")),
        (r#"{"$toDouble":""}"#, format!("Failed to parse number '' {end}: Empty string")),
        (r#"{"$toDecimal":"x"}"#, format!("Failed to parse number 'x' {end}: Failed to parse string to decimal")),
        (r#"{"$toInt":{"$literal":{}}}"#, format!("Unsupported conversion from object to int {end}")),
        (r#"{"$toString":[[1]]}"#, format!("Unsupported conversion from array to string {end}")),
        (r#"{"$toInt":1e10}"#, format!("Conversion would overflow target type {end}: 10000000000")),
        (r#"{"$toLong":1e300}"#, format!("Conversion would overflow target type {end}: ")),
        (
            r#"{"$toLong":{"$literal":{"$numberDouble":"NaN"}}}"#,
            format!("Attempt to convert NaN value to integer type {end}"),
        ),
        (
            r#"{"$toInt":{"$literal":{"$numberDecimal":"-Infinity"}}}"#,
            format!("Attempt to convert infinity value to integer type {end}"),
        ),
        (
            r#"{"$toObjectId":"system"}"#,
            format!(
                "Failed to parse objectId 'system' {end}: Invalid string length for parsing to OID, expected 24 but found 6"
            ),
        ),
        (
            r#"{"$toObjectId":"0123456789abcdef0123456z"}"#,
            format!(
                "Failed to parse objectId '0123456789abcdef0123456z' {end}: Invalid character found in hex string: z"
            ),
        ),
    ] {
        let message = message(expression);
        assert!(message.contains(&expected), "{expression}: {message}, not {expected}");
    }
}

/// The texts of MongoDB 8.0 for arguments of wrong types.
#[test]
fn arguments() {
    for (expression, expected) in [
        (r#"{"$substrCP":["abc","x",1]}"#, "$substrCP: starting index must be a numeric type (is BSON type string)"),
        (
            r#"{"$substrCP":["abc",1.5,1]}"#,
            "$substrCP: starting index cannot be represented as a 32-bit integral value: 1.5",
        ),
        (r#"{"$substrCP":["abc",0,-1]}"#, "$substrCP: length must be a nonnegative integer."),
        (r#"{"$substrCP":["abc",-1,1]}"#, "$substrCP: the starting index must be nonnegative integer."),
        (r#"{"$range":["a",1]}"#, "$range requires a numeric starting value, found value of type:string"),
        (
            r#"{"$range":[0,1.5]}"#,
            "$range requires an ending value that can be represented as a 32-bit integer, found value: 1.5",
        ),
        (r#"{"$range":[0,1,0]}"#, "$range requires a non-zero step value"),
        (r#"{"$regexMatch":{"input":1,"regex":"a"}}"#, "$regexMatch needs 'input' to be of type string"),
        (r#"{"$regexFind":{"input":"a","regex":1}}"#, "$regexFind needs 'regex' to be of type string or regex"),
        (
            r#"{"$regexMatch":{"input":"a","regex":"a","options":1}}"#,
            "$regexMatch needs 'options' to be of type string",
        ),
        (
            r#"{"$regexMatch":{"input":"a","regex":{"$regularExpression":{"pattern":"a","options":"i"}},"options":"i"}}"#,
            "$regexMatch: found regex option(s) specified in both 'regex' and 'option' fields",
        ),
    ] {
        let message = message(expression);
        assert!(message.contains(expected), "{expression}: {message}, not {expected}");
    }
}
