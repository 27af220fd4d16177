//! Arbitrary values for property tests: every type, and numbers at the limits.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use crate::decimal::Decimal;
use crate::value::{Binary, Code, DbPointer, Map, Regex, Timestamp, Value};
use proptest::collection::vec;
use proptest::prelude::*;

/// Numbers near the limits of every type.
pub fn number() -> impl Strategy<Value = Value> {
    let integer_edges = prop::sample::select(vec![
        0i64,
        1,
        -1,
        14,
        15,
        1 << 31,
        -(1 << 31),
        (1 << 31) - 1,
        1 << 53,
        (1 << 53) + 1,
        (1 << 53) - 1,
        -(1 << 53) - 1,
        i64::MAX,
        i64::MAX - 1,
        i64::MIN,
        i64::MIN + 1,
    ]);
    let doubles = prop_oneof![
        any::<f64>(),
        prop::sample::select(vec![
            0.0,
            -0.0,
            1.0,
            0.1,
            -0.1,
            1.5,
            2f64.powi(53),
            2f64.powi(63),
            -(2f64.powi(63)),
            f64::MAX,
            f64::MIN,
            5e-324,
            -5e-324,
            f64::MIN_POSITIVE,
            f64::INFINITY,
            f64::NEG_INFINITY,
            f64::NAN,
            1e22,
            1e23,
        ]),
        (any::<i64>(), -3i32..4).prop_map(|(n, shift)| n as f64 * 2f64.powi(shift)),
    ];
    prop_oneof![
        (-20i32..20).prop_map(Value::from),
        any::<i32>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        (integer_edges, -2i64..3).prop_map(|(n, d)| Value::from(n.saturating_add(d))),
        doubles.prop_map(Value::from),
        decimal().prop_map(Value::from),
    ]
}

/// Decimals of all kinds: small and huge ones, values of doubles, values between doubles, infinities and NaN.
pub fn decimal() -> impl Strategy<Value = Decimal> {
    let text = |s: &'static str| s.parse::<Decimal>().unwrap();
    prop_oneof![
        (any::<bool>(), "[0-9]{1,4}", -6i64..6).prop_map(|(n, d, e)| Decimal::from_parts(n, &d, e).unwrap()),
        (any::<bool>(), "[0-9]{1,40}", -400i64..400).prop_map(|(n, d, e)| Decimal::from_parts(n, &d, e).unwrap()),
        (any::<bool>(), "[1-9]", -2_000_000_000i64..2_000_000_000)
            .prop_map(|(n, d, e)| Decimal::from_parts(n, &d, e).unwrap()),
        any::<i64>().prop_map(Decimal::from),
        any::<f64>().prop_map(Decimal::from_f64),
        // The exact value of a double, and values slightly above it.
        (any::<f64>(), "(|[0-9]{1,3})").prop_map(|(x, more)| exact(x, &more)),
        prop::sample::select(vec![
            text("9007199254740993"),
            text("9007199254740992.5"),
            text("9223372036854775807.5"),
            text("9223372036854775808"),
            text("0.1"),
            text("0.10"),
            text("-0"),
            text("-0.00"),
            text("0E+7"),
            text("1E-400"),
            text("-1E-400"),
            text("1E+400"),
            text("-1E+400"),
            Decimal::NAN,
            Decimal::INFINITY,
            Decimal::NEG_INFINITY,
        ]),
    ]
}

fn exact(x: f64, more: &str) -> Decimal {
    if !x.is_finite() {
        return Decimal::from_f64(x);
    }
    let text = format!("{x:.800e}");
    let (digits, exponent) = text.split_once('e').unwrap();
    format!("{digits}{more}e{exponent}").parse().unwrap()
}

fn text() -> impl Strategy<Value = String> {
    prop_oneof!["[ab\\x00\\x01\u{ff}\u{10ffff}]{0,4}", "[a-z]{0,20}", any::<String>()]
}

fn scalar() -> impl Strategy<Value = Value> {
    let id = any::<[u8; 12]>();
    prop_oneof![
        8 => number(),
        4 => text().prop_map(Value::from),
        1 => any::<bool>().prop_map(Value::from),
        1 => prop::sample::select(vec![Value::Null, Value::Undefined, Value::MinKey, Value::MaxKey]),
        1 => id.prop_map(Value::from),
        1 => prop_oneof![-20i64..20, any::<i64>()].prop_map(Value::DateTime),
        1 => (any::<u32>(), 0u32..3).prop_map(|(time, increment)| Value::Timestamp(Timestamp { time, increment })),
        1 => (0u8..3, vec(any::<u8>(), 0..20)).prop_map(|(subtype, bytes)| Value::Binary(Binary { subtype, bytes })),
        1 => ("[ab]{0,3}", "[im]{0,1}").prop_map(|(pattern, options)| Value::Regex(Box::new(Regex { pattern, options }))),
        1 => text().prop_map(|text| Value::Symbol(text.into())),
        1 => text().prop_map(|code| Value::Code(Box::new(Code { code, scope: None }))),
        1 => ("[ab]{0,3}", id).prop_map(|(namespace, id)| Value::DbPointer(Box::new(DbPointer { namespace, id }))),
    ]
}

fn nest(inner: impl Strategy<Value = Value> + Clone + 'static, names: BoxedStrategy<Value>) -> BoxedStrategy<Value> {
    let map = vec((names, inner.clone()), 0..5).prop_map(|entries| Map { entries });
    prop_oneof![
        vec(inner, 0..5).prop_map(Value::Array),
        map.clone().prop_map(Value::Map),
        ("[ab]{0,2}", map).prop_map(|(code, scope)| Value::Code(Box::new(Code { code, scope: Some(scope) }))),
    ]
    .boxed()
}

/// Any value. The keys of maps may be any values, and may occur twice.
pub fn value() -> impl Strategy<Value = Value> {
    scalar().prop_recursive(4, 40, 5, |inner| {
        let names = prop_oneof![3 => text().prop_map(Value::from), 1 => inner.clone()].boxed();
        nest(inner, names)
    })
}

/// Values that BSON can represent: names are strings without NUL, and decimals fit decimal128.
pub fn bson_value() -> impl Strategy<Value = Value> {
    let leaf = scalar().prop_filter("not in BSON", |value| match value {
        Value::Decimal(decimal) => decimal.to_decimal128().is_ok_and(|b| Decimal::from_decimal128(b) == *decimal),
        _ => true,
    });
    leaf.prop_recursive(4, 40, 5, |inner| nest(inner, "[a-c]{0,3}".prop_map(Value::from).boxed()))
}

/// Values that plain JSON can represent, with the types that the JSON parser chooses.
pub fn json_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i32>().prop_map(Value::from),
        any::<i64>().prop_map(|n| i32::try_from(n).map_or(Value::Int64(n), Value::Int32)),
        any::<f64>().prop_filter("finite", |x| x.is_finite()).prop_map(Value::from),
        text().prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 40, 5, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..5).prop_map(Value::Array),
            prop::collection::btree_map(text(), inner, 0..5).prop_map(|map| Value::Map(map.into_iter().collect())),
        ]
    })
}
