//! Resource usage of this process: processor time, memory, context switches, bytes read and
//! written.
//!
//! The values come from the kernel. Values that the kernel does not report (without `/proc`) are absent.

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

/// Processor time of the ended child processes that were waited for, user and system, in units of
/// the kernel's tick (10 ms).
pub fn children_cpu_time() -> Option<Duration> {
    let ticks = child_ticks(&read("/proc/self/stat")?)?;
    Some(Duration::from_secs_f64(ticks as f64 / rustix::param::clock_ticks_per_second() as f64))
}

/// The sum of the fields `cutime` and `cstime` of proc(5).
fn child_ticks(stat: &str) -> Option<u64> {
    let fields = fields(stat)?;
    Some(fields.get(13)?.parse::<u64>().ok()? + fields.get(14)?.parse::<u64>().ok()?)
}

/// The fields of `/proc/PID/stat` after the name of the program, which may contain any characters in its parentheses.
fn fields(stat: &str) -> Option<Vec<&str>> {
    Some(stat.rsplit_once(')')?.1.split_whitespace().collect())
}

/// The processor time of a process, in units of the kernel's tick (10 ms).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Times {
    /// Time in the program.
    pub user: Duration,
    /// Time in the kernel.
    pub system: Duration,
}

/// The processor time that a process of this machine has used so far, by the id of the process.
pub fn times_of(process: i64) -> Option<Times> {
    let text = text(Path::new(&format!("/proc/{process}/stat")))?;
    let ticks = |field: usize| -> Option<Duration> {
        let ticks = fields(&text)?.get(field)?.parse::<u64>().ok()?;
        Some(Duration::from_secs_f64(ticks as f64 / rustix::param::clock_ticks_per_second() as f64))
    };
    // `utime` and `stime` of proc(5).
    Some(Times { user: ticks(11)?, system: ticks(12)? })
}

/// The kernel's id of the calling thread; see [`thread_io`].
#[cfg(target_os = "linux")]
pub fn thread_id() -> u32 {
    rustix::thread::gettid().as_raw_nonzero().get().unsigned_abs()
}

/// The kernel's id of the calling thread, which is unknown on this system.
#[cfg(not(target_os = "linux"))]
pub fn thread_id() -> u32 {
    0
}

/// The average number of threads on this machine that ran or waited for a processor during the last
/// minute; 0 if unknown.
pub fn load_average() -> f64 {
    let text = read("/proc/loadavg").unwrap_or_default();
    text.split_whitespace().next().and_then(|first| first.parse().ok()).unwrap_or(0.0)
}

/// Bytes and calls of input and output of a thread.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Io {
    /// Bytes written to storage, including bytes that are still in the cache.
    pub written_bytes: u64,
    /// Bytes read from storage.
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

    /// The sum of two values.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self {
            written_bytes: self.written_bytes + other.written_bytes,
            read_bytes: self.read_bytes + other.read_bytes,
            read_calls: self.read_calls + other.read_calls,
            write_calls: self.write_calls + other.write_calls,
        }
    }

    /// The difference from an earlier value.
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

/// The input and output of a thread of this process so far, by its [`thread_id`]; zero if the thread has ended.
pub fn thread_io(thread: u32) -> Io {
    Io::parse(&read(&format!("/proc/self/task/{thread}/io")).unwrap_or_default())
}

/// Resident memory in bytes.
pub fn resident_bytes() -> Option<u64> {
    field(&read("/proc/self/status")?, "VmRSS:").map(|kib| kib * 1024)
}

/// The maximum resident memory so far in bytes.
pub fn peak_resident_bytes() -> Option<u64> {
    field(&read("/proc/self/status")?, "VmHWM:").map(|kib| kib * 1024)
}

/// The resource usage of a process so far. The difference of two values is the usage in between.
#[derive(Debug, Clone, Copy, Default, Serialize)]
pub struct Usage {
    /// Processor time in seconds, all threads.
    pub cpu_seconds: f64,
    /// The number of times that a thread waited.
    pub voluntary_switches: u64,
    /// The number of times that a thread was preempted.
    pub involuntary_switches: u64,
    /// Bytes written to storage, including bytes that are still in the cache.
    pub written_bytes: u64,
    /// Bytes read from storage; reads from the system's cache are not included.
    pub read_bytes: u64,
    /// System calls that read.
    pub read_calls: u64,
    /// System calls that write.
    pub write_calls: u64,
}

impl Usage {
    /// The usage of this process so far.
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
        // Includes threads that have ended.
        if let Ok(all) = getrusage(UsageWho::RUSAGE_SELF) {
            usage.voluntary_switches = u64::try_from(all.voluntary_context_switches()).unwrap_or(0);
            usage.involuntary_switches = u64::try_from(all.involuntary_context_switches()).unwrap_or(0);
        }
        usage
    }

    /// The difference from an earlier value.
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

/// The inode number of a file; `None` if it does not exist.
#[cfg(target_os = "linux")]
#[allow(clippy::disallowed_methods, reason = "compared with the system's list of locks; nothing is read or written")]
pub(crate) fn inode(path: &Path) -> Option<u64> {
    use std::os::unix::fs::MetadataExt;
    Some(std::fs::metadata(path).ok()?.ino())
}

/// A file of `/proc` as text; `None` if it does not exist.
#[allow(clippy::disallowed_methods, reason = "files of /proc have no length, and are no part of a database")]
pub fn text(path: &Path) -> Option<String> {
    std::fs::read_to_string(path).ok()
}

/// The number after a name at the start of a line.
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
