#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
use super::*;

fn bytes(value: impl Into<Value>) -> Vec<u8> {
    let mut out = Vec::new();
    encode(&value.into(), &mut out);
    out
}

/// The table of the seed's bytes, row by row.
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
