//! A plan, carried out step by step.

use super::counts::{Counts, Report, Spent};
use super::planning::Planned;
use super::run::Run;
use crate::error::Result;
use alluvium_document::Document;
use alluvium_query::plan::Node;

mod admits;
mod documents;
mod entries;
mod fetch;
mod sort;
mod union;

use documents::{DocumentScan, Lookup};
use fetch::{Both, Covered, Fetch};
use sort::Sorting;
use union::Union;

/// A document on its way, or what is asked of it.
pub(crate) struct Item {
    /// The key of its `_id`.
    pub key: Vec<u8>,
    /// The document, or the values that an index has of it. `None` if only the number is asked for.
    pub document: Option<Document>,
    /// It is the document itself.
    pub whole: bool,
}

impl Item {
    fn whole(key: &[u8], document: Document) -> Self {
        Self { key: key.to_vec(), document: Some(document), whole: true }
    }
}

/// A step of a plan that is under way.
pub(crate) struct Step {
    work: Work,
    returned: u64,
    spent: Spent,
}

enum Work {
    Nothing,
    Documents(DocumentScan),
    Lookup(Lookup),
    Covered(Box<Covered>),
    Fetch(Box<Fetch>),
    Both(Box<Both>),
    Union(Union),
    Sort(Box<Sorting>),
    Limit { input: Box<Step>, skip: u64, left: u64 },
}

impl Step {
    pub fn new(run: &Run, planned: &Planned, node: &Node) -> Result<Self> {
        let work = match node {
            Node::Nothing => Work::Nothing,
            Node::Scan { ids, backward, filter } => {
                Work::Documents(DocumentScan::new(run, ids, *backward, filter.clone())?)
            }
            Node::Lookup { ids, filter } => Work::Lookup(Lookup::new(ids, filter.clone())),
            Node::Index(scan) => Work::Covered(Box::new(Covered::new(run, planned, scan)?)),
            Node::Fetch { input, filter } => match &**input {
                Node::Index(scan) => Work::Fetch(Box::new(Fetch::new(run, planned, scan, filter.clone())?)),
                Node::Intersection(scans) => Work::Both(Box::new(Both::new(run, planned, scans, filter.clone())?)),
                _ => Work::Nothing,
            },
            Node::Intersection(scans) => {
                Work::Both(Box::new(Both::new(run, planned, scans, alluvium_query::filter::Filter::default())?))
            }
            Node::Union { inputs, merge } => Work::Union(Union::new(run, planned, inputs, !merge.is_empty())?),
            Node::Sort { input, first, .. } => {
                Work::Sort(Box::new(Sorting::new(run, Step::new(run, planned, input)?, *first)))
            }
            Node::Limit { input, skip, limit } => {
                let input = Box::new(Step::new(run, planned, input)?);
                Work::Limit { input, skip: *skip, left: limit.unwrap_or(u64::MAX) }
            }
        };
        Ok(Self { work, returned: 0, spent: Spent::default() })
    }

    /// The next document.
    pub fn next(&mut self, run: &mut Run) -> Result<Option<Item>> {
        let Self { work, spent, .. } = self;
        let item = spent.measured(run, |run| work.next(run))?;
        self.returned += u64::from(item.is_some());
        Ok(item)
    }

    /// What it and the steps below it did so far.
    pub fn report(&self) -> Report {
        let (mut counts, inputs) = self.work.report();
        (counts.returned, counts.spent) = (self.returned, self.spent);
        Report { counts, inputs }
    }
}

impl Work {
    fn next(&mut self, run: &mut Run) -> Result<Option<Item>> {
        match self {
            Self::Nothing => Ok(None),
            Self::Documents(scan) => scan.next(run),
            Self::Lookup(lookup) => lookup.next(run),
            Self::Covered(covered) => covered.next(run),
            Self::Fetch(fetch) => fetch.next(run),
            Self::Both(both) => both.next(run),
            Self::Union(union) => union.next(run),
            Self::Sort(sort) => sort.next(run),
            Self::Limit { input, skip, left } => {
                while *left > 0 && *skip > 0 {
                    *skip -= 1;
                    if input.next(run)?.is_none() {
                        *left = 0;
                    }
                }
                if *left == 0 {
                    return Ok(None);
                }
                *left -= 1;
                input.next(run)
            }
        }
    }

    fn report(&self) -> (Counts, Vec<Report>) {
        let own = |counts: Counts| (counts, Vec::new());
        match self {
            Self::Nothing => own(Counts::default()),
            Self::Documents(scan) => own(Counts { documents: scan.documents, ..Counts::default() }),
            Self::Lookup(lookup) => own(Counts { documents: lookup.documents, ..Counts::default() }),
            Self::Covered(covered) => own(covered.counts()),
            Self::Fetch(fetch) => fetch.report(),
            Self::Both(both) => both.report(),
            Self::Union(union) => (Counts::default(), union.reports()),
            Self::Sort(sort) => (Counts::default(), vec![sort.input().report()]),
            Self::Limit { input, .. } => (Counts::default(), vec![input.report()]),
        }
    }
}
