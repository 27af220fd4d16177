//! Every store keeps what it is given, and every engine of documents passes the checks of the harness.
#![allow(clippy::unwrap_used, clippy::panic)]

use crate::commands::documents::Engine;
use crate::engines::rocksdb::Compression::{Lz4, ZstdWithDictionary};
use crate::engines::wiredtiger::Kind::{BTree, Lsm};
use crate::engines::{Place, Store};
use alluvium_workbench::scenarios::peers::{Settings, documents};
use clap::ValueEnum;
use std::path::Path;
use std::time::Duration;

const STORES: [Store; 10] = [
    Store::Alluvium,
    Store::RocksDb(Lz4),
    Store::RocksDb(ZstdWithDictionary),
    Store::RocksDbTransactions,
    Store::WiredTiger(BTree),
    Store::WiredTiger(Lsm),
    Store::Lmdb,
    Store::Fjall,
    Store::Redb,
    Store::Sqlite,
];

fn place(dir: &Path, memory_bytes: u64) -> Place<'_> {
    Place { dir, memory_bytes, threads: 4, block_bytes: 4 << 10 }
}

#[test]
fn stores_keep_what_they_are_given() {
    for store in STORES {
        let dir = tempfile::tempdir().unwrap();
        let opened = store.open(&place(dir.path(), 32 << 20)).unwrap();
        {
            let (mut session, mut value) = (opened.session().unwrap(), Vec::new());
            for n in 0..200_u32 {
                session.put(&n.to_be_bytes(), b"first").unwrap();
                session.put(&n.to_be_bytes(), &[n as u8; 1000]).unwrap();
            }
            for n in (0..200_u32).step_by(2) {
                assert!(session.delete(&n.to_be_bytes()).unwrap(), "{store:?}");
                assert!(!session.delete(&n.to_be_bytes()).unwrap(), "{store:?}");
                assert!(!session.get(&n.to_be_bytes(), &mut value).unwrap(), "{store:?}");
            }
        }
        opened.settle().unwrap();
        opened.close().unwrap();
        let opened = store.open(&place(dir.path(), 16 << 20)).unwrap();
        {
            let (mut session, mut value) = (opened.session().unwrap(), Vec::new());
            for n in 0..200_u32 {
                assert_eq!(session.get(&n.to_be_bytes(), &mut value).unwrap(), n % 2 == 1, "{store:?}");
                assert!(n % 2 == 0 || value == [n as u8; 1000], "{store:?}");
            }
        }
        opened.close().unwrap();
    }
}

#[test]
fn updates_of_threads_are_single_steps() {
    for store in STORES {
        let dir = tempfile::tempdir().unwrap();
        let opened = store.open(&place(dir.path(), 32 << 20)).unwrap();
        opened.session().unwrap().put(b"n", &0_u64.to_le_bytes()).unwrap();
        alluvium_env::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    let mut session = opened.session().unwrap();
                    for _ in 0..100 {
                        let add = session.update(b"n", &mut |old, new| {
                            let number = u64::from_le_bytes(old.try_into()?) + 1;
                            new.extend_from_slice(&number.to_le_bytes());
                            Ok(())
                        });
                        assert!(add.unwrap(), "{store:?}");
                    }
                    assert!(!session.update(b"m", &mut |_, _| Ok(())).unwrap(), "{store:?}");
                    assert!(session.update(b"n", &mut |_, _| Err("refused".into())).is_err(), "{store:?}");
                });
            }
        });
        let mut value = Vec::new();
        assert!(opened.session().unwrap().get(b"n", &mut value).unwrap(), "{store:?}");
        assert_eq!(value, 400_u64.to_le_bytes(), "{store:?}");
        opened.close().unwrap();
    }
}

#[test]
fn engines_of_documents_pass_the_checks() {
    for engine in Engine::value_variants() {
        let dir = tempfile::tempdir().unwrap();
        let settings = Settings {
            documents: 300,
            threads: 2,
            // The operations end each phase, however slow the machine is.
            duration: Duration::from_secs(600),
            operations: 500,
            cold_gets: 50,
            ..Settings::default()
        };
        let open = |memory_bytes| engine.open(&place(dir.path(), memory_bytes));
        let figures = documents(&open, dir.path(), &settings).unwrap_or_else(|error| panic!("{engine:?}: {error}"));
        assert_eq!(figures.put.documents, 300, "{engine:?}");
        let Some(get) = figures.get else {
            assert!(matches!(engine, Engine::Parse | Engine::Bson), "{engine:?}");
            continue;
        };
        // The same documents, so the same number of fields in every engine.
        assert!(get.operations == 500 && get.fields > 30.0, "{engine:?}: {get:?}");
        assert_eq!(figures.update.map(|update| update.operations), Some(500), "{engine:?}");
        let has = matches!(engine, Engine::Alluvium | Engine::RocksDbTransactions | Engine::Sqlite);
        let updates = figures.transaction.map(|transaction| transaction.operations);
        assert_eq!(updates, has.then_some(5_000), "{engine:?}");
        assert!(figures.put.disk_bytes > 0, "{engine:?}");
    }
}
