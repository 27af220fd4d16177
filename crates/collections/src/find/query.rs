//! A query that was parsed and checked.

use super::mismatches;
use super::request::{FindRequest, Hint};
use crate::error::{Error, Result};
use alluvium_document::path::FieldPath;
use alluvium_document::{InputError, IntoDocument};
use alluvium_document::{Map, Value};
use alluvium_exec::{Limits, Request};
use alluvium_query::collation::Collation;
use alluvium_query::expression::Variables;
use alluvium_query::filter::Filter;
use alluvium_query::plan;
use alluvium_query::projection::Projection;
use alluvium_query::sort::Sort;

/// The name of the order of a scan, in a hint or a sort.
const NATURAL: &str = "$natural";

fn bad_hint(what: &str) -> Error {
    alluvium_query::plan::PlanError::BadHint(what.to_owned()).into()
}

/// A query that was parsed and checked.
#[derive(Debug, Clone)]
pub struct Query {
    pub(crate) filter: Filter,
    pub(crate) projection: Option<Projection>,
    pub(crate) skip: u64,
    pub(crate) limit: Option<u64>,
    pub(crate) hint: Option<IndexHint>,
    /// The names of the indexes that may be used; `None` for all.
    pub(crate) only: Option<Vec<String>>,
    /// The collation of strings; `None` compares them by their bytes.
    pub(crate) collation: Option<Collation>,
    /// The comparisons with dates, if they are to be logged when the query finds nothing.
    pub(crate) dates: Option<Map>,
    /// The part that the operators need.
    pub(crate) request: Request,
}

/// A hint that was parsed and checked.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum IndexHint {
    Name(String),
    Keys(Map),
    Natural {
        backward: bool,
    },
    /// As `Name`, but only if the index contains all documents that the filter matches.
    Usable(String),
}

/// The indexes that a query has to use.
#[derive(Debug, Clone, Default)]
pub(crate) struct IndexChoice {
    /// The index that the query must use.
    pub hint: Option<IndexHint>,
    /// The names of the indexes that the query may use; `None` for all.
    pub only: Option<Vec<String>>,
}

impl IndexHint {
    pub fn new(hint: Hint) -> Result<Self> {
        let keys = match hint.0 {
            Value::String(text) if text.trim_start().starts_with('{') => {
                text.as_str().into_map().map_err(|error| match error {
                    InputError::Json(what) => Error::Json(format!("the hint is not JSON: {what}")),
                    error => error.into(),
                })?
            }
            Value::String(name) => return Ok(Self::Name(name.into())),
            Value::Map(keys) => keys,
            other => {
                return Err(Error::InvalidDocument(format!("a hint is a name or a map, not {}", other.type_name())));
            }
        };
        Ok(match Self::natural(&keys) {
            Some(natural) => natural,
            None if keys.contains(NATURAL) => {
                return Err(bad_hint("a hint of $natural is 1 or -1, without other keys"));
            }
            None => Self::Keys(keys),
        })
    }

    /// The hint that a sort by `$natural` represents; `None` for any other sort.
    fn of_sort(sort: &Map) -> Result<Option<Self>> {
        match Self::natural(sort) {
            None if sort.contains(NATURAL) => Err(bad_hint("a sort by $natural is 1 or -1, without other fields")),
            natural => Ok(natural),
        }
    }

    fn natural(keys: &Map) -> Option<Self> {
        let direction = keys.get(NATURAL).filter(|_| keys.len() == 1)?.as_f64()?;
        (direction.abs() == 1.0).then_some(Self::Natural { backward: direction < 0.0 })
    }

    pub fn as_planned(&self) -> plan::Hint<'_> {
        match self {
            Self::Name(name) => plan::Hint::Name(name),
            Self::Keys(keys) => plan::Hint::Keys(keys),
            Self::Natural { backward } => plan::Hint::Natural { backward: *backward },
            Self::Usable(name) => plan::Hint::Usable(name),
        }
    }
}

impl Query {
    /// Parses and checks a request. `moment` determines the value of `$$NOW` and the numbers of `$rand`.
    ///
    /// # Errors
    /// [`Error::Filter`], [`Error::Sort`], [`Error::Projection`], [`Error::Json`],
    /// [`Error::InvalidDocument`], [`Error::Collation`], [`Error::Plan`] for `$natural`.
    pub fn new(request: FindRequest, moment: Variables) -> Result<Self> {
        let variables = request.known_variables(moment)?;
        let given = request.filter?;
        let dates = if mismatches::are_logged() { mismatches::of_dates(&given) } else { None };
        let filter = Filter::parse_in(&given, &variables)?;
        let mut hint = request.hint.map(IndexHint::new).transpose()?;
        let mut sort = request.sort.transpose()?.unwrap_or_default();
        // As in MongoDB, a sort by `$natural` is a hint.
        if let Some(natural) = IndexHint::of_sort(&sort)? {
            if hint.as_ref().is_some_and(|hint| *hint != natural) {
                return Err(bad_hint("a sort by $natural takes no hint, except $natural in its direction"));
            }
            (hint, sort) = (Some(natural), Map::new());
        }
        let sort = Sort::parse(&sort)?.collated(variables.collation());
        let projection = request.projection.transpose()?;
        let projection = projection.map(|projection| Projection::parse_in(&projection, &variables)).transpose()?;
        let projection = projection.filter(|projection| !projection.is_everything());
        let needs = projection.as_ref().and_then(needs_of);
        Ok(Self {
            filter,
            projection,
            skip: request.skip,
            limit: request.limit,
            hint,
            only: request.only,
            collation: variables.collation().cloned(),
            dates,
            request: Request {
                sort,
                needs,
                allow_disk_use: request.allow_disk_use,
                seen_bytes_max: request.seen_bytes_max,
                limits: request.limits,
                ..Request::default()
            },
        })
    }

    /// A query for all complete documents that match a filter, in no defined order.
    pub(crate) fn of_filter(filter: Filter, collation: Option<Collation>, limits: Limits) -> Self {
        let request = Request { limits, ..Request::default() };
        let (skip, limit, hint, only) = (0, None, None, None);
        Self { filter, projection: None, skip, limit, hint, only, collation, dates: None, request }
    }

    /// True for a sort or a hint `{$natural: -1}`.
    pub(crate) fn reads_backward(&self) -> bool {
        matches!(self.hint, Some(IndexHint::Natural { backward: true }))
    }

    /// The collation of strings; `None` compares them by their bytes.
    pub fn collation(&self) -> Option<&Collation> {
        self.collation.as_ref()
    }

    /// True if the filter has an `$expr`.
    pub fn has_expression(&self) -> bool {
        self.filter.has_expression()
    }

    /// Starts the time limit. A write that searches several times starts it once, so one limit covers all searches.
    pub fn begin(&mut self, env: &alluvium_env::Env) {
        self.request.limits.begin(env);
    }

    /// Reduces the query to the number of documents.
    pub fn only_count(&mut self) {
        self.request.needs = Some(Vec::new());
        self.request.sort = Sort::default();
    }

    /// Reduces the query to the keys of the documents.
    pub fn only_ids(&mut self) {
        self.request.needs = Some(Vec::new());
    }

    /// Reduces the query to the values at a path. Each distinct value is returned at least once.
    pub fn only_values(&mut self, path: FieldPath) {
        self.request.needs = Some(vec![path]);
        // A skip or a limit counts documents, so documents with equal values must not be left out.
        self.request.any_of_equals = self.skip == 0 && self.limit.is_none();
    }
}

/// The paths whose values suffice for a projection.
fn needs_of(projection: &Projection) -> Option<Vec<FieldPath>> {
    projection.needs()?.into_iter().map(|name| name.parse().ok()).collect()
}
