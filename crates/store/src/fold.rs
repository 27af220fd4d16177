//! The effect of deltas on values, defined by the layer that writes them.

use crate::trees::TreeId;

/// The reason why a fold failed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct FoldError(pub String);

/// Applies the deltas that [`crate::WriteBatch::delta`] writes: [`crate::Options::fold`].
///
/// Called by readers, flushes and compactions, on any thread, even while the store is being opened. The same input must
/// give the same result every time, on every build that opens the store.
pub trait Fold: Send + Sync + std::fmt::Debug {
    /// Applies `deltas`, oldest first, to the value `base` of `key`, and appends the new value to `out`. A delta that
    /// cannot apply leaves the value unchanged; the count of such deltas is returned. `None` means that folding is not
    /// possible yet, because something that it needs is not loaded: flushes and compactions keep the deltas, and reads
    /// fail.
    ///
    /// # Errors
    /// [`FoldError`] if the value or a delta is damaged, that is, was not written by the owner of this fold.
    fn fold(
        &self,
        tree: TreeId,
        key: &[u8],
        base: &[u8],
        deltas: &[&[u8]],
        out: &mut Vec<u8>,
    ) -> std::result::Result<Option<u64>, FoldError>;
}
