//! The backtracking search.

use super::set::equal_folded;
use super::{ASK_STEPS, NOWHERE, PLACES_MAX, Place, Program, Set, Span, Step};
use crate::interrupt::{Interrupt, Interruption};
use crate::pattern::MATCH_STEPS_MAX;

/// The reason why a search ended without a result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::pattern) enum Ended {
    /// The search took more than [`MATCH_STEPS_MAX`] steps.
    Steps,
    /// The search would have needed too much memory for backtracking points.
    Places,
    Interrupted(Interruption),
}

type Result<T> = std::result::Result<T, Ended>;

/// A backtracking point.
#[derive(Debug, Clone, Copy)]
struct Return {
    step: u32,
    at: u32,
    /// Before continuing at `step`, a [`Step::Run`] gives back characters one by one, down to this position.
    lowest: u32,
    /// The number of register changes that were made before this point.
    undo: u32,
}

struct Machine<'p, 't> {
    program: &'p Program,
    text: &'t str,
    registers: Vec<u32>,
    returns: Vec<Return>,
    /// The previous values of changed registers.
    undo: Vec<(u32, u32)>,
    steps: u64,
    /// The number of steps at which the interrupt is checked next.
    ask_at: u64,
    interrupt: Option<&'p Interrupt>,
}

pub(super) fn search(
    program: &Program,
    text: &str,
    at: usize,
    interrupt: Option<&Interrupt>,
) -> Result<Option<Vec<Option<Span>>>> {
    // Positions are numbers of 32 bits; texts in documents are always shorter.
    if text.len() >= NOWHERE as usize {
        return Err(Ended::Steps);
    }
    let mut machine = Machine {
        program,
        text,
        registers: vec![NOWHERE; program.registers as usize],
        returns: Vec::new(),
        undo: Vec::new(),
        steps: 0,
        ask_at: ASK_STEPS,
        interrupt,
    };
    let mut start = at;
    loop {
        if program.anchored && start > 0 {
            return Ok(None);
        }
        if let Some(first) = &program.first {
            match machine.skip_to(first, start)? {
                Some(next) => start = next,
                None => return Ok(None),
            }
        }
        if let Some(end) = machine.run(0, start, None)? {
            return Ok(Some(machine.groups(start, end)));
        }
        machine.restore(0);
        match machine.char_at(start) {
            Some(c) => start += c.len_utf8(),
            None => return Ok(None),
        }
    }
}

impl Machine<'_, '_> {
    fn groups(&self, start: usize, end: usize) -> Vec<Option<Span>> {
        let group = |pair: &[u32]| match *pair {
            [start, end] if end != NOWHERE => Some((start as usize, end as usize)),
            _ => None,
        };
        let groups = self.registers.chunks_exact(2).take(self.program.groups as usize).map(group);
        std::iter::once(Some((start, end))).chain(groups).collect()
    }

    #[inline]
    fn char_at(&self, at: usize) -> Option<char> {
        self.text.get(at..).and_then(|rest| rest.chars().next())
    }

    #[inline]
    fn char_before(&self, at: usize) -> Option<char> {
        self.text.get(..at).and_then(|rest| rest.chars().next_back())
    }

    /// Counts steps.
    #[inline]
    fn count(&mut self, steps: u64) -> Result<()> {
        self.steps += steps;
        if self.steps >= self.ask_at { self.ask() } else { Ok(()) }
    }

    #[cold]
    fn ask(&mut self) -> Result<()> {
        if self.steps > MATCH_STEPS_MAX {
            return Err(Ended::Steps);
        }
        self.ask_at = self.steps.saturating_add(ASK_STEPS).min(MATCH_STEPS_MAX + 1);
        match self.interrupt {
            Some(interrupt) => interrupt.check().map_err(Ended::Interrupted),
            None => Ok(()),
        }
    }

    /// The first position at or after `start` with a character of the set. Sixteen characters count as a step.
    fn skip_to(&mut self, first: &Set, start: usize) -> Result<Option<usize>> {
        let mut at = start;
        loop {
            let part = self.text.get(at..).unwrap_or_default();
            let mut chars = part.char_indices().take(ASK_STEPS as usize);
            match chars.find(|(_, c)| first.contains(*c)) {
                Some((offset, _)) => {
                    self.count(offset as u64 / 16)?;
                    return Ok(Some(at + offset));
                }
                None => {
                    let passed = part.chars().take(ASK_STEPS as usize).map(char::len_utf8).sum::<usize>();
                    self.count(passed as u64 / 16)?;
                    at += passed;
                    if passed == 0 || at >= self.text.len() {
                        return Ok(None);
                    }
                }
            }
        }
    }

    fn set(&mut self, register: u32, value: u32) -> Result<()> {
        let Some(known) = self.registers.get_mut(register as usize) else { return Ok(()) };
        if self.undo.len() >= 2 * PLACES_MAX {
            return Err(Ended::Places);
        }
        self.undo.push((register, *known));
        *known = value;
        Ok(())
    }

    fn register(&self, register: u32) -> u32 {
        self.registers.get(register as usize).copied().unwrap_or(NOWHERE)
    }

    /// Undoes changes of registers until this number of changes is left.
    fn restore(&mut self, undo: u32) {
        while self.undo.len() > undo as usize {
            let Some((register, value)) = self.undo.pop() else { return };
            if let Some(known) = self.registers.get_mut(register as usize) {
                *known = value;
            }
        }
    }

    fn push(&mut self, step: u32, at: usize, lowest: usize) -> Result<()> {
        if self.returns.len() >= PLACES_MAX {
            return Err(Ended::Places);
        }
        let undo = self.undo.len() as u32;
        self.returns.push(Return { step, at: at as u32, lowest: lowest as u32, undo });
        Ok(())
    }

    /// Matches from an instruction and a position on, up to [`Step::Accept`]. If `target` is given, the match must end
    /// there. Returns the end of the match, or `None`. Its backtracking points are discarded. The nesting of groups
    /// limits the depth of recursion.
    fn run(&mut self, from: u32, start: usize, target: Option<usize>) -> Result<Option<usize>> {
        let base = self.returns.len();
        let (mut step, mut at) = (from, start);
        loop {
            match self.forward(step, at, target)? {
                Some(end) => {
                    self.returns.truncate(base);
                    return Ok(Some(end));
                }
                None => match self.back(base)? {
                    Some(next) => (step, at) = next,
                    None => return Ok(None),
                },
            }
        }
    }

    /// Takes the last backtracking point, if there is one above `base`, where the points of outer groups end.
    fn back(&mut self, base: usize) -> Result<Option<(u32, usize)>> {
        self.count(1)?;
        if self.returns.len() <= base {
            return Ok(None);
        }
        let Some(last) = self.returns.last_mut() else { return Ok(None) };
        let Return { step, at, lowest, undo } = *last;
        if at > lowest {
            let given = self.text.get(..at as usize).and_then(|rest| rest.chars().next_back());
            last.at = at - given.map_or(1, char::len_utf8) as u32;
        }
        if at <= lowest {
            self.returns.pop();
        }
        self.restore(undo);
        Ok(Some((step, at as usize)))
    }

    /// Executes instructions until one of them fails or the match is accepted.
    // long: one arm for each instruction
    fn forward(&mut self, mut step: u32, mut at: usize, target: Option<usize>) -> Result<Option<usize>> {
        let program = self.program;
        while let Some(instruction) = program.steps.get(step as usize) {
            self.count(1)?;
            step += 1;
            match instruction {
                Step::Text(text) => {
                    let rest = self.text.as_bytes().get(at..).unwrap_or_default();
                    if !rest.starts_with(text.as_bytes()) {
                        return Ok(None);
                    }
                    self.count(text.len() as u64 / 16)?;
                    at += text.len();
                }
                Step::One(set) => match self.char_at(at) {
                    Some(c) if set.contains(c) => at += c.len_utf8(),
                    _ => return Ok(None),
                },
                Step::Run { set, least, most } => match self.run_of(set, *least, *most, at, step)? {
                    Some(end) => at = end,
                    None => return Ok(None),
                },
                Step::At(place) => {
                    if !self.is_at(*place, at) {
                        return Ok(None);
                    }
                }
                Step::Either { first, second } => {
                    self.push(*second, at, at)?;
                    step = *first;
                }
                Step::Jump(next) => step = *next,
                Step::Mark(register) => self.set(*register, at as u32)?,
                Step::Capture { begin, group } => {
                    self.set(group * 2, self.register(*begin))?;
                    self.set(group * 2 + 1, at as u32)?;
                }
                Step::Again { group, folds } => match self.again(*group, *folds, at)? {
                    Some(end) => at = end,
                    None => return Ok(None),
                },
                Step::Enter { count } => self.set(*count, 0)?,
                Step::Iterate { count, least, most, greedy, exit } => {
                    let done = self.register(*count);
                    if done >= *least {
                        if done >= *most {
                            step = *exit;
                        } else if *greedy {
                            self.push(*exit, at, at)?;
                        } else {
                            self.push(step, at, at)?;
                            step = *exit;
                        }
                    }
                }
                Step::Begin { count } => {
                    self.set(*count, self.register(*count).saturating_add(1))?;
                    self.set(*count + 1, at as u32)?;
                }
                Step::Next { count, least, iterate } => {
                    // An iteration that matches the empty text and is not needed for the minimum is the last one.
                    if self.register(*count + 1) != at as u32 || self.register(*count) <= *least {
                        step = *iterate;
                    }
                }
                Step::Atomic { next } => match self.run(step, at, None)? {
                    Some(end) => (step, at) = (*next, end),
                    None => return Ok(None),
                },
                Step::Look { behind, negative, next } => {
                    let undo = self.undo.len() as u32;
                    let found = match behind {
                        None => self.run(step, at, None)?.is_some(),
                        Some((least, most)) => self.look_behind(step, at, *least, *most)?,
                    };
                    if found == *negative {
                        return Ok(None);
                    }
                    if *negative {
                        self.restore(undo);
                    }
                    step = *next;
                }
                Step::Accept => return Ok((target.is_none_or(|target| target == at)).then_some(at)),
            }
        }
        Ok(None)
    }

    /// Takes as many characters of the set as follow, and saves a backtracking point for the shorter alternatives.
    fn run_of(&mut self, set: &Set, least: u32, most: u32, start: usize, next: u32) -> Result<Option<usize>> {
        let (mut at, mut taken, mut lowest) = (start, 0u32, start);
        while taken < most {
            match self.char_at(at) {
                Some(c) if set.contains(c) => at += c.len_utf8(),
                _ => break,
            }
            taken += 1;
            if taken <= least {
                lowest = at;
            }
            self.count(1)?;
        }
        if taken < least {
            return Ok(None);
        }
        if at > lowest {
            let given = self.char_before(at).map_or(1, char::len_utf8);
            self.push(next, at - given, lowest)?;
        }
        Ok(Some(at))
    }

    fn look_behind(&mut self, step: u32, at: usize, least: u32, most: u32) -> Result<bool> {
        let undo = self.undo.len() as u32;
        let mut start = at;
        for length in 0..=most {
            if length >= least {
                if self.run(step, start, Some(at))?.is_some() {
                    return Ok(true);
                }
                self.restore(undo);
            }
            self.count(1)?;
            match self.char_before(start) {
                Some(c) => start -= c.len_utf8(),
                None => break,
            }
        }
        Ok(false)
    }

    /// The position after the text of a group if that text occurs again at a position.
    fn again(&mut self, group: u32, folds: bool, at: usize) -> Result<Option<usize>> {
        let (start, end) = (self.register(group * 2), self.register(group * 2 + 1));
        let (text, all) = (self.text, start as usize..end as usize);
        if end == NOWHERE {
            return Ok(None);
        }
        let known = text.get(all).unwrap_or_default();
        let rest = text.get(at..).unwrap_or_default();
        if !folds {
            let is_equal = rest.as_bytes().starts_with(known.as_bytes());
            self.count(known.len() as u64 / 16)?;
            return Ok(is_equal.then_some(at + known.len()));
        }
        let mut others = rest.chars();
        let mut end = at;
        for c in known.chars() {
            self.count(1)?;
            match others.next() {
                Some(other) if equal_folded(c, other) => end += other.len_utf8(),
                _ => return Ok(None),
            }
        }
        Ok(Some(end))
    }

    fn is_at(&self, place: Place, at: usize) -> bool {
        let is_word = |c: Option<char>| c.is_some_and(|c| regex_syntax::try_is_word_character(c).unwrap_or(false));
        match place {
            Place::Start => at == 0,
            Place::End => at == self.text.len(),
            Place::LineStart => at == 0 || self.text.as_bytes().get(at - 1) == Some(&b'\n'),
            Place::LineEnd => self.text.as_bytes().get(at).is_none_or(|byte| *byte == b'\n'),
            Place::WordEdge => is_word(self.char_before(at)) != is_word(self.char_at(at)),
            Place::NoWordEdge => is_word(self.char_before(at)) == is_word(self.char_at(at)),
        }
    }
}
