//! Compares the bytes of a tiny file, so that a change of the format is noticed. Stored files of
//! this version, some of them compressed, must still be readable.
//!
//! Compressed files are not compared byte for byte, because another release of the compressor may
//! choose other matches. `docs/format/sst.md` explains the bytes.

use crate::common::{Fixture, NUMBER, Owned, all};
use alluvium_sst::{Compression, DictionaryRegistry, NoCache, Reader, WriterOptions};
use std::path::Path;
use std::sync::Arc;

const TINY: &str = include_str!("../fixtures/v1-tiny.hex");

/// The entries of all fixtures.
fn entries(count: u64) -> Vec<Owned> {
    let mut entries = Vec::new();
    for n in 0..count {
        let key = format!("\0\0\0\u{7}key{:03}", n / 2);
        match n % 5 {
            3 => entries.push(Owned::delete(key, 1000 - n)),
            _ => entries.push(Owned::put(key, 1000 - n, format!("value {n} of many values"))),
        }
    }
    entries
}

fn hex(bytes: &[u8]) -> String {
    let line = |line: &[u8]| line.iter().map(|byte| format!("{byte:02x}")).collect::<Vec<_>>().join(" ");
    bytes.chunks(16).map(|chunk| line(chunk) + "\n").collect()
}

#[test]
fn the_bytes_are_those_of_version_1() {
    let options = WriterOptions { compression: Compression::None, ..WriterOptions::default() };
    let fixture = Fixture::new(&entries(4), options);
    let bytes = hex(&fixture.bytes());
    assert_eq!(bytes, TINY, "the format has changed; the bytes are now:\n{bytes}");
}

#[test]
fn files_written_earlier_are_read() {
    let files: [(&str, &[u8]); 3] = [
        ("zstd", include_bytes!("../fixtures/v1-zstd.sst")),
        ("dictionary", include_bytes!("../fixtures/v1-dictionary.sst")),
        ("lz4", include_bytes!("../fixtures/v1-lz4.sst")),
    ];
    let env = alluvium_env::Env::in_memory(1);
    for (name, bytes) in files {
        let path = Path::new(name);
        env.fs.open(path, alluvium_env::OpenMode::CreateNew).unwrap().write_at(bytes, 0).unwrap();
        let registry = DictionaryRegistry::new();
        let reader = Reader::open_unlisted(&env, path, NUMBER, Arc::new(NoCache), &registry).unwrap();
        let check = reader.verify().unwrap();
        assert_eq!((check.entries, check.tombstones, check.keys), (200, 40, 100), "{name}");
        assert!(check.data_blocks >= 6 && check.partitions >= 3, "{name}: {check:?}");
        assert_eq!(reader.dictionary().is_some(), name == "dictionary");
        assert_eq!(reader.aux().unwrap(), b"shapes");
        let properties = reader.properties().unwrap();
        assert_eq!((properties.inputs, properties.trees), (vec![3, 4], vec![7]));
        assert_eq!(all(&Arc::new(reader), false).unwrap(), entries(200), "{name}");
    }
}

#[test]
fn the_same_entries_make_the_same_file() {
    for compression in [Compression::None, Compression::Lz4, Compression::Zstd { level: 3 }] {
        let options = WriterOptions { compression, ..WriterOptions::default() };
        let first = Fixture::new(&entries(500), options.clone());
        assert_eq!(first.bytes(), Fixture::new(&entries(500), options).bytes());
    }
}
