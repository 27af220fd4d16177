use super::*;
use crate::block::{Block, BlockBuilder, PADDING, Shape};
use alluvium_codec::entry::{Entry, Kind};
use alluvium_codec::key;
use proptest::prelude::*;

type Row = (Vec<u8>, u64, Kind, Vec<u8>);

fn builder(rows: &[Row]) -> BlockBuilder {
    let mut builder = BlockBuilder::new(0);
    for (key, seq, kind, value) in rows {
        builder.add(Entry { key, seq: *seq, kind: *kind, value });
    }
    builder
}

/// Rows in entry order, as a block needs them.
fn ordered(mut rows: Vec<Row>) -> Vec<Row> {
    rows.sort_by(|a, b| a.0.cmp(&b.0).then(b.1.cmp(&a.1)));
    rows.dedup_by(|a, b| a.0 == b.0 && a.1 == b.1);
    rows
}

/// Turns rows into columns and back; returns the bytes of the columns, if the keys have a form.
fn round(rows: &[Row], encoder: &mut ColumnEncoder) -> Option<Vec<u8>> {
    let mut block = builder(rows);
    let mut raw = Vec::new();
    let head = encoder.encode(&block, &mut raw)?;
    assert_eq!(head_len(&raw).unwrap(), head);
    let (mut packed, mut back) = (Vec::new(), Vec::new());
    block.finish(&mut packed);
    ColumnDecoder::default().decode(&raw[..head], &raw[head..], &mut back).unwrap();
    assert!(back == packed);
    Some(raw)
}

/// A pseudo-random number below `below`.
fn draw(state: &mut u64, below: u64) -> u64 {
    *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    (*state >> 33) % below
}

fn number(key: &mut Vec<u8>, value: f64) {
    key.push(key::rank::NUMBER);
    key::put_number(key, key::f64_bits(value));
}

/// Entries of an index on (price, customer), as iibench has them.
fn prices(count: u64) -> Vec<Row> {
    let mut state = 1;
    let row = |_| {
        let (customer, id) = (draw(&mut state, 100_000), draw(&mut state, 1_000_000));
        let cents = draw(&mut state, 500_000) as f64 / 1000.0 + customer as f64;
        let mut key = vec![0, 0, 0, 9];
        number(&mut key, cents / 100.0);
        number(&mut key, customer as f64);
        number(&mut key, id as f64);
        (key, 1000 + id, Kind::Put, Vec::new())
    };
    ordered((0..count).map(row).collect())
}

#[test]
fn entries_of_an_index_take_the_bits_that_tell_them_apart() {
    let raw = round(&prices(1000), &mut ColumnEncoder::default()).unwrap();
    // Bits of an entry: 18 for the price as an integer, 2 for its distance from the nearest double, 9 for the customer, 20 for the _id,
    // none for the sequence number.
    assert!(raw.len() < 1000 * 52 / 8, "{}", raw.len());
}

#[test]
fn versions_tombstones_and_values_come_back() {
    let mut rows = prices(100);
    for at in 0..20 {
        let (key, seq, ..) = rows[at * 3].clone();
        rows.push((key.clone(), seq + 5_000_000, Kind::Delete, Vec::new()));
        rows.push((key, seq + 6_000_000, Kind::Put, vec![at as u8; at % 3]));
    }
    round(&ordered(rows), &mut ColumnEncoder::default()).unwrap();
}

#[test]
fn a_form_that_does_not_fit_any_more_is_left() {
    let mut encoder = ColumnEncoder::default();
    round(&prices(50), &mut encoder).unwrap();
    let texts = (0..50u32).map(|n| {
        let mut key = vec![0, 0, 0, 10, key::rank::STRING];
        key::put_bytes(&mut key, format!("name \0 {}", n / 3).as_bytes());
        number(&mut key, f64::from(n));
        (key, u64::from(n), Kind::Put, Vec::new())
    });
    round(&ordered(texts.collect()), &mut encoder).unwrap();
    round(&prices(50), &mut encoder).unwrap();
}

#[test]
fn keys_without_a_form_are_left_alone() {
    let mut encoder = ColumnEncoder::default();
    let rows = ordered((0..50u8).map(|n| (vec![n, 200, 3, n, 9, 2, n], 7, Kind::Put, Vec::new())).collect());
    for _ in 0..40 {
        assert!(encoder.encode(&builder(&rows), &mut Vec::new()).is_none());
    }
    let large = ordered(prices(9).into_iter().map(|row| (row.0, row.1, row.2, vec![0; 100])).collect());
    assert!(encoder.encode(&builder(&large), &mut Vec::new()).is_none());
}

#[test]
fn entries_out_of_order_are_refused() {
    let mut rows = prices(40);
    rows.swap(3, 4);
    let (mut raw, mut encoder) = (Vec::new(), ColumnEncoder::default());
    let head = encoder.encode(&builder(&rows), &mut raw).unwrap();
    let error = ColumnDecoder::default().decode(&raw[..head], &raw[head..], &mut Vec::new()).unwrap_err();
    assert_eq!(error.to_string(), "the bytes hold no valid value: entries out of order");
    let mut twice = prices(40);
    twice[5] = twice[4].clone();
    raw.clear();
    let head = encoder.encode(&builder(&twice), &mut raw).unwrap();
    assert!(ColumnDecoder::default().decode(&raw[..head], &raw[head..], &mut Vec::new()).is_err());
}

/// The bytes of a value's key, of any type, often a plain number.
fn value_key() -> impl Strategy<Value = Vec<u8>> {
    let of_number = |value: f64| {
        let mut key = Vec::new();
        number(&mut key, value);
        key
    };
    let ranked = |rank: u8, bytes: Vec<u8>| [&[rank][..], &bytes].concat();
    prop_oneof![
        4 => (-50i32..50).prop_map(move |n| of_number(f64::from(n))),
        4 => (-5000i32..5000).prop_map(move |n| of_number(f64::from(n) / 100.0)),
        2 => any::<f64>().prop_filter("a number", |x| !x.is_nan()).prop_map(of_number),
        1 => any::<u64>().prop_map(|bits| { let mut key = vec![key::rank::NUMBER]; key::put_number(&mut key, bits); key }),
        1 => Just(vec![key::rank::NULL]),
        1 => proptest::collection::vec(any::<u8>(), 8).prop_map(move |bytes| ranked(key::rank::DATE_TIME, bytes)),
        1 => proptest::collection::vec(any::<u8>(), 12).prop_map(move |bytes| ranked(key::rank::OBJECT_ID, bytes)),
        1 => any::<bool>().prop_map(move |flag| ranked(key::rank::BOOL, vec![u8::from(flag)])),
        2 => "[ab\0]{0,6}".prop_map(|text| {
            let mut key = vec![key::rank::STRING];
            key::put_bytes(&mut key, text.as_bytes());
            key
        }),
        // 0.1 as a decimal, which no double equals.
        1 => Just(vec![10, 0xbf, 0xb9, 0x99, 0xcd, 0x67, 0x33, 0x99, 0xcd, 0x65, 0x7f, 255, 255, 255, 255, 11, 0]),
        1 => proptest::collection::vec(any::<u8>(), 0..40).prop_map(move |bytes| {
            ranked(key::rank::BINARY, [&[bytes.len() as u8, 0][..], &bytes].concat())
        }),
    ]
}

/// Keys of an index with up to three parts, which all have one form or not.
fn index_rows() -> impl Strategy<Value = Vec<Row>> {
    let row = (
        proptest::collection::vec(value_key(), 3),
        1u64..50,
        any::<bool>(),
        proptest::collection::vec(any::<u8>(), 0..4),
    );
    (1usize..4, any::<[bool; 3]>(), any::<bool>(), proptest::collection::vec(row, 1..60)).prop_map(
        |(parts, down, alike, rows)| {
            let first = rows[0].0.clone();
            let make = |(keys, seq, put, value): (Vec<Vec<u8>>, u64, bool, Vec<u8>)| {
                let mut key = vec![0, 0, 0, 7];
                for part in 0..parts {
                    let bytes = if alike && keys[part][0] != first[part][0] { &first[part] } else { &keys[part] };
                    key.extend(bytes.iter().map(|byte| if down[part] { !byte } else { *byte }));
                }
                let kind = if put { Kind::Put } else { Kind::Delete };
                (key, seq, kind, if put && seq % 8 == 0 { value } else { Vec::new() })
            };
            ordered(rows.into_iter().map(make).collect())
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1024))]

    #[test]
    fn entries_of_any_index_come_back(rows in index_rows(), more in index_rows()) {
        let mut encoder = ColumnEncoder::default();
        for rows in [&rows, &more, &rows] {
            round(rows, &mut encoder);
        }
    }

    #[test]
    fn any_keys_come_back(keys in proptest::collection::vec(proptest::collection::vec(
        prop_oneof![Just(0u8), Just(1), Just(10), Just(15), Just(245), Just(0xff), any::<u8>()], 0..24), 2..40)) {
        let rows = keys.into_iter().enumerate().map(|(at, key)| (key, at as u64, Kind::Put, Vec::new()));
        round(&ordered(rows.collect()), &mut ColumnEncoder::default());
    }

    #[test]
    fn damage_gives_an_error_or_entries_in_order(rows in index_rows(), at in any::<prop::sample::Index>(), byte in any::<u8>()) {
        let mut raw = Vec::new();
        let Some(_) = ColumnEncoder::default().encode(&builder(&rows), &mut raw) else { return Ok(()) };
        let at = at.index(raw.len());
        raw[at] = byte;
        decode_any(&raw)?;
        decode_any(&raw[..at])?;
    }

    #[test]
    fn any_bytes_are_decoded_without_panic(bytes in proptest::collection::vec(any::<u8>(), 0..80)) {
        decode_any(&bytes)?;
    }
}

/// Arbitrary bytes decode to entries in order.
fn decode_any(raw: &[u8]) -> Result<(), TestCaseError> {
    let Ok(head) = head_len(raw) else { return Ok(()) };
    let mut content = Vec::new();
    if ColumnDecoder::default().decode(&raw[..head], &raw[head..], &mut content).is_err() {
        return Ok(());
    }
    content.extend_from_slice(&[0; PADDING]);
    // Decoding finds an unknown kind.
    let Ok(block) = Block::decode(content, Shape::Entries) else { return Ok(()) };
    let entries: Vec<_> = (0..block.len()).map(|index| block.entry(index)).collect();
    prop_assert!(
        entries
            .windows(2)
            .all(|pair| alluvium_codec::entry::compare(&pair[0].0, pair[0].1, &pair[1].0, pair[1].1).is_lt())
    );
    Ok(())
}
