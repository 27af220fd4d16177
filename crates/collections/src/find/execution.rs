//! The execution of a query.

use super::explain::Explanation;
use super::planning::{self, Planned};
use super::query::Query;
use crate::error::Result;
use crate::names::FullName;
use crate::source::{LocalDocuments, LocalSource};
use crate::view::CollectionView;
use alluvium_document::Document;
use alluvium_exec::Item;
use alluvium_query::collation::Collation;
use alluvium_query::pipeline::RecordRef;
use alluvium_store::Options;
use std::sync::Arc;
use std::time::Duration;

/// The most bytes of documents that a sort, or a stage of a pipeline, holds in memory: MongoDB's limit. One that may
/// use files takes less under a small budget.
pub(crate) fn stage_bytes_max(options: &Options, allow_disk_use: bool) -> usize {
    let in_memory = if allow_disk_use { options.memory_bytes / 8 } else { usize::MAX };
    options.tuning.gather_bytes.unwrap_or(in_memory.min(100 << 20))
}

/// The execution of a query.
pub struct Execution {
    operators: alluvium_exec::Execution<LocalSource>,
    /// The query, without the part that the operators took.
    query: Query,
    planned: Planned,
    started: Duration,
    /// True once the plan cache has the cost of the plan.
    ended: bool,
}

impl Drop for Execution {
    // A query that is abandoned, or takes too long, may have a wrong plan.
    fn drop(&mut self) {
        self.end();
    }
}

impl Execution {
    /// Plans a query at a view. If `timed`, the time of each step is measured.
    pub fn new(view: Arc<CollectionView>, mut query: Query, timed: bool) -> Result<Self> {
        let env = &view.engine.env;
        let started = env.clock.now();
        query.request.limits.begin(env);
        if !view.state.exists() {
            // As in MongoDB: nothing is planned for a collection that does not exist, so a hint of
            // any index is right.
            query.hint = None;
        }
        let planned = planning::plan(&view, &query, timed)?;
        let mut request = std::mem::take(&mut query.request);
        let options = view.store().options();
        request.seen_bytes_max =
            request.seen_bytes_max.min(options.tuning.gather_bytes.unwrap_or(options.memory_bytes / 16));
        request.sort_bytes_max = stage_bytes_max(options, request.allow_disk_use);
        let source = LocalSource { view, indexes: planned.indexes.clone() };
        let operators = alluvium_exec::Execution::new(source, &planned.plan.root, request, timed)?;
        Ok(Self { operators, query, planned, started, ended: false })
    }

    /// The order of strings; `None` for that of their bytes.
    pub fn collation(&self) -> Option<&Collation> {
        self.query.collation()
    }

    /// The collection.
    pub fn collection(&self) -> &FullName {
        &self.view().name
    }

    fn view(&self) -> &Arc<CollectionView> {
        &self.operators.source().view
    }

    /// The next document, projected as the query requests.
    pub fn next_document(&mut self) -> Result<Option<Document>> {
        let Some(document) = self.next_raw()? else { return Ok(None) };
        project(&self.query, document).map(Some)
    }

    /// The next document before projection: complete, or with only the fields that are needed.
    pub fn next_raw(&mut self) -> Result<Option<Document>> {
        Ok(self.next_item()?.map(|item| item.document.unwrap_or_default()))
    }

    /// Divides the documents into scans for several threads; empty if that is not possible.
    pub(crate) fn split(&mut self) -> Result<Vec<LocalDocuments>> {
        self.operators.split()
    }

    /// What the query reads.
    pub(crate) fn source(&self) -> &LocalSource {
        self.operators.source()
    }

    /// Passes the remaining documents to `visit`, before projection.
    pub fn visit(&mut self, visit: &mut dyn FnMut(RecordRef<'_>) -> Result<()>) -> Result<()> {
        self.operators.visit(visit)?;
        self.end();
        Ok(())
    }

    /// The key of the next document's `_id`.
    pub fn next_key(&mut self) -> Result<Option<Vec<u8>>> {
        Ok(self.next_item()?.map(|item| item.key.to_vec()))
    }

    fn next_item(&mut self) -> Result<Option<Item>> {
        let item = self.operators.next_item()?;
        if item.is_none() {
            self.end();
        }
        Ok(item)
    }

    /// The number of documents.
    pub fn count(&mut self) -> Result<u64> {
        let count = self.operators.count()?;
        self.end();
        Ok(count)
    }

    /// Executes the query to the end, and reports its cost.
    pub fn explain(&mut self) -> Result<Explanation> {
        self.count()?;
        Ok(self.explained())
    }

    /// The plan, and its cost so far.
    pub fn explained(&self) -> Explanation {
        let time = self.view().engine.env.clock.now().saturating_sub(self.started);
        Explanation::new(self.view(), &self.query, &self.planned, self.operators.report(), time)
    }

    /// Reports the cost of the plan to the collection's plan cache.
    fn end(&mut self) {
        if std::mem::replace(&mut self.ended, true) {
            return;
        }
        planning::learn(self.view(), &self.planned, &self.operators.report());
    }
}

/// Applies the projection of the query to a document.
pub fn project(query: &Query, document: Document) -> Result<Document> {
    match &query.projection {
        None => Ok(document),
        Some(projection) => Ok(Document::from_map(&projection.apply(&document, &query.filter)?)?),
    }
}
