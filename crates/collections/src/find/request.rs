//! The requests of callers, before they are checked.

use crate::engine::Engine;
use crate::ids;
use crate::names::FullName;
use alluvium_document::{InputError, IntoDocument, Map, Value};
use alluvium_env::Env;
use alluvium_exec::{Interrupted, Limits};
use alluvium_query::ErrorCode;
use alluvium_query::collation::Collation;
use alluvium_query::expression::{Expression, Interrupt, Interruption, Memory, Scope, Variables, check_variable};
use alluvium_query::pipeline::PipelineError;

/// The name or the keys of the index to use: `"author_1"` or `{"author": 1}`; `{"$natural": 1}` or
/// `-1` for a scan of all documents.
#[derive(Debug, Clone, PartialEq)]
pub struct Hint(pub(crate) Value);

impl Hint {
    /// The name, or the keys.
    pub fn into_value(self) -> Value {
        self.0
    }
}

impl From<&str> for Hint {
    /// The name of an index; or its keys, if the text begins with a brace.
    fn from(text: &str) -> Self {
        Self(Value::from(text))
    }
}

impl From<&String> for Hint {
    fn from(text: &String) -> Self {
        Self(Value::from(text.as_str()))
    }
}

impl From<String> for Hint {
    fn from(text: String) -> Self {
        Self(Value::from(text))
    }
}

impl From<Map> for Hint {
    fn from(keys: Map) -> Self {
        Self(Value::Map(keys))
    }
}

/// A query that is not checked yet.
#[derive(Clone)]
pub struct FindRequest {
    /// The filter.
    pub filter: Result<Map, InputError>,
    /// The order.
    pub sort: Option<Result<Map, InputError>>,
    /// The projection.
    pub projection: Option<Result<Map, InputError>>,
    /// The options of the collation by which strings are compared.
    pub collation: Option<Result<Map, InputError>>,
    /// Variables that expressions may use.
    pub variables: Option<Result<Map, InputError>>,
    /// The number of documents to skip.
    pub skip: u64,
    /// The maximum number of documents to return.
    pub limit: Option<u64>,
    /// The index to use.
    pub hint: Option<Hint>,
    /// The names of the indexes that may be used; `None` for all.
    pub only: Option<Vec<String>>,
    /// The limits that end the query early.
    pub limits: Limits,
    /// True if sorts may spill into files.
    pub allow_disk_use: bool,
    /// The maximum number of bytes of keys that are kept in memory to return each document once.
    pub seen_bytes_max: usize,
}

impl FindRequest {
    /// A request for all matching documents, in no defined order.
    pub fn new(filter: impl IntoDocument) -> Self {
        Self {
            filter: filter.into_map(),
            sort: None,
            projection: None,
            collation: None,
            variables: None,
            skip: 0,
            limit: None,
            hint: None,
            only: None,
            limits: Limits::default(),
            allow_disk_use: true,
            seen_bytes_max: usize::MAX,
        }
    }

    /// The `_id`, if the request has no other condition and no options except limits. The value is not a map or another
    /// type that would be parsed as a condition.
    pub(crate) fn only_id(&self) -> Option<&Value> {
        let others = [&self.sort, &self.projection, &self.collation, &self.variables];
        if others.iter().any(|other| other.is_some()) || self.skip > 0 || self.hint.is_some() {
            return None;
        }
        match &self.filter.as_ref().ok()?.entries[..] {
            [(Value::String(name), id)] if name.as_str() == ids::ID => match id {
                Value::Int32(_) | Value::Int64(_) | Value::String(_) | Value::ObjectId(_) => Some(id),
                _ => None,
            },
            _ => None,
        }
    }

    /// The variables and the collation of the request, added to those of the moment.
    ///
    /// # Errors
    /// The variables are not a map, or a name is not allowed for a variable; [`crate::error::Error::Collation`].
    pub fn known_variables(&self, moment: Variables) -> crate::error::Result<Variables> {
        known_variables(self.variables.clone(), collated(self.collation.clone(), moment)?)
    }
}

/// The variables that all expressions of a query share: the current time as `$$NOW`, the seed of `$rand`, and the
/// account of their memory.
pub fn moment(env: &Env, memory: &Memory) -> Variables {
    Variables::NONE.at(env.clock.unix_millis()).seeded(env.rng.next_u64()).counted_in(memory.clone())
}

/// As [`moment`], with the cluster time of a database.
pub(crate) fn moment_in(engine: &Engine) -> Variables {
    moment(&engine.env, engine.memory()).at_cluster_time(engine.cluster_time())
}

/// As [`moment_in`], with the collation of a collection or a view.
pub fn moment_of(engine: &Engine, name: &FullName) -> Variables {
    moment_in(engine).collated(engine.catalog.collation(name))
}

/// The moment of a query with these limits, which also end the evaluation of an expression that visits many elements.
pub fn limited(moment: Variables, limits: &Limits, env: &Env) -> Variables {
    match interrupt(limits, env) {
        Some(interrupt) => moment.interrupted_by(interrupt),
        None => moment,
    }
}

/// The interrupt that ends evaluations at these limits; `None` if there are none.
pub fn interrupt(limits: &Limits, env: &Env) -> Option<Interrupt> {
    if limits.stop.is_none() && limits.max_time.is_none() {
        return None;
    }
    let (mut limits, env) = (limits.clone(), env.clone());
    limits.begin(&env);
    Some(Interrupt::new(move || match limits.check(&env) {
        Ok(()) => Ok(()),
        Err(Interrupted::Stopped) => {
            Err(Interruption { code: ErrorCode::Interrupted, message: "the query was stopped".to_owned() })
        }
        Err(Interrupted::MaxTimeExpired { limit_ms }) => {
            let message = format!("the query exceeded its time limit of {limit_ms} ms");
            Err(Interruption { code: ErrorCode::MaxTimeMSExpired, message })
        }
    }))
}

/// Replaces the collation of the moment, which is that of the collection, by the collation of the request, if one is
/// given. No other function chooses a collation.
pub(crate) fn collated(given: Option<Result<Map, InputError>>, moment: Variables) -> crate::error::Result<Variables> {
    Ok(match given.transpose()? {
        Some(options) => moment.collated(Collation::parse(&options)?),
        None => moment,
    })
}

/// Adds variables that are given as a map to those of the moment. Their values are expressions without fields, which
/// can use the preceding variables.
pub(crate) fn known_variables(
    given: Option<Result<Map, InputError>>,
    moment: Variables,
) -> crate::error::Result<Variables> {
    let mut variables = moment;
    for (name, value) in given.transpose()?.unwrap_or_default().entries {
        let name = name.as_str().unwrap_or_default();
        check_variable(name).map_err(PipelineError::from)?;
        let expression = Expression::parse_in(&value, &variables).map_err(PipelineError::from)?;
        let value = expression.evaluate(&mut Scope::of_map(&Map::new())).map_err(PipelineError::from)?;
        variables = variables.with(name, value);
    }
    Ok(variables)
}
