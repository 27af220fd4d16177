//! Read-only stores for damage, fuzzing and fixtures.

use super::types::types;
use crate::model::map_of;
use alluvium::{Compression, Map, ReadOnly, Value};
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

/// Creates a read-only store of documents, with two index files.
///
/// # Panics
/// If the store cannot be created.
pub fn build(env: &Env, dir: &str, documents: &[Map]) {
    let build = ReadOnly::build(dir, "main.pets").env(env.clone()).memory(8 << 20).block_bytes(512);
    let build = build.index_intervals([4, 16]).compression(Compression::Lz4);
    let mut build = build.start().expect("an empty directory");
    documents.iter().for_each(|map| build.add(map).expect("a document"));
    build.finish().expect("a store");
}
