//! The socket of the owner: a file in the directory of the database.
//!
//! The mode of the socket is 0600, and connections of other users are refused. Connections therefore need no login.
//! MongoDB's clients connect to the socket as to any other. A connection whose first bytes are [`RUN`] is passed to the
//! [`Runner`].

use alluvium::Database;
use rustix::fs::{AtFlags, FileType, Mode, OFlags, Stat};
use rustix::io::Errno;
use std::fmt;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// The name of the socket in the directory of a database.
pub const OWNER_SOCKET: &str = "server.sock";
/// The first bytes of a connection to the [`Runner`]. A message cannot begin with these bytes, because as a length they
/// are above the limit.
pub const RUN: [u8; 4] = *b"ALRN";
/// The longest path that fits into the socket addresses of all systems.
const PATH_BYTES_MAX: usize = 100;
/// Read and write permission for the owner.
const MODE: u32 = 0o600;

/// A connection to the runner. The first bytes, [`RUN`], are not consumed yet.
pub struct Visit {
    /// The connection, in blocking mode.
    pub stream: UnixStream,
    /// The database.
    pub database: Database,
    /// Set when the server stops.
    pub stop: Arc<AtomicBool>,
}

/// Serves a connection that begins with [`RUN`], on a thread of its own. The command line uses it to run its commands
/// in the server.
#[derive(Clone)]
pub struct Runner(Arc<dyn Fn(Visit) + Send + Sync>);

impl Runner {
    /// A runner that calls this function.
    pub fn new(run: impl Fn(Visit) + Send + Sync + 'static) -> Self {
        Self(Arc::new(run))
    }

    /// Serves a connection.
    pub(crate) fn run(&self, visit: Visit) {
        (self.0)(visit);
    }
}

impl fmt::Debug for Runner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Runner")
    }
}

/// Connects to the owner's socket of a database.
///
/// # Errors
/// `NotFound` if the socket does not exist, `ConnectionRefused` if the process of the socket has ended.
pub fn connect(database: &Path) -> io::Result<UnixStream> {
    UnixStream::connect(Address::of(database)?.path)
}

/// A path to the socket that fits into a socket address.
struct Address {
    path: PathBuf,
    /// The open directory, if the path is relative to its descriptor.
    _directory: Option<OwnedFd>,
}

impl Address {
    fn of(database: &Path) -> io::Result<Self> {
        let path = database.join(OWNER_SOCKET);
        match path.as_os_str().len() <= PATH_BYTES_MAX {
            true => Ok(Self { path, _directory: None }),
            false => Self::of_long(database),
        }
    }

    #[cfg(target_os = "linux")]
    fn of_long(database: &Path) -> io::Result<Self> {
        use std::os::fd::AsRawFd;
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let directory = rustix::fs::open(database, flags, Mode::empty())?;
        let path = PathBuf::from(format!("/proc/self/fd/{}/{OWNER_SOCKET}", directory.as_raw_fd()));
        Ok(Self { path, _directory: Some(directory) })
    }

    #[cfg(not(target_os = "linux"))]
    fn of_long(_database: &Path) -> io::Result<Self> {
        Err(io::Error::new(io::ErrorKind::InvalidFilename, "the path is too long for a socket"))
    }
}

/// The socket of a running database. The file is removed when this value is dropped.
pub(crate) struct OwnerSocket {
    address: Address,
    /// Identifies the file that this process has created.
    device_and_inode: (u64, u64),
}

impl OwnerSocket {
    /// Listens on the socket. The file of a process that has ended is replaced. No other process can listen on it,
    /// because this process holds the lock of the database.
    pub(crate) fn bind(db: &Database) -> io::Result<(UnixListener, Self)> {
        if db.is_read_only() {
            return Err(io::Error::new(io::ErrorKind::ReadOnlyFilesystem, "the database is opened for reading only"));
        }
        let address = Address::of(db.path())?;
        remove_stale(&address.path)?;
        let listener = UnixListener::bind(&address.path)?;
        let device_and_inode = identity(&lookup(&address.path)?);
        let socket = Self { address, device_and_inode };
        rustix::fs::chmod(&socket.address.path, Mode::from_raw_mode(MODE))?;
        Ok((listener, socket))
    }
}

impl Drop for OwnerSocket {
    fn drop(&mut self) {
        let path = &self.address.path;
        if lookup(path).is_ok_and(|found| identity(&found) == self.device_and_inode) {
            let _may_be_gone = rustix::fs::unlink(path);
        }
    }
}

/// Removes the file of a socket if no process listens on it.
fn remove_stale(path: &Path) -> io::Result<()> {
    let found = match lookup(path) {
        Err(Errno::NOENT) => return Ok(()),
        found => found?,
    };
    if FileType::from_raw_mode(found.st_mode) != FileType::Socket || UnixStream::connect(path).is_ok() {
        return Err(Errno::ADDRINUSE.into());
    }
    Ok(rustix::fs::unlink(path)?)
}

fn lookup(path: &Path) -> rustix::io::Result<Stat> {
    rustix::fs::statat(rustix::fs::CWD, path, AtFlags::SYMLINK_NOFOLLOW)
}

// The types of these fields depend on the system.
#[allow(clippy::unnecessary_cast)]
fn identity(found: &Stat) -> (u64, u64) {
    (found.st_dev as u64, found.st_ino as u64)
}

/// True for a connection of the user of this process, or of root.
pub(crate) fn is_of_owner(stream: &tokio::net::UnixStream) -> bool {
    let own = rustix::process::geteuid().as_raw();
    stream.peer_cred().is_ok_and(|peer| peer.uid() == own || peer.uid() == 0)
}
