use super::*;

#[test]
fn edges_round_trip_with_the_predicted_length() {
    for shift in 0..64 {
        for value in [(1u64 << shift) - 1, 1 << shift, (1 << shift) + 1, u64::MAX >> shift] {
            let mut out = Vec::new();
            put_u64(&mut out, value);
            assert_eq!(out.len(), len_u64(value), "{value}");
            let mut input = out.as_slice();
            assert_eq!(get_u64(&mut input), Ok(value));
            assert!(input.is_empty());
            for cut in 0..out.len() {
                assert_eq!(get_u64(&mut &out[..cut]), Err(DecodeError::Truncated));
            }
        }
    }
}

#[test]
fn signed_edges_round_trip() {
    for value in [0, 1, -1, 63, -64, 64, i64::MAX, i64::MIN] {
        let mut out = Vec::new();
        put_i64(&mut out, value);
        assert_eq!(get_i64(&mut out.as_slice()), Ok(value));
    }
}

#[test]
fn more_than_64_bits_is_refused() {
    assert!(get_u64(&mut [0xff; 10].as_slice()).is_err());
    assert!(get_u64(&mut [0xff; 11].as_slice()).is_err());
}

#[test]
fn a_length_beyond_the_input_is_refused() {
    assert_eq!(get_bytes(&mut [5u8, 1, 2].as_slice()), Err(DecodeError::Truncated));
    assert_eq!(get_bytes(&mut [2u8, 1, 2, 3].as_slice()), Ok(&[1u8, 2][..]));
}

/// With enough bytes after it, a value is taken from a word; otherwise byte by byte.
#[test]
fn the_bytes_after_a_value_do_not_change_it() {
    for shift in 0..64 {
        for value in [(1u64 << shift) - 1, 1 << shift, (1 << shift) + 1, u64::MAX >> shift] {
            for after in [0x00, 0x7f, 0x80, 0xff] {
                let mut out = Vec::new();
                put_u64(&mut out, value);
                let len = out.len();
                out.resize(len + 12, after);
                let mut input = out.as_slice();
                assert_eq!(get_u64(&mut input), Ok(value));
                assert_eq!(input, &out[len..]);
            }
        }
    }
    let mut long = vec![0xff; 9];
    long.extend([2; 8]);
    assert!(get_u64(&mut long.as_slice()).is_err());
    // A longer form of a small value.
    assert_eq!(get_u64(&mut [0x81, 0x80, 0x80, 0x00, 9, 9, 9, 9].as_slice()), Ok(1));
}
