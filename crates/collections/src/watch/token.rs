//! Tokens from which a change stream can be resumed.

use crate::watch_error::{WatchError, WatchErrorKind};
use alluvium_document::{Map, Timestamp, Value};
use alluvium_store::Seq;
use std::fmt;
use std::str::FromStr;

/// A place among the changes of a database, as clients keep it: `{_data: <hexadecimal text>}`. The texts of one database
/// are in the order of the places.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ResumeToken {
    /// The time of the batch by the clock of the cluster; zero without a cluster. It has no influence on the place.
    pub time: Timestamp,
    /// The number of the change, or of the last one before the place.
    pub number: Seq,
    /// The kind.
    pub kind: TokenKind,
    /// The number of the fragment, from 1, of an event that was split; otherwise 0.
    pub fragment: u32,
    /// The id of the database.
    pub database: u64,
}

/// The kind of a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum TokenKind {
    /// The event of a change.
    Event = 0,
    /// The event of a change after which the stream ends.
    Ending = 1,
    /// The invalidation that follows the event of such a change.
    Invalidate = 2,
    /// A place behind all changes up to a number.
    HighWater = 3,
}

/// The field with the text.
const DATA: &str = "_data";
/// The first byte. It says to programs that decode tokens that a timestamp follows.
const MARK: u8 = 0x82;
/// The length of a token in bytes.
const LENGTH: usize = 1 + 8 + 8 + 1 + 4 + 8;

impl ResumeToken {
    /// The document of the token.
    pub fn to_map(&self) -> Map {
        Map::from([(DATA, Value::from(self.to_string()))])
    }

    /// Reads the document of a token.
    ///
    /// # Errors
    /// [`WatchErrorKind::TokenWithoutData`], [`WatchErrorKind::NotAToken`].
    pub fn parse(map: &Map) -> Result<Self, WatchError> {
        match map.get(DATA) {
            Some(Value::String(text)) => text.as_str().parse(),
            _ => {
                let message = "a resume token is a document whose field '_data' is a string: use one of a change event";
                Err(WatchErrorKind::TokenWithoutData.error(message))
            }
        }
    }
}

impl fmt::Display for ResumeToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { time, number, kind, fragment, database } = self;
        write!(f, "{MARK:02X}{:08X}{:08X}{number:016X}", time.time, time.increment)?;
        write!(f, "{:02X}{fragment:08X}{database:016X}", *kind as u8)
    }
}

impl FromStr for ResumeToken {
    type Err = WatchError;

    fn from_str(text: &str) -> Result<Self, WatchError> {
        let wrong = || {
            let message = "the resume token is not one of Alluvium: use the _id of a change event, or a token that a \
                           change stream has returned";
            WatchErrorKind::NotAToken.error(message)
        };
        let digit = |byte: u8| char::from(byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
        let byte = |pair: &[u8]| match pair {
            [high, low] => Some((digit(*high)? << 4) | digit(*low)?),
            _ => None,
        };
        let bytes: Option<Vec<u8>> = text.as_bytes().chunks(2).map(byte).collect();
        let bytes = bytes.ok_or_else(wrong)?;
        let bytes: [u8; LENGTH] = bytes.try_into().map_err(|_| wrong())?;
        let number = |from: usize, length: usize| {
            bytes[from..from + length].iter().fold(0_u64, |number, byte| (number << 8) | u64::from(*byte))
        };
        let part = |from: usize| number(from, 4) as u32;
        let kind = match bytes[17] {
            0 => TokenKind::Event,
            1 => TokenKind::Ending,
            2 => TokenKind::Invalidate,
            3 => TokenKind::HighWater,
            _ => return Err(wrong()),
        };
        if bytes[0] != MARK {
            return Err(wrong());
        }
        let time = Timestamp { time: part(1), increment: part(5) };
        Ok(Self { time, number: number(9, 8), kind, fragment: part(18), database: number(22, 8) })
    }
}
