//! Folding: applying to a document the deltas that were written after it.

use alluvium_document::Draft;
use alluvium_document::row::RowError;

use crate::update::{DeltaError, Update};

/// The result of folding.
#[derive(Debug, Clone)]
pub struct Folded {
    /// The document; `None` if there was none.
    pub draft: Option<Draft>,
    /// The number of deltas that could not be applied, and had no effect.
    pub refused: u64,
}

/// A damaged document or delta, or one that a newer version wrote.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FoldError {
    /// A delta cannot be decoded.
    #[error(transparent)]
    Delta(#[from] DeltaError),
    /// The document cannot be decoded.
    #[error(transparent)]
    Row(#[from] RowError),
}

/// Applies deltas to a document, the oldest first.
///
/// Each delta is applied as a whole or not at all. Without a document the deltas have no effect and
/// are not decoded.
///
/// # Errors
/// [`FoldError`] if the document or a delta is damaged. A delta that cannot be applied is not an
/// error; it is counted.
pub fn fold<'a>(document: Option<Draft>, deltas: impl IntoIterator<Item = &'a [u8]>) -> Result<Folded, FoldError> {
    let Some(mut draft) = document else { return Ok(Folded { draft: None, refused: 0 }) };
    let (mut refused, mut size_max) = (0, draft.bson_size_max());
    for delta in deltas {
        let applied = Update::from_delta(delta)?.apply_or_leave(&mut draft, &mut size_max)?;
        refused += u64::from(!applied);
    }
    Ok(Folded { draft: Some(draft), refused })
}

#[cfg(test)]
mod tests;
