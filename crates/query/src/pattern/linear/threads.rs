//! Runs all threads of an NFA at once, in the order of their priority (Pike's virtual machine).
//!
//! Source: R. Cox, "Regular Expression Matching: the Virtual Machine Approach", 2009.

use std::ops::Range;

use regex_automata::nfa::thompson::{NFA, State};
use regex_automata::util::primitives::StateID;

use super::Result;
use crate::work::Work;

/// The value of a slot that has no position.
pub(super) const NOWHERE: usize = usize::MAX;

/// The units of work for a state: visiting a state takes as long as comparing some bytes.
const STATE_UNITS: usize = 8;

/// The maximum number of slots that a search holds for the threads before a character, and again for the threads after
/// it. Each slot has 8 bytes.
pub(super) const PLACES_MAX: usize = 1 << 19;

/// The number of slots, which hold the beginnings and ends of groups, that a search has space for.
pub(super) fn slots_at_once(nfa: &NFA) -> usize {
    (PLACES_MAX / nfa.states().len().max(1)).max(2) & !1
}

/// The threads at a position of the text: their states and their slots.
struct Threads {
    /// The states in the order of their priority.
    states: Vec<StateID>,
    /// For each state its position in `states`, if the set contains it.
    places: Vec<u32>,
    /// The requested slots of each state.
    slots: Vec<usize>,
    width: usize,
}

impl Threads {
    fn new(states: usize, width: usize) -> Self {
        Self { states: Vec::new(), places: vec![0; states], slots: vec![NOWHERE; states * width], width }
    }

    /// Adds a state. Returns false if the set already contains it.
    fn insert(&mut self, state: StateID) -> bool {
        let Some(place) = self.places.get_mut(state.as_usize()) else { return false };
        if self.states.get(*place as usize) == Some(&state) {
            return false;
        }
        *place = self.states.len() as u32;
        self.states.push(state);
        true
    }

    fn slots_of(&self, state: StateID) -> Range<usize> {
        let first = state.as_usize() * self.width;
        first..first + self.width
    }

    fn keep(&mut self, state: StateID, slots: &[usize]) {
        let range = self.slots_of(state);
        if let Some(own) = self.slots.get_mut(range) {
            own.copy_from_slice(slots);
        }
    }
}

/// A remaining step of [`Machine::follow`].
enum Step {
    Visit(StateID),
    /// Restores the former value of a slot.
    Restore(usize, usize),
}

struct Machine<'s> {
    nfa: &'s NFA,
    text: &'s str,
    /// The part of the text that is searched.
    span: Range<usize>,
    /// True if a match must begin at the start of the part.
    is_anchored: bool,
    /// The first of the requested slots.
    first_slot: usize,
    steps: Vec<Step>,
    /// The slots of the thread that is being followed.
    slots: Vec<usize>,
    /// The number of states visited since the work was last counted.
    visited: usize,
    /// The slots of the match of highest priority so far.
    found: Option<Vec<usize>>,
}

/// The requested slots of the first match in a part of a text. If `is_anchored`, the match must begin at the start of
/// the part. If no slot is requested, any match is accepted.
pub(super) fn search(
    nfa: &NFA,
    text: &str,
    span: Range<usize>,
    is_anchored: bool,
    slots: Range<usize>,
    work: &mut Work<'_>,
) -> Result<Option<Vec<usize>>> {
    let (count, width) = (nfa.states().len(), slots.len());
    let (mut now, mut next) = (Threads::new(count, width), Threads::new(count, width));
    let mut machine = Machine {
        nfa,
        text,
        span: span.clone(),
        is_anchored,
        first_slot: slots.start,
        steps: Vec::new(),
        slots: vec![NOWHERE; width],
        visited: 0,
        found: None,
    };
    for at in span.start..=span.end {
        machine.step(&mut now, &mut next, at);
        work.add(machine.units(width))?;
        let has_found = machine.found.is_some();
        if (has_found && width == 0) || (next.states.is_empty() && (has_found || is_anchored)) {
            break;
        }
        std::mem::swap(&mut now, &mut next);
        next.states.clear();
    }
    Ok(machine.found)
}

impl Machine<'_> {
    /// Starts a thread at a position, unless a match was found. Then moves all threads past the byte at that position.
    fn step(&mut self, now: &mut Threads, next: &mut Threads, at: usize) {
        // A match begins at a boundary between characters.
        if self.found.is_none() && (at == self.span.start || !self.is_anchored) && self.text.is_char_boundary(at) {
            self.slots.fill(NOWHERE);
            self.follow(now, self.nfa.start_anchored(), at);
        }
        let byte = self.text.as_bytes().get(at).filter(|_| at < self.span.end);
        for state in &now.states {
            let slots = now.slots.get(now.slots_of(*state)).unwrap_or_default();
            let to = match (self.nfa.state(*state), byte) {
                (State::Match { .. }, _) => {
                    // The remaining threads have a lower priority.
                    self.found = Some(slots.to_vec());
                    return;
                }
                (State::ByteRange { trans }, Some(byte)) => trans.matches_byte(*byte).then_some(trans.next),
                (State::Sparse(transitions), Some(byte)) => transitions.matches_byte(*byte),
                (State::Dense(transitions), Some(byte)) => transitions.matches_byte(*byte),
                _ => None,
            };
            self.visited += 1;
            if let Some(to) = to {
                self.slots.copy_from_slice(slots);
                self.follow(next, to, at + 1);
            }
        }
    }

    /// The work since it was last counted.
    fn units(&mut self, width: usize) -> usize {
        std::mem::take(&mut self.visited) * (STATE_UNITS + width)
    }

    /// Adds a state, and all states that can be reached from it without a character, at a position of the text.
    fn follow(&mut self, threads: &mut Threads, from: StateID, at: usize) {
        self.steps.push(Step::Visit(from));
        while let Some(step) = self.steps.pop() {
            let mut state = match step {
                Step::Visit(state) => state,
                Step::Restore(slot, place) => {
                    if let Some(known) = self.slots.get_mut(slot) {
                        *known = place;
                    }
                    continue;
                }
            };
            while threads.insert(state) {
                self.visited += 1;
                state = match self.nfa.state(state) {
                    State::Look { look, next } if self.nfa.look_matcher().matches(*look, self.text.as_bytes(), at) => {
                        *next
                    }
                    State::Union { alternates } => {
                        let Some((first, rest)) = alternates.split_first() else { break };
                        self.steps.extend(rest.iter().rev().map(|state| Step::Visit(*state)));
                        *first
                    }
                    State::BinaryUnion { alt1, alt2 } => {
                        self.steps.push(Step::Visit(*alt2));
                        *alt1
                    }
                    State::Capture { next, slot, .. } => {
                        let slot = slot.as_usize().wrapping_sub(self.first_slot);
                        if let Some(known) = self.slots.get_mut(slot) {
                            self.steps.push(Step::Restore(slot, *known));
                            *known = at;
                        }
                        *next
                    }
                    State::Look { .. } | State::Fail => break,
                    _ => {
                        threads.keep(state, &self.slots);
                        break;
                    }
                };
            }
        }
    }
}
