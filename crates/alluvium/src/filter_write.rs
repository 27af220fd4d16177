//! Common parts of the builders of writes by filter.

use crate::target::Target;
use alluvium_collections::by_filter::{Action, FilterWrite};
use alluvium_collections::error::Result;
use alluvium_collections::find::{FindRequest, Hint, Query, interrupt};
use alluvium_collections::results::ReturnDocument;
use alluvium_document::{InputError, IntoDocument, Map, Value};
use alluvium_query::ErrorCode;
use alluvium_query::expression::ExpressionError;
use alluvium_query::pipeline::PipelineError;
use alluvium_query::update::{Modification, Piped, Replacement, Update, UpdateError};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

/// A write of the documents that match a filter, not yet validated.
#[derive(Clone)]
pub(crate) struct FilterRequest {
    pub target: Target,
    pub request: FindRequest,
    pub change: Option<std::result::Result<Value, InputError>>,
    array_filters: std::result::Result<Vec<Value>, InputError>,
    /// True if the change must be a whole document; false if it must have update operators.
    pub replaces: bool,
    pub upsert: bool,
    /// Refuses the write if BSON cannot hold the document to return.
    pub as_bson: bool,
}

impl FilterRequest {
    pub fn new(target: &Target, filter: impl IntoDocument) -> Self {
        let (target, request) = (target.clone(), FindRequest::new(filter));
        Self {
            target,
            request,
            change: None,
            array_filters: Ok(Vec::new()),
            replaces: false,
            upsert: false,
            as_bson: false,
        }
    }

    pub fn updating(mut self, update: std::result::Result<Value, InputError>) -> Self {
        self.change = Some(update);
        self
    }

    pub fn replacing(mut self, document: std::result::Result<Map, InputError>) -> Self {
        self.replaces = true;
        self.updating(document.map(Value::Map))
    }

    pub fn array_filters<D: IntoDocument>(&mut self, filters: impl IntoIterator<Item = D>) {
        self.array_filters = filters.into_iter().map(|filter| filter.into_map().map(Value::Map)).collect();
    }

    pub fn hint(&mut self, index: impl Into<Hint>) {
        self.request.hint = Some(index.into());
    }

    pub fn only_indexes<N: Into<String>>(&mut self, names: impl IntoIterator<Item = N>) {
        self.request.only = Some(names.into_iter().map(Into::into).collect());
    }

    pub fn collation(&mut self, options: impl IntoDocument) {
        self.request.collation = Some(options.into_map());
    }

    pub fn variables(&mut self, variables: impl IntoDocument) {
        self.request.variables = Some(variables.into_map());
    }

    pub fn max_time(&mut self, time: Duration) {
        self.request.limits.set_max_time(time);
    }

    pub fn stop_when(&mut self, stop: Arc<AtomicBool>) {
        self.request.limits.stop = Some(stop);
    }

    pub fn job<T>(
        mut self,
        which: Option<ReturnDocument>,
        run: impl FnOnce(&mut FilterWrite<'_>) -> Result<T>,
    ) -> Result<(T, Query)> {
        let (filters, moment) = (self.array_filters?, self.target.moment(&self.request)?);
        self.target.interrupt = interrupt(&self.request.limits, &self.target.engine.env);
        let mut action = match self.change.transpose()? {
            None => Action::Delete,
            Some(Value::Map(map)) if self.replaces => {
                Action::Modify(Modification::Replacement(Replacement::parse(&map)?))
            }
            Some(Value::Map(map)) => Action::Modify(Modification::Update(Update::parse_in(&map, &filters, &moment)?)),
            Some(other) if !matches!(other, Value::Array(_)) => {
                let found = other.type_name();
                let message = format!("an update is a map of operators or an array of stages, not of type {found}");
                return Err(UpdateError::FailedToParse(message).into());
            }
            Some(_) if !filters.is_empty() => {
                let message = "array filters are for update operators, not for a pipeline".to_owned();
                return Err(UpdateError::FailedToParse(message).into());
            }
            Some(stages) => {
                let variables = self.request.known_variables(moment.clone())?;
                Action::Modify(Modification::Piped(Piped::parse(&stages, &variables)?))
            }
        };
        let mut query = Query::new(self.request, moment)?;
        if let (Action::Modify(Modification::Update(update)), Some(collation)) = (&mut action, query.collation()) {
            *update = std::mem::take(update).collated(Some(collation));
        }
        if self.upsert && query.has_expression() {
            let message = "an upsert takes no $expr: it does not say what to insert";
            return Err(PipelineError::from(ExpressionError::new(ErrorCode::QueryFeatureNotAllowed, message)).into());
        }
        // The search and the writes share one time limit and one current time.
        query.begin(&self.target.engine.env);
        let (writer, upsert, as_bson) = (self.target.writer()?, self.upsert, self.as_bson);
        let mut job = FilterWrite { writer, query, action, upsert, returned: which, as_bson };
        let result = run(&mut job)?;
        Ok((result, job.query))
    }
}
