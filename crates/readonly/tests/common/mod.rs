//! Shared by the tests.
#![allow(dead_code)]

use alluvium_env::Env;
use alluvium_readonly::{Bounds, BuildOptions, BuildReport, ReadOnly, ReadOnlyOptions, Result};
use std::collections::BTreeMap;
use std::path::Path;

pub const DIR: &str = "/ro";

pub type Pairs = Vec<(Vec<u8>, Vec<u8>)>;
pub type Model = BTreeMap<Vec<u8>, Vec<u8>>;

/// Builds a store of these pairs.
pub fn build(env: &Env, pairs: &Pairs, options: BuildOptions) -> Result<BuildReport> {
    let mut build = ReadOnly::build_in(env.clone(), DIR, options)?;
    for (key, value) in pairs {
        build.add(key, value)?;
    }
    build.finish(b"aux".to_vec())
}

pub fn open(env: &Env, index_interval: Option<u64>) -> Result<ReadOnly> {
    let options = ReadOnlyOptions { memory_bytes: 1 << 20, index_interval };
    ReadOnly::open_in(env.clone(), DIR, &options)
}

/// All pairs of a range.
pub fn walk(store: &ReadOnly, bounds: &Bounds) -> Result<Pairs> {
    let mut scan = store.scan(bounds);
    let mut pairs = Vec::new();
    while let Some((key, value)) = scan.next()? {
        pairs.push((key.to_vec(), value.to_vec()));
    }
    Ok(pairs)
}

pub fn get(store: &ReadOnly, key: &[u8]) -> Result<Option<Vec<u8>>> {
    let mut value = b"before".to_vec();
    Ok(store.get(key, &mut value)?.then_some(value))
}

/// The names in the store's directory; none if there is no such directory.
pub fn names(env: &Env) -> Vec<String> {
    match env.fs.exists(Path::new(DIR)).unwrap() {
        true => env.fs.list(Path::new(DIR)).unwrap().into_iter().map(|entry| entry.name).collect(),
        false => Vec::new(),
    }
}

/// `count` pairs with distinct keys, not in order, whose values can be compressed.
pub fn some_pairs(count: u64) -> Pairs {
    let pair = |n: u64| {
        let key = alluvium_codec::hash64(&n.to_be_bytes()).to_be_bytes().to_vec();
        (key, format!("the value of pair {n}, again {n}").into_bytes())
    };
    (0..count).map(pair).collect()
}
