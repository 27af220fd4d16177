//! Pairs of keys and values in memory, which are sorted without being taken apart.

use alluvium_codec::varint;

/// The bytes of a chunk, unless one pair is larger.
const CHUNK_BYTES: usize = 256 << 10;

/// Where a pair is, with the beginning of its key: most comparisons need not read the pair.
#[derive(Clone, Copy)]
struct Slot {
    /// The first eight bytes of the key, padded with zeros.
    prefix: u64,
    chunk: u32,
    at: u32,
}

/// Pairs in the order of arrival, until they are sorted.
pub(crate) struct Packed {
    chunks: Vec<Vec<u8>>,
    /// The memory of all chunks but the last one.
    full_bytes: usize,
    slots: Vec<Slot>,
    /// The number of pairs that were returned.
    returned: usize,
}

impl Packed {
    pub fn new() -> Self {
        Self { chunks: Vec::new(), full_bytes: 0, slots: Vec::new(), returned: 0 }
    }

    /// The memory of the pairs.
    pub fn bytes(&self) -> usize {
        let last = self.chunks.last().map_or(0, Vec::capacity);
        self.full_bytes + last + self.slots.capacity() * size_of::<Slot>()
    }

    /// Adds a pair.
    pub fn push(&mut self, key: &[u8], value: &[u8]) {
        let size = key.len() + value.len() + 2 * varint::MAX_LEN;
        if self.chunks.last().is_none_or(|last| last.len() + size > CHUNK_BYTES) {
            self.full_bytes += self.chunks.last().map_or(0, Vec::capacity);
            // The first chunk grows; where there is a second one, there are many pairs.
            let room = if self.chunks.is_empty() { 0 } else { size.max(CHUNK_BYTES) };
            self.chunks.push(Vec::with_capacity(room));
        }
        let chunk = self.chunks.len() - 1;
        let bytes = &mut self.chunks[chunk];
        self.slots.push(Slot { prefix: prefix_of(key), chunk: chunk as u32, at: bytes.len() as u32 });
        varint::put_bytes(bytes, key);
        varint::put_bytes(bytes, value);
    }

    /// Sorts the pairs by key; pairs with equal keys stay in the order of arrival.
    pub fn sort(&mut self) {
        let Self { chunks, slots, .. } = self;
        let key = |slot: &Slot| pair_at(chunks, slot).0;
        slots.sort_unstable_by(|a, b| {
            let order = a.prefix.cmp(&b.prefix).then_with(|| key(a).cmp(key(b)));
            order.then((a.chunk, a.at).cmp(&(b.chunk, b.at)))
        });
    }

    /// The value of the next pair.
    pub fn next_value(&mut self) -> Option<&[u8]> {
        let slot = self.slots.get(self.returned)?;
        self.returned += 1;
        Some(pair_at(&self.chunks, slot).1)
    }

    /// Passes the pairs to `visit` in the order of arrival, and frees their memory as it goes.
    pub fn drain<E>(self, mut visit: impl FnMut(&[u8], &[u8]) -> Result<(), E>) -> Result<(), E> {
        let Self { chunks, slots, .. } = self;
        drop(slots);
        for chunk in chunks {
            let mut rest = chunk.as_slice();
            while !rest.is_empty() {
                let (key, value) = take_pair(&mut rest);
                visit(key, value)?;
            }
        }
        Ok(())
    }
}

fn prefix_of(key: &[u8]) -> u64 {
    let mut bytes = [0; 8];
    let len = key.len().min(8);
    bytes[..len].copy_from_slice(&key[..len]);
    u64::from_be_bytes(bytes)
}

fn pair_at<'a>(chunks: &'a [Vec<u8>], slot: &Slot) -> (&'a [u8], &'a [u8]) {
    let chunk = chunks.get(slot.chunk as usize).map_or(&[][..], Vec::as_slice);
    take_pair(&mut chunk.get(slot.at as usize..).unwrap_or_default())
}

/// The pair at the start, where [`Packed::push`] has written one.
fn take_pair<'a>(rest: &mut &'a [u8]) -> (&'a [u8], &'a [u8]) {
    let mut next = || varint::get_bytes(rest).unwrap_or_default();
    (next(), next())
}

#[cfg(test)]
mod tests;
