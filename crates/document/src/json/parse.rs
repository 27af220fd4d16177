//! The parser: JSON text to a value.
//!
//! Recursive descent with a limited depth, over text that is known to be UTF-8. `docs/decisions/0002-json-parser.md`
//! explains why no library is used.

use super::text::{find_special, unescape};
use super::{JsonError, Reason, extended, parse_number};
use crate::value::{MAX_DEPTH, Map, Text, Value};

/// Up to this number of names, a new name is compared with all previous names.
const FEW: usize = 8;
/// In a map with at least this number of names, duplicates are found by sorting the names at the end of the map,
/// instead of by a filter.
const MANY: usize = 64;

/// The maximum nesting of the text. Extended JSON has up to two levels for each level of a value
/// (code with a scope) and three for the innermost (`$dbPointer`).
const TEXT_LEVELS: usize = 2 * MAX_DEPTH + 3;

/// The maximum capacity of entries and elements that a parser retains between texts.
const MAX_KEPT: usize = 4096;

/// The bytes of an escaped surrogate, `uD800`.
const LONE_BYTES: usize = 5;

/// The error and its byte offset. Boxed, so that results stay small.
type Failure = Box<(usize, Reason)>;

/// Parses one JSON value, which may be surrounded by white space. Extended JSON is interpreted.
///
/// # Errors
/// [`JsonError`] with line, column and reason.
pub fn parse(json: &[u8]) -> Result<Value, JsonError> {
    Parser::new().parse(json)
}

/// Parses a JSON value as [`parse`] does, but also accepts common deviations from JSON: `NaN`, `Infinity` and
/// `-Infinity` (doubles), control characters in strings, and halves of surrogate pairs and bytes that are not UTF-8
/// (both become U+FFFD).
///
/// # Errors
/// [`JsonError`] for other errors.
pub fn parse_repaired(json: &[u8]) -> Result<Value, JsonError> {
    let text = String::from_utf8_lossy(json);
    let mut parser = Parser { repairs: true, ..Parser::default() };
    parser.parse(text.as_bytes())
}

/// A parser that reuses its buffers for the next text.
#[derive(Default)]
pub struct Parser {
    /// The entries of the open maps, outermost first. At the end of a map its entries are moved into the map, so that
    /// each map is allocated once with the exact capacity.
    entries: Vec<(Value, Value)>,
    elements: Vec<Value>,
    /// See [`parse_repaired`].
    repairs: bool,
}

impl Parser {
    /// A new parser.
    pub fn new() -> Self {
        Self::default()
    }

    /// As [`parse`].
    ///
    /// # Errors
    /// [`JsonError`].
    pub fn parse(&mut self, json: &[u8]) -> Result<Value, JsonError> {
        match self.parse_levels(json, TEXT_LEVELS)? {
            (value, Some(at)) if value.is_too_deep() => Err(JsonError::at(json, at, Reason::TooDeep)),
            (value, _) => Ok(value),
        }
    }

    /// Parses a value of at most `levels` levels of text. Also returns the position at which the text first nests
    /// deeper than [`MAX_DEPTH`], if it does.
    pub(super) fn parse_levels(&mut self, json: &[u8], levels: usize) -> Result<(Value, Option<usize>), JsonError> {
        let text =
            std::str::from_utf8(json).map_err(|error| JsonError::at(json, error.valid_up_to(), Reason::InvalidUtf8))?;
        let mut reader = Reader { text, bytes: json, at: 0, deep: levels - MAX_DEPTH, deep_at: None, scratch: self };
        let result = reader.value(levels).and_then(|value| {
            reader.skip_space();
            let deep_at = reader.deep_at;
            if reader.at == json.len() { Ok((value, deep_at)) } else { Err(reader.fail(Reason::Trailing)) }
        });
        self.tidy();
        result.map_err(|failure| JsonError::at(json, failure.0, failure.1))
    }

    /// Clears the buffers after a failed text, and frees the memory of an exceptionally large text.
    fn tidy(&mut self) {
        self.entries.clear();
        self.elements.clear();
        self.entries.shrink_to(MAX_KEPT);
        self.elements.shrink_to(MAX_KEPT);
    }
}

struct Reader<'a> {
    text: &'a str,
    bytes: &'a [u8],
    at: usize,
    /// If at most this number of levels is left, the text is deeper than [`MAX_DEPTH`].
    deep: usize,
    /// The first position at which the text was deeper.
    deep_at: Option<usize>,
    scratch: &'a mut Parser,
}

impl Reader<'_> {
    #[cold]
    fn fail(&self, reason: Reason) -> Failure {
        let reason = if self.at >= self.bytes.len() { Reason::UnexpectedEnd } else { reason };
        Box::new((self.at, reason))
    }

    #[inline]
    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    #[inline]
    fn skip_space(&mut self) {
        while let Some(b' ' | b'\n' | b'\r' | b'\t') = self.peek() {
            self.at += 1;
        }
    }

    fn value(&mut self, depth: usize) -> Result<Value, Failure> {
        self.skip_space();
        match self.peek() {
            Some(b'"') => self.string().map(Value::String),
            Some(b'-' | b'0'..=b'9') => self.number(),
            Some(b'{') => self.map(depth),
            Some(b'[') => self.array(depth),
            Some(b't') => self.word("true", Value::Bool(true)),
            Some(b'f') => self.word("false", Value::Bool(false)),
            Some(b'n') => self.word("null", Value::Null),
            Some(b'N' | b'I') => self.not_finite(self.at, false),
            _ => Err(self.fail(Reason::Expected("a value"))),
        }
    }

    #[inline]
    fn word(&mut self, word: &str, value: Value) -> Result<Value, Failure> {
        let rest = &self.bytes[self.at..];
        if rest.starts_with(word.as_bytes()) {
            self.at += word.len();
            return Ok(value);
        }
        self.at += rest.iter().zip(word.bytes()).take_while(|&(&a, b)| a == b).count();
        Err(self.fail(Reason::Expected("a value")))
    }

    /// `NaN` or `Infinity` at `start`, after its sign if it is negative.
    #[cold]
    fn not_finite(&mut self, start: usize, is_negative: bool) -> Result<Value, Failure> {
        let words = [("NaN", f64::NAN), ("Infinity", f64::INFINITY)];
        let found = words.iter().find(|(word, _)| self.bytes[start..].starts_with(word.as_bytes()));
        match found {
            Some((word, x)) if self.scratch.repairs => {
                self.at = start + word.len();
                Ok(Value::from(if is_negative { -x } else { *x }))
            }
            Some((word, _)) => Err(self.fail(Reason::NotFinite(word))),
            None => Err(self.fail(Reason::Expected("a value"))),
        }
    }

    #[inline]
    fn number(&mut self) -> Result<Value, Failure> {
        if self.bytes[self.at..].starts_with(b"-I") {
            return self.not_finite(self.at + 1, true);
        }
        let (value, taken) =
            parse_number(&self.text[self.at..]).map_err(|(offset, reason)| Box::new((self.at + offset, reason)))?;
        self.at += taken;
        Ok(value)
    }

    /// Parses a string from its opening quote.
    #[inline]
    fn string(&mut self) -> Result<Text, Failure> {
        let start = self.at + 1;
        let end = start + find_special(&self.bytes[start..]);
        if self.bytes.get(end) == Some(&b'"') {
            self.at = end + 1;
            return Ok(Text::from(&self.text[start..end]));
        }
        self.at = end;
        self.escaped_string(start).map(Text::from)
    }

    /// Parses the rest of a string that began at `start`; the position is at its first special
    /// byte.
    fn escaped_string(&mut self, start: usize) -> Result<String, Failure> {
        let mut out = String::with_capacity(2 * (self.at - start) + 16);
        out.push_str(&self.text[start..self.at]);
        loop {
            match self.peek() {
                Some(b'"') => {
                    self.at += 1;
                    return Ok(out);
                }
                Some(b'\\') => {
                    let rest = &self.bytes[self.at + 1..];
                    let taken = match unescape(rest, &mut out) {
                        Err((_, Reason::LoneSurrogate)) if self.scratch.repairs => {
                            out.push(char::REPLACEMENT_CHARACTER);
                            LONE_BYTES
                        }
                        unescaped => unescaped.map_err(|(offset, reason)| Box::new((self.at + 1 + offset, reason)))?,
                    };
                    self.at += 1 + taken;
                }
                Some(control) if self.scratch.repairs => {
                    out.push(char::from(control));
                    self.at += 1;
                }
                _ => return Err(self.fail(Reason::ControlCharacter)),
            }
            let run = find_special(&self.bytes[self.at..]);
            out.push_str(&self.text[self.at..self.at + run]);
            self.at += run;
        }
    }

    /// Enters a level; an error if none are left.
    #[inline]
    fn enter(&mut self, depth: usize) -> Result<usize, Failure> {
        if depth <= self.deep {
            let at = *self.deep_at.get_or_insert(self.at);
            if depth == 0 {
                return Err(Box::new((at, Reason::TooDeep)));
            }
        }
        Ok(depth - 1)
    }

    /// Parses an array from its opening bracket.
    fn array(&mut self, depth: usize) -> Result<Value, Failure> {
        let depth = self.enter(depth)?;
        self.at += 1;
        self.skip_space();
        if self.peek() == Some(b']') {
            self.at += 1;
            return Ok(Value::Array(Vec::new()));
        }
        let first = self.scratch.elements.len();
        loop {
            let value = self.value(depth)?;
            self.scratch.elements.push(value);
            if self.ends(b']', "a comma or the end of the array")? {
                return Ok(Value::Array(self.scratch.elements.drain(first..).collect()));
            }
        }
    }

    /// Parses the token after an element. Returns true at the end of the container, false after a comma.
    #[inline]
    fn ends(&mut self, close: u8, expected: &'static str) -> Result<bool, Failure> {
        self.skip_space();
        match self.peek() {
            Some(b',') => {
                self.at += 1;
                Ok(false)
            }
            Some(byte) if byte == close => {
                self.at += 1;
                Ok(true)
            }
            _ => Err(self.fail(Reason::Expected(expected))),
        }
    }

    /// Parses a map from its opening brace.
    fn map(&mut self, depth: usize) -> Result<Value, Failure> {
        let depth = self.enter(depth)?;
        let start = self.at;
        self.at += 1;
        self.skip_space();
        if self.peek() == Some(b'}') {
            self.at += 1;
            return Ok(Value::Map(Map::new()));
        }
        let first = self.scratch.entries.len();
        let mut names = Names::default();
        let mut dollar = false;
        loop {
            self.skip_space();
            if self.peek() != Some(b'"') {
                return Err(self.fail(Reason::Expected("a field name in quotes")));
            }
            let at = self.at;
            let name = self.string()?;
            dollar |= name.starts_with('$');
            if names.add(&name, at, &self.scratch.entries[first..]) {
                return Err(Box::new((at, Reason::DuplicateField(name.into()))));
            }
            self.skip_space();
            if self.peek() != Some(b':') {
                return Err(self.fail(Reason::Expected("a colon")));
            }
            self.at += 1;
            let value = self.value(depth)?;
            self.scratch.entries.push((Value::String(name), value));
            if self.ends(b'}', "a comma or the end of the map")? {
                break;
            }
        }
        let map = Map { entries: self.scratch.entries.drain(first..).collect() };
        if let Some((at, name)) = names.late_duplicate(&map) {
            return Err(Box::new((at, Reason::DuplicateField(name))));
        }
        if dollar { extended::interpret(map).map_err(|reason| Box::new((start, reason))) } else { Ok(Value::Map(map)) }
    }
}

/// Detects names that occur twice in one map, in less than quadratic time for any input.
#[derive(Default)]
struct Names {
    /// A filter of hashes of the previous names, used if there are more than [`FEW`].
    filter: [u64; 8],
    /// The positions of the names after the first [`MANY`].
    places: Vec<usize>,
}

impl Names {
    /// True if `name`, which begins at `at`, is known to be among the names of `before`.
    #[inline]
    fn add(&mut self, name: &str, at: usize, before: &[(Value, Value)]) -> bool {
        if before.len() < FEW {
            return contains(before, name);
        }
        if before.len() == FEW {
            for key in before.iter().filter_map(|(key, _)| key.as_str()) {
                self.mark(key);
            }
        }
        if before.len() >= MANY {
            self.places.push(at);
            return false;
        }
        self.mark(name) && contains(before, name)
    }

    /// Sets the bit of `name`; returns true if it was already set.
    #[inline]
    fn mark(&mut self, name: &str) -> bool {
        let bytes = name.as_bytes();
        let (first, last) = match (bytes.first_chunk::<8>(), bytes.last_chunk::<8>()) {
            (Some(first), Some(last)) => (u64::from_le_bytes(*first), u64::from_le_bytes(*last)),
            _ => (bytes.iter().fold(0, |sum, &byte| sum << 8 | u64::from(byte)), 0),
        };
        let mixed = (first ^ last.rotate_left(23) ^ bytes.len() as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let (word, bit) = ((mixed >> 61) as usize, 1 << (mixed >> 55 & 63));
        let was = self.filter[word] & bit != 0;
        self.filter[word] |= bit;
        was
    }

    /// The first duplicate name that was not detected when it was added.
    fn late_duplicate(&self, map: &Map) -> Option<(usize, String)> {
        if self.places.is_empty() {
            return None;
        }
        let name = |index: usize| map.entries[index].0.as_str().unwrap_or_default();
        let mut order: Vec<usize> = (0..map.len()).collect();
        order.sort_unstable_by_key(|&index| (name(index), index));
        let twice = order.windows(2).filter(|pair| name(pair[0]) == name(pair[1])).map(|pair| pair[1]).min()?;
        Some((self.places[twice - MANY], name(twice).to_owned()))
    }
}

#[inline]
fn contains(entries: &[(Value, Value)], name: &str) -> bool {
    entries.iter().any(|(key, _)| key.as_str() == Some(name))
}

#[cfg(test)]
mod tests;
