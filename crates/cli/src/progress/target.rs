//! The terminal on which a progress bar is drawn: standard error of this process, or of a visitor.

use crate::output::terminal;
use crate::streams::{self, Out};
use alluvium_env::sync::Mutex;
use indicatif::{ProgressDrawTarget, TermLike};
use std::io::{self, Write};

/// The target for progress bars of the command on this thread; `None` if standard error is no terminal.
pub(crate) fn target() -> Option<ProgressDrawTarget> {
    let out = streams::error();
    if !out.is_terminal() {
        return None;
    }
    Some(match out {
        Out::Visitor(_) => ProgressDrawTarget::term_like(Box::new(Terminal(Mutex::new(out)))),
        _ => ProgressDrawTarget::stderr(),
    })
}

/// The terminal of a visitor.
#[derive(Debug)]
struct Terminal(Mutex<Out>);

impl Terminal {
    fn write(&self, text: &str) -> io::Result<()> {
        self.0.lock().write_all(text.as_bytes())
    }

    /// Moves the cursor by the escape sequence with this letter.
    fn move_cursor(&self, n: usize, letter: char) -> io::Result<()> {
        if n == 0 { Ok(()) } else { self.write(&format!("\x1b[{n}{letter}")) }
    }
}

impl TermLike for Terminal {
    fn width(&self) -> u16 {
        terminal::columns_of(&*self.0.lock()).unwrap_or(80)
    }

    fn move_cursor_up(&self, n: usize) -> io::Result<()> {
        self.move_cursor(n, 'A')
    }

    fn move_cursor_down(&self, n: usize) -> io::Result<()> {
        self.move_cursor(n, 'B')
    }

    fn move_cursor_right(&self, n: usize) -> io::Result<()> {
        self.move_cursor(n, 'C')
    }

    fn move_cursor_left(&self, n: usize) -> io::Result<()> {
        self.move_cursor(n, 'D')
    }

    fn write_line(&self, text: &str) -> io::Result<()> {
        self.write(&format!("{text}\n"))
    }

    fn write_str(&self, text: &str) -> io::Result<()> {
        self.write(text)
    }

    fn clear_line(&self) -> io::Result<()> {
        self.write("\r\x1b[2K")
    }

    fn flush(&self) -> io::Result<()> {
        Ok(())
    }
}
