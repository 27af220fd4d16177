//! Regular expressions in filters: PCRE's syntax without recursion and conditions.
//!
//! A pattern is searched for in linear time where possible ([`linear`]). Look-around, back references, atomic groups
//! and possessive counts need backtracking ([`backtrack`]), whose steps are limited.

mod backtrack;
mod budget;
mod error;
mod linear;
mod pcre;

use std::sync::Arc;

use alluvium_document::Value;
use alluvium_document::value::Regex as Stored;
use regex_syntax::hir::{Hir, HirKind, Look};

use crate::interrupt::Interrupt;
use backtrack::{Ended, Program};
use linear::Linear;

pub(crate) use budget::Patterns;
pub(crate) use error::PatternError;

use pcre::Translated;

/// The maximum nesting of groups in a pattern.
const NEST_MAX: u32 = 100;

/// The maximum length of a pattern: MongoDB's limit.
const PATTERN_BYTES_MAX: usize = 16_384;

/// The maximum number of steps in the search for a pattern with look-around, back references, atomic groups or
/// possessive counts in one text. A step is an instruction, or a character that a count takes or gives back.
pub const MATCH_STEPS_MAX: u64 = 50_000_000;

/// The interrupt is checked before a search in at least this number of texts.
const ASK_LENGTH: usize = 1024;

/// A compiled pattern. Two patterns are equal if their sources and options are equal.
#[derive(Debug, Clone)]
pub(crate) struct Pattern {
    source: Stored,
    /// The literal text with which every matching text must begin, if there is one.
    prefix: Option<Box<str>>,
    search: Search,
    /// The interrupt, which can end searches.
    interrupt: Option<Interrupt>,
}

/// The position of the first byte of a part of a text, and the position after its last byte.
pub(crate) type Span = (usize, usize);

/// A compiled program. Clones share the program and the tables that searches fill.
#[derive(Debug, Clone)]
enum Search {
    /// The search takes linear time.
    Linear(Arc<Linear>),
    /// The search uses backtracking, with at most [`MATCH_STEPS_MAX`] steps.
    Backtracking(Arc<Program>),
}

impl PartialEq for Pattern {
    fn eq(&self, other: &Self) -> bool {
        self.source == other.source
    }
}

impl Eq for Pattern {}

impl Pattern {
    /// True if the pattern occurs anywhere in the text.
    ///
    /// # Errors
    /// [`PatternError::TooManySteps`], [`PatternError::Interrupted`].
    pub fn is_match(&self, text: &str) -> Result<bool, PatternError> {
        match &self.search {
            Search::Linear(linear) => Ok(linear.is_match(text, self.interrupt.as_ref(), || self.hir())?),
            Search::Backtracking(program) => {
                let found = program.search(text, 0, self.interrupt.as_ref());
                found.map(|groups| groups.is_some()).map_err(|ended| self.ended(ended, text))
            }
        }
    }

    /// The first match at or after the byte `at`: the span of the whole match, then the span of each group; `None` if
    /// there is no match.
    ///
    /// # Errors
    /// As [`Pattern::is_match`].
    pub fn groups(&self, text: &str, at: usize) -> Result<Option<Vec<Option<Span>>>, PatternError> {
        match &self.search {
            Search::Linear(linear) => Ok(linear.groups(text, at, self.interrupt.as_ref(), || self.hir())?),
            Search::Backtracking(program) => {
                program.search(text, at, self.interrupt.as_ref()).map_err(|ended| self.ended(ended, text))
            }
        }
    }

    /// The syntax tree of a pattern that needs no backtracking. It is translated with groups; [`Pattern::is_match`] can
    /// use the same tree.
    fn hir(&self) -> Option<Hir> {
        let Stored { pattern, options } = &self.source;
        let translated = translated(pattern, options, true).ok()?;
        parsed(pattern, translated.text(), options).ok()
    }

    /// Checks the interrupt of the query before a search in this number of texts, if they are many.
    pub fn ask(&self, length: usize) -> Result<(), PatternError> {
        match &self.interrupt {
            Some(interrupt) if length >= ASK_LENGTH => Ok(interrupt.check()?),
            _ => Ok(()),
        }
    }

    #[cold]
    fn ended(&self, ended: Ended, text: &str) -> PatternError {
        let after = match ended {
            Ended::Steps => format!("after {MATCH_STEPS_MAX} steps"),
            Ended::Places => "since it may continue at too many places".to_owned(),
            Ended::Interrupted(interruption) => return PatternError::Interrupted(interruption),
        };
        PatternError::TooManySteps(format!(
            "the search for the regular expression '{}' in a text of {} bytes was given up {after}: \
             write it without look-around and back references, or without counts inside of counts",
            shown(&self.source.pattern),
            text.len()
        ))
    }

    /// True if a stored regular expression is equal to this one.
    pub fn is(&self, stored: &Stored) -> bool {
        let known = |option: &char| *option != 'u';
        self.source.pattern == stored.pattern && stored.options.chars().filter(known).eq(self.source.options.chars())
    }

    pub fn source(&self) -> &Stored {
        &self.source
    }

    /// The pattern as a value.
    pub fn to_value(&self) -> Value {
        Value::Regex(Box::new(self.source.clone()))
    }

    /// The literal text with which every matching text must begin, if there is one.
    pub fn prefix(&self) -> Option<&str> {
        self.prefix.as_deref()
    }
}

/// The options, sorted, without `u`, which is accepted and has no effect.
fn options_of(pattern: &str, options: &str) -> Result<String, PatternError> {
    if pattern.len() > PATTERN_BYTES_MAX {
        let len = pattern.len();
        return Err(PatternError::Invalid(format!(
            "a regular expression has {len} bytes; the limit is {PATTERN_BYTES_MAX}"
        )));
    }
    if pattern.contains('\0') || options.contains('\0') {
        return Err(PatternError::Zero("a regular expression or its options have a zero character".to_owned()));
    }
    if let Some(option) = options.chars().find(|option| !"imsxu".contains(*option)) {
        return Err(PatternError::InvalidOptions(format!(
            "'{option}' is not an option of a regular expression: use i, m, s or x"
        )));
    }
    let mut sorted: Vec<char> = options.chars().filter(|option| *option != 'u').collect();
    sorted.sort_unstable();
    sorted.dedup();
    Ok(sorted.into_iter().collect())
}

/// Translates the pattern to the syntax of the crate that searches for it.
fn translated(pattern: &str, options: &str, captures: bool) -> Result<Translated, PatternError> {
    let has = |option| options.contains(option);
    let flags = pcre::Flags { multi_line: has('m'), extended: has('x'), captures, behind: false };
    pcre::translate(pattern, flags).map_err(|reason| not_understood(pattern, &reason))
}

/// The syntax tree of a translated pattern with these options.
fn parsed(pattern: &str, translated: &str, options: &str) -> Result<Hir, PatternError> {
    let has = |option| options.contains(option);
    let parsed = regex_syntax::ParserBuilder::new()
        .case_insensitive(has('i'))
        .multi_line(has('m'))
        .dot_matches_new_line(has('s'))
        .nest_limit(NEST_MAX)
        .build()
        .parse(translated);
    parsed.map_err(|error| {
        // The last line of the error is the message; the lines before it show the pattern.
        let text = error.to_string();
        not_understood(pattern, text.lines().last().unwrap_or_default().trim_start_matches("error: "))
    })
}

fn prefix_of(hir: &Hir) -> Option<Box<str>> {
    let HirKind::Concat(parts) = hir.kind() else { return None };
    let [start, first, ..] = &parts[..] else { return None };
    let (HirKind::Look(Look::Start), HirKind::Literal(literal)) = (start.kind(), first.kind()) else { return None };
    std::str::from_utf8(&literal.0).ok().map(Box::from)
}

fn not_understood(pattern: &str, reason: &str) -> PatternError {
    // Both are shortened, because the reason may repeat the pattern.
    let (pattern, reason) = (shown(pattern), reason.chars().take(300).collect::<String>());
    PatternError::Invalid(format!("the regular expression '{pattern}' is not valid: {reason}"))
}

fn shown(pattern: &str) -> String {
    pattern.chars().take(100).collect()
}
