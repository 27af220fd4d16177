//! Documents that a stage holds, in memory or in files.

use super::host::Host;
use crate::limits::Limits;
use crate::source::{MemoryAccount, Sorted, Sorter, memory_of_sorter};
use alluvium_document::{Value, encoding};
use alluvium_query::pipeline::{PipelineError, Record};

/// The memory that a stage holds.
pub(super) struct Held<H: Host> {
    stage: &'static str,
    bytes_max: usize,
    may_use_files: bool,
    account: H::Account,
    /// True if the last refusal was due to the share of all queries, and false if it was due to the limit of the stage.
    is_short: bool,
}

impl<H: Host> Held<H> {
    /// An account that holds nothing yet and may hold at most `bytes_max` bytes.
    pub fn of(account: H::Account, stage: &'static str, bytes_max: usize, may_use_files: bool) -> Self {
        Self { stage, bytes_max, may_use_files, account, is_short: false }
    }

    /// The same memory, held by another stage.
    pub fn of_stage(self, stage: &'static str) -> Self {
        Self { stage, ..self }
    }

    /// Sets the number of bytes that the stage holds. Returns false if the stage may not hold that many bytes, or if
    /// the queries have no more memory left.
    #[inline]
    #[must_use]
    pub fn fits(&mut self, bytes: usize) -> bool {
        if bytes > self.bytes_max {
            return false;
        }
        self.is_short = bytes > self.account.bytes() && !self.account.grow(bytes);
        !self.is_short
    }

    /// As [`Held::fits`], for a stage that cannot continue in files. Returns an error if the bytes do not fit.
    pub fn set(&mut self, bytes: usize) -> Result<(), PipelineError> {
        if self.fits(bytes) { Ok(()) } else { Err(self.refusal()) }
    }

    /// The error for the last bytes that did not fit.
    pub fn refusal(&self) -> PipelineError {
        match self.is_short {
            true => PipelineError::memory_shortage(self.stage, self.may_use_files),
            false => PipelineError::too_much_memory(self.stage, self.bytes_max),
        }
    }

    /// Charges the memory that files need, and that replaces the memory of the held documents. Returns its size in
    /// bytes.
    ///
    /// # Errors
    /// The stage may not use files, or there is too little memory for them.
    pub fn for_files(&mut self) -> Result<usize, PipelineError> {
        if !self.may_use_files {
            return Err(self.refusal());
        }
        memory_of_sorter(&mut self.account, self.bytes_max).ok_or_else(|| {
            self.is_short = true;
            self.refusal()
        })
    }

    /// Reduces the held memory to at most this number of bytes.
    pub fn shrink(&mut self, bytes: usize) {
        self.account.shrink(bytes);
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
        if self.bytes.capacity() > KEPT_BYTES {
            self.bytes = Vec::new();
        }
        self.bytes.clear();
        encoding::encode_map(&record.into_map().map_err(PipelineError::from)?, &mut self.bytes);
        self.sorter.add(limits, key, &self.bytes)
    }

    pub fn finish(self, limits: &Limits) -> Result<FromFiles<H>, H::Error> {
        Ok(FromFiles(self.sorter.finish(limits)?))
    }
}

/// The longest buffer that is kept for the next document.
const KEPT_BYTES: usize = 256 << 10;

impl<H: Host> FromFiles<H> {
    pub fn next(&mut self, limits: &Limits) -> Result<Option<Record>, H::Error> {
        let Some(mut bytes) = self.0.next_value(limits)? else { return Ok(None) };
        match encoding::decode(&mut bytes) {
            Ok(Value::Map(map)) => Ok(Some(Record::Map(map))),
            _ => Err(PipelineError::damaged_file().into()),
        }
    }
}
