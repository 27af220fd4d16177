//! Checks whether a history is linearizable.
//!
//! Processes the starts and returns of calls once, in order of time. It maintains every possible set of calls that have
//! taken effect so far, with the documents after them (just-in-time linearization: Lowe, "Testing for linearizability",
//! 2017). All documents are treated as one object, so that reads of several documents at one time are checked, too.
//!
//! Two optimisations: a call that is known to change nothing takes effect as soon as the documents match its result,
//! because anything that could happen without the call can also happen after it. And before a call returns, other calls
//! take effect only if they share documents with it, directly or through further calls: the rest can take effect later.

#[cfg(test)]
mod tests;

use super::spec::{Act, Answer, Docs, apply};
use hashbrown::HashSet;
use std::collections::HashMap;

/// A call with its start and end. The clock never returns the same number twice.
#[derive(Debug, Clone)]
pub struct Call {
    /// The operation.
    pub act: Act,
    /// The time of the start.
    pub from: u64,
    /// The time of the end, and the result. `None` if the outcome is unknown: the call took effect at any time after
    /// the start, or never.
    pub returned: Option<(u64, Answer)>,
    /// True if a power cut cannot undo the call after it has returned.
    pub durable: bool,
    /// True for the read after a crash, which takes place after all durable calls.
    pub recovery: bool,
    /// The number of the client.
    pub client: usize,
}

/// A possible state: the set of calls that have taken effect, with one bit for each call in progress, and the documents
/// after these calls.
type Config = (u64, Docs);

struct Checker<'a> {
    calls: &'a [Call],
    /// The calls in progress, by bit.
    open: Vec<Option<usize>>,
    configs: HashSet<Config>,
}

/// Checks a history that starts with known documents.
///
/// # Errors
/// The call whose result is impossible, and the documents that would have been possible.
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

    /// Processes the return of a call: the call must have taken effect by now, possibly after other calls in progress.
    fn end(&mut self, at: usize, place: usize) -> Result<(), String> {
        let bit = 1 << place;
        let mut ended = HashSet::new();
        let mut seen: HashSet<Config> = HashSet::new();
        let mut waiting: Vec<Config> = self
            .configs
            .iter()
            .map(|(done, docs)| (self.with_what_changes_nothing(*done, docs), docs.clone()))
            .collect();
        while let Some((done, docs)) = waiting.pop() {
            if done & bit != 0 {
                ended.insert((done & !bit, docs));
                continue;
            }
            for (other, call) in self.near(at, done) {
                let Some(next) = self.take_effect(call, done, &docs) else { continue };
                let config = (self.with_what_changes_nothing(done | 1 << other, &next), next);
                if !seen.contains(&config) {
                    seen.insert(config.clone());
                    waiting.push(config);
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

    /// The calls that may have to take effect before `at` returns, with their bits: calls that have not taken effect,
    /// change something, and share documents with `at` or with other such calls.
    fn near(&self, at: usize, done: u64) -> Vec<(usize, usize)> {
        let mut documents = self.calls[at].act.documents();
        let waits =
            |(place, call): (usize, &Option<usize>)| Some((place, (*call)?)).filter(|_| done & (1 << place) == 0);
        let mut far: Vec<(usize, usize)> = self.open.iter().enumerate().filter_map(waits).collect();
        let mut near = Vec::new();
        loop {
            let before = near.len();
            let shares = |(_, call): &mut (usize, usize)| self.calls[*call].act.documents() & documents != 0;
            near.extend(far.extract_if(.., shares));
            if near.len() == before {
                break;
            }
            documents = near[before..].iter().fold(documents, |all, (_, call)| all | self.calls[*call].act.documents());
        }
        near.retain(|(_, call)| !self.changes_nothing(*call));
        near
    }

    /// True if a call has changed nothing, no matter when it took effect.
    fn changes_nothing(&self, call: usize) -> bool {
        let call = &self.calls[call];
        match &call.returned {
            Some((_, answer)) => !matches!(call.act, Act::Write(_)) && !call.act.wrote(answer),
            None => false,
        }
    }

    /// Adds to `done` all calls in progress that change nothing and whose result matches the
    /// current documents.
    fn with_what_changes_nothing(&self, mut done: u64, docs: &Docs) -> u64 {
        for (place, call) in self.open.iter().enumerate() {
            let Some(call) = call.filter(|call| done & (1 << place) == 0 && self.changes_nothing(*call)) else {
                continue;
            };
            if self.take_effect(call, done, docs).is_some() {
                done |= 1 << place;
            }
        }
        done
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
