//! A file system that counts its operations, calls a hook before each change, and fails on demand.
//!
//! Locking: no lock is held while the hook or the file system below runs.

mod plan;

pub use plan::{Fault, Op, OpKind};

use crate::error::{Error, Result};
use crate::fs::{DirEntry, File, FileLock, Fs, OpenMode};
use crate::mem::{MemFile, MemFs};
use crate::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use crate::sync::{Mutex, RwLock};
use plan::{Effect, Failure};
use std::path::Path;
use std::sync::Arc;

/// A function that is called before each change; see [`FaultFs::set_hook`].
pub type Hook = Arc<dyn Fn(&Op<'_>) + Send + Sync>;

/// The state that the file system and its open files share.
struct Control {
    total: AtomicU64,
    counts: [AtomicU64; OpKind::ALL.len()],
    fired: AtomicU64,
    /// The kinds of the operations that failed on demand, oldest first.
    struck: Mutex<Vec<OpKind>>,
    /// False without faults, so that operations do not lock `faults`.
    armed: AtomicBool,
    faults: Mutex<Vec<Fault>>,
    hook: RwLock<Option<Hook>>,
}

impl Control {
    /// Counts an operation and calls the hook. If a fault strikes the operation, returns how it
    /// must fail.
    fn begin(&self, kind: OpKind, path: &Path) -> Option<Failure> {
        self.begin_on(kind, path, None)
    }

    fn begin_on(&self, kind: OpKind, path: &Path, bytes: Option<(u64, u64)>) -> Option<Failure> {
        self.counts[kind as usize].fetch_add(1, Ordering::SeqCst);
        let op = Op { number: self.total.fetch_add(1, Ordering::SeqCst) + 1, kind, path, bytes };
        if kind.changes() {
            let hook = self.hook.read().clone();
            if let Some(hook) = hook {
                hook(&op);
            }
        }
        if !self.armed.load(Ordering::SeqCst) {
            return None;
        }
        let mut faults = self.faults.lock();
        // All faults count the operation. If several strike, the first one decides how it fails.
        let strikes = faults.iter_mut().filter_map(|fault| fault.strike(&op));
        let failure = strikes.reduce(|first, _| first);
        faults.retain(|fault| !fault.is_spent());
        self.armed.store(!faults.is_empty(), Ordering::SeqCst);
        if failure.is_some() {
            self.fired.fetch_add(1, Ordering::SeqCst);
            self.struck.lock().push(kind);
        }
        failure
    }

    /// Runs `act`, or fails as a fault specifies.
    fn run<T>(&self, kind: OpKind, op: &'static str, path: &Path, act: impl FnOnce() -> Result<T>) -> Result<T> {
        let Some(failure) = self.begin(kind, path) else {
            return act();
        };
        if failure.effect == Effect::All {
            // If the operation fails without the fault, that error is returned instead.
            act()?;
        }
        Err(Error::io(op, path, failure.error))
    }
}

/// A file system over another one that counts operations, calls a hook, and fails on demand.
pub struct FaultFs {
    inner: Arc<dyn Fs>,
    mem: Option<Arc<MemFs>>,
    control: Arc<Control>,
}

impl FaultFs {
    /// A file system over any other.
    pub fn new(inner: Arc<dyn Fs>) -> Self {
        let control = Control {
            total: AtomicU64::new(0),
            counts: OpKind::ALL.map(|_| AtomicU64::new(0)),
            fired: AtomicU64::new(0),
            struck: Mutex::new(Vec::new()),
            armed: AtomicBool::new(false),
            faults: Mutex::new(Vec::new()),
            hook: RwLock::new(None),
        };
        Self { inner, mem: None, control: Arc::new(control) }
    }

    /// A file system over one in memory, which can lose pages and entries at a failed sync.
    pub fn over(mem: Arc<MemFs>) -> Self {
        Self { mem: Some(Arc::clone(&mem)), ..Self::new(mem) }
    }

    /// Adds a fault. All faults count at the same time. If several strike at the same operation,
    /// the fault that was added first decides how it fails.
    pub fn inject(&self, fault: Fault) {
        let mut faults = self.control.faults.lock();
        faults.push(fault);
        self.control.armed.store(true, Ordering::SeqCst);
    }

    /// Removes all faults.
    pub fn clear(&self) {
        let mut faults = self.control.faults.lock();
        faults.clear();
        self.control.armed.store(false, Ordering::SeqCst);
    }

    /// The number of operations that failed on demand. A test that injects a fault should check
    /// that it struck.
    pub fn fired(&self) -> u64 {
        self.control.fired.load(Ordering::SeqCst)
    }

    /// The kinds of the operations that failed on demand, oldest first.
    pub fn struck(&self) -> Vec<OpKind> {
        self.control.struck.lock().clone()
    }

    /// The number of operations of this kind, failed ones included.
    pub fn count(&self, kind: OpKind) -> u64 {
        self.control.counts[kind as usize].load(Ordering::SeqCst)
    }

    /// The number of operations of all kinds, failed ones included.
    pub fn total(&self) -> u64 {
        self.control.total.load(Ordering::SeqCst)
    }

    /// Calls `hook` before each operation that [changes](OpKind::changes) something, in the thread
    /// of the operation, while no locks are held. A crash clone taken by the hook is the disk
    /// before that change, and a fault injected by the hook can strike that operation. `None`
    /// removes the hook.
    pub fn set_hook(&self, hook: Option<Hook>) {
        *self.control.hook.write() = hook;
    }
}

impl FaultFs {
    fn open_with(
        &self,
        path: &Path,
        mode: OpenMode,
        open: impl FnOnce() -> Result<Arc<dyn File>>,
    ) -> Result<Arc<dyn File>> {
        let (kind, op) = match mode {
            OpenMode::Read | OpenMode::ReadWrite => (OpKind::Open, "open"),
            OpenMode::CreateNew => (OpKind::Create, "create"),
        };
        let control = Arc::clone(&self.control);
        self.control.run(kind, op, path, || {
            Ok(Arc::new(match &self.mem {
                Some(mem) => {
                    let file = mem.open_file(path, mode)?;
                    FaultFile { inner: Arc::clone(&file) as Arc<dyn File>, mem: Some(file), control }
                }
                None => FaultFile { inner: open()?, mem: None, control },
            }) as Arc<dyn File>)
        })
    }
}

impl Fs for FaultFs {
    crate::forward_fs!(inner: is_locked_here, is_same_disk, open_files_max);

    fn hold_dir(&self, dir: &Path) -> Result<Arc<dyn Fs>> {
        let control = self.control.clone();
        self.control.run(OpKind::Open, "open", dir, || {
            Ok(Arc::new(match &self.mem {
                Some(mem) => {
                    let mem = Arc::new(mem.hold(dir)?);
                    Self { inner: mem.clone(), mem: Some(mem), control }
                }
                None => Self { inner: self.inner.hold_dir(dir)?, mem: None, control },
            }) as Arc<dyn Fs>)
        })
    }

    fn open(&self, path: &Path, mode: OpenMode) -> Result<Arc<dyn File>> {
        self.open_with(path, mode, || self.inner.open(path, mode))
    }

    fn open_direct(&self, path: &Path, mode: OpenMode) -> Result<Arc<dyn File>> {
        self.open_with(path, mode, || self.inner.open_direct(path, mode))
    }

    fn rename(&self, from: &Path, to: &Path) -> Result<()> {
        self.control.run(OpKind::Rename, "rename", from, || self.inner.rename(from, to))
    }

    fn remove(&self, path: &Path) -> Result<()> {
        self.control.run(OpKind::Remove, "remove", path, || self.inner.remove(path))
    }

    fn create_dir_all(&self, path: &Path) -> Result<()> {
        self.control.run(OpKind::CreateDir, "create", path, || self.inner.create_dir_all(path))
    }

    fn remove_dir(&self, path: &Path) -> Result<()> {
        self.control.run(OpKind::RemoveDir, "remove", path, || self.inner.remove_dir(path))
    }

    fn list(&self, dir: &Path) -> Result<Vec<DirEntry>> {
        self.control.run(OpKind::List, "list", dir, || self.inner.list(dir))
    }

    fn exists(&self, path: &Path) -> Result<bool> {
        self.control.run(OpKind::Exists, "look for", path, || self.inner.exists(path))
    }

    fn sync_dir(&self, dir: &Path) -> Result<()> {
        let Some(failure) = self.control.begin(OpKind::SyncDir, dir) else {
            return self.inner.sync_dir(dir);
        };
        match (failure.effect, &self.mem) {
            (Effect::All, _) => self.inner.sync_dir(dir)?,
            (Effect::LosePages, Some(mem)) => mem.forget_dir(dir)?,
            _ => {}
        }
        Err(Error::io("sync", dir, failure.error))
    }

    fn hard_link(&self, from: &Path, to: &Path) -> Result<()> {
        self.control.run(OpKind::HardLink, "link", from, || self.inner.hard_link(from, to))
    }

    fn try_lock(&self, path: &Path) -> Result<Option<Box<dyn FileLock>>> {
        self.control.run(OpKind::Lock, "lock", path, || self.inner.try_lock(path))
    }

    fn try_lock_to_read(&self, path: &Path) -> Result<Option<Box<dyn FileLock>>> {
        self.control.run(OpKind::LockToRead, "lock", path, || self.inner.try_lock_to_read(path))
    }

    fn available_bytes(&self, path: &Path) -> Result<u64> {
        self.control.run(OpKind::Space, "read the free space at", path, || self.inner.available_bytes(path))
    }

    /// Faults do not apply to this operation: callers use a default if they get no capacity.
    fn capacity_bytes(&self, path: &Path) -> Result<u64> {
        self.inner.capacity_bytes(path)
    }
}

/// The range of bytes of a read or write.
fn span(buf: &[u8], offset: u64) -> Option<(u64, u64)> {
    Some((offset, offset.saturating_add(buf.len() as u64)))
}

struct FaultFile {
    inner: Arc<dyn File>,
    mem: Option<Arc<MemFile>>,
    control: Arc<Control>,
}

impl File for FaultFile {
    fn read_at(&self, buf: &mut [u8], offset: u64) -> Result<usize> {
        let Some(failure) = self.control.begin_on(OpKind::Read, self.path(), span(buf, offset)) else {
            return self.inner.read_at(buf, offset);
        };
        Err(Error::io("read", self.path(), failure.error))
    }

    fn write_at(&self, buf: &[u8], offset: u64) -> Result<()> {
        let Some(failure) = self.control.begin_on(OpKind::Write, self.path(), span(buf, offset)) else {
            return self.inner.write_at(buf, offset);
        };
        match failure.effect {
            Effect::Prefix(bytes) => self.inner.write_at(&buf[..bytes.min(buf.len())], offset)?,
            Effect::All => self.inner.write_at(buf, offset)?,
            Effect::Nothing | Effect::LosePages => {}
        }
        Err(Error::io("write", self.path(), failure.error))
    }

    fn allocate(&self, len: u64) -> Result<()> {
        let op = "reserve space for";
        self.control.run(OpKind::Allocate, op, self.path(), || self.inner.allocate(len))
    }

    fn set_len(&self, len: u64) -> Result<()> {
        let op = "set the length of";
        self.control.run(OpKind::SetLen, op, self.path(), || self.inner.set_len(len))
    }

    fn sync(&self) -> Result<()> {
        let Some(failure) = self.control.begin(OpKind::Sync, self.path()) else {
            return self.inner.sync();
        };
        match (failure.effect, &self.mem) {
            (Effect::All, _) => self.inner.sync()?,
            (Effect::LosePages, Some(file)) => file.forget_unsynced(),
            _ => {}
        }
        Err(Error::io("sync", self.path(), failure.error))
    }

    fn len(&self) -> Result<u64> {
        self.control.run(OpKind::Len, "read the length of", self.path(), || self.inner.len())
    }

    fn path(&self) -> &Path {
        self.inner.path()
    }
}

#[cfg(test)]
mod tests;
