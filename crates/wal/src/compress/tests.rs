#![cfg(not(feature = "shuttle"))]

use super::*;
use crate::decode::GroupDecoder;
use crate::layout::{GroupHeader, Seeds, encode_records, finish_group};
use crate::types::Record;
use proptest::prelude::*;

const HEADER: usize = 48;

fn decoded(header: &GroupHeader, body: &[u8]) -> Option<Vec<Vec<u8>>> {
    let mut found = Vec::new();
    let whole = GroupDecoder::default().records::<()>(header, body, |record| {
        found.push(record.payload.to_vec());
        Ok(())
    });
    assert!(whole == Ok(true) || found.is_empty(), "records were passed on before the group was checked");
    (whole == Ok(true)).then_some(found)
}

/// The header and the body of a group of these payloads, the first `count` of which are compressed.
fn group(payloads: &[Vec<u8>], count: usize) -> (GroupHeader, Vec<u8>) {
    let compressor = Compressor::new(1, Some(1));
    let compressed: Vec<_> = payloads.iter().take(count).map(|payload| compressor.compress(payload)).collect();
    let records: Vec<_> = (1..)
        .zip(payloads)
        .enumerate()
        .map(|(at, (seq, payload))| {
            let compressed = compressed.get(at).and_then(Option::as_deref);
            Record { compressed, ..Record::new(seq, seq, payload) }
        })
        .collect();
    let mut bytes = Vec::new();
    let mut header = encode_records(&mut bytes, &records, 1, 8192).unwrap();
    finish_group(&mut bytes, header, 8192, Seeds::new(1, 1));
    header.body_len = (bytes.len() - HEADER) as u32;
    (header, bytes[HEADER..].to_vec())
}

proptest! {
    #[test]
    fn compressed_records_come_back(
        payloads in prop::collection::vec((any::<u8>(), 0..3000usize, 1..200usize), 1..8),
        count in 0..8usize,
    ) {
        let payloads: Vec<Vec<u8>> =
            payloads.iter().map(|(seed, len, period)| (0..*len).map(|at| seed ^ (at % period) as u8).collect()).collect();
        let (header, body) = group(&payloads, count);
        prop_assert_eq!(decoded(&header, &body), Some(payloads));
    }

    /// Only a bug writes such bodies under a right checksum. They must neither panic nor give another payload a length
    /// that was not written.
    #[test]
    fn other_bytes_are_no_compressed_records(at in 0..60usize, to: u8, text in "[a-d]{300}") {
        let (header, mut body) = group(&[text.into_bytes(), vec![7; 40]], 2);
        prop_assume!(header.compressed && at < body.len());
        body[at] = to;
        if let Some(found) = decoded(&header, &body) {
            prop_assert_eq!(found.len(), 2);
        }
    }
}

#[test]
fn what_does_not_get_shorter_is_not_compressed() {
    let compressor = Compressor::new(1, None);
    let mut rng = fastrand::Rng::with_seed(1);
    let random: Vec<u8> = (0..LEAST_BYTES).map(|_| rng.u8(..)).collect();
    assert_eq!(compressor.compress(&random), None);
    assert_eq!(compressor.compress(&vec![1; LEAST_BYTES - 1]), None);
    // A failed compression leaves the context usable.
    assert!(compressor.compress(&vec![1; LEAST_BYTES]).is_some());
    assert_eq!(Compressor::new(0, None).compress(&vec![1; LEAST_BYTES]), None);
}

#[test]
fn lengths_beyond_the_limit_make_no_room() {
    let (header, body) = group(&[vec![9; 3000]], 1);
    assert!(header.compressed && body[..4] == [0, 0xb8, 0x17, body[3]], "{body:?}");
    for length in [2999, 3001, MAX_RAW_BYTES as u64, MAX_RAW_BYTES as u64 + 1, u64::MAX] {
        let mut other = vec![0];
        alluvium_codec::varint::put_u64(&mut other, length);
        other.extend_from_slice(&body[3..]);
        other.resize(other.len().next_multiple_of(8), 0);
        assert_eq!(decoded(&header, &other), None, "{length}");
    }
}
