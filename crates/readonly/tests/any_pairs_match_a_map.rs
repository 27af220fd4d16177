//! Stores are built from any pairs in any order, with any options, and with budgets so small that runs are merged in
//! several passes. Reads by every index return the content of a map. The position in the input decides which of two
//! pairs with the same key is kept.

mod common;

use alluvium_env::Env;
use alluvium_readonly::{Bounds, BuildOptions, Compression, Error, OnDuplicate};
use common::{Model, Pairs, build, get, names, open, walk};
use proptest::prelude::*;
use std::ops::Bound;

/// The expected pairs, and the position of the first pair that repeats the key of an earlier pair.
fn expected(pairs: &Pairs, on_duplicate: OnDuplicate) -> (Model, Option<u64>) {
    let (mut model, mut first) = (Model::new(), None);
    for (position, (key, value)) in (1..).zip(pairs) {
        if model.contains_key(key) {
            first = first.or(Some(position));
            if on_duplicate != OnDuplicate::Replace {
                continue;
            }
        }
        model.insert(key.clone(), value.clone());
    }
    (model, first)
}

fn options() -> impl Strategy<Value = BuildOptions> {
    let intervals = prop::collection::vec(1u64..40, 0..3);
    let on_duplicate = prop::sample::select(vec![OnDuplicate::Error, OnDuplicate::Replace, OnDuplicate::Skip]);
    let compression = prop::sample::select(vec![Compression::None, Compression::Lz4, Compression::Zstd { level: 3 }]);
    let run_bytes = prop::option::of(400usize..4000);
    (intervals, on_duplicate, compression, run_bytes, 2usize..5, 512usize..4096, prop::sample::select(vec![0, 10]))
        .prop_map(|(index_intervals, on_duplicate, compression, run_bytes, width, block_bytes, bits)| BuildOptions {
            memory_bytes: 1 << 20,
            block_bytes,
            compression,
            filter_bits_per_key: bits,
            index_intervals,
            on_duplicate,
            run_bytes,
            merge_width: Some(width),
            ..BuildOptions::default()
        })
}

fn check(env: &Env, model: &Model, intervals: &[u64], others: &[Vec<u8>]) {
    let expected: Pairs = model.iter().map(|(key, value)| (key.clone(), value.clone())).collect();
    for interval in intervals.iter().map(|interval| Some(*interval)).chain([None]) {
        let store = open(env, interval).unwrap();
        assert_eq!(store.len(), model.len() as u64);
        for key in model.keys().chain(others) {
            assert_eq!(get(&store, key).unwrap(), model.get(key).cloned(), "{key:?} by {interval:?}");
        }
        assert_eq!(store.verify().unwrap().len(), 0);
        assert_eq!(store.aux().unwrap(), if model.is_empty() { b"" } else { &b"aux"[..] });
    }
    let store = open(env, None).unwrap();
    assert_eq!(walk(&store, &Bounds::all()).unwrap(), expected);
    let backwards: Pairs = expected.iter().rev().cloned().collect();
    assert_eq!(walk(&store, &Bounds { reverse: true, ..Bounds::all() }).unwrap(), backwards);
    for pair in others.chunks(2) {
        let [a, b] = pair else { continue };
        let (low, high) = if a < b { (a, b) } else { (b, a) };
        for (lower, upper) in [
            (Bound::Included(low.clone()), Bound::Excluded(high.clone())),
            (Bound::Excluded(low.clone()), Bound::Included(high.clone())),
            (Bound::Unbounded, Bound::Included(low.clone())),
        ] {
            let range = (lower.as_ref(), upper.as_ref());
            let mut within: Pairs =
                expected.iter().filter(|(key, _)| std::ops::RangeBounds::contains(&range, key)).cloned().collect();
            let bounds = Bounds { lower: lower.clone(), upper: upper.clone(), reverse: false };
            assert_eq!(walk(&store, &bounds).unwrap(), within);
            within.reverse();
            assert_eq!(walk(&store, &Bounds { reverse: true, ..bounds }).unwrap(), within);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 120, ..ProptestConfig::default() })]

    #[test]
    fn any_pairs_and_options(
        pairs in prop::collection::vec(
            (prop::collection::vec(0u8..6, 0..7), prop::collection::vec(any::<u8>(), 0..200)), 0..250),
        others in prop::collection::vec(prop::collection::vec(0u8..7, 0..8), 20),
        options in options(),
    ) {
        let env = Env::in_memory(1);
        let (model, first) = expected(&pairs, options.on_duplicate);
        let intervals = options.index_intervals.clone();
        let on_duplicate = options.on_duplicate;
        match (build(&env, &pairs, options), first) {
            (Err(Error::DuplicateKey { position, key }), Some(first)) => {
                prop_assert_eq!(on_duplicate, OnDuplicate::Error);
                prop_assert_eq!(position, first);
                prop_assert_eq!(&key, &pairs[first as usize - 1].0);
                prop_assert_eq!(names(&env), Vec::<String>::new(), "nothing is left");
            }
            (Err(error), _) => prop_assert!(false, "{error}"),
            (Ok(report), first) => {
                prop_assert!(on_duplicate != OnDuplicate::Error || first.is_none());
                prop_assert_eq!(report.pairs, model.len() as u64);
                prop_assert_eq!(report.duplicates, (pairs.len() - model.len()) as u64);
                prop_assert_eq!(names(&env).iter().filter(|name| name.starts_with("run-")).count(), 0);
                check(&env, &model, &intervals, &others);
            }
        }
    }
}

#[test]
fn many_runs_are_merged_in_several_passes() {
    let pairs = common::some_pairs(3000);
    let env = Env::in_memory(1);
    let options = BuildOptions {
        run_bytes: Some(4 << 10),
        merge_width: Some(3),
        index_intervals: vec![10, 100],
        ..BuildOptions::default()
    };
    let report = build(&env, &pairs, options).unwrap();
    assert!(report.runs > 40, "{report:?}");
    assert!(report.merge_passes > 10, "{report:?}");
    let model: Model = pairs.into_iter().collect();
    check(&env, &model, &[10, 100], &[b"absent".to_vec(), Vec::new()]);
    let stats = open(&env, Some(100)).unwrap().stats();
    assert_eq!(stats.index_interval, Some(100));
    assert_eq!(
        stats.indexes.iter().map(|index| (index.interval, index.entries)).collect::<Vec<_>>(),
        [(10, 300), (100, 30)]
    );
    assert!(stats.indexes[1].bytes < stats.indexes[0].bytes);
}

#[test]
fn the_memory_budget_changes_nothing_in_the_store() {
    let mut pairs = common::some_pairs(500);
    pairs.extend(common::some_pairs(300).into_iter().map(|(key, _)| (key, b"again".to_vec())));
    for on_duplicate in [OnDuplicate::Replace, OnDuplicate::Skip] {
        let mut found = Vec::new();
        for run_bytes in [None, Some(2000), Some(9000)] {
            let env = Env::in_memory(1);
            build(&env, &pairs, BuildOptions { on_duplicate, run_bytes, ..BuildOptions::default() }).unwrap();
            found.push(walk(&open(&env, None).unwrap(), &Bounds::all()).unwrap());
        }
        assert_eq!(found[0], found[1]);
        assert_eq!(found[0], found[2]);
        assert_eq!(found[0].len(), 500);
        let again = found[0].iter().filter(|(_, value)| value == b"again").count();
        assert_eq!(again, if on_duplicate == OnDuplicate::Replace { 300 } else { 0 });
    }
}

#[test]
fn a_store_of_long_keys_opens() {
    for count in [1u8, 2] {
        let env = Env::in_memory(1);
        let pairs: Pairs = (0..count).map(|n| (vec![b'a' + n; 600_000], b"value".to_vec())).collect();
        let options = BuildOptions { index_intervals: vec![1], ..BuildOptions::default() };
        build(&env, &pairs, options).unwrap();
        check(&env, &pairs.into_iter().collect(), &[1], &[vec![b'a'; 599_999]]);
    }
}
