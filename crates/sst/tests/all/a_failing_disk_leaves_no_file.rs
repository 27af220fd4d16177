//! A writer that fails, is refused, abandoned or dropped leaves no file. If a read fails, its error is returned, and
//! the next read is correct again.

use crate::common::{Owned, all, get};
use alluvium_codec::entry::{EntryIter, MAX_SEQ};
use alluvium_env::fault::{Fault, FaultFs, OpKind};
use alluvium_env::mem::MemFs;
use alluvium_env::{Env, Result};
use alluvium_sst::{Compression, DictionaryRegistry, FileMeta, FooterInfo, NoCache, Reader, Writer, WriterOptions};
use std::path::Path;
use std::sync::Arc;

const PATH: &str = "/db/7.sst";

fn faulty() -> (Env, Arc<FaultFs>) {
    let faults = Arc::new(FaultFs::over(Arc::new(MemFs::new())));
    faults.create_dir_all(Path::new("/db")).unwrap();
    (Env { fs: faults.clone(), ..Env::in_memory(1) }, faults)
}

use alluvium_env::Fs;

fn options() -> WriterOptions {
    WriterOptions { compression: Compression::None, block_bytes: 1024, ..WriterOptions::default() }
}

fn entries() -> Vec<Owned> {
    (0..300u32).map(|n| Owned::put(format!("tree{n:05}"), 9, vec![n as u8; 5000])).collect()
}

fn write(env: &Env, entries: &[Owned]) -> Result<FileMeta> {
    let mut writer = Writer::create(env, Path::new(PATH), 7, options())?;
    for entry in entries {
        writer.add(entry.entry())?;
    }
    writer.finish(FooterInfo::default())
}

#[test]
fn each_operation_of_a_writer_fails_once() {
    let (env, faults) = faulty();
    let before = faults.total();
    write(&env, &entries()).unwrap();
    let operations = faults.total() - before;
    assert!(operations >= 4 && faults.count(OpKind::Write) >= 3 && faults.count(OpKind::Sync) == 1, "{operations}");
    env.fs.remove(Path::new(PATH)).unwrap();
    for nth in 1..=operations {
        let fired = faults.fired();
        faults.inject(Fault::nth(nth).no_space());
        let error = write(&env, &entries()).unwrap_err();
        assert!(error.is_no_space(), "{error}");
        assert_eq!(faults.fired(), fired + 1);
        assert!(!env.fs.exists(Path::new(PATH)).unwrap(), "operation {nth}");
        faults.clear();
    }
    write(&env, &entries()).unwrap();
}

#[test]
fn abandoned_and_dropped_writers_remove_their_file() {
    let (env, _) = faulty();
    for abandon in [true, false] {
        let mut writer = Writer::create(&env, Path::new(PATH), 7, options()).unwrap();
        writer.add(entries()[0].entry()).unwrap();
        assert!(env.fs.exists(Path::new(PATH)).unwrap());
        if abandon {
            writer.abandon()
        } else {
            drop(writer)
        }
        assert!(!env.fs.exists(Path::new(PATH)).unwrap());
    }
    let empty = Writer::create(&env, Path::new(PATH), 7, options()).unwrap();
    assert!(empty.finish(FooterInfo::default()).unwrap_err().to_string().contains("a file must have an entry"));
    assert!(!env.fs.exists(Path::new(PATH)).unwrap());
}

#[test]
fn an_existing_file_is_not_touched() {
    let (env, _) = faulty();
    let meta = write(&env, &entries()).unwrap();
    assert!(Writer::create(&env, Path::new(PATH), 7, options()).is_err());
    let registry = DictionaryRegistry::new();
    let reader = Reader::open(&env, Path::new(PATH), &meta, Arc::new(NoCache), &registry).unwrap();
    reader.verify().unwrap();
}

#[test]
fn a_refused_entry_changes_nothing() {
    let (env, _) = faulty();
    let mut writer = Writer::create(&env, Path::new(PATH), 7, options()).unwrap();
    let good = [Owned::put("b", 9, "1"), Owned::put("b", 8, "2"), Owned::delete("c", 9)];
    for entry in &good {
        writer.add(entry.entry()).unwrap();
        for bad in [Owned::put("b", 9, "x"), Owned::put("a", 5, "x"), Owned::put("d", MAX_SEQ + 1, "x")] {
            assert!(writer.add(bad.entry()).is_err());
        }
    }
    assert!(writer.add(Owned::put("c", 10, "newer, so it comes before").entry()).is_err());
    assert_eq!((writer.entries(), writer.last_key(), writer.raw_bytes()), (3, &b"c"[..], 5));
    let meta = writer.finish(FooterInfo::default()).unwrap();
    let registry = DictionaryRegistry::new();
    let reader = Arc::new(Reader::open(&env, Path::new(PATH), &meta, Arc::new(NoCache), &registry).unwrap());
    assert_eq!(all(&reader, false).unwrap(), good);
    assert_eq!(reader.verify().unwrap().keys, 2);
}

#[test]
fn each_read_fails_once() {
    let (env, faults) = faulty();
    let model = entries();
    let meta = write(&env, &model).unwrap();
    let registry = DictionaryRegistry::new();
    let open = || Reader::open(&env, Path::new(PATH), &meta, Arc::new(NoCache), &registry).map(Arc::new);
    for kind in [OpKind::Open, OpKind::Len, OpKind::Read] {
        faults.inject(Fault::nth(1).of(kind));
        assert!(open().is_err(), "{kind:?}");
    }
    let reader = open().unwrap();
    let key = &model[200].key;
    for nth in 1..=2 {
        faults.inject(Fault::nth(nth).of(OpKind::Read));
        assert!(get(&reader, key, 9).is_err());
        assert!(get(&reader, key, 9).unwrap().is_some());
    }
    for fill_cache in [true, false] {
        let mut iter = reader.iter(fill_cache);
        for nth in 1..=3 {
            faults.clear();
            iter.seek_first().unwrap();
            faults.inject(Fault::nth(nth).of(OpKind::Read).from_then_on());
            while iter.next().is_ok() {
                assert!(iter.valid(), "the end was reached without an error");
            }
            assert!(!iter.valid() && iter.key().is_empty() && iter.value().is_empty());
            faults.clear();
            iter.seek(key, 9).unwrap();
            assert_eq!((iter.key(), iter.value()), (&key[..], &model[200].value[..]));
            iter.seek_last().unwrap();
            assert_eq!(iter.key(), &model[299].key[..]);
        }
    }
}
