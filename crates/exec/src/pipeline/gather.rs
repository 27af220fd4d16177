//! Documents that a stage holds, in memory or in files.

use super::host::Host;
use super::run::Run;
use crate::limits::Limits;
use crate::source::{MemoryAccount, Sorted, Sorter};
use alluvium_document::{Value, encoding};
use alluvium_query::pipeline::{PipelineError, Record};

/// The memory account is updated in steps of this number of bytes.
pub(super) const STEP: usize = 256 << 10;

/// The memory of the documents that a stage holds and cannot continue in files.
pub(super) struct Held<H: Host> {
    stage: &'static str,
    bytes: usize,
    bytes_max: usize,
    account: H::Account,
}

impl<H: Host> Held<H> {
    /// Nothing is held yet; at most what the settings allow a stage.
    pub fn new(run: &Run<H>, stage: &'static str) -> Self {
        Self { stage, bytes: 0, bytes_max: run.settings.stage_bytes_max, account: run.host.account() }
    }

    /// Sets the bytes that are held.
    pub fn set(&mut self, bytes: usize) -> Result<(), PipelineError> {
        self.bytes = bytes;
        if bytes > self.account.bytes() {
            self.account.resize(bytes + STEP);
        }
        if bytes > self.bytes_max { Err(PipelineError::too_much_memory(self.stage, self.bytes_max)) } else { Ok(()) }
    }

    /// Counts bytes that are held, too.
    pub fn add(&mut self, bytes: usize) -> Result<(), PipelineError> {
        self.set(self.bytes + bytes)
    }
}

type SortedOf<H> = <<H as Host>::Sorter as Sorter>::Sorted;

/// Documents that are written to files in the order of keys.
pub(super) struct Files<H: Host> {
    sorter: H::Sorter,
    bytes: Vec<u8>,
}

/// Documents that are read from files, in the order of their keys.
pub(super) struct FromFiles<H: Host>(SortedOf<H>);

impl<H: Host> Files<H> {
    pub fn new(host: &H, purpose: &'static str, memory_bytes: usize) -> Self {
        Self { sorter: host.sorter(purpose, memory_bytes), bytes: Vec::new() }
    }

    pub fn add(&mut self, limits: &Limits, key: &[u8], record: Record) -> Result<(), H::Error> {
        self.bytes.clear();
        encoding::encode_map(&record.into_map().map_err(PipelineError::from)?, &mut self.bytes);
        self.sorter.add(limits, key, &self.bytes)
    }

    pub fn finish(self, limits: &Limits) -> Result<FromFiles<H>, H::Error> {
        Ok(FromFiles(self.sorter.finish(limits)?))
    }
}

impl<H: Host> FromFiles<H> {
    pub fn next(&mut self, limits: &Limits) -> Result<Option<Record>, H::Error> {
        let Some(mut bytes) = self.0.next_value(limits)? else { return Ok(None) };
        match encoding::decode(&mut bytes) {
            Ok(Value::Map(map)) => Ok(Some(Record::Map(map))),
            _ => Err(PipelineError::damaged_file().into()),
        }
    }
}
