//! Escape sequences.

use super::{Refused, Translator};
use std::borrow::Cow;

/// The meaning of an escape sequence.
pub(super) enum Escaped {
    Char(char),
    /// A class, or an assertion.
    Set(Cow<'static, str>),
    /// `\Q`: the text up to `\E` is literal.
    Quote,
    Nothing,
}

impl Escaped {
    fn set(set: &'static str) -> Self {
        Self::Set(Cow::Borrowed(set))
    }
}

const BLANKS: &str = r"[\t\x20\xA0\x{1680}\x{180E}\x{2000}-\x{200A}\x{202F}\x{205F}\x{3000}]";
const NO_BLANKS: &str = r"[^\t\x20\xA0\x{1680}\x{180E}\x{2000}-\x{200A}\x{202F}\x{205F}\x{3000}]";
const BREAKS: &str = r"[\n\x0B\f\r\x{85}\x{2028}\x{2029}]";
const NO_BREAKS: &str = r"[^\n\x0B\f\r\x{85}\x{2028}\x{2029}]";
const BREAK: &str = r"(?:\r\n|[\n\x0B\f\r\x{85}\x{2028}\x{2029}])";

/// A boundary of words of ASCII characters, and the opposite of a boundary, written with look-around.
const EDGE: &str = r"(?-i:(?<=[0-9A-Z_a-z])(?![0-9A-Z_a-z])|(?<![0-9A-Z_a-z])(?=[0-9A-Z_a-z]))";
const NO_EDGE: &str = r"(?-i:(?<=[0-9A-Z_a-z])(?=[0-9A-Z_a-z])|(?<![0-9A-Z_a-z])(?![0-9A-Z_a-z]))";

impl Translator<'_> {
    /// Parses an escape sequence outside of a class, after the backslash.
    pub(super) fn escape(&mut self) -> Result<Escaped, Refused> {
        let set = match self.peek() {
            Some(c @ ('b' | 'B')) if self.backtracks && !self.unicode => {
                if c == 'b' {
                    EDGE
                } else {
                    NO_EDGE
                }
            }
            Some('b') if self.unicode => r"\b",
            Some('b') => r"(?-u:\b)",
            // `regex` refuses a `\B` for ASCII words, because it could match inside of a character.
            Some('B') => r"\B",
            Some('A') => r"\A",
            Some('z') => r"\z",
            Some('Z') => self.end(),
            Some('N') if self.rest.starts_with("N{") => return Err("\\N{…} is not supported: write \\x{…}".to_owned()),
            Some('N') => r"[^\n]",
            // If the class were written out, the option `i` would fold its letters.
            Some(c @ ('w' | 'W')) if !self.unicode => {
                self.next();
                return Ok(Escaped::Set(Cow::Owned(format!("(?-i:{})", self.kind(c)))));
            }
            Some('R') => BREAK,
            Some('1'..='7') if !self.is_reference() => return self.number(3, 8),
            Some('1'..='9' | 'g' | 'k') => return self.reference(),
            _ => return self.escape_anywhere(),
        };
        self.next();
        Ok(Escaped::set(set))
    }

    /// True if the digits are a back reference: a number below 10, or the number of a group that
    /// has begun. Otherwise they are an octal number.
    fn is_reference(&self) -> bool {
        let digits = self.rest.split(|c: char| !c.is_ascii_digit()).next().unwrap_or_default();
        digits.parse::<u32>().is_ok_and(|number| number < 10 || number <= self.groups)
    }

    /// Parses a back reference after the backslash: `1`, `g1`, `g{1}`, `g{-1}`, `g{name}`, `k<name>`,
    /// `k'name'`, `k{name}`.
    fn reference(&mut self) -> Result<Escaped, Refused> {
        self.backtrack("back references are")?;
        let by_name = self.take("k");
        let in_braces = by_name || self.take("g");
        for (begin, end) in [("{", '}'), ("<", '>'), ("'", '\'')] {
            if !in_braces || !self.take(begin) {
                continue;
            }
            if !by_name && begin != "{" {
                return Err("recursion \\g<…> is not supported".to_owned());
            }
            let name = self.take_until(end, "a back reference")?.trim();
            return match name.parse::<i64>() {
                Ok(number) if !by_name => self.numbered_reference(number),
                _ => Ok(Escaped::Set(Cow::Owned(self.named_reference(name)?))),
            };
        }
        let sign = if in_braces && self.take("-") { -1 } else { 1 };
        let digits = self.take_while(9, |c| c.is_ascii_digit());
        match digits.parse::<i64>() {
            Ok(number) if !by_name => self.numbered_reference(sign * number),
            _ => Err("a back reference has neither a number nor a name".to_owned()),
        }
    }

    /// A reference to a group by its number. A positive number counts from the first group. A
    /// negative number counts back from the last group that has begun.
    fn numbered_reference(&mut self, number: i64) -> Result<Escaped, Refused> {
        let group = if number < 0 { i64::from(self.groups) + 1 + number } else { number };
        match u32::try_from(group) {
            Ok(group @ 1..) => Ok(Escaped::Set(Cow::Owned(format!("(?:\\{group})")))),
            _ => Err(format!("the back reference {number} is to no group")),
        }
    }

    /// A reference to a named group.
    pub(super) fn named_reference(&mut self, name: &str) -> Result<String, Refused> {
        self.backtrack("back references are")?;
        let known = self.names.iter().find(|(known, _)| *known == name);
        known
            .map(|(_, group)| format!("(?:\\{group})"))
            .ok_or_else(|| format!("the back reference '{name}' is to no group before it"))
    }

    /// Parses an escape sequence inside a class, after the backslash.
    pub(super) fn escape_in_class(&mut self) -> Result<Escaped, Refused> {
        match self.peek() {
            Some('b') => {
                self.next();
                Ok(Escaped::Char('\u{8}'))
            }
            Some('1'..='7') => self.number(3, 8),
            _ => self.escape_anywhere(),
        }
    }

    fn escape_anywhere(&mut self) -> Result<Escaped, Refused> {
        let Some(c) = self.next() else { return Err("nothing follows its last \\".to_owned()) };
        Ok(match c {
            'Q' => Escaped::Quote,
            'E' => Escaped::Nothing,
            'd' | 'D' | 's' | 'S' | 'w' | 'W' => Escaped::Set(self.kind(c)),
            'h' => Escaped::set(BLANKS),
            'H' => Escaped::set(NO_BLANKS),
            'v' => Escaped::set(BREAKS),
            'V' => Escaped::set(NO_BREAKS),
            'p' | 'P' => return self.property(c),
            'x' if self.take("{") => return self.braced_number(16),
            'x' => return self.number(2, 16),
            'o' if self.take("{") => return self.braced_number(8),
            '0' => return self.number(2, 8),
            'c' => match self.next().filter(|c| (' '..='~').contains(c)) {
                Some(c) => Escaped::Char(char::from(c.to_ascii_uppercase() as u8 ^ 0x40)),
                None => return Err("\\c must be followed by an ASCII character".to_owned()),
            },
            'a' => Escaped::Char('\u{7}'),
            'e' => Escaped::Char('\u{1b}'),
            'f' => Escaped::Char('\u{c}'),
            'n' => Escaped::Char('\n'),
            'r' => Escaped::Char('\r'),
            't' => Escaped::Char('\t'),
            c if c.is_ascii_alphanumeric() => return Err(format!("\\{c} is not supported")),
            c => Escaped::Char(c),
        })
    }

    /// The class for digits, white space or word characters, or for its complement.
    fn kind(&self, c: char) -> Cow<'static, str> {
        if self.unicode {
            return Cow::Owned(format!("\\{c}"));
        }
        Cow::Borrowed(match c {
            'd' => "[0-9]",
            'D' => "[^0-9]",
            's' => r"[\t-\r\x20]",
            'S' => r"[^\t-\r\x20]",
            'w' => "[0-9A-Z_a-z]",
            _ => "[^0-9A-Z_a-z]",
        })
    }

    fn property(&mut self, c: char) -> Result<Escaped, Refused> {
        let name = match self.next() {
            Some('{') => self.take_until('}', "the name of a property")?.to_owned(),
            Some(letter) => letter.to_string(),
            None => return Err(format!("\\{c} must be followed by the name of a property")),
        };
        // A double negation cancels out.
        let (name, negated) = match name.strip_prefix('^') {
            Some(name) => (name, c == 'p'),
            None => (name.as_str(), c == 'P'),
        };
        let plain = !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | ' ' | '='));
        if !plain {
            return Err(format!("there is no property {name}"));
        }
        Ok(Escaped::Set(Cow::Owned(format!("\\{}{{{name}}}", if negated { 'P' } else { 'p' }))))
    }

    fn number(&mut self, most: usize, base: u32) -> Result<Escaped, Refused> {
        let digits = self.take_while(most, |c| c.is_digit(base));
        of_number(if digits.is_empty() { "0" } else { digits }, base)
    }

    fn braced_number(&mut self, base: u32) -> Result<Escaped, Refused> {
        of_number(self.take_until('}', "a number")?, base)
    }
}

fn of_number(digits: &str, base: u32) -> Result<Escaped, Refused> {
    let c = u32::from_str_radix(digits, base).ok().and_then(char::from_u32);
    c.map(Escaped::Char).ok_or_else(|| format!("{digits} is not the number of a character"))
}
