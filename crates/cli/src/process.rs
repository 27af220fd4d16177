//! What processes have used, beyond what `bench` tells of this one.

use alluvium_env::{Env, OpenMode};
use std::path::Path;
use std::time::Duration;

/// Processor time of the children that have ended and were waited for, user and system, in steps of
/// the kernel's tick (10 ms). `None` where the kernel does not tell (no `/proc`).
pub(crate) fn children_cpu_time() -> Option<Duration> {
    let file = Env::os().fs.open(Path::new("/proc/self/stat"), OpenMode::Read).ok()?;
    let mut stat = vec![0; 4 << 10];
    let len = file.read_at(&mut stat, 0).ok()?;
    let ticks = child_ticks(std::str::from_utf8(&stat[..len]).ok()?)?;
    Some(Duration::from_secs_f64(ticks as f64 / rustix::param::clock_ticks_per_second() as f64))
}

/// The fields `cutime` and `cstime` of proc(5), together.
fn child_ticks(stat: &str) -> Option<u64> {
    // The name of the program, in parentheses, may hold anything.
    let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
    Some(fields.get(13)?.parse::<u64>().ok()? + fields.get(14)?.parse::<u64>().ok()?)
}

#[cfg(test)]
mod tests;
