//! The store that is the fixture of a format version: the same bytes on every machine.

use alluvium_env::Env;
use alluvium_readonly::{BuildOptions, Compression, OnDuplicate, ReadOnly, Result};
use std::path::Path;

/// The pairs, in the order in which they are added; the first and the last have the same key.
pub fn pairs() -> Vec<(Vec<u8>, Vec<u8>)> {
    let mut pairs: Vec<(Vec<u8>, Vec<u8>)> = (0..12u32)
        .map(|n| (format!("key {:02}", n * 5 % 12).into_bytes(), format!("value {n}").into_bytes()))
        .collect();
    pairs.push((b"key 00".to_vec(), b"the later value".to_vec()));
    pairs
}

/// Builds the store.
pub fn build(env: Env, dir: &Path) -> Result<()> {
    let options = BuildOptions {
        compression: Compression::None,
        block_bytes: 512,
        index_intervals: vec![2, 5],
        on_duplicate: OnDuplicate::Replace,
        label: b"label".to_vec(),
        ..BuildOptions::default()
    };
    let mut build = ReadOnly::build_in(env, dir, options)?;
    for (key, value) in pairs() {
        build.add(&key, &value)?;
    }
    build.finish(b"aux".to_vec()).map(drop)
}
