//! The host of pipelines over a database.

use super::finder::LocalFinder;
use super::views::resolved;
use super::{head, refuse, statistics, write};
use crate::engine::EngineHandle;
use crate::error::{Error, Result};
use crate::find::{Execution, IndexChoice, Query};
use crate::names::FullName;
use crate::snapshot::Snapshot;
use crate::source::{LocalAccount, LocalDocuments, LocalSource};
use crate::spill::{Spill, SpilledBlocks, SpilledKeys};
use crate::view::CollectionView;
use alluvium_document::path::FieldPath;
use alluvium_env::Env;
use alluvium_env::sync::Mutex;
use alluvium_exec::pipeline::{BoxedFinder, Host, PipelineExecution, Records, Settings, WritingStage};
use alluvium_exec::{Limits, Source, Watch};
use alluvium_query::ErrorCode;
use alluvium_query::collation::Collation;
use alluvium_query::pipeline::{MAX_LEVELS, MAX_STAGES, Record, RecordRef, Stage};
use alluvium_store::{Durability, QueryMemory};
use std::sync::{Arc, Weak};

/// The collections of a logical database, at a snapshot.
#[derive(Clone)]
pub(super) struct LocalHost {
    pub engine: EngineHandle,
    /// The name of the logical database.
    pub logical: Arc<str>,
    pub snapshot: Snapshot,
    pub settings: Settings,
    /// The durability of stages that write.
    pub durability: Durability,
    /// True if stages that write check documents by the validator of their collection.
    pub validates: bool,
    /// The collation of strings; `None` compares them by their bytes.
    pub collation: Option<Collation>,
    /// The number of pipelines that enclose this one, including pipelines of views.
    pub depth: usize,
    /// The number of stages of the enclosing pipelines. It is limited, because each stage takes room on the stack.
    pub stages_around: usize,
    /// The memory account of the query, including all nested pipelines.
    pub memory: QueryMemory,
    /// The queries of all nested pipelines, which share this list.
    pub queries: Queries,
}

/// The query at the head of a pipeline, which reports its plan and its cost.
pub(super) type Head = Arc<Mutex<Execution>>;

/// The running queries of a pipeline and of its nested pipelines.
#[derive(Clone, Default)]
pub(super) struct Queries(Arc<Mutex<Vec<Weak<Mutex<Execution>>>>>);

impl Queries {
    fn add(&self, query: &Head) {
        let mut queries = self.0.lock();
        // A stage may begin a query for each document, so queries that have ended are removed from time to time.
        if queries.len().is_power_of_two() {
            queries.retain(|query| query.strong_count() > 0);
        }
        queries.push(Arc::downgrade(query));
    }

    pub fn for_each(&self, mut visit: impl FnMut(&mut Execution)) {
        // A query may begin other queries while it is visited, so the lock of the list is released before.
        let queries: Vec<Head> = self.0.lock().iter().filter_map(Weak::upgrade).collect();
        queries.iter().for_each(|query| visit(&mut query.lock()));
    }
}

/// The documents that a query finds.
pub(super) struct Found(pub Head, pub Limits);

/// The documents of one partition.
struct Part {
    source: LocalSource,
    documents: LocalDocuments,
    watch: Watch,
}

impl Records<Error> for Part {
    fn next_record(&mut self) -> Result<Option<Record>> {
        let mut items = Vec::new();
        self.source.next_documents(&mut self.documents, 1, &mut self.watch, &mut items)?;
        Ok(items.pop().map(|item| Record::Row(item.document.unwrap_or_default())))
    }

    fn visit(&mut self, visit: &mut dyn FnMut(RecordRef<'_>) -> Result<()>) -> Result<()> {
        self.source.visit_documents(&mut self.documents, &mut self.watch, visit).map(drop)
    }
}

impl Records<Error> for Found {
    fn next_record(&mut self) -> Result<Option<Record>> {
        Ok(self.0.lock().next_raw()?.map(Record::Row))
    }

    fn visit(&mut self, visit: &mut dyn FnMut(RecordRef<'_>) -> Result<()>) -> Result<()> {
        self.0.lock().visit(visit)
    }

    fn visit_equals(&mut self, visit: &mut dyn FnMut(RecordRef<'_>, u64) -> Result<()>) -> Result<()> {
        self.0.lock().visit_equals(visit)
    }

    fn split(&mut self) -> Result<Vec<Box<dyn Records<Error>>>> {
        let Some((source, parts)) = self.0.lock().split()? else { return Ok(Vec::new()) };
        let part = |documents| {
            let watch = Watch::new(self.1.clone());
            Box::new(Part { source: source.clone(), documents, watch }) as Box<dyn Records<Error>>
        };
        Ok(parts.into_iter().map(part).collect())
    }
}

/// No documents.
pub(super) struct Nothing;

impl Records<Error> for Nothing {
    fn next_record(&mut self) -> Result<Option<Record>> {
        Ok(None)
    }
}

impl LocalHost {
    /// Plans the query at the head of the stages over a collection, and begins to execute the other stages. `None`
    /// instead of the query if the stages read the statistics of the collection.
    pub fn begin(
        &self,
        name: &FullName,
        stages: Vec<Stage>,
        choice: IndexChoice,
        timed: bool,
    ) -> Result<(Option<Head>, PipelineExecution<Self>)> {
        let (name, mut stages) = resolved(&self.engine, name, stages, self.collation.as_ref(), &self.settings.limits)?;
        let host = self.around(&stages);
        if host.stages_around > MAX_STAGES {
            let message =
                format!("pipelines within each other, with those of views, have more than {MAX_STAGES} stages");
            return refuse(ErrorCode::MaxSubPipelineDepthExceeded, message);
        }
        let name = &name;
        if let Some(first) = stages.first_mut()
            && let Stage::Statistics(which) = first
        {
            *first = Stage::Documents(statistics::of(&self.engine, name, which, &self.settings.limits)?);
            return Ok((None, self.begin_alone(stages, timed)));
        }
        let settings = Settings { timed, ..self.settings.clone() };
        let (query, rest) = head::split(stages, &settings.limits, settings.allow_disk_use, self.collation.as_ref());
        let query = Query { hint: choice.hint, only: choice.only, ..query };
        let view = CollectionView::open(&self.engine, name, Some(&self.snapshot))?;
        let found = Arc::new(Mutex::new(Execution::within(view, query, timed, self.memory.clone())?));
        self.queries.add(&found);
        let execution =
            PipelineExecution::new(host, Box::new(Found(found.clone(), settings.limits.clone())), rest, settings);
        Ok((Some(found), execution))
    }

    /// Begins to execute stages that have documents of their own, without a collection.
    pub fn begin_alone(&self, stages: Vec<Stage>, timed: bool) -> PipelineExecution<Self> {
        self.begin_over(Box::new(Nothing), stages, timed)
    }

    /// Begins to execute stages over documents that are in no collection.
    pub fn begin_over(
        &self,
        records: Box<dyn Records<Error>>,
        stages: Vec<Stage>,
        timed: bool,
    ) -> PipelineExecution<Self> {
        let settings = Settings { timed, ..self.settings.clone() };
        PipelineExecution::new(self.around(&stages), records, stages, settings)
    }

    /// The host of the pipelines that are nested in these stages.
    fn around(&self, stages: &[Stage]) -> Self {
        Self { stages_around: self.stages_around + stages.len(), ..self.clone() }
    }
}

impl Host for LocalHost {
    type Error = Error;
    type Account = LocalAccount;
    type Sorter = Spill;
    type KeySet = SpilledKeys;
    type Blocks = SpilledBlocks;

    fn env(&self) -> &Env {
        &self.engine.env
    }

    fn account(&self) -> LocalAccount {
        LocalAccount(self.memory.charge())
    }

    fn sorter(&self, purpose: &'static str, memory_bytes: usize) -> Spill {
        Spill::new(&self.engine, purpose, memory_bytes)
    }

    fn key_set(&self, purpose: &'static str) -> SpilledKeys {
        SpilledKeys::new(&self.engine, purpose)
    }

    fn blocks(&self, purpose: &'static str) -> SpilledBlocks {
        SpilledBlocks::new(&self.engine, purpose)
    }

    fn open(&self, collection: Option<&str>, stages: Vec<Stage>, _: &Limits) -> Result<Box<dyn Records<Error>>> {
        // This limit also ends views that read each other in a cycle.
        if self.depth == MAX_LEVELS {
            let message = format!("more than {MAX_LEVELS} pipelines, with those of views, are within each other");
            return refuse(ErrorCode::MaxSubPipelineDepthExceeded, message);
        }
        let within = Self { depth: self.depth + 1, ..self.clone() };
        Ok(match collection {
            Some(collection) => match FullName::new(&self.logical, collection) {
                Ok(name) => Box::new(within.begin(&name, stages, IndexChoice::default(), false)?.1),
                // As in MongoDB, a collection whose name is not allowed is empty, like one that does not exist.
                Err(_) if !collection.is_empty() => Box::new(within.begin_alone(stages, false)),
                Err(error) => return Err(error.into()),
            },
            None => Box::new(within.begin_alone(stages, false)),
        })
    }

    fn finder(&self, collection: &str, path: &FieldPath) -> Result<Option<BoxedFinder<Error>>> {
        let name = match FullName::new(&self.logical, collection) {
            Ok(name) if self.engine.catalog.view(&name).is_none() => name,
            Err(error) if collection.is_empty() => return Err(error.into()),
            _ => return Ok(None),
        };
        let view = CollectionView::open(&self.engine, &name, Some(&self.snapshot))?;
        let (limits, collation) = (&self.settings.limits, self.collation.as_ref());
        Ok(Some(Box::new(LocalFinder::new(view, path, limits, collation, self.memory.clone()))))
    }

    fn write(&self, stage: &WritingStage, records: &mut dyn FnMut() -> Result<Option<Record>>) -> Result<()> {
        let (durability, validates) = (self.durability, self.validates);
        let (engine, logical, limits) = (&self.engine, &*self.logical, &self.settings.limits);
        let to = write::Destination { engine, logical, durability, validates, limits };
        match stage {
            WritingStage::Out(output) => write::out(&to, output, records),
            WritingStage::Merge(merge) => write::merge(&to, merge, records),
        }
    }
}
