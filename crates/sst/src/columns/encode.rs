//! Encoding entries as columns.

use super::form::{Column, Form, MAX_PARTS, Part};
use super::integers::{Context, Planner};
use super::numbers::scale;
use super::{MAX_CONTENT, MAX_KEY, NUMBER_BITS};
use crate::block::{BlockBuilder, Unpacked, common_len};
use alluvium_codec::varint;

/// After this many blocks in a row whose keys have no form, only every [`PROBE_EVERY`]th block is
/// tried.
const GIVE_UP_AFTER: u32 = 4;
const PROBE_EVERY: u32 = 16;

/// Turns blocks into columns, one after the other. The form found in one block is tried first in
/// the next.
#[derive(Default)]
pub(crate) struct ColumnEncoder {
    form: Option<Form>,
    /// For each part the last successful power of ten.
    powers: Vec<usize>,
    /// The number of consecutive blocks for which no form was found.
    misses: u32,
    columns: Vec<Column>,
    planner: Planner,
    /// Columns of integers that later ones may refer to.
    earlier: Vec<Vec<i64>>,
    /// Buffers of earlier columns, for reuse.
    spare: Vec<Vec<i64>>,
    heads: Vec<bool>,
    integers: Vec<i64>,
    beside: Vec<i64>,
    head: Vec<u8>,
    text: Vec<u8>,
}

impl ColumnEncoder {
    /// Appends the columns of the entries in `block` to `out`: a head, followed by text, which can
    /// be compressed. Returns the length of the head. Returns `None` and appends nothing if the
    /// keys have no form or if values are most of the block.
    pub(crate) fn encode(&mut self, block: &BlockBuilder, out: &mut Vec<u8>) -> Option<usize> {
        let entries = block.unpacked();
        let (keys, values) = (entries.keys.len(), entries.values.len());
        if entries.key_lens.len() < 2 || values * 2 > keys || keys + values > MAX_CONTENT / 4 {
            return None;
        }
        if self.misses >= GIVE_UP_AFTER && !self.misses.is_multiple_of(PROBE_EVERY) {
            self.misses = self.misses.wrapping_add(1).max(GIVE_UP_AFTER);
            return None;
        }
        if entries.key_lens.iter().any(|&len| len > MAX_KEY as u64) || !self.split(&entries) {
            self.misses = self.misses.wrapping_add(1);
            return None;
        }
        self.misses = 0;
        self.put(&entries);
        varint::put_u64(out, self.head.len() as u64);
        let head_end = varint::len_u64(self.head.len() as u64) + self.head.len();
        out.extend_from_slice(&self.head);
        out.extend_from_slice(&self.text);
        out.extend_from_slice(entries.values);
        Some(head_end)
    }

    /// Finds a form that all keys have, and splits the keys by it. The form of the last block is
    /// tried first.
    fn split(&mut self, entries: &Unpacked<'_>) -> bool {
        self.spare.append(&mut self.earlier);
        if let Some(form) = self.form.take()
            && let Some(form) = self.split_by(form, entries)
        {
            self.form = Some(form);
            return true;
        }
        let first = entries.key_lens.first().map_or(0, |&len| len as usize);
        for form in Form::guesses(&entries.keys[..first]) {
            if let Some(form) = self.split_by(form, entries) {
                self.form = Some(form);
                return true;
            }
        }
        false
    }

    /// Splits the keys by a form; values that do not all have this form become bytes.
    fn split_by(&mut self, mut form: Form, entries: &Unpacked<'_>) -> Option<Form> {
        loop {
            if form.parts.len() > MAX_PARTS {
                return None;
            }
            self.columns.resize_with(form.parts.len().max(self.columns.len()), Column::default);
            for column in &mut self.columns {
                if column.values.capacity() == 0 {
                    column.values = self.spare.pop().unwrap_or_default();
                }
                column.values.clear();
                column.bytes.clear();
            }
            let mut keys = entries.each_key();
            match keys.try_for_each(|key| form.split(key, &mut self.columns)) {
                Ok(()) => return Some(form),
                Err(at) => form = form.without(at)?,
            }
        }
    }

    fn put(&mut self, entries: &Unpacked<'_>) {
        let count = entries.key_lens.len();
        self.head.clear();
        self.text.clear();
        self.heads.clear();
        self.heads.resize(count, false);
        let parts = self.form.as_ref().map_or_else(Vec::new, |form| form.parts.clone());
        self.powers.resize(parts.len().max(self.powers.len()), 0);
        varint::put_u64(&mut self.head, count as u64);
        self.head.extend_from_slice(&[entries.restart_log, parts.len() as u8]);
        parts.iter().for_each(|part| part.put(&mut self.head));
        for (at, part) in parts.iter().enumerate() {
            match part {
                Part::Literal(_) => {}
                Part::Fixed(_) | Part::Signed => self.put_integers(at),
                Part::Number { flipped } => self.put_numbers(at, *flipped),
                Part::Text { .. } | Part::Bytes(_) => self.put_bytes(at),
            }
        }
        for lens in [entries.kinds, entries.value_lens, entries.seqs] {
            self.integers.clear();
            self.integers.extend(lens.iter().map(|&value| value as i64));
            let context = Context { earlier: &self.earlier, heads: None };
            self.planner.put(&self.integers, &context, &mut self.head);
        }
    }

    /// Marks the entries that differ from the previous one in a column.
    fn note_heads(heads: &mut [bool], values: &[i64]) {
        for (head, pair) in heads[1..].iter_mut().zip(values.windows(2)) {
            *head |= pair[0] != pair[1];
        }
    }

    /// Stores a column for later ones to refer to, unless all its values are equal.
    fn keep(&mut self, values: Vec<i64>) {
        let differ = values.iter().any(|value| *value != values[0]);
        if differ { &mut self.earlier } else { &mut self.spare }.push(values);
    }

    fn put_integers(&mut self, at: usize) {
        let values = std::mem::take(&mut self.columns[at].values);
        let context = Context { earlier: &self.earlier, heads: Some(&self.heads) };
        self.planner.put(&values, &context, &mut self.head);
        Self::note_heads(&mut self.heads, &values);
        self.keep(values);
    }

    fn put_numbers(&mut self, at: usize, flipped: bool) {
        let mut bits = std::mem::take(&mut self.columns[at].values);
        let power = scale(&bits, self.powers[at], &mut self.integers, &mut self.beside);
        if let Some(power) = power {
            self.powers[at] = power;
            self.head.push(power as u8);
            let mut integers = std::mem::replace(&mut self.integers, bits);
            if flipped {
                integers.iter_mut().for_each(|integer| *integer = -*integer);
            }
            let context = Context { earlier: &self.earlier, heads: Some(&self.heads) };
            self.planner.put(&integers, &context, &mut self.head);
            let alone = Context { earlier: &[], heads: None };
            self.planner.put(&self.beside, &alone, &mut self.head);
            Self::note_heads(&mut self.heads, &self.integers);
            return self.keep(integers);
        }
        self.head.push(NUMBER_BITS);
        if flipped {
            bits.iter_mut().for_each(|bits| *bits = !*bits);
        }
        let context = Context { earlier: &self.earlier, heads: Some(&self.heads) };
        self.planner.put(&bits, &context, &mut self.head);
        Self::note_heads(&mut self.heads, &bits);
        self.keep(bits);
    }

    /// Writes a column of byte strings. For each string: whether it differs from the previous one,
    /// and if it does, the length that it shares with the previous one and the number of bytes that
    /// follow.
    fn put_bytes(&mut self, at: usize) {
        let column = &self.columns[at];
        let (mut fresh, mut shared, mut more) = (Vec::new(), Vec::new(), Vec::new());
        let (mut last, mut start): (&[u8], usize) = (&[], 0);
        for (index, &len) in column.values.iter().enumerate() {
            let bytes = &column.bytes[start..start + len as usize];
            start += len as usize;
            let is_fresh = index == 0 || bytes != last;
            fresh.push(i64::from(is_fresh));
            if is_fresh {
                let common = common_len(last, bytes);
                shared.push(common as i64);
                more.push((bytes.len() - common) as i64);
                self.text.extend_from_slice(&bytes[common..]);
            }
            last = bytes;
        }
        let alone = Context { earlier: &[], heads: None };
        self.planner.put(&fresh, &alone, &mut self.head);
        self.planner.put(&shared, &alone, &mut self.head);
        self.planner.put(&more, &alone, &mut self.head);
        for (head, fresh) in self.heads[1..].iter_mut().zip(&fresh[1..]) {
            *head |= *fresh != 0;
        }
    }
}
