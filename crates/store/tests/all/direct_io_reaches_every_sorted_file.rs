//! With direct I/O, sorted files are opened without the page cache, and all other files with it. If the file system
//! does not support direct I/O, a named error is returned.

use alluvium_env::mem::MemFs;
use alluvium_env::{Env, Error, File, Fs, OpenMode, Result};
use alluvium_store::{Durability, Options, Store};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// The required way of opening sorted files.
#[derive(Clone, Copy, PartialEq)]
enum Way {
    Direct,
    Plain,
    /// This file system does not support direct I/O.
    Cannot,
}

/// Counts the opened sorted files, and refuses the wrong way of opening.
struct Watch {
    inner: Arc<dyn Fs>,
    way: Way,
    opened: Arc<AtomicU64>,
}

fn watch(way: Way) -> Watch {
    Watch { inner: Arc::new(MemFs::new()), way, opened: Arc::default() }
}

impl Watch {
    fn check(&self, path: &Path, direct: bool) -> Result<()> {
        let sorted = path.extension().is_some_and(|extension| extension == "sst");
        let wrong = match self.way {
            Way::Direct => direct != (sorted || path.ends_with("LOCK")),
            Way::Plain | Way::Cannot => direct,
        };
        if wrong {
            return Err(Error::io("open without the page cache", path, std::io::ErrorKind::Unsupported.into()));
        }
        self.opened.fetch_add(u64::from(sorted), Ordering::Relaxed);
        Ok(())
    }
}

impl Fs for Watch {
    alluvium_env::forward_fs! {
        inner:
            rename, remove, create_dir_all, remove_dir, list, exists, sync_dir, hard_link, try_lock,
            try_lock_to_read, available_bytes, capacity_bytes, is_same_disk, open_files_max,
    }

    fn hold_dir(&self, dir: &Path) -> Result<Arc<dyn Fs>> {
        let opened = self.opened.clone();
        Ok(Arc::new(Self { inner: self.inner.hold_dir(dir)?, way: self.way, opened }))
    }
    fn open(&self, path: &Path, mode: OpenMode) -> Result<Arc<dyn File>> {
        self.check(path, false)?;
        self.inner.open(path, mode)
    }
    fn open_direct(&self, path: &Path, mode: OpenMode) -> Result<Arc<dyn File>> {
        self.check(path, true)?;
        self.inner.open(path, mode)
    }
}

fn fill_and_read(fs: &Arc<Watch>, options: Options) -> alluvium_store::Result<()> {
    let env = Env { fs: fs.clone(), ..Env::in_memory(1) };
    let options = Options { memory_bytes: 8 << 20, partitions: Some(1), background: false, ..options };
    let store = Store::open(env, Path::new("db"), options)?;
    let tree = store.create_trees(&[b"tree"])?[0];
    for round in 0..3_u32 {
        let mut batch = store.batch();
        for key in 0..1000_u32 {
            batch.put(tree, &(key * 7 % 1000).to_be_bytes(), &[round as u8; 100]);
        }
        store.write(batch, Durability::Periodic)?;
        store.flush()?;
    }
    store.compact()?;
    let mut value = Vec::new();
    assert!(store.get(tree, &7_u32.to_be_bytes(), &mut value)?);
    assert_eq!(value, [2; 100]);
    store.close()
}

#[test]
fn sorted_files_and_only_they_go_past_the_cache() {
    for way in [Way::Direct, Way::Plain] {
        let fs = Arc::new(watch(way));
        fill_and_read(&fs, Options { direct_io: way == Way::Direct, ..Options::default() }).unwrap();
        let opened = fs.opened.load(Ordering::Relaxed);
        assert!(opened >= 5, "three flushes and a merge were to write files, and a get to read one: {opened}");
    }
}

#[test]
fn a_file_system_that_cannot_is_named_when_the_store_is_opened() {
    let env = Env { fs: Arc::new(watch(Way::Cannot)), ..Env::in_memory(1) };
    let options = Options { direct_io: true, ..Options::default() };
    let error = Store::open(env.clone(), Path::new("db"), options).err().expect("it cannot").to_string();
    assert!(error.contains("without the page cache"), "{error}");
    Store::open(env, Path::new("db"), Options::default()).unwrap().close().unwrap();
}
