//! The union of several steps: each document that any step finds is returned once.

use super::Step;
use super::admits::would_find;
use super::buffer::Buffer;
use super::covered::read;
use crate::counts::Report;
use crate::item::{Demand, Item};
use crate::run::Run;
use crate::seen::Seen;
use crate::source::Source;
use alluvium_query::plan::Node;

/// Several steps, one after the other, or merged by the order of the query.
pub(super) struct Union<S: Source> {
    branches: Vec<Branch<S>>,
    merged: bool,
    /// The current branch, if the branches are not merged.
    at: usize,
    seen: Seen<S::Account>,
}

struct Branch<S: Source> {
    node: Node,
    step: Step<S>,
    /// The next document with its sort key, if the branches are merged.
    head: Option<(Vec<u8>, Item)>,
    buffer: Buffer<S::Error>,
    started: bool,
}

impl<S: Source> Union<S> {
    pub fn new(run: &Run<S>, inputs: &[Node], merged: bool) -> Result<Self, S::Error> {
        let branch = |node: &Node| {
            let step = Step::new(run, node)?;
            Ok(Branch { node: node.clone(), step, head: None, buffer: Buffer::new(), started: false })
        };
        let branches = inputs.iter().map(branch).collect::<Result<_, S::Error>>()?;
        let seen = Seen::new(run.request.seen_bytes_max, run.source.account());
        Ok(Self { branches, merged, at: 0, seen })
    }

    pub fn next(&mut self, run: &mut Run<S>, demand: Demand, out: &mut Vec<Item>) -> Result<(), S::Error> {
        if self.merged { self.merge(run, demand, out) } else { self.follow(run, demand, out) }
    }

    /// Appends documents of the branches one after the other.
    fn follow(&mut self, run: &mut Run<S>, demand: Demand, out: &mut Vec<Item>) -> Result<(), S::Error> {
        let start = out.len();
        while let Some(branch) = self.branches.get_mut(self.at) {
            let result = branch.step.next(run, demand, out);
            if result.is_ok() && out.len() == start {
                self.at += 1;
                continue;
            }
            self.keep_new(run, start, out)?;
            result?;
            if out.len() > start {
                break;
            }
        }
        Ok(())
    }

    /// Removes the documents at or after `start` that were already returned for another branch.
    fn keep_new(&mut self, run: &mut Run<S>, start: usize, out: &mut Vec<Item>) -> Result<(), S::Error> {
        let mut kept = start;
        let mut result = Ok(());
        for at in start..out.len() {
            match self.is_new(run, self.at, &out[at]) {
                Ok(false) => {}
                Ok(true) => {
                    out.swap(kept, at);
                    kept += 1;
                }
                Err(error) => {
                    result = Err(error);
                    break;
                }
            }
        }
        out.truncate(kept);
        result
    }

    /// Appends the next documents of all branches in their order. Each branch reads ahead only if
    /// all of its documents will be used.
    fn merge(&mut self, run: &mut Run<S>, demand: Demand, out: &mut Vec<Item>) -> Result<(), S::Error> {
        let ahead = if demand.open_ended { demand } else { Demand { most: 1, ..demand } };
        let goal = out.len() + demand.most;
        while out.len() < goal {
            for branch in &mut self.branches {
                if branch.head.is_none() && !branch.started {
                    branch.fill(run, ahead)?;
                }
            }
            let heads =
                self.branches.iter().enumerate().filter_map(|(at, branch)| Some((&branch.head.as_ref()?.0, at)));
            let Some((_, at)) = heads.min() else { break };
            let branch = &mut self.branches[at];
            let head = branch.head.take();
            let filled = branch.fill(run, ahead);
            if let Some((_, item)) = head
                && self.is_new(run, at, &item)?
            {
                out.push(item);
            }
            filled?;
        }
        Ok(())
    }

    /// True if the document was not returned for another branch. If that was not recorded, the
    /// document itself decides: it is returned for the first branch that finds it.
    fn is_new(&mut self, run: &mut Run<S>, branch: usize, item: &Item) -> Result<bool, S::Error> {
        if self.seen.contains(&item.key) {
            return Ok(false);
        }
        if self.seen.add(&item.key) {
            return Ok(true);
        }
        let found;
        let document = match &item.document {
            Some(document) if item.is_whole() => document,
            _ => {
                found = read(run, item.key.clone())?.document;
                let Some(document) = &found else { return Ok(false) };
                document
            }
        };
        for earlier in &self.branches[..branch] {
            if would_find(run, &earlier.node, document)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    pub fn pause(&mut self, source: &S) {
        self.branches.iter_mut().for_each(|branch| branch.step.pause(source));
    }

    /// The bytes of the documents that the branches have read ahead.
    pub fn bytes_ahead(&self) -> usize {
        let ahead = |branch: &Branch<S>| {
            let head = branch.head.as_ref().map_or(0, |(key, item)| key.len() + item.row_len());
            head + branch.buffer.bytes() + branch.step.bytes_ahead()
        };
        self.branches.iter().map(ahead).sum()
    }

    pub fn reports(&self, source: &S) -> Vec<Report> {
        self.branches.iter().map(|branch| branch.step.report(source)).collect()
    }
}

impl<S: Source> Branch<S> {
    fn fill(&mut self, run: &mut Run<S>, demand: Demand) -> Result<(), S::Error> {
        self.started = true;
        self.head = match self.buffer.pop(&mut self.step, run, demand)? {
            Some(item) => {
                let key = item.document.as_ref().map(|document| run.request.sort.key(document)).transpose()?;
                Some((key.unwrap_or_default(), item))
            }
            None => None,
        };
        Ok(())
    }
}

#[cfg(test)]
mod tests;
