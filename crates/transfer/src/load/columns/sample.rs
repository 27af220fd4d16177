//! The values of a column in the sample, from which its type is decided.

use super::super::ColumnKind;
use super::{boolean, number};

/// Counts of values by the type that their text has.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(super) struct Tally {
    pub numbers: u64,
    pub booleans: u64,
    pub texts: u64,
    /// The first text that is neither a number nor a boolean.
    pub text: Option<String>,
    /// All values that are neither numbers nor booleans have the same text.
    pub is_only_text: bool,
}

impl Tally {
    /// Counts a value.
    pub fn add(&mut self, bytes: &[u8]) {
        let text = String::from_utf8_lossy(bytes);
        if number(&text).is_some() {
            self.numbers += 1;
        } else if boolean(&text).is_some() {
            self.booleans += 1;
        } else {
            self.texts += 1;
            match &self.text {
                None => (self.text, self.is_only_text) = (Some(text.into_owned()), true),
                Some(first) => self.is_only_text &= *first == text,
            }
        }
    }

    /// The number of values.
    pub fn values(&self) -> u64 {
        self.numbers + self.booleans + self.texts
    }

    /// The type that all values have, or text if they have different types.
    pub fn kind(&self) -> ColumnKind {
        match self.values() {
            0 => ColumnKind::Each,
            all if all == self.numbers => ColumnKind::Number,
            all if all == self.booleans => ColumnKind::Boolean,
            _ => ColumnKind::Text,
        }
    }
}
