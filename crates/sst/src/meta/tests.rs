use super::*;

#[test]
fn what_is_encoded_is_decoded_and_every_cut_is_an_error() {
    let meta = FileMeta {
        number: 300,
        bytes: 1 << 40,
        footer_checksum: u64::MAX - 1,
        smallest: b"a".to_vec(),
        largest: vec![0xff; 200],
        min_seq: 5,
        max_seq: 1 << 50,
        entries: 77,
        tombstones: 3,
        raw_bytes: 123_456,
        dictionary_id: 0x0123_4567_89ab_cdef,
    };
    let mut bytes = Vec::new();
    meta.encode(&mut bytes);
    let mut input = &bytes[..];
    assert_eq!(FileMeta::decode(&mut input).unwrap(), meta);
    assert!(input.is_empty());
    for cut in 0..bytes.len() {
        assert!(FileMeta::decode(&mut &bytes[..cut]).is_err(), "cut at {cut}");
    }
}

#[test]
fn a_range_beyond_64_bits_is_an_error() {
    let meta = FileMeta { min_seq: 1, max_seq: 0, ..FileMeta::default() };
    let mut bytes = Vec::new();
    meta.encode(&mut bytes);
    assert!(FileMeta::decode(&mut &bytes[..]).is_err());
}
