use super::*;
use crate::options::Compression;

fn put(out: &mut Vec<u8>, raw: &[u8], role: Role, encoder: Option<&mut Encoder>, number: u64, offset: u64) -> usize {
    put_content(out, Content::new(raw, role), encoder, number, offset)
}

#[test]
fn a_raw_block_costs_five_bytes_and_a_compressed_one_seven() {
    let mut out = b"xx".to_vec();
    assert_eq!(put(&mut out, b"abc", Role::Aux, None, 1, 2), 3 + 5);
    assert_eq!(out.len(), 2 + 3 + 5);
    let mut encoder = Encoder::new(Compression::Zstd { level: 3 }, None);
    let (mut body, mut stored) = (Vec::new(), Vec::new());
    encoder.encode(&[7; 5000], &mut body);
    assert_eq!(put(&mut stored, &[7; 5000], Role::Data, Some(&mut encoder), 1, 0), body.len() + 7);
}

#[test]
fn a_block_is_read_only_where_and_as_what_it_was_written() {
    let mut encoder = Encoder::new(Compression::Zstd { level: 3 }, None);
    let mut decoder = Decoders::default();
    for raw in [&b""[..], b"abc", &[7; 5000], &[7; 70_000], &[7; 17_000_000]] {
        let mut stored = Vec::new();
        put(&mut stored, raw, Role::Data, Some(&mut encoder), 5, 1000);
        let back = get(&stored, Role::Data, &mut decoder, None, 5, 1000).unwrap();
        assert_eq!(&back[..raw.len()], raw);
        assert_eq!(back.len(), raw.len() + PADDING);
        assert!(get(&stored, Role::Data, &mut decoder, None, 6, 1000).is_err());
        assert!(get(&stored, Role::Data, &mut decoder, None, 5, 1001).is_err());
        let error = get(&stored, Role::Aux, &mut decoder, None, 5, 1000).unwrap_err();
        assert_eq!(error, "a block of another kind than aux block");
    }
}

#[test]
fn every_bit_is_covered() {
    let mut encoder = Encoder::new(Compression::Zstd { level: 3 }, None);
    let mut decoder = Decoders::default();
    let mut stored = Vec::new();
    put(&mut stored, &[7; 300], Role::Data, Some(&mut encoder), 5, 0);
    for bit in 0..stored.len() * 8 {
        let mut damaged = stored.clone();
        damaged[bit / 8] ^= 1 << (bit % 8);
        assert!(get(&damaged, Role::Data, &mut decoder, None, 5, 0).is_err(), "bit {bit}");
    }
    for cut in 0..stored.len() {
        assert!(get(&stored[..cut], Role::Data, &mut decoder, None, 5, 0).is_err(), "cut at {cut}");
    }
}

#[test]
fn a_tag_with_a_right_checksum_is_not_believed() {
    let mut decoder = Decoders::default();
    for tag in 0..=255u8 {
        for body in [&b""[..], b"abcdefgh", &[0xff; 20]] {
            let mut stored = [body, &[tag]].concat();
            let checksum = checksum32(&stored, seed(5, 0));
            stored.extend_from_slice(&checksum.to_le_bytes());
            let read = get(&stored, Role::Data, &mut decoder, None, 5, 0);
            assert_eq!(read.is_ok(), tag == 0, "tag {tag:#x}");
        }
    }
}
