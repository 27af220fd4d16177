//! A look-up by any index file finds the contents of the file. Damage in an index file is reported
//! with its path, and an index file of other data is refused.

use alluvium_codec::entry::{Entry, Kind, MAX_SEQ};
use alluvium_env::{Env, Error, OpenMode};
use alluvium_sst::{Compression, DictionaryRegistry, FileMeta, FooterInfo, IndexFile, IndexFileMeta};
use alluvium_sst::{NoCache, Reader, Writer, WriterOptions};
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

type Pairs = BTreeMap<Vec<u8>, Vec<u8>>;

fn index_path(interval: u64) -> PathBuf {
    PathBuf::from(format!("/db/{interval}.idx"))
}

fn write(env: &Env, pairs: &Pairs, intervals: &[u64], options: WriterOptions) -> (FileMeta, Vec<IndexFileMeta>) {
    env.fs.create_dir_all(Path::new("/db")).unwrap();
    let mut writer = Writer::create(env, Path::new("/db/1.sst"), 1, options).unwrap();
    for (number, interval) in (2..).zip(intervals) {
        writer.add_index(env, &index_path(*interval), number, *interval).unwrap();
    }
    for (key, value) in pairs {
        writer.add(Entry { key, seq: 1, kind: Kind::Put, value }).unwrap();
    }
    writer.finish_with_indexes(FooterInfo::default()).unwrap()
}

fn open_data(env: &Env, meta: &FileMeta) -> Reader {
    Reader::open(env, Path::new("/db/1.sst"), meta, Arc::new(NoCache), &DictionaryRegistry::new()).unwrap()
}

fn open_index(env: &Env, data: &FileMeta, meta: &IndexFileMeta) -> alluvium_env::Result<IndexFile> {
    IndexFile::open(env, &index_path(meta.interval), meta, data, Arc::new(NoCache))
}

fn get(reader: &Reader, index: &IndexFile, key: &[u8]) -> alluvium_env::Result<Option<Vec<u8>>> {
    let mut value = Vec::new();
    let found = reader.get_by(index, key, alluvium_codec::hash64(key), MAX_SEQ, &mut value)?;
    Ok(found.map(|_| value))
}

fn some_pairs() -> Pairs {
    (0..60u32).map(|n| (format!("tree{:03}", n * 7 % 100).into(), format!("value {n} ").repeat(9).into())).collect()
}

fn small() -> WriterOptions {
    let compression = Compression::None;
    WriterOptions { compression, block_bytes: 512, index_partition_blocks: 3, ..WriterOptions::default() }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, ..ProptestConfig::default() })]

    #[test]
    fn any_keys_and_intervals(
        pairs in prop::collection::btree_map(
            prop::collection::vec(0u8..4, 1..7), prop::collection::vec(any::<u8>(), 0..300), 1..200),
        absent in prop::collection::vec(prop::collection::vec(0u8..5, 0..8), 40),
        intervals in prop::collection::btree_set(1u64..60, 1..4),
        block_bytes in 512usize..3000,
        partition_blocks in 1usize..6,
        bits in prop::sample::select(vec![0u32, 10]),
    ) {
        let intervals: Vec<u64> = intervals.into_iter().collect();
        let options = WriterOptions {
            block_bytes, index_partition_blocks: partition_blocks, filter_bits_per_key: bits, ..WriterOptions::default()
        };
        let env = Env::in_memory(1);
        let (data, metas) = write(&env, &pairs, &intervals, options);
        let reader = open_data(&env, &data);
        prop_assert_eq!(reader.verify().unwrap().entries, pairs.len() as u64);
        for meta in &metas {
            // One entry for each interval of keys, and one for the rest.
            prop_assert_eq!(meta.extents, (pairs.len() as u64).div_ceil(meta.interval));
            let index = open_index(&env, &data, meta).unwrap();
            index.verify(&reader).unwrap();
            for key in pairs.keys().chain(&absent) {
                prop_assert_eq!(get(&reader, &index, key).unwrap(), pairs.get(key).cloned());
                prop_assert!(index.may_contain(key, alluvium_codec::hash64(key)).unwrap() || !pairs.contains_key(key));
            }
        }
    }
}

#[test]
fn a_changed_byte_or_a_cut_is_named() {
    let pairs = some_pairs();
    let env = Env::in_memory(1);
    let (data, metas) = write(&env, &pairs, &[10], small());
    let reader = open_data(&env, &data);
    let path = index_path(10);
    let file = env.fs.open(&path, OpenMode::ReadWrite).unwrap();
    let mut whole = vec![0; file.len().unwrap() as usize];
    file.read_exact_at(&mut whole, 0).unwrap();
    let is_named = |result: alluvium_env::Result<()>, what: &str| match result {
        Err(error @ Error::Corrupt { .. }) => assert!(error.to_string().contains("10.idx"), "{what}: {error}"),
        other => panic!("{what}: {other:?}"),
    };
    for at in 0..whole.len() {
        file.write_at(&[whole[at] ^ 0x10], at as u64).unwrap();
        let checked = open_index(&env, &data, &metas[0]).and_then(|index| {
            for (key, value) in &pairs {
                if let Ok(found) = get(&reader, &index, key) {
                    assert_eq!(found.as_ref(), Some(value), "byte {at}");
                }
            }
            index.verify(&reader)
        });
        is_named(checked, &format!("byte {at}"));
        file.write_at(&whole[at..=at], at as u64).unwrap();
    }
    for len in (0..whole.len()).rev() {
        file.set_len(len as u64).unwrap();
        is_named(open_index(&env, &data, &metas[0]).map(drop), &format!("cut at {len}"));
    }
}

#[test]
fn an_index_of_other_data_is_refused() {
    let (one, other) = (Env::in_memory(1), Env::in_memory(1));
    let pairs = some_pairs();
    let (_, metas) = write(&one, &pairs, &[5], small());
    let fewer: Pairs = pairs.into_iter().skip(1).collect();
    let (data, _) = write(&other, &fewer, &[5], small());
    let error = open_index(&one, &data, &metas[0]).map(drop).unwrap_err();
    assert!(error.to_string().contains("an index file of other data"), "{error}");
}

#[test]
fn one_read_for_what_an_index_entry_covers() {
    let pairs = some_pairs();
    let inner = Env::in_memory(1);
    let faults = Arc::new(alluvium_env::fault::FaultFs::new(inner.fs.clone()));
    let env = Env { fs: faults.clone(), ..inner };
    let (data, metas) = write(&env, &pairs, &[30], small());
    assert!(data.bytes > 5000, "several blocks for an index entry");
    let reader = open_data(&env, &data);
    let index = open_index(&env, &data, &metas[0]).unwrap();
    for key in pairs.keys() {
        let before = faults.count(alluvium_env::fault::OpKind::Read);
        assert!(get(&reader, &index, key).unwrap().is_some());
        assert_eq!(
            faults.count(alluvium_env::fault::OpKind::Read) - before,
            2,
            "a partition of the index, and the blocks"
        );
    }
}

#[test]
fn a_tool_reads_an_index_file_as_one() {
    let env = Env::in_memory(1);
    let (_, metas) = write(&env, &some_pairs(), &[4, 16], small());
    let walk = |meta: &IndexFileMeta| {
        let mut roles = Vec::new();
        let registry = DictionaryRegistry::new();
        let walked = alluvium_sst::walk_file(&env, &index_path(meta.interval), meta.number, &registry, &mut |block| {
            roles.push(block.role);
            Ok(())
        });
        (walked.unwrap(), roles)
    };
    for meta in &metas {
        let (walked, roles) = walk(meta);
        assert_eq!(walked.lost, []);
        assert_eq!((walked.index_file.as_ref(), walked.properties), (Some(meta), None));
        let behind = ["aux", "properties", "top-level index"];
        let partitions = roles.len() - behind.len();
        assert!(partitions > 0 && roles[..partitions].iter().all(|role| *role == "index partition"), "{roles:?}");
        assert_eq!(roles[partitions..], behind);
    }
    // A damaged block loses only its own entries, whichever block it is: without the top-level
    // index the other blocks are found by trial.
    let meta = &metas[0];
    let file = env.fs.open(&index_path(meta.interval), OpenMode::ReadWrite).unwrap();
    let mut whole = vec![0; file.len().unwrap() as usize];
    file.read_exact_at(&mut whole, 0).unwrap();
    let (_, roles) = walk(meta);
    for at in [10, whole.len() - alluvium_sst::FOOTER_BYTES as usize - 20] {
        file.write_at(&[whole[at] ^ 1], at as u64).unwrap();
        let (walked, left) = walk(meta);
        assert_eq!((walked.lost.len(), left.len()), (1, roles.len() - 1), "byte {at}: {:?}", walked.lost);
        file.write_at(&whole[at..=at], at as u64).unwrap();
    }
}
