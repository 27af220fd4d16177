use super::{EMPTY, Present};
use crate::bson::{decode_document, encode_document};
use crate::{Map, Timestamp, Value, arbitrary};
use proptest::prelude::*;

proptest! {
    #[test]
    fn bson_is_filled_as_maps_are(
        fields in proptest::collection::vec(("[a-z]{0,3}", arbitrary::bson_value()), 0..6),
        places in proptest::collection::vec(any::<prop::sample::Index>(), 0..3),
    ) {
        let mut map: Map = fields.into_iter().map(|(name, value)| (Value::from(name.as_str()), value)).collect();
        for place in places {
            if !map.entries.is_empty() {
                let at = place.index(map.entries.len());
                map.entries[at].1 = Value::Timestamp(EMPTY);
            }
        }
        map.push("_id", Value::Timestamp(EMPTY));
        let mut bytes = Vec::new();
        prop_assume!(encode_document(&map, &mut bytes).is_ok());
        let filled = decode_document(&Present::at(5).fill_bson(&bytes)).unwrap();
        let mut expected = decode_document(&bytes).unwrap();
        Present::at(5).fill(&mut expected);
        prop_assert_eq!(&filled, &expected);
        let has_empty = |(name, value): &(Value, Value)| name.as_str() != Some("_id") && *value == Value::Timestamp(EMPTY);
        prop_assert!(!filled.entries.iter().any(has_empty));
        for end in 0..bytes.len() {
            drop(Present::at(5).fill_bson(&bytes[..end]));
        }
    }
}

#[test]
fn times_outside_their_range_are_the_nearest() {
    assert_eq!(Present::at(-1).next(), Timestamp { time: 0, increment: 1 });
    assert_eq!(Present::at(i64::MAX).next().time, u32::MAX);
}
