//! Translation of patterns from PCRE's syntax, which MongoDB uses, to that of the crate `regex`.
//!
//! Syntax that has another meaning in `regex` is rewritten: classes (`[a[b]`, `[&&]` and `[+--]`
//! have no nested sets here), `\w`, `\d`, `\s` and `\b`, which match ASCII only unless `(*UCP)`
//! comes first, `$` before a final line break, `\<`, `\v`, and a `{` that does not begin a count.
//! Syntax that only PCRE has is rewritten if possible (`\Q..\E`, `\h`, `\R`, `\Z`, `\e`, octal
//! numbers, comments); otherwise it is refused by name: look-arounds, back-references, atomic
//! groups, possessive counts.
//!
//! The remaining differences: with `i`, `[\w]` and `[[:alpha:]]` match two letters that fold to
//! ASCII (`ſ` and the Kelvin sign); `\B` uses Unicode words; with `m`, `^` and `$` match the empty
//! line after the final line break; after `$` or `\Z` a pattern cannot match that final line break;
//! `\R` may match half of a `\r
//! `.
//!
//! Source: the page `pcre2pattern` of PCRE2's documentation.

mod class;
mod escape;
mod group;

use escape::Escaped;
use regex_syntax::is_meta_character;

/// The end of a text, or the position before its final line break.
const END: &str = r"(?:\n?\z)";

/// The reason why a pattern is refused: a part of a sentence.
pub(super) type Refused = String;

/// The options in effect at a point of the pattern, if the translation depends on them.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Flags {
    pub multi_line: bool,
    pub extended: bool,
}

/// Translates the pattern to the syntax of `regex`. It is compiled with the options `i`, `m` and
/// `s`, but without `x`.
pub(super) fn translate(pattern: &str, flags: Flags) -> Result<String, Refused> {
    let mut translator = Translator::new(pattern, flags);
    translator.begin();
    translator.all()?;
    Ok(translator.out)
}

/// The kind of the preceding item of the pattern.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Before {
    /// An item that cannot be repeated, or was already handled.
    Other,
    /// `*`, `+`, `?` or `{n,m}`.
    Count,
    /// A lazy count, such as `*?`.
    LeastCount,
}

struct Translator<'a> {
    rest: &'a str,
    out: String,
    flags: Flags,
    /// The flags outside of each open group.
    outside: Vec<Flags>,
    /// True between `\Q` and `\E`.
    quoting: bool,
    /// `\w` and similar classes match Unicode.
    unicode: bool,
    /// The number of capture groups that have begun.
    groups: u32,
    before: Before,
}

/// White space that the option `x` ignores.
fn is_blank(c: char) -> bool {
    matches!(c, '\t'..='\r' | ' ' | '\u{85}' | '\u{200e}' | '\u{200f}' | '\u{2028}' | '\u{2029}')
}

impl<'a> Translator<'a> {
    fn new(rest: &'a str, flags: Flags) -> Self {
        let out = String::with_capacity(rest.len() * 2);
        let (outside, before) = (Vec::new(), Before::Other);
        Self { rest, out, flags, outside, quoting: false, unicode: false, groups: 0, before }
    }

    /// Parses what may only be at the start of a pattern.
    fn begin(&mut self) {
        loop {
            if self.take("(*UCP)") {
                self.unicode = true;
            } else if !self.take("(*UTF8)") && !self.take("(*UTF)") {
                return;
            }
        }
    }

    fn next(&mut self) -> Option<char> {
        let mut chars = self.rest.chars();
        let next = chars.next();
        self.rest = chars.as_str();
        next
    }

    fn peek(&self) -> Option<char> {
        self.rest.chars().next()
    }

    /// Consumes `text`, if the input continues with it.
    fn take(&mut self, text: &str) -> bool {
        let rest = self.rest.strip_prefix(text);
        self.rest = rest.unwrap_or(self.rest);
        rest.is_some()
    }

    /// Consumes and returns characters that fit, at most `most` of them.
    fn take_while(&mut self, most: usize, fits: impl Fn(char) -> bool) -> &'a str {
        let mut ends = self.rest.char_indices().enumerate().filter(|(count, (_, c))| *count >= most || !fits(*c));
        let end = ends.next().map_or(self.rest.len(), |(_, (at, _))| at);
        let (taken, rest) = self.rest.split_at(end);
        self.rest = rest;
        taken
    }

    /// Consumes the input through `end`, and returns the text before it.
    fn take_until(&mut self, end: char, what: &str) -> Result<&'a str, Refused> {
        let (taken, rest) =
            self.rest.split_once(end).ok_or_else(|| format!("{what} is not closed: {end} is missing"))?;
        self.rest = rest;
        Ok(taken)
    }

    fn all(&mut self) -> Result<(), Refused> {
        while let Some(c) = self.next() {
            if self.quoting {
                self.quoted(c);
                continue;
            }
            let before = std::mem::replace(&mut self.before, Before::Other);
            match c {
                '\\' => self.escaped(before)?,
                '[' => self.class()?,
                '(' if self.take("?#") => {
                    self.take_until(')', "a comment")?;
                    self.before = before;
                }
                '(' => self.group()?,
                ')' => {
                    // `regex` reports an unmatched parenthesis.
                    self.flags = self.outside.pop().unwrap_or(self.flags);
                    self.out.push(')');
                }
                '$' if !self.flags.multi_line => self.out.push_str(END),
                '.' | '^' | '|' | '$' => self.out.push(c),
                '*' | '+' | '?' => self.count(c, before)?,
                '{' => self.braces(before)?,
                '#' if self.flags.extended => {
                    self.take_while(usize::MAX, |c| c != '\n');
                    self.before = before;
                }
                c if self.flags.extended && is_blank(c) => self.before = before,
                c => self.literal(c),
            }
        }
        Ok(())
    }

    fn literal(&mut self, c: char) {
        if is_meta_character(c) {
            self.out.push('\\');
        }
        self.out.push(c);
    }

    fn quoted(&mut self, c: char) {
        if c == '\\' && self.take("E") {
            self.quoting = false;
        } else {
            self.before = Before::Other;
            self.literal(c);
        }
    }

    fn escaped(&mut self, before: Before) -> Result<(), Refused> {
        match self.escape()? {
            Escaped::Char(c) => self.literal(c),
            Escaped::Set(set) => self.out.push_str(&set),
            Escaped::Quote => (self.quoting, self.before) = (true, before),
            Escaped::Nothing => self.before = before,
        }
        Ok(())
    }

    fn count(&mut self, c: char, before: Before) -> Result<(), Refused> {
        match (before, c) {
            // A lazy count: whether a text matches does not depend on it.
            (Before::Count, '?') => self.before = Before::LeastCount,
            (Before::Count, '+') => {
                return Err("possessive counts, such as a++, are not supported".to_owned());
            }
            (Before::Count | Before::LeastCount, _) => return Err(counts_nothing(c)),
            (Before::Other, _) => {
                self.out.push(c);
                self.before = Before::Count;
            }
        }
        Ok(())
    }

    /// Parses a count such as `{2,3}`. Any other brace is a literal character.
    fn braces(&mut self, before: Before) -> Result<(), Refused> {
        let inner = self.rest.split(|c: char| !c.is_ascii_digit() && c != ',').next().unwrap_or_default();
        let inner = if self.rest[inner.len()..].starts_with('}') { inner } else { "" };
        let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        let is_count = match inner.split_once(',') {
            None => is_number(inner),
            Some((least, most)) => is_number(least) && (most.is_empty() || is_number(most)),
        };
        if !is_count {
            self.literal('{');
            return Ok(());
        }
        if before != Before::Other {
            return Err(counts_nothing('{'));
        }
        let inner = self.take_until('}', "a count")?;
        self.out.push('{');
        self.out.push_str(inner);
        self.out.push('}');
        self.before = Before::Count;
        Ok(())
    }
}

fn counts_nothing(c: char) -> Refused {
    format!("there is nothing before {c} to repeat")
}

#[cfg(test)]
mod tests;
