mod arguments;
mod conversions;
mod costs;
mod dates;
mod memory;
mod messages;
mod operators;
mod quantiles;
mod random;

use super::*;
use alluvium_document::json::{self, Format};
use alluvium_document::{Document, LEVELS_MAX, Map, Value};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

fn parsed(text: &str) -> Value {
    json::parse(text.as_bytes()).unwrap()
}

/// The value of an expression as JSON, `missing`, or the error's code.
fn value(expression: &str, document: &str) -> String {
    let expression = match Expression::parse(&parsed(expression)) {
        Ok(expression) => expression,
        Err(error) => return format!("error {}", error.code.number()),
    };
    let Value::Map(fields) = parsed(document) else { unreachable!() };
    let stored = Document::from_map(&fields).unwrap();
    let of_row = expression.evaluate(&mut Scope::of(&stored));
    let of_map = expression.evaluate(&mut Scope::of_map(&fields));
    assert_eq!(of_row, of_map);
    match of_row {
        Ok(Some(value)) => json::to_string(&value, Format::RELAXED).unwrap(),
        Ok(None) => "missing".to_owned(),
        Err(EvaluateError::Expression(error)) => format!("error {}", error.code.number()),
        Err(error) => panic!("{error}"),
    }
}

fn check(document: &str, cases: &[(&str, &str)]) {
    for (expression, expected) in cases {
        assert_eq!(value(expression, document), *expected, "{expression} of {document}");
    }
}

#[test]
fn literals_paths_and_variables() {
    check(
        r#"{"a":{"b":[{"c":1},{"c":2},5,[{"c":3}]],"n":null},"x":"$y","d":[1,[2,3]]}"#,
        &[
            ("5", "5"),
            (r#""text""#, r#""text""#),
            (r#""$a.b.c""#, "[1,2]"),
            (r#""$a.b.0""#, "[]"),
            (r#""$a.none""#, "missing"),
            (r#""$a.n""#, "null"),
            (r#""$x""#, r#""$y""#),
            (r#""$x.y""#, "missing"),
            (r#"["$a.n","$none",{"k":"$none","l":"$a.n"}]"#, r#"[null,null,{"l":null}]"#),
            (r#"{"$literal":"$a"}"#, r#""$a""#),
            (r#"{"$literal":{"$add":[1,2]}}"#, r#"{"$add":[1,2]}"#),
            (r#""$$ROOT.x""#, r#""$y""#),
            (r#""$$CURRENT.d""#, "[1,[2,3]]"),
            (r#""$$REMOVE""#, "missing"),
            (r#""$$unknown""#, "error 17276"),
            (r#""$$""#, "error 9"),
            (r#""$$$x""#, "error 9"),
            (r#""$$ROOT.""#, "error 40353"),
            (r#""$$NOW""#, "error 51144"),
            (r#""$$CLUSTER_TIME""#, "error 10071200"),
            (r#""$a.$id""#, "missing"),
            (r#""$""#, "error 16872"),
            (r#""$a..b""#, "error 15998"),
            (r#""$a.$b""#, "error 16410"),
            (r#"{"$add":[1],"b":2}"#, "error 15983"),
            (r#"{"a.b":1}"#, "error 16412"),
            (r#"{"$ad":[1]}"#, "error 168"),
            (r#"{"$function":{}}"#, "error 238"),
        ],
    );
}

#[test]
fn arithmetic() {
    check(
        r#"{"i":5,"l":{"$numberLong":"9223372036854775807"},"d":2.5,"m":{"$numberDecimal":"1.10"},"s":"x","n":null,"t":{"$date":"2024-01-01T00:00:00Z"}}"#,
        &[
            (r#"{"$add":["$i",1]}"#, "6"),
            (r#"{"$add":[2147483647,1]}"#, "2147483648"),
            (r#"{"$add":["$l",1]}"#, "9.223372036854776e+18"),
            (r#"{"$add":[0.1,0.2,0.3]}"#, "0.6000000000000001"),
            (r#"{"$add":[1.7e308,1.7e308,-1.7e308]}"#, r#"{"$numberDouble":"Infinity"}"#),
            (r#"{"$sum":[1.7e308,1.7e308]}"#, r#"{"$numberDouble":"Infinity"}"#),
            (r#"{"$sum":[{"$numberDecimal":"-0"}]}"#, r#"{"$numberDecimal":"0"}"#),
            (r#"{"$sum":[{"$numberDecimal":"9E+6144"},{"$numberDecimal":"-9E+6144"}]}"#, r#"{"$numberDecimal":"0"}"#),
            (r#"{"$add":["$i","$n"]}"#, "null"),
            (r#"{"$add":["$i","$s"]}"#, "error 14"),
            (r#"{"$add":["$t",1000]}"#, r#"{"$date":"2024-01-01T00:00:01Z"}"#),
            (r#"{"$add":["$t","$t"]}"#, "error 16612"),
            (r#"{"$add":[]}"#, "0"),
            (r#"{"$add":[0.1,{"$numberDecimal":"0.2"}]}"#, r#"{"$numberDecimal":"0.300000000000000"}"#),
            (r#"{"$subtract":["$t",1000]}"#, r#"{"$date":"2023-12-31T23:59:59Z"}"#),
            (r#"{"$subtract":["$t","$t"]}"#, "0"),
            (r#"{"$subtract":[1,"$s"]}"#, "error 14"),
            (r#"{"$subtract":[1]}"#, "error 16020"),
            (r#"{"$multiply":["$d",2]}"#, "5.0"),
            (r#"{"$multiply":["$m",2]}"#, r#"{"$numberDecimal":"2.20"}"#),
            (r#"{"$multiply":["$s"]}"#, "error 14"),
            (r#"{"$multiply":["$n","$s"]}"#, "null"),
            (r#"{"$divide":[7,2]}"#, "3.5"),
            (r#"{"$divide":[6,2]}"#, "3.0"),
            (r#"{"$divide":[1,0]}"#, "error 2"),
            (r#"{"$divide":["$none",0]}"#, "null"),
            (r#"{"$divide":["$s",1]}"#, "error 14"),
            (r#"{"$mod":[-7,3]}"#, "-1"),
            (r#"{"$mod":[7.5,2]}"#, "1.5"),
            (r#"{"$mod":[1,0]}"#, "error 16610"),
            (r#"{"$mod":["$m",0]}"#, "error 5733415"),
            (r#"{"$mod":[-0.0,3]}"#, "-0.0"),
            (r#"{"$mod":[{"$numberDecimal":"1E+6144"},3]}"#, r#"{"$numberDecimal":"1"}"#),
            (r#"{"$mod":[{"$numberDecimal":"7.5"},2]}"#, r#"{"$numberDecimal":"1.5"}"#),
            (r#"{"$abs":-5}"#, "5"),
            (r#"{"$abs":{"$numberLong":"-9223372036854775808"}}"#, "error 28680"),
            (r#"{"$ceil":2.1}"#, "3.0"),
            (r#"{"$floor":{"$numberDecimal":"-2.1"}}"#, r#"{"$numberDecimal":"-3"}"#),
            (r#"{"$round":2.5}"#, "2.0"),
            (r#"{"$round":[2.345,2]}"#, "2.35"),
            (r#"{"$round":[1250,-2]}"#, "1200"),
            (r#"{"$round":[19.25,1]}"#, "19.2"),
            (r#"{"$trunc":[-2.79,1]}"#, "-2.7"),
            (r#"{"$round":["$s",1]}"#, "error 51081"),
            (r#"{"$round":[1,101]}"#, "error 51083"),
            (r#"{"$round":[1,1.5]}"#, "error 51082"),
            (r#"{"$round":[1,"$s"]}"#, "error 16004"),
            (r#"{"$trunc":[1,{"$numberDouble":"NaN"}]}"#, "error 31109"),
            (r#"{"$trunc":["$m",4]}"#, r#"{"$numberDecimal":"1.1000"}"#),
            (r#"{"$ceil":{"$numberDecimal":"1E+40"}}"#, r#"{"$numberDecimal":"NaN"}"#),
            (r#"{"$bitAnd":[6,3]}"#, "2"),
            (r#"{"$bitXor":[6,{"$numberLong":"3"}]}"#, "5"),
            (r#"{"$bitNot":0}"#, "-1"),
            (r#"{"$bitOr":[1,1.5]}"#, "error 14"),
        ],
    );
}

#[test]
fn powers_and_logarithms() {
    check(
        r#"{"m":{"$numberDecimal":"1.10"}}"#,
        &[
            (r#"{"$sqrt":9}"#, "3.0"),
            (r#"{"$sqrt":-1}"#, "error 28714"),
            (r#"{"$pow":[2,10]}"#, "1024"),
            (r#"{"$pow":[2,-1]}"#, "0.5"),
            (r#"{"$pow":[0,-1]}"#, "error 28764"),
            (r#"{"$pow":[2,31]}"#, "2147483648"),
            (r#"{"$pow":[-1,-3]}"#, "-1"),
            (r#"{"$toString":{"$pow":["$m",2]}}"#, r#""1.210000000000000000000000000000000""#),
            (r#"{"$sqrt":{"$numberDecimal":"2"}}"#, "1.414213562373095048801688724209698"),
            (r#"{"$sigmoid":{"$numberDecimal":"-1"}}"#, "0.2689414213699951207488407581781638"),
            (r#"{"$toString":{"$sigmoid":{"$numberDecimal":"-Infinity"}}}"#, r#""0E-6176""#),
            (r#"{"$sigmoid":[0]}"#, "error 14"),
            (r#"{"$toString":{"$log":[{"$numberDecimal":"1000"},10]}}"#, r#""3.000000000000000000000000000000000""#),
            (r#"{"$ln":0}"#, "error 28766"),
            (r#"{"$log10":100}"#, "2.0"),
            (r#"{"$log":[8,2]}"#, "3.0"),
            (r#"{"$exp":0}"#, "1.0"),
            (r#"{"$sin":0}"#, "0.0"),
            (r#"{"$acos":2}"#, "error 50989"),
        ],
    );
}

#[test]
fn logic_and_comparison() {
    check(
        r#"{"a":1,"n":null,"s":"x","list":[3,1,2]}"#,
        &[
            (r#"{"$eq":["$a",1.0]}"#, "true"),
            (r#"{"$eq":["$none",null]}"#, "false"),
            (r#"{"$lt":["$none",null]}"#, "true"),
            (r#"{"$gt":["$s","$a"]}"#, "true"),
            (r#"{"$cmp":[1,2]}"#, "-1"),
            (r#"{"$and":["$a","$n"]}"#, "false"),
            (r#"{"$and":[]}"#, "true"),
            (r#"{"$or":["$n","$none"]}"#, "false"),
            (r#"{"$or":[1,{"$divide":[1,"$z"]}]}"#, "true"),
            // Constants are computed first, except constants in branches that are never evaluated.
            (r#"{"$or":[{"$divide":["$a",0]},true]}"#, "true"),
            (r#"{"$or":["$a",{"$divide":[1,0]}]}"#, "error 2"),
            (r#"{"$and":["$n",{"$divide":[1,0]}]}"#, "error 2"),
            (r#"{"$and":[1,"$a"]}"#, "true"),
            (r#"{"$ifNull":["$a",{"$divide":[1,0]}]}"#, "error 2"),
            (r#"{"$cond":[true,1,{"$divide":[1,0]}]}"#, "1"),
            (r#"{"$cond":["$a",1,{"$divide":[1,0]}]}"#, "error 2"),
            (r#"{"$not":["$n"]}"#, "true"),
            (r#"{"$cond":["$a","yes","no"]}"#, r#""yes""#),
            (r#"{"$cond":{"if":"$n","then":1,"else":"$$REMOVE"}}"#, "missing"),
            (r#"{"$cond":{"if":1,"then":1}}"#, "error 17082"),
            (r#"{"$cond":[1,2]}"#, "error 16020"),
            (r#"{"$ifNull":["$n","$none",7]}"#, "7"),
            (r#"{"$ifNull":["$n"]}"#, "error 1257300"),
            (r#"{"$switch":{"branches":[{"case":{"$gt":["$a",5]},"then":"big"}],"default":"small"}}"#, r#""small""#),
            (r#"{"$switch":{"branches":[{"case":"$n","then":1}]}}"#, "error 40066"),
            (r#"{"$switch":{"branches":[{"case":null,"then":1}]}}"#, "error 40069"),
            (
                r#"{"$switch":{"branches":[{"case":0,"then":{"$divide":[1,0]}},{"case":1,"then":"x"},{"case":{"$divide":[1,0]},"then":1}]}}"#,
                r#""x""#,
            ),
            (r#"{"$switch":{"branches":[{"case":1,"then":1}],"default":{"$divide":[1,0]}}}"#, "error 2"),
            (r#"{"$switch":{"branches":[]}}"#, "error 40068"),
            (r#"{"$let":{"vars":{"x":2,"y":"$a"},"in":{"$add":["$$x","$$y"]}}}"#, "3"),
            (r#"{"$let":{"vars":{"x":1},"in":{"$let":{"vars":{"x":2,"y":"$$x"},"in":["$$x","$$y"]}}}}"#, "[2,1]"),
            (r#"{"$let":{"vars":{"X":1},"in":1}}"#, "error 9"),
            (r#"{"$let":{"vars":1,"in":1}}"#, "error 10065"),
            (r#"{"$let":{"vars":[],"in":1}}"#, "error 9"),
            (r#"{"$map":{"input":[{"a":1}],"as":"CURRENT","in":"$a"}}"#, "[1]"),
            (r#"{"$map":{"input":[],"as":1,"in":1}}"#, "error 9"),
            (r#"{"$map":{"input":"$list","as":"e","in":{"$multiply":["$$e",2]}}}"#, "[6,2,4]"),
            (
                r#"{"$map":{"input":"$list","in":{"$map":{"input":[1],"as":"f","in":["$$this","$$f"]}}}}"#,
                "[[[3,1]],[[1,1]],[[2,1]]]",
            ),
            (r#"{"$map":{"input":"$n","in":1}}"#, "null"),
            (r#"{"$map":{"input":"$s","in":1}}"#, "error 16883"),
            (r#"{"$map":{"input":[],"inn":1}}"#, "error 16879"),
            (r#"{"$filter":{"input":"$list","cond":{"$gte":["$$this",2]}}}"#, "[3,2]"),
            (r#"{"$filter":{"input":"$list","as":"n","cond":true,"limit":2}}"#, "[3,1]"),
            (r#"{"$filter":{"input":"$list","cond":true,"limit":0}}"#, "error 327392"),
            (r#"{"$reduce":{"input":"$list","initialValue":0,"in":{"$add":["$$value","$$this"]}}}"#, "6"),
            (r#"{"$reduce":{"input":"$s","initialValue":0,"in":1}}"#, "error 40080"),
        ],
    );
}

#[test]
fn arrays() {
    check(
        r#"{"a":[1,2,3],"m":[{"x":2,"y":1},{"x":1}],"n":null,"s":"x"}"#,
        &[
            (r#"{"$arrayElemAt":["$a",-1]}"#, "3"),
            (r#"{"$arrayElemAt":["$a",9]}"#, "missing"),
            (r#"{"$arrayElemAt":["$s",0]}"#, "error 28689"),
            (r#"{"$first":"$a"}"#, "1"),
            (r#"{"$last":"$m.x"}"#, "1"),
            (r#"{"$firstN":{"input":"$a","n":2}}"#, "[1,2]"),
            (r#"{"$maxN":{"input":[1,null,5,3],"n":2}}"#, "[5,3]"),
            (r#"{"$lastN":{"input":"$a","n":0}}"#, "error 5787908"),
            (r#"{"$concatArrays":["$a",[9]]}"#, "[1,2,3,9]"),
            (r#"{"$concatArrays":["$a","$n"]}"#, "null"),
            (r#"{"$in":[2,"$a"]}"#, "true"),
            (r#"{"$in":[2,"$n"]}"#, "error 40081"),
            (r#"{"$indexOfArray":["$a",3]}"#, "2"),
            (r#"{"$indexOfArray":["$a",1,1]}"#, "-1"),
            (r#"{"$indexOfArray":["$a",1,1.5]}"#, "error 9711600"),
            (r#"{"$indexOfArray":["$a",1,-1]}"#, "error 9711601"),
            (r#"{"$isArray":"$a"}"#, "true"),
            (r#"{"$isArray":["$s"]}"#, "false"),
            (r#"{"$isArray":[1,2]}"#, "error 16020"),
            (r#"{"$first":[]}"#, "error 16020"),
            (r#"{"$size":"$a"}"#, "3"),
            (r#"{"$size":"$none"}"#, "error 17124"),
            (r#"{"$range":[0,10,4]}"#, "[0,4,8]"),
            (r#"{"$range":[3,0,-1]}"#, "[3,2,1]"),
            (r#"{"$range":[0,5,0]}"#, "error 34449"),
            (r#"{"$range":[0,2000000000]}"#, "error 146"),
            (r#"{"$reverseArray":"$a"}"#, "[3,2,1]"),
            (r#"{"$slice":["$a",-2]}"#, "[2,3]"),
            (r#"{"$slice":["$a",1,1]}"#, "[2]"),
            (r#"{"$slice":["$a",-5,2]}"#, "[1,2]"),
            (r#"{"$slice":["$a",0,0]}"#, "error 28729"),
            (r#"{"$sortArray":{"input":"$m","sortBy":{"x":1}}}"#, r#"[{"x":1},{"x":2,"y":1}]"#),
            (r#"{"$sortArray":{"input":[2,"b",1],"sortBy":-1}}"#, r#"["b",2,1]"#),
            (
                r#"{"$sortArray":{"input":{"$literal":[{"$r":1},{"p":{"q":[2]}},{"p":{"q":[3,1]}}]},"sortBy":{"p.q":-1,"$r":1}}}"#,
                r#"[{"p":{"q":[3,1]}},{"p":{"q":[2]}},{"$r":1}]"#,
            ),
            (r#"{"$sortArray":{"input":"$a","sortBy":2}}"#, "error 2942506"),
            (r#"{"$sortArray":{"input":"$a","sortBy":"$s"}}"#, "error 2942507"),
            (r#"{"$sortArray":{"input":"$a","sortBy":{"x":"up"}}}"#, "error 2942505"),
            (r#"{"$sortArray":{"input":"$a","sortBy":{}}}"#, "error 2942505"),
            (r#"{"$zip":{"inputs":["$a",["p","q"]]}}"#, r#"[[1,"p"],[2,"q"]]"#),
            (
                r#"{"$zip":{"inputs":["$a",["p"]],"useLongestLength":true,"defaults":[0,"-"]}}"#,
                r#"[[1,"p"],[2,"-"],[3,"-"]]"#,
            ),
            (r#"{"$sum":"$a"}"#, "6"),
            (r#"{"$sum":["$a",4]}"#, "4"),
            (r#"{"$avg":"$a"}"#, "2.0"),
            (r#"{"$avg":["$s"]}"#, "null"),
            (r#"{"$max":["$a"]}"#, "3"),
            (r#"{"$min":[3,null,1]}"#, "1"),
            (r#"{"$stdDevPop":[1,3]}"#, "1.0"),
            (r#"{"$stdDevSamp":[1]}"#, "null"),
        ],
    );
}

#[test]
fn sets() {
    check(
        r#"{"a":[1,2,3],"n":null,"s":"x"}"#,
        &[
            (r#"{"$setUnion":["$a",[3,4]]}"#, "[1,2,3,4]"),
            (r#"{"$setIntersection":["$a",[3,2,2]]}"#, "[2,3]"),
            (r#"{"$setDifference":[[3,1,1,2],[2]]}"#, "[3,1]"),
            (r#"{"$setEquals":[[1,2,2],[2,1]]}"#, "true"),
            (r#"{"$setEquals":["$a"]}"#, "error 17045"),
            (r#"{"$setEquals":["$a","$n"]}"#, "error 17044"),
            (r#"{"$setEquals":["$a",null]}"#, "error 5887502"),
            (r#"{"$setUnion":["$n",1]}"#, "null"),
            (r#"{"$setUnion":["$s","$n"]}"#, "error 17043"),
            (r#"{"$setUnion":[1,"$n"]}"#, "null"),
            (r#"{"$setDifference":[[3,1,2,1,3],[2]]}"#, "[3,1]"),
            (r#"{"$setIsSubset":[[1],"$a"]}"#, "true"),
            (r#"{"$allElementsTrue":[[1,"",null]]}"#, "false"),
            (r#"{"$anyElementTrue":[[0,null]]}"#, "false"),
        ],
    );
}

#[test]
fn maps_and_conversions() {
    check(
        r#"{"m":{"a":1,"b":2},"n":null,"t":{"$date":"2024-05-01T12:30:00Z"},"o":{"$oid":"65920080ffffffffffffffff"}}"#,
        &[
            (r#"{"$objectToArray":"$m"}"#, r#"[{"k":"a","v":1},{"k":"b","v":2}]"#),
            (r#"{"$arrayToObject":[[["a",1],["a",2]]]}"#, r#"{"a":2}"#),
            (r#"{"$arrayToObject":{"$objectToArray":"$m"}}"#, r#"{"a":1,"b":2}"#),
            (r#"{"$arrayToObject":[[["a"]]]}"#, "error 40397"),
            (r#"{"$arrayToObject":[[["a",1],{"k":"b","v":1}]]}"#, "error 40396"),
            (r#"{"$mergeObjects":[["$m",{"b":3}]]}"#, r#"{"a":1,"b":3}"#),
            (r#"{"$mergeObjects":["$m",{"b":3,"c":4},"$n"]}"#, r#"{"a":1,"b":3,"c":4}"#),
            (r#"{"$mergeObjects":["$m",1]}"#, "error 40400"),
            (r#"{"$getField":{"field":"a","input":"$m"}}"#, "1"),
            (r#"{"$getField":"m"}"#, r#"{"a":1,"b":2}"#),
            (r#"{"$getField":{"field":"m"}}"#, "error 3041703"),
            (r#"{"$getField":{}}"#, "error 3041702"),
            (r#"{"$getField":{"field":"m","in":1}}"#, "error 3041701"),
            (r#"{"$setField":{"field":"$m","input":{},"value":1}}"#, "error 4161108"),
            (r#"{"$setField":{"field":{"$concat":["a"]},"input":{},"value":1}}"#, "error 4161106"),
            (r#"{"$setField":{"field":1,"input":{},"value":1}}"#, "error 4161107"),
            (r#"{"$unsetField":{"field":{"$literal":"a\u0000"},"input":{}}}"#, "error 9534700"),
            (r#"{"$setField":{"field":"c.d","input":"$m","value":1}}"#, r#"{"a":1,"b":2,"c.d":1}"#),
            (r#"{"$unsetField":{"field":"a","input":"$m"}}"#, r#"{"b":2}"#),
            (r#"{"$type":"$none"}"#, r#""missing""#),
            (r#"{"$type":"$m"}"#, r#""object""#),
            (r#"{"$toInt":"12"}"#, "12"),
            (r#"{"$toInt":2.9}"#, "2"),
            (r#"{"$toInt":3000000000}"#, "error 241"),
            (r#"{"$toLong":"$t"}"#, "1714566600000"),
            (r#"{"$toDouble":"2.5"}"#, "2.5"),
            (r#"{"$toBool":"false"}"#, "true"),
            (r#"{"$toString":2.50}"#, r#""2.5""#),
            (r#"{"$toString":1e21}"#, r#""1e+21""#),
            (r#"{"$toString":"$t"}"#, r#""2024-05-01T12:30:00.000Z""#),
            (r#"{"$toDate":"$o"}"#, r#"{"$date":"2024-01-01T00:00:00Z"}"#),
            // The seconds of an object id are a signed number.
            (r#"{"$toDate":{"$oid":"800000000000000000000000"}}"#, r#"{"$date":{"$numberLong":"-2147483648000"}}"#),
            (r#"{"$toDate":"jan 31 12:05:28 +03:30 1996"}"#, r#"{"$date":"1996-01-31T08:35:28Z"}"#),
            (r#"{"$toInt":[1,2]}"#, "error 50723"),
            (r#"{"$toDecimal":"1E-7000"}"#, "error 241"),
            (r#"{"$toDecimal":"1.23456789012345678901234567890123456"}"#, "1.234567890123456789012345678901235"),
            (r#"{"$toDate":"2024-01-01"}"#, r#"{"$date":"2024-01-01T00:00:00Z"}"#),
            (r#"{"$toObjectId":"xyz"}"#, "error 241"),
            (r#"{"$convert":{"input":"x","to":"int","onError":-1}}"#, "-1"),
            (r#"{"$convert":{"input":"$n","to":"int","onNull":0}}"#, "0"),
            (r#"{"$convert":{"input":"7","to":16}}"#, "7"),
            (r#"{"$convert":{"input":1,"to":"nothing"}}"#, "error 2"),
            (r#"{"$bsonSize":"$m"}"#, "19"),
            (r#"{"$isNumber":1}"#, "true"),
        ],
    );
}

#[test]
fn text() {
    check(
        r#"{"s":"Grüße, Welt","n":null}"#,
        &[
            (r#"{"$concat":["a","$s"]}"#, r#""aGrüße, Welt""#),
            (r#"{"$concat":["a","$n"]}"#, "null"),
            (r#"{"$concat":["a",1]}"#, "error 16702"),
            (r#"{"$strLenCP":"$s"}"#, "11"),
            (r#"{"$strLenBytes":"$s"}"#, "13"),
            (r#"{"$strLenCP":"$n"}"#, "error 34471"),
            (r#"{"$toUpper":"aé1"}"#, r#""Aé1""#),
            (r#"{"$toLower":"$n"}"#, r#""""#),
            (r#"{"$toUpper":1234567.5}"#, r#""1.23457E+06""#),
            (r#"{"$toUpper":{"$timestamp":{"t":1704067200,"i":7}}}"#, r#""JAN  1 00:00:00:7""#),
            (r#"{"$toUpper":{"$code":"x"}}"#, r#""X""#),
            (r#"{"$strcasecmp":["a","B"]}"#, "-1"),
            (r#"{"$indexOfCP":["$s","e"]}"#, "4"),
            (r#"{"$indexOfBytes":["$s","e"]}"#, "6"),
            (r#"{"$indexOfCP":["$s","z"]}"#, "-1"),
            (r#"{"$split":["a-b--c","-"]}"#, r#"["a","b","","c"]"#),
            (r#"{"$split":["a",""]}"#, "error 40087"),
            (r#"{"$split":["a",1]}"#, "error 10503900"),
            (r#"{"$substrCP":["$s",2,3]}"#, r#""üße""#),
            (r#"{"$substrBytes":["$s",2,2]}"#, r#""ü""#),
            (r#"{"$substrBytes":["$s",3,2]}"#, "error 28656"),
            (r#"{"$substrBytes":["abc",1,-1]}"#, r#""bc""#),
            (r#"{"$substrBytes":["abc",-0.5,-0.5]}"#, r#""""#),
            (r#"{"$substrBytes":["abcd",{"$numberDecimal":"1.5"},{"$numberDecimal":"0.5"}]}"#, r#""""#),
            (r#"{"$substrBytes":["abcd",{"$numberDecimal":"1.5"},{"$numberDecimal":"NaN"}]}"#, r#""cd""#),
            (r#"{"$substrBytes":["abc",1e20,1]}"#, "error 31109"),
            (r#"{"$substrBytes":["abc",{"$numberDecimal":"Infinity"},1]}"#, "error 50752"),
            (r#"{"$trim":{"input":"  x "}}"#, r#""x""#),
            (r#"{"$ltrim":{"input":"xxaxx","chars":"x"}}"#, r#""axx""#),
            (r#"{"$trim":{"input":1}}"#, "error 50699"),
            (r#"{"$replaceAll":{"input":"aXbX","find":"X","replacement":"-"}}"#, r#""a-b-""#),
            (r#"{"$replaceOne":{"input":"aXbX","find":"X","replacement":"-"}}"#, r#""a-bX""#),
            (r#"{"$replaceOne":{"input":"$n","find":"X","replacement":"-"}}"#, "null"),
            (r#"{"$replaceOne":{"input":1,"find":"X","replacement":"-"}}"#, "error 10503904"),
            (r#"{"$replaceAll":{"input":"$n","find":1,"replacement":"-"}}"#, "error 10503901"),
            (r#"{"$replaceAll":{"input":"$n","find":"X","replacement":1}}"#, "error 10503902"),
            (r#"{"$regexMatch":{"input":"$s","regex":"welt","options":"i"}}"#, "true"),
            (r#"{"$regexFind":{"input":"$s","regex":"(ü)(x)?"}}"#, r#"{"match":"ü","idx":2,"captures":["ü",null]}"#),
            (
                r#"{"$regexFindAll":{"input":"a1b22","regex":"\\d+"}}"#,
                r#"[{"match":"1","idx":1,"captures":[]},{"match":"22","idx":3,"captures":[]}]"#,
            ),
            (r#"{"$regexFind":{"input":"aabab","regex":"a.*?b"}}"#, r#"{"match":"aab","idx":0,"captures":[]}"#),
            (r#"{"$regexMatch":{"input":"x","regex":"("}}"#, "error 51111"),
            (r#"{"$regexMatch":{"input":"$n","regex":"("}}"#, "error 51111"),
            (r#"{"$regexMatch":{"input":"x","regex":"a\u0000"}}"#, "error 51109"),
            (r#"{"$regexMatch":{"input":"x","regex":"a","options":"\u0000"}}"#, "error 51110"),
            (r#"{"$regexMatch":{"input":"x","regex":null,"options":1}}"#, "error 51106"),
            (r#"{"$regexMatch":{"input":1,"regex":"x"}}"#, "error 51104"),
        ],
    );
}

#[test]
fn what_does_not_depend_on_the_document_is_computed_once() {
    let constant = Expression::parse(&parsed(r#"{"$add":[1,{"$multiply":[2,3]}]}"#)).unwrap();
    assert_eq!(constant.as_constant(), Some(&Value::Int32(7)));
    let path = Expression::parse(&parsed(r#""$a.b""#)).unwrap();
    assert_eq!(path.as_path().unwrap().as_str(), "a.b");
    let several = Expression::parse(&parsed(r#"{"$add":["$a","$b.c",1]}"#)).unwrap();
    let paths: Vec<&str> = several.paths().unwrap().into_iter().map(|path| path.as_str()).collect();
    assert_eq!(paths, ["a", "b.c"]);
    assert!(Expression::parse(&parsed(r#""$$ROOT""#)).unwrap().paths().is_none());
}

#[test]
fn variables_of_the_query_have_values() {
    let low = Variables::NONE.unknown("low");
    let expression = Expression::parse_in(&parsed(r#"{"$gte":["$a","$$low"]}"#), &low).unwrap();
    let fields = Map::from([("a", 5)]);
    let mut scope = Scope::of_map(&fields).with_variables(vec![Some(Value::Int32(5))]);
    assert_eq!(expression.evaluate(&mut scope).unwrap(), Some(Value::Bool(true)));
}

#[test]
fn texts_have_less_than_16_mib() {
    let most = "a".repeat(TEXT_BYTES_MAX);
    let text = |bytes: usize| most[..bytes].to_owned();
    let eval = |expression: Value, document: &Map| match Expression::parse(&expression) {
        Err(error) => error.code.number(),
        Ok(expression) => match expression.evaluate(&mut Scope::of_map(document)) {
            Ok(_) => 0,
            Err(EvaluateError::Expression(error)) => error.code.number(),
            Err(error) => panic!("{error}"),
        },
    };
    let of = |operator: &str, operand: Value| Value::Map(Map::from([(operator, operand)]));
    let document = Map::from([("s", text(8 << 20)), ("t", text((8 << 20) - 1))]);
    let paths = |names: &[&str]| Value::Array(names.iter().map(|name| Value::from(*name)).collect());
    assert_eq!(eval(Value::from(most.clone()), &document), 0);
    assert_eq!(eval(Value::from(format!("{most}a")), &document), 16493);
    assert_eq!(eval(of("$literal", Value::from(format!("{most}a"))), &document), 16493);
    assert_eq!(eval(of("$concat", paths(&["$s", "$t"])), &document), 0);
    assert_eq!(eval(of("$concat", paths(&["$s", "$s"])), &document), 16493);
    let replace = |replacement: &str| {
        let arguments = [("input", "$s"), ("find", "a"), ("replacement", replacement)];
        of("$replaceAll", Value::Map(Map::from(arguments.map(|(name, value)| (name, Value::from(value))))))
    };
    assert_eq!(eval(replace("b"), &document), 0);
    assert_eq!(eval(replace("$s"), &document), 16493);
    let split = Value::Array(vec![Value::from("$s"), Value::from("a")]);
    assert_eq!(eval(of("$split", split), &document), 10334);
}

#[test]
fn matches_are_found_in_linear_time() {
    // The text has far more matches than fit a document. The search ends at the limit.
    let all = r#"{"$regexFindAll":{"input":"$s","regex":"a"}}"#;
    let fields = Map::from([("s", "a".repeat(8 << 20))]);
    let found = Expression::parse(&parsed(all)).unwrap().evaluate(&mut Scope::of_map(&fields));
    assert!(matches!(found, Err(EvaluateError::Expression(error)) if error.code == 10334));
    // The positions in characters are counted once. Counting them again for each match would take minutes.
    let fields = Map::from([("s", "éa".repeat(100_000) + &"-".repeat(8 << 20))]);
    let Some(Value::Array(matches)) =
        Expression::parse(&parsed(all)).unwrap().evaluate(&mut Scope::of_map(&fields)).unwrap()
    else {
        panic!("no array")
    };
    let last = matches.last().and_then(Value::as_map).and_then(|last| last.get("idx"));
    assert_eq!((matches.len(), last), (100_000, Some(&Value::Int32(199_999))));
}

#[test]
fn loops_are_interrupted() {
    let stops = Arc::new(AtomicUsize::new(0));
    let calls = stops.clone();
    let interrupt = Interrupt::new(move || match calls.fetch_add(1, Ordering::Relaxed) {
        0..10 => Ok(()),
        _ => Err(Interruption { code: crate::ErrorCode::Interrupted, message: "stopped".to_owned() }),
    });
    let variables = Variables::NONE.interrupted_by(interrupt);
    let range = r#"{"$range":[0,900000]}"#;
    for expression in [
        format!(r#"{{"$map":{{"input":{range},"in":{{"$map":{{"input":{range},"in":1}}}}}}}}"#),
        format!(r#"{{"$filter":{{"input":{range},"cond":{{"$filter":{{"input":{range},"cond":0}}}}}}}}"#),
        format!(r#"{{"$reduce":{{"input":{range},"initialValue":0,"in":{{"$size":{range}}}}}}}"#),
    ] {
        stops.store(0, Ordering::Relaxed);
        let parsed = Expression::parse_in(&parsed(&expression), &variables).unwrap();
        let result = parsed.evaluate(&mut Scope::of_map(&Map::new()));
        assert!(matches!(result, Err(EvaluateError::Expression(error)) if error.code == 11601), "{expression}");
    }
}

#[test]
fn growth_without_end_is_refused() {
    let doubled =
        r#"{"$reduce":{"input":{"$range":[0,40]},"initialValue":"x","in":{"$concat":["$$value","$$value"]}}}"#;
    assert_eq!(value(doubled, "{}"), "error 16493");
    // Each array is within the limit, but all together exceed it. They are not computed during parsing, and evaluation
    // stops at the limit before all of them are made.
    let ranges = vec![r#"{"$range":[0,900000]}"#; 30].join(",");
    for many in [
        format!("[{ranges}]"),
        format!(r#"{{"$size":[[{ranges}]]}}"#),
        format!(r#"{{"$concatArrays":[{ranges}]}}"#),
        format!(
            r#"{{"$let":{{"vars":{{{}}},"in":1}}}}"#,
            (0..30).map(|n| format!(r#""v{n}":{{"$range":[0,900000]}}"#)).collect::<Vec<_>>().join(",")
        ),
    ] {
        assert_eq!(value(&many, "{}"), "error 10334", "{}", &many[..40]);
    }
    let nested = |levels: usize| {
        format!(r#"{{"$reduce":{{"input":{{"$range":[0,{levels}]}},"initialValue":1,"in":["$$value"]}}}}"#)
    };
    assert_eq!(value(&nested(LEVELS_MAX), "{}"), format!("{}1{}", "[".repeat(LEVELS_MAX), "]".repeat(LEVELS_MAX)));
    assert_eq!(value(&nested(LEVELS_MAX + 1), "{}"), "error 15");
}
