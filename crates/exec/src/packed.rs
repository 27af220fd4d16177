//! Pairs of keys and values in memory, which are sorted as bytes, without being decoded.

use alluvium_codec::varint;

/// The bytes of a chunk, unless a single pair is larger.
const CHUNK_BYTES: usize = 256 << 10;

/// The location of a pair, with the beginning of its key, so that most comparisons need not read
/// the pair.
#[derive(Clone, Copy)]
struct Slot {
    /// The first eight bytes of the key, padded with zeros.
    prefix: u64,
    /// From the highest bits: the chunk, the position in the chunk (32 bits), and the length of the key, at most
    /// [`LONG`] (8 bits). Therefore the places are also in the order of arrival.
    place: u64,
}

/// A key of this length or longer does not fit into its prefix.
const LONG: u64 = PREFIX_BYTES as u64 + 1;

/// The bytes of a key that are kept in its slot.
const PREFIX_BYTES: usize = 8;

impl Slot {
    fn new(key: &[u8], chunk: usize, at: usize) -> Self {
        let mut bytes = [0; PREFIX_BYTES];
        let len = key.len().min(PREFIX_BYTES);
        bytes[..len].copy_from_slice(&key[..len]);
        let place = (chunk as u64) << 40 | (at as u64) << 8 | (key.len() as u64).min(LONG);
        Self { prefix: u64::from_be_bytes(bytes), place }
    }

    fn chunk(self) -> usize {
        (self.place >> 40) as usize
    }

    fn at(self) -> usize {
        (self.place >> 8) as u32 as usize
    }

    /// The bytes of the key, at most [`LONG`].
    fn key_len(self) -> u64 {
        self.place & 0xff
    }
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

    /// The memory that a long pair will need; 0 for a pair that shares a chunk with others.
    pub fn bytes_of_long(&self, key: &[u8], value: &[u8]) -> usize {
        Some(size_of_pair(key, value)).filter(|&size| size > CHUNK_BYTES).unwrap_or(0)
    }

    /// Adds a pair.
    pub fn push(&mut self, key: &[u8], value: &[u8]) {
        let size = size_of_pair(key, value);
        if self.chunks.last().is_none_or(|last| last.len() + size > CHUNK_BYTES) {
            self.full_bytes += self.chunks.last().map_or(0, Vec::capacity);
            // The first chunk grows. If a second chunk is needed, there are many pairs, so its
            // memory is reserved at once.
            let room = match size {
                CHUNK_BYTES.. => size,
                _ if self.chunks.is_empty() => 0,
                _ => CHUNK_BYTES,
            };
            self.chunks.push(Vec::with_capacity(room));
        }
        let chunk = self.chunks.len() - 1;
        let bytes = &mut self.chunks[chunk];
        self.slots.push(Slot::new(key, chunk, bytes.len()));
        varint::put_bytes(bytes, key);
        varint::put_bytes(bytes, value);
    }

    /// Sorts the pairs by key; pairs with equal keys stay in the order of arrival.
    pub fn sort(&mut self) {
        let Self { chunks, slots, .. } = self;
        let rest = |slot: &Slot| pair_at(chunks, slot).0.get(PREFIX_BYTES..).unwrap_or_default();
        slots.sort_unstable_by(|a, b| {
            let order = a.prefix.cmp(&b.prefix).then_with(|| match (a.key_len(), b.key_len()) {
                (LONG, LONG) => rest(a).cmp(rest(b)),
                // The shorter key is a prefix of the longer one.
                (a, b) => a.cmp(&b),
            });
            order.then(a.place.cmp(&b.place))
        });
    }

    /// The value of the next pair.
    pub fn next_value(&mut self) -> Option<&[u8]> {
        let slot = self.slots.get(self.returned)?;
        self.returned += 1;
        Some(pair_at(&self.chunks, slot).1)
    }

    /// Passes the pairs to `visit` in the order of arrival, and frees their memory chunk by chunk.
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

/// The room for a pair in a chunk.
fn size_of_pair(key: &[u8], value: &[u8]) -> usize {
    key.len() + value.len() + 2 * varint::MAX_LEN
}

fn pair_at<'a>(chunks: &'a [Vec<u8>], slot: &Slot) -> (&'a [u8], &'a [u8]) {
    let chunk = chunks.get(slot.chunk()).map_or(&[][..], Vec::as_slice);
    take_pair(&mut chunk.get(slot.at()..).unwrap_or_default())
}

/// Takes the pair at the start of `rest`, as [`Packed::push`] has written it.
fn take_pair<'a>(rest: &mut &'a [u8]) -> (&'a [u8], &'a [u8]) {
    let mut next = || varint::get_bytes(rest).unwrap_or_default();
    (next(), next())
}

#[cfg(test)]
mod tests;
