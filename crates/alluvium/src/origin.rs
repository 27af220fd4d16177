//! The source that a query, a pipeline or a scan reads: a collection, a read-only store, or the operation log.

use crate::target::Target;
use alluvium_collections::cursor::{Cursor, ScanRange};
use alluvium_collections::engine::EngineHandle;
use alluvium_collections::error::Result;
use alluvium_collections::find::{Execution, FindRequest, Query, find_by_id, find_only_id, limited, moment};
use alluvium_collections::names::FullName;
use alluvium_collections::oplog::Oplog;
use alluvium_collections::pipeline::{PipelineRequest, PipelineRun};
use alluvium_collections::read_only::ReadOnlyDocuments;
use alluvium_collections::snapshot::Snapshot;
use alluvium_collections::view::CollectionView;
use alluvium_query::expression::{Memory, Variables};
use alluvium_query::plan::PlanError;

/// A collection, in its latest state or at a snapshot, a read-only store, or the operation log.
#[derive(Clone)]
pub(crate) enum Origin {
    Collection(Target, Option<Snapshot>),
    ReadOnly(ReadOnlyDocuments),
    Oplog(Oplog),
}

/// The error for a request that the operation log does not support.
fn not_of_oplog<T>() -> Result<T> {
    let what = "the operation log has no indexes and no plans: it supports run, first, count, distinct and pipelines";
    Err(PlanError::BadHint(what.to_owned()).into())
}

impl Origin {
    /// Sets the snapshot at which the collection is read. Has no effect on a read-only store, which never changes, and on
    /// the operation log.
    pub fn set_snapshot(&mut self, snapshot: &Snapshot) {
        if let Self::Collection(_, at) = self {
            *at = Some(snapshot.clone());
        }
    }

    /// The memory account for the values that a query creates.
    pub fn memory(&self) -> &Memory {
        match self {
            Self::Collection(target, _) => target.engine.memory(),
            Self::ReadOnly(store) => store.memory(),
            Self::Oplog(oplog) => oplog.engine().memory(),
        }
    }

    /// The variables and the collation that all expressions of a query share. The collation is that of the collection,
    /// and `$$NOW` is the current time. The limits of the request also end the evaluation of expressions.
    pub fn moment(&self, request: &FindRequest) -> Result<Variables> {
        match self {
            Self::Collection(target, _) => target.moment(request),
            Self::ReadOnly(store) => {
                let env = store.pairs().env();
                Ok(limited(moment(env, store.memory()), &request.limits, env))
            }
            Self::Oplog(_) => not_of_oplog(),
        }
    }

    pub fn scan(&self, range: ScanRange) -> Result<Cursor> {
        match self {
            Self::Collection(target, at) => {
                let at = target.snapshot(at.as_ref())?;
                Cursor::scan(&target.engine, target.name()?, at.as_ref(), range)
            }
            Self::ReadOnly(store) => Cursor::scan_read_only(store, range),
            Self::Oplog(_) => not_of_oplog(),
        }
    }

    /// The operation log, if the origin is that.
    pub fn oplog(&self) -> Option<&Oplog> {
        match self {
            Self::Oplog(oplog) => Some(oplog),
            Self::Collection(..) | Self::ReadOnly(_) => None,
        }
    }

    /// The database, the name and the snapshot of a view; `None` for a collection and a read-only store.
    pub fn view(&self) -> Result<Option<(&EngineHandle, &FullName, Option<Snapshot>)>> {
        let Self::Collection(target, at) = self else { return Ok(None) };
        let name = target.name()?;
        if target.engine.catalog.view(name).is_none() {
            return Ok(None);
        }
        Ok(Some((&target.engine, name, target.snapshot(at.as_ref())?)))
    }

    /// The cursor of a request whose filter is a single `_id` and that has no other options; `None` for any other
    /// request.
    pub fn find_only_id(&self, request: &FindRequest) -> Result<Option<Cursor>> {
        let Self::Collection(target, at) = self else { return Ok(None) };
        let name = target.name()?;
        if target.engine.catalog.view(name).is_some() {
            return Ok(None);
        }
        let found = find_only_id(&target.engine, name, target.snapshot(at.as_ref())?.as_ref(), request)?;
        Ok(found.map(|document| Cursor::document(document, name)))
    }

    /// The cursor of a query that selects a single `_id`; `None` if the query has to be planned.
    pub fn find_by_id(&self, query: &mut Query) -> Result<Option<Cursor>> {
        let Self::Collection(target, at) = self else { return Ok(None) };
        let name = target.name()?;
        let found = find_by_id(&target.engine, name, target.snapshot(at.as_ref())?.as_ref(), query)?;
        Ok(found.map(|document| Cursor::document(document, name)))
    }

    /// Plans a query. If `timed`, the time of each step is measured.
    pub fn execute(&self, query: Query, timed: bool) -> Result<Execution> {
        match self {
            Self::Collection(target, at) => {
                let at = target.snapshot(at.as_ref())?;
                let view = CollectionView::open(&target.engine, target.name()?, at.as_ref())?;
                Execution::new(view, query, timed)
            }
            Self::ReadOnly(store) => Execution::read_only(store, query, timed),
            Self::Oplog(_) => not_of_oplog(),
        }
    }

    /// Begins a pipeline. If `timed`, the time of each stage is measured.
    pub fn begin(&self, request: PipelineRequest, timed: bool) -> Result<PipelineRun> {
        match self {
            Self::Collection(target, at) => {
                let at = target.snapshot(at.as_ref())?;
                let run = PipelineRun::new(&target.engine, target.name()?, at.as_ref(), request, timed)?;
                if let Some(stage) = run.writes() {
                    target.outside(stage)?;
                }
                Ok(run)
            }
            Self::ReadOnly(store) => PipelineRun::read_only(store, request, timed),
            Self::Oplog(oplog) => oplog.pipeline(request, timed),
        }
    }
}
