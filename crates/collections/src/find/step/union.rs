//! What any of several steps finds, each document once.

use super::admits::would_find;
use super::{Item, Step};
use crate::error::Result;
use crate::find::counts::Report;
use crate::find::planning::Planned;
use crate::find::run::Run;
use crate::find::seen::Seen;
use alluvium_query::plan::Node;

/// Several steps, one after the other, or merged by the order of the query.
pub(crate) struct Union {
    branches: Vec<Branch>,
    planned: Planned,
    merged: bool,
    /// The branch that is walked through, where they are not merged.
    at: usize,
    seen: Seen,
}

struct Branch {
    node: Node,
    step: Step,
    /// Its next document with its sort key, where they are merged.
    head: Option<(Vec<u8>, Item)>,
    started: bool,
}

impl Union {
    pub fn new(run: &Run, planned: &Planned, inputs: &[Node], merged: bool) -> Result<Self> {
        let branch = |node: &Node| {
            let step = Step::new(run, planned, node)?;
            Ok(Branch { node: node.clone(), step, head: None, started: false })
        };
        let branches = inputs.iter().map(branch).collect::<Result<_>>()?;
        Ok(Self { branches, planned: planned.clone(), merged, at: 0, seen: Seen::new(run) })
    }

    pub fn next(&mut self, run: &mut Run) -> Result<Option<Item>> {
        loop {
            let found = if self.merged { self.least(run)? } else { self.following(run)? };
            let Some((branch, item)) = found else { return Ok(None) };
            if self.is_new(run, branch, &item)? {
                return Ok(Some(item));
            }
        }
    }

    /// The next document of the branches one after the other.
    fn following(&mut self, run: &mut Run) -> Result<Option<(usize, Item)>> {
        while let Some(branch) = self.branches.get_mut(self.at) {
            if let Some(item) = branch.step.next(run)? {
                return Ok(Some((self.at, item)));
            }
            self.at += 1;
        }
        Ok(None)
    }

    /// The next document of all branches.
    fn least(&mut self, run: &mut Run) -> Result<Option<(usize, Item)>> {
        for branch in &mut self.branches {
            if branch.head.is_none() && !branch.started {
                branch.fill(run)?;
            }
        }
        let heads = self.branches.iter().enumerate().filter_map(|(at, branch)| Some((&branch.head.as_ref()?.0, at)));
        let Some((_, at)) = heads.min() else { return Ok(None) };
        let branch = &mut self.branches[at];
        let head = branch.head.take();
        branch.fill(run)?;
        Ok(head.map(|(_, item)| (at, item)))
    }

    /// True if the document was not returned for another branch. What is not remembered is told by the document: it
    /// comes from the first branch that finds it.
    fn is_new(&mut self, run: &Run, branch: usize, item: &Item) -> Result<bool> {
        if self.seen.contains(&item.key) {
            return Ok(false);
        }
        if self.seen.add(&item.key) {
            return Ok(true);
        }
        let read;
        let document = match &item.document {
            Some(document) if item.whole => document,
            _ => match run.view.read(&item.key, &mut Vec::new())? {
                Some(found) => {
                    read = found.document;
                    &read
                }
                None => return Ok(false),
            },
        };
        for earlier in &self.branches[..branch] {
            if would_find(run, &self.planned, &earlier.node, document)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    pub fn reports(&self) -> Vec<Report> {
        self.branches.iter().map(|branch| branch.step.report()).collect()
    }
}

impl Branch {
    fn fill(&mut self, run: &mut Run) -> Result<()> {
        self.started = true;
        self.head = match self.step.next(run)? {
            Some(item) => {
                let key = item.document.as_ref().map(|document| run.query.sort.key(document)).transpose()?;
                Some((key.unwrap_or_default(), item))
            }
            None => None,
        };
        Ok(())
    }
}
