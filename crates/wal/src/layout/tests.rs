#![cfg(not(feature = "shuttle"))]

use super::*;
use proptest::prelude::*;

const SEEDS: Seeds = Seeds(99);

fn header() -> Header {
    Header { database_id: 7, number: 3, first_seq: 50, previous: Some(End { offset: 9000, last_seq: 49 }) }
}

#[test]
fn a_header_stays_as_documented() {
    let bytes = header().encode();
    let text: String = bytes.iter().map(|b| format!("{b:02x}")).collect();
    let fields = concat!(
        "414c4c555657414c", // magic
        "0200000000000000", // version
        "0700000000000000", // database
        "0300000000000000", // number
        "3200000000000000", // first number
        "2823000000000000", // end of the previous segment
        "3100000000000000", // last number of the previous segment
    );
    assert_eq!(text, format!("{fields}{}{:016x}", "0".repeat(128), checksum64(&bytes[..120], 3).swap_bytes()));
    assert_eq!(Header::decode(&bytes, 3), Ok(header()));
    assert_eq!(Header::decode(&bytes, 4), Err(NotAHeader::Invalid));
    assert_eq!(Header::decode(&bytes[..127], 3), Err(NotAHeader::Invalid));
    let first = Header { previous: None, ..header() };
    assert_eq!(Header::decode(&first.encode(), 3), Ok(first));
}

#[test]
fn a_mark_of_what_follows_belongs_to_its_segment() {
    let bytes = encode_followed(8, SEEDS);
    assert_eq!(decode_followed(&bytes, SEEDS), Some(8));
    assert_eq!(decode_followed(&bytes, Seeds(98)), None);
    assert_eq!(decode_followed(&bytes[..FOLLOWED_LEN - 1], SEEDS), None);
    for at in 0..FOLLOWED_LEN * 8 {
        let mut flipped = bytes;
        flipped[at / 8] ^= 1 << (at % 8);
        let meant = decode_followed(&flipped, SEEDS);
        assert!(meant.is_none(), "bit {at}: {meant:?}");
    }
}

#[test]
fn a_seal_belongs_to_its_segment() {
    let end = End { offset: 8192, last_seq: 12 };
    let bytes = encode_seal(end, SEEDS);
    assert_eq!(decode_seal(&bytes, SEEDS), Some(end));
    assert_eq!(decode_seal(&bytes, Seeds(98)), None);
    assert_eq!(decode_seal(&bytes[..63], SEEDS), None);
    assert_eq!(decode_seal(&[0; 64], SEEDS), None);
}

fn group(records: &[Record<'_>], next: Seq, offset: u64) -> Vec<u8> {
    let mut group = vec![0xaa; 3];
    let header = encode_records(&mut group, records, next, 8192).unwrap();
    finish_group(&mut group, header, offset, SEEDS);
    group
}

#[test]
fn a_group_stays_as_documented() {
    let bytes = group(&[Record::new(5, 9, b"abc")], 5, 8192);
    assert_eq!(bytes.len(), 56);
    assert_eq!(bytes[48..], [4, 3, b'a', b'b', b'c', 0, 0, 0]);
    assert_eq!(bytes[..4], [8, 0, 0, 0]);
    assert_eq!(bytes[8..16], checksum64(&bytes[48..], 99 ^ 8192).to_le_bytes());
    let mut head = bytes[..48].to_vec();
    head[4..8].fill(0);
    assert_eq!(bytes[4..8], checksum32(&head, 99 ^ 8192).to_le_bytes());
    let fields: Vec<_> = (16..48).step_by(8).map(|at| get(&bytes, at)).collect();
    assert_eq!(fields, [5, 9, 8192, 1]);
}

#[test]
fn a_group_with_a_compressed_record_stays_as_documented() {
    let long = [b'x'; 300];
    let records = [Record { compressed: Some(b"short"), ..Record::new(5, 9, &long) }, Record::new(10, 10, b"abc")];
    let bytes = group(&records, 5, 8192);
    assert_eq!(bytes[40..48], [2, 0, 0, 0, 1, 0, 0, 0]);
    // 300 and 5: the lengths before and after compression. 0 and 3: not compressed.
    assert_eq!(bytes[48..], *b"\x04\xac\x02\x05short\0\0\x03abc\0");
    let mut unknown = bytes.clone();
    unknown[44] = 2;
    assert_eq!(GroupHeader::decode(&unknown, 8192, SEEDS), None);
}

#[test]
fn a_group_passes_only_in_its_place() {
    let bytes = group(&[Record::new(5, 9, b"abc")], 5, 8192);
    assert!(GroupHeader::decode(&bytes, 8192, SEEDS).is_some_and(|h| h.matches(&bytes[48..], 8192, SEEDS)));
    for (offset, seeds) in [(8200, SEEDS), (8192, Seeds(98))] {
        assert_eq!(GroupHeader::decode(&bytes, offset, seeds), None);
    }
    assert_ne!(Seeds::new(1, 2).0, Seeds::new(2, 1).0);
    assert_ne!(Seeds::new(1, 2).0, Seeds::new(1, 3).0);
}

/// Bodies with a right checksum that do not consist of records. Only a bug can write them, but they
/// must not cause a panic.
#[test]
fn bodies_that_hold_no_records() {
    let header = |records, last_seq| {
        let compressed = false;
        GroupHeader { body_len: 8, body_sum: 0, first_seq: 5, last_seq, synced: 0, records, compressed }
    };
    let decode = |header, body: &[u8]| decode_records::<()>(&header, body, |_| Ok(()));
    assert_eq!(decode(header(1, 5), &[0, 2, 1, 1, 0, 0, 0, 0]), Ok(true));
    for (records, last, body) in [
        (2, 5, &[0, 2, 1, 1, 0, 0, 0, 0][..]), // the padding is no record of this number
        (1, 6, &[0, 2, 1, 1, 0, 0, 0, 0]),     // the last number is missing
        (1, 5, &[1, 2, 1, 1, 0, 0, 0, 0]),     // beyond the last number
        (1, 5, &[0, 7, 1, 1, 0, 0, 0, 0]),     // beyond the end
        (1, 5, &[0x80, 0x80]),                 // an unfinished varint
        (0, 5, &[0; 8]),                       // nothing at all
        (1, 5, &[0; 16]),                      // too much padding
        (u32::MAX, u64::MAX - 1, &[0xff; 64]),
    ] {
        assert_eq!(decode(header(records, last), body), Ok(false));
    }
    assert_eq!(decode_records(&header(1, 5), &[0; 8], |_| Err("stop")), Err("stop"));
}

proptest! {
    #[test]
    fn groups_come_back(
        payloads in prop::collection::vec((0..5u64, prop::collection::vec(any::<u8>(), 0..200)), 1..20),
        next in 1..1u64 << 56,
        offset in (1024..1u64 << 40).prop_map(|o| o * 8),
    ) {
        let mut first_seq = next;
        let records: Vec<_> = payloads.iter().map(|(more, payload)| {
            let record = Record::new(first_seq, first_seq + more, payload);
            first_seq = record.last_seq + 1;
            record
        }).collect();
        let bytes = group(&records, next, offset);
        let header = GroupHeader::decode(&bytes, offset, SEEDS).unwrap();
        prop_assert_eq!(header.group_len(), bytes.len() as u64);
        let body = &bytes[GROUP_HEADER_LEN..];
        prop_assert!(header.matches(body, offset, SEEDS));
        let mut found = Vec::new();
        let whole = decode_records::<()>(&header, body, |r| {
            found.push((r.first_seq, r.last_seq, r.bytes.to_vec()));
            Ok(())
        });
        prop_assert_eq!(whole, Ok(true));
        let expected: Vec<_> = records.iter().map(|r| (r.first_seq, r.last_seq, r.payload.to_vec())).collect();
        prop_assert_eq!(found, expected);
    }

    #[test]
    fn any_bytes_decode_without_panic(bytes in prop::collection::vec(any::<u8>(), 0..200), records in any::<u32>(), compressed: bool) {
        let _ = Header::decode(&bytes, 1);
        let _ = decode_seal(&bytes, SEEDS);
        let _ = GroupHeader::decode(&bytes, 8192, SEEDS);
        let (first_seq, last_seq, synced) = (1, u64::MAX, 0);
        let header = GroupHeader { body_len: 0, body_sum: 0, first_seq, last_seq, synced, records, compressed };
        let _ = decode_records::<()>(&header, &bytes, |_| Ok(()));
    }
}

#[test]
fn numbers_above_the_last_are_refused_whatever_the_checksum_says() {
    let with = |first_seq, last_seq| Header { first_seq, previous: Some(End { offset: 9000, last_seq }), ..header() };
    let last = with(LAST_SEQ + 1, LAST_SEQ);
    assert_eq!(Header::decode(&last.encode(), 3), Ok(last), "a segment behind the last number of all");
    for hostile in [with(u64::MAX, 49), with(LAST_SEQ + 2, 49), with(u64::MAX, u64::MAX - 1)] {
        assert_eq!(Header::decode(&hostile.encode(), 3), Err(NotAHeader::Impossible), "{hostile:?}");
    }
    let seal = |last_seq| decode_seal(&encode_seal(End { offset: 8192, last_seq }, SEEDS), SEEDS);
    assert!(seal(LAST_SEQ).is_some() && seal(LAST_SEQ + 1).is_none() && seal(u64::MAX).is_none());
    let record = |seq| [Record::new(seq, seq, b"")];
    let mut out = Vec::new();
    let encoded = encode_records(&mut out, &record(LAST_SEQ), LAST_SEQ, 0);
    assert_eq!(encoded.map(|header| header.last_seq), Ok(LAST_SEQ));
    assert!(encode_records(&mut out, &record(LAST_SEQ + 1), LAST_SEQ + 1, 0).is_err(), "nothing is written beyond it");
}
