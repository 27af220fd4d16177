//! Fields of a projection that are computed.

use super::{Projection, ProjectionError};
use crate::code::ErrorCode;
use crate::expression::{ExpressionError, MAX_VALUE_BYTES, Scope};
use crate::fields;
use alluvium_document::{Document, Map, bson};

/// Copies of a value that have fewer bytes as BSON are not counted.
const CHECKED_BYTES: usize = 4096;

/// Adds the computed fields to what a projection includes.
pub(super) fn add(projection: &Projection, document: &Document, projected: &mut Map) -> Result<(), ProjectionError> {
    if projection.computed.is_empty() {
        return Ok(());
    }
    let mut scope = Scope::of(document);
    let mut bytes = 0;
    for (path, expression) in &projection.computed {
        let Some(value) = expression.evaluate(&mut scope)? else { continue };
        let names: Vec<&str> = path.names().collect();
        let (size, places) = (bson::bson_size(&value), fields::places(projected, &names));
        bytes += size * places;
        if bytes > MAX_VALUE_BYTES {
            let message = "the computed fields of a projection have more than 16 MiB";
            return Err(ExpressionError::new(ErrorCode::BSONObjectTooLarge, message).into());
        }
        if size * places > CHECKED_BYTES {
            expression.hold(&mut scope.held, value.memory() * places)?;
        }
        fields::set(projected, &names, Some(&value));
    }
    Ok(())
}
