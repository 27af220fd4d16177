//! Packed entries of which only the pieces are known: what [`super::BlockBuilder`] packs, from keys that come one
//! after the other and are not kept.

use super::builder::put_packed;

/// Gathers the columns of packed entries; keeps its buffers.
#[derive(Debug, Default)]
pub(crate) struct Packer {
    value_lens: Vec<u64>,
    kinds: Vec<u64>,
    seqs: Vec<u64>,
    /// Of each key, what it has in common with the one before, and its length; then, behind the prefix,
    /// what is shared and what is not.
    shared: Vec<u64>,
    suffix_lens: Vec<u64>,
    suffixes: Vec<u8>,
    /// The least that a key has in common with the one before.
    least: usize,
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
        self.suffixes.clear();
        self.least = usize::MAX;
    }

    /// Takes note of the next key.
    #[inline(always)]
    pub(crate) fn note_key(&mut self, common: usize, len: usize, is_first: bool) {
        self.shared.push(common as u64);
        self.suffix_lens.push(len as u64);
        self.least = self.least.min(if is_first { len } else { common });
    }

    /// What all keys begin with; they are in order.
    pub(crate) fn prefix_len(&self) -> usize {
        self.least
    }

    /// Takes the suffixes from `tails`: the keys one behind the other, those that are directly reachable whole, the
    /// others without what they have in common with the one before.
    pub(crate) fn strip(&mut self, restart_log: u8, tails: &[u8]) {
        let mask = (1usize << restart_log) - 1;
        let prefix = self.least as u64;
        let mut at = 0;
        for (index, (shared, len)) in self.shared.iter_mut().zip(&mut self.suffix_lens).enumerate() {
            let piece = if index & mask == 0 {
                let piece = at + prefix as usize..at + *len as usize;
                (*shared, *len) = (0, *len - prefix);
                piece
            } else {
                let piece = at..at + (*len - *shared) as usize;
                *len -= *shared;
                *shared -= prefix;
                piece
            };
            at = piece.end;
            self.suffixes.extend_from_slice(&tails[piece]);
        }
    }

    /// Appends the packed entries to `out`.
    pub(crate) fn put(&self, prefix: &[u8], restart_log: u8, values: &[u8], out: &mut Vec<u8>) {
        let columns = [
            (&self.suffix_lens, false),
            (&self.value_lens, false),
            (&self.kinds, false),
            (&self.seqs, true),
            (&self.shared, false),
        ];
        put_packed(prefix, restart_log, columns, out);
        out.extend_from_slice(&self.suffixes);
        out.extend_from_slice(values);
    }
}
