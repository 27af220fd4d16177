use super::*;
use crate::arbitrary;
use crate::compare::{compare, equal};
use proptest::prelude::*;

fn key_of(value: &Value) -> Vec<u8> {
    let mut out = Vec::new();
    encode(value, &mut out);
    out
}

fn natural(value: impl Into<Value>) -> Value {
    decode(&mut &key_of(&value.into())[..]).unwrap()
}

fn dec(text: &str) -> Value {
    Value::Decimal(text.parse().unwrap())
}

#[test]
fn natural_values() {
    assert_eq!(natural(1.0), Value::from(1));
    assert_eq!(natural(-0.0), Value::from(0));
    assert_eq!(natural(3_000_000_000.0), Value::from(3_000_000_000i64));
    assert_eq!(natural((1i64 << 53) + 1), Value::from((1i64 << 53) + 1));
    assert_eq!(natural(i64::MIN), Value::from(i64::MIN));
    assert_eq!(natural(dec("1.50")), Value::from(1.5));
    assert_eq!(natural(dec("0.10")), dec("0.1"));
    assert_eq!(natural(dec("-0.1")), dec("-0.1"));
    assert_eq!(natural(dec("92233720368547758110")), dec("92233720368547758110"));
    assert_eq!(natural(dec("1E+1000000000")), dec("1E+1000000000"));
    assert_eq!(natural(1e300), Value::from(1e300));
    assert_eq!(natural(f64::NAN), Value::from(f64::NAN));
    assert_eq!(natural(f64::NEG_INFINITY), Value::from(f64::NEG_INFINITY));
    assert_eq!(natural(Value::Symbol("a".into())), Value::from("a"));
}

/// The bytes are part of the format: changing them breaks every database.
#[test]
fn bytes_are_fixed() {
    assert_eq!(key_of(&1.into()), [10, 0xbf, 0xf0, 0]);
    assert_eq!(key_of(&1000.into()), [10, 0xc0, 0x8f, 0x40]);
    assert_eq!(key_of(&"a".into()), [15, b'a', 0, 1]);
    assert_eq!(
        key_of(&dec("0.1")),
        [10, 0xbf, 0xb9, 0x99, 0xcd, 0x67, 0x33, 0x99, 0xcd, 0x65, 0x7f, 255, 255, 255, 255, 11, 0]
    );
    let map = Value::Map(Map::from([("a", true)]));
    assert_eq!(key_of(&map), [20, 40, 15, b'a', 0, 1, 1, 0]);
    let array: Value = [Value::Null].into_iter().collect();
    assert_eq!(key_of(&array), [25, 5, 0]);
}

#[test]
fn some_types_are_no_id() {
    assert_eq!(id_key(&1.into()), Ok(key_of(&1.into())));
    assert_eq!(id_key(&Value::Undefined), Err(IdError::Type("undefined")));
    assert_eq!(id_key(&Value::Array(vec![])), Err(IdError::Type("array")));
    let regex = Regex { pattern: "a".into(), options: String::new() };
    assert_eq!(id_key(&Value::Regex(Box::new(regex))), Err(IdError::Type("regex")));
    let map = |name: &str, value: Value| Value::Map(Map::from([(name, value)]));
    for inside in [map("$x", 1.into()), map("a", [map("$x", 1.into())].into_iter().collect()), map("$id", 1.into())] {
        let Err(IdError::Dollar(name)) = id_key(&inside) else { panic!("{inside:?} is taken") };
        assert!(name == "$x" || name == "$id");
    }
    let reference = Value::Map(Map::from([("$ref", Value::from("pets")), ("$id", Value::from(7))]));
    assert!(id_key(&reference).is_ok() && id_key(&map("a$", reference)).is_ok());
    let mut deep = Value::Null;
    for _ in 0..=MAX_DEPTH {
        deep = Value::Map(Map::from([("a", deep)]));
    }
    assert_eq!(id_key(&deep), Err(IdError::TooDeep));
    assert!(decode(&mut &key_of(&deep)[..]).is_err());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1024))]

    #[test]
    fn bytes_sort_as_values(a in arbitrary::value(), b in arbitrary::value()) {
        prop_assert_eq!(key_of(&a).cmp(&key_of(&b)), compare(&a, &b));
    }

    #[test]
    fn bytes_sort_as_numbers(a in arbitrary::number(), b in arbitrary::number()) {
        prop_assert_eq!(key_of(&a).cmp(&key_of(&b)), compare(&a, &b));
    }

    #[test]
    fn bytes_sort_as_neighbours(x in any::<f64>(), a in "(|[1-9][0-9]{0,3})", b in "(|[1-9][0-9]{0,3})") {
        let x = if x.is_finite() && x != 0.0 { x } else { 1.0 };
        let text = format!("{x:.800e}");
        let (digits, exponent) = text.split_once('e').unwrap();
        let beside = |more: &str| dec(&format!("{digits}{more}e{exponent}"));
        let (a, b, x) = (beside(&a), beside(&b), Value::from(x));
        prop_assert_eq!(key_of(&a).cmp(&key_of(&b)), compare(&a, &b));
        prop_assert_eq!(key_of(&a).cmp(&key_of(&x)), compare(&a, &x));
    }

    #[test]
    fn decoding_gives_an_equal_value_and_takes_all(a in arbitrary::value(), b in arbitrary::value()) {
        let mut bytes = key_of(&a);
        encode(&b, &mut bytes);
        let mut input = &bytes[..];
        let first = decode(&mut input).unwrap();
        prop_assert!(equal(&first, &a), "{:?} {:?}", first, a);
        prop_assert_eq!(key_of(&first), key_of(&a));
        prop_assert!(equal(&decode(&mut input).unwrap(), &b));
        prop_assert!(input.is_empty());
    }

    #[test]
    fn any_bytes_are_taken_without_panic(bytes in proptest::collection::vec(any::<u8>(), 0..64), rank in 0u8..70) {
        let _ = decode(&mut &bytes[..]);
        let _ = decode(&mut &[&[rank], &bytes[..]].concat()[..]);
    }

    #[test]
    fn damaged_keys_are_taken_without_panic(a in arbitrary::value(), at in any::<prop::sample::Index>(), byte in any::<u8>()) {
        let mut bytes = key_of(&a);
        let at = at.index(bytes.len());
        bytes[at] = byte;
        let _ = decode(&mut &bytes[..]);
        let _ = decode(&mut &bytes[..at]);
    }
}

proptest! {
    #[test]
    fn skipping_takes_what_decoding_takes(a in arbitrary::value(), b in arbitrary::value()) {
        let mut both = key_of(&a);
        let first = both.len();
        both.extend(key_of(&b));
        for inverted in [false, true] {
            if inverted {
                both.iter_mut().for_each(|byte| *byte = !*byte);
            }
            let mut input = &both[..];
            skip(&mut input, inverted).unwrap();
            prop_assert_eq!(both.len() - input.len(), first);
            skip(&mut input, inverted).unwrap();
            prop_assert!(input.is_empty());
            for cut in 0..first {
                prop_assert!(skip(&mut &both[..cut], inverted).is_err());
            }
        }
    }

    #[test]
    fn skipping_damage_ends(bytes in proptest::collection::vec(any::<u8>(), 0..64), inverted: bool) {
        let mut input = &bytes[..];
        if skip(&mut input, inverted).is_ok() {
            prop_assert!(input.len() < bytes.len());
        }
    }
}

proptest! {
    #[test]
    fn a_value_inside_a_row_has_the_key_of_the_value(value in arbitrary::value()) {
        let document = crate::Document::from_map(&crate::Map::from([("a", value.clone())])).unwrap();
        let mut key = Vec::new();
        document.get("a").unwrap().unwrap().encode_key(&mut key).unwrap();
        prop_assert_eq!(key, key_of(&value));
    }
}
