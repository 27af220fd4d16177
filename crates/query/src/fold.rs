//! Folding: applying deltas to a document that was written before them.

use alluvium_document::Draft;
use alluvium_document::row::RowError;

use crate::update::{DeltaError, Update};

/// The result of folding.
#[derive(Debug, Clone)]
pub struct Folded {
    /// The document after all deltas; `None` if there was no document.
    pub draft: Option<Draft>,
    /// The number of deltas that could not be applied, and had no effect.
    pub refused: u64,
}

/// The reason why a document or delta cannot be read: it is damaged, or a newer version wrote it.
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
/// Each delta is applied completely or not at all. If there is no document, the deltas are not
/// decoded and have no effect.
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
