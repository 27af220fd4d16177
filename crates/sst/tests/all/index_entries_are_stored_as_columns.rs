//! Entries of indexes take a few bytes each, because their blocks are stored column by column;
//! readers see no difference.

use crate::common::{Fixture, NUMBER, Owned, all, current, get, sorted};
use alluvium_codec::entry::EntryIter;
use alluvium_codec::key::{self, rank};
use alluvium_sst::{Compression, DictionaryRegistry, NoCache, Reader, WriterOptions, walk_file};
use std::path::Path;
use std::sync::Arc;

fn number(key: &mut Vec<u8>, value: f64) {
    key.push(rank::NUMBER);
    key::put_number(key, key::f64_bits(value));
}

/// Entries of an index on (price, name descending), with some tombstones and versions.
fn entries(count: u64) -> Vec<Owned> {
    let mut rng = fastrand::Rng::with_seed(3);
    let mut entries = Vec::new();
    for id in 0..count {
        let mut key = vec![0, 0, 0, 7];
        number(&mut key, rng.u32(0..90_000) as f64 / 100.0);
        let start = key.len();
        key.push(rank::STRING);
        key::put_bytes(&mut key, ["ada", "grace", "edsger", "barbara"][rng.usize(0..4)].as_bytes());
        key[start..].iter_mut().for_each(|byte| *byte = !*byte);
        number(&mut key, id as f64);
        entries.push(match id % 17 {
            5 => Owned::delete(&key, 100 + id),
            _ => Owned::put(&key, 100 + id, []),
        });
        if id % 31 == 0 {
            entries.push(Owned::put(&key, 99, [1, 2, 3]));
        }
    }
    sorted(entries)
}

fn zstd() -> WriterOptions {
    WriterOptions { compression: Compression::Zstd { level: 3 }, filter_bits_per_key: 0, ..WriterOptions::default() }
}

/// The compression of each data block of a file.
fn methods(fixture: &Fixture) -> Vec<&'static str> {
    let mut methods = Vec::new();
    let registry = DictionaryRegistry::new();
    walk_file(&fixture.env, &fixture.path, NUMBER, &registry, &mut |block| {
        if block.role == "data" {
            methods.push(block.method);
        }
        Ok(())
    })
    .unwrap();
    methods
}

#[test]
fn they_are_much_smaller_and_nobody_can_tell() {
    let entries = entries(5000);
    let fixture = Fixture::new(&entries, zstd());
    let methods = methods(&fixture);
    assert!(methods.len() > 5 && methods.iter().all(|method| method.starts_with("columns")), "{methods:?}");
    let packed = Fixture::new(&entries, WriterOptions { columns: false, ..zstd() });
    assert!(fixture.meta.bytes * 3 < packed.meta.bytes * 2, "{} {}", fixture.meta.bytes, packed.meta.bytes);
    let reader = fixture.open();
    reader.verify().unwrap();
    assert_eq!(all(&reader, true).unwrap(), entries);
    let mut iter = reader.iter(true);
    for entry in entries.iter().step_by(7) {
        assert_eq!(get(&reader, &entry.key, entry.seq).unwrap(), Some((entry.seq, entry.kind, entry.value.clone())));
        iter.seek(&entry.key, entry.seq).unwrap();
        assert_eq!(current(&iter).as_ref(), Some(entry));
    }
}

#[test]
fn without_compression_blocks_are_packed() {
    let fixture = Fixture::new(&entries(500), WriterOptions { compression: Compression::None, ..zstd() });
    assert!(methods(&fixture).iter().all(|method| *method == "raw"));
    let fixture = Fixture::new(&entries(500), WriterOptions { columns: false, ..zstd() });
    assert!(methods(&fixture).iter().all(|method| *method == "zstd"));
    let fixture = Fixture::new(&entries(500), WriterOptions { compression: Compression::Lz4, ..zstd() });
    assert!(methods(&fixture).iter().all(|method| *method == "columns, lz4" || *method == "columns"));
}

#[test]
fn every_flipped_bit_and_every_cut_is_found() {
    let entries = entries(120);
    let options = WriterOptions { block_bytes: 512, index_partition_blocks: 2, ..zstd() };
    let fixture = Fixture::new(&entries, options);
    assert!(methods(&fixture).len() > 2);
    let bytes = fixture.bytes();
    let registry = DictionaryRegistry::new();
    let opened = || Reader::open(&fixture.env, &fixture.path, &fixture.meta, Arc::new(NoCache), &registry);
    for at in 0..bytes.len() {
        let mut damaged = bytes.clone();
        damaged[at] ^= 1 << (at % 8);
        fixture.set_bytes(&damaged);
        let Ok(reader) = opened() else { continue };
        let reader = Arc::new(reader);
        assert!(reader.verify().is_err(), "byte {at}");
        for (found, entry) in all(&reader, false).unwrap_or_default().iter().zip(&entries) {
            assert_eq!(found, entry, "byte {at}");
        }
    }
    for cut in 0..bytes.len() {
        fixture.set_bytes(&bytes[..cut]);
        assert!(opened().is_err(), "cut at {cut}");
    }
}

#[test]
fn a_file_written_earlier_is_read() {
    let bytes = include_bytes!("../fixtures/v1-columns.sst");
    let env = alluvium_env::Env::in_memory(1);
    let path = Path::new("/v1-columns.sst");
    env.fs.open(path, alluvium_env::OpenMode::CreateNew).unwrap().write_at(bytes, 0).unwrap();
    let reader = Reader::open_unlisted(&env, path, NUMBER, Arc::new(NoCache), &DictionaryRegistry::new()).unwrap();
    reader.verify().unwrap();
    assert_eq!(all(&Arc::new(reader), false).unwrap(), entries(300));
}

#[test]
fn a_value_of_another_type_does_not_spoil_the_others() {
    let mut mixed = entries(2000);
    for id in 0..200u32 {
        let mut key = vec![0, 0, 0, 7, rank::NULL];
        let name = key.len();
        key.push(rank::STRING);
        key::put_bytes(&mut key, b"nobody");
        key[name..].iter_mut().for_each(|byte| *byte = !*byte);
        number(&mut key, f64::from(id));
        mixed.push(Owned::put(&key, 5, []));
    }
    let mixed = sorted(mixed);
    let fixture = Fixture::new(&mixed, WriterOptions { block_bytes: 64 << 10, ..zstd() });
    assert!(methods(&fixture).iter().all(|method| method.starts_with("columns")));
    assert_eq!(all(&fixture.open(), false).unwrap(), mixed);
}
