//! What deltas do to values: told by whoever writes them.

use crate::trees::TreeId;

/// Why a fold failed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct FoldError(pub String);

/// Applies the deltas that [`crate::WriteBatch::delta`] writes. Given to a store by
/// [`crate::Options::fold`].
///
/// Called by readers, flushes and compactions, on any thread, also while the store is being opened. The
/// same input must always give the same result, on every build that opens the store.
pub trait Fold: Send + Sync + std::fmt::Debug {
    /// Applies `deltas`, oldest first, to the value `base` of `key`, and appends what comes of it to
    /// `out`. A delta that cannot apply leaves the value as it was; how many did not is returned. `None`
    /// says that this cannot be told now (what is needed is not loaded yet): flushes and compactions keep
    /// the deltas as they are, and reads fail.
    ///
    /// # Errors
    /// [`FoldError`] if value or delta are damaged: they were not written by this fold's owner.
    fn fold(
        &self,
        tree: TreeId,
        key: &[u8],
        base: &[u8],
        deltas: &[&[u8]],
        out: &mut Vec<u8>,
    ) -> std::result::Result<Option<u64>, FoldError>;
}
