//! Search for patterns with look-around, back references, atomic groups and possessive counts, which
//! needs backtracking.
//!
//! The parser is that of the crate `fancy-regex`. The search is our own, because its work must be
//! counted where it is done: each instruction, each character that a count takes or gives back, each
//! character that a back reference compares. A search ends after [`super::MATCH_STEPS_MAX`] such
//! steps, and asks the interrupt of the query every [`ASK_STEPS`] steps.

mod compile;
mod machine;
mod set;

use crate::interrupt::Interrupt;

use super::Span;
pub(super) use compile::{Refusal, compile};
pub(super) use machine::Ended;
use set::Set;

/// The interrupt is checked after this number of steps.
pub(super) const ASK_STEPS: u64 = 1 << 16;

/// The maximum number of places to return to, and of changes to undo there: 4 and 2 MB of memory. All requests that
/// are executed at a time may need them.
const PLACES_MAX: usize = 1 << 18;

/// No place in a text.
const NOWHERE: u32 = u32::MAX;

/// An instruction. A number that is not described is the index of an instruction.
#[derive(Debug)]
enum Step {
    /// These bytes.
    Text(Box<str>),
    /// A character of a set.
    One(Set),
    /// As many characters of a set as follow: at least `least`, at most `most`.
    Run {
        set: Set,
        least: u32,
        most: u32,
    },
    /// A place in the text.
    At(Place),
    /// Continues at `first`, and if that fails, at `second`.
    Either {
        first: u32,
        second: u32,
    },
    Jump(u32),
    /// Writes the place in the text into a register.
    Mark(u32),
    /// Ends a group: copies the register of its beginning, and writes the place in the text.
    Capture {
        begin: u32,
        group: u32,
    },
    /// The text of a group, once more.
    Again {
        group: u32,
        folds: bool,
    },
    /// Begins a loop: none of its iterations has begun.
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
    /// Matches what follows, up to [`Step::Accept`], and continues at `next`. Nothing inside is
    /// returned to.
    Atomic {
        next: u32,
    },
    /// As [`Step::Atomic`], at the place in the text, or this number of characters before it and
    /// ending there. The place does not change.
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
    /// Between a character of Unicode words and another.
    WordEdge,
    /// Not [`Place::WordEdge`].
    NoWordEdge,
}

/// A compiled pattern.
#[derive(Debug)]
pub(super) struct Program {
    steps: Vec<Step>,
    /// The number of groups. The first registers are the beginnings and ends of their texts.
    groups: u32,
    registers: u32,
    /// A match begins with one of these, unless all characters may begin it.
    first: Option<Set>,
    /// A match begins at the start of the text.
    anchored: bool,
}

impl Program {
    /// The first match at or after the byte `at`: the span of the whole match, then that of each group; `None` if there
    /// is no match.
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
