//! The state that the operators of one execution share.

use crate::counts::Spent;
use crate::limits::{Limits, Watch};
use crate::source::Source;
use alluvium_document::path::FieldPath;
use alluvium_query::pipeline::RecordRef;
use alluvium_query::sort::Sort;
use std::time::Duration;

/// The parameters of a query, in addition to its plan.
#[derive(Debug, Clone)]
pub struct Request {
    /// The order of [`alluvium_query::plan::Node::Sort`] and of merged unions.
    pub sort: Sort,
    /// The paths whose values are needed; an empty list if the query only counts, `None` for whole
    /// documents.
    pub needs: Option<Vec<FieldPath>>,
    /// True if one of several documents with the same value at the path in `needs` suffices.
    /// `needs` then has exactly one path.
    pub any_of_equals: bool,
    /// Sorts may spill into files.
    pub allow_disk_use: bool,
    /// The most bytes of keys that are kept in memory so that each document is returned only once.
    pub seen_bytes_max: usize,
    /// The most bytes of documents that a sort holds in memory.
    pub sort_bytes_max: usize,
    /// The limits that end the query early. [`Limits::begin`] was called.
    pub limits: Limits,
}

impl Default for Request {
    /// Requests whole documents, in the order of the plan, without limits.
    fn default() -> Self {
        Self {
            sort: Sort::default(),
            needs: None,
            any_of_equals: false,
            allow_disk_use: true,
            seen_bytes_max: usize::MAX,
            sort_bytes_max: usize::MAX,
            limits: Limits::default(),
        }
    }
}

impl Request {
    /// The path whose values must each be returned at least once.
    pub fn distinct(&self) -> Option<&FieldPath> {
        match self.needs.as_deref() {
            Some([path]) if self.any_of_equals => Some(path),
            _ => None,
        }
    }
}

/// Takes documents, each with the number of documents that are equal to it.
pub type EqualsVisitor<'v, E> = dyn FnMut(RecordRef<'_>, u64) -> Result<(), E> + 'v;

/// The state that the steps share.
pub(crate) struct Run<S> {
    pub source: S,
    pub request: Request,
    pub watch: Watch,
    /// True if the time of each step is measured.
    pub timed: bool,
}

impl<S: Source> Run<S> {
    pub fn now(&self) -> Duration {
        self.source.env().clock.now()
    }

    pub fn tick(&mut self) -> Result<(), S::Error> {
        Ok(self.watch.tick(self.source.env())?)
    }

    pub fn check_limits(&mut self) -> Result<(), S::Error> {
        Ok(self.watch.check(self.source.env())?)
    }

    /// Adds the time and blocks of `work` to `spent`, if steps are timed.
    #[inline]
    pub fn measured<T>(&mut self, spent: &mut Spent, work: impl FnOnce(&mut Self) -> T) -> T {
        if !self.timed {
            return work(self);
        }
        let (started, before) = (self.now(), self.source.block_counts());
        let done = work(self);
        let blocks = self.source.block_counts();
        spent.time += self.now().saturating_sub(started);
        spent.blocks.looked_up += blocks.looked_up - before.looked_up;
        spent.blocks.read += blocks.read - before.read;
        done
    }
}
