//! Standard output: buffered, and a closed pipe ends the command without a word.

use crate::exit::{Failure, Outcome};
use crate::session;
use alluvium::{Document, Map};
use alluvium_document::json::{self, Format};
use std::io::{BufWriter, IsTerminal, StdoutLock, Write};

mod paint;

/// Enough for some fifty documents.
const BUFFER_BYTES: usize = 64 << 10;

/// Standard output. What is not [`Output::finish`]ed may be lost.
pub struct Output {
    out: BufWriter<StdoutLock<'static>>,
    line: Vec<u8>,
    /// Documents with a field a line are in colours.
    colours: bool,
}

/// True if what is printed may have colours: on a terminal that has them, unless the user wants none
/// (<https://no-color.org>).
pub fn has_colours() -> bool {
    std::io::stdout().is_terminal()
        && crate::config::variable("NO_COLOR").is_none()
        && crate::config::variable("TERM").is_none_or(|terminal| terminal != "dumb")
}

impl Output {
    /// Locks standard output for this thread.
    #[allow(clippy::new_without_default, reason = "it takes a lock")]
    pub fn new() -> Self {
        let out = BufWriter::with_capacity(BUFFER_BYTES, std::io::stdout().lock());
        Self { out, line: Vec::new(), colours: has_colours() }
    }

    /// A document and a newline.
    pub(crate) fn document(&mut self, document: &Document, format: Format) -> Outcome {
        let map = document.to_map().map_err(|error| {
            let id = crate::settings::ids::show(document.id());
            Failure::Damaged(format!("document {id} is damaged: {error}"))
        })?;
        self.map(&map, format)
    }

    /// Fields and a newline.
    pub(crate) fn map(&mut self, map: &Map, format: Format) -> Outcome {
        self.line.clear();
        let format = Format { pretty: format.pretty || session::is_pretty(), ..format };
        json::print_map(map, format, &mut self.line).map_err(|error| Failure::Other(error.to_string()))?;
        if self.colours && format.pretty {
            self.line = paint::paint(&self.line);
        }
        self.end_line()
    }

    /// Figures as one line of JSON.
    pub fn json(&mut self, value: &serde_json::Value) -> Outcome {
        self.text(&format!("{value}\n"))
    }

    /// Text as it is.
    pub fn text(&mut self, text: &str) -> Outcome {
        self.bytes(text.as_bytes())
    }

    /// Bytes as they are.
    pub fn bytes(&mut self, bytes: &[u8]) -> Outcome {
        self.out.write_all(bytes).map_err(|error| Failure::stdout(&error))
    }

    fn end_line(&mut self) -> Outcome {
        self.line.push(b'\n');
        self.out.write_all(&self.line).map_err(|error| Failure::stdout(&error))
    }

    /// Hands over what is buffered.
    pub(crate) fn flush(&mut self) -> Outcome {
        self.out.flush().map_err(|error| Failure::stdout(&error))
    }

    /// Hands over what is buffered, at the end.
    pub fn finish(mut self) -> Outcome {
        self.flush()
    }
}
