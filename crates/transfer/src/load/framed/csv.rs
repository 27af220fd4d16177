//! CSV rows: a row ends at a line end that is not within quotes.
//!
//! The rules are the same as in `rows.rs`, which reads the rows: a quote opens only at the beginning of a field, two
//! quotes within quotes represent one, and a row ends with CR, LF or both.

use super::super::rows::Dialect;
use super::{Broken, Cut, Framing};
use memchr::{memchr, memchr3};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// At the beginning of a row.
    Row,
    /// At the beginning of a field after the first.
    Field,
    /// In a field, outside quotes.
    Plain,
    /// Within quotes.
    Quoted,
    /// After a quote within quotes.
    Quote,
}

pub(crate) struct CsvFraming {
    dialect: Dialect,
    state: State,
    /// The offset of the last opening quote.
    quote: usize,
    end: usize,
}

impl CsvFraming {
    /// A framing for an input that is read from the beginning of a row.
    pub fn new(dialect: Dialect) -> Self {
        Self { dialect, state: State::Row, quote: 0, end: 0 }
    }

    /// Processes a byte outside quotes.
    fn plain(&mut self, byte: u8, at: usize) {
        self.state = match byte {
            b'\n' | b'\r' => {
                self.end = at + 1;
                State::Row
            }
            _ if byte == self.dialect.separator => State::Field,
            b'"' if !self.dialect.has_quotes => State::Plain,
            b'"' if matches!(self.state, State::Row | State::Field) => {
                self.quote = at;
                State::Quoted
            }
            b'"' if self.state == State::Quote => State::Quoted,
            _ => State::Plain,
        };
    }
}

impl Framing for CsvFraming {
    fn scan(&mut self, bytes: &[u8], from: usize) -> Result<(), Broken> {
        let mut at = from;
        while at < bytes.len() {
            let rest = &bytes[at..];
            let passed = match self.state {
                State::Plain => memchr3(b'\n', b'\r', self.dialect.separator, rest),
                State::Quoted => memchr(b'"', rest),
                _ => Some(0),
            };
            let Some(passed) = passed else { break };
            at += passed;
            match self.state {
                State::Quoted => self.state = State::Quote,
                _ => self.plain(bytes[at], at),
            }
            at += 1;
        }
        Ok(())
    }

    fn finish(&mut self, bytes: &[u8]) -> Result<(), Broken> {
        if self.state == State::Quoted {
            return Err(Broken::new(self.quote, "a quote is opened here and not closed"));
        }
        self.end = bytes.len();
        Ok(())
    }

    fn end(&self) -> usize {
        self.end
    }

    fn cut(&mut self) -> Vec<Cut> {
        self.quote = self.quote.saturating_sub(self.end);
        self.end = 0;
        Vec::new()
    }

    fn counts_lines(&self) -> bool {
        true
    }
}
