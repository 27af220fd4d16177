//! Packing entries from pieces: the output is the same as that of [`super::BlockBuilder`], but the
//! keys are passed one after the other and are not kept.

use super::builder::put_packed;

/// Buffers longer than this are not kept.
const KEPT_BYTES: usize = 256 << 10;

/// Keys are copied in words of this many bytes.
pub(crate) const WORD: usize = 8;

/// Collects the columns of packed entries; keeps its buffers.
#[derive(Debug, Default)]
pub(crate) struct Packer {
    value_lens: Vec<u64>,
    kinds: Vec<u64>,
    seqs: Vec<u64>,
    /// For each key, the length that it shares with the previous key, and its own length. After the
    /// prefix is known, these become the lengths of the shared and of the remaining part.
    shared: Vec<u64>,
    suffix_lens: Vec<u64>,
    /// The least length that a key shares with the previous one.
    least: usize,
    /// The concatenated keys: directly reachable keys are whole, other keys lack the part that they
    /// share with the previous key.
    tails: Vec<u8>,
    /// The used length of `tails`.
    tails_len: usize,
    /// The offsets of the whole keys in `tails`.
    whole: Vec<usize>,
}

impl Packer {
    /// Begins a block.
    pub(crate) fn begin(&mut self, value_lens: &[i64], kinds: &[i64], seqs: &[i64]) {
        for (to, from) in [(&mut self.value_lens, value_lens), (&mut self.kinds, kinds), (&mut self.seqs, seqs)] {
            to.clear();
            to.extend(from.iter().map(|&value| value as u64));
        }
        self.shared.clear();
        self.suffix_lens.clear();
        self.whole.clear();
        self.tails_len = 0;
        self.least = usize::MAX;
    }

    /// Adds the next key, which is `key[..len]` and shares `common` bytes with the previous one.
    /// Some bytes must follow the key, so that it can be copied eight bytes at a time. Returns the
    /// bytes of all keys so far.
    #[inline(always)]
    pub(crate) fn put_key(&mut self, key: &[u8], len: usize, common: usize, is_whole: bool) -> usize {
        let from = if is_whole { 0 } else { common };
        self.least = self.least.min(if self.shared.is_empty() { len } else { common });
        self.shared.push(if is_whole { 0 } else { common as u64 });
        self.suffix_lens.push((len - from) as u64);
        if is_whole {
            self.whole.push(self.tails_len);
        }
        let end = self.tails_len + len - from;
        if self.tails.len() < end + WORD {
            self.tails.resize(2 * (end + WORD), 0);
        }
        let words = (len - from).div_ceil(WORD) * WORD;
        let target = &mut self.tails[self.tails_len..self.tails_len + words];
        for (to, from) in target.chunks_exact_mut(WORD).zip(key[from..from + words].chunks_exact(WORD)) {
            to.copy_from_slice(from);
        }
        self.tails_len = end;
        end
    }

    /// The length of the common prefix of all keys, which are in order.
    pub(crate) fn prefix_len(&self) -> usize {
        self.least
    }

    /// Releases buffers that one large block has made larger than other blocks need.
    pub(crate) fn shrink(&mut self) {
        if self.tails.len() > KEPT_BYTES {
            *self = Self::default();
        }
    }

    /// Appends the packed entries to `out`.
    pub(crate) fn put(&mut self, prefix: &[u8], restart_log: u8, values: &[u8], out: &mut Vec<u8>) {
        let prefix_len = prefix.len() as u64;
        self.shared.iter_mut().for_each(|shared| *shared = shared.saturating_sub(prefix_len));
        self.suffix_lens.iter_mut().step_by(1 << restart_log).for_each(|len| *len -= prefix_len);
        let columns = [
            (&self.suffix_lens, false),
            (&self.value_lens, false),
            (&self.kinds, false),
            (&self.seqs, true),
            (&self.shared, false),
        ];
        put_packed(prefix, restart_log, columns, out);
        // The bytes between two whole keys are already in their final form.
        let ends = self.whole.iter().skip(1).copied().chain([self.tails_len]);
        for (start, end) in self.whole.iter().zip(ends) {
            out.extend_from_slice(&self.tails[start + prefix.len()..end]);
        }
        out.extend_from_slice(values);
    }
}
