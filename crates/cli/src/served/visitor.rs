//! Lets the process that serves a database run a command.

use super::host;
use super::message::{BEGINS, ENDED, Message, READS};
use super::place::{self, Facts};
use super::target::Target;
use crate::exit::{FAILURE, Failure, INTERRUPTED};
use crate::output;
use crate::report::complain;
use crate::signals::{SIGNAL_CHECK, Stop};
use alluvium_env::thread::{JoinHandle, try_spawn};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{Mode, OFlags};
use std::ffi::OsString;
use std::io::{self, IsTerminal, PipeWriter, Read, Write};
use std::net::Shutdown;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::path::Path;

/// Runs the command in the process that serves its database, and returns the exit code. `None` if no process serves the
/// database for commands; the command then runs in this process.
pub(crate) fn visit(target: &Target, arguments: &[OsString]) -> Option<u8> {
    let stream = alluvium_server::connect(target.served()?).ok()?;
    match Call::begin(stream, arguments) {
        Ok(Some(call)) => Some(call.finish()),
        Ok(None) => None,
        Err(error) => {
            log::info!("the database is served, and the command does not run there: {error}");
            None
        }
    }
}

/// Runs a line of a shell in the process that serves its database, and returns the exit code; `None` if no process
/// serves the database for commands.
pub(crate) fn run_line(database: &Path, collection: Option<&str>, words: &[String]) -> Option<u8> {
    let stream = alluvium_server::connect(database).ok()?;
    let arguments = host::line_of_shell(collection, words);
    Call::begin(stream, &arguments).ok()?.map(Call::finish)
}

/// If a command fails because it needs exclusive use of its database, adds this reason to the failure.
pub(crate) fn explain(target: &Target, failure: Failure) -> Failure {
    match failure {
        Failure::Library { error, advice } if target.needs_it_alone() && error.kind() == alluvium::ErrorKind::InUse => {
            let alone = format!("`{}` needs the database for itself.", target.command);
            let advice = advice.map_or_else(|| alone.clone(), |advice| format!("{alone} {advice}"));
            Failure::Library { error, advice: Some(advice) }
        }
        failure => failure,
    }
}

/// A command that runs in another process.
struct Call {
    stream: UnixStream,
    stop: Stop,
    /// The thread that copies long output to the pager.
    pager: Option<JoinHandle<io::Result<()>>>,
    /// The pipe for the terminal's input; `None` once the command reads it.
    terminal: Option<PipeWriter>,
}

impl Call {
    /// Sends the command; `None` if the process runs no commands.
    fn begin(stream: UnixStream, arguments: &[OsString]) -> io::Result<Option<Self>> {
        let (stdin, stdout, stderr) = (io::stdin(), io::stdout(), io::stderr());
        let directory = rustix::fs::open(".", OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?;
        // The system stops a background process that reads a terminal. Therefore the other process reads a pipe, not
        // the terminal.
        let terminal = if stdin.is_terminal() { Some(io::pipe()?) } else { None };
        let pages = if output::is_paged() { Some(io::pipe()?) } else { None };
        let input = terminal.as_ref().map_or(stdin.as_fd(), |(read, _)| read.as_fd());
        let mut descriptors: Vec<BorrowedFd<'_>> = vec![input, stdout.as_fd(), stderr.as_fd(), directory.as_fd()];
        descriptors.extend(pages.as_ref().map(|(_, write)| write.as_fd()));
        let facts = Facts::own(terminal.is_some(), pages.is_some());
        let message = Message { facts, arguments: arguments.to_vec(), variables: place::own_variables() };
        message.send(&stream, &descriptors)?;
        let mut byte = [0];
        if (&stream).read(&mut byte)? == 0 {
            return Ok(None);
        }
        if byte != [BEGINS] {
            return Err(io::ErrorKind::InvalidData.into());
        }
        let stop = Stop::on_signals().map_err(|failure| io::Error::other(failure.to_string()))?;
        let pager = match pages {
            Some((read, _only_the_others)) => Some(try_spawn("pager", move || output::copy_to_pager(read))?),
            None => None,
        };
        Ok(Some(Self { stream, stop, pager, terminal: terminal.map(|(_, write)| write) }))
    }

    /// Waits until the command has ended, and returns the exit code.
    fn finish(mut self) -> u8 {
        let ended = self.wait();
        if let Some(pager) = self.pager.take() {
            // The command itself detects a closed output.
            let _closed = pager.join();
        }
        match ended {
            Ok(code) => code,
            Err(_) if self.stop.is_set() => INTERRUPTED,
            Err(_) => {
                let what = "the process that has the database open ended while it ran the command, which may have \
                            written a part: look at the database before you run the command again";
                complain("alluvium", &Failure::Other(what.to_owned()));
                FAILURE
            }
        }
    }

    fn wait(&mut self) -> io::Result<u8> {
        let timeout = Timespec { tv_sec: 0, tv_nsec: i64::from(SIGNAL_CHECK.subsec_nanos()) };
        let mut asked = false;
        loop {
            if self.stop.is_set() && !asked {
                self.stream.shutdown(Shutdown::Write)?;
                asked = true;
            }
            match poll(&mut [PollFd::new(&self.stream, PollFlags::IN)], Some(&timeout)) {
                Ok(0) | Err(rustix::io::Errno::INTR) => continue,
                Ok(_) => {}
                Err(error) => return Err(error.into()),
            }
            let mut byte = [0];
            self.stream.read_exact(&mut byte)?;
            match byte {
                [READS] => self.read_terminal()?,
                [ENDED] => {
                    self.stream.read_exact(&mut byte)?;
                    return Ok(byte[0]);
                }
                _ => return Err(io::ErrorKind::InvalidData.into()),
            }
        }
    }

    /// Copies input that is typed to the command, on a thread that ends with the process.
    fn read_terminal(&mut self) -> io::Result<()> {
        let Some(mut terminal) = self.terminal.take() else { return Ok(()) };
        try_spawn("terminal", move || {
            let (stdin, mut buffer) = (io::stdin(), [0; 4096]);
            while let Ok(read) = rustix::io::read(&stdin, &mut buffer) {
                if read == 0 || terminal.write_all(&buffer[..read]).is_err() {
                    break;
                }
            }
        })?;
        Ok(())
    }
}
