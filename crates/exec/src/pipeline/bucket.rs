//! `$bucketAuto`: sorts the needed parts of the documents, in memory or in files.

use super::gather::Held;
use super::host::Host;
use super::ordered::Ordered;
use super::run::Run;
use super::stream::Stream;
use alluvium_query::pipeline::{AutoBuckets, BucketAuto, Record};
use std::sync::Arc;

/// `$bucketAuto`.
pub(super) struct AutoBucketing<H: Host> {
    input: Box<dyn Stream<H>>,
    stage: Arc<BucketAuto>,
    /// The position of the stage's report.
    at: Option<usize>,
    state: Option<Bucketed<H>>,
}

/// The sorted documents, their buckets, and the memory of one bucket.
struct Bucketed<H: Host> {
    sorted: Ordered<H>,
    buckets: AutoBuckets,
    held: Held<H>,
}

impl<H: Host> AutoBucketing<H> {
    pub fn new(input: Box<dyn Stream<H>>, stage: Arc<BucketAuto>, at: Option<usize>) -> Self {
        Self { input, stage, at, state: None }
    }

    fn sort(&mut self, run: &mut Run<H>) -> Result<Bucketed<H>, H::Error> {
        let stage = &self.stage;
        let compact = &mut |record: &mut Record, key: &mut Vec<u8>| stage.compact(record, key);
        let sorted = Ordered::of(run, &mut *self.input, "$bucketAuto", self.at, compact)?;
        let buckets = AutoBuckets::new(self.stage.clone(), sorted.count());
        Ok(Bucketed { sorted, buckets, held: Held::in_memory(run, "$bucketAuto") })
    }
}

impl<H: Host> Stream<H> for AutoBucketing<H> {
    fn next(&mut self, run: &mut Run<H>) -> Result<Option<Record>, H::Error> {
        if self.state.is_none() {
            self.state = Some(self.sort(run)?);
        }
        let Some(Bucketed { sorted, buckets, held }) = &mut self.state else { return Ok(None) };
        let read = &mut || {
            run.tick()?;
            sorted.next(&run.settings.limits)
        };
        let bucket = buckets.next(read, &mut |bytes| held.set(bytes))?;
        Ok(bucket.map(Record::Map))
    }
}
