//! `convertToCapped`, `cloneCollectionAsCapped`, and the limits of capped collections in other commands.

use super::{Command, Levels};
use crate::call::Call;
use crate::error::{CommandError, CommandResult};
use crate::fields::{Fields, Kind, optional, required};
use crate::security::access::Access;
use crate::security::action::Action;
use crate::security::needs;
use alluvium::{CappedLimits, Error, Map, Value};
use alluvium_document::BsonBuilder;
use std::sync::Arc;

/// The most bytes of a capped collection: 1 PiB.
const SIZE_MAX: i64 = 1 << 50;

/// The limits in the fields of `create`; `None` if the collection will not be capped.
///
/// # Errors
/// Error 72 without a size; error 2 for a number that is out of range.
pub(super) fn limits(body: &Map) -> CommandResult<Option<CappedLimits>> {
    let size_bytes = body.coerced("size").map(size).transpose()?;
    let documents = body.coerced("max").map(documents).transpose()?.flatten();
    match (body.flag("capped"), size_bytes) {
        (false, None) if body.coerced("max").is_none() => Ok(None),
        (false, _) => {
            let message = "the 'capped' field needs to be true when either the 'size' or 'max' fields are present";
            Err(CommandError::invalid_options(message))
        }
        (true, Some(size_bytes)) => Ok(Some(CappedLimits { size_bytes, documents })),
        (true, None) => Err(CommandError::invalid_options("the 'size' field is required when 'capped' is true")),
    }
}

/// Checks a size in bytes.
pub(super) fn size(bytes: i64) -> CommandResult<u64> {
    match u64::try_from(bytes) {
        Ok(size) if (1..=SIZE_MAX).contains(&bytes) => Ok(size),
        _ => Err(CommandError::bad_value(format!("the size {bytes} must be from 1 to {SIZE_MAX} bytes"))),
    }
}

/// Checks a maximum number of documents. `None` means no limit: the number is zero or negative.
pub(super) fn documents(most: i64) -> CommandResult<Option<u64>> {
    match i32::try_from(most) {
        Ok(_) => Ok(u64::try_from(most).ok().filter(|most| *most > 0)),
        Err(_) if most < 0 => Ok(None),
        Err(_) => Err(CommandError::bad_value(format!("the maximum of {most} documents must be below 2147483648"))),
    }
}

/// The size in the commands of this file. Every error of the size is an error 72.
fn converted_size(body: &Map) -> CommandResult<CappedLimits> {
    match body.coerced("size") {
        Some(bytes) if bytes > 0 => Ok(CappedLimits { size_bytes: size(bytes)?, documents: None }),
        _ => Err(CommandError::invalid_options("Capped collection size must be greater than zero")),
    }
}

pub(super) const CONVERT: Command = Command {
    fields: &[required("convertToCapped", Kind::Any), optional("size", Kind::Any)],
    access: Access::Collection(Action::ConvertToCapped),
    levels: Levels::Local,
    ..Command::writing("convertToCapped", convert).audited()
};

fn convert(call: &mut Call<'_>) -> CommandResult<BsonBuilder> {
    let limits = converted_size(&call.body)?;
    if !matches!(call.argument(), Value::String(_)) {
        return Err(CommandError::invalid_namespace("the name of a collection is a string"));
    }
    let collection = source(call)?;
    collection.convert_to_capped_within(limits, call.max_time(), Arc::clone(&call.stop))?;
    // MongoDB drops the indexes, too.
    collection.drop_indexes()?;
    Ok(call.reply())
}

pub(super) const CLONE: Command = Command {
    fields: &[
        required("cloneCollectionAsCapped", Kind::Text),
        required("toCollection", Kind::Text),
        optional("size", Kind::Any),
    ],
    access: Access::ByFields(needs::writes::clone_as_capped),
    ..Command::writing("cloneCollectionAsCapped", clone).audited()
};

fn clone(call: &mut Call<'_>) -> CommandResult<BsonBuilder> {
    let limits = converted_size(&call.body)?;
    let source = source(call)?;
    let to = call.body.text("toCollection").unwrap_or_default().to_owned();
    let full = format!("{}.{to}", call.db);
    if call.shared.db.views().iter().any(|(name, _)| *name == full) {
        return Err(Error::IsView(full).into());
    }
    let copy = source.copy_to_capped(&call.collection_called(&to), limits);
    copy.max_time(call.max_time()).stop_when(Arc::clone(&call.stop)).run()?;
    Ok(call.reply())
}

/// The collection of the command, which has to exist.
fn source(call: &Call<'_>) -> CommandResult<alluvium::Collection> {
    let collection = call.collection()?;
    match collection.require_existing() {
        Ok(()) => Ok(collection),
        Err(Error::NoSuchCollection { name, .. }) => {
            Err(CommandError::namespace_not_found(format!("source collection {name} does not exist")))
        }
        // MongoDB looks up such names, too, and finds no collection.
        Err(Error::InvalidName(error)) if error.name.contains('$') => {
            Err(CommandError::namespace_not_found(format!("source collection {} does not exist", error.name)))
        }
        Err(error) => Err(error.into()),
    }
}
