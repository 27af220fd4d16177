//! Files agree with a sorted vector: gets at every number, seeks, and walks in both directions,
//! with versions of a key that continue over blocks and partitions.

use crate::common;
use crate::common::{Fixture, KeepAll, Owned, current, get, sorted};
use alluvium_codec::entry::{EntryIter, MAX_SEQ, Seq};
use alluvium_sst::{Compression, NoCache, WriterOptions};
use proptest::prelude::*;
use std::sync::Arc;

fn entries() -> impl Strategy<Value = Vec<Owned>> {
    let key = prop_oneof![
        proptest::collection::vec(0u8..3, 0..4),
        proptest::collection::vec(prop_oneof![Just(0u8), Just(b'a'), Just(0xff)], 0..9),
        (0u32..40).prop_map(|n| format!("tree{n:04}").into_bytes()),
    ];
    let value = prop_oneof![
        6 => proptest::collection::vec(any::<u8>(), 0..60),
        3 => (0usize..300).prop_map(|n| vec![b'x'; n]),
        1 => proptest::collection::vec(any::<u8>(), 500..1500),
    ];
    let seq = prop_oneof![6 => 1u64..60, 1 => 1u64..MAX_SEQ, 1 => Just(MAX_SEQ), 1 => Just(0u64)];
    let entry = (key, seq, 0u8..5, value).prop_map(|(key, seq, kind, value)| match kind {
        0 => Owned::delete(key, seq),
        _ => Owned::put(key, seq, value),
    });
    proptest::collection::vec(entry, 1..250).prop_map(sorted)
}

fn options() -> impl Strategy<Value = WriterOptions> {
    let compression =
        prop_oneof![Just(Compression::None), Just(Compression::Lz4), Just(Compression::Zstd { level: 1 })];
    let interval = prop_oneof![Just(0u32), Just(1), Just(2), Just(16), Just(5)];
    (compression, interval, 512usize..3000, 0u32..12, 1usize..6).prop_map(
        |(compression, restart_interval, block_bytes, bits, blocks)| WriterOptions {
            block_bytes,
            compression,
            restart_interval,
            filter_bits_per_key: bits,
            index_partition_blocks: blocks,
            ..WriterOptions::default()
        },
    )
}

/// The model's answer to a get.
fn model_get<'a>(model: &'a [Owned], key: &[u8], seq: Seq) -> Option<&'a Owned> {
    model.iter().find(|entry| entry.key == key && entry.seq <= seq)
}

/// The model's answer to a seek, as an index.
fn model_seek(model: &[Owned], key: &[u8], seq: Seq) -> usize {
    model.partition_point(|entry| alluvium_codec::entry::compare(&entry.key, entry.seq, key, seq).is_lt())
}

/// Existing keys, and neighbours that may not exist.
fn probes(model: &[Owned]) -> Vec<Vec<u8>> {
    let mut keys = vec![vec![], vec![0xff; 12], b"tree".to_vec()];
    for entry in model {
        keys.push(entry.key.clone());
        keys.push([&entry.key[..], &[0]].concat());
        keys.push(entry.key[..entry.key.len().saturating_sub(1)].to_vec());
        if let Some((&last, rest)) = entry.key.split_last() {
            keys.push([rest, &[last.wrapping_add(1)]].concat());
        }
    }
    keys.sort();
    keys.dedup();
    keys
}

/// Sequence numbers around the numbers of a key.
fn seqs_of(model: &[Owned], key: &[u8]) -> Vec<Seq> {
    let mut seqs = vec![0, 30, MAX_SEQ];
    for entry in model.iter().filter(|entry| entry.key == key) {
        seqs.extend([entry.seq.saturating_sub(1), entry.seq, (entry.seq + 1).min(MAX_SEQ)]);
    }
    seqs.sort_unstable();
    seqs.dedup();
    seqs
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 120, ..ProptestConfig::default() })]

    #[test]
    fn gets_and_seeks(model in entries(), options in options(), fill_cache: bool) {
        let fixture = Fixture::new(&model, options);
        let reader = fixture.open();
        let check = reader.verify().unwrap();
        prop_assert_eq!(check.entries, model.len() as u64);
        let mut iter = reader.iter(fill_cache);
        for key in probes(&model) {
            let there = model.iter().any(|entry| entry.key == key);
            prop_assert!(!there || reader.may_contain(&key, alluvium_codec::hash64(&key)).unwrap());
            for seq in seqs_of(&model, &key) {
                let found = get(&reader, &key, seq).unwrap();
                let expected = model_get(&model, &key, seq).map(|e| (e.seq, e.kind, e.value.clone()));
                prop_assert_eq!(found, expected, "get {:?} at {}", &key, seq);
                iter.seek(&key, seq).unwrap();
                prop_assert_eq!(current(&iter), model.get(model_seek(&model, &key, seq)).cloned());
            }
            iter.seek_before(&key).unwrap();
            let before = model.partition_point(|entry| entry.key < key).checked_sub(1);
            prop_assert_eq!(current(&iter), before.map(|at| model[at].clone()));
        }
    }

    #[test]
    fn walks(
        model in entries(),
        options in options(),
        fill_cache: bool,
        cached: bool,
        moves in proptest::collection::vec((0u8..12, any::<prop::sample::Index>()), 1..400),
    ) {
        let fixture = Fixture::new(&model, options);
        let cache: Arc<dyn alluvium_sst::BlockCache> = if cached { Arc::new(KeepAll::default()) } else { Arc::new(NoCache) };
        let reader = fixture.open_with(cache).unwrap();
        let keys = probes(&model);
        let mut iter = reader.iter(fill_cache);
        let mut at: Option<usize> = None;
        for (which, index) in moves {
            let key = index.get(&keys);
            at = match which {
                0 => { iter.seek_first().unwrap(); Some(0) }
                1 => { iter.seek_last().unwrap(); Some(model.len() - 1) }
                2 => { iter.seek(key, 30).unwrap(); Some(model_seek(&model, key, 30)) }
                3 => { iter.seek_before(key).unwrap(); model.partition_point(|e| e.key < *key).checked_sub(1) }
                4..=7 => { iter.next().unwrap(); at.map(|at| at + 1) }
                _ => { iter.prev().unwrap(); at.and_then(|at| at.checked_sub(1)) }
            }.filter(|&at| at < model.len());
            prop_assert_eq!(current(&iter), at.map(|at| model[at].clone()));
        }
    }

    #[test]
    fn whole_scans_both_ways(model in entries(), options in options(), fill_cache: bool) {
        let fixture = Fixture::new(&model, options);
        let reader = fixture.open();
        prop_assert_eq!(&common::all(&reader, fill_cache).unwrap(), &model);
        let mut iter = reader.iter(fill_cache);
        iter.seek_last().unwrap();
        let mut backwards = Vec::new();
        while let Some(entry) = current(&iter) {
            backwards.push(entry);
            iter.prev().unwrap();
        }
        backwards.reverse();
        prop_assert_eq!(&backwards, &model);
        let raw: usize = model.iter().map(|e| e.key.len() + e.value.len()).sum();
        prop_assert_eq!(reader.meta().raw_bytes, raw as u64);
        prop_assert_eq!(&reader.meta().smallest, &model[0].key);
        prop_assert_eq!(&reader.meta().largest, &model[model.len() - 1].key);
        prop_assert_eq!(reader.meta().min_seq, model.iter().map(|e| e.seq).min().unwrap());
        prop_assert_eq!(reader.meta().max_seq, model.iter().map(|e| e.seq).max().unwrap());
    }
}
