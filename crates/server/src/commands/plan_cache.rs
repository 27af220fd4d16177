//! `planCacheSetFilter`, `planCacheListFilters`, `planCacheClearFilters`, `planCacheClear`: the filters that restrict
//! the indexes of queries. The server does not cache plans.

use super::Command;
use crate::call::Call;
use crate::error::{CommandError, CommandResult};
use crate::fields::{Field, Fields, Kind, optional, required};
use crate::plan_filters::{PlanFilter, QueryShape};
use crate::query_shape::QueryPlace;
use crate::read;
use crate::security::access::Access;
use crate::security::action::Action;
use alluvium::{Hint, Map, Value};
use alluvium_document::BsonBuilder;

/// A command with the fields of a query.
const fn command(
    name: &'static str,
    fields: &'static [Field],
    action: Action,
    run: fn(&mut Call<'_>) -> CommandResult<BsonBuilder>,
) -> Command {
    Command { fields, access: Access::Collection(action), ..Command::reading(name, run).audited() }
}

pub(super) const CLEAR: Command = command(
    "planCacheClear",
    &[
        required("planCacheClear", Kind::Collection),
        optional("query", Kind::Any),
        optional("sort", Kind::Any),
        optional("projection", Kind::Any),
        optional("collation", Kind::Any),
    ],
    Action::PlanCacheWrite,
    clear,
);

pub(super) const CLEAR_FILTERS: Command = command(
    "planCacheClearFilters",
    &[
        required("planCacheClearFilters", Kind::Collection),
        optional("query", Kind::Any),
        optional("sort", Kind::Any),
        optional("projection", Kind::Any),
        optional("collation", Kind::Any),
    ],
    Action::PlanCacheIndexFilter,
    clear_filters,
);

pub(super) const LIST_FILTERS: Command = Command {
    is_audited: false,
    ..command(
        "planCacheListFilters",
        &[required("planCacheListFilters", Kind::Collection)],
        Action::PlanCacheIndexFilter,
        list_filters,
    )
};

pub(super) const SET_FILTER: Command = command(
    "planCacheSetFilter",
    &[
        required("planCacheSetFilter", Kind::Collection),
        optional("query", Kind::Any),
        optional("sort", Kind::Any),
        optional("projection", Kind::Any),
        optional("collation", Kind::Any),
        optional("indexes", Kind::Any),
    ],
    Action::PlanCacheIndexFilter,
    set_filter,
);

/// The full name of the collection, which must not be a view.
fn target(call: &Call<'_>) -> CommandResult<String> {
    let full = call.namespace()?;
    if call.collection_name()?.contains('\0') {
        return Err(CommandError::invalid_namespace("the name of a collection has no zero bytes"));
    }
    match call.shared.db.views().iter().any(|(view, _)| *view == full) {
        true => Err(CommandError::not_supported_on_view(format!("{full} is a view, whose queries have no plans"))),
        false => Ok(full),
    }
}

/// True if a filter restricts the indexes that the query of a command may use.
pub(super) fn is_filtered(call: &Call<'_>, collection: &str, place: QueryPlace, body: &Map) -> bool {
    let filters = call.shared.plan_filters.lock();
    if filters.is_empty() {
        return false;
    }
    let shape = match place {
        QueryPlace::Filter(filter) | QueryPlace::WriteFilter(filter) => QueryShape::of(body, filter),
        QueryPlace::Pipeline => QueryShape::of_pipeline(body),
        QueryPlace::Statements(field) => match body.elements(field) {
            Some([Value::Map(statement)]) => QueryShape::of(statement, "q"),
            _ => return false,
        },
        QueryPlace::Nowhere => return false,
    };
    filters.indexes(&format!("{}.{collection}", call.db), &shape).is_some()
}

/// The indexes that a query may use. As in MongoDB, a filter of `planCacheSetFilter` overrides a hint.
pub(super) enum Choice {
    /// Any index, which the planner chooses.
    Any,
    /// The index that the client names.
    Hint(Hint),
    /// The indexes with these names, which the filter for the shape of the query allows.
    Only(Vec<String>),
}

/// The indexes for a query in a field of the body. Its hint and its sort are other fields of the body.
pub(super) fn choice(call: &Call<'_>, collection: &str, body: &Map, query: &str) -> CommandResult<Choice> {
    of_shape(call, collection, body, || QueryShape::of(body, query))
}

/// As [`choice`], for the query at the beginning of a pipeline.
pub(super) fn choice_of_pipeline(call: &Call<'_>, collection: &str, body: &Map) -> CommandResult<Choice> {
    of_shape(call, collection, body, || QueryShape::of_pipeline(body))
}

fn of_shape(
    call: &Call<'_>,
    collection: &str,
    body: &Map,
    shape: impl FnOnce() -> QueryShape,
) -> CommandResult<Choice> {
    Ok(match (allowed(call, collection, shape)?, read::hint(body)) {
        (Some(names), _) => Choice::Only(names),
        (None, Some(hint)) => Choice::Hint(hint),
        (None, None) => Choice::Any,
    })
}

/// The names of the indexes that a query may use; `None` if it may use all indexes.
fn allowed(
    call: &Call<'_>,
    collection: &str,
    shape: impl FnOnce() -> QueryShape,
) -> CommandResult<Option<Vec<String>>> {
    let filters = call.shared.plan_filters.lock();
    if filters.is_empty() {
        return Ok(None);
    }
    let shape = shape();
    let Some(indexes) = filters.indexes(&format!("{}.{collection}", call.db), &shape).map(<[Value]>::to_vec) else {
        return Ok(None);
    };
    drop(filters);
    let existing = call.collection_called(collection).indexes()?;
    let is_meant = |definition: &Map| {
        indexes.iter().any(|index| match index {
            Value::String(name) => definition.text("name") == Some(name),
            keys => definition.get("key") == Some(keys),
        })
    };
    let names = existing.into_iter().filter(|index| is_meant(&index.definition)).map(|index| index.name);
    Ok(Some(names.collect()))
}

fn clear(call: &mut Call<'_>) -> CommandResult<BsonBuilder> {
    target(call)?;
    Ok(call.reply())
}

fn clear_filters(call: &mut Call<'_>) -> CommandResult<BsonBuilder> {
    let full = target(call)?;
    let shape = call.body.document("query").is_some().then(|| QueryShape::of(&call.body, "query"));
    // A query shape clears its own filter. Without a query and other parts of a shape, the command clears all filters.
    let others = ["query", "sort", "projection", "collation"];
    if shape.is_some() || !others.iter().any(|name| call.body.document(name).is_some()) {
        call.shared.plan_filters.lock().clear(&full, shape.as_ref());
    }
    Ok(call.reply())
}

fn list_filters(call: &mut Call<'_>) -> CommandResult<BsonBuilder> {
    let filters = call.shared.plan_filters.lock().list(&target(call)?);
    call.answer(&Map::from([("filters", Value::Array(filters))]))
}

/// Checks the fields of a filter's query. An array counts as an empty object.
fn check_shape(body: &Map) -> CommandResult<()> {
    let wrong =
        |name: &str| CommandError::bad_value(format!("required field '{name}' of planCacheSetFilter is an object"));
    let is_object = |value: &Value| matches!(value, Value::Map(_) | Value::Array(_));
    if !body.get("query").is_some_and(is_object) {
        return Err(wrong("query"));
    }
    if let Some(name) = ["sort", "projection"].iter().find(|name| body.get(name).is_some_and(|value| !is_object(value)))
    {
        return Err(wrong(name));
    }
    match body.get("collation") {
        None => Ok(()),
        Some(Value::Map(collation)) if collation.text("locale").is_some() => Ok(()),
        Some(Value::Map(collation)) if !collation.is_empty() => {
            Err(CommandError::missing_field("BSON field 'collation.locale' is missing but a required field"))
        }
        Some(_) => Err(CommandError::bad_value("'collation' of planCacheSetFilter is an object with a locale")),
    }
}

fn set_filter(call: &mut Call<'_>) -> CommandResult<BsonBuilder> {
    let full = target(call)?;
    check_shape(&call.body)?;
    let name = call.collection_name()?;
    if !call.shared.db.collections().iter().any(|info| info.database == call.db && info.name == name) {
        return Err(CommandError::bad_value(format!("the collection {full} does not exist")));
    }
    let indexes = call.body.elements("indexes").unwrap_or_default().to_vec();
    let is_index = |index: &Value| match index {
        Value::String(name) => !name.is_empty(),
        Value::Map(keys) => !keys.is_empty(),
        _ => false,
    };
    if indexes.is_empty() || !indexes.iter().all(is_index) {
        let message = "'indexes' of planCacheSetFilter are names of indexes or their keys, and at least one";
        return Err(CommandError::bad_value(message));
    }
    call.shared.plan_filters.lock().set(&full, PlanFilter { query: QueryShape::of(&call.body, "query"), indexes });
    Ok(call.reply())
}
