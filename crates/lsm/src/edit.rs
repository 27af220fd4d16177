//! Version edits: the changes that a flush or a compaction makes, as bytes of the manifest.
//!
//! An edit is a list of fields, each a tag and its value; `docs/format/manifest.md` draws them.

use crate::superseded::Superseded;
use alluvium_codec::entry::{MAX_SEQ, Seq};
use alluvium_codec::limits::{LAST_SEQ, MAX_NUMBER, MAX_RANGE_BYTES, MAX_TREE, at_most, get_number, get_seq};
use alluvium_codec::ranges::{Fragment, RangeSet, RangeSetBuilder};
use alluvium_codec::{DecodeError, varint};
use alluvium_sst::FileMeta;

const TAG_FLUSHED_SEQ: u64 = 1;
const TAG_NEXT_FILE: u64 = 2;
const TAG_NEXT_RUN: u64 = 3;
const TAG_ADDED: u64 = 4;
const TAG_REMOVED: u64 = 5;
const TAG_MOVED: u64 = 6;
const TAG_RANGE: u64 = 7;
const TAG_FORGOTTEN: u64 = 8;
const TAG_THINNED: u64 = 9;
const TAG_CLEAN: u64 = 10;
const TAG_SUPERSEDED: u64 = 11;

/// Descriptions of values out of range, for errors.
const SEQ: &str = "a sequence number";
const RUN: &str = "the number of a run";
const TREE: &str = "a tree's number";

/// A file that an edit adds, with the facts that only the manifest holds.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AddedFile {
    /// The run; the base is 0, and newer runs have higher numbers.
    pub run: u64,
    /// The metadata from the writer.
    pub meta: FileMeta,
    /// The trees with keys in the file, ascending.
    pub trees: Vec<u32>,
    /// Entries that are not the newest of their key in this file: they are kept for snapshots.
    pub shadowed: u64,
    /// No entry of the file is hidden by range tombstones with numbers up to this one; 0 if
    /// unknown.
    pub clean: Seq,
    /// The number of shadowed entries by the last snapshot that reads them, ascending. In memory
    /// only: a partition that is opened has no snapshots.
    pub readers: Vec<(Seq, u64)>,
}

/// One change of a version. Either the whole change becomes durable, or nothing of it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct VersionEdit {
    /// Everything up to this number is now in files.
    pub flushed_seq: Option<Seq>,
    /// All file numbers in use, of any known partition, are below this.
    pub next_file: Option<u64>,
    /// All run numbers in use are below this.
    pub next_run: Option<u64>,
    /// Added files.
    pub added: Vec<AddedFile>,
    /// Numbers of removed files.
    pub removed: Vec<u64>,
    /// Files that stay unchanged, and the runs that they move to.
    pub moved: Vec<(u64, u64)>,
    /// Added range tombstones.
    pub ranges: RangeSet,
    /// Ranges with numbers: tombstones over a range up to its number are removed, because they hide
    /// nothing any more.
    pub forgotten: RangeSet,
    /// Of several tombstones over the same keys with numbers up to this one, only the newest is
    /// kept.
    pub thinned: Option<Seq>,
    /// Trees whose superseded numbers are raised, with the new numbers.
    pub superseded: Superseded,
}

impl VersionEdit {
    /// Returns the range tombstones after the edit, given the range tombstones before it.
    ///
    /// # Errors
    /// A description, if they would take more than [`MAX_RANGE_BYTES`] of memory.
    pub fn apply_ranges(&self, before: &RangeSet) -> Result<RangeSet, String> {
        let joined = before.join_within(&self.ranges, self.thinned.as_slice(), MAX_RANGE_BYTES);
        let left = joined.and_then(|joined| joined.forget_within(&self.forgotten, MAX_RANGE_BYTES));
        left.ok_or_else(|| format!("its range tombstones take more than {} MiB", MAX_RANGE_BYTES >> 20))
    }

    /// Checks an edit that is about to be written in the same way as reading does, so that no
    /// unreadable edit is written.
    ///
    /// # Errors
    /// [`DecodeError::Invalid`] if a number is above its limit ([`alluvium_codec::limits`]).
    pub fn check(&self) -> alluvium_codec::Result<()> {
        let numbers = [self.next_file, self.next_run].into_iter().flatten();
        let runs = self.added.iter().map(|file| file.run).chain(self.moved.iter().map(|moved| moved.1));
        let files = self.added.iter().map(|file| file.meta.number);
        let greatest = numbers.chain(runs).chain(files).max().unwrap_or(0);
        at_most(greatest, MAX_NUMBER, "all numbers of files or runs are used up")?;
        let seqs = [self.flushed_seq, Some(self.ranges.newest())].into_iter().flatten();
        let superseded = self.superseded.iter().map(|(_, seq)| seq);
        let files = self.added.iter().map(|file| file.meta.max_seq);
        let greatest = seqs.chain(files).chain(superseded).max().unwrap_or(0);
        at_most(greatest, LAST_SEQ, "all sequence numbers are used up")?;
        Ok(())
    }

    /// True if the edit changes the range tombstones.
    pub fn changes_ranges(&self) -> bool {
        !self.ranges.is_empty() || !self.forgotten.is_empty() || self.thinned.is_some()
    }

    /// True if the edit removes all known files and range tombstones of this dead tree.
    pub fn forgets_tree(&self, tree: u32) -> bool {
        let Some(above) = tree.checked_add(1) else { return false };
        let (low, high) = (tree.to_be_bytes(), above.to_be_bytes());
        let covers = |f: &Fragment| f.start() <= low.as_slice() && f.end() >= high.as_slice();
        self.forgotten.overlapping(&low, &low).iter().any(|f| covers(f) && f.seqs().contains(&MAX_SEQ))
    }

    /// True if the edit changes nothing.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Appends the encoding.
    pub fn encode(&self, out: &mut Vec<u8>) {
        let numbers = [
            (TAG_FLUSHED_SEQ, self.flushed_seq),
            (TAG_NEXT_FILE, self.next_file),
            (TAG_NEXT_RUN, self.next_run),
            (TAG_THINNED, self.thinned),
        ];
        for (tag, number) in numbers {
            if let Some(number) = number {
                varint::put_u64(out, tag);
                varint::put_u64(out, number);
            }
        }
        for file in &self.added {
            varint::put_u64(out, TAG_ADDED);
            varint::put_u64(out, file.run);
            file.meta.encode(out);
            varint::put_u64(out, file.shadowed);
            varint::put_u64(out, file.trees.len() as u64);
            let mut before = 0;
            for &tree in &file.trees {
                varint::put_u64(out, u64::from(tree.wrapping_sub(before)));
                before = tree;
            }
            if file.clean > 0 {
                varint::put_u64(out, TAG_CLEAN);
                varint::put_u64(out, file.meta.number);
                varint::put_u64(out, file.clean);
            }
        }
        put_ranges(out, TAG_RANGE, &self.ranges);
        put_ranges(out, TAG_FORGOTTEN, &self.forgotten);
        for &number in &self.removed {
            varint::put_u64(out, TAG_REMOVED);
            varint::put_u64(out, number);
        }
        for &(number, run) in &self.moved {
            varint::put_u64(out, TAG_MOVED);
            varint::put_u64(out, number);
            varint::put_u64(out, run);
        }
        for (tree, seq) in self.superseded.iter() {
            varint::put_u64(out, TAG_SUPERSEDED);
            varint::put_u64(out, u64::from(tree));
            varint::put_u64(out, seq);
        }
    }

    /// Decodes a whole edit.
    ///
    /// # Errors
    /// [`DecodeError`] if the bytes end within a field, a tag is unknown or a value out of range.
    pub fn decode(mut input: &[u8]) -> alluvium_codec::Result<Self> {
        let mut edit = Self::default();
        let (mut ranges, mut forgotten) = (RangeSetBuilder::default(), RangeSetBuilder::default());
        let input = &mut input;
        while !input.is_empty() {
            match varint::get_u64(input)? {
                TAG_FLUSHED_SEQ => edit.flushed_seq = Some(get_seq(input, "the flushed number")?),
                TAG_NEXT_FILE => edit.next_file = Some(get_number(input, "the next file number")?),
                TAG_NEXT_RUN => edit.next_run = Some(get_number(input, RUN)?),
                TAG_ADDED => edit.added.push(decode_added(input)?),
                TAG_RANGE => get_range(input, LAST_SEQ, &mut ranges)?,
                TAG_FORGOTTEN => get_range(input, MAX_SEQ, &mut forgotten)?,
                TAG_THINNED => edit.thinned = Some(get_number(input, SEQ)?),
                TAG_CLEAN => decode_clean(input, &mut edit.added)?,
                TAG_REMOVED => edit.removed.push(get_number(input, "a file number")?),
                TAG_MOVED => edit.moved.push((get_number(input, "a file number")?, get_number(input, RUN)?)),
                TAG_SUPERSEDED => {
                    let tree = at_most(varint::get_u64(input)?, u64::from(MAX_TREE), TREE)?;
                    edit.superseded.note(tree as u32, get_seq(input, SEQ)?);
                }
                _ => return Err(DecodeError::Invalid("an unknown field of a version edit")),
            }
        }
        edit.ranges = ranges.finish();
        edit.forgotten = forgotten.finish();
        Ok(edit)
    }
}

fn put_ranges(out: &mut Vec<u8>, tag: u64, set: &RangeSet) {
    for fragment in set.fragments() {
        for &seq in fragment.seqs() {
            varint::put_u64(out, tag);
            varint::put_bytes(out, fragment.start());
            varint::put_bytes(out, fragment.end());
            varint::put_u64(out, seq);
        }
    }
}

fn get_range(input: &mut &[u8], most: Seq, set: &mut RangeSetBuilder) -> alluvium_codec::Result<()> {
    let (start, end) = (varint::get_bytes(input)?, varint::get_bytes(input)?);
    set.add(start, end, at_most(varint::get_u64(input)?, most, SEQ)?)
}

/// Decodes the `clean` number of a file. The field directly follows the file that it belongs to.
fn decode_clean(input: &mut &[u8], added: &mut [AddedFile]) -> alluvium_codec::Result<()> {
    let (number, clean) = (get_number(input, "a file number")?, get_number(input, SEQ)?);
    match added.last_mut().filter(|file| file.meta.number == number) {
        Some(file) => file.clean = clean,
        None => return Err(DecodeError::Invalid("range tombstones applied to a file that is not added")),
    }
    Ok(())
}

fn decode_added(input: &mut &[u8]) -> alluvium_codec::Result<AddedFile> {
    let run = get_number(input, RUN)?;
    let meta = FileMeta::decode(input)?;
    at_most(meta.max_seq, LAST_SEQ, SEQ)?;
    if meta.smallest > meta.largest {
        return Err(DecodeError::Invalid("a file whose key range is empty"));
    }
    let shadowed = at_most(varint::get_u64(input)?, meta.entries, "more shadowed entries than entries")?;
    let count = varint::get_u64(input)?;
    // Each tree takes at least a byte, so a larger count is damage and must not cause an
    // allocation.
    if count > input.len() as u64 {
        return Err(DecodeError::Truncated);
    }
    let mut trees = Vec::with_capacity(count as usize);
    let mut before = 0u32;
    for at in 0..count {
        let step = u32::try_from(varint::get_u64(input)?).map_err(|_| DecodeError::Invalid(TREE))?;
        if at > 0 && step == 0 {
            return Err(DecodeError::Invalid("trees out of order"));
        }
        before = before.checked_add(step).filter(|tree| *tree <= MAX_TREE).ok_or(DecodeError::Invalid(TREE))?;
        trees.push(before);
    }
    Ok(AddedFile { run, meta, trees, shadowed, clean: 0, readers: Vec::new() })
}

#[cfg(test)]
mod tests;
