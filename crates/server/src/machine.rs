//! Facts about the machine and the process, read from files of the system.

use alluvium_env::{Env, OpenMode};
use std::collections::BTreeSet;
use std::path::Path;

/// The most bytes of a system file that are read.
const BYTES_MAX: usize = 4 << 20;

/// The text of a system file; empty if the file cannot be read. System files report no length.
pub(crate) fn text(path: &str) -> String {
    let mut bytes = Vec::new();
    let Ok(file) = Env::os().fs.open(Path::new(path), OpenMode::Read) else { return String::new() };
    let mut buffer = [0; 4096];
    while bytes.len() < BYTES_MAX {
        match file.read_at(&mut buffer, bytes.len() as u64) {
            Ok(read) if read > 0 => bytes.extend_from_slice(buffer.get(..read).unwrap_or_default()),
            _ => break,
        }
    }
    String::from_utf8_lossy(&bytes).trim_end().to_owned()
}

/// The values with a name, in a text whose lines have a name, a separator and a value.
pub(crate) fn values<'a>(text: &'a str, name: &'a str, separator: char) -> impl Iterator<Item = &'a str> {
    let pairs = text.lines().filter_map(move |line| line.split_once(separator));
    pairs.filter(move |(found, _)| found.trim() == name).map(|(_, value)| value.trim().trim_matches('"'))
}

/// The memory of the machine in bytes.
pub(crate) fn memory() -> Option<u64> {
    let kib = values(&text("/proc/meminfo"), "MemTotal", ':').next()?.split(' ').next()?.parse::<u64>().ok()?;
    Some(kib * 1024)
}

/// The memory that the process may use, if a control group limits it.
pub(crate) fn memory_limit() -> Option<u64> {
    let limits = ["/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"];
    limits.iter().find_map(|path| text(path).parse::<u64>().ok())
}

/// The memory of the process in bytes: the virtual memory and the resident memory.
pub(crate) fn memory_of_process() -> Option<[u64; 2]> {
    let text = text("/proc/self/statm");
    let mut pages = text.split(' ').map_while(|pages| pages.parse::<u64>().ok());
    let page = rustix::param::page_size() as u64;
    Some([pages.next()? * page, pages.next()? * page])
}

/// The processor.
pub(crate) struct Processor {
    /// Its name.
    pub name: String,
    /// Its features, separated by spaces.
    pub features: String,
    /// Its frequency in MHz.
    pub frequency: String,
    /// The number of physical cores.
    pub cores: usize,
    /// The number of sockets.
    pub sockets: usize,
}

/// The processor, as the system describes it.
pub(crate) fn processor() -> Processor {
    let text = text("/proc/cpuinfo");
    let first = |name| values(&text, name, ':').next().unwrap_or_default().to_owned();
    let sockets: Vec<&str> = values(&text, "physical id", ':').collect();
    let cores: BTreeSet<_> = sockets.iter().zip(values(&text, "core id", ':')).collect();
    Processor {
        name: first("model name"),
        features: first("flags"),
        frequency: first("cpu MHz"),
        cores: if cores.is_empty() { alluvium_env::thread::available_parallelism() } else { cores.len() },
        sockets: sockets.iter().collect::<BTreeSet<_>>().len().max(1),
    }
}

/// The number of processors that are online.
pub(crate) fn processors() -> usize {
    values(&text("/proc/cpuinfo"), "processor", ':').count().max(1)
}

/// The number of NUMA nodes.
pub(crate) fn memory_nodes() -> usize {
    let is_node = |name: &str| name.strip_prefix("node").is_some_and(|number| number.parse::<u32>().is_ok());
    let list = Env::os().fs.list(Path::new("/sys/devices/system/node")).unwrap_or_default();
    list.iter().filter(|entry| is_node(&entry.name)).count().max(1)
}

/// The number of page faults that read the disk, and the CPU time of the process in microseconds, in user mode and in
/// system mode.
pub(crate) fn usage() -> Option<[u64; 3]> {
    let text = text("/proc/self/stat");
    // The program name may contain spaces and parentheses.
    let fields: Vec<&str> = text.rsplit_once(')')?.1.split_whitespace().collect();
    let field = |at: usize| fields.get(at)?.parse::<u64>().ok();
    let micros = 1_000_000 / rustix::param::clock_ticks_per_second().max(1);
    Some([field(9)?, field(11)? * micros, field(12)? * micros])
}
