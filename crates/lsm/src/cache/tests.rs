use super::*;
use alluvium_codec::entry::{Entry, Kind};
use alluvium_env::Env;
use alluvium_sst::{DictionaryRegistry, FooterInfo, Reader, Writer, WriterOptions};
use std::path::Path;

/// A file with many blocks, and its reader through `cache`.
fn reader(cache: &Arc<Cache>) -> Reader {
    let env = Env::in_memory(1);
    env.fs.create_dir_all(Path::new("/d")).unwrap();
    let path = Path::new("/d/00000001.sst");
    let options =
        WriterOptions { block_bytes: 4096, compression: alluvium_sst::Compression::None, ..WriterOptions::default() };
    let mut writer = Writer::create(&env, path, 1, options).unwrap();
    for i in 0..2000u32 {
        let entry = Entry { key: &i.to_be_bytes(), seq: 1, kind: Kind::Put, value: &[7; 1000] };
        writer.add(entry).unwrap();
    }
    let meta = writer.finish(FooterInfo::default()).unwrap();
    Reader::open(&env, path, &meta, cache.clone(), &DictionaryRegistry::new()).unwrap()
}

fn read_all(reader: &Reader) {
    let mut value = Vec::new();
    for i in 0..2000u32 {
        let key = i.to_be_bytes();
        assert!(reader.get(&key, alluvium_codec::hash64(&key), 9, &mut value).unwrap().is_some());
    }
}

#[test]
fn blocks_stay_within_the_capacity_and_follow_it() {
    let budget = Budget::with_shares(1 << 20, 0, 0);
    let cache = Cache::new(&budget);
    let reader = reader(&cache);
    read_all(&reader);
    assert!(cache.bytes() <= 1 << 20 && cache.bytes() > 700 << 10, "{cache:?}");
    assert_eq!(budget.used(Owner::Cache) as u64, cache.bytes());
    let _taken = budget.charge(Owner::Pinned, 800 << 10);
    assert!(cache.bytes() <= 224 << 10, "{cache:?}");
    read_all(&reader);
    assert!(cache.bytes() <= 224 << 10, "{cache:?}");
}

#[test]
fn index_partitions_are_held_within_half_of_the_capacity_and_given_back() {
    let budget = Budget::with_shares(256 << 10, 0, 0);
    let cache = Cache::new(&budget);
    let reader = reader(&cache);
    read_all(&reader);
    let held = cache.held_bytes();
    assert!(held > 8 << 10 && held < 128 << 10, "{held}");
    assert!(cache.bytes() <= 256 << 10, "{cache:?}");
    let taken = budget.charge(Owner::Pinned, 256 << 10);
    assert!(cache.held_bytes() <= 4 << 10, "{}", cache.held_bytes());
    read_all(&reader);
    assert!(cache.bytes() <= 8 << 10, "{cache:?}");
    drop(taken);
    read_all(&reader);
    assert_eq!(cache.held_bytes(), held, "what had no room is held again when there is some");
    drop(reader);
    assert_eq!(cache.held_bytes(), 0, "a file that is closed holds nothing");
}

#[test]
fn a_file_can_be_taken_out() {
    let cache = Cache::new(&Budget::with_shares(64 << 20, 0, 0));
    let reader = reader(&cache);
    read_all(&reader);
    let blocks = cache.blocks();
    assert!(blocks > 500, "{blocks}");
    reader.forget();
    assert_eq!((cache.blocks(), cache.bytes()), (0, 0));
    read_all(&reader);
    assert_eq!(cache.blocks(), blocks);
}

#[test]
fn hits_and_misses_are_counted() {
    let cache = Cache::new(&Budget::with_shares(64 << 20, 0, 0));
    let reader = reader(&cache);
    read_all(&reader);
    let (misses, blocks) = (cache.misses(), cache.blocks() as u64);
    assert_eq!(misses, blocks, "each block is decoded once");
    read_all(&reader);
    assert_eq!(cache.misses(), misses);
    assert!(cache.hits() >= 4000);
    cache.clear();
    assert_eq!(cache.blocks(), 0);
}
