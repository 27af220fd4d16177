//! The operation log: recorded changes as documents in the form of MongoDB's collection `local.oplog.rs`.
//!
//! An entry is made of a recorded change ([`crate::changes`]) when it is read; nothing is stored. The log has the changes
//! of all collections ([`Scope::Everything`]), which must be recorded. Its first entry is a no-op, at the time from which on
//! the changes are complete. `docs/decisions/0113-oplog-view.md` has the reasons.

mod backward;
mod entry;
mod forward;
mod maker;
mod range;
mod tail;

pub use tail::OplogTail;

use crate::engine::EngineHandle;
use crate::error::{Error, Result};
use crate::find::{FindRequest, Hint, Query, limited, moment_of};
use crate::history::Scope;
use crate::names::FullName;
use crate::pipeline::{OtherDocuments, PipelineRequest, PipelineRun};
use crate::watch::ClusterTimes;
use alluvium_document::{Map, Timestamp, Value};
use alluvium_env::Env;
use alluvium_exec::Limits;
use alluvium_exec::pipeline::Records;
use alluvium_query::pipeline::Record;
use alluvium_store::Seq;
use backward::Backward;
use forward::Forward;
use range::{Numbers, Times};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The scope of the log.
const SCOPE: Scope = Scope::Everything;

/// The operation log of a database, with the times of a cluster.
#[derive(Clone)]
pub struct Oplog {
    engine: EngineHandle,
    name: FullName,
    times: Arc<dyn ClusterTimes>,
}

impl Oplog {
    /// The log with these times.
    pub fn new(engine: &EngineHandle, times: Arc<dyn ClusterTimes>) -> Self {
        let name = FullName { logical: "local".into(), collection: "oplog.rs".into() };
        Self { engine: engine.clone(), name, times }
    }

    /// The database.
    pub fn engine(&self) -> &EngineHandle {
        &self.engine
    }

    /// Begins a query. A sort by `$natural` or `ts` is a direction of reading, and a condition on `ts` limits what is read.
    /// A hint has no other effect.
    ///
    /// # Errors
    /// [`Error::ChangesNotRecorded`]; as for any query.
    pub fn query(&self, request: FindRequest) -> Result<PipelineRun> {
        let limits = request.limits.clone();
        let times = request.filter.as_ref().map(Times::of).unwrap_or_default();
        let query = self.checked(request)?;
        let others = self.documents(times, query.reads_backward(), limits)?;
        PipelineRun::of_query_over(&self.engine, &self.name, None, query, Some(others))
    }

    /// Begins a pipeline.
    ///
    /// # Errors
    /// [`Error::ChangesNotRecorded`]; as for any pipeline.
    pub fn pipeline(&self, request: PipelineRequest, timed: bool) -> Result<PipelineRun> {
        let times = request.stages.as_ref().map(Times::of_stages).unwrap_or_default();
        let others = self.documents(times, false, request.limits.clone())?;
        PipelineRun::over(&self.engine, &self.name, others, request, timed)
    }

    /// Opens a cursor that stays open at the end of the log, and continues when changes are recorded.
    ///
    /// # Errors
    /// [`Error::ChangesNotRecorded`]; [`Error::Plan`] for a sort but `{$natural: 1}`; as for any query.
    pub fn tail(&self, request: FindRequest) -> Result<OplogTail> {
        let times = request.filter.as_ref().map(Times::of).unwrap_or_default();
        let query = self.checked(request)?;
        let numbers = Numbers { below: None, ..times.numbers(&*self.times) };
        OplogTail::open(self, query, numbers)
    }

    fn checked(&self, mut request: FindRequest) -> Result<Query> {
        if let Some(Ok(sort)) = &mut request.sort
            && let Some(direction) = by_time(sort)
        {
            *sort = Map::from([("$natural", Value::Int32(direction))]);
        }
        let is_natural = |hint: &Hint| hint.0.as_map().is_some_and(|keys| keys.contains("$natural"));
        request.hint = request.hint.filter(is_natural);
        let moment = limited(moment_of(&self.engine, &self.name), &request.limits, &self.engine.env);
        Query::new(request, moment)
    }

    /// The entries of a time.
    fn documents(&self, times: Times, is_backward: bool, mut limits: Limits) -> Result<OtherDocuments> {
        limits.begin(&self.engine.env);
        let numbers = times.numbers(&*self.times);
        let entries = match is_backward {
            true => Entries::Backward(Backward::open(self, numbers)?),
            false => Entries::Forward(Box::new(Forward::open(self, numbers, true)?)),
        };
        let bytes_ahead = Arc::<AtomicUsize>::default();
        let records = Reading { entries, limits, env: self.engine.env.clone(), bytes_ahead: bytes_ahead.clone() };
        Ok(OtherDocuments { records: Box::new(records), bytes_ahead })
    }

    /// The time of a number, which every entry has.
    fn time(&self, number: Seq) -> Result<Timestamp> {
        let reason = "the cluster time of a change is not known";
        self.times.time(number).ok_or_else(|| Error::ChangesLost { scope: self.name.to_string(), reason })
    }

    /// The first entry: the changes after the number are complete.
    fn first_entry(&self, since: Seq) -> Result<Map> {
        Ok(entry::first(self.time(since)?))
    }
}

/// The direction of a sort by `ts` alone.
fn by_time(sort: &Map) -> Option<i32> {
    let direction = sort.get("ts").filter(|_| sort.len() == 1)?.as_f64()?;
    (direction.abs() == 1.0).then_some(if direction < 0.0 { -1 } else { 1 })
}

/// The entries in one direction.
enum Entries {
    Forward(Box<Forward>),
    Backward(Backward),
}

/// Entries as the documents of a pipeline.
struct Reading {
    entries: Entries,
    limits: Limits,
    env: Env,
    bytes_ahead: Arc<AtomicUsize>,
}

impl Records<Error> for Reading {
    fn next_record(&mut self) -> Result<Option<Record>> {
        self.limits.check(&self.env)?;
        let (entry, bytes) = match &mut self.entries {
            Entries::Forward(entries) => (entries.next_entry(&self.limits)?, entries.bytes_ahead()),
            Entries::Backward(entries) => (entries.next_entry(&self.limits)?, entries.bytes_ahead()),
        };
        self.bytes_ahead.store(bytes, Ordering::Relaxed);
        Ok(entry.map(Record::Map))
    }
}

#[cfg(test)]
mod tests;
