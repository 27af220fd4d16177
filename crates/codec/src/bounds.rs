//! Ranges of keys, as scans take them.

use std::ops::Bound;

/// The keys that a scan visits, and its direction.
///
/// ```
/// use alluvium_codec::bounds::Bounds;
/// use std::ops::Bound;
///
/// let all_backward = Bounds { reverse: true, ..Bounds::all() };
/// let from_b = Bounds { lower: Bound::Included(b"b".to_vec()), ..Bounds::all() };
/// assert_ne!(all_backward, from_b);
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bounds {
    /// The lower end of the range.
    pub lower: Bound<Vec<u8>>,
    /// The upper end of the range.
    pub upper: Bound<Vec<u8>>,
    /// Scans from the last key to the first.
    pub reverse: bool,
}

impl Bounds {
    /// All keys, forward.
    pub fn all() -> Self {
        Self { lower: Bound::Unbounded, upper: Bound::Unbounded, reverse: false }
    }
}
