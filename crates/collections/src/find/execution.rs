//! The execution of a query.

use super::explain::Explanation;
use super::mismatches;
use super::planning::{self, Planned};
use super::projector::Projector;
use super::query::Query;
use crate::error::Result;
use crate::names::FullName;
use crate::read_only::ReadOnlyDocuments;
use crate::read_only_source::{self, ReadOnlySource};
use crate::source::{LocalDocuments, LocalSource};
use crate::view::CollectionView;
use alluvium_codec::DecodeError;
use alluvium_document::Document;
use alluvium_document::row::RowError;
use alluvium_env::Env;
use alluvium_exec::{Fields, Item, Report, Source};
use alluvium_query::collation::Collation;
use alluvium_query::pipeline::RecordRef;
use alluvium_store::{Options, QueryMemory};
use std::sync::Arc;
use std::time::Duration;

/// The maximum number of bytes of documents that a sort or a stage of a pipeline holds in memory: MongoDB's limit. If
/// it may use files, the limit is lower under a small memory budget.
pub(crate) fn stage_bytes_max(options: &Options, allow_disk_use: bool) -> usize {
    let in_memory = if allow_disk_use { options.memory_bytes / 8 } else { usize::MAX };
    options.tuning.gather_bytes.unwrap_or(in_memory.min(100 << 20))
}

/// The maximum number of bytes of documents that a sort holds in memory: as for a stage. But a sort that may use files
/// gets its share of the memory budget even above MongoDB's limit, because its documents are packed.
fn sort_bytes_max(options: &Options, allow_disk_use: bool) -> usize {
    match options.tuning.gather_bytes {
        None if allow_disk_use => options.memory_bytes / 8,
        _ => stage_bytes_max(options, allow_disk_use),
    }
}

/// The maximum number of bytes of memory for data that a stage of a pipeline cannot move to files: one document, or the
/// result that is made from the documents in files. At least 1 MiB.
pub(crate) fn memory_bytes_max(options: &Options) -> usize {
    stage_bytes_max(options, false).max(1 << 20)
}

/// The execution of a query.
pub struct Execution {
    operators: Operators,
    /// The query, without the part that was moved into the operators.
    query: Query,
    planned: Planned,
    started: Duration,
    projector: Projector,
    /// True if the cost of the plan was reported to the plan cache.
    ended: bool,
}

/// The operators, for each kind of source.
enum Operators {
    Local(alluvium_exec::Execution<LocalSource>),
    ReadOnly(alluvium_exec::Execution<ReadOnlySource>),
}

/// Evaluates an expression on the operators, for any source.
macro_rules! on {
    ($operators:expr, $execution:ident => $result:expr) => {
        match $operators {
            Operators::Local($execution) => $result,
            Operators::ReadOnly($execution) => $result,
        }
    };
}

impl Drop for Execution {
    // A query that is dropped early, or takes too long, may have a wrong plan, so its cost is reported, too.
    fn drop(&mut self) {
        self.end();
    }
}

impl Execution {
    /// Plans a query at a view. If `timed`, the time of each step is measured.
    pub fn new(view: Arc<CollectionView>, query: Query, timed: bool) -> Result<Self> {
        let memory = view.store().query_memory();
        Self::within(view, query, timed, memory)
    }

    /// As [`Execution::new`], for a query within another query; `memory` is the account of the outer query.
    pub(crate) fn within(
        view: Arc<CollectionView>,
        mut query: Query,
        timed: bool,
        memory: QueryMemory,
    ) -> Result<Self> {
        let env = &view.engine.env;
        let started = env.clock.now();
        query.request.limits.begin(env);
        if !view.state.exists() {
            // As in MongoDB, no plan is made for a collection that does not exist, so a hint of any index is accepted.
            query.hint = None;
        }
        let planned = planning::plan(&view, &query, timed)?;
        let mut request = std::mem::take(&mut query.request);
        let options = view.store().options();
        request.seen_bytes_max =
            request.seen_bytes_max.min(options.tuning.gather_bytes.unwrap_or(options.memory_bytes / 16));
        request.sort_bytes_max = sort_bytes_max(options, request.allow_disk_use);
        let source = LocalSource { view, indexes: planned.indexes.clone(), natural: planned.natural, memory };
        let operators = Operators::Local(alluvium_exec::Execution::new(source, &planned.plan.root, request, timed)?);
        let projector = Projector::new(&query);
        Ok(Self { operators, query, planned, started, projector, ended: false })
    }

    /// Plans a query over a read-only store: a scan, or look-ups where the filter names `_id`s. If
    /// `timed`, the time of each step is measured.
    pub fn read_only(store: &ReadOnlyDocuments, query: Query, timed: bool) -> Result<Self> {
        Self::read_only_within(store, query, timed, store.pairs().query_memory())
    }

    /// As [`Execution::read_only`], for a query within another query; `memory` is the account of the outer query.
    pub(crate) fn read_only_within(
        store: &ReadOnlyDocuments,
        mut query: Query,
        timed: bool,
        memory: QueryMemory,
    ) -> Result<Self> {
        let env = store.pairs().env();
        let started = env.clock.now();
        query.request.limits.begin(env);
        let planned = planning::plan_read_only(store, &query)?;
        let mut request = std::mem::take(&mut query.request);
        request.seen_bytes_max = request.seen_bytes_max.min(store.memory_bytes() / 16);
        request.sort_bytes_max = read_only_source::stage_bytes_max(store);
        let source = ReadOnlySource(store.clone(), memory);
        let operators = Operators::ReadOnly(alluvium_exec::Execution::new(source, &planned.plan.root, request, timed)?);
        let projector = Projector::new(&query);
        Ok(Self { operators, query, planned, started, projector, ended: false })
    }

    /// The collation of the query; `None` if strings are compared by their bytes.
    pub fn collation(&self) -> Option<&Collation> {
        self.query.collation()
    }

    /// The collection.
    pub fn collection(&self) -> &FullName {
        match &self.operators {
            Operators::Local(execution) => &execution.source().view.name,
            Operators::ReadOnly(execution) => execution.source().0.name(),
        }
    }

    fn env(&self) -> &Env {
        on!(&self.operators, execution => execution.source().env())
    }

    fn report(&self) -> Report {
        on!(&self.operators, execution => execution.report())
    }

    /// The bytes of the documents that were read ahead.
    pub fn bytes_ahead(&self) -> usize {
        on!(&self.operators, execution => execution.bytes_ahead())
    }

    /// Releases the blocks of the store that the scans hold. Called before a pause between reads.
    pub fn pause(&mut self) {
        on!(&mut self.operators, execution => execution.pause());
    }

    /// The next document, projected as the query requests.
    pub fn next_document(&mut self) -> Result<Option<Document>> {
        let Some(item) = self.next_item()? else { return Ok(None) };
        let document = item.document.unwrap_or_default();
        match item.fields {
            Fields::Needed if self.projector.picks() => Ok(Some(document)),
            _ => self.projector.project(&self.query, document).map(Some),
        }
    }

    /// The next document before projection: complete, or with only the fields that are needed.
    pub fn next_raw(&mut self) -> Result<Option<Document>> {
        Ok(self.next_item()?.map(|item| item.document.unwrap_or_default()))
    }

    /// Divides the documents into several scans of one source, for several threads. `None` if that is not possible.
    pub(crate) fn split(&mut self) -> Result<Option<(LocalSource, Vec<LocalDocuments>)>> {
        let Operators::Local(execution) = &mut self.operators else { return Ok(None) };
        let parts = execution.split()?;
        Ok((!parts.is_empty()).then(|| (execution.source().clone(), parts)))
    }

    /// Passes the remaining documents to `visit`, before projection.
    pub fn visit(&mut self, visit: &mut dyn FnMut(RecordRef<'_>) -> Result<()>) -> Result<()> {
        on!(&mut self.operators, execution => execution.visit(visit))?;
        self.end();
        Ok(())
    }

    /// As [`Execution::visit`]; equal documents that follow each other may be passed once, with their number.
    pub fn visit_equals(&mut self, visit: &mut dyn FnMut(RecordRef<'_>, u64) -> Result<()>) -> Result<()> {
        on!(&mut self.operators, execution => execution.visit_equals(visit))?;
        self.end();
        Ok(())
    }

    /// The key of the next document's `_id`.
    pub fn next_key(&mut self) -> Result<Option<Vec<u8>>> {
        let Some(item) = self.next_item()? else { return Ok(None) };
        let key = on!(&self.operators, execution => execution.key_of(&item));
        let key = key.ok_or_else(|| RowError::from(DecodeError::Invalid("a document without an _id")))?;
        Ok(Some(key.to_vec()))
    }

    fn next_item(&mut self) -> Result<Option<Item>> {
        let item = on!(&mut self.operators, execution => execution.next_item())?;
        match item {
            None => self.end_of_results(),
            Some(_) => self.query.dates = None,
        }
        Ok(item)
    }

    /// The number of documents.
    pub fn count(&mut self) -> Result<u64> {
        let count = on!(&mut self.operators, execution => execution.count())?;
        if count > 0 {
            self.query.dates = None;
        }
        self.end_of_results();
        Ok(count)
    }

    /// Ends the query. If the query has found nothing, a likely reason may be logged.
    fn end_of_results(&mut self) {
        self.end();
        if let (Some(dates), Operators::Local(execution)) = (self.query.dates.take(), &self.operators) {
            mismatches::log(&execution.source().view, dates);
        }
    }

    /// Executes the query to the end, and reports its cost.
    pub fn explain(&mut self) -> Result<Explanation> {
        self.count()?;
        Ok(self.explained())
    }

    /// The plan, and its cost so far.
    pub fn explained(&self) -> Explanation {
        let time = self.env().clock.now().saturating_sub(self.started);
        Explanation::new(self.collection(), &self.query, &self.planned, self.report(), time)
    }

    /// The numbers of keys and of documents examined so far.
    pub(crate) fn examined(&self) -> (u64, u64) {
        let sum = super::explain::sum(&self.report());
        (sum.keys, sum.documents)
    }

    /// True if the plan is a scan of all documents.
    pub fn scans_documents(&self) -> bool {
        matches!(self.planned.plan.access, alluvium_query::plan::AccessPath::Scan { .. })
    }

    /// Reports the cost of the plan to the collection's plan cache.
    fn end(&mut self) {
        if std::mem::replace(&mut self.ended, true) {
            return;
        }
        if let Operators::Local(execution) = &self.operators {
            planning::learn(&execution.source().view, &self.planned, &execution.report());
        }
    }
}
