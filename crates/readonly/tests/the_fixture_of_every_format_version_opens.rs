//! A store that an earlier build has written can be opened and has its pairs. As long as the format
//! is version 1, this build writes the same bytes.

#[path = "common/fixture.rs"]
mod fixture;

use alluvium_env::{Env, OpenMode};
use alluvium_readonly::{ReadOnly, ReadOnlyOptions};
use std::collections::BTreeMap;
use std::path::Path;

const FILES: [(&str, &[u8]); 4] = [
    ("READONLY", include_bytes!("fixtures/v1/READONLY")),
    ("data.sst", include_bytes!("fixtures/v1/data.sst")),
    ("index-2.idx", include_bytes!("fixtures/v1/index-2.idx")),
    ("index-5.idx", include_bytes!("fixtures/v1/index-5.idx")),
];

#[test]
fn version_1_opens() {
    let env = Env::in_memory(7);
    env.fs.create_dir_all(Path::new("/v1")).unwrap();
    for (name, bytes) in FILES {
        let file = env.fs.open(&Path::new("/v1").join(name), OpenMode::CreateNew).unwrap();
        file.write_at(bytes, 0).unwrap();
    }
    let model: BTreeMap<_, _> = fixture::pairs().into_iter().collect();
    for index_interval in [Some(0), Some(2), Some(5)] {
        let options = ReadOnlyOptions { index_interval, ..ReadOnlyOptions::default() };
        let store = ReadOnly::open_in(env.clone(), "/v1", &options).unwrap();
        assert_eq!((store.len(), store.label(), store.stats().duplicates), (12, &b"label"[..], 1));
        assert_eq!(store.aux().unwrap(), b"aux");
        let mut value = Vec::new();
        for (key, expected) in &model {
            assert!(store.get(key, &mut value).unwrap());
            assert_eq!(&value, expected);
        }
        assert!(store.verify().unwrap().is_empty());
    }
}

#[test]
fn the_same_bytes_are_written() {
    let env = Env::in_memory(1);
    fixture::build(env.clone(), Path::new("/v1")).unwrap();
    for (name, expected) in FILES {
        let file = env.fs.open(&Path::new("/v1").join(name), OpenMode::Read).unwrap();
        let mut bytes = vec![0; file.len().unwrap() as usize];
        file.read_exact_at(&mut bytes, 0).unwrap();
        assert!(bytes == expected, "{name} differs from crates/readonly/tests/fixtures/v1/{name}");
    }
}
