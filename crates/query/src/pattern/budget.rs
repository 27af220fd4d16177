//! The budget for the patterns of a filter, update or projection.

use std::cell::Cell;
use std::sync::Arc;

use regex_automata::meta::{BuildError, Config, Regex};

use super::backtrack::{self, Program, Refusal};
use super::linear::Linear;
use super::pcre::Translated;
use super::{NEST_MAX, Pattern, PatternError, Search, options_of, parsed, prefix_of, shown, translated};
use crate::interrupt::{Interrupt, Interruption};
use crate::work::ASK_UNITS;
use alluvium_document::value::Regex as Stored;

/// The maximum memory for the compiled program of one pattern.
const COMPILED_BYTES_MAX: usize = 1 << 20;

/// The approximate maximum memory for all compiled patterns together. It also limits the time to
/// compile them.
const COMPILED_BYTES_IN_ALL: usize = 16 << 20;

/// The memory for a pattern in addition to its program: blocks of the allocator.
const PATTERN_BYTES: usize = 4096;

/// The budget taken for compiling, per byte of the pattern, in addition to the memory of the
/// result. `\pL{0}` compiles to an empty program, but compiling `\pL` without regard to case first
/// takes about 200 µs.
const BYTES_PER_BYTE: usize = 64;
const CLASS_BYTES: usize = 512;
const FOLDED_CLASS_BYTES: usize = 8192;

/// The maximum memory for the tables that searches fill, for all patterns together, and the minimum
/// memory for the tables of each pattern.
const TABLES_BYTES_IN_ALL: usize = 8 << 20;
const TABLES_BYTES_LEAST: usize = 16 << 10;

/// The maximum memory in which a search keeps the positions of groups. A search keeps the positions of all groups for
/// each state of the program, twice.
const PLACES_BYTES_MAX: usize = 32 << 20;

/// A lower bound for the memory of a state of a program.
const STATE_BYTES: usize = 32;

/// An upper bound for the memory in which a search for a pattern keeps the positions of its groups.
fn places_bytes(regex: &Regex) -> usize {
    let states = regex.memory_usage() / STATE_BYTES;
    states.saturating_mul(regex.captures_len()).saturating_mul(2 * 2 * size_of::<usize>())
}

/// The remaining budget. A pattern that exceeds the budget is refused.
#[derive(Debug)]
pub(crate) struct Patterns {
    compiled: Cell<usize>,
    tables: Cell<usize>,
    /// The interrupt, which can end searches for the patterns.
    interrupt: Option<Interrupt>,
    /// The work of the parser since the interrupt was last checked.
    units: Cell<usize>,
}

impl Default for Patterns {
    fn default() -> Self {
        Self::interrupted_by(None)
    }
}

impl Patterns {
    /// A full budget. The interrupt can end searches for its patterns.
    pub fn interrupted_by(interrupt: Option<&Interrupt>) -> Self {
        Self {
            compiled: Cell::new(COMPILED_BYTES_IN_ALL),
            tables: Cell::new(TABLES_BYTES_IN_ALL),
            interrupt: interrupt.cloned(),
            units: Cell::new(0),
        }
    }

    /// Counts work of the parser that uses this budget, as [`crate::work::Work`] does.
    pub fn work(&self, units: usize) -> Result<(), Interruption> {
        let units = self.units.get().saturating_add(units);
        if (units as u64) < ASK_UNITS {
            self.units.set(units);
            return Ok(());
        }
        self.units.set(0);
        self.interrupt.as_ref().map_or(Ok(()), Interrupt::check)
    }

    /// The interrupt, which can end searches.
    pub fn interrupt(&self) -> Option<&Interrupt> {
        self.interrupt.as_ref()
    }

    /// Compiles a pattern with options among `imsx`; `u` is accepted and has no effect.
    pub fn compile(&self, pattern: &str, options: &str) -> Result<Pattern, PatternError> {
        self.compile_as(pattern, options, false)
    }

    /// As [`Patterns::compile`], for patterns that are used with [`Pattern::groups`].
    pub fn compile_with_groups(&self, pattern: &str, options: &str) -> Result<Pattern, PatternError> {
        self.compile_as(pattern, options, true)
    }

    fn compile_as(&self, pattern: &str, options: &str, captures: bool) -> Result<Pattern, PatternError> {
        let options = options_of(pattern, options)?;
        let making = making(pattern, &options);
        let left = self.compiled.get().checked_sub(making).ok_or_else(|| too_many(pattern))?;
        let translated = translated(pattern, &options, captures)?;
        let source = |options| Stored { pattern: pattern.to_owned(), options };
        if let Translated::Backtracking { text, prefix } = translated {
            let program = backtracking(pattern, &text, &options, left)?;
            self.compiled.set(left.saturating_sub(program.memory()));
            let search = Search::Backtracking(Arc::new(program));
            let prefix = prefix.filter(|_| !options.contains('i')).map(String::into_boxed_str);
            return Ok(Pattern { source: source(options), prefix, search, interrupt: self.interrupt.clone() });
        }
        let hir = parsed(pattern, translated.text(), &options)?;
        let tables = (self.tables.get() / 8).min(COMPILED_BYTES_MAX);
        let program = left.min(COMPILED_BYTES_MAX);
        let config = Config::new()
            .nfa_size_limit(Some(program))
            .onepass_size_limit(Some(program))
            .hybrid_cache_capacity(tables.max(TABLES_BYTES_LEAST));
        let built = Regex::builder().configure(config).build_from_hir(&hir);
        let regex = built.map_err(|error| refused(pattern, &error, program))?;
        if captures && places_bytes(&regex) > PLACES_BYTES_MAX {
            return Err(too_large(pattern));
        }
        // The limit applies to the forward and the reverse program separately, so the last pattern
        // may take more than the remaining budget.
        self.compiled.set(left.saturating_sub(regex.memory_usage()));
        self.tables.set(self.tables.get() - tables);
        let prefix = prefix_of(&hir);
        let search = Search::Linear(Arc::new(Linear::new(regex, tables.max(TABLES_BYTES_LEAST))));
        Ok(Pattern { source: source(options), prefix, search, interrupt: self.interrupt.clone() })
    }
}

/// The program for a pattern that needs backtracking.
fn backtracking(pattern: &str, text: &str, options: &str, left: usize) -> Result<Program, PatternError> {
    if nesting(text) > NEST_MAX as usize {
        return Err(super::not_understood(pattern, &format!("its groups nest deeper than {NEST_MAX} levels")));
    }
    let limit = left.min(COMPILED_BYTES_MAX);
    backtrack::compile(text, options, limit).map_err(|refusal| match refusal {
        Refusal::TooLarge if limit < COMPILED_BYTES_MAX => too_many(pattern),
        Refusal::TooLarge => too_large(pattern),
        Refusal::Invalid(reason) => super::not_understood(pattern, &reason),
    })
}

/// An upper bound for the nesting of groups and classes in a translated pattern.
fn nesting(text: &str) -> usize {
    let (mut level, mut most, mut escaped) = (0usize, 0, false);
    for byte in text.bytes() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = true,
            b'(' | b'[' => level += 1,
            b')' | b']' => level = level.saturating_sub(1),
            _ => {}
        }
        most = most.max(level);
    }
    most
}

/// The budget taken for compiling a pattern, whatever the size of the result.
fn making(pattern: &str, options: &str) -> usize {
    let folds = options.contains('i') || pattern.contains("(?");
    let each = if folds { FOLDED_CLASS_BYTES } else { CLASS_BYTES };
    let is_class = |pair: &&[u8]| pair[0] == b'[' || (pair[0] == b'\\' && pair[1].is_ascii_alphabetic());
    let classes = pattern.as_bytes().windows(2).filter(is_class).count();
    PATTERN_BYTES + BYTES_PER_BYTE * pattern.len() + each * classes
}

fn refused(pattern: &str, error: &BuildError, limit: usize) -> PatternError {
    match error.size_limit() {
        Some(_) if limit < COMPILED_BYTES_MAX => too_many(pattern),
        Some(_) => too_large(pattern),
        None => super::not_understood(pattern, &error.to_string()),
    }
}

fn too_large(pattern: &str) -> PatternError {
    let shown = shown(pattern);
    PatternError::Invalid(format!("the regular expression '{shown}' is too large once it is compiled: repeat less"))
}

fn too_many(pattern: &str) -> PatternError {
    let shown = shown(pattern);
    PatternError::Invalid(format!(
        "the regular expressions up to '{shown}' are too large together once they are compiled: use fewer, or repeat less"
    ))
}
