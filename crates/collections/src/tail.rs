//! Tailable cursors, which follow a capped collection and continue when documents are added.

use crate::appends::AppendWatch;
use crate::capped::{NaturalScan, ensure_ordered, has_position};
use crate::engine::EngineHandle;
use crate::error::{Error, Result};
use crate::find::{Projector, Query};
use crate::names::FullName;
use crate::read::{decode_copy, matches};
use crate::state::CollectionState;
use crate::view::CollectionView;
use alluvium_document::Document;
use alluvium_env::sync::{Condvar, Mutex};
use alluvium_exec::Limits;
use alluvium_query::plan::PlanError;
use std::sync::Arc;
use std::time::Duration;

/// A cursor over a capped collection in the order of insertion. It stays open at the end of the collection. A hint has
/// no effect.
pub struct Tail {
    engine: EngineHandle,
    name: FullName,
    state: Arc<CollectionState>,
    query: Query,
    projector: Projector,
    /// The limits of each batch.
    limits: Limits,
    /// The number of the last document that was examined; `None` before the first.
    position: Option<u64>,
    /// The number of documents to skip before the next document is returned.
    skip: u64,
    /// The number of documents that may still be returned.
    remaining: u64,
    /// The scan of the current batch.
    reading: Option<(Arc<CollectionView>, NaturalScan)>,
    /// The count of changes before the last snapshot.
    seen: u64,
    is_dead: bool,
}

impl Tail {
    /// Begins before the oldest document.
    ///
    /// # Errors
    /// [`Error::NotCapped`]; [`Error::IsView`]; [`Error::Plan`] for a sort; errors of reading the shapes. On a
    /// collection that does not exist, the cursor has ended already.
    pub fn open(engine: &EngineHandle, name: &FullName, query: Query) -> Result<Self> {
        if !query.request.sort.is_empty() {
            let what = "a tailable cursor reads in the order of insertion: it takes no sort but {$natural: 1}";
            return Err(PlanError::BadHint(what.to_owned()).into());
        }
        let found = engine.catalog.find(name)?;
        let is_dead = found.is_none();
        let state = found.unwrap_or_else(|| engine.catalog.absent());
        if !is_dead && state.capped().is_none() {
            return Err(Error::NotCapped(name.to_string()));
        }
        if !is_dead && !engine.store().options().read_only {
            ensure_ordered(engine.store(), &state, name)?;
        }
        let limits = query.request.limits.clone();
        let (skip, remaining) = (query.skip, query.limit.filter(|limit| *limit > 0).unwrap_or(u64::MAX));
        let (engine, name) = (engine.clone(), name.clone());
        Ok(Self {
            engine,
            name,
            state,
            projector: Projector::new(&query),
            query,
            limits,
            position: None,
            skip,
            remaining,
            reading: None,
            seen: 0,
            is_dead,
        })
    }

    /// The next document that matches; `None` if the collection has no more documents at present.
    ///
    /// # Errors
    /// [`Error::CappedPositionLost`], [`Error::CursorKilled`]; errors of reading and of the filter. After an error the
    /// cursor has ended.
    pub fn next_document(&mut self) -> Result<Option<Document>> {
        if self.is_dead || self.remaining == 0 {
            return Ok(None);
        }
        let next = self.step();
        if next.is_err() {
            self.is_dead = true;
        }
        if !matches!(next, Ok(Some(_))) {
            self.pause();
        }
        next
    }

    fn step(&mut self) -> Result<Option<Document>> {
        let (view, mut scan) = match self.reading.take() {
            Some(reading) => reading,
            None => self.begin()?,
        };
        loop {
            self.query.request.limits.check(&self.engine.env)?;
            let Some((key, row)) = scan.next(&view)? else {
                // As in MongoDB, a cursor that has never seen a document ends, because it has no position to continue
                // from.
                self.is_dead = self.position.is_none();
                return Ok(None);
            };
            let document = decode_copy(&view.state.shapes, &view.name, key, row)?;
            self.position = Some(scan.number());
            if !matches(&self.query.filter, &self.name, &document)? {
                continue;
            }
            if self.skip > 0 {
                self.skip -= 1;
                continue;
            }
            self.remaining -= 1;
            self.reading = Some((view, scan));
            return self.projector.project(&self.query, document).map(Some);
        }
    }

    /// Begins a scan of the documents after the position, at a new snapshot.
    fn begin(&mut self) -> Result<(Arc<CollectionView>, NaturalScan)> {
        self.query.request.limits = self.limits.clone();
        self.query.request.limits.begin(&self.engine.env);
        self.seen = self.state.appends.count();
        let view = match CollectionView::open(&self.engine, &self.name, None) {
            Err(Error::IsView(_)) => return Err(Error::CursorKilled(self.name.to_string())),
            view => view?,
        };
        if view.state.documents != self.state.documents {
            return Err(Error::CursorKilled(self.name.to_string()));
        }
        if let Some(position) = self.position
            && !has_position(&view, position)?
        {
            return Err(Error::CappedPositionLost(self.name.to_string()));
        }
        let scan = NaturalScan::new(&view, false, self.position)?;
        Ok((view, scan))
    }

    /// Releases the snapshot of the current batch. The next document is read at a new snapshot.
    pub fn pause(&mut self) {
        self.reading = None;
    }

    /// True if the cursor has ended, and no document will follow.
    pub fn is_dead(&self) -> bool {
        self.is_dead
    }

    /// The collection.
    pub fn name(&self) -> &FullName {
        &self.name
    }

    /// Calls `wake` at each change of the collection after the end was reached, until the result is dropped. Calls it
    /// immediately if the collection has changed already. `wake` must not block. It may be called although no document
    /// was added.
    pub fn watch(&self, wake: impl Fn() + Send + Sync + 'static) -> AppendWatch {
        AppendWatch::new(&self.state.appends, self.seen, wake)
    }

    /// Pauses the cursor, and waits until the collection has changed since the end was reached. Returns false if that
    /// takes longer than `time`.
    pub fn wait(&mut self, time: Duration) -> bool {
        self.pause();
        if self.is_dead {
            return false;
        }
        let changed = Arc::new((Mutex::new(false), Condvar::new()));
        let signal = changed.clone();
        let _watch = self.watch(move || {
            *signal.0.lock() = true;
            signal.1.notify_all();
        });
        let mut has_changed = changed.0.lock();
        let until = self.engine.env.clock.now().saturating_add(time);
        while !*has_changed {
            let left = until.saturating_sub(self.engine.env.clock.now());
            if left.is_zero() {
                return false;
            }
            changed.1.wait_for(&mut has_changed, left);
        }
        true
    }
}
