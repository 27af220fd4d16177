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
    alluvium_codec::frame::put(&mut bytes, b"whatever it holds", 2, 12).unwrap();
    let error = Superblock::decode(&bytes, Path::new("/ro/READONLY")).unwrap_err();
    assert!(matches!(error, Error::Storage(alluvium_env::Error::NewerFormat { found: 2, .. })), "{error}");
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
    let mut place = BuildDir::take(&env, dir).unwrap();
    place.finish(&bad).unwrap_err();
    assert!(!env.fs.exists(&dir.join(SUPERBLOCK)).unwrap());
    place.finish(&superblock()).unwrap();
    assert_eq!(Superblock::read(&env, dir).unwrap(), superblock());
}

#[test]
fn a_superblock_has_room_for_the_longest_keys() {
    let path = Path::new("/ro/READONLY");
    let keys = 2 * (MAX_BYTES as u64 + 4);
    check_len(keys + (64 << 10), path).unwrap();
    check_len(keys + (2 << 20), path).unwrap_err();
}

#[test]
fn what_no_build_says_is_refused() {
    let path = Path::new("/ro/READONLY");
    let refused = |what: &str, change: &dyn Fn(&mut Content)| {
        let mut bad = superblock();
        change(bad.content.as_mut().unwrap());
        let error = Superblock::decode(&bad.encode().unwrap(), path).unwrap_err();
        assert!(error.to_string().contains("READONLY is damaged"), "{what}: {error}");
    };
    let index = |content: &mut Content, number, interval| {
        content.indexes.push(IndexFileMeta { number, interval, ..content.indexes[0].clone() });
    };
    refused("a number above the limit", &|content| content.indexes[0].bytes = 1 << 56);
    refused("another number of the sorted file", &|content| content.data.number = 2);
    refused("fewer bytes than keys have", &|content| (content.data.entries, content.data.raw_bytes) = (10, 39));
    refused("an interval of nothing", &|content| content.indexes[0].interval = 0);
    refused("intervals that fall", &|content| index(content, 3, 9));
    refused("an interval twice", &|content| index(content, 3, 10));
    refused("numbers that do not follow", &|content| index(content, 4, 11));
    refused("numbers that begin elsewhere", &|content| content.indexes[0].number = 3);
    let mut good = superblock();
    let content = good.content.as_mut().unwrap();
    (content.data.entries, content.data.raw_bytes) = (10, 40);
    (content.data.bytes, content.indexes[0].bytes) = ((1 << 56) - 1, (1 << 56) - 1);
    index(content, 3, 11);
    assert_eq!((content.raw_bytes(), content.disk_bytes()), (0, 3 * ((1 << 56) - 1)));
    assert_eq!(Superblock::decode(&good.encode().unwrap(), path).unwrap(), good);
    let many = Superblock { duplicates: 1 << 56, ..superblock() };
    Superblock::decode(&many.encode().unwrap(), path).unwrap_err();
}

#[test]
fn flags_and_bytes_that_mean_nothing_are_refused() {
    let path = Path::new("/ro/READONLY");
    let with_payload = |payload: &[u8]| {
        let mut bytes = MAGIC.to_vec();
        bytes.extend_from_slice(&FORMAT_VERSION.to_le_bytes());
        alluvium_codec::frame::put(&mut bytes, payload, u64::from(FORMAT_VERSION), 12).unwrap();
        Superblock::decode(&bytes, path)
    };
    for superblock in [superblock(), Superblock { content: None, ..superblock() }] {
        let payload = superblock.encode().unwrap().split_off(20);
        assert_eq!(with_payload(&payload).unwrap(), superblock);
        with_payload(&[&payload[..], &[0]].concat()).unwrap_err();
        // The byte follows the id, the label with its length, and the number of duplicates.
        let mut flagged = payload.clone();
        assert_eq!(flagged[15], u8::from(superblock.content.is_some()));
        flagged[15] = 2;
        with_payload(&flagged).unwrap_err();
    }
}
