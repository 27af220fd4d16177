use super::*;
use std::path::PathBuf;

#[test]
fn it_reads_back_and_every_flipped_bit_is_found() {
    let path = PathBuf::from("ALLUVIUM");
    let block = Superblock { database_id: 0x1234_5678_9abc_def0, partitions: 16 };
    let bytes = block.encode().unwrap();
    assert_eq!(Superblock::decode(&bytes, &path).unwrap(), block);
    for bit in 0..bytes.len() * 8 {
        let mut bad = bytes.clone();
        bad[bit / 8] ^= 1 << (bit % 8);
        assert!(Superblock::decode(&bad, &path).is_err(), "bit {bit}");
    }
    for cut in 0..bytes.len() {
        assert!(Superblock::decode(&bytes[..cut], &path).is_err());
    }
}

#[test]
fn a_newer_format_is_refused_by_name() {
    let path = PathBuf::from("ALLUVIUM");
    let mut bytes = MAGIC.to_vec();
    bytes.extend_from_slice(&7u32.to_le_bytes());
    bytes.extend_from_slice(b"whatever a later build writes here");
    let error = Superblock::decode(&bytes, &path).unwrap_err();
    assert!(matches!(error, Error::Storage(alluvium_env::Error::NewerFormat { found: 7, supported: 1, .. })));
}
