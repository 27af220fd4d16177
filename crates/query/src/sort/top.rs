//! The first documents by their sort keys.

use std::collections::BinaryHeap;

use super::SortError;

/// The memory for an item, in addition to its key and its stated size: its heap entry, its number,
/// and the bounds of its key.
const OVERHEAD: usize = 64;

/// Keeps the items with the least keys. Of items with equal keys, the ones that were offered first are kept.
///
/// ```
/// use alluvium_query::sort::TopK;
/// # fn main() -> Result<(), alluvium_query::sort::SortError> {
/// let mut top = TopK::new(Some(2), 1 << 20);
/// for (key, item) in [("c", 3), ("a", 1), ("b", 2)] {
///     top.offer(key.as_bytes(), 4, || item)?;
/// }
/// assert_eq!(top.into_sorted().map(|(_, item)| item).collect::<Vec<_>>(), [1, 2]);
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct TopK<T> {
    /// The greatest of the kept items is on top.
    heap: BinaryHeap<Kept<T>>,
    /// The maximum number of items; `None` for all.
    limit: Option<usize>,
    bytes: usize,
    bytes_max: usize,
    offered: u64,
}

#[derive(Debug)]
struct Kept<T> {
    key: Box<[u8]>,
    /// The number of items offered so far.
    number: u64,
    bytes: usize,
    item: T,
}

impl<T> Ord for Kept<T> {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.key.cmp(&other.key).then(self.number.cmp(&other.number))
    }
}

impl<T> PartialOrd for Kept<T> {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl<T> PartialEq for Kept<T> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl<T> Eq for Kept<T> {}

impl<T> TopK<T> {
    /// Keeps `limit` items, or all items for `None`, in at most `bytes_max` bytes of memory. A
    /// caller that skips items must add their number to the limit.
    pub fn new(limit: Option<usize>, bytes_max: usize) -> Self {
        Self { heap: BinaryHeap::new(), limit, bytes: 0, bytes_max, offered: 0 }
    }

    /// Offers an item. The item is kept if fewer than `limit` items precede it; in this case the
    /// function returns true. `bytes` is the memory of the item. `item` is called only if the item
    /// is kept.
    ///
    /// # Errors
    /// [`SortError::Memory`]. In this case the item is not kept, but all items kept before remain.
    pub fn offer(&mut self, key: &[u8], bytes: usize, item: impl FnOnce() -> T) -> Result<bool, SortError> {
        let number = self.offered;
        self.offered += 1;
        if !self.would_keep(key) {
            return Ok(false);
        }
        let bytes = bytes.saturating_add(key.len() + OVERHEAD);
        let full = self.limit.is_some_and(|limit| self.heap.len() >= limit);
        let freed = self.heap.peek().filter(|_| full).map_or(0, |last| last.bytes);
        let after = (self.bytes - freed).saturating_add(bytes);
        if after > self.bytes_max {
            return Err(SortError::Memory { limit: self.bytes_max });
        }
        if full {
            self.heap.pop();
        }
        self.heap.push(Kept { key: key.into(), number, bytes, item: item() });
        self.bytes = after;
        Ok(true)
    }

    /// True if an item with this key would be kept, if it were offered now.
    pub fn would_keep(&self, key: &[u8]) -> bool {
        match self.bound() {
            Some(bound) => key < bound,
            None => self.limit != Some(0),
        }
    }

    /// An item is kept only if its key is less than this. `None` if every item would be kept.
    pub fn bound(&self) -> Option<&[u8]> {
        let full = self.limit.is_some_and(|limit| self.heap.len() >= limit);
        self.heap.peek().filter(|_| full).map(|last| &*last.key)
    }

    /// The number of items that are kept.
    pub fn len(&self) -> usize {
        self.heap.len()
    }

    /// True if no items are kept.
    pub fn is_empty(&self) -> bool {
        self.heap.is_empty()
    }

    /// The memory for keys and items in bytes.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// The keys and items in order.
    pub fn into_sorted(self) -> impl ExactSizeIterator<Item = (Box<[u8]>, T)> {
        self.heap.into_sorted_vec().into_iter().map(|kept| (kept.key, kept.item))
    }
}
