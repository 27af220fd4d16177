//! Searching a block, without allocation.

use super::Block;
use alluvium_codec::entry::{Kind, MAX_SEQ, Seq};
use std::cmp::Ordering;

/// The result of a search: the first entry at or after the target.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LowerBound {
    /// The entry's index, or the number of entries if all entries are before the target.
    pub(crate) index: usize,
    /// The offset of the entry's value.
    value_at: usize,
    /// `None` if the entry has another key than the target; otherwise, whether the sequence numbers
    /// are equal.
    exact: Option<bool>,
}

impl Block {
    /// The first entry at or after (`key`, `seq`).
    #[inline]
    pub(crate) fn lower_bound(&self, key: &[u8], seq: Seq) -> LowerBound {
        let prefix = self.prefix();
        let Some(suffix) = key.strip_prefix(prefix) else {
            let index = if key < prefix { 0 } else { self.len() };
            return LowerBound { index, value_at: 0, exact: None };
        };
        if self.restart_log == 0 { self.search_direct(suffix, seq) } else { self.search_groups(suffix, seq) }
    }

    /// The index of the last entry at or before (`key`, `seq`).
    #[inline]
    pub(crate) fn floor(&self, key: &[u8], seq: Seq) -> Option<usize> {
        let found = self.lower_bound(key, seq);
        if found.exact == Some(true) { Some(found.index) } else { found.index.checked_sub(1) }
    }

    /// The number of entries whose key is below `key`.
    pub(crate) fn count_below(&self, key: &[u8]) -> usize {
        self.lower_bound(key, MAX_SEQ).index
    }

    /// The number of entries before (`key`, `seq`).
    pub(crate) fn count_before(&self, key: &[u8], seq: Seq) -> usize {
        self.lower_bound(key, seq).index
    }

    /// Finds the newest version of `key` not above `seq`; its value is in `value`.
    #[inline]
    pub(crate) fn get(&self, key: &[u8], seq: Seq, value: &mut Vec<u8>) -> Option<(Seq, Kind)> {
        let found = self.lower_bound(key, seq);
        found.exact?;
        let len = self.value_len(found.index);
        value.clear();
        value.extend_from_slice(self.bytes.get(found.value_at..found.value_at + len)?);
        Some((self.seq(found.index), self.kind(found.index)))
    }

    #[inline]
    pub(super) fn seq(&self, index: usize) -> Seq {
        self.seq_of(index)
    }

    #[inline]
    pub(super) fn kind(&self, index: usize) -> Kind {
        // Every kind was checked when the block was decoded.
        Kind::from_byte(self.small(self.columns.kind, index) as u8).unwrap_or(Kind::Put)
    }

    /// Compares the entry at a restart point with (`suffix`, `seq`); also returns whether the keys
    /// are equal.
    #[inline]
    fn compare_restart(&self, restart: usize, suffix: &[u8], seq: Seq) -> (Ordering, bool) {
        let index = restart << self.restart_log;
        let start = self.restarts[restart].key as usize;
        let len = self.suffix_len(index);
        match self.bytes[start..start + len].cmp(suffix) {
            Ordering::Equal => (seq.cmp(&self.seq(index)), true),
            order => (order, false),
        }
    }

    /// Finds the first restart point at or after (`suffix`, `seq`), and `exact` of [`LowerBound`]
    /// for it.
    #[inline]
    fn search_restarts(&self, suffix: &[u8], seq: Seq) -> (usize, Option<bool>) {
        let (mut low, mut high) = (0, self.restarts.len());
        let mut exact = None;
        while low < high {
            let middle = (low + high) / 2;
            let (order, same_key) = self.compare_restart(middle, suffix, seq);
            if order == Ordering::Less {
                low = middle + 1;
            } else {
                high = middle;
                exact = same_key.then_some(order == Ordering::Equal);
            }
        }
        (low, exact)
    }

    #[inline]
    fn search_direct(&self, suffix: &[u8], seq: Seq) -> LowerBound {
        let (index, exact) = self.search_restarts(suffix, seq);
        let value_at = self.restarts.get(index).map_or(0, |restart| restart.value as usize);
        LowerBound { index, value_at, exact }
    }

    /// The search in a block with groups of entries, each of which begins at a restart point.
    /// Within a group, keys are compared without being assembled. `matched` is the length that the
    /// previous entry, which is less than the target, shares with the target. An entry that shares
    /// more than `matched` bytes with the previous entry is less than the target, too. An entry
    /// that shares less is greater. If an entry shares exactly `matched` bytes, its own bytes
    /// decide.
    fn search_groups(&self, suffix: &[u8], seq: Seq) -> LowerBound {
        let (after, exact) = self.search_restarts(suffix, seq);
        let behind = LowerBound {
            index: (after << self.restart_log).min(self.len()),
            value_at: self.restarts.get(after).map_or(0, |restart| restart.value as usize),
            exact,
        };
        let Some(group) = after.checked_sub(1) else { return behind };
        let first = group << self.restart_log;
        let restart = self.restarts[group];
        let (mut key_at, mut value_at) = (restart.key as usize, restart.value as usize);
        let mut matched = 0;
        for index in first..behind.index {
            let len = self.suffix_len(index);
            let shared = self.shared(index);
            let part = &self.bytes[key_at..key_at + len];
            key_at += len;
            if shared < matched {
                return LowerBound { index, value_at, exact: None };
            }
            if shared == matched {
                let rest = &suffix[matched..];
                let common = super::builder::common_len(part, rest);
                let order = part[common..].first().cmp(&rest[common..].first());
                let (order, exact) = match order {
                    Ordering::Equal => {
                        let order = seq.cmp(&self.seq(index));
                        (order, Some(order == Ordering::Equal))
                    }
                    order => (order, None),
                };
                if order != Ordering::Less {
                    return LowerBound { index, value_at, exact };
                }
                matched += common;
            }
            value_at += self.value_len(index);
        }
        behind
    }
}
