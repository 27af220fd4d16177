//! A log may have more segments than the files that a process may have open, so segments are read
//! one after the other.

use crate::common::{Owned, append, dir, env_of, new_disk, options};
use alluvium_env::{Env, File, Fs, OpenMode, Result};
use alluvium_wal::Wal;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

#[derive(Default)]
struct Count {
    open: AtomicUsize,
    most: AtomicUsize,
}

/// Counts the files that are open.
struct Counting {
    inner: Arc<dyn Fs>,
    count: Arc<Count>,
}

struct CountedFile {
    inner: Arc<dyn File>,
    count: Arc<Count>,
}

impl Drop for CountedFile {
    fn drop(&mut self) {
        self.count.open.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Fs for Counting {
    alluvium_env::forward_fs! {
        inner:
            rename, remove, create_dir_all, remove_dir, list, exists, sync_dir, hard_link, try_lock,
            try_lock_to_read, available_bytes, capacity_bytes, is_same_disk, open_files_max,
    }

    fn hold_dir(&self, dir: &Path) -> Result<Arc<dyn Fs>> {
        Ok(Arc::new(Self { inner: self.inner.hold_dir(dir)?, count: self.count.clone() }))
    }

    fn open(&self, path: &Path, mode: OpenMode) -> Result<Arc<dyn File>> {
        let inner = self.inner.open(path, mode)?;
        let open = self.count.open.fetch_add(1, Ordering::Relaxed) + 1;
        self.count.most.fetch_max(open, Ordering::Relaxed);
        Ok(Arc::new(CountedFile { inner, count: self.count.clone() }))
    }
    fn open_direct(&self, path: &Path, mode: OpenMode) -> Result<Arc<dyn File>> {
        self.open(path, mode)
    }
}

impl File for CountedFile {
    fn read_at(&self, buf: &mut [u8], offset: u64) -> Result<usize> {
        self.inner.read_at(buf, offset)
    }
    fn write_at(&self, buf: &[u8], offset: u64) -> Result<()> {
        self.inner.write_at(buf, offset)
    }
    fn allocate(&self, len: u64) -> Result<()> {
        self.inner.allocate(len)
    }
    fn set_len(&self, len: u64) -> Result<()> {
        self.inner.set_len(len)
    }
    fn sync(&self) -> Result<()> {
        self.inner.sync()
    }
    fn len(&self) -> Result<u64> {
        self.inner.len()
    }
    fn path(&self) -> &Path {
        self.inner.path()
    }
}

#[test]
fn however_many_segments_are_read() {
    let (mem, _, env) = new_disk();
    let (log, _) = Wal::recover(&env, &dir(), options(8192), &mut |_| Ok(())).unwrap();
    for seq in 1..=200 {
        append(&log, &[Owned { first: seq, last: seq, payload: vec![1; 500] }]).unwrap();
    }
    log.sync().unwrap();
    drop(log);
    assert!(mem.list(&dir()).unwrap().len() >= 200);

    let count = Arc::new(Count::default());
    let env: Env = env_of(Arc::new(Counting { inner: mem, count: count.clone() }));
    let mut found = 0;
    let (log, _) = Wal::recover(&env, &dir(), options(8192), &mut |record| {
        found += 1;
        if record.first_seq % 50 == 0 {
            // A store whose disk is full does this to check whether the rest of the log is
            // complete.
            Wal::read(&env, &dir(), options(8192), &mut |_| Ok(())).map(drop)?;
        }
        Ok(())
    })
    .unwrap();
    assert_eq!(found, 200);
    assert!(count.most.load(Ordering::Relaxed) <= 4, "{} files were open", count.most.load(Ordering::Relaxed));
    log.release_below(201).unwrap();
    assert_eq!(count.open.load(Ordering::Relaxed), 1, "the log has one segment to write to");
}
