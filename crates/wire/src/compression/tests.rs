use super::*;
use proptest::prelude::*;

const ALL: [Compressor; 4] = [Compressor::Noop, Compressor::Snappy, Compressor::Zlib, Compressor::Zstd];

fn message(payload: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    let length = HEADER_BYTES + payload.len();
    Header { length, request_id: 1, response_to: 2, op_code: OpCode::Msg }.encode(&mut bytes);
    bytes.extend_from_slice(payload);
    bytes
}

fn expanded(bytes: &[u8]) -> Result<(Header, Vec<u8>, Compressor), WireError> {
    let header = Header::parse(bytes.first_chunk().expect("a header")).expect("a header");
    decompress(&header, bytes)
}

#[test]
fn a_length_that_is_not_true_is_refused() {
    for compressor in ALL {
        let packed = compress(&message(&[7; 1000]), compressor).expect("compressed");
        for declared in [0, 999, 1001, 47_000_000, i32::MAX, -1] {
            let mut wrong = packed.clone();
            wrong[20..24].copy_from_slice(&i32::to_le_bytes(declared));
            assert!(expanded(&wrong).is_err(), "{compressor:?} with {declared}");
        }
    }
}

#[test]
fn unknown_compressors_and_nested_messages_are_refused() {
    let mut packed = compress(&message(b"text"), Compressor::Snappy).expect("compressed");
    packed[24] = 9;
    assert_eq!(expanded(&packed), Err(WireError::Compressor(9)));
    packed[16..20].copy_from_slice(&2012_i32.to_le_bytes());
    assert_eq!(expanded(&packed), Err(WireError::OpCode(2012)));
}

proptest! {
    #[test]
    fn messages_come_back(payload in proptest::collection::vec(any::<u8>(), 0..500)) {
        for compressor in ALL {
            let whole = message(&payload);
            let packed = compress(&whole, compressor).expect("compressed");
            let (header, bytes, by) = expanded(&packed).expect("expanded");
            prop_assert_eq!((header.op_code, by), (OpCode::Msg, compressor));
            prop_assert_eq!(bytes, whole);
        }
    }

    #[test]
    fn any_bytes_are_taken_or_refused(payload in proptest::collection::vec(any::<u8>(), 0..200)) {
        let mut bytes = message(&payload);
        bytes[12..16].copy_from_slice(&2012_i32.to_le_bytes());
        let _ = expanded(&bytes);
    }
}
