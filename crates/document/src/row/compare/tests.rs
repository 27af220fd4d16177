//! A comparison inside a row has the same result as a comparison of the decoded values.

use proptest::prelude::*;

use crate::arbitrary::value;
use crate::compare::{compare, type_rank};
use crate::value::{Map, Value};
use crate::{Document, MAX_DEPTH};

fn document(field: &Value) -> Document {
    Document::from_map(&Map::from([("x", field.clone())])).unwrap()
}

proptest! {
    #[test]
    fn values_in_rows_have_their_place(a in value(), b in value()) {
        prop_assume!(!a.is_deeper_than(MAX_DEPTH - 1));
        let stored = document(&a);
        let inside = stored.get("x").unwrap().unwrap();
        prop_assert_eq!(inside.type_rank(), type_rank(&a));
        prop_assert_eq!(inside.compare(&b).unwrap(), compare(&a, &b));
        prop_assert_eq!(inside.compare(&a).unwrap(), std::cmp::Ordering::Equal);
    }

    /// Two values with a common beginning.
    #[test]
    fn arrays_and_maps_in_rows_have_their_place(all in prop::collection::vec(value(), 0..4), more in value()) {
        let longer: Vec<Value> = all.iter().cloned().chain([more]).collect();
        let names = ["a", "b", "c", "d", "e"];
        let map = |values: &[Value]| Value::Map(names.into_iter().zip(values.iter().cloned()).collect());
        for (a, b) in [(Value::Array(all.clone()), Value::Array(longer.clone())), (map(&all), map(&longer))] {
            prop_assert_eq!(document(&a).get("x").unwrap().unwrap().compare(&b).unwrap(), compare(&a, &b));
            prop_assert_eq!(document(&b).get("x").unwrap().unwrap().compare(&a).unwrap(), compare(&b, &a));
        }
    }
}
