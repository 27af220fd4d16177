//! Folding: a document, and the deltas that were written after it.

use alluvium_document::Draft;
use alluvium_document::row::RowError;

use crate::update::{DeltaError, Update};

/// What came of folding.
#[derive(Debug, Clone)]
pub struct Folded {
    /// The document; none if there was none.
    pub draft: Option<Draft>,
    /// How many deltas could not apply, and left the document as it was.
    pub refused: u64,
}

/// Why deltas cannot be folded. Storage is damaged, or of a newer build.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FoldError {
    /// A delta cannot be read.
    #[error(transparent)]
    Delta(#[from] DeltaError),
    /// The document cannot be read.
    #[error(transparent)]
    Row(#[from] RowError),
}

/// Applies deltas, the oldest first, to a document.
///
/// Each applies whole or not at all. Without a document they do nothing, and are not even read.
///
/// # Errors
/// [`FoldError`] if the document or a delta is damaged. A delta that cannot apply is no error; it is counted.
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
