//! Files that a faulty writer would make: all checksums are right, and `verify` detects each fault.
//! The tests make them here because the interface of a writer does not allow them.

use super::*;
use crate::block_cache::NoCache;
use crate::dictionary::DictionaryRegistry;
use crate::reader::Reader;
use std::path::PathBuf;
use std::sync::Arc;

struct Workshop {
    env: Env,
    path: PathBuf,
    writer: Writer,
}

fn put(n: u32) -> (Vec<u8>, Vec<u8>) {
    (format!("tree{n:05}").into_bytes(), vec![n as u8; 100])
}

fn workshop() -> Workshop {
    let env = Env::in_memory(1);
    env.fs.create_dir_all(Path::new("/db")).unwrap();
    let path = PathBuf::from("/db/7.sst");
    let options = WriterOptions { block_bytes: 1024, index_partition_blocks: 3, ..WriterOptions::default() };
    let mut writer = Writer::create(&env, &path, 7, options).unwrap();
    for n in 0..100 {
        let (key, value) = put(n);
        writer.add(Entry { key: &key, seq: 500, kind: Kind::Put, value: &value }).unwrap();
    }
    Workshop { env, path, writer }
}

/// The result of `verify` for the finished file.
fn verdict(workshop: Workshop, change: impl FnOnce(&mut FileMeta)) -> std::result::Result<(), String> {
    let Workshop { env, path, writer } = workshop;
    let mut meta = writer.finish(FooterInfo::default()).unwrap();
    change(&mut meta);
    let registry = DictionaryRegistry::new();
    let reader = Reader::open(&env, &path, &meta, Arc::new(NoCache), &registry).unwrap();
    match reader.verify() {
        Ok(check) => {
            assert_eq!(check.entries, meta.entries);
            Ok(())
        }
        Err(Error::Corrupt { what, .. }) => Err(what),
        Err(other) => panic!("{other}"),
    }
}

fn refused(workshop: Workshop, what: &str) {
    let found = verdict(workshop, |_| ()).unwrap_err();
    assert!(found.contains(what), "{found}, not {what}");
}

#[test]
fn a_right_file_passes() {
    assert_eq!(verdict(workshop(), |_| ()), Ok(()));
}

#[test]
fn entries_out_of_order() {
    let mut bad = workshop();
    let (key, value) = put(200);
    for seq in [500, 501] {
        let entry = Entry { key: &key, seq, kind: Kind::Put, value: &value };
        bad.writer.note(&entry, seq == 500);
        bad.writer.data.add(entry);
    }
    refused(bad, "entries out of order");
}

#[test]
fn an_entry_before_its_bound() {
    let mut bad = workshop();
    bad.writer.write_data_block().unwrap();
    let (key, value) = put(50);
    let entry = Entry { key: &key, seq: 400, kind: Kind::Put, value: &value };
    bad.writer.note(&entry, true);
    bad.writer.data.add(entry);
    refused(bad, "bound");
}

#[test]
fn a_key_that_the_filter_does_not_have() {
    let mut bad = workshop();
    for n in 200..230 {
        let (key, value) = put(n);
        let entry = Entry { key: &key, seq: 500, kind: Kind::Put, value: &value };
        bad.writer.note(&entry, false);
        bad.writer.data.add(entry);
    }
    refused(bad, "a key that the filter does not have");
}

#[test]
fn properties_that_are_not_true() {
    let changes: [fn(&mut Properties); 7] = [
        |properties| properties.meta.entries += 1,
        |properties| properties.meta.tombstones += 1,
        |properties| properties.meta.raw_bytes -= 1,
        |properties| properties.meta.min_seq -= 1,
        |properties| properties.meta.max_seq += 1,
        |properties| properties.meta.smallest.push(0),
        |properties| properties.data_blocks += 1,
    ];
    for change in changes {
        let mut bad = workshop();
        change(&mut bad.writer.properties);
        refused(bad, "the properties");
    }
}

#[test]
fn a_manifest_that_is_not_true() {
    let changes: [fn(&mut FileMeta); 4] =
        [|meta| meta.entries += 1, |meta| meta.largest.push(0), |meta| meta.smallest.clear(), |meta| meta.max_seq += 1];
    for change in changes {
        let found = verdict(workshop(), change).map(drop).unwrap_err();
        assert!(found.contains("the manifest"), "{found}");
    }
}

#[test]
fn the_estimate_is_near_the_length() {
    let bad = workshop();
    let estimate = bad.writer.estimated_bytes();
    let meta = bad.writer.finish(FooterInfo::default()).unwrap();
    assert!(estimate.abs_diff(meta.bytes) < 2048, "{estimate} for {}", meta.bytes);
}
