//! The execution of pipelines.

use super::host::{Head, LocalHost, Queries};
use super::read_only::ReadOnlyHost;
use super::refuse;
use crate::engine::EngineHandle;
use crate::error::{Error, Result};
use crate::find::{
    Execution, Explanation, Hint, IndexChoice, IndexHint, Projector, Query, collated, known_variables, limited,
    memory_bytes_max, moment, moment_of, stage_bytes_max,
};
use crate::names::FullName;
use crate::read_only::ReadOnlyDocuments;
use crate::read_only_source;
use crate::snapshot::Snapshot;
use alluvium_document::{Document, InputError, Map, Value, bson};
use alluvium_env::Env;
use alluvium_exec::pipeline::{LookupReport, PipelineExecution, Records, Settings, StageReport};
use alluvium_exec::{Limits, Request};
use alluvium_query::ErrorCode;
use alluvium_query::collation::Collation;
use alluvium_query::expression::{MAX_VALUE_BYTES, Variables};
use alluvium_query::pipeline::stages;
use alluvium_query::pipeline::{Pipeline, PipelineError, Record, Stage};
use alluvium_store::Durability;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

/// A pipeline that is not checked yet.
#[derive(Clone)]
pub struct PipelineRequest {
    /// The stages: an array of maps.
    pub stages: std::result::Result<Value, InputError>,
    /// The options of the collation by which strings are compared.
    pub collation: Option<std::result::Result<Map, InputError>>,
    /// Variables that expressions may use.
    pub variables: Option<std::result::Result<Map, InputError>>,
    /// The limits that end the pipeline early.
    pub limits: Limits,
    /// True if stages may use files when memory does not suffice.
    pub allow_disk_use: bool,
    /// The index to use for the query at the head.
    pub hint: Option<Hint>,
    /// The names of the indexes that the query at the head may use; `None` for all.
    pub only: Option<Vec<String>>,
    /// The durability of stages that write.
    pub durability: Durability,
    /// False if stages that write skip the validator of their collection.
    pub validates: bool,
    /// The maximum size in bytes of BSON of a value that an expression makes; `None` for [`MAX_VALUE_BYTES`].
    pub bytes_max: Option<usize>,
}

impl PipelineRequest {
    /// A pipeline without variables, collation and limits, which may use files.
    pub fn new(stages: std::result::Result<Value, InputError>, durability: Durability) -> Self {
        let (collation, variables, hint, only, bytes_max) = (None, None, None, None, None);
        let (limits, allow_disk_use, validates) = (Limits::default(), true, true);
        Self { stages, collation, variables, limits, allow_disk_use, hint, only, durability, validates, bytes_max }
    }
}

/// Documents that are in no collection.
pub(crate) struct OtherDocuments {
    /// The documents.
    pub records: Box<dyn Records<Error>>,
    /// The memory of those that were read ahead, in bytes.
    pub bytes_ahead: Arc<AtomicUsize>,
}

/// A pipeline that was checked.
struct Checked {
    pipeline: Pipeline,
    collation: Option<Collation>,
    choice: IndexChoice,
    projecting: Option<Query>,
    limits: Limits,
    allow_disk_use: bool,
    durability: Durability,
    validates: bool,
    /// The documents that the pipeline reads instead of those of a collection.
    others: Option<OtherDocuments>,
}

impl Checked {
    /// Parses a pipeline.
    fn parse(engine: &EngineHandle, name: &FullName, request: PipelineRequest) -> Result<Self> {
        let PipelineRequest { stages, collation, variables, limits, allow_disk_use, durability, validates, .. } =
            request;
        let moment = limited(moment_of(engine, name), &limits, &engine.env);
        let known = known_variables(variables, collated(collation, moment)?)?.making_at_most(request.bytes_max);
        let pipeline = Pipeline::parse(&stages?, &known)?;
        let choice = IndexChoice { hint: request.hint.map(IndexHint::new).transpose()?, only: request.only };
        let collation = known.collation().cloned();
        let (projecting, others) = (None, None);
        Ok(Self { pipeline, collation, choice, projecting, limits, allow_disk_use, durability, validates, others })
    }
}

/// A pipeline in execution. Returns its documents in order, all from one snapshot.
pub struct PipelineRun {
    stages: Stages,
    /// The query at the head, unless the pipeline has documents of its own.
    head: Option<Head>,
    /// The query of a view. Its projection is applied as the last step.
    projecting: Option<(Query, Projector)>,
    name: FullName,
    started: Duration,
    env: Env,
    collation: Option<Collation>,
    /// As [`OtherDocuments::bytes_ahead`].
    bytes_ahead: Arc<AtomicUsize>,
}

/// The stages, for each kind of source.
enum Stages {
    Local(PipelineExecution<LocalHost>),
    ReadOnly(PipelineExecution<ReadOnlyHost>),
}

impl Stages {
    fn next_record(&mut self) -> Result<Option<Record>> {
        match self {
            Self::Local(execution) => execution.next_record(),
            Self::ReadOnly(execution) => execution.next_record(),
        }
    }

    fn reports(&self) -> &[StageReport] {
        match self {
            Self::Local(execution) => execution.reports(),
            Self::ReadOnly(execution) => execution.reports(),
        }
    }
}

impl PipelineRun {
    /// The bytes of documents that the queries of the pipeline have read ahead.
    pub(crate) fn bytes_ahead(&self) -> usize {
        let mut bytes = self.bytes_ahead.load(Ordering::Relaxed);
        self.for_each_query(|query| bytes += query.bytes_ahead());
        bytes
    }

    /// The plan of the query at the head, and its cost so far; `None` if the pipeline has documents of its own.
    pub(crate) fn head_explained(&self) -> Option<Explanation> {
        self.head.as_ref().map(|head| head.lock().explained())
    }

    /// The numbers of keys and of documents that the query at the head has examined.
    pub(crate) fn head_examined(&self) -> Option<(u64, u64)> {
        self.head.as_ref().map(|head| head.lock().examined())
    }

    /// As [`Execution::pause`], for all queries of the pipeline.
    pub(crate) fn pause(&mut self) {
        self.for_each_query(Execution::pause);
    }

    fn for_each_query(&self, mut visit: impl FnMut(&mut Execution)) {
        match &self.stages {
            Stages::Local(execution) => execution.host().queries.for_each(visit),
            Stages::ReadOnly(_) => self.head.iter().for_each(|head| visit(&mut head.lock())),
        }
    }

    /// Parses, plans and begins a pipeline over a collection. A collection that does not exist is empty. If `timed`,
    /// the time of each stage is measured.
    ///
    /// # Errors
    /// [`crate::error::Error::Pipeline`]; [`crate::error::Error::Json`]; errors of planning.
    pub fn new(
        engine: &EngineHandle,
        name: &FullName,
        at: Option<&Snapshot>,
        request: PipelineRequest,
        timed: bool,
    ) -> Result<Self> {
        Self::begin(engine, name, at, Checked::parse(engine, name, request)?, timed)
    }

    /// As [`PipelineRun::new`], over documents that are in no collection.
    ///
    /// # Errors
    /// As [`PipelineRun::new`].
    pub(crate) fn over(
        engine: &EngineHandle,
        name: &FullName,
        others: OtherDocuments,
        request: PipelineRequest,
        timed: bool,
    ) -> Result<Self> {
        let checked = Checked { others: Some(others), ..Checked::parse(engine, name, request)? };
        Self::begin(engine, name, None, checked, timed)
    }

    /// Begins a query of a view: a pipeline of the stages of the view, followed by those of the query.
    ///
    /// # Errors
    /// As [`PipelineRun::new`].
    pub fn of_query(engine: &EngineHandle, name: &FullName, at: Option<&Snapshot>, query: Query) -> Result<Self> {
        Self::of_query_over(engine, name, at, query, None)
    }

    /// As [`PipelineRun::of_query`]; over documents that are in no collection, if some are given.
    ///
    /// # Errors
    /// As [`PipelineRun::new`].
    pub(crate) fn of_query_over(
        engine: &EngineHandle,
        name: &FullName,
        at: Option<&Snapshot>,
        mut query: Query,
        others: Option<OtherDocuments>,
    ) -> Result<Self> {
        let Request { sort, limits, allow_disk_use, .. } = std::mem::take(&mut query.request);
        let mut stages = vec![Stage::Match(query.filter.clone())];
        if !sort.is_empty() {
            stages.push(Stage::Sort { sort, limit: None });
        }
        if query.skip > 0 {
            stages.push(Stage::Skip(query.skip));
        }
        stages.extend(query.limit.map(Stage::Limit));
        let pipeline = Pipeline::parse(&Value::Array(Vec::new()), &Variables::NONE)?.then(stages);
        let choice = IndexChoice { hint: query.hint.take(), only: query.only.take() };
        let collation = query.collation().cloned();
        let durability = engine.store().options().durability;
        let checked = Checked {
            pipeline,
            collation,
            choice,
            projecting: Some(query),
            limits,
            allow_disk_use,
            durability,
            validates: true,
            others,
        };
        Self::begin(engine, name, at, checked, false)
    }

    fn begin(
        engine: &EngineHandle,
        name: &FullName,
        at: Option<&Snapshot>,
        checked: Checked,
        timed: bool,
    ) -> Result<Self> {
        let Checked {
            pipeline,
            collation,
            choice,
            projecting,
            mut limits,
            allow_disk_use,
            durability,
            validates,
            others,
        } = checked;
        let started = engine.env.clock.now();
        limits.begin(&engine.env);
        let options = engine.store().options();
        let memory_bytes_max = memory_bytes_max(options);
        let stage_bytes_max = stage_bytes_max(options, allow_disk_use);
        let snapshot = at.cloned().unwrap_or_else(|| engine.snapshot());
        let settings = Settings { limits, allow_disk_use, stage_bytes_max, memory_bytes_max, timed: false };
        let logical = Arc::from(name.logical.as_str());
        let host = LocalHost {
            engine: engine.clone(),
            logical,
            snapshot,
            settings,
            durability,
            validates,
            collation,
            depth: 0,
            stages_around: 0,
            memory: engine.store().query_memory(),
            queries: Queries::default(),
        };
        let bytes_ahead = others.as_ref().map(|others| others.bytes_ahead.clone()).unwrap_or_default();
        let (head, execution) = match (others, pipeline.has_own_documents()) {
            (_, true) => (None, host.begin_alone(pipeline.into_stages(), timed)),
            (Some(others), _) => (None, host.begin_over(others.records, pipeline.into_stages(), timed)),
            (None, _) => host.begin(name, pipeline.into_stages(), choice, timed)?,
        };
        let (stages, env, collation) = (Stages::Local(execution), engine.env.clone(), host.collation);
        let projecting = projecting.map(|query| {
            let projector = Projector::new(&query);
            (query, projector)
        });
        Ok(Self { stages, head, projecting, name: name.clone(), started, env, collation, bytes_ahead })
    }

    /// Parses, plans and begins a pipeline over a read-only store. If `timed`, the time of each stage is measured.
    ///
    /// # Errors
    /// As [`PipelineRun::new`]; [`crate::error::Error::NeverChanges`] if the last stage writes,
    /// [`crate::error::Error::OnlyCollection`] if a stage reads another collection.
    pub fn read_only(store: &ReadOnlyDocuments, request: PipelineRequest, timed: bool) -> Result<Self> {
        let PipelineRequest { stages, collation, variables, mut limits, allow_disk_use, hint, .. } = request;
        let env = store.pairs().env();
        let started = env.clock.now();
        limits.begin(env);
        let known =
            known_variables(variables, collated(collation, limited(moment(env, store.memory()), &limits, env))?)?;
        let pipeline = Pipeline::parse(&stages?, &known)?;
        let hint = hint.map(IndexHint::new).transpose()?;
        let collation = known.collation().cloned();
        let stage_bytes_max = read_only_source::stage_bytes_max(store);
        let memory_bytes_max = stage_bytes_max;
        let settings = Settings { limits, allow_disk_use, stage_bytes_max, memory_bytes_max, timed: false };
        let memory = store.pairs().query_memory();
        let host = ReadOnlyHost { store: store.clone(), settings, collation: collation.clone(), memory };
        let has_own_documents = pipeline.has_own_documents();
        let stages = pipeline.into_stages();
        host.check(&stages)?;
        let (head, execution) = if has_own_documents {
            (None, host.begin_alone(stages, timed))
        } else {
            let (head, execution) = host.begin(stages, hint, timed)?;
            (Some(head), execution)
        };
        let (name, env) = (store.name().clone(), env.clone());
        let (stages, bytes_ahead) = (Stages::ReadOnly(execution), Arc::default());
        Ok(Self { stages, head, projecting: None, name, started, env, collation, bytes_ahead })
    }

    /// The collection.
    pub fn name(&self) -> &FullName {
        &self.name
    }

    /// The collation by which strings are compared.
    pub fn collation(&self) -> Option<&Collation> {
        self.collation.as_ref()
    }

    /// The next document.
    ///
    /// # Errors
    /// Errors of reading; [`crate::error::Error::Pipeline`]; limits. After an error, nothing more may be read.
    pub fn next_document(&mut self) -> Result<Option<Document>> {
        match self.stages.next_record()? {
            Some(Record::Map(map)) if bson::document_size(&map) > MAX_VALUE_BYTES => {
                Err(PipelineError::too_large("the pipeline").into())
            }
            Some(record) => {
                let document = record.into_document().map_err(PipelineError::from)?;
                match &mut self.projecting {
                    Some((query, projector)) => projector.project(query, document).map(Some),
                    None => Ok(Some(document)),
                }
            }
            None => Ok(None),
        }
    }

    /// The fields of the next document, which may be larger than a document.
    ///
    /// # Errors
    /// As [`PipelineRun::next_document`].
    pub(crate) fn next_map(&mut self) -> Result<Option<Map>> {
        let record = self.stages.next_record()?;
        Ok(record.map(Record::into_map).transpose().map_err(PipelineError::from)?)
    }

    /// Executes the pipeline to its end, and reports its plan and its cost.
    ///
    /// # Errors
    /// As [`PipelineRun::next_document`]; an error if the pipeline would write.
    pub fn explain(&mut self) -> Result<PipelineExplanation> {
        self.explain_run(true)
    }

    /// As [`PipelineRun::explain`], without running the pipeline: all counts are zero.
    ///
    /// # Errors
    /// As [`PipelineRun::explain`].
    pub fn explain_plan(&mut self) -> Result<PipelineExplanation> {
        self.explain_run(false)
    }

    /// The name of the last stage, if it writes.
    pub fn writes(&self) -> Option<&'static str> {
        let last = self.stages.reports().last().and_then(|stage| stages::find(stage.name));
        last.filter(|stage| stage.writes).map(|stage| stage.name)
    }

    fn explain_run(&mut self, runs: bool) -> Result<PipelineExplanation> {
        if let Some(name) = self.writes() {
            let message = format!("to explain a pipeline runs it, and this one would write: leave {name} out");
            return refuse(ErrorCode::Location51029, message);
        }
        let mut returned = 0;
        while runs && self.stages.next_record()?.is_some() {
            returned += 1;
        }
        let time = self.env.clock.now().saturating_sub(self.started);
        let head = self.head.as_ref().map(|head| head.lock().explained());
        Ok(PipelineExplanation { returned, time, head, stages: self.stages.reports().to_vec() })
    }
}

/// The plan of a pipeline, and the cost of its execution. The text ([`fmt::Display`]) has a line for each
/// stage, the last one first.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct PipelineExplanation {
    /// The number of documents returned.
    pub returned: u64,
    /// The time from the start of the pipeline to its last document.
    pub time: Duration,
    /// The query at the head of the pipeline; `None` if it has documents of its own.
    pub head: Option<Explanation>,
    /// The other stages, in order.
    pub stages: Vec<StageReport>,
}

impl PipelineExplanation {
    /// The plan as MongoDB's `explain` shows it: an array of stages, the first of which is `$cursor`.
    pub fn to_map(&self) -> Map {
        let mut stages = Vec::new();
        if let Some(head) = &self.head {
            stages.push(Value::Map(Map::from([("$cursor", head.to_map())])));
        }
        for stage in &self.stages {
            let mut map = Map::from([(stage.name, Value::Map(Map::new()))]);
            map.push("nReturned", i64::try_from(stage.returned).unwrap_or(i64::MAX));
            map.push("usedDisk", stage.spilled);
            map.push("executionTimeMillisEstimate", i64::try_from(stage.time.as_millis()).unwrap_or(i64::MAX));
            if let Some(lookups) = &stage.lookups {
                let used = Some(&lookups.index).filter(|index| !index.is_empty());
                map.push("indexesUsed", used.into_iter().map(|index| Value::from(index.as_str())).collect::<Value>());
                for (name, count) in
                    [("batches", lookups.batches), ("keysLookedUp", lookups.keys), ("lookedUpAlone", lookups.alone)]
                {
                    map.push(name, i64::try_from(count).unwrap_or(i64::MAX));
                }
            }
            stages.push(Value::Map(map));
        }
        Map::from([("stages", Value::Array(stages))])
    }
}

impl fmt::Display for PipelineExplanation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for stage in self.stages.iter().rev() {
            write!(f, "{} -> {}", stage.name, stage.returned)?;
            if stage.spilled {
                write!(f, " (in files)")?;
            }
            if let Some(LookupReport { index, batches, keys, alone }) = &stage.lookups {
                if *batches > 0 {
                    write!(f, " ({batches} batches, {keys} keys by {index})")?;
                }
                if *alone > 0 {
                    write!(f, " ({alone} looked up alone)")?;
                }
            }
            if !stage.time.is_zero() {
                write!(f, " {} us", stage.time.as_micros())?;
            }
            writeln!(f)?;
        }
        match &self.head {
            Some(head) => write!(f, "{head}"),
            None => Ok(()),
        }
    }
}
