#![allow(clippy::unwrap_used)]

use super::*;
use proptest::prelude::*;

fn round_trip(values: &[u64], sloped: bool) -> usize {
    let column = Column::plan(values, sloped);
    let mut bytes = Vec::new();
    column.put_header(&mut bytes);
    let header_len = bytes.len();
    column.put_data(values, &mut bytes);
    assert_eq!(bytes.len() - header_len, column.data_len(values.len()));
    bytes.extend_from_slice(&[0xaa; 8]);
    let mut input = &bytes[..];
    let mut read = Column::get_header(&mut input).unwrap();
    let at = bytes.len() - input.len();
    assert_eq!(at, header_len);
    assert_eq!(read.place(at, values.len()).unwrap(), bytes.len() - 8);
    for (index, &value) in values.iter().enumerate() {
        assert_eq!(read.get(&bytes, index), value, "{index} of {values:?}");
    }
    column.data_len(values.len())
}

#[test]
fn straight_lines_take_no_bytes() {
    assert_eq!(round_trip(&[7; 100], false), 0);
    assert_eq!(round_trip(&(500..600).collect::<Vec<_>>(), true), 0);
    assert_eq!(round_trip(&(0..100).map(|i| 10_000 - 17 * i).collect::<Vec<_>>(), true), 0);
    assert_eq!(round_trip(&(0..100).collect::<Vec<_>>(), false), 100);
}

#[test]
fn a_line_with_small_steps_aside_takes_a_byte_each() {
    let values: Vec<u64> = (0..200).map(|i| 1_000_000 + 1000 * i + i % 7).collect();
    assert_eq!(round_trip(&values, true), 200);
    assert_eq!(round_trip(&values, false), 600);
}

#[test]
fn extremes() {
    round_trip(&[0, u64::MAX, 1 << 63, (1 << 63) - 1], true);
    round_trip(&[u64::MAX], true);
    round_trip(&[(1 << 56) - 1, 0], true);
}

#[test]
fn a_bad_header_is_an_error() {
    assert!(Column::get_header(&mut &[][..]).is_err());
    assert!(Column::get_header(&mut &[9, 0][..]).is_err());
    assert!(Column::get_header(&mut &[0x20, 0][..]).is_err());
    assert!(Column::get_header(&mut &[1][..]).is_err());
    assert!(Column::get_header(&mut &[0x11, 0][..]).is_err());
}

proptest! {
    #[test]
    fn any_values(values in proptest::collection::vec(any::<u64>(), 1..50), shift in 0u32..64, sloped: bool) {
        let values: Vec<u64> = values.iter().map(|value| value >> shift).collect();
        round_trip(&values, sloped);
    }
}
