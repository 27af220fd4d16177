#![allow(clippy::unwrap_used)]

use super::*;

fn superblock() -> Superblock {
    let data =
        FileMeta { number: 1, bytes: 1000, smallest: b"a".to_vec(), largest: b"z".to_vec(), ..FileMeta::default() };
    let index = IndexFileMeta { number: 2, bytes: 10, footer_checksum: 3, interval: 10, extents: 4 };
    Superblock {
        id: 77,
        label: b"label".to_vec(),
        duplicates: 5,
        content: Some(Content { data, indexes: vec![index] }),
    }
}

#[test]
fn it_reads_back_and_every_changed_byte_and_length_is_found() {
    let path = Path::new("/ro/READONLY");
    for superblock in [superblock(), Superblock { content: None, ..superblock() }] {
        let bytes = superblock.encode().unwrap();
        assert_eq!(Superblock::decode(&bytes, path).unwrap(), superblock);
        for at in 0..bytes.len() {
            for bit in 0..8 {
                let mut changed = bytes.clone();
                changed[at] ^= 1 << bit;
                let error = Superblock::decode(&changed, path).unwrap_err();
                assert!(error.to_string().contains("READONLY is damaged"), "byte {at}, bit {bit}: {error}");
            }
            assert!(Superblock::decode(&bytes[..at], path).is_err(), "cut at {at}");
        }
        let longer = [&bytes[..], b"x"].concat();
        assert!(Superblock::decode(&longer, path).is_err());
    }
}

#[test]
fn a_newer_format_is_named() {
    let mut bytes = MAGIC.to_vec();
    bytes.extend_from_slice(&2u32.to_le_bytes());
    codec::frame::put(&mut bytes, b"whatever it holds", 2, 12).unwrap();
    let error = Superblock::decode(&bytes, Path::new("/ro/READONLY")).unwrap_err();
    assert!(matches!(error, Error::Storage(env::Error::NewerFormat { found: 2, .. })), "{error}");
}

#[test]
fn parts_of_a_build_are_known_by_name() {
    for name in [DATA, "run-1.sst", "index-10.idx"] {
        assert!(is_part(name), "{name}");
    }
    for name in ["READONLY", "READONLY.tmp", "LOCK", "run-x.sst", "index-.idx", "data.sst.bak", "notes.txt"] {
        assert!(!is_part(name), "{name}");
    }
}

#[test]
fn what_no_reader_takes_does_not_become_a_store() {
    let (env, dir) = (Env::in_memory(1), Path::new("/ro"));
    let mut bad = superblock();
    if let Some(content) = &mut bad.content {
        content.data.entries = u64::MAX;
    }
    let mut place = Place::take(&env, dir).unwrap();
    place.finish(&bad).unwrap_err();
    assert!(!env.fs.exists(&dir.join(SUPERBLOCK)).unwrap());
    place.finish(&superblock()).unwrap();
    assert_eq!(Superblock::read(&env, dir).unwrap(), superblock());
}

#[test]
fn a_superblock_has_room_for_the_longest_keys() {
    let path = Path::new("/ro/READONLY");
    let keys = 2 * (crate::MAX_BYTES as u64 + 4);
    check_len(keys + (64 << 10), path).unwrap();
    check_len(keys + (2 << 20), path).unwrap_err();
}
