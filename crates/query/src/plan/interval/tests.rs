//! The operations on sets of values agree with membership tests of single values.

use alluvium_document::arbitrary::value;
use proptest::prelude::*;

use super::*;

fn edge() -> impl Strategy<Value = Edge> {
    (value(), any::<bool>()).prop_map(|(value, after)| Edge { value, after })
}

fn set() -> impl Strategy<Value = Intervals> {
    let one = (edge(), edge()).prop_map(|(a, b)| Intervals::one(a, b));
    let point = value().prop_map(Intervals::point);
    prop::collection::vec(prop_oneof![one, point], 0..4).prop_map(Intervals::union)
}

fn has(set: &Intervals, value: &Value) -> bool {
    set.0.iter().any(|interval| interval.contains(value))
}

proptest! {
    #[test]
    fn sets_have_the_members_that_they_should(a in set(), b in set(), others in prop::collection::vec(value(), 4)) {
        let (union, both, not) = (Intervals::union([a.clone(), b.clone()]), a.intersection(&b), a.complement());
        let edges = a.0.iter().chain(&b.0).flat_map(|interval| [&interval.low.value, &interval.high.value]);
        for value in edges.chain(&others) {
            let (in_a, in_b) = (has(&a, value), has(&b, value));
            prop_assert_eq!(has(&union, value), in_a || in_b);
            prop_assert_eq!(has(&both, value), in_a && in_b);
            prop_assert_eq!(has(&not, value), !in_a);
        }
        prop_assert!(both.is_subset(&a) && both.is_subset(&b) && a.is_subset(&union));
        for set in [&union, &both, &not] {
            prop_assert!(set.0.iter().all(|one| one.low.compare(&one.high).is_lt()));
            prop_assert!(set.0.windows(2).all(|two| two[0].high.compare(&two[1].low).is_lt()));
        }
    }

    /// Between the edges of a type are all of its values except NaN, and no values of other types.
    #[test]
    fn brackets_hold_the_types_that_compare(a in value(), b in value()) {
        let (low, high) = bracket(&a);
        let same = alluvium_document::compare::type_rank(&a) == alluvium_document::compare::type_rank(&b);
        let nan = Value::from(f64::NAN);
        prop_assert_eq!(has(&Intervals::one(low, high), &b), same && !alluvium_document::compare::equal(&b, &nan));
    }
}
