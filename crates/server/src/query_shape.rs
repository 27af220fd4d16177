//! The shapes of queries: queries that differ only in values have the same shape.
//!
//! There are two kinds of shapes, as in MongoDB. The shape of the plan (`planCacheShapeHash`) contains the parts that
//! determine plans: the conditions without their values, independent of their order; the sort, the needed fields, and
//! the collation. The shape of the query (`queryShapeHash`) contains all parts of a command in their order, with the
//! types of the values.

mod conditions;
mod stages;

use crate::fields::{self, Fields};
use alluvium::{Map, Value};
use conditions::all_of;
use sha2::{Digest, Sha256};

/// The position of the query in a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum QueryPlace {
    /// The command has no query.
    Nowhere,
    /// The query is a field with the filter of a read.
    Filter(&'static str),
    /// The query is the pipeline of a read.
    Pipeline,
    /// The query is a field with the filter of a write.
    WriteFilter(&'static str),
    /// The queries are in a field with the statements of a write.
    Statements(&'static str),
}

/// The parts of a command that determine plans.
#[derive(Default)]
struct Parts {
    filter: Map,
    sort: Map,
    projection: Map,
    collation: Map,
    /// The fields that later stages of a pipeline need.
    needed: String,
}

/// The shape of the plan of a command, as a hash: eight hexadecimal digits.
pub(crate) fn of_plan(place: QueryPlace, body: &Map) -> String {
    hex(&of_plan_text(place, body), 4)
}

/// As [`of_plan`], together with the existing indexes: each set of indexes gives another hash.
pub(crate) fn of_plan_and_indexes(place: QueryPlace, body: &Map, indexes: &[Map]) -> String {
    let mut text = of_plan_text(place, body);
    for index in indexes {
        text.push('~');
        text.push_str(&index.to_string());
    }
    hex(&text, 4)
}

/// The shape of a query as a hash of 64 hexadecimal digits; `None` for a command without a query shape.
pub(crate) fn of_query(db: &str, command: &str, place: QueryPlace, body: &Map) -> Option<String> {
    let filter = match place {
        QueryPlace::Filter(field) => field,
        QueryPlace::Pipeline => "pipeline",
        QueryPlace::Nowhere | QueryPlace::WriteFilter(_) | QueryPlace::Statements(_) => return None,
    };
    let mut text = format!("{command} {db}");
    for (name, value) in body.iter().filter(|(name, _)| name.as_str().is_some_and(is_of_shape)) {
        let name = name.as_str().unwrap_or_default();
        let shown = match value {
            Value::Map(conditions) if name == filter => all_of(conditions).of_query(),
            Value::Array(pipeline) if name == filter => stages::shape(pipeline),
            Value::Map(fields) if name == "projection" => projected(fields),
            value if name == command || ["sort", "collation", "hint", "key"].contains(&name) => value.to_string(),
            value => conditions::expression(value),
        };
        text.push_str(&format!("; {name} {shown}"));
    }
    Some(hex(&text, 32))
}

/// True if a field of a command belongs to its query.
fn is_of_shape(name: &str) -> bool {
    !fields::is_common(name) && !["cursor", "explain", "batchSize"].contains(&name)
}

fn of_plan_text(place: QueryPlace, body: &Map) -> String {
    let Parts { filter, sort, projection, collation, needed } = Parts::of(place, body);
    let filter = all_of(&filter).planned().of_plan();
    format!("{filter} s{sort} p{} c{collation} {needed}", required(&projection).join(","))
}

/// The first `bytes` bytes of a digest, in hexadecimal digits.
fn hex(text: &str, bytes: usize) -> String {
    Sha256::digest(text).iter().take(bytes).map(|byte| format!("{byte:02X}")).collect()
}

impl Parts {
    fn of(place: QueryPlace, body: &Map) -> Self {
        let part = |map: &Map, name: &str| map.document(name).cloned().unwrap_or_default();
        match place {
            QueryPlace::Nowhere => Self::default(),
            QueryPlace::Filter(filter) | QueryPlace::WriteFilter(filter) => Self {
                filter: part(body, filter),
                sort: part(body, "sort"),
                projection: part(body, "projection"),
                collation: part(body, "collation"),
                needed: String::new(),
            },
            QueryPlace::Pipeline => {
                let head = stages::head(body.elements("pipeline").unwrap_or_default());
                Self { collation: part(body, "collation"), ..head }
            }
            QueryPlace::Statements(list) => {
                let first = body.elements(list).and_then(|list| list.first()?.as_map().cloned()).unwrap_or_default();
                Self { filter: part(&first, "q"), collation: part(&first, "collation"), ..Self::default() }
            }
        }
    }
}

/// True if a value of a projection excludes its field.
fn is_excluded(value: &Value) -> bool {
    match value {
        Value::Bool(included) => !included,
        value => value.as_f64() == Some(0.0),
    }
}

/// The fields that a projection needs, sorted; empty if the projection needs whole documents.
fn required(projection: &Map) -> Vec<String> {
    let mut fields = Vec::new();
    let mut has_id = true;
    for (name, value) in projection.iter() {
        let name = name.as_str().unwrap_or_default();
        let is_plain = matches!(value, Value::Bool(_)) || value.is_number();
        match is_plain {
            true if is_excluded(value) && name == "_id" => has_id = false,
            true if !is_excluded(value) => fields.push(name.to_owned()),
            // Any other projection than plain inclusions reads the whole document.
            _ => return Vec::new(),
        }
    }
    if has_id && !fields.is_empty() && !fields.iter().any(|field| field == "_id") {
        fields.push("_id".to_owned());
    }
    fields.sort();
    fields
}

/// A projection as text, in the order of its fields.
fn projected(projection: &Map) -> String {
    let each = projection.iter().map(|(name, value)| {
        let is_plain = matches!(value, Value::Bool(_)) || value.is_number();
        let shown = if is_plain { (!is_excluded(value)).to_string() } else { conditions::expression(value) };
        format!("{name}: {shown}")
    });
    each.collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests;
