//! Standard output, written through a buffer or to a pager. A closed pipe ends the command without a message.

use crate::exit::{Failure, Outcome};
use crate::report::complain;
use crate::session;
use crate::settings::ids;
use crate::streams;
use crate::text;
use alluvium::{Explanation, Map, Value};
use alluvium_document::json::{self, Format};
use pager::Pager;
use std::io::{self, BufWriter, Read, Write};

mod cells;
mod fit;
pub(crate) mod format;
mod grid;
mod pager;
mod pages;
mod paint;
pub(crate) mod rows;
pub(crate) mod terminal;

pub use terminal::has_colours_on;

/// The number of documents on a page, in a shell on a terminal.
const PAGE: usize = 20;
/// The size of the buffer, which holds about fifty documents.
const BUFFER_BYTES: usize = 64 << 10;

/// Standard output. Without [`Output::finish`] the last part may be lost.
pub struct Output {
    out: Sink,
    line: Vec<u8>,
    /// True if documents are printed in colours.
    colours: bool,
    /// True if control characters in documents are escaped.
    is_terminal: bool,
    /// The number of documents until the next prompt for more, in a shell on a terminal.
    page: Option<usize>,
    /// The number of documents that could not be printed; each was reported.
    unprinted: u64,
}

enum Sink {
    Direct(BufWriter<Box<dyn Write>>),
    Paged(Pager),
}

impl Sink {
    fn direct() -> Self {
        Self::of(streams::output())
    }

    fn of(out: streams::Out) -> Self {
        Self::Direct(BufWriter::with_capacity(BUFFER_BYTES, out.into_writer()))
    }

    fn writer(&mut self) -> &mut dyn Write {
        match self {
            Self::Direct(out) => out,
            Self::Paged(pager) => pager,
        }
    }
}

impl Output {
    /// Locks standard output for this thread.
    #[allow(clippy::new_without_default, reason = "it takes a lock")]
    pub fn new() -> Self {
        Self::to(Sink::direct(), session::is_pretty().then_some(PAGE))
    }

    /// Output that a pager shows if it is longer than the screen of a terminal.
    pub(crate) fn paged() -> Self {
        let sink = match streams::has_visitor() {
            true => streams::pages().map_or_else(Sink::direct, Sink::of),
            false => Pager::new().map_or_else(Sink::direct, Sink::Paged),
        };
        Self::to(sink, None)
    }

    fn to(out: Sink, page: Option<usize>) -> Self {
        let (colours, is_terminal) = (terminal::has_colours(), terminal::is_present());
        Self { out, line: Vec::new(), colours, is_terminal, page, unprinted: 0 }
    }

    /// Prints fields as JSON, and a newline.
    pub(crate) fn map(&mut self, map: &Map, format: Format) -> Outcome {
        let format = Format { pretty: format.pretty || session::is_pretty(), ..format };
        self.turn_page()?;
        self.json_map(map, format, "", "\n").map(drop)
    }

    /// Prints fields as JSON between two texts. Returns false if the fields cannot be represented in JSON, which is
    /// then already reported.
    fn json_map(&mut self, map: &Map, format: Format, before: &str, after: &str) -> Outcome<bool> {
        self.line.clear();
        if let Err(error) = json::print_map(map, format, &mut self.line) {
            self.leave_out(map.get("_id"), &error);
            return Ok(false);
        }
        if self.is_terminal {
            escape_in_json(&mut self.line);
        }
        if self.colours {
            self.line = paint::paint(&self.line);
        }
        self.text(before)?;
        self.out.writer().write_all(&self.line).map_err(|error| Failure::stdout(&error))?;
        self.text(after)?;
        Ok(true)
    }

    /// Reports a document that cannot be represented in JSON; the other documents are still printed.
    fn leave_out(&mut self, id: Option<&Value>, error: &json::PrintError) {
        self.unprinted += 1;
        let id = id.map_or_else(|| "without an _id".to_owned(), ids::show);
        complain("alluvium", &Failure::Other(format!("the document {id} cannot be printed: {error}")));
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

    /// Prints text with the content of documents: on a terminal, control characters other than
    /// newlines and tabs are escaped.
    pub(crate) fn content(&mut self, text: &[u8]) -> Outcome {
        match std::str::from_utf8(text) {
            Ok(text) if self.is_terminal => self.text(&text::harmless(text)),
            _ => self.bytes(text),
        }
    }

    /// Prints bytes.
    pub fn bytes(&mut self, bytes: &[u8]) -> Outcome {
        self.out.writer().write_all(bytes).map_err(|error| Failure::stdout(&error))
    }

    /// Writes the buffer to standard output.
    pub(crate) fn flush(&mut self) -> Outcome {
        self.out.writer().flush().map_err(|error| Failure::stdout(&error))
    }

    /// Writes the rest of the buffer, and waits until the user leaves the pager.
    ///
    /// # Errors
    /// A write failed, or documents could not be printed.
    pub fn finish(mut self) -> Outcome {
        let ended = match &mut self.out {
            Sink::Direct(out) => out.flush(),
            Sink::Paged(pager) => pager.close(),
        };
        ended.map_err(|error| Failure::stdout(&error))?;
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

/// True if long output is shown by a pager.
pub(crate) fn is_paged() -> bool {
    Pager::new().is_some()
}

/// Copies the output of a command in another process from a pipe to the pager, until the pipe ends or the user leaves
/// the pager.
pub(crate) fn copy_to_pager(mut pipe: impl Read) -> io::Result<()> {
    let Some(mut pager) = Pager::new() else { return Ok(()) };
    let mut buffer = vec![0; BUFFER_BYTES];
    loop {
        match pipe.read(&mut buffer) {
            Ok(0) => return pager.close(),
            Ok(read) => pager.write_all(&buffer[..read]).and_then(|()| pager.flush())?,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

/// Escapes characters that JSON allows and a terminal would interpret: U+007F to U+009F. They occur only within
/// strings.
fn escape_in_json(json: &mut Vec<u8>) {
    let is_special = |at: usize| match json[at] {
        0x7f => true,
        0xc2 => matches!(json.get(at + 1), Some(0x80..=0x9f)),
        _ => false,
    };
    if !(0..json.len()).any(is_special) {
        return;
    }
    let mut escaped = String::with_capacity(json.len() + 16);
    for c in String::from_utf8_lossy(json).chars() {
        match c {
            '\u{7f}'..='\u{9f}' => escaped.push_str(&format!("\\u{:04x}", u32::from(c))),
            c => escaped.push(c),
        }
    }
    *json = escaped.into_bytes();
}

/// Prints the explanation of a query, as lines of text or as one line of JSON.
pub(crate) fn print_explanation(explanation: &Explanation, json: bool) -> Outcome {
    print_plan(explanation.to_string(), explanation.to_map(), json)
}

/// Prints an explanation that is given as text and as a map.
pub(crate) fn print_plan(mut shown: String, map: Map, json: bool) -> Outcome {
    let mut out = Output::new();
    match json {
        true => out.map(&map, Format::RELAXED)?,
        false => {
            // The names of indexes may contain line feeds.
            escape_within(&mut shown, &Value::Map(map));
            shown.lines().try_for_each(|line| out.text(&(text::plain(line) + "\n")))?;
        }
    }
    out.finish()
}

/// Escapes each string of a value, such as a name, wherever the string occurs in a text.
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

#[cfg(test)]
mod tests;
