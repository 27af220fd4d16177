//! The settings of a pipeline, and the state that its stages share.

use super::gather::Held;
use super::host::Host;
use crate::limits::{Limits, Watch};
use alluvium_query::pipeline::Record;
use std::time::Duration;

/// The settings of a pipeline.
#[derive(Debug, Clone)]
pub struct Settings {
    /// The limits that end the pipeline early. [`Limits::begin`] was called.
    pub limits: Limits,
    /// True if stages may continue in files.
    pub allow_disk_use: bool,
    /// The most bytes of documents that a stage holds in memory, if it can continue in files.
    pub stage_bytes_max: usize,
    /// The most bytes that a stage holds, if it cannot continue in files.
    pub memory_bytes_max: usize,
    /// True if the time of each stage is measured.
    pub timed: bool,
}

/// The counters of a stage.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct StageReport {
    /// The stage's name, with its dollar sign.
    pub name: &'static str,
    /// The documents that the stage returned to the next stage.
    pub returned: u64,
    /// True if the stage continued in files.
    pub spilled: bool,
    /// The time of the stage and of all stages before it, if times are measured.
    pub time: Duration,
    /// The look-ups of a `$lookup` by an index, if it had any.
    pub lookups: Option<LookupReport>,
}

/// The counters of a `$lookup` by an index.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LookupReport {
    /// The index; `_id_` for look-ups by `_id`.
    pub index: String,
    /// The batches of documents whose values were looked up together.
    pub batches: u64,
    /// The total number of distinct values of all batches.
    pub keys: u64,
    /// The documents that were looked up alone.
    pub alone: u64,
}

/// The state that stages share.
pub(super) struct Run<H: Host> {
    pub host: H,
    pub settings: Settings,
    pub watch: Watch,
    pub reports: Vec<StageReport>,
    /// The memory of the document that passes from stage to stage, if the document is large.
    passing: Option<Held<H>>,
}

/// A document that takes less memory than this is not counted while it passes.
const LARGE_BYTES: usize = 64 << 10;

impl<H: Host> Run<H> {
    pub fn new(host: H, settings: Settings, reports: Vec<StageReport>) -> Self {
        let watch = Watch::new(settings.limits.clone());
        Self { host, settings, watch, reports, passing: None }
    }

    /// Counts the document that a stage has made from another document, because both are in memory
    /// for a moment.
    pub fn passes(&mut self, stage: &'static str, record: &Record) -> Result<(), H::Error> {
        let bytes = record.bytes();
        if bytes < LARGE_BYTES {
            self.passing = None;
            return Ok(());
        }
        let mut held = match self.passing.take() {
            Some(held) => held.of_stage(stage),
            None => Held::in_memory(self, stage),
        };
        held.set(2 * bytes)?;
        // From here on, only the new document is left.
        held.shrink(bytes);
        self.passing = Some(held);
        Ok(())
    }

    /// The memory of a large document while a stage makes other documents from it, one at a time.
    pub fn held_if_large(&self, stage: &'static str, record: &Record) -> Result<Option<Held<H>>, H::Error> {
        let bytes = record.bytes();
        if bytes < LARGE_BYTES {
            return Ok(None);
        }
        let mut held = Held::in_memory(self, stage);
        held.set(bytes)?;
        Ok(Some(held))
    }

    /// Must be called for each document that a stage makes or examines without reading another one.
    pub fn tick(&mut self) -> Result<(), H::Error> {
        Ok(self.watch.tick(self.host.env())?)
    }
}

impl<H: Host> Held<H> {
    /// An account that holds nothing yet, with the limit for stages that can continue in files.
    pub fn new(run: &Run<H>, stage: &'static str) -> Self {
        Self::of(run.host.account(), stage, run.settings.stage_bytes_max, run.settings.allow_disk_use)
    }

    /// An account that holds nothing yet, with the limit for stages that cannot continue in files.
    pub fn in_memory(run: &Run<H>, stage: &'static str) -> Self {
        Self::of(run.host.account(), stage, run.settings.memory_bytes_max, true)
    }
}
