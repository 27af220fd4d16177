//! The document that an upsert inserts if its filter matches no document.

use alluvium_document::path::FieldPath;
use alluvium_document::row::ID;
use alluvium_document::{Map, Value, bson};

use super::place::{MATCHED, is_several};
use super::{Context, MAX_DOCUMENT_BYTES, Update, UpdateError, order};
use crate::filter::Filter;

impl Update {
    /// The document that an upsert by a filter inserts. It is the result of applying the update,
    /// including `$setOnInsert`, to the fields that the filter demands ([`Filter::equalities`]).
    /// `_id` comes first. It is missing if neither the filter nor the update has one. `time_ms` is
    /// the field of [`Context`].
    ///
    /// # Errors
    /// [`UpdateError::NotSingleValueField`] if the filter demands a field twice, or a field and
    /// another field inside it; [`UpdateError::ImmutableField`] if the `_id` of the update differs
    /// from the `_id` of the filter; otherwise as for [`Update::apply`].
    pub fn for_upsert_by(&self, filter: &Filter, time_ms: i64) -> Result<Map, UpdateError> {
        let mut document = demanded(filter)?;
        self.apply_to_map(&mut document, &Context { time_ms, inserting: true })?;
        finish(document)
    }
}

/// The document with the fields that a filter demands.
fn demanded(filter: &Filter) -> Result<Map, UpdateError> {
    let mut fields = Vec::new();
    for (path, value) in filter.equalities() {
        fields.push((self::path(path)?, value));
    }
    fields.sort_by(|(a, _), (b, _)| order::compare_paths(a, b));
    if let Some(pair) = fields.windows(2).find(|pair| pair[1].0.starts_with(&pair[0].0)) {
        let (a, b) = (&pair[0].0, &pair[1].0);
        return Err(UpdateError::NotSingleValueField(match a == b {
            true => format!("the filter of the upsert demands two values of '{a}'"),
            false => format!("the filter of the upsert demands values of '{a}' and of '{b}' in it"),
        }));
    }
    let mut document = Map::new();
    for (path, value) in fields {
        put(&mut document, &path, value);
    }
    Ok(document)
}

/// The value that a filter demands for `_id`.
pub(super) fn demanded_id(filter: &Filter) -> Result<Option<Value>, UpdateError> {
    let mut id = None;
    for (path, value) in filter.equalities() {
        if path == ID && id.is_some() {
            return Err(UpdateError::NotSingleValueField(
                "the filter of the upsert demands two values of '_id'".to_owned(),
            ));
        }
        if path == ID {
            id = Some(value.clone());
        } else if path.strip_prefix(ID).is_some_and(|rest| rest.starts_with('.')) {
            let message = format!("the filter of the upsert demands '{path}': a replacement needs all of '_id'");
            return Err(UpdateError::NotExactValueField(message));
        }
    }
    Ok(id)
}

fn path(text: &str) -> Result<FieldPath, UpdateError> {
    let path: FieldPath = text.parse().map_err(|error| UpdateError::of_path(text, error))?;
    if path.names().any(|name| name == MATCHED || is_several(name)) {
        return Err(UpdateError::BadValue(format!("the path '{text}' of the filter cannot be a field of a document")));
    }
    Ok(path)
}

/// Inserts a value at a missing path, and creates the maps above it.
fn put(map: &mut Map, path: &FieldPath, value: &Value) {
    let mut map = map;
    let mut names = path.names().peekable();
    while let Some(name) = names.next() {
        if names.peek().is_none() {
            map.push(name, value.clone());
            return;
        }
        if !map.contains(name) {
            map.push(name, Map::new());
        }
        let Some(Value::Map(inner)) = map.get_mut(name) else { return };
        map = inner;
    }
}

/// Moves `_id` to the front, and checks that the document can be stored.
pub(super) fn finish(mut document: Map) -> Result<Map, UpdateError> {
    if let Some(at) = document.entries.iter().position(|(name, _)| name.as_str() == Some(ID)) {
        document.entries[..=at].rotate_right(1);
    }
    let size = bson::document_size(&document);
    if size > MAX_DOCUMENT_BYTES {
        return Err(UpdateError::TooLarge(format!(
            "the document would have {size} bytes as BSON; the limit is {MAX_DOCUMENT_BYTES}"
        )));
    }
    let document = Value::Map(document);
    if document.is_too_deep() {
        let message = format!("the document would nest deeper than {} levels", alluvium_document::MAX_DEPTH);
        return Err(UpdateError::Overflow(message));
    }
    match document {
        Value::Map(map) => Ok(map),
        _ => Ok(Map::new()),
    }
}
