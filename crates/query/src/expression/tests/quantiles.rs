//! `$median` and `$percentile`.

use super::{check, value};

const DOCUMENT: &str = r#"{"a":[30,10,20,50,40],"m":[1,"x",null,2.5,{"$numberDecimal":"4"},[9]],"i":7,"n":null,"s":"x",
    "e":[],"t":["x",null],"p":[0.5]}"#;

#[test]
fn values_at_a_place_of_the_sorted_numbers() {
    let median = |input: &str| value(&format!(r#"{{"$median":{{"input":{input},"method":"approximate"}}}}"#), DOCUMENT);
    assert_eq!(median(r#""$a""#), "30.0");
    assert_eq!(median(r#"[1,2,3,4]"#), "2.0");
    assert_eq!(median(r#"["$i",1,{"$add":["$i",1]}]"#), "7.0");
    // Values that are not numbers are left out.
    assert_eq!(median(r#""$m""#), "2.5");
    assert_eq!(median(r#""$i""#), "7.0");
    for nothing in [r#""$n""#, r#""$none""#, r#""$s""#, r#""$e""#, r#""$t""#] {
        assert_eq!(median(nothing), "null", "{nothing}");
    }
    let percentile = |input: &str, p: &str| {
        let operand = format!(r#"{{"input":{input},"p":{p},"method":"approximate"}}"#);
        value(&format!(r#"{{"$percentile":{operand}}}"#), DOCUMENT)
    };
    assert_eq!(percentile(r#""$a""#, "[0,0.2,0.21,0.5,0.95,1]"), "[10.0,10.0,20.0,30.0,50.0,50.0]");
    assert_eq!(percentile(r#""$a""#, r#"[{"$divide":[1,2]}]"#), "[30.0]");
    assert_eq!(percentile(r#""$i""#, "[0.1,0.9]"), "[7.0,7.0]");
    assert_eq!(percentile(r#""$t""#, "[0.1,0.9]"), "[null,null]");
    assert_eq!(percentile(r#""$a""#, r#""$p""#), "error 7750300");
    assert_eq!(percentile(r#""$a""#, "[]"), "error 7750301");
    assert_eq!(percentile(r#""$a""#, "0.5"), "error 7750301");
    assert_eq!(percentile(r#""$a""#, r#"["x"]"#), "error 7750302");
    assert_eq!(percentile(r#""$a""#, "[1.5]"), "error 7750303");
    assert_eq!(percentile(r#""$a""#, "[-0.1]"), "error 7750303");
}

#[test]
fn methods() {
    check(
        DOCUMENT,
        &[
            (r#"{"$median":{"input":"$a","method":"exact"}}"#, "error 2"),
            (r#"{"$median":{"input":"$a","method":"$s"}}"#, "error 2"),
            (r#"{"$median":{"input":"$a","method":5}}"#, "error 14"),
            (r#"{"$percentile":{"input":"$a","p":[0.5],"method":"discrete"}}"#, "error 2"),
        ],
    );
}
