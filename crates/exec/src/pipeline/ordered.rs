//! All documents of a stage in the order of keys.

use super::gather::{Files, FromFiles, Held};
use super::host::Host;
use super::run::Run;
use super::stream::Stream;
use crate::limits::Limits;
use alluvium_query::pipeline::{PipelineError, Record};

/// All documents of a stage in an order, in memory or in files.
pub(super) struct Ordered<H: Host> {
    documents: Documents<H>,
    /// The number of documents.
    count: usize,
    /// The memory of the documents, or of the files.
    held: Held<H>,
}

enum Documents<H: Host> {
    Memory(std::vec::IntoIter<Record>),
    Files(FromFiles<H>),
    /// All were read.
    End,
}

/// Appends the key of a document. May replace the document by the parts that the stage needs.
pub(super) type PutKey<'k> = &'k mut dyn FnMut(&mut Record, &mut Vec<u8>) -> Result<(), PipelineError>;

impl<H: Host> Ordered<H> {
    /// Reads all documents. `at` is the position of the stage's report.
    pub fn of(
        run: &mut Run<H>,
        input: &mut dyn Stream<H>,
        stage: &'static str,
        at: Option<usize>,
        put_key: PutKey<'_>,
    ) -> Result<Self, H::Error> {
        let limits = run.settings.limits.clone();
        let (mut records, mut bytes, mut count) = (Vec::new(), 0, 0);
        let mut held = Held::new(run, stage);
        let mut files: Option<Files<H>> = None;
        while let Some(mut record) = input.next(run)? {
            run.tick()?;
            count += 1;
            let mut key = Vec::new();
            put_key(&mut record, &mut key)?;
            if let Some(files) = &mut files {
                files.add(&limits, &key, record)?;
                continue;
            }
            bytes += record.bytes() + key.len();
            records.push((key, record));
            if held.fits(bytes) {
                continue;
            }
            let mut new = Files::new(&run.host, stage, held.for_files()?);
            if let Some(at) = at {
                run.reports[at].spilled = true;
            }
            for (key, record) in std::mem::take(&mut records) {
                new.add(&limits, &key, record)?;
            }
            files = Some(new);
        }
        let documents = match files {
            Some(files) => Documents::Files(files.finish(&limits)?),
            None => {
                records.sort_by(|(a, _), (b, _)| a.cmp(b));
                let records: Vec<Record> = records.into_iter().map(|(_, record)| record).collect();
                Documents::Memory(records.into_iter())
            }
        };
        Ok(Self { documents, count, held })
    }

    /// The number of all documents.
    pub fn count(&self) -> usize {
        self.count
    }

    /// True if the documents are in memory until they are returned, and their memory is counted.
    pub fn is_in_memory(&self) -> bool {
        matches!(self.documents, Documents::Memory(_))
    }

    /// The next document.
    pub fn next(&mut self, limits: &Limits) -> Result<Option<Record>, H::Error> {
        let next = match &mut self.documents {
            Documents::Memory(records) => records.next(),
            Documents::Files(files) => files.next(limits)?,
            Documents::End => None,
        };
        if next.is_none() && !self.is_in_memory() {
            self.documents = Documents::End;
            self.held.shrink(0);
        }
        Ok(next)
    }
}
