//! Character classes: `[a-z]`.

use super::escape::Escaped;
use super::{Refused, Translator};
use std::borrow::Cow;
use std::fmt::Write;

/// An item of a class.
enum Item {
    Char(char),
    Set(Cow<'static, str>),
    End,
}

/// The names of POSIX classes, as in `[[:alpha:]]`.
const NAMES: [&str; 14] = [
    "alnum", "alpha", "ascii", "blank", "cntrl", "digit", "graph", "lower", "print", "punct", "space", "upper", "word",
    "xdigit",
];

impl Translator<'_> {
    /// Parses a class after its opening bracket.
    pub(super) fn class(&mut self) -> Result<(), Refused> {
        self.out.push('[');
        self.skip_ends();
        if self.take("^") {
            self.out.push('^');
        }
        self.skip_ends();
        // A `]` at the start of a class is a literal character.
        let mut item = if self.take("]") { Item::Char(']') } else { self.item()? };
        loop {
            match item {
                Item::End => break,
                Item::Set(_) if self.begins_range() => return Err("a range begins with a set".to_owned()),
                Item::Set(set) => self.out.push_str(&set),
                Item::Char(low) => {
                    if self.begins_range() {
                        self.next();
                        if self.range(low)? {
                            break;
                        }
                    } else {
                        self.put(low);
                    }
                }
            }
            item = self.item()?;
        }
        self.out.push(']');
        Ok(())
    }

    /// Skips `\E`, which has no meaning here.
    fn skip_ends(&mut self) {
        while self.take("\\E") || (!self.quoting && self.take("\\Q\\E")) {
            self.quoting = false;
        }
    }

    fn begins_range(&mut self) -> bool {
        self.skip_ends();
        !self.quoting && self.rest.starts_with('-') && !self.rest.starts_with("-]")
    }

    /// Parses the end of a range after `low-`. Returns true if the class ended instead.
    fn range(&mut self, low: char) -> Result<bool, Refused> {
        match self.item()? {
            Item::Char(high) if high < low => Err(format!("the range {low}-{high} goes backwards")),
            Item::Char(high) => {
                self.put(low);
                self.out.push('-');
                self.put(high);
                Ok(false)
            }
            Item::Set(_) => Err(format!("{low}- begins a range, and no character follows")),
            Item::End => {
                self.put(low);
                self.put('-');
                Ok(true)
            }
        }
    }

    fn item(&mut self) -> Result<Item, Refused> {
        loop {
            let Some(c) = self.next() else { return Err("a class is not closed: ] is missing".to_owned()) };
            if self.quoting {
                if c == '\\' && self.take("E") {
                    self.quoting = false;
                    continue;
                }
                return Ok(Item::Char(c));
            }
            match c {
                ']' => return Ok(Item::End),
                '[' => return self.named(),
                '\\' => match self.escape_in_class()? {
                    Escaped::Char(c) => return Ok(Item::Char(c)),
                    Escaped::Set(set) => return Ok(Item::Set(set)),
                    Escaped::Quote => self.quoting = true,
                    Escaped::Nothing => {}
                },
                c => return Ok(Item::Char(c)),
            }
        }
    }

    /// Parses `:alpha:]` after a bracket in a class. Otherwise the bracket is a literal character.
    fn named(&mut self) -> Result<Item, Refused> {
        let rest = self.rest.strip_prefix(':').unwrap_or_default();
        let name = rest.split(|c: char| !c.is_ascii_alphabetic() && c != '^').next().unwrap_or_default();
        if !rest[name.len()..].starts_with(":]") {
            return Ok(Item::Char('['));
        }
        if self.unicode {
            return Err(format!("[:{name}:] is not supported with (*UCP): write \\p{{L}} or its like"));
        }
        if !NAMES.contains(&name.trim_start_matches('^')) {
            return Err(format!("there is no class [:{name}:]"));
        }
        self.rest = &self.rest[name.len() + 3..];
        Ok(Item::Set(Cow::Owned(format!("[:{name}:]"))))
    }

    /// Writes a character of a class, escaped.
    fn put(&mut self, c: char) {
        if c.is_alphanumeric() {
            self.out.push(c);
        } else {
            let _infallible = write!(self.out, "\\x{{{:X}}}", u32::from(c));
        }
    }
}
