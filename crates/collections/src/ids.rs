//! The `_id` of a document: its position, its key, and the size limit of a document.

use crate::error::{Error, Result, id_text};
use crate::object_id::new_object_id;
use alluvium_document::{Binary, Map, Value};
use alluvium_env::Env;

/// The largest document, in bytes of BSON.
pub const MAX_DOCUMENT_BYTES: usize = 16 << 20;

/// The maximum number of bytes of the record of a write in addition to a document. MongoDB's clients can read documents
/// that exceed the size limit by this much.
const RECORD_BYTES: usize = 16 << 10;

/// A JSON text below this length cannot be a document over the size limit, because BSON needs less than eight bytes for
/// each byte of JSON (`[1,1,…]` is the worst case).
pub const CHECKED_TEXT_BYTES_MIN: usize = MAX_DOCUMENT_BYTES / 8;

/// The field that identifies a document.
pub(crate) const ID: &str = "_id";

/// The UUID of a collection for clients, made of the number of its tree of documents. A collection keeps it as long as it
/// exists, even if it is renamed.
pub fn collection_uuid(documents: u64) -> Value {
    Value::Binary(Binary::uuid(&[&b"alluvium"[..], &documents.to_be_bytes()].concat()))
}

/// Makes `_id` the first field of a document. A document without an `_id` gets a new object id.
pub fn ensure_id(map: &mut Map, env: &Env) {
    if !move_id(map) {
        let id = Value::ObjectId(new_object_id(env));
        map.entries.insert(0, (Value::from(ID), id));
    }
}

/// Sets the `_id` of a document, and makes it the first field. If the document has an `_id`
/// already, the two must be equal.
///
/// # Errors
/// [`Error::InvalidId`].
pub fn set_id(map: &mut Map, id: Value) -> Result<()> {
    match map.get(ID) {
        Some(own) if alluvium_document::compare::equal(own, &id) => {}
        Some(own) => {
            let what = format!("the document has _id {}, which is not {}", id_text(own), id_text(&id));
            return Err(Error::InvalidId { code: 2, what });
        }
        None => map.entries.insert(0, (Value::from(ID), id)),
    }
    move_id(map);
    Ok(())
}

/// As [`set_id`], for a document that is stored under this `_id`. Keeps the stored value, including its type.
pub(crate) fn keep_id(map: &mut Map, id: Value) -> Result<()> {
    set_id(map, id.clone())?;
    // `set_id` has made the `_id` the first field.
    if let Some((_, own)) = map.entries.first_mut() {
        *own = id;
    }
    Ok(())
}

/// Moves the `_id` to the front. Returns false if the document has none.
fn move_id(map: &mut Map) -> bool {
    match map.entries.iter().position(|(name, _)| name.as_str() == Some(ID)) {
        Some(at) => {
            map.entries[..=at].rotate_right(1);
            true
        }
        None => false,
    }
}

/// The key of an `_id`.
///
/// # Errors
/// [`Error::InvalidId`].
pub fn id_key(id: &Value) -> Result<Vec<u8>> {
    use alluvium_document::key::IdError;
    alluvium_document::key::id_key(id).map_err(|error| {
        let code = match &error {
            IdError::Dollar(_) => 52,
            IdError::Type(_) => 53,
            IdError::TooDeep => 2,
        };
        Error::InvalidId { code, what: error.to_string() }
    })
}

/// The `_id` of a key, as extended JSON; the bytes of a damaged key.
pub fn key_text(key: &[u8]) -> String {
    let mut rest = key;
    match alluvium_document::key::decode(&mut rest) {
        Ok(id) if rest.is_empty() => id_text(&id),
        _ => format!("key {key:02x?}"),
    }
}

/// The key of a document, after a check of the document's size.
///
/// # Errors
/// [`Error::InvalidDocument`], [`Error::DocumentTooLarge`], [`Error::InvalidId`].
pub fn checked_key(map: &Map) -> Result<Vec<u8>> {
    let key = key_in(map)?;
    check_size(alluvium_document::bson::document_size(map))?;
    Ok(key)
}

/// The key of the record of a write. A record contains the result of the write, and possibly a document of the maximum
/// size, so it may be larger than a user's document.
pub(crate) fn record_key(map: &Map) -> Result<Vec<u8>> {
    let key = key_in(map)?;
    check_size(alluvium_document::bson::document_size(map).saturating_sub(RECORD_BYTES))?;
    Ok(key)
}

fn key_in(map: &Map) -> Result<Vec<u8>> {
    id_key(map.get(ID).ok_or_else(|| Error::InvalidDocument("it has no _id".to_owned()))?)
}

/// An error if a document of `size` bytes of BSON is too large.
pub(crate) fn check_size(size: usize) -> Result<()> {
    if size > MAX_DOCUMENT_BYTES {
        let what = format!("it has {size} bytes as BSON; the limit is {MAX_DOCUMENT_BYTES}");
        return Err(Error::DocumentTooLarge(what));
    }
    Ok(())
}
