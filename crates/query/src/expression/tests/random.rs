//! `$rand`.

use super::{parsed, value};
use crate::expression::{Expression, Scope, Variables};
use alluvium_document::{Map, Value};

#[test]
fn numbers_differ_and_follow_from_the_seed() {
    let nothing = Map::new();
    let numbers = |seed: u64| -> Vec<f64> {
        let expression = parsed(r#"[{"$rand":{}},{"$rand":[]}]"#);
        let expression = Expression::parse_in(&expression, &Variables::NONE.seeded(seed)).unwrap();
        assert!(expression.as_constant().is_none());
        let all = (0..500).flat_map(|_| {
            let Ok(Some(Value::Array(pair))) = expression.evaluate(&mut Scope::of_map(&nothing)) else {
                unreachable!()
            };
            pair.iter().filter_map(Value::as_f64).collect::<Vec<_>>()
        });
        all.collect()
    };
    let first = numbers(1);
    assert_eq!(first.len(), 1000);
    assert!(first.iter().all(|x| (0.0..1.0).contains(x)));
    let mean = first.iter().sum::<f64>() / 1000.0;
    assert!((0.45..0.55).contains(&mean), "{mean}");
    let mut sorted = first.clone();
    sorted.sort_by(f64::total_cmp);
    sorted.dedup();
    assert_eq!(sorted.len(), 1000);
    assert_eq!(numbers(1), first);
    assert_ne!(numbers(2), first);
}

#[test]
fn operands() {
    // Without a source there are no random numbers.
    assert_eq!(value(r#"{"$rand":{}}"#, "{}"), "error 238");
    assert_eq!(value(r#"{"$rand":{"x":1}}"#, "{}"), "error 3040501");
    assert_eq!(value(r#"{"$rand":[1]}"#, "{}"), "error 3040501");
    assert_eq!(value(r#"{"$rand":1}"#, "{}"), "error 10065");
    assert_eq!(value(r#"{"$rand":null}"#, "{}"), "error 10065");
}

#[test]
fn copies_of_variables_share_their_numbers() {
    let variables = Variables::NONE.seeded(7);
    let next = |variables: &Variables| {
        let expression = Expression::parse_in(&parsed(r#"{"$rand":{}}"#), variables).unwrap();
        expression.evaluate(&mut Scope::of_map(&Map::new())).unwrap().and_then(|value| value.as_f64()).unwrap()
    };
    let copy = variables.clone();
    let numbers = [next(&variables), next(&copy), next(&variables.clone()), next(&variables)];
    let alone = Variables::NONE.seeded(7);
    assert_eq!(numbers, [next(&alone), next(&alone), next(&alone), next(&alone)]);
}
