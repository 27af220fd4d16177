use super::*;
use alluvium_document::arbitrary;
use proptest::prelude::*;

/// Values with texts and binary data around and above the limit.
fn long() -> impl Strategy<Value = Value> {
    let len = prop::sample::select(vec![0usize, 1, MAX_PART_BYTES / 2, MAX_PART_BYTES - 4, MAX_PART_BYTES, 20_000]);
    (arbitrary::value(), len, 0..6usize, any::<bool>()).prop_map(|(value, len, kind, zeros)| {
        let text = if zeros { "\0" } else { "x" }.repeat(len);
        match kind {
            0 => value,
            1 => text.into(),
            2 => Value::Array(vec![text.into(), value]),
            3 => Value::Map(Map::from([("f", Value::from(text)), ("g", value)])),
            4 => Value::Binary(alluvium_document::Binary { subtype: 3, bytes: text.into_bytes() }),
            _ => Value::Array(vec![Value::from(1); len / 4]),
        }
    })
}

fn whole(value: &Value, order: Order) -> Vec<u8> {
    let mut bytes = Vec::new();
    put_part(value, order, &mut bytes);
    bytes
}

proptest! {
    #[test]
    fn keys_of_parts_are_told_apart(values in prop::collection::vec((long(), any::<bool>()), 1..4)) {
        let order = |descends: bool| if descends { Order::Descending } else { Order::Ascending };
        let mut bytes = Vec::new();
        let mut ends = Vec::new();
        for (value, descends) in &values {
            let is_cut = put_index_part(value, order(*descends), &mut bytes);
            prop_assert_eq!(is_cut, is_long(value));
            prop_assert_eq!(is_cut, whole(value, order(*descends)).len() > MAX_PART_BYTES);
            ends.push((bytes.len(), is_cut));
        }
        // In an entry, the key of an `_id` follows.
        let entry = [&bytes[..], &[2]].concat();
        let mut rest = &entry[..];
        for ((_, descends), (end, is_cut)) in values.iter().zip(ends) {
            prop_assert_eq!(skip_part(&mut rest, order(*descends)), Ok(is_cut));
            prop_assert_eq!(entry.len() - rest.len(), end);
        }
    }

    /// A short bound sorts on the same side of a cut key as of the whole key.
    #[test]
    fn cut_keys_are_in_the_order_of_their_values_among_others(a in long(), b in long(), descends in any::<bool>()) {
        let order = if descends { Order::Descending } else { Order::Ascending };
        let (mut cut_a, mut cut_b) = (Vec::new(), Vec::new());
        let both = put_index_part(&a, order, &mut cut_a) && put_index_part(&b, order, &mut cut_b);
        if !both {
            cut_b.clear();
            put_index_part(&b, order, &mut cut_b);
            prop_assert_eq!(cut_a.cmp(&cut_b), whole(&a, order).cmp(&whole(&b, order)));
        }
    }
}
