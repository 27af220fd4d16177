//! What this process has used so far: processor time, memory, bytes written.
//!
//! Read from the kernel; where it does not tell (no `/proc`), the figures are absent.

use env::{Env, OpenMode};
use std::path::Path;
use std::time::Duration;

/// Processor time of all threads, user and system.
pub(crate) fn cpu_time() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    Duration::new(u64::try_from(time.tv_sec).unwrap_or(0), u32::try_from(time.tv_nsec).unwrap_or(0))
}

/// Processor time of the children that have ended and were waited for, user and system, in steps of
/// the kernel's tick (10 ms).
pub(crate) fn children_cpu_time() -> Option<Duration> {
    let stat = read("/proc/self/stat")?;
    // The name of the program, in parentheses, may hold anything.
    let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
    let ticks = fields.get(13)?.parse::<u64>().ok()? + fields.get(14)?.parse::<u64>().ok()?;
    Some(Duration::from_secs_f64(ticks as f64 / rustix::param::clock_ticks_per_second() as f64))
}

/// Bytes of memory resident now.
pub(crate) fn resident_bytes() -> Option<u64> {
    status_bytes("VmRSS:")
}

/// The most bytes of memory that were ever resident.
pub(crate) fn peak_resident_bytes() -> Option<u64> {
    status_bytes("VmHWM:")
}

/// Bytes that this process caused to be written to storage.
pub(crate) fn written_bytes() -> Option<u64> {
    field(&read("/proc/self/io")?, "write_bytes:")
}

fn status_bytes(name: &str) -> Option<u64> {
    field(&read("/proc/self/status")?, name).map(|kib| kib * 1024)
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
