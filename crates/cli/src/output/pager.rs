//! A pager shows output on a terminal that is longer than the screen: the program in the variable PAGER, or `less`.

use super::terminal::{self, Size};
use crate::signals::Outlived;
use crate::variables::variable;
use std::io::{self, BufWriter, Stdout, Write};
use std::process::{Child, ChildStdin, Command, Stdio};

/// Characters with a meaning to a shell: a command that contains one of them is run by `sh`.
const FOR_A_SHELL: &str = "|&;<>()$`\\\"'\n*?[#~=%";
/// The options of `less`, unless the user sets others: exit if the text fits the screen, keep colours, leave the text
/// on the screen.
const LESS: (&str, &str) = ("LESS", "FRX");

/// A writer that holds its text back until the text is longer than the screen, and then starts the pager.
pub(super) struct Pager {
    command: String,
    rows: Rows,
    state: State,
}

enum State {
    /// The text so far, which fits the screen.
    Held(Vec<u8>),
    /// The pager is running.
    Started(Running),
    /// The pager could not be started.
    Direct(BufWriter<Stdout>),
    Closed,
}

struct Running {
    /// `None` after all text is written.
    input: Option<BufWriter<ChildStdin>>,
    child: Child,
    _signals: Outlived,
}

impl Drop for Running {
    fn drop(&mut self) {
        // The pager ends after its input has ended and the user has left it.
        drop(self.input.take());
        let _ended_or_gone = self.child.wait();
    }
}

impl Pager {
    /// A pager, if standard output is a terminal and the user wants one.
    pub(super) fn new() -> Option<Self> {
        let (command, size) = (terminal::pager()?, terminal::size()?);
        Some(Self { command, rows: Rows::new(size), state: State::Held(Vec::new()) })
    }

    fn start(&mut self) -> io::Result<()> {
        let State::Held(held) = std::mem::replace(&mut self.state, State::Closed) else { return Ok(()) };
        let signals = Outlived::begin();
        self.state = match spawn(&self.command) {
            Ok(mut child) => {
                let input = child.stdin.take().map(BufWriter::new);
                State::Started(Running { input, child, _signals: signals })
            }
            Err(_) => State::Direct(BufWriter::new(io::stdout())),
        };
        self.write_all(&held)
    }

    /// Writes the remaining text, and waits until the user leaves the pager.
    pub(super) fn close(&mut self) -> io::Result<()> {
        match std::mem::replace(&mut self.state, State::Closed) {
            State::Held(held) => {
                let mut out = io::stdout();
                out.write_all(&held)?;
                out.flush()
            }
            State::Started(mut running) => running.input.take().map_or(Ok(()), |mut input| input.flush()),
            State::Direct(mut out) => out.flush(),
            State::Closed => Ok(()),
        }
    }
}

impl Drop for Pager {
    fn drop(&mut self) {
        // If an earlier write failed, that failure is the one to report.
        let _second = self.close();
    }
}

impl Write for Pager {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match &mut self.state {
            State::Held(held) => {
                held.extend_from_slice(bytes);
                if self.rows.add(bytes) {
                    self.start()?;
                }
                Ok(bytes.len())
            }
            State::Started(Running { input: Some(input), .. }) => input.write(bytes),
            State::Direct(out) => out.write(bytes),
            State::Started(_) | State::Closed => Err(io::ErrorKind::BrokenPipe.into()),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match &mut self.state {
            State::Started(Running { input: Some(input), .. }) => input.flush(),
            State::Direct(out) => out.flush(),
            State::Started(_) | State::Held(_) | State::Closed => Ok(()),
        }
    }
}

/// Starts the pager. A command of plain words is started directly, so that a missing program is
/// noticed before any text is lost.
fn spawn(command: &str) -> io::Result<Child> {
    let mut process = if command.contains(|c: char| FOR_A_SHELL.contains(c)) {
        let mut shell = Command::new("sh");
        shell.args(["-c", command]);
        shell
    } else {
        let mut words = command.split_whitespace();
        let mut program = Command::new(words.next().unwrap_or_default());
        program.args(words);
        program
    };
    if variable(LESS.0).is_none() {
        process.env(LESS.0, LESS.1);
    }
    process.stdin(Stdio::piped()).spawn()
}

/// Counts the rows of the screen that a text takes. Wide characters count as narrow ones.
struct Rows {
    size: Size,
    taken: usize,
    column: usize,
    /// The position is within an escape sequence that sets a colour.
    in_escape: bool,
}

impl Rows {
    fn new(size: Size) -> Self {
        Self { size, taken: 0, column: 0, in_escape: false }
    }

    /// Adds text; true if the text so far does not fit the screen with a prompt below it.
    fn add(&mut self, text: &[u8]) -> bool {
        for byte in text {
            match byte {
                _ if self.in_escape => self.in_escape = *byte != b'm',
                0x1b => self.in_escape = true,
                b'\n' => {
                    self.taken += 1;
                    self.column = 0;
                }
                // A continuation byte of a character.
                0x80..=0xbf => {}
                _ => {
                    self.column += 1;
                    if self.column > self.size.columns {
                        self.taken += 1;
                        self.column = 1;
                    }
                }
            }
        }
        self.taken + usize::from(self.column > 0) >= self.size.rows
    }
}

#[cfg(test)]
mod tests;
