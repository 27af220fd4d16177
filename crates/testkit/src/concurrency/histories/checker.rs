//! Whether a history can have happened one call after the other.
//!
//! The order of calls and returns is walked once, with every set of calls that may have taken effect so far and what
//! the documents are after them (just-in-time linearization: Lowe, "Testing for linearizability", 2017). All documents
//! are one object here, so that what several of them show at one moment is checked as well as each of them.
//!
//! A call that is known to change nothing takes effect as soon as the documents are as it has answered: whatever could
//! come later without it having taken effect can come with it, too, so that there is no need to follow both. And
//! before a call that returns only those others take effect that share documents with it, or with others that do: the
//! rest may as well come after it.

#[cfg(test)]
mod tests;

use super::spec::{Act, Answer, Docs, apply};
use hashbrown::HashSet;
use std::collections::HashMap;

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

    /// The calls that may have to take effect before one that returns: those not done that share documents with it,
    /// or with others of these; those that change something, by place.
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

    /// Whether a call has changed nothing, whenever it took effect.
    fn changes_nothing(&self, call: usize) -> bool {
        let call = &self.calls[call];
        match &call.returned {
            Some((_, answer)) => !matches!(call.act, Act::Write(_)) && !call.act.wrote(answer),
            None => false,
        }
    }

    /// What is done once all calls under way that change nothing, and have answered what is there now, are.
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
