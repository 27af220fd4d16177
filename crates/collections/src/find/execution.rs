//! A query that is being answered.

use super::explain::Explanation;
use super::planning::{self, Planned};
use super::query::Query;
use super::run::Run;
use super::step::Step;
use crate::error::Result;
use crate::names::FullName;
use crate::view::CollectionView;
use alluvium_document::Document;
use std::sync::Arc;

/// A query that is being answered.
pub struct Execution {
    run: Run,
    planned: Planned,
    root: Step,
    /// What the plan turned out to cost was told.
    told: bool,
}

impl Drop for Execution {
    // One that is given up, or ended for its time, is the very one whose plan may be wrong.
    fn drop(&mut self) {
        self.end();
    }
}

impl Execution {
    /// Plans a query, at a view. `timed`: the steps are to be timed.
    pub fn new(view: Arc<CollectionView>, mut query: Query, timed: bool) -> Result<Self> {
        let env = &view.engine.env;
        let started = env.clock.now();
        query.limits.begin(env);
        if !view.state.exists() {
            // As in MongoDB: nothing is planned for a collection that does not exist, so a hint of any index is right.
            query.hint = None;
        }
        let planned = planning::plan(&view, &query, timed)?;
        let query = Arc::new(query);
        let run = Run { view, query, started, ticks: 0, timed };
        let root = Step::new(&run, &planned, &planned.plan.root)?;
        Ok(Self { run, planned, root, told: false })
    }

    /// The collection.
    pub fn collection(&self) -> &FullName {
        &self.run.view.name
    }

    /// The next document, as it is asked for.
    pub fn next_document(&mut self) -> Result<Option<Document>> {
        let Some(document) = self.next_raw()? else { return Ok(None) };
        project(&self.run.query, document).map(Some)
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
        Ok(Explanation::new(&self.run.view, &self.run.query, &self.planned, self.root.report(), time))
    }

    /// What the plan turned out to cost is told to the plans of the collection.
    fn end(&mut self) {
        if std::mem::replace(&mut self.told, true) {
            return;
        }
        planning::learn(&self.run.view, &self.planned, &self.root.report());
    }
}

/// A document as the query asks for it.
pub fn project(query: &Query, document: Document) -> Result<Document> {
    match &query.projection {
        None => Ok(document),
        Some(projection) => Ok(Document::from_map(&projection.apply(&document, &query.filter)?)?),
    }
}
