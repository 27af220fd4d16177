//! Read-only stores, made to be damaged, fuzzed and kept as fixtures.

use super::types::types;
use crate::model::map_of;
use alluvium::{BuildOptions, Map, ReadOnly, Value};
use alluvium_env::Env;

/// The documents of a read-only store: all types, and several shapes.
pub fn documents(many: i32) -> Vec<Map> {
    let typed = types().into_iter().map(|(name, value)| {
        let map = [("_id", Value::from(name)), ("value", value)];
        map.into_iter().map(|(name, value)| (Value::from(name), value)).collect()
    });
    let pet = |n: i32| map_of(&format!(r#"{{"_id":{n},"kind":"pet {}","names":["a{n}",{{"b":{n}}}]}}"#, n % 5));
    (0..many).map(pet).chain(typed).collect()
}

/// Makes a read-only store of documents, with two index files.
///
/// # Panics
/// If it cannot be made.
pub fn build(env: &Env, dir: &str, documents: &[Map]) {
    let options = BuildOptions {
        memory_bytes: 8 << 20,
        block_bytes: 512,
        index_intervals: vec![4, 16],
        compression: alluvium_sst::Compression::Lz4,
        ..BuildOptions::default()
    };
    let mut build = ReadOnly::build_in(env.clone(), dir, "main.pets", options).expect("an empty directory");
    documents.iter().for_each(|map| build.add(map).expect("a document"));
    build.finish().expect("a store");
}
