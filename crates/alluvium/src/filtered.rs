//! Writes of the documents that match a filter.

mod bulk;
mod delete;
mod modify;
mod update;

pub use bulk::{BulkWrite, WriteModel};
pub use delete::DeleteWhere;
pub use modify::FindAndModify;
pub use update::UpdateWhere;

use crate::target::Target;
use alluvium_collections::by_filter::{Action, FilterWrite};
use alluvium_collections::error::Result;
use alluvium_collections::find::{FindRequest, Hint, Query};
use alluvium_collections::results::ReturnDocument;
use alluvium_document::{InputError, IntoDocument};
use alluvium_document::{Map, Value};
use alluvium_query::update::{Modification, Update};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

/// What the builders of writes have in common: which documents are meant.
#[derive(Clone)]
pub(crate) struct Where {
    pub target: Target,
    pub request: FindRequest,
    pub change: Option<std::result::Result<Map, InputError>>,
    pub array_filters: Vec<Result<Value>>,
    /// Operators are wanted, or a document, and not the other.
    pub replaces: bool,
    pub upsert: bool,
}

impl Where {
    pub fn new(target: &Target, filter: impl IntoDocument) -> Self {
        let (target, request) = (target.clone(), FindRequest::new(filter));
        Self { target, request, change: None, array_filters: Vec::new(), replaces: false, upsert: false }
    }

    pub fn updating(mut self, update: impl IntoDocument) -> Self {
        self.change = Some(update.into_map());
        self
    }

    pub fn replacing(mut self, document: impl IntoDocument) -> Self {
        self.replaces = true;
        self.updating(document)
    }

    fn hint(&mut self, index: impl Into<Hint>) {
        self.request.hint = Some(index.into());
    }

    fn max_time(&mut self, time: Duration) {
        self.request.limits.set_max_time(time);
    }

    fn stop_when(&mut self, stop: Arc<AtomicBool>) {
        self.request.limits.stop = Some(stop);
    }

    fn job<T>(
        self,
        which: Option<ReturnDocument>,
        run: impl FnOnce(&mut FilterWrite<'_>) -> Result<T>,
    ) -> Result<(T, Query)> {
        let filters: Vec<Value> = self.array_filters.into_iter().collect::<Result<_>>()?;
        let action = match self.change.transpose()? {
            None => Action::Delete,
            Some(map) if self.replaces => {
                Action::Modify(Modification::Replacement(alluvium_query::update::Replacement::parse(&map)?))
            }
            Some(map) => Action::Modify(Modification::Update(Update::parse_with(&map, &filters)?)),
        };
        let mut query = Query::new(self.request)?;
        // One time for all that is searched and written.
        query.begin(&self.target.engine.env);
        let mut job =
            FilterWrite { writer: self.target.writer()?, query, action, upsert: self.upsert, returned: which };
        let result = run(&mut job)?;
        Ok((result, job.query))
    }
}
