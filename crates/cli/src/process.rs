//! What this process has used so far: processor time, memory, switches, bytes read and written.
//!
//! Read from the kernel; where it does not report them (no `/proc`), the figures are absent.

use alluvium_env::{Env, OpenMode};
use nix::sys::resource::{UsageWho, getrusage};
use serde::Serialize;
use std::path::Path;
use std::time::Duration;

/// Processor time of all threads, user and system.
pub fn cpu_time() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    Duration::new(u64::try_from(time.tv_sec).unwrap_or(0), u32::try_from(time.tv_nsec).unwrap_or(0))
}

/// Processor time of the calling thread, user and system.
pub fn thread_cpu_time() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    Duration::new(u64::try_from(time.tv_sec).unwrap_or(0), u32::try_from(time.tv_nsec).unwrap_or(0))
}

/// Processor time of the child processes that have ended and were waited for, user and system, in steps of the kernel's
/// tick (10 ms).
pub fn children_cpu_time() -> Option<Duration> {
    let ticks = child_ticks(&read("/proc/self/stat")?)?;
    Some(Duration::from_secs_f64(ticks as f64 / rustix::param::clock_ticks_per_second() as f64))
}

/// The fields `cutime` and `cstime` of proc(5), together.
fn child_ticks(stat: &str) -> Option<u64> {
    // The name of the program, in parentheses, may hold anything.
    let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
    Some(fields.get(13)?.parse::<u64>().ok()? + fields.get(14)?.parse::<u64>().ok()?)
}

/// The number that the kernel has given to the calling thread; see [`thread_io`].
#[cfg(target_os = "linux")]
pub fn thread_id() -> u32 {
    rustix::thread::gettid().as_raw_nonzero().get().unsigned_abs()
}

/// The number that the kernel has given to the calling thread: not known here.
#[cfg(not(target_os = "linux"))]
pub fn thread_id() -> u32 {
    0
}

/// Threads that ran or waited for a processor on this machine, on average over the last minute; 0 if it does not tell.
pub fn load_average() -> f64 {
    let text = read("/proc/loadavg").unwrap_or_default();
    text.split_whitespace().next().and_then(|first| first.parse().ok()).unwrap_or(0.0)
}

/// What a thread has read and written.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Io {
    /// Bytes that reached storage, or will.
    pub written_bytes: u64,
    /// Bytes that came from storage.
    pub read_bytes: u64,
    /// System calls that read.
    pub read_calls: u64,
    /// System calls that write.
    pub write_calls: u64,
}

impl Io {
    fn parse(text: &str) -> Self {
        let get = |name| field(text, name).unwrap_or(0);
        Self {
            written_bytes: get("write_bytes:"),
            read_bytes: get("read_bytes:"),
            read_calls: get("syscr:"),
            write_calls: get("syscw:"),
        }
    }

    /// Both together.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self {
            written_bytes: self.written_bytes + other.written_bytes,
            read_bytes: self.read_bytes + other.read_bytes,
            read_calls: self.read_calls + other.read_calls,
            write_calls: self.write_calls + other.write_calls,
        }
    }

    /// What came since `before`.
    #[must_use]
    pub fn since(&self, before: &Self) -> Self {
        Self {
            written_bytes: self.written_bytes.saturating_sub(before.written_bytes),
            read_bytes: self.read_bytes.saturating_sub(before.read_bytes),
            read_calls: self.read_calls.saturating_sub(before.read_calls),
            write_calls: self.write_calls.saturating_sub(before.write_calls),
        }
    }
}

/// What a thread of this process has read and written until now, by its [`thread_id`]; nothing if it has ended.
pub fn thread_io(thread: u32) -> Io {
    Io::parse(&read(&format!("/proc/self/task/{thread}/io")).unwrap_or_default())
}

/// Bytes of memory resident now.
pub fn resident_bytes() -> Option<u64> {
    field(&read("/proc/self/status")?, "VmRSS:").map(|kib| kib * 1024)
}

/// The most bytes of memory that were ever resident.
pub fn peak_resident_bytes() -> Option<u64> {
    field(&read("/proc/self/status")?, "VmHWM:").map(|kib| kib * 1024)
}

/// What a process has used; the difference of two is what was used in between.
#[derive(Debug, Clone, Copy, Default, Serialize)]
pub struct Usage {
    /// Processor time in seconds, all threads.
    pub cpu_seconds: f64,
    /// Times that a thread waited.
    pub voluntary_switches: u64,
    /// Times that a thread was put off its processor.
    pub involuntary_switches: u64,
    /// Bytes that reached storage, or will.
    pub written_bytes: u64,
    /// Bytes that came from storage (what the system's cache had is not counted).
    pub read_bytes: u64,
    /// System calls that read.
    pub read_calls: u64,
    /// System calls that write.
    pub write_calls: u64,
}

impl Usage {
    /// What this process has used until now.
    pub fn now() -> Self {
        let io = Io::parse(&read("/proc/self/io").unwrap_or_default());
        let mut usage = Self {
            cpu_seconds: cpu_time().as_secs_f64(),
            written_bytes: io.written_bytes,
            read_bytes: io.read_bytes,
            read_calls: io.read_calls,
            write_calls: io.write_calls,
            ..Self::default()
        };
        // Of threads that have ended, too.
        if let Ok(all) = getrusage(UsageWho::RUSAGE_SELF) {
            usage.voluntary_switches = u64::try_from(all.voluntary_context_switches()).unwrap_or(0);
            usage.involuntary_switches = u64::try_from(all.involuntary_context_switches()).unwrap_or(0);
        }
        usage
    }

    /// What was used since `before`.
    #[must_use]
    pub fn since(&self, before: &Self) -> Self {
        Self {
            cpu_seconds: self.cpu_seconds - before.cpu_seconds,
            voluntary_switches: self.voluntary_switches.saturating_sub(before.voluntary_switches),
            involuntary_switches: self.involuntary_switches.saturating_sub(before.involuntary_switches),
            written_bytes: self.written_bytes.saturating_sub(before.written_bytes),
            read_bytes: self.read_bytes.saturating_sub(before.read_bytes),
            read_calls: self.read_calls.saturating_sub(before.read_calls),
            write_calls: self.write_calls.saturating_sub(before.write_calls),
        }
    }
}

/// The number of a file in its file system; `None` if there is no such file.
#[cfg(target_os = "linux")]
#[allow(clippy::disallowed_methods, reason = "compared with the system's list of locks; nothing is read or written")]
pub(crate) fn inode(path: &Path) -> Option<u64> {
    use std::os::unix::fs::MetadataExt;
    Some(std::fs::metadata(path).ok()?.ino())
}

/// A file of `/proc` as text.
#[cfg(target_os = "linux")]
#[allow(clippy::disallowed_methods, reason = "files of /proc have no length, and are no part of a database")]
pub(crate) fn text(path: &Path) -> Option<String> {
    std::fs::read_to_string(path).ok()
}

/// The number behind a name at the beginning of a line.
fn field(text: &str, name: &str) -> Option<u64> {
    let rest = text.lines().find_map(|line| line.strip_prefix(name))?;
    rest.split_whitespace().next()?.parse().ok()
}

fn read(path: &str) -> Option<String> {
    let file = Env::os().fs.open(Path::new(path), OpenMode::Read).ok()?;
    let mut text = vec![0; 8 << 10];
    let len = file.read_at(&mut text, 0).ok()?;
    text.truncate(len);
    String::from_utf8(text).ok()
}

#[cfg(test)]
mod tests;
