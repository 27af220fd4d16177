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
    decompress(&header, bytes, MAX_MESSAGE_BYTES)
}

/// A compressed message with any content, and the length that it declares.
fn packed_as(compressor: Compressor, content: &[u8], declared: i32) -> Vec<u8> {
    let mut payload = OpCode::Msg.number().to_le_bytes().to_vec();
    payload.extend_from_slice(&declared.to_le_bytes());
    payload.push(compressor.number());
    payload.extend_from_slice(content);
    let mut bytes = message(&payload);
    bytes[12..16].copy_from_slice(&OpCode::Compressed.number().to_le_bytes());
    bytes
}

#[test]
fn a_message_that_is_longer_than_allowed_is_not_expanded() {
    for compressor in ALL {
        let packed = compress(&message(&[7; 100_000]), compressor).expect("compressed");
        let header = Header::parse(packed.first_chunk().expect("a header")).expect("a header");
        assert_eq!(declared_length(&packed), Some(100_016));
        assert_eq!(declared_length(&packed[..DECLARED_BYTES - 1]), None);
        assert!(decompress(&header, &packed, 100_016).is_ok());
        let refused = decompress(&header, &packed, 100_015);
        assert_eq!(refused.map(drop), Err(WireError::Length(100_000)), "{compressor:?}");
    }
}

#[test]
fn bombs_expand_to_no_more_than_they_declare() {
    // 40 MB of zeros in a few bytes. The decoder fills the declared room; one further byte shows that the room is too
    // small.
    let whole = message(&vec![0; 40_000_000]);
    for compressor in [Compressor::Snappy, Compressor::Zlib, Compressor::Zstd] {
        let packed = compress(&whole, compressor).expect("compressed");
        assert!(packed.len() < 2_000_000);
        let bomb = packed_as(compressor, &packed[DECLARED_BYTES + 1..], 1000);
        assert_eq!(expanded(&bomb), Err(WireError::Compression), "{compressor:?}");
    }
}

#[test]
fn a_frame_of_zstd_does_not_decide_what_memory_is_used() {
    // A window of 128 MB. A streaming decoder would allocate the window in addition to the output.
    let mut encoder = zstd::stream::write::Encoder::new(Vec::new(), 3).expect("an encoder");
    encoder.window_log(27).expect("a window");
    encoder.write_all(&[7; 1000]).expect("space");
    let frame = encoder.finish().expect("a frame");
    let (_, bytes, _) = expanded(&packed_as(Compressor::Zstd, &frame, 1000)).expect("a message");
    assert_eq!(bytes[HEADER_BYTES..], [7; 1000]);
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
    fn lengths_that_lie_are_refused(
        payload in proptest::collection::vec(0_u8..3, 0..2000), declared in 0_i32..4000, tail in 0_usize..3
    ) {
        for compressor in ALL {
            let mut content = compress(&message(&payload), compressor).expect("compressed")[DECLARED_BYTES + 1..].to_vec();
            content.extend(std::iter::repeat_n(0, tail));
            let taken = expanded(&packed_as(compressor, &content, declared));
            let is_true = usize::try_from(declared) == Ok(payload.len()) && tail == 0;
            match taken {
                // Bytes after the end of the zlib stream are ignored.
                Ok((_, bytes, _)) => {
                    prop_assert!(bytes.len() == HEADER_BYTES + declared as usize);
                    prop_assert!(is_true || compressor == Compressor::Noop || compressor == Compressor::Zlib && tail > 0);
                }
                Err(error) => prop_assert!(!is_true, "{:?}: {}", compressor, error),
            }
        }
    }

    #[test]
    fn any_bytes_are_taken_or_refused(payload in proptest::collection::vec(any::<u8>(), 0..200)) {
        let mut bytes = message(&payload);
        bytes[12..16].copy_from_slice(&2012_i32.to_le_bytes());
        let _ = expanded(&bytes);
    }
}
