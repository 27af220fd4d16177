//! Messages of MongoDB's wire protocol, and logins.

use alluvium_document::bson_row::BsonRowEncoder;
use alluvium_document::row::encode_row;
use alluvium_document::shape::{ShapeOptions, ShapeTable};
use alluvium_document::{Map, bson};
use alluvium_wire::compression::{Compressor, compress, decompress};
use alluvium_wire::{HEADER_BYTES, Header, MAX_MESSAGE_BYTES, OpCode, Request};

/// A message of the wire protocol. The first byte of the input selects the operation, and the rest follows the header.
/// An accepted message must be unchanged after it is compressed and decompressed, and the row of a document must be the
/// row of its fields.
pub fn messages(data: &[u8]) {
    let Some((&kind, payload)) = data.split_first() else { return };
    let op_code = [OpCode::Msg, OpCode::Query, OpCode::Compressed, OpCode::Reply][usize::from(kind % 4)];
    let header = Header { length: HEADER_BYTES + payload.len(), request_id: 1, response_to: 0, op_code };
    let mut message = Vec::new();
    header.encode(&mut message);
    message.extend_from_slice(payload);
    let head = message.first_chunk().unwrap_or_else(|| panic!("a header"));
    assert_eq!(Header::parse(head), Ok(header));
    let expanded = match op_code {
        OpCode::Compressed => match decompress(&header, &message, MAX_MESSAGE_BYTES) {
            Ok((inner, bytes, _)) => {
                assert_eq!(inner.length, bytes.len());
                (inner, bytes)
            }
            Err(_) => return,
        },
        _ => (header, message),
    };
    for compressor in [Compressor::Snappy, Compressor::Zlib, Compressor::Zstd] {
        let packed = compress(&expanded.1, compressor).unwrap_or_else(|error| panic!("{error}"));
        let head = packed.first_chunk().unwrap_or_else(|| panic!("a header"));
        let header = Header::parse(head).unwrap_or_else(|error| panic!("{error}"));
        let back = decompress(&header, &packed, usize::MAX).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(back.1, expanded.1);
    }
    let Ok(request) = Request::parse(&expanded.0, &expanded.1) else { return };
    for sequence in &request.sequences {
        for document in sequence.iter().flatten() {
            rows_agree(document);
        }
    }
}

/// The row made from the bytes must equal the row made from the fields. Bytes that the decoder refuses must have no
/// row.
fn rows_agree(document: &[u8]) {
    let tables = [(); 2].map(|()| ShapeTable::new(ShapeOptions::DEFAULT));
    let (mut row, mut shapes) = (Vec::new(), Vec::new());
    let encoded = BsonRowEncoder::default().encode(document, &tables[0], &mut row, &mut shapes);
    let decoded: Result<Map, _> = bson::decode_document(document);
    match (encoded, decoded) {
        (Ok(Some(encoded)), Ok(map)) => {
            assert_eq!(map.get("_id"), Some(&encoded.id));
            let (mut other, mut new) = (Vec::new(), Vec::new());
            encode_row(&map, &tables[1], None, &mut other, &mut new).unwrap_or_else(|error| panic!("{error}: {map:?}"));
            assert_eq!(row, other, "{map:?}");
        }
        (Ok(Some(_)), Err(error)) => panic!("a row of what is refused: {error}"),
        (Ok(None) | Err(_), _) => assert!(row.is_empty()),
    }
}
