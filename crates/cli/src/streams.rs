//! The standard streams of the command that runs on this thread: the streams of this process, or those of a visitor. A
//! visitor is a command line in another process whose command runs in this one.

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::FileType;
use rustix::io::Errno;
use std::cell::RefCell;
use std::io::{self, IsTerminal, Read, Stderr, Stdin, Stdout, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// The time after which a waiting read or write checks the flag.
const CHECK: Timespec = Timespec { tv_sec: 0, tv_nsec: 50_000_000 };
const AT_ONCE: Timespec = Timespec { tv_sec: 0, tv_nsec: 0 };
/// The number of bytes that a pipe accepts at once when it is ready for writing.
const PIPE_BYTES: usize = 4096;

/// One stream of a visitor. Reads and writes wait at most until the flag is set.
#[derive(Debug)]
pub(crate) struct Stream {
    fd: OwnedFd,
    /// True for a regular file: reads and writes never wait.
    is_file: bool,
    stop: Arc<AtomicBool>,
}

impl Stream {
    pub(crate) fn new(fd: OwnedFd, stop: Arc<AtomicBool>) -> Self {
        let is_file =
            rustix::fs::fstat(&fd).is_ok_and(|found| FileType::from_raw_mode(found.st_mode) == FileType::RegularFile);
        Self { fd, is_file, stop }
    }

    /// Waits until the stream is ready for reading or writing. After the command is stopped, the remaining output is
    /// written only if the stream accepts it at once.
    fn wait(&self, until: PollFlags) -> io::Result<()> {
        loop {
            let is_stopped = self.stop.load(Ordering::Relaxed);
            let timeout = if is_stopped { &AT_ONCE } else { &CHECK };
            match poll(&mut [PollFd::new(&self.fd, until)], Some(timeout)) {
                Err(Errno::INTR) => {}
                Ok(0) if is_stopped => return Err(stopped()),
                Ok(0) => {}
                Ok(_) => return Ok(()),
                Err(error) => return Err(error.into()),
            }
        }
    }

    fn read(&self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            self.wait(PollFlags::IN)?;
            match rustix::io::read(&self.fd, &mut *buffer) {
                Err(Errno::INTR | Errno::AGAIN) => {}
                read => return Ok(read?),
            }
        }
    }

    /// Writes some of the bytes.
    pub(crate) fn write(&self, bytes: &[u8]) -> io::Result<usize> {
        let most = if self.is_file { bytes.len() } else { bytes.len().min(PIPE_BYTES) };
        loop {
            self.wait(PollFlags::OUT)?;
            match rustix::io::write(&self.fd, &bytes[..most]) {
                Err(Errno::INTR | Errno::AGAIN) => {}
                written => return Ok(written?),
            }
        }
    }
}

/// The error of a read or write that was waiting when the command was stopped.
fn stopped() -> io::Error {
    io::Error::new(io::ErrorKind::ConnectionAborted, "stopped")
}

/// True for the error of a read or write that was waiting when the command was stopped.
pub(crate) fn is_stopped(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::ConnectionAborted
}

/// The streams of a visitor.
#[derive(Debug, Clone)]
pub(crate) struct Streams {
    pub input: Arc<Stream>,
    /// True if the visitor reads a terminal. It does so only after a call of `request_input`.
    pub input_is_terminal: bool,
    /// Informs the visitor that the command reads standard input.
    pub request_input: fn(&Stream),
    /// The stream to which these requests are written.
    pub requests: Arc<Stream>,
    pub output: Arc<Stream>,
    pub error: Arc<Stream>,
    /// The pipe for long output, if the visitor has a pager.
    pub pages: Option<Arc<Stream>>,
}

thread_local! {
    static OF_VISITOR: RefCell<Option<Streams>> = const { RefCell::new(None) };
}

/// Makes the command on this thread use a visitor's streams; `None` restores the streams of the process.
pub(crate) fn share(streams: Option<Streams>) {
    OF_VISITOR.with(|shared| *shared.borrow_mut() = streams);
}

fn of_visitor<T>(get: impl FnOnce(&Streams) -> T) -> Option<T> {
    OF_VISITOR.with(|shared| shared.borrow().as_ref().map(get))
}

/// True if the command runs for a visitor.
pub(crate) fn has_visitor() -> bool {
    of_visitor(|_| ()).is_some()
}

/// Standard input.
#[derive(Debug)]
pub(crate) enum Input {
    Own(Stdin),
    Visitor(Arc<Stream>),
}

/// Standard input, for a command that is about to read it.
pub(crate) fn input() -> Input {
    let of_visitor = of_visitor(|streams| {
        if streams.input_is_terminal {
            (streams.request_input)(&streams.requests);
        }
        Input::Visitor(Arc::clone(&streams.input))
    });
    of_visitor.unwrap_or_else(|| Input::Own(io::stdin()))
}

/// True if standard input is a terminal.
pub(crate) fn input_is_terminal() -> bool {
    of_visitor(|streams| streams.input_is_terminal).unwrap_or_else(|| io::stdin().is_terminal())
}

impl Read for Input {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Own(stdin) => stdin.read(buffer),
            Self::Visitor(stream) => stream.read(buffer),
        }
    }
}

impl AsFd for Input {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Self::Own(stdin) => stdin.as_fd(),
            Self::Visitor(stream) => stream.fd.as_fd(),
        }
    }
}

/// Standard output or standard error.
#[derive(Debug)]
pub(crate) enum Out {
    Output(Stdout),
    Error(Stderr),
    Visitor(Arc<Stream>),
}

/// Standard output.
pub(crate) fn output() -> Out {
    of_visitor(|streams| Arc::clone(&streams.output)).map_or_else(|| Out::Output(io::stdout()), Out::Visitor)
}

/// Standard error.
pub(crate) fn error() -> Out {
    of_visitor(|streams| Arc::clone(&streams.error)).map_or_else(|| Out::Error(io::stderr()), Out::Visitor)
}

/// The pipe to the visitor's pager, if the visitor has one.
pub(crate) fn pages() -> Option<Out> {
    of_visitor(|streams| streams.pages.clone()).flatten().map(Out::Visitor)
}

impl Out {
    /// True for a terminal.
    pub(crate) fn is_terminal(&self) -> bool {
        match self {
            Self::Output(stdout) => stdout.is_terminal(),
            Self::Error(stderr) => stderr.is_terminal(),
            Self::Visitor(stream) => stream.fd.is_terminal(),
        }
    }

    /// A writer for one command; standard output is locked.
    pub(crate) fn into_writer(self) -> Box<dyn Write> {
        match self {
            Self::Output(stdout) => Box::new(stdout.lock()),
            other => Box::new(other),
        }
    }
}

impl AsFd for Out {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Self::Output(stdout) => stdout.as_fd(),
            Self::Error(stderr) => stderr.as_fd(),
            Self::Visitor(stream) => stream.fd.as_fd(),
        }
    }
}

impl Write for Out {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Output(stdout) => stdout.write(bytes),
            Self::Error(stderr) => stderr.write(bytes),
            Self::Visitor(stream) => stream.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Output(stdout) => stdout.flush(),
            Self::Error(stderr) => stderr.flush(),
            Self::Visitor(_) => Ok(()),
        }
    }
}

/// Prints a line on standard error. If that is closed, there is nowhere to report it.
pub(crate) fn complain(line: &str) {
    let _closed = error().write_all(format!("{line}\n").as_bytes());
}
