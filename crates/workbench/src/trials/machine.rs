//! The machine, the device and the versions of a run.

use crate::record::{DeviceUse, Machine, Versions};
use alluvium_cli::process::text;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The size of a sector in `/proc/diskstats`, in bytes. It does not depend on the device.
const SECTOR_BYTES: u64 = 512;

/// The device of a directory.
#[derive(Debug, Clone, Default)]
pub(crate) struct Device {
    major: u32,
    minor: u32,
}

impl Device {
    /// The device that holds a directory.
    pub fn of(dir: &Path) -> Self {
        let Ok(stat) = rustix::fs::stat(dir) else { return Self::default() };
        Self { major: rustix::fs::major(stat.st_dev), minor: rustix::fs::minor(stat.st_dev) }
    }

    /// The work of the device since the machine started; `None` if the kernel does not count it.
    pub fn read(&self) -> Option<DeviceUse> {
        self.counters(&proc("diskstats"))
    }

    fn counters(&self, diskstats: &str) -> Option<DeviceUse> {
        let line = self.line(diskstats)?;
        let number = |at: usize| line.get(at).and_then(|field| field.parse::<u64>().ok());
        Some(DeviceUse {
            reads: number(3)?,
            read_bytes: number(5)? * SECTOR_BYTES,
            writes: number(7)?,
            written_bytes: number(9)? * SECTOR_BYTES,
        })
    }

    fn name(&self, diskstats: &str) -> Option<String> {
        self.line(diskstats)?.get(2).map(|name| (*name).to_owned())
    }

    /// The fields of the device's line.
    fn line<'a>(&self, diskstats: &'a str) -> Option<Vec<&'a str>> {
        let (major, minor) = (self.major.to_string(), self.minor.to_string());
        let lines = diskstats.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
        lines.into_iter().find(|fields| fields.len() > 9 && fields[0] == major && fields[1] == minor)
    }

    /// The type of the file system, and the device as it was mounted.
    fn mount<'a>(&self, mountinfo: &'a str) -> Option<(&'a str, &'a str)> {
        let number = format!("{}:{}", self.major, self.minor);
        let line = mountinfo.lines().find(|line| line.split(' ').nth(2) == Some(number.as_str()))?;
        let mut fields = line.split_once(" - ")?.1.split(' ');
        Some((fields.next()?, fields.next()?))
    }
}

/// This machine, with the file system and the device of a directory.
pub(super) fn machine(device: &Device) -> Machine {
    let (diskstats, mountinfo) = (proc("diskstats"), proc("self/mountinfo"));
    let mount = device.mount(&mountinfo);
    let memory = colon(&proc("meminfo"), "MemTotal").and_then(|kib| kib.split(' ').next()?.parse::<u64>().ok());
    let system = rustix::system::uname();
    let part = |text: &std::ffi::CStr| text.to_string_lossy().into_owned();
    Machine {
        processor: colon(&proc("cpuinfo"), "model name").unwrap_or_else(|| part(system.machine())),
        cores: alluvium_env::thread::available_parallelism() as u64,
        memory_bytes: memory.unwrap_or(0) * 1024,
        kernel: format!("{} {}", part(system.sysname()), part(system.release())),
        file_system: mount.map(|(kind, _)| kind.to_owned()).unwrap_or_default(),
        device: device.name(&diskstats).or_else(|| mount.map(|(_, from)| from.to_owned())).unwrap_or_default(),
    }
}

/// The versions of Alluvium and of a program.
pub(super) fn versions(name: &str, program: &Path) -> Versions {
    let printed = printed(Command::new(program).arg("--version"));
    Versions {
        alluvium: env!("CARGO_PKG_VERSION").to_owned(),
        commit: commit(Path::new(env!("CARGO_MANIFEST_DIR"))),
        program: printed.unwrap_or_else(|| name.to_owned()),
    }
}

/// The commit of the sources, if they still exist where this program was built.
fn commit(sources: &Path) -> Option<String> {
    let mut git = Command::new("git");
    git.arg("-C").arg(sources).args(["describe", "--always", "--dirty", "--abbrev=40", "--exclude=*"]);
    printed(&mut git)
}

/// The first line that a command prints, if the command succeeds.
fn printed(command: &mut Command) -> Option<String> {
    let output = command.stdin(Stdio::null()).stderr(Stdio::null()).output().ok()?;
    let line = String::from_utf8(output.stdout).ok()?.lines().next()?.trim().to_owned();
    (output.status.success() && !line.is_empty()).then_some(line)
}

fn proc(name: &str) -> String {
    text(&PathBuf::from("/proc").join(name)).unwrap_or_default()
}

/// The text after a name and a colon.
fn colon(text: &str, name: &str) -> Option<String> {
    let mut pairs = text.lines().filter_map(|line| line.split_once(':'));
    pairs.find(|(found, _)| found.trim() == name).map(|(_, value)| value.trim().to_owned())
}

#[cfg(test)]
mod tests;
