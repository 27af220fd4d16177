use super::*;

#[test]
fn a_value_is_small() {
    assert_eq!(size_of::<Value>(), 32);
}

#[test]
fn identity_tells_types_and_zeros_apart() {
    assert_ne!(Value::from(1), Value::from(1.0));
    assert_ne!(Value::from(1), Value::from(1i64));
    assert_ne!(Value::from(0.0), Value::from(-0.0));
    assert_eq!(Value::from(f64::NAN), Value::from(-f64::NAN));
}

#[test]
fn a_map_keeps_order_and_the_first_of_two_wins() {
    let mut map = Map::from([("b", 1), ("a", 2), ("b", 3)]);
    assert_eq!(map.get("b"), Some(&Value::from(1)));
    assert_eq!(map.insert("a", "x"), Some(Value::from(2)));
    assert_eq!(map.insert("c", ()), None);
    assert_eq!(map.remove("b"), Some(Value::from(1)));
    assert_eq!(map.get("b"), Some(&Value::from(3)));
    let keys: Vec<_> = map.iter().filter_map(|(k, _)| k.as_str()).collect();
    assert_eq!(keys, ["a", "b", "c"]);
    assert_eq!(map.get_key(&Value::from(1)), None);
}

#[test]
fn depth_is_counted_to_the_limit_and_no_further() {
    let mut value = Value::Null;
    for _ in 0..MAX_DEPTH / 2 {
        value = Value::Array(vec![Value::Map(Map::from([("a", value)]))]);
    }
    assert!(!value.is_too_deep());
    assert!(Value::Array(vec![value.clone()]).is_too_deep());
    assert!(Value::Map(Map::from([(value, 1)])).is_too_deep());
    let twice = Value::Array(vec![Value::Array(Vec::new())]);
    assert!(twice.is_deeper_than(1) && !twice.is_deeper_than(2) && !Value::Null.is_deeper_than(0));
}

#[test]
fn integers_are_seen_in_every_number() {
    assert_eq!(Value::from(2.0).as_i64(), Some(2));
    assert_eq!(Value::from(2.5).as_i64(), None);
    assert_eq!(Value::from(9_223_372_036_854_775_808.0).as_i64(), None);
    assert_eq!(Value::from(-9_223_372_036_854_775_808.0).as_i64(), Some(i64::MIN));
    assert_eq!(Value::from(f64::NAN).as_i64(), None);
    assert_eq!(Value::from(u64::MAX).as_i64(), None);
    assert_eq!(Value::from(u64::MAX).as_f64(), Some(18_446_744_073_709_551_615.0));
    assert_eq!(Value::from("2").as_i64(), None);
}
