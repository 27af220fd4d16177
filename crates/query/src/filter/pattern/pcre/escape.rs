//! Escape sequences.

use super::{END, Refused, Translator};
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

impl Translator<'_> {
    /// Parses an escape sequence outside of a class, after the backslash.
    pub(super) fn escape(&mut self) -> Result<Escaped, Refused> {
        let set = match self.peek() {
            Some('b') if self.unicode => r"\b",
            Some('b') => r"(?-u:\b)",
            // `regex` refuses an ASCII-only `\B`, since it could match within a character.
            Some('B') => r"\B",
            Some('A') => r"\A",
            Some('z') => r"\z",
            Some('Z') => END,
            Some('N') if self.rest.starts_with("N{") => return Err("\\N{…} is not supported: write \\x{…}".to_owned()),
            Some('N') => r"[^\n]",
            // The option `i` would fold a class that is written out.
            Some(c @ ('w' | 'W')) if !self.unicode => {
                self.next();
                return Ok(Escaped::Set(Cow::Owned(format!("(?-i:{})", self.kind(c)))));
            }
            Some('R') => BREAK,
            Some('1'..='7') if !self.is_reference() => return self.number(3, 8),
            Some('1'..='9' | 'g' | 'k') => return Err("back-references are not supported".to_owned()),
            _ => return self.escape_anywhere(),
        };
        self.next();
        Ok(Escaped::set(set))
    }

    /// True if the digits are a back-reference: below 10, or the number of a group that has begun.
    /// Otherwise they are octal.
    fn is_reference(&self) -> bool {
        let digits = self.rest.split(|c: char| !c.is_ascii_digit()).next().unwrap_or_default();
        digits.parse::<u32>().is_ok_and(|number| number < 10 || number <= self.groups)
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
