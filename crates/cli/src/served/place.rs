//! The working directory and the environment of a visitor. A thread of the host uses them as its own.

use crate::config;
use crate::session;
use crate::variables;
use clap::ValueEnum;
use std::cell::Cell;
use std::fmt;
use std::os::fd::OwnedFd;
use std::path::Path;

/// Environment variables that commands read, in addition to those of settings.
const VARIABLES: &[&str] =
    &["ALLUVIUM_CONFIG", "COLUMNS", "HOME", "NO_COLOR", "TERM", "XDG_CONFIG_HOME", "XDG_STATE_HOME"];

/// The facts about a visitor that a host needs.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(super) struct Facts {
    /// The version of the program.
    pub version: String,
    /// Device and inode of the root directory, which differ if one process runs in a container.
    pub root: (u64, u64),
    pub umask: u32,
    /// Standard input is a terminal, which the visitor reads for the command.
    pub input_is_terminal: bool,
    /// The last descriptor belongs to a pager.
    pub has_pager: bool,
}

impl Facts {
    /// The facts of this process.
    pub(super) fn own(input_is_terminal: bool, has_pager: bool) -> Self {
        let umask = rustix::process::umask(rustix::fs::Mode::RWXG | rustix::fs::Mode::RWXO);
        rustix::process::umask(umask);
        let version = env!("CARGO_PKG_VERSION").to_owned();
        Self { version, root: root(), umask: umask.as_raw_mode(), input_is_terminal, has_pager }
    }

    pub(super) fn texts(&self) -> Vec<String> {
        let numbers =
            [self.root.0, self.root.1, self.umask.into(), self.input_is_terminal.into(), self.has_pager.into()];
        std::iter::once(self.version.clone()).chain(numbers.iter().map(u64::to_string)).collect()
    }

    pub(super) fn of(texts: &[String]) -> Option<Self> {
        let [version, device, inode, umask, input_is_terminal, has_pager] = texts else { return None };
        Some(Self {
            version: version.clone(),
            root: (device.parse().ok()?, inode.parse().ok()?),
            umask: umask.parse().ok()?,
            input_is_terminal: input_is_terminal == "1",
            has_pager: has_pager == "1",
        })
    }
}

/// Device and inode of the root directory.
fn root() -> (u64, u64) {
    rustix::fs::stat("/").map_or((0, 0), |found| identity(&found))
}

// The types of these fields depend on the system.
#[allow(clippy::unnecessary_cast)]
fn identity(found: &rustix::fs::Stat) -> (u64, u64) {
    (found.st_dev as u64, found.st_ino as u64)
}

/// The variables of this process that commands read.
pub(super) fn own_variables() -> Vec<(String, String)> {
    let settings = config::SETTINGS.iter().map(|setting| config::variable_of(setting.name));
    let names = settings.chain(VARIABLES.iter().map(|name| (*name).to_owned()));
    let mut found: Vec<_> = names.filter_map(|name| variables::given(&name).map(|value| (name, value))).collect();
    if let Some(mode) = session::mode().and_then(|mode| mode.to_possible_value()) {
        // A mode that was chosen in the shell overrides the variable.
        let name = config::variable_of("mode");
        found.retain(|(other, _)| *other != name);
        found.push((name, mode.get_name().to_owned()));
    }
    found
}

/// The reasons why a visitor's command cannot run in this process.
#[derive(Debug)]
pub(super) enum Refused {
    Version(String),
    Root,
    Directory(rustix::io::Errno),
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let own = std::process::id();
        match self {
            Self::Version(version) => write!(
                f,
                "the process {own} has the database open and is alluvium {}, and this command is of {version}: run the \
                 command of that version",
                env!("CARGO_PKG_VERSION")
            ),
            Self::Root => write!(
                f,
                "the process {own} has the database open, and runs in a container: run the command there, where paths \
                 mean the same"
            ),
            Self::Directory(error) => write!(
                f,
                "the process {own} has the database open, and cannot enter this working directory ({error}): name the \
                 database and all files by absolute paths"
            ),
        }
    }
}

/// Makes this thread, and threads that it starts, use a visitor's working directory and its mask of permissions. If the
/// system forbids that, [`check`] refuses relative paths. The thread is not used for anything else afterwards.
pub(super) fn enter(facts: &Facts, directory: &OwnedFd) -> Result<(), Refused> {
    if facts.version != env!("CARGO_PKG_VERSION") {
        return Err(Refused::Version(facts.version.clone()));
    }
    if facts.root != root() {
        return Err(Refused::Root);
    }
    match unshare() {
        Ok(()) => {
            rustix::process::umask(rustix::fs::Mode::from_raw_mode(facts.umask));
            rustix::process::fchdir(directory).map_err(Refused::Directory)
        }
        Err(error) => {
            // A container may forbid this. If the directory is the same, nothing needs to change.
            let is_same = match (rustix::fs::fstat(directory), rustix::fs::stat(".")) {
                (Ok(one), Ok(other)) => identity(&one) == identity(&other),
                _ => false,
            };
            ELSEWHERE.set((!is_same).then_some(error));
            Ok(())
        }
    }
}

thread_local! {
    /// The reason why this thread does not work in the directory of its visitor; `None` if it does.
    static ELSEWHERE: Cell<Option<rustix::io::Errno>> = const { Cell::new(None) };
}

/// Refuses relative paths on a thread that does not work in the directory of its visitor.
pub(super) fn check(has_relative_paths: bool) -> Result<(), Refused> {
    let config = variables::variable("ALLUVIUM_CONFIG");
    let is_relative = has_relative_paths || config.is_some_and(|path| Path::new(&path).is_relative());
    ELSEWHERE.get().filter(|_| is_relative).map_or(Ok(()), |error| Err(Refused::Directory(error)))
}

/// Gives this thread its own working directory and mask of permissions.
#[cfg(target_os = "linux")]
#[allow(unsafe_code)]
fn unshare() -> rustix::io::Result<()> {
    // SAFETY: the requirement of this function concerns `FILES`. That flag is not given: descriptors stay shared.
    unsafe { rustix::thread::unshare_unsafe(rustix::thread::UnshareFlags::FS) }
}

/// Other systems have one working directory for the whole process.
#[cfg(not(target_os = "linux"))]
fn unshare() -> rustix::io::Result<()> {
    Err(rustix::io::Errno::NOTSUP)
}
