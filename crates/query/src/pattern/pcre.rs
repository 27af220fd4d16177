//! Translates patterns from PCRE's syntax, which MongoDB uses, to the syntax of the crate `regex`. If `regex` has no
//! equivalent for a part of the pattern, the pattern is translated to the syntax of the crate `fancy-regex`.
//!
//! Syntax that has a different meaning in `regex` is rewritten: classes (`[a[b]`, `[&&]` and
//! `[+--]` have no nested sets here), `\w`, `\d`, `\s` and `\b`, which match ASCII only unless
//! `(*UCP)` comes first, `$` before a final line break, `\<`, `\v`, and a `{` that does not begin a
//! count. Syntax that only PCRE has is rewritten if possible (`\Q..\E`, `\h`, `\R`, `\Z`, `\e`,
//! octal numbers, comments). Look-around, back references, atomic groups and possessive counts need
//! `fancy-regex`. Other syntax is refused with an error that names it: recursion, conditions, `\K`,
//! verbs.
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

/// As [`END`], but the line break is not part of the match.
const END_BEFORE: &str = r"(?=\n?\z)";

/// The reason why a pattern is refused, as a part of a sentence.
pub(super) type Refused = String;

/// The options in effect at a point of the pattern, if the translation depends on them.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Flags {
    pub multi_line: bool,
    pub extended: bool,
    /// True if the positions of groups are requested.
    pub captures: bool,
    /// True inside a look-behind, whose length must be fixed.
    pub behind: bool,
}

/// A translated pattern. It is compiled with the options `i`, `m` and `s`, but without `x`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Translated {
    /// A pattern in the syntax of `regex`.
    Linear(String),
    /// A pattern in the syntax of `fancy-regex`.
    Backtracking {
        text: String,
        /// The literal text with which every matching text must begin, if there is one. Its case matters.
        prefix: Option<String>,
    },
}

impl Translated {
    pub fn text(&self) -> &str {
        match self {
            Self::Linear(text) | Self::Backtracking { text, .. } => text,
        }
    }
}

/// Translates a pattern.
pub(super) fn translate(pattern: &str, flags: Flags) -> Result<Translated, Refused> {
    let mut linear = Translator::new(pattern, flags, false);
    match linear.run() {
        Ok(()) => Ok(Translated::Linear(linear.out)),
        Err(_) if linear.needs_backtracking => backtracking(pattern, flags),
        Err(reason) => Err(reason),
    }
}

/// As [`translate`], for `fancy-regex`.
pub(super) fn backtracking(pattern: &str, flags: Flags) -> Result<Translated, Refused> {
    let mut translator = Translator::new(pattern, flags, true);
    translator.run()?;
    let Translator { out: text, lead, .. } = translator;
    let prefix = match lead {
        Lead::Open(prefix) | Lead::Closed(prefix) if !prefix.is_empty() => Some(prefix),
        _ => None,
    };
    Ok(Translated::Backtracking { text, prefix })
}

/// The literal characters after a `^` that begins the pattern.
#[derive(Debug)]
enum Lead {
    /// The pattern has not begun.
    Start,
    /// The next character may belong to the literal characters.
    Open(String),
    Closed(String),
    None,
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
    /// For each open group, the flags outside of it and the text that closes it.
    outside: Vec<(Flags, &'static str)>,
    /// True between `\Q` and `\E`.
    quoting: bool,
    /// True if `\w` and similar classes match Unicode characters.
    unicode: bool,
    /// The number of capture groups that have begun.
    groups: u32,
    before: Before,
    /// True if the translation is for `fancy-regex`.
    backtracks: bool,
    /// Set if the pattern can only be translated for `fancy-regex`.
    needs_backtracking: bool,
    /// The names of groups, with their numbers.
    names: Vec<(&'a str, u32)>,
    lead: Lead,
}

/// White space that the option `x` ignores.
fn is_blank(c: char) -> bool {
    matches!(c, '\t'..='\r' | ' ' | '\u{85}' | '\u{200e}' | '\u{200f}' | '\u{2028}' | '\u{2029}')
}

impl<'a> Translator<'a> {
    fn new(rest: &'a str, flags: Flags, backtracks: bool) -> Self {
        let out = String::with_capacity(rest.len() * 2);
        let (outside, before) = (Vec::new(), Before::Other);
        Self {
            rest,
            out,
            flags,
            outside,
            quoting: false,
            unicode: false,
            groups: 0,
            before,
            backtracks,
            needs_backtracking: false,
            names: Vec::new(),
            lead: Lead::Start,
        }
    }

    fn run(&mut self) -> Result<(), Refused> {
        self.begin();
        self.all()
    }

    /// Fails unless the translation is for `fancy-regex`, which supports this feature.
    fn backtrack(&mut self, what: &str) -> Result<(), Refused> {
        self.needs_backtracking = true;
        if self.backtracks { Ok(()) } else { Err(format!("{what} not supported")) }
    }

    /// Parses items that are allowed only at the start of a pattern.
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

    /// Consumes and returns at most `most` characters, while they fit.
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
            self.lead(c);
            match c {
                '\\' => self.escaped(before)?,
                '[' => self.class()?,
                '(' if self.take("?#") => {
                    self.take_until(')', "a comment")?;
                    self.before = before;
                }
                '(' => self.group()?,
                ')' => {
                    // An unmatched parenthesis is copied, because `regex` reports it.
                    let (flags, end) = self.outside.pop().unwrap_or((self.flags, ")"));
                    self.flags = flags;
                    self.out.push_str(end);
                }
                '$' if !self.flags.multi_line => self.out.push_str(self.end()),
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

    /// Updates the literal prefix at a character of the pattern.
    fn lead(&mut self, c: char) {
        self.lead = match (std::mem::replace(&mut self.lead, Lead::None), c) {
            (Lead::Start, '^') if !self.flags.multi_line => Lead::Open(String::new()),
            // Another branch may begin with other characters.
            (_, '|') if self.outside.is_empty() => Lead::None,
            (Lead::Start | Lead::None, _) => Lead::None,
            // The last character may be repeated or absent.
            (Lead::Open(mut prefix), '*' | '+' | '?' | '{') => {
                prefix.pop();
                Lead::Closed(prefix)
            }
            (Lead::Open(prefix), c) if is_meta_character(c) && c != '\\' => Lead::Closed(prefix),
            (lead, _) => lead,
        };
    }

    fn end(&self) -> &'static str {
        if self.backtracks { END_BEFORE } else { END }
    }

    fn literal(&mut self, c: char) {
        if let Lead::Open(prefix) = &mut self.lead {
            prefix.push(c);
        }
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
            Escaped::Set(set) => {
                if let Lead::Open(prefix) = &mut self.lead {
                    self.lead = Lead::Closed(std::mem::take(prefix));
                }
                self.out.push_str(&set);
            }
            Escaped::Quote => (self.quoting, self.before) = (true, before),
            Escaped::Nothing => self.before = before,
        }
        Ok(())
    }

    fn count(&mut self, c: char, before: Before) -> Result<(), Refused> {
        match (before, c) {
            // A lazy count changes the span of a match, but not whether a text matches.
            (Before::Count, '?') => {
                self.before = Before::LeastCount;
                if self.backtracks || self.flags.captures {
                    self.out.push('?');
                }
            }
            (Before::Count, '+') => {
                if self.out.ends_with('}') {
                    return Err("possessive counts of a number, such as a{2}+, are not supported".to_owned());
                }
                self.backtrack("possessive counts, such as a++, are")?;
                self.out.push('+');
                self.before = Before::LeastCount;
            }
            (Before::Count | Before::LeastCount, _) => return Err(counts_nothing(c)),
            (Before::Other, _) if self.flags.behind => return Err(no_fixed_length()),
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
        if self.flags.behind && inner.split_once(',').is_some_and(|(least, most)| least != most) {
            return Err(no_fixed_length());
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

fn no_fixed_length() -> Refused {
    "a look-behind must have a fixed length".to_owned()
}

#[cfg(test)]
mod tests;
