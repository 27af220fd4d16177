//! Lazy DFAs, run byte by byte.

use std::panic::{RefUnwindSafe, UnwindSafe};

use regex_automata::hybrid::dfa::{Cache, Config, DFA};
use regex_automata::nfa::thompson::{Config as NfaConfig, NFA, WhichCaptures};
use regex_automata::util::pool::Pool;
use regex_automata::util::prefilter::Prefilter;
use regex_automata::{Anchored, Input, MatchKind};
use regex_syntax::hir::{Hir, Look};

use super::Search;
use crate::interrupt::Interruption;
use crate::pattern::Span;

/// The limits of the crate's own searches. A DFA gives up if its tables were cleared too often and processed fewer than
/// this number of bytes per state since.
const CLEARS_LEAST: usize = 3;
const BYTES_PER_STATE: usize = 10;

/// The reason why a search has no result.
#[derive(Debug)]
pub(super) enum Unable {
    /// The tables are cleared too often, or a non-ASCII character is next to a boundary of Unicode words.
    GaveUp,
    Interrupted(Interruption),
}

impl From<Interruption> for Unable {
    fn from(interruption: Interruption) -> Self {
        Self::Interrupted(interruption)
    }
}

type Result<T> = std::result::Result<T, Unable>;

type MakeTables = Box<dyn Fn() -> (Cache, Cache) + Send + Sync + UnwindSafe + RefUnwindSafe>;

/// Two DFAs: the first finds the ends of matches, the second their beginnings.
#[derive(Debug)]
pub(super) struct Lazy {
    forward: DFA,
    reverse: DFA,
    /// The tables of both DFAs, for each concurrent search.
    tables: Pool<(Cache, Cache), MakeTables>,
}

impl Lazy {
    pub fn new(hir: &Hir, nfa: &NFA, tables: usize) -> Option<Self> {
        let is_anchored = hir.properties().look_set_prefix().contains(Look::Start);
        let prefilter = Prefilter::from_hir_prefix(MatchKind::LeftmostFirst, hir);
        let prefilter = prefilter.filter(|prefilter| prefilter.is_fast() && !is_anchored);
        let config = DFA::config()
            .unicode_word_boundary(true)
            .cache_capacity(tables)
            .skip_cache_capacity_check(true)
            .minimum_cache_clear_count(Some(CLEARS_LEAST))
            .minimum_bytes_per_state(Some(BYTES_PER_STATE));
        let build = |config: Config, nfa: NFA| DFA::builder().configure(config).build_from_nfa(nfa).ok();
        let backwards = NfaConfig::new().reverse(true).which_captures(WhichCaptures::None);
        let backwards = NFA::compiler().configure(backwards).build_from_hir(hir).ok()?;
        let reverse = build(config.clone().match_kind(MatchKind::All), backwards)?;
        let starts = prefilter.is_some();
        let forward = build(config.specialize_start_states(starts).prefilter(prefilter), nfa.clone())?;
        let (of_forward, of_reverse) = (forward.clone(), reverse.clone());
        let tables: MakeTables = Box::new(move || (of_forward.create_cache(), of_reverse.create_cache()));
        Some(Self { forward, reverse, tables: Pool::new(tables) })
    }

    /// A position at which a match ends, if there is a match.
    pub fn end(&self, search: &Search<'_>) -> Result<Option<usize>> {
        let mut tables = self.tables.get();
        end(&self.forward, &mut tables.0, search, true)
    }

    /// The span of the first match.
    pub fn span(&self, search: &Search<'_>) -> Result<Option<Span>> {
        let mut tables = self.tables.get();
        let Some(end) = end(&self.forward, &mut tables.0, search, false)? else { return Ok(None) };
        let begin = begin(&self.reverse, &mut tables.1, search, end)?.ok_or(Unable::GaveUp)?;
        Ok(Some((begin, end)))
    }
}

/// The end of the first match. With `any`, the first position at which some match is known to end.
// The DFA reports a match one byte after its end.
fn end(dfa: &DFA, tables: &mut Cache, search: &Search<'_>, any: bool) -> Result<Option<usize>> {
    let text = search.text.as_bytes();
    let start_at = |tables: &mut Cache, at: usize| {
        dfa.start_state_forward(tables, &Input::new(text).range(at..)).map_err(|_| Unable::GaveUp)
    };
    let prefilter = dfa.get_config().get_prefilter();
    let is_same_everywhere = dfa.get_nfa().look_set_prefix_any().is_empty();
    let (mut at, mut ask_at, mut found) = (search.start, search.start, None);
    let mut state = start_at(tables, at)?;
    tables.search_start(at);
    while let Some(byte) = text.get(at) {
        if at >= ask_at {
            search.ask()?;
            tables.search_update(at);
            ask_at = at + search.part;
        }
        if let Some(prefilter) = prefilter.filter(|_| state.is_start()) {
            // No match has begun, so the search continues where a match may begin.
            match prefilter.find(text, (at..text.len()).into()) {
                None => break,
                Some(next) if next.start > at => {
                    at = next.start;
                    if !is_same_everywhere {
                        state = start_at(tables, at)?;
                    }
                    continue;
                }
                Some(_) => {}
            }
        }
        state = dfa.next_state(tables, state, *byte).map_err(|_| Unable::GaveUp)?;
        if state.is_tagged() {
            if state.is_match() {
                found = Some(at);
                if any {
                    break;
                }
            } else if state.is_dead() {
                break;
            } else if state.is_quit() {
                return Err(Unable::GaveUp);
            }
        }
        at += 1;
    }
    tables.search_finish(at.min(text.len()));
    if at >= text.len() {
        state = dfa.next_eoi_state(tables, state).map_err(|_| Unable::GaveUp)?;
        if state.is_match() {
            found = Some(text.len());
        }
    }
    match found {
        // The match is empty and inside of a character, where no match may begin.
        Some(end) if !search.text.is_char_boundary(end) => Err(Unable::GaveUp),
        found => Ok(found),
    }
}

/// The beginning of the match that ends at a position.
fn begin(dfa: &DFA, tables: &mut Cache, search: &Search<'_>, end: usize) -> Result<Option<usize>> {
    let text = search.text.as_bytes();
    let input = Input::new(text).range(search.start..end).anchored(Anchored::Yes);
    let mut state = dfa.start_state_reverse(tables, &input).map_err(|_| Unable::GaveUp)?;
    let mut found = None;
    tables.search_start(0);
    let part = text.get(search.start..end).unwrap_or_default();
    for (passed, (offset, byte)) in part.iter().enumerate().rev().enumerate() {
        if passed % search.part == 0 {
            search.ask()?;
            tables.search_update(passed);
        }
        state = dfa.next_state(tables, state, *byte).map_err(|_| Unable::GaveUp)?;
        if state.is_tagged() {
            if state.is_match() {
                found = Some(search.start + offset + 1);
            } else if state.is_dead() {
                tables.search_finish(passed);
                return Ok(found);
            } else if state.is_quit() {
                return Err(Unable::GaveUp);
            }
        }
    }
    tables.search_finish(part.len());
    state = match search.start.checked_sub(1).and_then(|before| text.get(before)) {
        Some(byte) => dfa.next_state(tables, state, *byte),
        None => dfa.next_eoi_state(tables, state),
    }
    .map_err(|_| Unable::GaveUp)?;
    if state.is_quit() {
        return Err(Unable::GaveUp);
    }
    Ok(if state.is_match() { Some(search.start) } else { found })
}
