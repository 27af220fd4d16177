use super::*;
use crate::arbitrary;
use proptest::prelude::*;

fn bytes(value: impl Into<Value>) -> Vec<u8> {
    let mut out = Vec::new();
    encode(&value.into(), &mut out);
    out
}

/// Checks the table of bytes of codes 1 to 9, row by row.
#[test]
fn the_seeds_bytes() {
    assert_eq!(bytes(()), [0x01]);
    assert_eq!(bytes(true), [0x02]);
    assert_eq!(bytes(false), [0x03]);
    assert_eq!(bytes(0), [0x04]);
    assert_eq!(bytes(14), [0xe4]);
    assert_eq!(bytes(15), [0xf4, 0x0f]);
    assert_eq!(bytes(16), [0xf4, 0x10]);
    assert_eq!(bytes(128), [0xf4, 0x80, 0x01]);
    assert_eq!(bytes(1_564_617_600), [0xf4, 0x80, 0xd7, 0x88, 0xea, 0x05]);
    assert_eq!(bytes(i64::MAX), [0xf4, 255, 255, 255, 255, 255, 255, 255, 255, 0x7f]);
    assert_eq!(bytes(-1), [0x15]);
    assert_eq!(bytes(-300), [0xf5, 0xac, 0x02]);
    assert_eq!(bytes("3.14".parse::<Decimal>().unwrap()), [0x46, 0x33, 0x2e, 0x31, 0x34]);
    assert_eq!(bytes(""), [0x07]);
    assert_eq!(bytes("id"), [0x27, 0x69, 0x64]);
    let array: Vec<Value> = vec![1.into(), "a".into()];
    assert_eq!(bytes(array), [0x28, 0x14, 0x17, 0x61]);
    let map = Map { entries: vec![(5.into(), "hello".into())] };
    assert_eq!(bytes(map), [0x19, 0x54, 0x57, 0x68, 0x65, 0x6c, 0x6c, 0x6f]);
}

/// The types of codes 1 to 9 are part of the format.
#[test]
fn the_further_types() {
    assert_eq!(bytes(3.0), [0x3a]);
    assert_eq!(bytes(-0.0), [0xfa, 0, 0, 0, 0, 0, 0, 0, 0x80]);
    assert_eq!(bytes(15.0), [0xfa, 0, 0, 0, 0, 0, 0, 0x2e, 0x40]);
    assert_eq!(bytes(7i64), [0xeb]);
    assert_eq!(bytes(-8i64), [0xfb, 0x0f]);
    assert_eq!(bytes(1i64 << 31), [0xf4, 0x80, 0x80, 0x80, 0x80, 0x08]);
    assert_eq!(bytes([7; 12]), [&[0x0c][..], &[7; 12]].concat());
    assert_eq!(bytes(Value::DateTime(-1)), [0x1d]);
    assert_eq!(bytes(Value::DateTime(1000)), [0xfd, 0xd0, 0x0f]);
    assert_eq!(bytes(Binary { subtype: 4, bytes: vec![1, 2] }), [0x20, 4, 1, 2]);
    assert_eq!(bytes(Timestamp { time: 1, increment: 2 }), [0x0f, 0, 0, 0, 1, 0, 0, 0, 2]);
    assert_eq!(bytes(Value::Regex(Box::new(Regex { pattern: "a".into(), options: "i".into() }))), *b"\x1f\x01a\x01i");
    assert_eq!(bytes(Value::MinKey), [0x2f]);
    assert_eq!(bytes(Value::MaxKey), [0x3f]);
    assert_eq!(bytes(Value::Undefined), [0x4f]);
    let code = |scope| Value::Code(Box::new(Code { code: "x".into(), scope }));
    assert_eq!(bytes(code(None)), *b"\x5f\x01x");
    assert_eq!(bytes(code(Some(Map::new()))), *b"\x6f\x01x\x09");
    assert_eq!(bytes(Value::Symbol("s".into())), *b"\x7f\x01s");
    let pointer = DbPointer { namespace: "n".into(), id: *b"123456789012" };
    assert_eq!(bytes(Value::DbPointer(Box::new(pointer))), *b"\x8f\x01n123456789012");
    assert_eq!(bytes(Decimal::NAN), [0x9f, 0]);
    assert_eq!(bytes(Decimal::INFINITY), [0x9f, 1]);
    assert_eq!(bytes(Decimal::NEG_INFINITY), [0x9f, 2]);
    assert_eq!(bytes("-0.0".parse::<Decimal>().unwrap()), [0x9f, 3, 1]);
}

fn nested(levels: usize) -> Vec<u8> {
    let mut bytes = vec![0x18; levels];
    bytes.push(NULL);
    bytes
}

#[test]
fn the_limit_of_levels_and_no_more() {
    assert!(TOO_DEEP.contains(&LEVELS_MAX.to_string()));
    assert!(decode(&mut &nested(LEVELS_MAX)[..]).is_ok());
    assert_eq!(decode(&mut &nested(LEVELS_MAX + 1)[..]), Err(DecodeError::Invalid(TOO_DEEP)));
    assert_eq!(skip(&mut &nested(1_000_000)[..]), Ok(()));
}

/// Nested values of type code, each in the scope of the next outer one.
fn codes(levels: usize) -> Value {
    (0..levels).fold(Value::Null, |inner, _| {
        Value::Code(Box::new(Code { code: "f".into(), scope: Some(Map::from([("s", inner)])) }))
    })
}

#[test]
fn a_code_with_a_scope_is_one_level() {
    for levels in [50, 51, LEVELS_MAX - 1, LEVELS_MAX, LEVELS_MAX + 1] {
        let value = codes(levels);
        assert_eq!(value.is_deeper_than(LEVELS_MAX), levels > LEVELS_MAX);
        let bytes = bytes(value.clone());
        let decoded = decode(&mut &bytes[..]);
        match levels > LEVELS_MAX {
            true => assert_eq!(decoded, Err(DecodeError::Invalid(TOO_DEEP))),
            false => assert_eq!(decoded, Ok(value)),
        }
    }
}

#[test]
fn a_scope_that_is_another_code_is_refused_without_end() {
    assert_eq!(decode(&mut &[0x6f, 0].repeat(1_000_000)[..]), Err(DecodeError::Invalid("a scope that is not a map")));
    assert_eq!(decode(&mut &b"\x6f\x00"[..]), Err(DecodeError::Invalid("a scope that is not a map")));
}

#[test]
fn forged_counts_claim_nothing() {
    for head in [0xf8, 0xf9, 0xf7, 0xf0, 0xf6] {
        let mut forged = vec![head];
        varint::put_u64(&mut forged, u64::MAX);
        forged.extend_from_slice(&[1; 100]);
        assert_eq!(decode(&mut &forged[..]), Err(DecodeError::Truncated));
        assert_eq!(skip(&mut &forged[..]), Err(DecodeError::Truncated));
    }
}

#[test]
fn what_is_never_written_is_refused() {
    let minus_zero = [0x26, b'-', b'0'];
    let too_wide = [0xfb, 0xff, 0xff, 0xff, 0xff, 0x7f];
    let above_64 = [0xf4, 255, 255, 255, 255, 255, 255, 255, 255, 255, 1];
    for bytes in
        [&[0x05][..], &[0x9f, 4], &[0xff], &[0x17, 0xff], &[0x6f, 0, 1], &[0x1e, 0], &minus_zero, &too_wide, &above_64]
    {
        assert!(matches!(decode(&mut &bytes[..]), Err(DecodeError::Invalid(_))), "{bytes:x?}");
    }
}

struct OneShape;

impl Shapes for OneShape {
    fn decode_shaped(&self, number: u64, mut row: &[u8], depth: usize) -> Result<Map> {
        let value = decode_with(&mut row, depth, self)?;
        Ok(Map { entries: vec![(Value::from(number as i64), value)] })
    }
}

#[test]
fn a_map_under_a_shape_is_decoded_by_the_shapes_and_skipped_by_its_length() {
    let bytes = [0x28, 0xfe, 16, 2, 0x17, b'a', TRUE, NULL];
    let mut input = &bytes[..];
    let value = decode_with(&mut input, 100, &OneShape).unwrap();
    let inner = Map { entries: vec![(16i64.into(), "a".into())] };
    assert_eq!(value, Value::Array(vec![inner.into(), true.into()]));
    assert_eq!(input, [NULL]);
    let mut input = &bytes[..];
    skip(&mut input).unwrap();
    assert_eq!(input, [NULL]);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn any_value_comes_back_and_is_skipped(value in arbitrary::value(), tail in any::<u8>()) {
        let mut bytes = bytes(value.clone());
        bytes.push(tail);
        let mut input = &bytes[..];
        prop_assert_eq!(decode(&mut input).unwrap(), value);
        prop_assert_eq!(input, &[tail]);
        let mut input = &bytes[..];
        skip(&mut input).unwrap();
        prop_assert_eq!(input, &[tail]);
    }

    #[test]
    fn any_bytes_are_taken_and_skipping_agrees(bytes in proptest::collection::vec(any::<u8>(), 0..80)) {
        let (mut decoded, mut skipped) = (&bytes[..], &bytes[..]);
        if decode(&mut decoded).is_ok() {
            prop_assert!(skip(&mut skipped).is_ok());
            prop_assert_eq!(decoded, skipped);
        }
        let _ = skip(&mut &bytes[..]);
    }

    #[test]
    fn damaged_bytes_are_taken(value in arbitrary::value(), at in any::<prop::sample::Index>(), byte in any::<u8>()) {
        let mut bytes = bytes(value);
        let at = at.index(bytes.len());
        prop_assert!(decode(&mut &bytes[..at]).is_err());
        prop_assert!(skip(&mut &bytes[..at]).is_err());
        bytes[at] = byte;
        let (mut decoded, mut skipped) = (&bytes[..], &bytes[..]);
        if decode(&mut decoded).is_ok() {
            prop_assert!(skip(&mut skipped).is_ok());
            prop_assert_eq!(decoded, skipped);
        }
    }
}
