//! Search for patterns with look-around, back references, atomic groups and possessive counts, which
//! needs backtracking.
//!
//! Patterns are parsed by the crate `fancy-regex`. This module has its own search, because the work must be counted
//! where it is done: each instruction, each character that a count takes or gives back, each character that a back
//! reference compares. A search fails after [`super::MATCH_STEPS_MAX`] such steps, and checks the interrupt of the
//! query every [`ASK_STEPS`] steps.

mod compile;
mod machine;
mod set;

use crate::interrupt::Interrupt;

use super::Span;
pub(super) use compile::{Refusal, compile};
pub(super) use machine::Ended;
use set::Set;

/// The interrupt is checked each time this number of steps has passed.
pub(super) const ASK_STEPS: u64 = 1 << 16;

/// The maximum number of saved backtracking points, and of register changes to undo: 4 and 2 MB of memory. All requests
/// that are executed concurrently may need this memory.
const PLACES_MAX: usize = 1 << 18;

/// Represents no position in a text.
const NOWHERE: u32 = u32::MAX;

/// An instruction. A number without a description is the index of an instruction.
#[derive(Debug)]
enum Step {
    /// Matches these bytes.
    Text(Box<str>),
    /// Matches one character of a set.
    One(Set),
    /// Matches as many characters of a set as follow: at least `least`, at most `most`.
    Run {
        set: Set,
        least: u32,
        most: u32,
    },
    /// Matches at a certain place in the text, without taking characters.
    At(Place),
    /// Continues at `first`, and if that fails, at `second`.
    Either {
        first: u32,
        second: u32,
    },
    Jump(u32),
    /// Writes the current position in the text into a register.
    Mark(u32),
    /// Ends a group: copies the register with its beginning, and writes the current position in the text.
    Capture {
        begin: u32,
        group: u32,
    },
    /// Matches the text of a group again: a back reference.
    Again {
        group: u32,
        folds: bool,
    },
    /// Begins a loop, with a count of zero iterations.
    Enter {
        count: u32,
    },
    /// Begins an iteration at the next instruction, or ends the loop.
    Iterate {
        count: u32,
        least: u32,
        most: u32,
        greedy: bool,
        exit: u32,
    },
    /// The beginning of an iteration.
    Begin {
        count: u32,
    },
    /// The end of an iteration.
    Next {
        count: u32,
        least: u32,
        iterate: u32,
    },
    /// Matches the following instructions up to [`Step::Accept`], and continues at `next`. Their
    /// backtracking points are discarded.
    Atomic {
        next: u32,
    },
    /// As [`Step::Atomic`], but does not change the position in the text. A look-ahead begins at
    /// the current position. A look-behind begins this number of characters before it, and must end
    /// at the current position.
    Look {
        behind: Option<(u32, u32)>,
        negative: bool,
        next: u32,
    },
    /// The end of the pattern, of an atomic group or of look-around.
    Accept,
}

/// A place in a text.
#[derive(Debug, Clone, Copy)]
enum Place {
    Start,
    End,
    LineStart,
    LineEnd,
    /// Between a word character by Unicode's rules and another character.
    WordEdge,
    /// Any place except [`Place::WordEdge`].
    NoWordEdge,
}

/// A compiled pattern.
#[derive(Debug)]
pub(super) struct Program {
    steps: Vec<Step>,
    /// The number of groups. The first registers hold the beginnings and ends of the groups' texts.
    groups: u32,
    registers: u32,
    /// The characters with which a match may begin; `None` if it may begin with any character.
    first: Option<Set>,
    /// True if a match must begin at the start of the text.
    anchored: bool,
}

impl Program {
    /// The first match at or after the byte `at`: the span of the whole match, then the span of each group; `None` if
    /// there is no match.
    pub fn search(
        &self,
        text: &str,
        at: usize,
        interrupt: Option<&Interrupt>,
    ) -> Result<Option<Vec<Option<Span>>>, Ended> {
        machine::search(self, text, at, interrupt)
    }

    /// The approximate memory of the program.
    pub fn memory(&self) -> usize {
        let own = |step: &Step| match step {
            Step::Text(text) => text.len(),
            Step::One(set) | Step::Run { set, .. } => set.memory(),
            _ => 0,
        };
        self.steps.iter().map(|step| size_of::<Step>() + own(step)).sum()
    }
}
