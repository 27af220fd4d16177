use super::*;
use proptest::prelude::*;

fn properties() -> Properties {
    Properties {
        meta: FileMeta { number: 1, entries: 70_000, largest: b"z".to_vec(), max_seq: 9, ..FileMeta::default() },
        inputs: vec![9, 1000, 3],
        replaced: vec![2, 500],
        trees: vec![0, 1, 70_000, u32::MAX],
        data_blocks: 5,
        partitions: 1,
        data_bytes: 4000,
        index_bytes: 300,
        block_bytes: 8192,
        filter_bits_per_key: 10,
    }
}

#[test]
fn what_is_encoded_is_decoded_and_every_cut_is_an_error() {
    let mut bytes = Vec::new();
    properties().encode(&mut bytes);
    assert_eq!(Properties::decode(&bytes).unwrap(), properties());
    for cut in 0..bytes.len() {
        assert!(Properties::decode(&bytes[..cut]).is_err(), "cut at {cut}");
    }
    bytes.push(0);
    assert!(Properties::decode(&bytes).is_err(), "a byte more");
}

#[test]
fn the_lists_of_files_are_told_apart() {
    for inputs in [vec![], vec![9], vec![9, 3]] {
        for replaced in [vec![], vec![7], vec![5, 6]] {
            let properties = Properties { inputs: inputs.clone(), replaced, ..properties() };
            let mut bytes = Vec::new();
            properties.encode(&mut bytes);
            assert_eq!(Properties::decode(&bytes).unwrap(), properties);
        }
    }
}

#[test]
fn trees_beyond_32_bits_and_endless_lists_are_errors() {
    let mut bytes = Vec::new();
    Properties { trees: vec![1], inputs: vec![], replaced: vec![], ..properties() }.encode(&mut bytes);
    let end = bytes.len();
    let with_tail = |tail: &[u8]| [&bytes[..end - 3], tail].concat();
    assert!(Properties::decode(&with_tail(&[0, 1, 1])).is_ok());
    assert!(Properties::decode(&with_tail(&[0, 1, 0xff, 0xff, 0xff, 0xff, 0x10])).is_err());
    assert!(Properties::decode(&with_tail(&[0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1])).is_err());
    assert!(Properties::decode(&with_tail(&[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1, 0])).is_err());
}

proptest! {
    #[test]
    fn noise_is_decoded_or_refused(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        let _ = Properties::decode(&bytes);
    }
}
