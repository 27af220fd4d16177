mod arguments;
mod conversions;
mod dates;
mod operators;
mod quantiles;
mod random;

use super::*;
use alluvium_document::json::{self, Format};
use alluvium_document::{Document, Map, Value};

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
            (r#"{"$add":[0.1,0.2,0.3]}"#, "0.6"),
            (r#"{"$add":["$i","$n"]}"#, "null"),
            (r#"{"$add":["$i","$s"]}"#, "error 16554"),
            (r#"{"$add":["$t",1000]}"#, r#"{"$date":"2024-01-01T00:00:01Z"}"#),
            (r#"{"$add":["$t","$t"]}"#, "error 16612"),
            (r#"{"$add":[]}"#, "0"),
            (r#"{"$add":[0.1,{"$numberDecimal":"0.2"}]}"#, "0.3000000000000000055511151231257827"),
            (r#"{"$subtract":["$t",1000]}"#, r#"{"$date":"2023-12-31T23:59:59Z"}"#),
            (r#"{"$subtract":["$t","$t"]}"#, "0"),
            (r#"{"$subtract":[1,"$s"]}"#, "error 16556"),
            (r#"{"$subtract":[1]}"#, "error 16020"),
            (r#"{"$multiply":["$d",2]}"#, "5.0"),
            (r#"{"$multiply":["$m",2]}"#, r#"{"$numberDecimal":"2.20"}"#),
            (r#"{"$multiply":["$s"]}"#, "error 16555"),
            (r#"{"$divide":[7,2]}"#, "3.5"),
            (r#"{"$divide":[6,2]}"#, "3.0"),
            (r#"{"$divide":[1,0]}"#, "error 2"),
            (r#"{"$divide":["$none",0]}"#, "null"),
            (r#"{"$divide":["$s",1]}"#, "error 16609"),
            (r#"{"$mod":[-7,3]}"#, "-1"),
            (r#"{"$mod":[7.5,2]}"#, "1.5"),
            (r#"{"$mod":[1,0]}"#, "error 16610"),
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
            (r#"{"$sqrt":9}"#, "3.0"),
            (r#"{"$sqrt":-1}"#, "error 28714"),
            (r#"{"$pow":[2,10]}"#, "1024"),
            (r#"{"$pow":[2,-1]}"#, "0.5"),
            (r#"{"$pow":[0,-1]}"#, "error 28764"),
            (r#"{"$pow":[2,31]}"#, "2147483648"),
            (r#"{"$ln":0}"#, "error 28766"),
            (r#"{"$log10":100}"#, "2.0"),
            (r#"{"$log":[8,2]}"#, "3.0"),
            (r#"{"$exp":0}"#, "1.0"),
            (r#"{"$sin":0}"#, "0.0"),
            (r#"{"$acos":2}"#, "error 50989"),
            (r#"{"$bitAnd":[6,3]}"#, "2"),
            (r#"{"$bitXor":[6,{"$numberLong":"3"}]}"#, "5"),
            (r#"{"$bitNot":0}"#, "-1"),
            (r#"{"$bitOr":[1,1.5]}"#, "error 14"),
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
            (r#"{"$or":[1,{"$divide":[1,0]}]}"#, "true"),
            (r#"{"$not":["$n"]}"#, "true"),
            (r#"{"$cond":["$a","yes","no"]}"#, r#""yes""#),
            (r#"{"$cond":{"if":"$n","then":1,"else":"$$REMOVE"}}"#, "missing"),
            (r#"{"$cond":{"if":1,"then":1}}"#, "error 17082"),
            (r#"{"$cond":[1,2]}"#, "error 16020"),
            (r#"{"$ifNull":["$n","$none",7]}"#, "7"),
            (r#"{"$ifNull":["$n"]}"#, "error 1257300"),
            (r#"{"$switch":{"branches":[{"case":{"$gt":["$a",5]},"then":"big"}],"default":"small"}}"#, r#""small""#),
            (r#"{"$switch":{"branches":[{"case":"$n","then":1}]}}"#, "error 40066"),
            (r#"{"$switch":{"branches":[]}}"#, "error 40068"),
            (r#"{"$let":{"vars":{"x":2,"y":"$a"},"in":{"$add":["$$x","$$y"]}}}"#, "3"),
            (r#"{"$let":{"vars":{"x":1},"in":{"$let":{"vars":{"x":2,"y":"$$x"},"in":["$$x","$$y"]}}}}"#, "[2,1]"),
            (r#"{"$let":{"vars":{"X":1},"in":1}}"#, "error 16867"),
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
fn arrays_and_sets() {
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
            (r#"{"$isArray":"$a"}"#, "true"),
            (r#"{"$isArray":["$s"]}"#, "false"),
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
            (r#"{"$zip":{"inputs":["$a",["p","q"]]}}"#, r#"[[1,"p"],[2,"q"]]"#),
            (
                r#"{"$zip":{"inputs":["$a",["p"]],"useLongestLength":true,"defaults":[0,"-"]}}"#,
                r#"[[1,"p"],[2,"-"],[3,"-"]]"#,
            ),
            (r#"{"$setUnion":["$a",[3,4]]}"#, "[1,2,3,4]"),
            (r#"{"$setIntersection":["$a",[3,2,2]]}"#, "[2,3]"),
            (r#"{"$setDifference":[[3,1,1,2],[2]]}"#, "[3,1]"),
            (r#"{"$setEquals":[[1,2,2],[2,1]]}"#, "true"),
            (r#"{"$setIsSubset":[[1],"$a"]}"#, "true"),
            (r#"{"$allElementsTrue":[[1,"",null]]}"#, "false"),
            (r#"{"$anyElementTrue":[[0,null]]}"#, "false"),
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
fn maps_and_conversions() {
    check(
        r#"{"m":{"a":1,"b":2},"n":null,"t":{"$date":"2024-05-01T12:30:00Z"},"o":{"$oid":"65920080ffffffffffffffff"}}"#,
        &[
            (r#"{"$objectToArray":"$m"}"#, r#"[{"k":"a","v":1},{"k":"b","v":2}]"#),
            (r#"{"$arrayToObject":[[["a",1],["a",2]]]}"#, r#"{"a":2}"#),
            (r#"{"$arrayToObject":{"$objectToArray":"$m"}}"#, r#"{"a":1,"b":2}"#),
            (r#"{"$arrayToObject":[[["a"]]]}"#, "error 40397"),
            (r#"{"$mergeObjects":["$m",{"b":3,"c":4},"$n"]}"#, r#"{"a":1,"b":3,"c":4}"#),
            (r#"{"$mergeObjects":["$m",1]}"#, "error 40400"),
            (r#"{"$getField":{"field":"a","input":"$m"}}"#, "1"),
            (r#"{"$getField":"m"}"#, r#"{"a":1,"b":2}"#),
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
            (r#"{"$strcasecmp":["a","B"]}"#, "-1"),
            (r#"{"$indexOfCP":["$s","e"]}"#, "4"),
            (r#"{"$indexOfBytes":["$s","e"]}"#, "6"),
            (r#"{"$indexOfCP":["$s","z"]}"#, "-1"),
            (r#"{"$split":["a-b--c","-"]}"#, r#"["a","b","","c"]"#),
            (r#"{"$split":["a",""]}"#, "error 40087"),
            (r#"{"$substrCP":["$s",2,3]}"#, r#""üße""#),
            (r#"{"$substrBytes":["$s",2,2]}"#, r#""ü""#),
            (r#"{"$substrBytes":["$s",3,2]}"#, "error 28656"),
            (r#"{"$substrBytes":["abc",1,-1]}"#, r#""bc""#),
            (r#"{"$trim":{"input":"  x "}}"#, r#""x""#),
            (r#"{"$ltrim":{"input":"xxaxx","chars":"x"}}"#, r#""axx""#),
            (r#"{"$trim":{"input":1}}"#, "error 50699"),
            (r#"{"$replaceAll":{"input":"aXbX","find":"X","replacement":"-"}}"#, r#""a-b-""#),
            (r#"{"$replaceOne":{"input":"aXbX","find":"X","replacement":"-"}}"#, r#""a-bX""#),
            (r#"{"$replaceOne":{"input":"$n","find":"X","replacement":"-"}}"#, "null"),
            (r#"{"$regexMatch":{"input":"$s","regex":"welt","options":"i"}}"#, "true"),
            (r#"{"$regexFind":{"input":"$s","regex":"(ü)(x)?"}}"#, r#"{"match":"ü","idx":2,"captures":["ü",null]}"#),
            (
                r#"{"$regexFindAll":{"input":"a1b22","regex":"\\d+"}}"#,
                r#"[{"match":"1","idx":1,"captures":[]},{"match":"22","idx":3,"captures":[]}]"#,
            ),
            (r#"{"$regexMatch":{"input":"x","regex":"("}}"#, "error 51091"),
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
fn growth_without_end_is_refused() {
    let doubled =
        r#"{"$reduce":{"input":{"$range":[0,40]},"initialValue":"x","in":{"$concat":["$$value","$$value"]}}}"#;
    assert_eq!(value(doubled, "{}"), "error 10334");
    // Each is within the limit, and all together are not: they are not computed when they are parsed,
    // and not all made before the limit is noticed.
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
    let nested = r#"{"$reduce":{"input":{"$range":[0,200]},"initialValue":1,"in":["$$value"]}}"#;
    assert_eq!(value(nested, "{}"), "error 15");
}
