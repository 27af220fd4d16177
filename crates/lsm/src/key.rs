//! Keys: the tree that a key belongs to.

/// The tree that a key belongs to: its first four bytes, big-endian; missing bytes count as 0.
#[inline]
pub(crate) fn tree_of(key: &[u8]) -> u32 {
    match key.first_chunk::<4>() {
        Some(bytes) => u32::from_be_bytes(*bytes),
        None => {
            let mut bytes = [0u8; 4];
            bytes[..key.len()].copy_from_slice(key);
            u32::from_be_bytes(bytes)
        }
    }
}
