//! Computed fields of a projection.

use super::{Projection, ProjectionError};
use crate::code::ErrorCode;
use crate::expression::{ExpressionError, MAX_VALUE_BYTES, Scope};
use crate::fields;
use alluvium_document::{Document, Map, bson};

/// Copies of a value are counted only if together they have more bytes than this as BSON.
const CHECKED_BYTES: usize = 4096;

/// Adds the computed fields to the fields that a projection includes.
pub(super) fn add(projection: &Projection, document: &Document, projected: &mut Map) -> Result<(), ProjectionError> {
    if projection.computed.is_empty() {
        return Ok(());
    }
    let mut scope = Scope::of(document);
    let mut bytes = 0;
    for (path, expression) in &projection.computed {
        let value = expression.evaluate(&mut scope)?;
        let names: Vec<&str> = path.names().collect();
        if let Some(value) = &value {
            let (size, places) = (bson::bson_size(value), fields::places(projected, &names));
            bytes += size * places;
            if bytes > MAX_VALUE_BYTES {
                let message = "the computed fields of a projection have more than 16 MiB";
                return Err(ExpressionError::new(ErrorCode::BSONObjectTooLarge, message).into());
            }
            if size * places > CHECKED_BYTES {
                expression.hold(&mut scope.held, value.memory() * places)?;
            }
        }
        fields::set(projected, &names, value.as_ref());
    }
    Ok(())
}
