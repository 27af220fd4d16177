//! Chains: the deltas of a key above a full write, and the results of folding them.
//!
//! A fold is not a write. It replaces its chain under the sequence number of the newest delta, and
//! keeps the number of the last full write ([`alluvium_codec::entry::put_folded`]).

use crate::policy::DeltaFold;
use alluvium_codec::entry::{self, Kind, Seq};
use alluvium_env::{Error, Result};

/// Deltas of one key, newest first.
#[derive(Debug, Default)]
pub(crate) struct Chain {
    bytes: Vec<u8>,
    /// The sequence number of each delta, and its end in `bytes`.
    deltas: Vec<(Seq, usize)>,
}

/// The value below a chain.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Base<'a> {
    /// No version, or a tombstone.
    Absent,
    /// The sequence number of the last full write, and the value.
    Value(Seq, &'a [u8]),
}

impl<'a> Base<'a> {
    /// The number of the last full write; 0 if there is no full write.
    pub fn full_seq(&self) -> Seq {
        match self {
            Self::Absent => 0,
            Self::Value(full, _) => *full,
        }
    }

    /// Returns the base that an entry is for the deltas above it. The entry must not be a delta.
    pub fn of(seq: Seq, kind: Kind, content: &'a [u8]) -> alluvium_codec::Result<Self> {
        match kind {
            Kind::Put => Ok(Self::Value(seq, content)),
            Kind::Folded => entry::split_folded(seq, content).map(|(full, value)| Self::Value(full, value)),
            Kind::Delete | Kind::Delta | Kind::RangeDelete => Ok(Self::Absent),
        }
    }
}

impl Chain {
    /// Adds a delta that is older than all deltas added before.
    pub fn push(&mut self, seq: Seq, delta: &[u8]) {
        self.bytes.extend_from_slice(delta);
        self.deltas.push((seq, self.bytes.len()));
    }

    pub fn clear(&mut self) {
        self.bytes.clear();
        self.deltas.clear();
    }

    pub fn len(&self) -> usize {
        self.deltas.len()
    }

    pub fn is_empty(&self) -> bool {
        self.deltas.is_empty()
    }

    /// The number of the newest delta; 0 without one.
    pub fn newest(&self) -> Seq {
        self.deltas.first().map_or(0, |(seq, _)| *seq)
    }

    /// Numbers and deltas, newest first.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = (Seq, &[u8])> {
        let start = |at: usize| at.checked_sub(1).map_or(0, |before| self.deltas[before].1);
        self.deltas.iter().enumerate().map(move |(at, &(seq, end))| (seq, &self.bytes[start(at)..end]))
    }

    /// Folds the deltas onto `base`, and appends the value to `out`. Returns the number of deltas
    /// that could not apply, or `None` if folding is not possible now.
    pub fn fold(&self, fold: &dyn DeltaFold, key: &[u8], base: &[u8], out: &mut Vec<u8>) -> Result<Option<u64>> {
        let oldest_first: Vec<&[u8]> = self.iter().rev().map(|(_, delta)| delta).collect();
        fold.fold(key, base, &oldest_first, out)
    }

    /// Writes the value that a reader sees for `base` under the chain to `out`, replacing its
    /// content. Returns false if the key is absent: a delta has no effect on an absent value.
    pub fn read(&self, fold: &dyn DeltaFold, key: &[u8], base: Base<'_>, out: &mut Vec<u8>) -> Result<bool> {
        let Base::Value(_, value) = base else { return Ok(false) };
        out.clear();
        match self.fold(fold, key, value, out)? {
            Some(_) => Ok(true),
            None => {
                let cause = std::io::Error::other("the key has deltas, and the store was opened without a fold");
                Err(Error::io("read", std::path::Path::new("a delta"), cause))
            }
        }
    }
}

#[cfg(test)]
mod tests;
