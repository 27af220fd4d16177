//! Finds the array at a path in a large object. The memory needed does not depend on the size of the text before the
//! array.

use super::Broken;
use alluvium_document::{Value, json};

/// Names with more bytes are not compared with the path.
const NAME_MAX: usize = 4 << 10;
/// The number of names that an error lists.
const LISTED: usize = 12;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// A value on the path follows.
    Value,
    /// A name or the end of an object follows.
    Name,
    InName,
    NameEscape,
    Colon,
    /// In a value that is skipped.
    Skip,
    SkipText,
    SkipEscape,
    /// After a value: a comma or the end of the object follows.
    After,
}

/// Reads an object up to the array.
pub(crate) struct Seeker {
    /// The names of the path.
    path: Vec<String>,
    /// The number of names of the path that are found.
    found: usize,
    state: State,
    /// The number of open brackets in the value that is skipped.
    depth: usize,
    name: Vec<u8>,
    /// The names of the innermost object on the path.
    seen: Vec<String>,
}

impl Seeker {
    /// A seeker for a path of names with dots between them.
    pub fn new(path: &str) -> Self {
        let path = path.split('.').map(str::to_owned).collect();
        Self { path, found: 0, state: State::Value, depth: 0, name: Vec::new(), seen: Vec::new() }
    }

    /// Scans the next bytes. Returns the offset of the array's opening bracket, if it is in `bytes`.
    ///
    /// # Errors
    /// [`Broken`] if the text is not JSON, or no array is at the path.
    pub fn scan(&mut self, bytes: &[u8]) -> Result<Option<usize>, Broken> {
        for (at, &byte) in bytes.iter().enumerate() {
            match self.state {
                State::InName => match byte {
                    b'"' => self.state = State::Colon,
                    _ => {
                        self.keep(byte);
                        self.state = if byte == b'\\' { State::NameEscape } else { State::InName };
                    }
                },
                State::NameEscape => {
                    self.keep(byte);
                    self.state = State::InName;
                }
                State::SkipText => match byte {
                    b'"' => self.passed(),
                    b'\\' => self.state = State::SkipEscape,
                    _ => {}
                },
                State::SkipEscape => self.state = State::SkipText,
                _ if matches!(byte, b' ' | b'\n' | b'\r' | b'\t') => {}
                State::Value if self.found == self.path.len() => {
                    return if byte == b'[' { Ok(Some(at)) } else { Err(Broken::new(at, self.no_array())) };
                }
                State::Value if byte == b'{' => {
                    self.seen.clear();
                    self.state = State::Name;
                }
                State::Value => return Err(Broken::new(at, self.missing())),
                State::Name => match byte {
                    b'"' => {
                        self.name.clear();
                        self.state = State::InName;
                    }
                    b'}' => return Err(Broken::new(at, self.missing())),
                    _ => return Err(Broken::new(at, "expected a field name in quotes")),
                },
                State::Colon if byte == b':' => self.named(),
                State::Colon => return Err(Broken::new(at, "expected a colon")),
                // A number or a word is followed directly by the end of the object.
                State::Skip if byte == b'}' && self.depth == 0 => return Err(Broken::new(at, self.missing())),
                State::Skip => self.skip(byte),
                State::After => match byte {
                    b',' => self.state = State::Name,
                    b'}' => return Err(Broken::new(at, self.missing())),
                    _ => return Err(Broken::new(at, "expected a comma or the end of the map")),
                },
            }
        }
        Ok(None)
    }

    /// The error for an input that ends before the array.
    pub fn missing(&self) -> String {
        let path = self.path.join(".");
        let seen = match &self.seen[..] {
            [] => String::new(),
            names => format!("; there are {}", names.join(", ")),
        };
        format!("there is no array at {path}{seen}")
    }

    fn no_array(&self) -> String {
        format!("the value at {} is no array", self.path.join("."))
    }

    fn keep(&mut self, byte: u8) {
        if self.name.len() < NAME_MAX {
            self.name.push(byte);
        }
    }

    /// Processes the name of a field at its colon.
    fn named(&mut self) {
        let quoted = [b"\"", &self.name[..], b"\""].concat();
        let name = match json::parse(&quoted) {
            Ok(Value::String(name)) => name.to_string(),
            _ => String::from_utf8_lossy(&self.name).into_owned(),
        };
        if self.path.get(self.found) == Some(&name) {
            self.found += 1;
            self.state = State::Value;
            return;
        }
        if self.seen.len() < LISTED {
            self.seen.push(name);
        } else if self.seen.len() == LISTED {
            self.seen.push("…".to_owned());
        }
        self.depth = 0;
        self.state = State::Skip;
    }

    /// Processes a byte of a skipped value, outside strings.
    fn skip(&mut self, byte: u8) {
        match byte {
            b'"' => self.state = State::SkipText,
            b'{' | b'[' => self.depth += 1,
            b'}' | b']' => {
                self.depth -= usize::from(self.depth > 0);
                self.passed();
            }
            b',' if self.depth == 0 => self.state = State::Name,
            _ => {}
        }
    }

    /// Sets the state after a closing bracket or a string in a skipped value.
    fn passed(&mut self) {
        self.state = if self.depth == 0 { State::After } else { State::Skip };
    }
}

#[cfg(test)]
mod tests;
