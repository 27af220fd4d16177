use super::*;
use crate::decimal::Decimal;
use proptest::prelude::*;

fn number(text: &str) -> Value {
    let (value, taken) = parse_number(text).unwrap();
    assert_eq!(taken, text.len(), "{text}");
    value
}

fn dec(text: &str) -> Value {
    Value::Decimal(text.parse().unwrap())
}

#[test]
fn integers_take_the_smallest_type() {
    assert_eq!(number("0"), Value::Int32(0));
    assert_eq!(number("-0"), Value::Int32(0));
    assert_eq!(number("2147483647"), Value::Int32(i32::MAX));
    assert_eq!(number("2147483648"), Value::Int64(1 << 31));
    assert_eq!(number("-2147483648"), Value::Int32(i32::MIN));
    assert_eq!(number("-2147483649"), Value::Int64(-(1 << 31) - 1));
    assert_eq!(number("999999999999999999"), Value::Int64(999_999_999_999_999_999));
    assert_eq!(number("9223372036854775807"), Value::Int64(i64::MAX));
    assert_eq!(number("-9223372036854775808"), Value::Int64(i64::MIN));
    assert_eq!(number("9223372036854775808"), dec("9223372036854775808"));
    assert_eq!(number("-9223372036854775809"), dec("-9223372036854775809"));
    assert_eq!(number("100000000000000000000000000000"), dec("100000000000000000000000000000"));
}

#[test]
fn fractions_are_doubles_where_nothing_is_lost() {
    assert_eq!(number("1.0"), Value::from(1.0));
    assert_eq!(number("-0.0"), Value::from(-0.0));
    assert_eq!(number("1e2"), Value::from(100.0));
    assert_eq!(number("0.1"), Value::from(0.1));
    assert_eq!(number("3.15"), Value::from(3.15));
    assert_eq!(number("1.7976931348623157e308"), Value::from(f64::MAX));
    assert_eq!(number("5e-324"), Value::from(5e-324));
    assert_eq!(number("0.30000000000000004"), Value::from(0.1 + 0.2));
    assert_eq!(number("1.1000000000000000000000"), Value::from(1.1));
    assert_eq!(number("0e99999999999999999999"), Value::from(0.0));
    // Two texts are equally short. The text that the printer does not choose becomes a decimal.
    assert_eq!(number("600000000000000.2"), Value::from(6e14 + 0.25));
    assert_eq!(number("600000000000000.3"), dec("600000000000000.3"));
    assert_eq!(number("1E+22"), Value::from(1e22));
    assert_eq!(number("1e23"), Value::from(1e23));
    assert_eq!(number("123456789012345e-20"), Value::from(123456789012345e-20));
}

#[test]
fn fractions_are_decimals_where_a_double_would_lose() {
    for text in
        ["0.1000000000000000055", "1E+400", "-1E-400", "4E-324", "1.00000000000000000001", "1797693134862315.81E+293"]
    {
        assert_eq!(number(text), dec(text), "{text}");
    }
    assert_eq!(number("0.30000000000000000"), Value::from(0.3));
    assert_eq!(number("9007199254740993.0"), dec("9007199254740993.0"));
}

#[test]
fn what_is_no_number() {
    let fails = |text: &str, offset, reason| assert_eq!(parse_number(text), Err((offset, reason)), "{text}");
    fails("01", 0, Reason::InvalidNumber);
    fails("-01", 1, Reason::InvalidNumber);
    fails("1.", 2, Reason::UnexpectedEnd);
    fails("1.,", 2, Reason::InvalidNumber);
    fails("1.e5", 2, Reason::InvalidNumber);
    fails(".5", 0, Reason::InvalidNumber);
    fails("+1", 0, Reason::InvalidNumber);
    fails("-", 1, Reason::UnexpectedEnd);
    fails("-a", 1, Reason::InvalidNumber);
    fails("1e", 2, Reason::UnexpectedEnd);
    fails("1e+", 3, Reason::UnexpectedEnd);
    fails("1e+x", 3, Reason::InvalidNumber);
    fails("1e99999999999", 0, Reason::NumberOutOfRange);
    fails("1e-99999999999", 0, Reason::NumberOutOfRange);
}

/// The value according to the rule, computed without shortcuts.
fn by_the_rule(text: &str) -> Value {
    if let Ok(n) = text.parse::<i64>() {
        return i32::try_from(n).map_or(Value::Int64(n), Value::Int32);
    }
    let decimal: Decimal = text.parse().unwrap();
    let x: f64 = text.parse().unwrap();
    // If two texts have the same length (600000000000000.25 ends in .2 or .3), the text of the printer counts.
    let shortest: Option<Decimal> = serde_json::to_string(&x).ok().and_then(|text| text.parse().ok());
    let fits = text.contains(['.', 'e', 'E']) && x.is_finite() && shortest.is_some_and(|s| s.compare(&decimal).is_eq());
    if fits { Value::from(x) } else { Value::Decimal(decimal) }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4096))]

    #[test]
    fn every_number_follows_the_rule(text in "-?(0|[1-9][0-9]{0,20})(\\.[0-9]{1,22})?([eE][-+]?[0-9]{1,3})?") {
        prop_assert_eq!(number(&text), by_the_rule(&text));
    }

    #[test]
    fn shortest_texts_are_doubles(x in any::<f64>()) {
        let x = if x.is_finite() { x } else { f64::MAX };
        prop_assert_eq!(number(&serde_json::to_string(&x).unwrap()), Value::from(x));
        prop_assert_eq!(number(&format!("{x:e}")).as_f64(), Some(x));
    }
}
