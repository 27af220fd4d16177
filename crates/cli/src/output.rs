//! Buffered standard output. A closed pipe ends the command without a message.

use crate::exit::{Failure, Outcome};
use crate::report::complain;
use crate::session;
use crate::settings::ids;
use crate::text;
use crate::variables::variable;
use alluvium::{Document, Explanation, Map, Value};
use alluvium_document::json::{self, Format};
use std::io::{BufWriter, IsTerminal, StdoutLock, Write};

mod pages;
mod paint;

/// The number of documents on a page, in a shell on a terminal.
const PAGE: usize = 20;
/// Holds about fifty documents.
const BUFFER_BYTES: usize = 64 << 10;

/// Standard output. Without [`Output::finish`] the last part may be lost.
pub struct Output {
    out: BufWriter<StdoutLock<'static>>,
    line: Vec<u8>,
    /// True if documents with one field per line are printed in colours.
    colours: bool,
    /// The number of documents until the next prompt for more, in a shell on a terminal.
    page: Option<usize>,
    /// The number of documents that could not be printed; each was reported.
    unprinted: u64,
}

/// True if standard output may have colours.
pub(crate) fn has_colours() -> bool {
    has_colours_on(&std::io::stdout())
}

/// True if the text on a stream may have colours: on a terminal that supports them, unless the user
/// disables them (<https://no-color.org>).
pub fn has_colours_on(stream: &impl IsTerminal) -> bool {
    stream.is_terminal() && variable("NO_COLOR").is_none() && variable("TERM").is_none_or(|terminal| terminal != "dumb")
}

impl Output {
    /// Locks standard output for this thread.
    #[allow(clippy::new_without_default, reason = "it takes a lock")]
    pub fn new() -> Self {
        let out = BufWriter::with_capacity(BUFFER_BYTES, std::io::stdout().lock());
        let page = session::is_pretty().then_some(PAGE);
        Self { out, line: Vec::new(), colours: has_colours(), page, unprinted: 0 }
    }

    /// Prints a document and a newline.
    pub(crate) fn document(&mut self, document: &Document, format: Format) -> Outcome {
        let map = document.to_map().map_err(|error| {
            let id = ids::show(document.id());
            Failure::Damaged(format!("document {id} is damaged: {error}"))
        })?;
        self.map(&map, format)
    }

    /// Prints fields and a newline.
    pub(crate) fn map(&mut self, map: &Map, format: Format) -> Outcome {
        self.turn_page()?;
        self.line.clear();
        let format = Format { pretty: format.pretty || session::is_pretty(), ..format };
        if let Err(error) = json::print_map(map, format, &mut self.line) {
            return self.leave_out(map.get("_id"), &error);
        }
        if self.colours && format.pretty {
            self.line = paint::paint(&self.line);
        }
        self.end_line()
    }

    /// Reports a document that has no representation in JSON; the others are printed.
    fn leave_out(&mut self, id: Option<&Value>, error: &json::PrintError) -> Outcome {
        self.unprinted += 1;
        let id = id.map_or_else(|| "without an _id".to_owned(), ids::show);
        complain("alluvium", &Failure::Other(format!("the document {id} cannot be printed: {error}")));
        Ok(())
    }

    /// Prompts for more at the end of a page.
    fn turn_page(&mut self) -> Outcome {
        match self.page {
            None => {}
            Some(0) => {
                self.flush()?;
                self.page = pages::ask(PAGE, self.colours)?;
            }
            Some(left) => self.page = Some(left - 1),
        }
        Ok(())
    }

    /// Prints a JSON value on one line.
    pub fn json(&mut self, value: &serde_json::Value) -> Outcome {
        self.text(&format!("{value}\n"))
    }

    /// Prints text.
    pub fn text(&mut self, text: &str) -> Outcome {
        self.bytes(text.as_bytes())
    }

    /// Prints bytes.
    pub fn bytes(&mut self, bytes: &[u8]) -> Outcome {
        self.out.write_all(bytes).map_err(|error| Failure::stdout(&error))
    }

    fn end_line(&mut self) -> Outcome {
        self.line.push(b'\n');
        self.out.write_all(&self.line).map_err(|error| Failure::stdout(&error))
    }

    /// Writes the buffer.
    pub(crate) fn flush(&mut self) -> Outcome {
        self.out.flush().map_err(|error| Failure::stdout(&error))
    }

    /// Writes the buffer at the end.
    ///
    /// # Errors
    /// A failed write, or documents that could not be printed.
    pub fn finish(mut self) -> Outcome {
        self.flush()?;
        match self.unprinted {
            0 => Ok(()),
            1 => Err(Failure::Other("1 document could not be printed; its _id is above".to_owned())),
            n => Err(Failure::Other(format!(
                "{} could not be printed; their _ids are above",
                text::counted(n, "document")
            ))),
        }
    }
}

/// Prints the explanation of a query, as lines of text or as one line of JSON.
pub(crate) fn print_explanation(explanation: &Explanation, json: bool) -> Outcome {
    let mut out = Output::new();
    match json {
        true => out.map(&explanation.to_map(), Format::RELAXED)?,
        false => {
            // Names of indexes may contain line feeds.
            let mut shown = explanation.to_string();
            escape_within(&mut shown, &Value::Map(explanation.to_map()));
            shown.lines().try_for_each(|line| out.text(&(text::plain(line) + "\n")))?;
        }
    }
    out.finish()
}

/// Escapes each string of a value, such as a name, where it is part of a text.
fn escape_within(shown: &mut String, value: &Value) {
    match value {
        Value::Map(map) => map.iter().for_each(|(_, value)| escape_within(shown, value)),
        Value::Array(values) => values.iter().for_each(|value| escape_within(shown, value)),
        Value::String(_) => {
            let Some(name) = value.as_str() else { return };
            let plain = text::plain(name);
            if plain != name {
                *shown = shown.replace(name, &plain);
            }
        }
        _ => {}
    }
}
