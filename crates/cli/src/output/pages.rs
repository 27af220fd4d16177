//! Paging of long output in a shell on a terminal.

use crate::exit::{Failure, OK, Outcome};
use crate::session;
use crate::signals;
use crate::signals::SIGNAL_CHECK;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::io::Write;

/// Prompts for more: Enter prints a page of this many documents, `a` prints all. Any other input ends this command, and
/// may be the next command.
///
/// # Errors
/// A failure without a message if the user requests no more; an interrupt.
pub(super) fn ask(page: usize, colours: bool) -> Outcome<Option<usize>> {
    let (dim, plain) = if colours { ("\x1b[2m", "\x1b[0m") } else { ("", "") };
    let prompt = format!("{dim}-- Enter shows {page} more, a all, q no more --{plain} ");
    let mut out = std::io::stdout();
    out.write_all(prompt.as_bytes()).and_then(|()| out.flush()).map_err(|error| Failure::stdout(&error))?;
    let answer = read_line()?;
    match answer.as_deref().map(str::trim) {
        Some("") => Ok(Some(page - 1)),
        Some("a" | "all") => Ok(None),
        Some("q" | "quit" | "n" | "no") | None => Err(Failure::Reported(OK)),
        Some(command) => {
            session::run_next(command);
            Err(Failure::Reported(OK))
        }
    }
}

/// Reads a line from the terminal; `None` at the end of input. An interrupt ends the wait.
fn read_line() -> Outcome<Option<String>> {
    let cannot = |error: rustix::io::Errno| Failure::Other(format!("cannot read from the terminal: {error}"));
    let stdin = std::io::stdin();
    let timeout = Timespec { tv_sec: 0, tv_nsec: i64::from(SIGNAL_CHECK.subsec_nanos()) };
    let mut line = Vec::new();
    loop {
        if let Some(stop) = signals::shared() {
            stop.check()?;
        }
        match poll(&mut [PollFd::new(&stdin, PollFlags::IN)], Some(&timeout)) {
            Ok(0) | Err(rustix::io::Errno::INTR) => continue,
            Ok(_) => {}
            Err(error) => return Err(cannot(error)),
        }
        // Reads single bytes, because the text after the line belongs to the next reader.
        let mut byte = [0];
        match rustix::io::read(&stdin, &mut byte) {
            Ok(0) if line.is_empty() => return Ok(None),
            Ok(0) => break,
            Ok(_) if byte == *b"\n" => break,
            Ok(_) => line.extend_from_slice(&byte),
            Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(cannot(error)),
        }
    }
    Ok(Some(String::from_utf8_lossy(&line).into_owned()))
}
