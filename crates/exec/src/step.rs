//! A plan, executed step by step.

use crate::counts::{Counts, Report, Spent};
use crate::item::{Demand, Item};
use crate::run::{EqualsVisitor, Run};
use crate::source::Source;
use alluvium_query::filter::Filter;
use alluvium_query::pipeline::RecordRef;
use alluvium_query::plan::Node;

mod admits;
pub(crate) mod buffer;
mod covered;
mod documents;
mod fetch;
mod intersection;
mod limit;
pub mod points;
mod reader;
mod sort;
mod union;

use covered::Covered;
use documents::{DocumentScan, Lookup};
use fetch::Fetch;
use intersection::Intersection;
use limit::Limit;
use sort::Sorting;
use union::Union;

/// A step of a plan under way.
pub(crate) struct Step<S: Source> {
    work: Work<S>,
    returned: u64,
    spent: Spent,
}

enum Work<S: Source> {
    Nothing,
    Documents(DocumentScan<S>),
    Lookup(Lookup),
    Covered(Box<Covered<S>>),
    Fetch(Box<Fetch<S>>),
    Intersection(Box<Intersection<S>>),
    Union(Union<S>),
    Sort(Box<Sorting<S>>),
    Limit(Box<Limit<S>>),
}

impl<S: Source> Step<S> {
    pub fn new(run: &Run<S>, node: &Node) -> Result<Self, S::Error> {
        let work = match node {
            Node::Nothing => Work::Nothing,
            Node::Scan { ids, backward, filter } => {
                Work::Documents(DocumentScan::new(run, ids, *backward, filter.clone())?)
            }
            Node::Lookup { ids, filter } => Work::Lookup(Lookup::new(ids, filter.clone())),
            Node::Index(scan) => Work::Covered(Box::new(Covered::new(run, scan)?)),
            Node::Fetch { input, filter } => match &**input {
                Node::Index(scan) => Work::Fetch(Box::new(Fetch::new(run, scan, filter.clone())?)),
                Node::Intersection(scans) => {
                    Work::Intersection(Box::new(Intersection::new(run, scans, filter.clone())?))
                }
                _ => Work::Nothing,
            },
            Node::Intersection(scans) => {
                Work::Intersection(Box::new(Intersection::new(run, scans, Filter::default())?))
            }
            Node::Union { inputs, merge } => Work::Union(Union::new(run, inputs, !merge.is_empty())?),
            Node::Sort { input, first, .. } => Work::Sort(Box::new(Sorting::new(run, Step::new(run, input)?, *first))),
            Node::Limit { input, skip, limit } => {
                Work::Limit(Box::new(Limit::new(Step::new(run, input)?, *skip, *limit)))
            }
        };
        Ok(Self { work, returned: 0, spent: Spent::default() })
    }

    /// Appends the next documents: at most the number of the demand, and at least one unless there are no more.
    /// Documents that were appended before an error are valid. After an error the step is not called again.
    pub fn next(&mut self, run: &mut Run<S>, demand: Demand, out: &mut Vec<Item>) -> Result<(), S::Error> {
        let before = out.len();
        let Self { work, spent, .. } = self;
        let result = run.measured(spent, |run| work.next(run, demand, out));
        self.returned += (out.len() - before) as u64;
        result
    }

    /// Passes the remaining documents to `visit` if the step is a scan, which need not copy them for that. Returns
    /// false if it is another step.
    pub fn visit(
        &mut self,
        run: &mut Run<S>,
        visit: &mut dyn FnMut(RecordRef<'_>) -> Result<(), S::Error>,
    ) -> Result<bool, S::Error> {
        let Self { work: Work::Documents(scan), spent, returned } = self else { return Ok(false) };
        *returned += run.measured(spent, |run| scan.visit(run, visit))?;
        Ok(true)
    }

    /// As [`Step::visit`], and passes equal documents that follow each other once, with their number, if the step is a
    /// scan of an index.
    pub fn visit_equals(
        &mut self,
        run: &mut Run<S>,
        visit: &mut EqualsVisitor<'_, S::Error>,
    ) -> Result<bool, S::Error> {
        let Self { work, spent, returned } = self;
        match work {
            Work::Covered(covered) if covered.has_equals() => {
                run.measured(spent, |run| covered.visit_equals(run, returned, visit))?;
                Ok(true)
            }
            _ => self.visit(run, &mut |record| visit(record, 1)),
        }
    }

    /// Divides a scan of documents; returns an empty list if the step is another one.
    pub fn split(&self, run: &Run<S>) -> Result<Vec<S::Documents>, S::Error> {
        match &self.work {
            Work::Documents(scan) => scan.split(run),
            _ => Ok(Vec::new()),
        }
    }

    /// Releases the memory that the scans hold of documents and entries that they have read. Called before a time in
    /// which the step is not called.
    pub fn pause(&mut self, source: &S) {
        match &mut self.work {
            Work::Nothing | Work::Lookup(_) => {}
            Work::Documents(scan) => scan.pause(source),
            Work::Covered(covered) => covered.pause(source),
            Work::Fetch(fetch) => fetch.pause(source),
            Work::Intersection(both) => both.pause(source),
            Work::Union(union) => union.pause(source),
            Work::Sort(sort) => sort.input_mut().pause(source),
            Work::Limit(limit) => limit.input_mut().pause(source),
        }
    }

    /// The bytes of the documents that the steps have read ahead and that no account counts.
    pub fn bytes_ahead(&self) -> usize {
        match &self.work {
            Work::Union(union) => union.bytes_ahead(),
            Work::Sort(sort) => sort.input().bytes_ahead(),
            Work::Limit(limit) => limit.input().bytes_ahead(),
            _ => 0,
        }
    }

    /// The counts of the step and of the steps below it so far.
    pub fn report(&self, source: &S) -> Report {
        let (mut counts, inputs) = self.work.report(source);
        (counts.returned, counts.spent) = (self.returned, self.spent);
        Report { counts, inputs }
    }
}

impl<S: Source> Work<S> {
    fn next(&mut self, run: &mut Run<S>, demand: Demand, out: &mut Vec<Item>) -> Result<(), S::Error> {
        match self {
            Self::Nothing => Ok(()),
            Self::Documents(scan) => scan.next(run, demand, out),
            Self::Lookup(lookup) => lookup.next(run, demand, out),
            Self::Covered(covered) => covered.next(run, demand, out),
            Self::Fetch(fetch) => fetch.next(run, demand, out),
            Self::Intersection(both) => both.next(run, demand, out),
            Self::Union(union) => union.next(run, demand, out),
            Self::Sort(sort) => sort.next(run, demand, out),
            Self::Limit(limit) => limit.next(run, demand, out),
        }
    }

    fn report(&self, source: &S) -> (Counts, Vec<Report>) {
        let own = |counts: Counts| (counts, Vec::new());
        match self {
            Self::Nothing => own(Counts::default()),
            Self::Documents(scan) => own(Counts { documents: scan.examined(source), ..Counts::default() }),
            Self::Lookup(lookup) => own(Counts { documents: lookup.documents, ..Counts::default() }),
            Self::Covered(covered) => own(covered.counts(source)),
            Self::Fetch(fetch) => fetch.report(source),
            Self::Intersection(both) => both.report(source),
            Self::Union(union) => (Counts::default(), union.reports(source)),
            Self::Sort(sort) => (Counts::default(), vec![sort.input().report(source)]),
            Self::Limit(limit) => (Counts::default(), vec![limit.input().report(source)]),
        }
    }
}
