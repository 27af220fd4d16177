use super::*;
use proptest::prelude::*;

fn round_trip(values: &[u64], sloped: bool) -> usize {
    let line = Line::plan(values, sloped);
    let mut bytes = Vec::new();
    line.put_header(&mut bytes);
    let header_len = bytes.len();
    line.put_data(values, &mut bytes);
    let data_len = bytes.len() - header_len;
    assert_eq!(data_len, values.len() * usize::from(line.width));
    bytes.extend_from_slice(&[0xaa; 8]);
    let mut input = &bytes[..];
    assert_eq!(Line::get_header(&mut input).unwrap(), line);
    assert_eq!(bytes.len() - input.len(), header_len);
    for (index, &value) in values.iter().enumerate() {
        assert_eq!(line.get(&bytes, header_len, index), value, "{index} of {values:?}");
    }
    if let Ok(small) = Small::pack(line, 0) {
        for (index, &value) in values.iter().enumerate() {
            assert_eq!(small.get(&bytes, header_len, index), value, "{index} of {values:?}, packed");
        }
        assert!(small.constant().is_none_or(|value| values.iter().all(|&other| other == value)));
    }
    data_len
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
    assert!(Line::get_header(&mut &[][..]).is_err());
    assert!(Line::get_header(&mut &[9, 0][..]).is_err());
    assert!(Line::get_header(&mut &[0x20, 0][..]).is_err());
    assert!(Line::get_header(&mut &[1][..]).is_err());
    assert!(Line::get_header(&mut &[0x11, 0][..]).is_err());
}

#[test]
fn only_what_is_small_is_packed() {
    let line = Line { base: 5, step: 0, width: 4 };
    assert!(Small::pack(line, 0).is_ok());
    assert!(Small::pack(Line { base: 1 << 32, ..line }, 0).is_err());
    assert!(Small::pack(Line { step: 1, ..line }, 0).is_err());
    assert!(Small::pack(Line { width: 5, ..line }, 0).is_err());
}

proptest! {
    #[test]
    fn any_values(values in proptest::collection::vec(any::<u64>(), 1..50), shift in 0u32..64, sloped: bool) {
        let values: Vec<u64> = values.iter().map(|value| value >> shift).collect();
        round_trip(&values, sloped);
    }
}
