//! A file system on a disk of limited bandwidth and latency, in simulated time.
//!
//! Reads and writes take time in proportion to their bytes; a read, a sync and every change of
//! names take the disk's latency. The disk does one operation at a time, and serves all threads in
//! turn with pieces of at most 16 KiB, like the I/O schedulers of operating systems. The disk has
//! no page cache: writes are done at once.

use crate::clock::Clock;
use crate::error::Result;
use crate::fs::{DirEntry, File, Fs, OpenMode};
use crate::simulated::SimulatedClock;
use std::path::Path;
use std::sync::Arc;
// Plain atomics: threads wait here only for the simulated clock.
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// The speed of a disk.
#[derive(Debug, Clone, Copy)]
pub struct Speed {
    /// Bytes read or written per second.
    pub bytes_per_s: u64,
    /// The time of a seek or a sync.
    pub latency: Duration,
}

/// The maximum number of bytes that are transferred at once.
const PIECE_BYTES: u64 = 16 << 10;

/// The disk, shared by the file system and its files.
struct Disk {
    clock: Arc<SimulatedClock>,
    speed: Speed,
    /// The time at which all operations so far are done, in nanoseconds.
    free_at: AtomicU64,
    /// The total time of all operations, in nanoseconds.
    worked: AtomicU64,
}

impl Disk {
    /// Waits until the disk has transferred `bytes` bytes after the time `latency`.
    fn work(&self, bytes: u64, latency: Duration) {
        let (mut left, mut latency) = (bytes, latency);
        loop {
            let piece = left.min(PIECE_BYTES);
            self.piece(piece, std::mem::take(&mut latency));
            left -= piece;
            if left == 0 {
                return;
            }
        }
    }

    fn piece(&self, bytes: u64, latency: Duration) {
        let transfer = bytes.saturating_mul(1_000_000_000) / self.speed.bytes_per_s.max(1);
        let takes = transfer + latency.as_nanos() as u64;
        let now = self.clock.now().as_nanos() as u64;
        let end = |free_at: u64| Some(free_at.max(now) + takes);
        let before = self.free_at.fetch_update(Ordering::SeqCst, Ordering::SeqCst, end).unwrap_or(now);
        self.worked.fetch_add(takes, Ordering::SeqCst);
        self.clock.wait_until(Duration::from_nanos(before.max(now) + takes));
    }

    fn transfer(&self, bytes: usize) {
        self.work(bytes as u64, Duration::ZERO);
    }

    fn seek(&self) {
        self.work(0, self.speed.latency);
    }
}

/// A slow file system over another one.
pub struct SlowFs {
    inner: Arc<dyn Fs>,
    disk: Arc<Disk>,
}

impl SlowFs {
    /// A file system over `inner` with this clock and speed.
    pub fn new(inner: Arc<dyn Fs>, clock: Arc<SimulatedClock>, speed: Speed) -> Self {
        let disk = Disk { clock, speed, free_at: AtomicU64::new(0), worked: AtomicU64::new(0) };
        Self { inner, disk: Arc::new(disk) }
    }

    /// The total time that the disk was busy.
    pub fn worked(&self) -> Duration {
        Duration::from_nanos(self.disk.worked.load(Ordering::SeqCst))
    }

    fn slow(&self, file: Arc<dyn File>) -> Arc<dyn File> {
        Arc::new(SlowFile { inner: file, disk: self.disk.clone() })
    }
}

struct SlowFile {
    inner: Arc<dyn File>,
    disk: Arc<Disk>,
}

impl File for SlowFile {
    fn read_at(&self, buf: &mut [u8], offset: u64) -> Result<usize> {
        self.disk.work(buf.len() as u64, self.disk.speed.latency);
        self.inner.read_at(buf, offset)
    }

    fn write_at(&self, buf: &[u8], offset: u64) -> Result<()> {
        self.disk.transfer(buf.len());
        self.inner.write_at(buf, offset)
    }

    fn allocate(&self, len: u64) -> Result<()> {
        self.inner.allocate(len)
    }

    fn set_len(&self, len: u64) -> Result<()> {
        self.inner.set_len(len)
    }

    fn sync(&self) -> Result<()> {
        self.disk.seek();
        self.inner.sync()
    }

    fn len(&self) -> Result<u64> {
        self.inner.len()
    }

    fn path(&self) -> &Path {
        self.inner.path()
    }
}

impl Fs for SlowFs {
    crate::forward_fs!(inner: exists, try_lock, try_lock_to_read, is_locked_here, available_bytes, capacity_bytes, is_same_disk, open_files_max);

    fn hold_dir(&self, dir: &Path) -> Result<Arc<dyn Fs>> {
        Ok(Arc::new(Self { inner: self.inner.hold_dir(dir)?, disk: self.disk.clone() }))
    }

    fn open(&self, path: &Path, mode: OpenMode) -> Result<Arc<dyn File>> {
        self.disk.seek();
        Ok(self.slow(self.inner.open(path, mode)?))
    }

    fn open_direct(&self, path: &Path, mode: OpenMode) -> Result<Arc<dyn File>> {
        self.disk.seek();
        Ok(self.slow(self.inner.open_direct(path, mode)?))
    }

    fn rename(&self, from: &Path, to: &Path) -> Result<()> {
        self.disk.seek();
        self.inner.rename(from, to)
    }

    fn remove(&self, path: &Path) -> Result<()> {
        self.disk.seek();
        self.inner.remove(path)
    }

    fn create_dir_all(&self, path: &Path) -> Result<()> {
        self.disk.seek();
        self.inner.create_dir_all(path)
    }

    fn remove_dir(&self, path: &Path) -> Result<()> {
        self.disk.seek();
        self.inner.remove_dir(path)
    }

    fn list(&self, dir: &Path) -> Result<Vec<DirEntry>> {
        self.disk.seek();
        self.inner.list(dir)
    }

    fn sync_dir(&self, dir: &Path) -> Result<()> {
        self.disk.seek();
        self.inner.sync_dir(dir)
    }

    fn hard_link(&self, from: &Path, to: &Path) -> Result<()> {
        self.disk.seek();
        self.inner.hard_link(from, to)
    }
}

#[cfg(test)]
mod tests;
