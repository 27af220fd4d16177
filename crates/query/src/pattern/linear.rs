//! Search in linear time.
//!
//! The crate `regex-automata` searches. Its search of one text cannot be interrupted, and a large pattern may need
//! minutes for a large text. Therefore, if there is an interrupt and the text is long for its pattern, this module runs
//! the automata of the crate itself, byte by byte, and checks the interrupt at intervals. It uses the lazy DFA
//! ([`lazy`]). If the DFA gives up, or if groups are requested, it runs all threads of the NFA at once ([`threads`]).
//! The matches are the same.

mod lazy;
mod threads;

use std::ops::Range;
use std::sync::OnceLock;

use regex_automata::meta::Regex;
use regex_automata::nfa::thompson::NFA;
use regex_automata::util::prefilter::Prefilter;
use regex_automata::{Anchored, Input, MatchKind};
use regex_syntax::hir::{Hir, HirKind};

use super::Span;
use crate::interrupt::{Interrupt, Interruption};
use crate::work::Work;
use lazy::{Lazy, Unable};

/// The approximate memory of a state of a pattern, in the forward and the reverse program together.
const STATE_BYTES: usize = 64;

/// The interrupt is checked before a search of at least this much work: bytes of the text times states of the pattern.
/// This much work takes at most 2 ms.
const ASK_WORK: usize = 1 << 16;

/// The interrupt is checked before a search of at least this number of bytes, with any pattern.
const ASK_BYTES: usize = 1024;

/// Searches with at least this much work are run by this module. For less work, the crate takes at most 100 ms.
const LONG_WORK: usize = 1 << 22;

/// The minimum and maximum number of bytes over which the DFA runs before the interrupt is checked again.
const PART_LEAST: usize = 64;
const PART_MOST: usize = 4096;

/// A compiled pattern.
#[derive(Debug)]
pub(super) struct Linear {
    regex: Regex,
    /// The approximate number of states.
    states: usize,
    /// The maximum memory for the tables of each lazy DFA.
    tables: usize,
    /// The automata for long searches. The first long search builds them.
    long: OnceLock<Option<Long>>,
}

/// The automata for long searches.
#[derive(Debug)]
struct Long {
    /// Finds the longest text that each match contains, if there is one. Most texts without a match do not contain it.
    needed: Option<Prefilter>,
    nfa: NFA,
    lazy: Option<Lazy>,
}

/// A search that checks the interrupt at intervals, because its text is long.
#[derive(Debug, Clone, Copy)]
struct Search<'a> {
    text: &'a str,
    /// The position at which the search begins.
    start: usize,
    /// The number of bytes between two checks of the interrupt.
    part: usize,
    interrupt: Option<&'a Interrupt>,
}

impl Search<'_> {
    fn ask(&self) -> Result<()> {
        self.interrupt.map_or(Ok(()), Interrupt::check)
    }
}

type Result<T> = std::result::Result<T, Interruption>;

impl Linear {
    /// A pattern that was compiled to a regex. The tables of each of its lazy DFAs have at most this number of bytes.
    pub fn new(regex: Regex, tables: usize) -> Self {
        let states = (regex.memory_usage() / STATE_BYTES).max(1);
        Self { regex, states, tables, long: OnceLock::new() }
    }

    /// True if the pattern occurs anywhere in the text. `hir` is the syntax tree of the pattern.
    pub fn is_match(&self, text: &str, interrupt: Option<&Interrupt>, hir: impl Fn() -> Option<Hir>) -> Result<bool> {
        match self.long_search(text, 0, interrupt, false, hir)? {
            Some((search, long)) => Ok(long.end(&search)?.is_some()),
            None => Ok(self.regex.is_match(text)),
        }
    }

    /// The first match at or after the byte `at`: the span of the whole match, then the span of each group.
    pub fn groups(
        &self,
        text: &str,
        at: usize,
        interrupt: Option<&Interrupt>,
        hir: impl Fn() -> Option<Hir>,
    ) -> Result<Option<Vec<Option<Span>>>> {
        let mut input = Input::new(text).range(at..);
        if let Some((search, long)) = self.long_search(text, at, interrupt, self.has_many_groups(), hir)? {
            let Some((start, end)) = long.span(&search)? else { return Ok(None) };
            if self.work(end - start) >= LONG_WORK || self.has_many_groups() && !long.is_backtracked(end - start) {
                return long.groups(&search, start..end);
            }
            // The crate, too, looks for the groups only within the span of the match.
            input = Input::new(text).range(start..end).anchored(Anchored::Yes);
        }
        let mut groups = self.regex.create_captures();
        self.regex.search_captures(&input, &mut groups);
        let places = groups.iter().map(|span| span.map(|span| (span.start, span.end)));
        Ok(groups.is_match().then(|| places.collect()))
    }

    /// An upper bound for the work of a search of this number of bytes.
    fn work(&self, bytes: usize) -> usize {
        bytes.saturating_mul(self.states)
    }

    /// True if the crate would need much memory, because it keeps the positions of all groups for each state.
    fn has_many_groups(&self) -> bool {
        self.regex.group_info().slot_len().saturating_mul(self.states) > threads::PLACES_MAX
    }

    /// Checks the interrupt. If `long` is set, or the text is long for the pattern, returns a search from `start` on
    /// with its automata.
    fn long_search<'a>(
        &'a self,
        text: &'a str,
        start: usize,
        interrupt: Option<&'a Interrupt>,
        long: bool,
        hir: impl Fn() -> Option<Hir>,
    ) -> Result<Option<(Search<'a>, &'a Long)>> {
        let bytes = text.len().saturating_sub(start);
        let work = interrupt.map_or(0, |_| self.work(bytes));
        if let Some(interrupt) = interrupt.filter(|_| work >= ASK_WORK || bytes >= ASK_BYTES) {
            interrupt.check()?;
        }
        if work < LONG_WORK && !long {
            return Ok(None);
        }
        let long = self.long.get_or_init(|| Long::new(&hir()?, self.tables));
        let part = (ASK_WORK / self.states).clamp(PART_LEAST, PART_MOST);
        Ok(long.as_ref().map(|long| (Search { text, start, part, interrupt }, long)))
    }
}

impl Long {
    /// `None` if the pattern is a literal text, which is found quickly without automata.
    fn new(hir: &Hir, tables: usize) -> Option<Self> {
        if hir.properties().is_literal() {
            return None;
        }
        let nfa = NFA::compiler().build_from_hir(hir).ok()?;
        let lazy = Lazy::new(hir, &nfa, tables);
        let needed = needed(hir).and_then(|text| Prefilter::new(MatchKind::LeftmostFirst, &[text]));
        Some(Self { needed, nfa, lazy })
    }

    /// False if it is certain that there is no match.
    fn may_match(&self, search: &Search<'_>) -> bool {
        let all = (search.start..search.text.len()).into();
        self.needed.as_ref().is_none_or(|needed| needed.find(search.text.as_bytes(), all).is_some())
    }

    /// A position at which a match ends, if there is a match.
    fn end(&self, search: &Search<'_>) -> Result<Option<usize>> {
        if !self.may_match(search) {
            return Ok(None);
        }
        match self.lazy.as_ref().map(|lazy| lazy.end(search)) {
            Some(Ok(end)) => Ok(end),
            Some(Err(Unable::Interrupted(interruption))) => Err(interruption),
            Some(Err(Unable::GaveUp)) | None => Ok(self.threads(search, 0..0, None)?.map(|_| search.text.len())),
        }
    }

    /// The span of the first match.
    fn span(&self, search: &Search<'_>) -> Result<Option<Span>> {
        if !self.may_match(search) {
            return Ok(None);
        }
        match self.lazy.as_ref().map(|lazy| lazy.span(search)) {
            Some(Ok(span)) => Ok(span),
            Some(Err(Unable::Interrupted(interruption))) => Err(interruption),
            Some(Err(Unable::GaveUp)) | None => {
                let slots = self.threads(search, 0..2, None)?;
                Ok(slots.and_then(|slots| groups(&slots).next().flatten()))
            }
        }
    }

    /// The spans of the match in this part of the text, and of its groups.
    fn groups(&self, search: &Search<'_>, span: Range<usize>) -> Result<Option<Vec<Option<Span>>>> {
        // If a pattern has many groups, several searches are made. Each of them finds as many groups as memory allows.
        let (all, each) = (self.nfa.group_info().slot_len(), threads::slots_at_once(&self.nfa));
        let mut slots = Vec::with_capacity(all);
        while slots.len() < all {
            let wanted = slots.len()..all.min(slots.len() + each);
            match self.threads(search, wanted, Some(span.clone()))? {
                Some(places) => slots.extend(places),
                None => return Ok(None),
            }
        }
        Ok(Some(groups(&slots).collect()))
    }

    /// True if the crate finds the groups of a match of this number of bytes by backtracking, which keeps only one set
    /// of group positions. The crate's own limit is twice as high.
    fn is_backtracked(&self, bytes: usize) -> bool {
        (bytes + 1).saturating_mul(self.nfa.states().len()) <= 1 << 20
    }

    fn threads(
        &self,
        search: &Search<'_>,
        slots: Range<usize>,
        span: Option<Range<usize>>,
    ) -> Result<Option<Vec<usize>>> {
        let mut work = Work::asking(search.interrupt);
        let is_anchored = span.is_some();
        let span = span.unwrap_or(search.start..search.text.len());
        threads::search(&self.nfa, search.text, span, is_anchored, slots, &mut work)
    }
}

/// The longest literal text that each match contains. In a sequence, only single parts are considered.
fn needed(hir: &Hir) -> Option<&[u8]> {
    match hir.kind() {
        HirKind::Literal(literal) => Some(&literal.0),
        HirKind::Capture(group) => needed(&group.sub),
        HirKind::Repetition(repeated) if repeated.min > 0 => needed(&repeated.sub),
        HirKind::Concat(parts) => parts.iter().filter_map(needed).max_by_key(|text| text.len()),
        _ => None,
    }
}

/// The groups, given the slots with their beginnings and ends.
fn groups(slots: &[usize]) -> impl Iterator<Item = Option<Span>> + '_ {
    slots.chunks_exact(2).map(|pair| match *pair {
        [start, end] if end != threads::NOWHERE => Some((start, end)),
        _ => None,
    })
}

#[cfg(test)]
mod tests;
