//! Whether a history can have happened one call after the other.
//!
//! The order of calls and returns is walked once, with every set of calls that may have taken effect so far and what
//! the documents are after them (just-in-time linearization: Lowe, "Testing for linearizability", 2017). All documents
//! are one object here, so that what several of them show at one moment is checked as well as each of them.

#[cfg(test)]
mod tests;

use super::spec::{Act, Answer, Docs, apply};
use std::collections::{HashMap, HashSet};

/// A call, from when to when it lasted, by a clock that never gives the same number twice.
#[derive(Debug, Clone)]
pub struct Call {
    /// What was called.
    pub act: Act,
    /// When.
    pub from: u64,
    /// When it returned, and what; `None` if its outcome is unknown: it took effect at any time from then on, or never.
    pub returned: Option<(u64, Answer)>,
    /// Once it has returned, a cut of the power does not undo it.
    pub durable: bool,
    /// This is what was found after a crash: no earlier than all calls that are durable.
    pub recovery: bool,
    /// Who called.
    pub client: usize,
}

/// The calls that have begun and not returned have places, a bit each; with these of them done the documents are so.
type Config = (u64, Docs);

struct Checker<'a> {
    calls: &'a [Call],
    /// The calls under way, by place.
    open: Vec<Option<usize>>,
    configs: HashSet<Config>,
}

/// Walks a history from documents that are known.
///
/// # Errors
/// The call that cannot have been answered as it was, and what the documents may have been.
pub fn check(first: &Docs, calls: &[Call]) -> Result<(), String> {
    let mut moments: Vec<(u64, usize, bool)> = Vec::with_capacity(calls.len() * 2);
    for (at, call) in calls.iter().enumerate() {
        moments.push((call.from, at, false));
        moments.extend(call.returned.as_ref().map(|(when, _)| (*when, at, true)));
    }
    moments.sort_unstable();
    let mut checker = Checker { calls, open: Vec::new(), configs: HashSet::from([(0, first.clone())]) };
    let mut places: HashMap<usize, usize> = HashMap::new();
    for (_, at, ends) in moments {
        if !ends {
            places.insert(at, checker.begin(at)?);
        } else if let Some(place) = places.remove(&at) {
            checker.end(at, place)?;
        }
    }
    Ok(())
}

impl Checker<'_> {
    fn begin(&mut self, at: usize) -> Result<usize, String> {
        let free = self.open.iter().position(Option::is_none);
        let place = free.unwrap_or_else(|| {
            self.open.push(None);
            self.open.len() - 1
        });
        self.open[place] = Some(at);
        if place < 64 { Ok(place) } else { Err("more than 64 calls at once".to_owned()) }
    }

    /// A call returns: it took effect before, after any of the others under way.
    fn end(&mut self, at: usize, place: usize) -> Result<(), String> {
        let bit = 1 << place;
        let (mut ended, mut waiting) = (HashSet::new(), Vec::new());
        let mut seen: HashSet<Config> = HashSet::new();
        for (done, docs) in &self.configs {
            if done & bit != 0 {
                ended.insert((done & !bit, docs.clone()));
            } else {
                waiting.push((*done, docs.clone()));
            }
        }
        while let Some((done, docs)) = waiting.pop() {
            for (other, call) in self.open.iter().enumerate() {
                let Some(call) = call.filter(|_| done & (1 << other) == 0) else { continue };
                let Some(next) = self.take_effect(call, done, &docs) else { continue };
                if other == place {
                    ended.insert((done, next));
                } else if seen.insert((done | 1 << other, next.clone())) {
                    waiting.push((done | 1 << other, next));
                }
            }
        }
        if ended.is_empty() {
            return Err(self.explain(at));
        }
        self.configs = ended;
        self.open[place] = None;
        Ok(())
    }

    fn take_effect(&self, call: usize, done: u64, docs: &Docs) -> Option<Docs> {
        let call = &self.calls[call];
        let promised = |(place, other): (usize, &Option<usize>)| {
            let promised = other.is_some_and(|other| self.calls[other].durable && self.calls[other].returned.is_some());
            promised && done & (1 << place) == 0
        };
        if call.recovery && self.open.iter().enumerate().any(promised) {
            return None;
        }
        let (next, answer) = apply(docs, &call.act);
        match &call.returned {
            Some((_, returned)) if *returned != answer => None,
            _ => Some(next),
        }
    }

    fn explain(&self, at: usize) -> String {
        let call = &self.calls[at];
        let mut text = format!(
            "no order of calls explains {call:?}\nthe documents may have been before it, and others under way:\n"
        );
        for (done, docs) in self.configs.iter().take(4) {
            text += &format!("  {docs:?} after {done:b}\n");
        }
        for (place, other) in self.open.iter().enumerate() {
            text += &other.map(|other| format!("  under way, {place}: {:?}\n", self.calls[other])).unwrap_or_default();
        }
        text
    }
}
