//! If any byte of a file is changed, or the file is cut at any length, each read returns the right result or an error.

use crate::common::{Fixture, NUMBER, Owned, all, get, sorted};
use alluvium_env::Error;
use alluvium_sst::{Compression, Dictionary, DictionaryRegistry, FileMeta, NoCache, Reader, WriterOptions};
use std::sync::Arc;

fn entries() -> Vec<Owned> {
    let mut entries = Vec::new();
    for n in 0u64..40 {
        let key = format!("tree{:03}", n / 3 * 7);
        match n % 7 {
            5 => entries.push(Owned::delete(key, 100 - n)),
            _ => entries.push(Owned::put(key, 100 - n, format!("the value {n} of the key, again and again, {n}"))),
        }
    }
    entries.push(Owned::put("tree999", 7, vec![b'z'; 700]));
    sorted(entries)
}

fn variants() -> Vec<(&'static str, WriterOptions)> {
    let samples: Vec<_> = (0..400).map(|n| format!("the value {n} of the key, again and again, {n}")).collect();
    let dictionary = Arc::new(Dictionary::train(&samples, 512).unwrap());
    let small = WriterOptions { block_bytes: 512, index_partition_blocks: 2, ..WriterOptions::default() };
    let zstd = Compression::Zstd { level: 3 };
    vec![
        ("none", WriterOptions { compression: Compression::None, ..small.clone() }),
        ("lz4, groups", WriterOptions { compression: Compression::Lz4, restart_interval: 4, ..small.clone() }),
        ("zstd", WriterOptions { compression: zstd, ..small.clone() }),
        ("dictionary", WriterOptions { compression: zstd, dictionary: Some(dictionary), ..small }),
    ]
}

fn is_damage(error: &Error, what: &str) {
    assert!(matches!(error, Error::Corrupt { .. }), "{what}: {error}");
    assert!(error.to_string().contains("7.sst"), "{what}: {error}");
}

/// Opens the damaged file and reads all of it in every way. Returns true if no damage was noticed.
fn read_every_way(fixture: &Fixture, model: &[Owned], what: &str) -> bool {
    let registry = DictionaryRegistry::new();
    let reader = match Reader::open(&fixture.env, &fixture.path, &fixture.meta, Arc::new(NoCache), &registry) {
        Ok(reader) => Arc::new(reader),
        Err(error) => {
            is_damage(&error, what);
            return false;
        }
    };
    let mut whole = true;
    for entry in model {
        match get(&reader, &entry.key, entry.seq) {
            Ok(found) => assert_eq!(found, Some((entry.seq, entry.kind, entry.value.clone())), "{what}"),
            Err(error) => {
                is_damage(&error, what);
                whole = false;
            }
        }
    }
    for fill_cache in [false, true] {
        match all(&reader, fill_cache) {
            Ok(found) => assert_eq!(found, model, "{what}"),
            Err(error) => {
                is_damage(&error, what);
                whole = false;
            }
        }
    }
    match reader.aux() {
        Ok(aux) => assert_eq!(aux, b"shapes", "{what}"),
        Err(error) => {
            is_damage(&error, what);
            whole = false;
        }
    }
    match reader.verify() {
        Ok(check) => assert_eq!(check.entries, model.len() as u64, "{what}"),
        Err(error) => {
            is_damage(&error, what);
            whole = false;
        }
    }
    whole
}

#[test]
fn every_byte_flipped() {
    let model = entries();
    for (name, options) in variants() {
        let fixture = Fixture::new(&model, options);
        let bytes = fixture.bytes();
        assert!(read_every_way(&fixture, &model, name));
        for at in 0..bytes.len() {
            let mut damaged = bytes.clone();
            damaged[at] ^= [0x01, 0x80, 0xff, 0x10][at % 4];
            fixture.set_bytes(&damaged);
            let what = format!("{name}, byte {at} of {}", bytes.len());
            assert!(!read_every_way(&fixture, &model, &what), "{what} was not noticed");
        }
    }
}

#[test]
fn cut_at_every_length() {
    let model = entries();
    for (name, options) in variants() {
        let fixture = Fixture::new(&model, options);
        let bytes = fixture.bytes();
        for len in 0..bytes.len() {
            fixture.set_bytes(&bytes[..len]);
            let what = format!("{name}, cut to {len} of {}", bytes.len());
            let error = fixture.open_with(Arc::new(NoCache)).err().unwrap();
            is_damage(&error, &what);
            let registry = DictionaryRegistry::new();
            let unlisted = Reader::open_unlisted(&fixture.env, &fixture.path, NUMBER, Arc::new(NoCache), &registry);
            is_damage(&unlisted.err().unwrap(), &what);
        }
        fixture.set_bytes(&[&bytes[..], &[0]].concat());
        assert!(fixture.open_with(Arc::new(NoCache)).is_err(), "{name}, one byte more");
    }
}

#[test]
fn another_file_in_its_place() {
    let model = entries();
    let options = WriterOptions { compression: Compression::None, ..WriterOptions::default() };
    let fixture = Fixture::new(&model, options.clone());
    let mut other = model.clone();
    other[3].value[0] ^= 1;
    let other = Fixture::new(&other, options);
    assert_eq!(fixture.meta.bytes, other.meta.bytes);
    fixture.set_bytes(&other.bytes());
    is_damage(&fixture.open_with(Arc::new(NoCache)).err().unwrap(), "the same size, another content");
    // The same bytes under another number are detected too.
    let meta = FileMeta { number: NUMBER + 1, ..other.meta.clone() };
    let opened = Reader::open(&other.env, &other.path, &meta, Arc::new(NoCache), &other.registry);
    is_damage(&opened.err().unwrap(), "another number");
}

#[test]
fn blocks_swapped_within_a_file() {
    let entries: Vec<_> = (1u8..8).map(|n| Owned::put([b't', n], 5, vec![n; 600])).collect();
    let fixture = Fixture::new(
        &entries,
        WriterOptions { block_bytes: 512, compression: Compression::None, ..WriterOptions::default() },
    );
    let bytes = fixture.bytes();
    // The two blocks have the same length, and both are whole: only their locations are wrong.
    let place_of = |n: u8| bytes.windows(600).position(|window| window == [n; 600]).unwrap();
    let len = place_of(2) - place_of(1);
    assert_eq!(place_of(3) - place_of(2), len);
    let swapped = [&bytes[len..2 * len], &bytes[..len], &bytes[2 * len..]].concat();
    fixture.set_bytes(&swapped);
    let reader = fixture.open();
    for n in [1u8, 2] {
        is_damage(&get(&reader, &[b't', n], 9).err().unwrap(), "a swapped block");
    }
    assert!(get(&reader, &[b't', 3], 9).unwrap().is_some());
    assert!(reader.verify().is_err());
}

#[test]
fn a_block_with_a_checksum_of_its_own_is_found_by_the_check() {
    let options = WriterOptions { compression: Compression::None, ..WriterOptions::default() };
    let fixture = Fixture::new(&entries(), options);
    let mut bytes = fixture.bytes();
    let value_at = bytes.windows(9).position(|window| window == b"the value").unwrap();
    bytes[value_at] ^= 1;
    // The first data block is at offset 0 and ends with the tag 0 and the checksum.
    let seed = NUMBER.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let original = fixture.bytes();
    let is_end = |end: &usize| {
        original[..*end].last() == Some(&0)
            && original[*end..*end + 4] == alluvium_codec::checksum32(&original[..*end], seed).to_le_bytes()
    };
    let end = (1..bytes.len() - 4).find(is_end).unwrap();
    let checksum = alluvium_codec::checksum32(&bytes[..end], seed);
    bytes[end..end + 4].copy_from_slice(&checksum.to_le_bytes());
    fixture.set_bytes(&bytes);
    let error = fixture.open().verify().unwrap_err();
    assert!(error.to_string().contains("digest"), "{error}");
}

#[test]
fn counts_between_keys_come_to_an_end_whatever_the_order_of_bounds() {
    let entries: Vec<_> = (1u8..8).map(|n| Owned::put([b't', n], 5, vec![b'v'; 600])).collect();
    let options = WriterOptions { block_bytes: 512, index_partition_blocks: 1, ..WriterOptions::default() };
    let fixture = Fixture::new(&entries, options);
    let whole = fixture.bytes();
    // The top-level index, and the last bytes of the bounds in it.
    let handle = whole.len() - 112 + 76;
    let start = u64::from_le_bytes(whole[handle..handle + 8].try_into().unwrap()) as usize;
    let end = start + u32::from_le_bytes(whole[handle + 8..handle + 12].try_into().unwrap()) as usize;
    let keys = start + whole[start..end].windows(7).position(|keys| keys == [1, 2, 3, 4, 5, 6, 7]).unwrap();
    let seed = NUMBER.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ start as u64;
    let mut rng = fastrand::Rng::with_seed(4);
    for _ in 0..300 {
        let mut bytes = whole.clone();
        rng.shuffle(&mut bytes[keys..keys + 7]);
        let sum = alluvium_codec::checksum32(&bytes[start..end - 4], seed);
        bytes[end - 4..end].copy_from_slice(&sum.to_le_bytes());
        fixture.set_bytes(&bytes);
        let reader = fixture.open();
        for (lower, upper) in (0u8..9).flat_map(|lower| (lower..9).map(move |upper| (lower, upper))) {
            let count = reader.entries_between(&[b't', lower], &[b't', upper]).unwrap();
            assert!(count <= entries.len() as u64, "{count} from {lower} to {upper} of {:?}", &bytes[keys..keys + 7]);
        }
    }
}

#[test]
fn a_newer_version_is_told_from_damage() {
    let fixture = Fixture::new(&entries(), WriterOptions::default());
    let mut bytes = fixture.bytes();
    let end = bytes.len();
    bytes[end - 12..end - 8].copy_from_slice(&2u32.to_le_bytes());
    fixture.set_bytes(&bytes);
    is_damage(&fixture.open_with(Arc::new(NoCache)).err().unwrap(), "the version alone changed");
    let checksum = alluvium_codec::checksum64(&bytes[end - 112 + 8..], NUMBER);
    bytes[end - 112..end - 104].copy_from_slice(&checksum.to_le_bytes());
    fixture.set_bytes(&bytes);
    let error = fixture.open_with(Arc::new(NoCache)).err().unwrap();
    assert!(matches!(error, Error::NewerFormat { found: 2, supported: 1, .. }), "{error}");
}
