//! The host of pipelines over a read-only store, which has one collection.

use super::finder::ReadOnlyFinder;
use super::host::{Found, Head, Nothing};
use super::{head, refuse};
use crate::error::{Error, Result};
use crate::find::{Execution, IndexHint, Query};
use crate::names::FullName;
use crate::read_only::ReadOnlyDocuments;
use crate::read_only_source::{NoFiles, ReadOnlySource, stage_bytes_max};
use crate::source::LocalAccount;
use alluvium_document::path::FieldPath;
use alluvium_env::Env;
use alluvium_env::sync::Mutex;
use alluvium_exec::Limits;
use alluvium_exec::pipeline::{BoxedFinder, Host, PipelineExecution, Records, Settings, WritingStage};
use alluvium_query::ErrorCode;
use alluvium_query::collation::Collation;
use alluvium_query::pipeline::{Record, Stage};
use alluvium_readonly::QueryMemory;
use std::sync::Arc;

/// The collection of a read-only store.
#[derive(Clone)]
pub(super) struct ReadOnlyHost {
    pub store: ReadOnlyDocuments,
    pub settings: Settings,
    /// The collation of strings; `None` compares them by their bytes.
    pub collation: Option<Collation>,
    /// The memory account of the query, including all nested pipelines.
    pub memory: QueryMemory,
}

impl ReadOnlyHost {
    /// Plans the query at the head of the stages over the store, and begins to execute the other stages.
    pub fn begin(
        &self,
        stages: Vec<Stage>,
        hint: Option<IndexHint>,
        timed: bool,
    ) -> Result<(Head, PipelineExecution<Self>)> {
        let settings = Settings { timed, ..self.settings.clone() };
        let (query, rest) = head::split(stages, &settings.limits, settings.allow_disk_use, self.collation.as_ref());
        let query = Query { hint, ..query };
        let found = Arc::new(Mutex::new(Execution::read_only_within(&self.store, query, timed, self.memory.clone())?));
        let records = Box::new(Found(found.clone(), settings.limits.clone()));
        Ok((found, PipelineExecution::new(self.clone(), records, rest, settings)))
    }

    /// Begins to execute stages that have documents of their own, without the store.
    pub fn begin_alone(&self, stages: Vec<Stage>, timed: bool) -> PipelineExecution<Self> {
        let settings = Settings { timed, ..self.settings.clone() };
        PipelineExecution::new(self.clone(), Box::new(Nothing), stages, settings)
    }

    /// Before anything is read, refuses stages that write or that read anything except documents of the store. Stages
    /// within a `$lookup` are refused when the `$lookup` opens its collection.
    pub fn check(&self, stages: &[Stage]) -> Result<()> {
        for stage in stages {
            match stage {
                Stage::Out(_) | Stage::Merge(_) => return Err(self.refusal()),
                Stage::Lookup(lookup) => lookup.from.as_deref().map_or(Ok(()), |from| self.require(from))?,
                Stage::GraphLookup(lookup) => self.require(&lookup.from)?,
                Stage::Union(union) => {
                    union.collection.as_deref().map_or(Ok(()), |other| self.require(other))?;
                    self.check(union.pipeline.stages())?;
                }
                Stage::Facet(facets) => facets.iter().try_for_each(|(_, facet)| self.check(facet.stages()))?,
                Stage::Statistics(_) => {
                    let what = format!("{} is not supported over a read-only store", stage.name());
                    return refuse(ErrorCode::NotImplemented, what);
                }
                Stage::Match(_)
                | Stage::Each(_)
                | Stage::Group(_)
                | Stage::Sort { .. }
                | Stage::Skip(_)
                | Stage::Limit(_)
                | Stage::BucketAuto(_)
                | Stage::Window(_)
                | Stage::Densify(_)
                | Stage::Sample(_)
                | Stage::Documents(_) => {}
            }
        }
        Ok(())
    }

    fn refusal(&self) -> Error {
        Error::NeverChanges(self.store.pairs().path().to_owned())
    }

    /// Refuses a collection that is not the collection of the store. In a database, a collection that does not exist is
    /// empty. Here the user may have left out its documents by mistake.
    fn require(&self, collection: &str) -> Result<()> {
        let (own, wanted) = (self.store.name(), FullName::new(&self.store.name().logical, collection)?);
        if wanted == *own {
            return Ok(());
        }
        let (own, wanted) = (own.to_string(), wanted.to_string());
        Err(Error::OnlyCollection { path: self.store.pairs().path().to_owned(), own, wanted })
    }
}

impl Host for ReadOnlyHost {
    type Error = Error;
    type Account = LocalAccount;
    type Sorter = NoFiles;
    type KeySet = NoFiles;
    type Blocks = NoFiles;

    fn env(&self) -> &Env {
        self.store.pairs().env()
    }

    fn account(&self) -> LocalAccount {
        LocalAccount(self.memory.charge())
    }

    fn sorter(&self, purpose: &'static str, _: usize) -> NoFiles {
        NoFiles { purpose, limit: stage_bytes_max(&self.store) }
    }

    fn key_set(&self, purpose: &'static str) -> NoFiles {
        NoFiles { purpose, limit: stage_bytes_max(&self.store) }
    }

    fn blocks(&self, purpose: &'static str) -> NoFiles {
        NoFiles { purpose, limit: stage_bytes_max(&self.store) }
    }

    fn open(&self, collection: Option<&str>, stages: Vec<Stage>, _: &Limits) -> Result<Box<dyn Records<Error>>> {
        self.check(&stages)?;
        let Some(collection) = collection else { return Ok(Box::new(self.begin_alone(stages, false))) };
        self.require(collection)?;
        Ok(Box::new(self.begin(stages, None, false)?.1))
    }

    /// The only index is that on `_id`, which compares strings by their bytes.
    fn finder(&self, collection: &str, path: &FieldPath) -> Result<Option<BoxedFinder<Error>>> {
        self.require(collection)?;
        if path.as_str() != "_id" || self.collation.is_some() {
            return Ok(None);
        }
        let source = ReadOnlySource(self.store.clone(), self.memory.clone());
        Ok(Some(Box::new(ReadOnlyFinder { source, limits: self.settings.limits.clone() })))
    }

    fn write(&self, _: &WritingStage, _: &mut dyn FnMut() -> Result<Option<Record>>) -> Result<()> {
        Err(self.refusal())
    }
}
