use super::*;
use crate::arbitrary;
use crate::value::{Binary, Code, Timestamp};
use proptest::prelude::*;

fn dec(text: &str) -> Value {
    Value::Decimal(text.parse().unwrap())
}

fn map<const N: usize>(pairs: [(&str, Value); N]) -> Value {
    Value::Map(Map::from(pairs))
}

fn array(elements: &[Value]) -> Value {
    Value::Array(elements.to_vec())
}

/// The values on one line are equal, and less than the values on the next line.
fn ladder_of_numbers() -> Vec<Vec<Value>> {
    let two_63 = 9_223_372_036_854_775_808.0;
    vec![
        vec![Value::MinKey],
        vec![Value::Undefined],
        vec![Value::Null],
        vec![f64::NAN.into(), Value::Decimal(Decimal::NAN)],
        vec![f64::NEG_INFINITY.into(), dec("-Infinity")],
        vec![dec("-1E+1000000000")],
        vec![f64::MIN.into()],
        vec![dec("-9223372036854775809")],
        vec![i64::MIN.into(), (-two_63).into(), dec("-9223372036854775808.0")],
        vec![(i64::MIN + 1).into()],
        vec![(-9_007_199_254_740_993i64).into(), dec("-9007199254740993")],
        vec![(-9_007_199_254_740_992i64).into(), (-9_007_199_254_740_992.0).into()],
        vec![dec("-0.1")],
        vec![dec("-1E-1000")],
        vec![0.into(), 0i64.into(), 0.0.into(), (-0.0).into(), dec("-0.00"), dec("0E+99")],
        vec![dec("1E-1000000000")],
        vec![5e-324.into()],
        vec![dec("0.1"), dec("0.10")],
        vec![0.1.into()],
        vec![1.into(), 1.0.into(), dec("1.000"), dec("10E-1")],
        vec![1.5.into(), dec("1.5")],
        vec![2.into()],
        vec![9_007_199_254_740_992i64.into(), 9_007_199_254_740_992.0.into()],
        vec![dec("9007199254740992.5")],
        vec![9_007_199_254_740_993i64.into()],
        vec![i64::MAX.into()],
        vec![dec("9223372036854775807.5")],
        vec![two_63.into(), dec("9223372036854775808")],
        vec![f64::MAX.into()],
        vec![dec("1E+1000000000")],
        vec![dec("1.1E+1000000000")],
        vec![f64::INFINITY.into(), dec("Infinity")],
    ]
}

/// Values in ascending order; continues [`ladder_of_numbers`].
fn ladder() -> Vec<Vec<Value>> {
    let code = |code: &str, scope| Value::Code(Box::new(Code { code: code.into(), scope }));
    let binary = |subtype, bytes: &[u8]| Value::Binary(Binary { subtype, bytes: bytes.to_vec() });
    let regex = |p: &str, o: &str| Value::Regex(Box::new(Regex { pattern: p.into(), options: o.into() }));
    let pointer = |n: &str, id| Value::DbPointer(Box::new(DbPointer { namespace: n.into(), id: [id; 12] }));
    let above = vec![
        vec!["".into(), Value::Symbol(String::new().into())],
        vec!["\0".into()],
        vec!["a".into(), Value::Symbol("a".into())],
        vec!["a\0".into()],
        vec!["a\u{1}".into()],
        vec!["aa".into()],
        vec!["\u{10ffff}".into()],
        vec![map([])],
        vec![map([("z", 1.into())]), map([("z", 1.0.into())])],
        vec![map([("z", 1.into()), ("a", 1.into())])],
        vec![map([("z", 2.into())])],
        vec![map([("a", "x".into())])],
        vec![map([("b", "a".into())])],
        vec![array(&[])],
        vec![array(&[1.into()])],
        vec![array(&[1.into(), Value::Null])],
        vec![array(&[1.5.into()])],
        vec![array(&["".into()])],
        vec![array(&[array(&[])])],
        vec![binary(9, b"")],
        vec![binary(0, b"b")],
        vec![binary(1, b"a")],
        vec![binary(0, b"aa")],
        vec![binary(0, &[0; 255])],
        vec![binary(0, &[0; 300])],
        vec![[0; 12].into()],
        vec![[255; 12].into()],
        vec![false.into()],
        vec![true.into()],
        vec![Value::DateTime(i64::MIN)],
        vec![Value::DateTime(-1)],
        vec![Value::DateTime(0)],
        vec![Value::Timestamp(Timestamp { time: 1, increment: u32::MAX })],
        vec![Value::Timestamp(Timestamp { time: u32::MAX, increment: 0 })],
        vec![regex("a", "")],
        vec![regex("a", "i")],
        vec![regex("aa", "")],
        vec![pointer("b", 1)],
        vec![pointer("aa", 0)],
        vec![pointer("aa", 1)],
        vec![code("b", None)],
        vec![code("a", Some(Map::new()))],
        vec![code("a", Some(Map::from([("a", 1)])))],
        vec![Value::MaxKey],
    ];
    [ladder_of_numbers(), above].concat()
}

#[test]
fn the_ladder_is_climbed_in_order() {
    let ladder = ladder();
    for (i, low) in ladder.iter().enumerate() {
        for (j, high) in ladder.iter().enumerate() {
            for (a, b) in low.iter().flat_map(|a| high.iter().map(move |b| (a, b))) {
                assert_eq!(compare(a, b), i.cmp(&j), "{a:?} and {b:?}");
                let (mut x, mut y) = (Vec::new(), Vec::new());
                crate::key::encode(a, &mut x);
                crate::key::encode(b, &mut y);
                assert_eq!(x.cmp(&y), i.cmp(&j), "keys of {a:?} and {b:?}");
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn the_order_is_total(a in arbitrary::value(), b in arbitrary::value(), c in arbitrary::value()) {
        prop_assert_eq!(compare(&a, &a), Ordering::Equal);
        prop_assert_eq!(compare(&a, &b), compare(&b, &a).reverse());
        if compare(&a, &b).is_le() && compare(&b, &c).is_le() {
            prop_assert!(compare(&a, &c).is_le());
        }
    }

    #[test]
    fn the_order_of_numbers_is_total(a in arbitrary::number(), b in arbitrary::number(), c in arbitrary::number()) {
        prop_assert_eq!(compare(&a, &b), compare(&b, &a).reverse());
        if compare(&a, &b).is_le() && compare(&b, &c).is_le() {
            prop_assert!(compare(&a, &c).is_le(), "{:?} {:?} {:?}", a, b, c);
        }
    }

    #[test]
    fn integers_and_doubles_agree_with_wide_arithmetic(n in any::<i64>(), bits in any::<u64>(), near in -3i64..4) {
        for x in [f64::from_bits(bits), n.saturating_add(near) as f64] {
            if !x.is_nan() && x.abs() < 1e30 {
                let whole = i128::from(n).cmp(&(x.floor() as i128));
                let expected = if whole.is_eq() && x.fract() != 0.0 { Ordering::Less } else { whole };
                prop_assert_eq!(compare(&n.into(), &x.into()), expected);
            }
        }
    }
}
