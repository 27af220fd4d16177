//! A plan, carried out step by step.

use super::planning::{self, Planned};
use super::{Explanation, Moment, Question};
use crate::Result;
use alluvium_document::Document;
use alluvium_query::plan::Node;
use alluvium_store::BlockCounts;
use std::sync::Arc;
use std::time::Duration;

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

/// The clock is looked at once for so many documents and entries.
const TICKS: u32 = 64;

/// What the steps share.
pub(crate) struct Run {
    pub moment: Arc<Moment>,
    pub question: Arc<Question>,
    /// When it began.
    started: Duration,
    ticks: u32,
    /// Steps are timed.
    timed: bool,
}

impl Run {
    fn now(&self) -> Duration {
        self.moment.database.inner.env.clock.now()
    }

    /// Called for each document and entry that is looked at: ends what takes too long, or was stopped.
    pub fn tick(&mut self) -> Result<()> {
        self.ticks += 1;
        if self.ticks < TICKS {
            return self.question.limits.check_stop();
        }
        self.check_limits()
    }

    pub fn check_limits(&mut self) -> Result<()> {
        self.ticks = 0;
        self.question.limits.check(&self.moment.database.inner.env)
    }
}

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

/// What a step did.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Counts {
    pub returned: u64,
    pub keys: u64,
    pub documents: u64,
    /// Entries that their number alone did not prove.
    pub validated: u64,
    /// Entries that their documents do not yield.
    pub stale: u64,
    /// Ranges of entries that were begun, each by a seek.
    pub seeks: u64,
    /// That of the steps below it included.
    pub spent: Spent,
}

/// Time and blocks, only of questions that are explained.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Spent {
    pub time: Duration,
    pub blocks: BlockCounts,
}

impl Spent {
    fn and(self, other: Self) -> Self {
        let mut sum = self;
        sum.time += other.time;
        sum.blocks += other.blocks;
        sum
    }

    /// Adds what `work` takes.
    fn measured<T>(&mut self, run: &mut Run, work: impl FnOnce(&mut Run) -> T) -> T {
        if !run.timed {
            return work(run);
        }
        let (started, blocks) = (run.now(), BlockCounts::of_thread());
        let done = work(run);
        self.time += run.now().saturating_sub(started);
        self.blocks += BlockCounts::of_thread() - blocks;
        done
    }
}

/// What a step and those below it did.
#[derive(Debug, Clone, Default)]
pub(crate) struct Report {
    pub counts: Counts,
    pub inputs: Vec<Report>,
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

/// A question that is being answered.
pub(crate) struct Answer {
    run: Run,
    planned: Planned,
    root: Step,
    /// What the plan turned out to cost was told.
    told: bool,
}

impl Drop for Answer {
    // One that is given up, or ended for its time, is the very one whose plan may be wrong.
    fn drop(&mut self) {
        self.end();
    }
}

impl Answer {
    /// Plans a question, at a moment. `timed`: the steps are to be timed.
    pub fn new(moment: Arc<Moment>, mut question: Question, timed: bool) -> Result<Self> {
        let env = &moment.database.inner.env;
        let started = env.clock.now();
        question.limits.begin(env);
        let planned = planning::plan(&moment, &question, timed)?;
        let question = Arc::new(question);
        let run = Run { moment, question, started, ticks: 0, timed };
        let root = Step::new(&run, &planned, &planned.plan.root)?;
        Ok(Self { run, planned, root, told: false })
    }

    pub fn moment(&self) -> &Arc<Moment> {
        &self.run.moment
    }

    /// The next document, as it is asked for.
    pub fn next(&mut self) -> Result<Option<Document>> {
        let Some(document) = self.next_raw()? else { return Ok(None) };
        project(&self.run.question, document).map(Some)
    }

    /// The next document before projection: whole, or as much of it as is needed.
    pub fn next_raw(&mut self) -> Result<Option<Document>> {
        // Also where nothing is looked at for long.
        self.run.check_limits()?;
        let item = self.root.next(&mut self.run)?;
        if item.is_none() {
            self.end();
        }
        Ok(item.map(|item| item.document.unwrap_or_default()))
    }

    /// The key of the next document's `_id`.
    pub fn next_key(&mut self) -> Result<Option<Vec<u8>>> {
        self.run.check_limits()?;
        let item = self.root.next(&mut self.run)?;
        if item.is_none() {
            self.end();
        }
        Ok(item.map(|item| item.key))
    }

    /// How many documents there are.
    pub fn count(&mut self) -> Result<u64> {
        self.run.check_limits()?;
        let mut count = 0;
        while self.root.next(&mut self.run)?.is_some() {
            // Documents in order are counted after all of them were looked at.
            self.run.tick()?;
            count += 1;
        }
        self.end();
        Ok(count)
    }

    /// Goes through to the end, and tells what that took.
    pub fn explain(&mut self) -> Result<Explanation> {
        self.count()?;
        let time = self.run.now().saturating_sub(self.run.started);
        Ok(Explanation::new(&self.run.moment, &self.run.question, &self.planned, self.root.report(), time))
    }

    /// What the plan turned out to cost is told to the plans of the collection.
    fn end(&mut self) {
        if std::mem::replace(&mut self.told, true) {
            return;
        }
        planning::learn(&self.run.moment, &self.planned, &self.root.report());
    }
}

/// A document as the question asks for it.
pub(crate) fn project(question: &Question, document: Document) -> Result<Document> {
    match &question.projection {
        None => Ok(document),
        Some(projection) => Ok(Document::from_map(&projection.apply(&document, &question.filter)?)?),
    }
}
