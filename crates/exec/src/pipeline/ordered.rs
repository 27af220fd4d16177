//! All documents of a stage in the order of keys.

use super::gather::{Files, FromFiles, STEP};
use super::host::Host;
use super::run::Run;
use super::stream::Stream;
use crate::limits::Limits;
use crate::source::MemoryAccount;
use alluvium_query::pipeline::{PipelineError, Record};

/// All documents of a stage in an order, in memory or in files.
pub(super) enum Ordered<H: Host> {
    Memory(std::vec::IntoIter<Record>),
    Files(FromFiles<H>),
}

/// Appends the key of a document.
pub(super) type PutKey<'k> = &'k mut dyn FnMut(&Record, &mut Vec<u8>) -> Result<(), PipelineError>;

impl<H: Host> Ordered<H> {
    /// Reads all documents. The stage has a report at `at`.
    pub fn of(
        run: &mut Run<H>,
        input: &mut dyn Stream<H>,
        stage: &'static str,
        at: Option<usize>,
        account: &mut H::Account,
        put_key: PutKey<'_>,
    ) -> Result<Self, H::Error> {
        let (bytes_max, limits) = (run.settings.stage_bytes_max, run.settings.limits.clone());
        let (mut records, mut bytes) = (Vec::new(), 0);
        let mut files: Option<Files<H>> = None;
        while let Some(record) = input.next(run)? {
            run.tick()?;
            let mut key = Vec::new();
            put_key(&record, &mut key)?;
            if let Some(files) = &mut files {
                files.add(&limits, &key, record)?;
                continue;
            }
            bytes += record.bytes() + key.len();
            records.push((key, record));
            if bytes > account.bytes() {
                account.resize(bytes + STEP);
            }
            if bytes > bytes_max {
                if !run.settings.allow_disk_use {
                    return Err(PipelineError::too_much_memory(stage, bytes_max).into());
                }
                if let Some(at) = at {
                    run.reports[at].spilled = true;
                }
                let mut new = Files::new(&run.host, stage, bytes_max);
                for (key, record) in records.drain(..) {
                    new.add(&limits, &key, record)?;
                }
                files = Some(new);
            }
        }
        match files {
            Some(files) => Ok(Self::Files(files.finish(&limits)?)),
            None => {
                records.sort_by(|(a, _), (b, _)| a.cmp(b));
                let records: Vec<Record> = records.into_iter().map(|(_, record)| record).collect();
                Ok(Self::Memory(records.into_iter()))
            }
        }
    }

    /// The next document.
    pub fn next(&mut self, limits: &Limits) -> Result<Option<Record>, H::Error> {
        match self {
            Self::Memory(records) => Ok(records.next()),
            Self::Files(files) => files.next(limits),
        }
    }
}
