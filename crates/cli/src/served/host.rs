//! Runs commands of visitors in the process that has the database open.

use super::message::{BEGINS, ENDED, Message, READS};
use super::place;
use crate::exit::{Failure, INTERRUPTED, Outcome};
use crate::report::complain;
use crate::session;
use crate::signals::Stop;
use crate::streams::{self, Stream, Streams};
use crate::variables;
use alluvium_server::{Runner, Visit};
use std::ffi::OsString;
use std::io::{self, Read, Write};
use std::net::Shutdown;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// The exit code of a program that panicked.
const PANICKED: u8 = 101;

/// The time within which a visitor must send its command.
const MESSAGE_TIME: Duration = Duration::from_secs(5);

/// Parses arguments, runs the command, reports its failure, and returns the exit code.
pub(crate) type Run = fn(Vec<OsString>) -> u8;

/// The runner of visitors' commands for a server.
pub(crate) fn runner(run: Run) -> Runner {
    Runner::new(move |visit| {
        if let Err(error) = serve(visit, run) {
            log::info!("the command of a visitor was not run to its end: {error}");
        }
    })
}

/// The first argument of a visitor that is a shell, instead of the name of the program.
const SHELL: &str = "alluvium-shell";

/// The arguments for a line of a shell with a collection in use.
pub(super) fn line_of_shell(collection: Option<&str>, words: &[String]) -> Vec<OsString> {
    let begin = [SHELL, collection.unwrap_or_default()];
    begin.into_iter().chain(words.iter().map(String::as_str)).map(OsString::from).collect()
}

/// The collection in use and the words of a line, if the arguments are a line of a shell.
pub(crate) fn of_shell(arguments: &[OsString]) -> Option<(Option<String>, Vec<String>)> {
    let texts: Option<Vec<String>> = arguments.iter().map(|text| text.to_str().map(str::to_owned)).collect();
    match texts?.as_slice() {
        [name, collection, words @ ..] if name == SHELL => {
            Some((Some(collection.clone()).filter(|name| !name.is_empty()), words.to_vec()))
        }
        _ => None,
    }
}

/// Runs the command of one visitor.
fn serve(visit: Visit, run: Run) -> io::Result<()> {
    let Visit { stream, database, stop } = visit;
    stream.set_read_timeout(Some(MESSAGE_TIME))?;
    let (message, descriptors) = Message::receive(&stream)?;
    stream.set_read_timeout(None)?;
    let (streams, directory) = streams_of(&message, descriptors, &stream, &stop)?;
    (&stream).write_all(&[BEGINS])?;
    let watched = stream.try_clone()?;
    let (flag, left) = (Arc::clone(&stop), Arc::new(AtomicBool::new(false)));
    let leaves = Arc::clone(&left);
    // Without the thread, the visitor could not stop its command.
    alluvium_env::thread::try_spawn("visitor", move || watch(watched, &leaves, &flag))?;
    streams::share(Some(streams));
    variables::share(Some(message.variables.into_iter().collect()));
    let code = match place::enter(&message.facts, &directory) {
        Ok(()) => {
            let _until_the_end = session::enter_for_visitor(&database, &Stop::of(Arc::clone(&stop)));
            run_unwinding(run, message.arguments)
        }
        Err(refused) => {
            let failure = Failure::Other(refused.to_string());
            complain("alluvium", &failure);
            failure.exit_code()
        }
    };
    if code == INTERRUPTED && !left.load(Ordering::Acquire) {
        let what = "the process that has the database open ends, and has stopped the command";
        complain("alluvium", &Failure::Other(what.to_owned()));
    }
    // Closes the visitor's pipes before the visitor is informed that the command has ended.
    streams::share(None);
    variables::share(None);
    let ended = (&stream).write_all(&[ENDED, code]);
    let _closed_already = stream.shutdown(Shutdown::Both);
    ended
}

/// Runs the command. A panic ends the command, not the process.
fn run_unwinding(run: Run, arguments: Vec<OsString>) -> u8 {
    // No state of the command is used after a panic. The database has no state that a panic leaves half changed, as
    // with the requests of a server.
    catch_unwind(AssertUnwindSafe(|| run(arguments))).unwrap_or_else(|_| {
        let what = "the command failed by a fault of this program; the process that has the database open printed it";
        complain("alluvium", &Failure::Other(what.to_owned()));
        PANICKED
    })
}

/// The streams and the working directory of a visitor.
fn streams_of(
    message: &Message,
    descriptors: Vec<OwnedFd>,
    stream: &UnixStream,
    stop: &Arc<AtomicBool>,
) -> io::Result<(Streams, OwnedFd)> {
    let mut descriptors = descriptors.into_iter();
    let mut next = || descriptors.next().ok_or_else(|| io::Error::from(io::ErrorKind::InvalidData));
    let of = |fd: OwnedFd| Arc::new(Stream::new(fd, Arc::clone(stop)));
    let streams = Streams {
        input: of(next()?),
        input_is_terminal: message.facts.input_is_terminal,
        output: of(next()?),
        error: of(next()?),
        requests: of(stream.try_clone()?.into()),
        request_input: |requests| {
            // If the visitor has gone, `watch` stops the command.
            let _gone = requests.write(&[READS]);
        },
        pages: None,
    };
    let directory = next()?;
    let pages = if message.facts.has_pager { Some(of(next()?)) } else { None };
    Ok((Streams { pages, ..streams }, directory))
}

/// Sets both flags when the visitor closes its side of the connection, because of ctrl-C or because it has ended.
fn watch(mut stream: UnixStream, left: &AtomicBool, stop: &AtomicBool) {
    let mut byte = [0];
    loop {
        match stream.read(&mut byte) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            // The visitor sends nothing else.
            Ok(0) | Ok(_) | Err(_) => break,
        }
    }
    left.store(true, Ordering::Release);
    stop.store(true, Ordering::Release);
}

/// Refuses a command that cannot run for visitors, that has paths with another meaning in this process, or that
/// requests another number of partitions.
pub(crate) fn check(target: &super::target::Target) -> Outcome {
    let Some(path) = target.served() else {
        return Err(Failure::Other(format!("`{}` does not run in another process", target.command)));
    };
    place::check(target.has_relative_paths).map_err(|refused| Failure::Other(refused.to_string()))?;
    match (session::database(), target.partitions) {
        (Some(database), Some(requested)) if database.partitions() != requested => {
            let found = database.partitions();
            let error = alluvium_store::Error::PartitionCount { path: path.clone(), found, requested };
            Err(alluvium::Error::from(error).into())
        }
        _ => Ok(()),
    }
}
