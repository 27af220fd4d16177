//! Checking a whole file.

use crate::block::{Block, Cursor, Shape};
use crate::filter;
use crate::meta::{FileCheck, FileMeta};
use crate::reader::Reader;
use crate::source::BlockSource;
use crate::stored::{self, Handle, Role};
use alluvium_codec::entry::{Kind, MAX_SEQ, Seq, compare};
use alluvium_env::Result;
use std::cmp::Ordering;

/// A check of the content of an undamaged entry. Returns a description of the fault, if there is
/// one.
pub type CheckEntry<'a> = dyn FnMut(&[u8], Kind) -> Option<String> + 'a;

/// The blocks of an index partition are read at once, up to this many bytes.
const MAX_REGION_READ: usize = 4 << 20;

/// The parts of a file that were read so far.
#[derive(Default)]
struct Seen {
    check: FileCheck,
    digest: u64,
    /// The last entry.
    last: Option<(Vec<u8>, Seq)>,
    smallest: Vec<u8>,
    min_seq: Seq,
    max_seq: Seq,
    raw_bytes: u64,
}

impl Reader {
    /// Reads and checks everything: every block, the order of entries, the index's bounds, that the
    /// filters contain every key, and counts, key range, sequence numbers, properties and
    /// dictionary. Does not use the cache.
    ///
    /// # Errors
    /// [`alluvium_env::Error::Corrupt`] with the first damage found, or
    /// [`alluvium_env::Error::Io`].
    pub fn verify(&self) -> Result<FileCheck> {
        self.verify_with(&mut |_, _| None)
    }

    /// As [`Reader::verify`]; `check` is called with the key of every entry.
    ///
    /// # Errors
    /// As [`Reader::verify`].
    pub fn verify_with(&self, check: &mut CheckEntry<'_>) -> Result<FileCheck> {
        let mut seen = Seen { min_seq: MAX_SEQ, ..Seen::default() };
        for index in 0..self.top.len() {
            self.verify_region(index, &mut seen, check)?;
        }
        self.verify_sections(&mut seen)?;
        self.verify_meta(&seen)?;
        Ok(seen.check)
    }

    /// Checks one partition and its data blocks. Short data blocks are read by one call.
    fn verify_region(&self, partition_index: usize, seen: &mut Seen, check: &mut CheckEntry<'_>) -> Result<()> {
        let at = self.top.partition(partition_index);
        let start = self.top.region_start(partition_index);
        let mut bytes = Vec::new();
        let len = at.end().saturating_sub(start) as usize;
        if len <= MAX_REGION_READ {
            bytes.resize(len, 0);
            self.file.read_exact_at(&mut bytes, start)?;
        }
        let source = self.source().with_bytes(&bytes, start);
        let (partition, checksum) = self.verify_block(&source, at, Role::Partition, Shape::Partition)?;
        seen.check.partitions += 1;
        let mut end = start;
        for index in 0..partition.len() {
            let handle = self.data_handle(partition_index, &partition, index)?;
            if handle.offset != end {
                return Err(self.corrupt(at.offset, "a gap between data blocks"));
            }
            end = handle.end();
            let (block, checksum) = self.verify_block(&source, handle, Role::Data, Shape::Entries)?;
            seen.digest = stored::digest(seen.digest, checksum);
            seen.check.data_blocks += 1;
            let bound = partition.entry(index);
            if index == 0 && self.top.block().entry(partition_index) != bound {
                return Err(self.corrupt(at.offset, "the two levels of the index differ"));
            }
            self.verify_entries(&block, handle, (&bound.0, bound.1), partition.filter(), seen)?;
            check_entries(&block, check).map_err(|what| self.corrupt(handle.offset, what))?;
        }
        // The digest adds blocks in the order of the file.
        seen.digest = stored::digest(seen.digest, checksum);
        Ok(())
    }

    fn verify_block(&self, source: &BlockSource<'_>, at: Handle, role: Role, shape: Shape) -> Result<(Block, u32)> {
        let (content, checksum) = source.read_with_checksum(at, role, self.dictionary.as_deref())?;
        Ok((self.decode(content, shape, at)?, checksum))
    }

    /// Checks the entries of a data block against the previous ones, the bound and the filter.
    fn verify_entries(
        &self,
        block: &Block,
        at: Handle,
        bound: (&[u8], Seq),
        filter: &[u8],
        seen: &mut Seen,
    ) -> Result<()> {
        if let Some((key, seq)) = &seen.last
            && compare(key, *seq, bound.0, bound.1) != Ordering::Less
        {
            return Err(self.corrupt(at.offset, "an entry before the block's bound in the index"));
        }
        let mut cursor = Cursor::new();
        cursor.move_to(block, 0);
        if compare(bound.0, bound.1, cursor.key(), cursor.seq()) == Ordering::Greater {
            return Err(self.corrupt(at.offset, "an entry before the block's bound in the index"));
        }
        loop {
            let (key, seq) = (cursor.key(), cursor.seq());
            if !filter::contains(filter, alluvium_codec::hash64(key)) {
                return Err(self.corrupt(at.offset, "a key that the filter does not have"));
            }
            if !seen.take(key, seq, cursor.kind(), cursor.value(block)) {
                return Err(self.corrupt(at.offset, "entries out of order"));
            }
            if !cursor.next(block) {
                return Ok(());
            }
        }
    }

    /// Checks the sections after the data, and the digest.
    fn verify_sections(&self, seen: &mut Seen) -> Result<()> {
        let footer = &self.footer;
        let sections = [
            (footer.dictionary, Role::Dictionary),
            (footer.aux, Role::Aux),
            (footer.properties, Role::Properties),
            (footer.index, Role::Index),
        ];
        for (at, role) in sections {
            if at.len == 0 {
                continue;
            }
            let dictionary = if role == Role::Dictionary { None } else { self.dictionary.as_deref() };
            let (content, checksum) = self.source().read_with_checksum(at, role, dictionary)?;
            seen.digest = stored::digest(seen.digest, checksum);
            let content = &content[..content.len() - crate::block::PADDING];
            if role == Role::Dictionary && alluvium_codec::hash64(content).max(1) != footer.dictionary_id {
                return Err(self.corrupt(at.offset, "the dictionary is not the one that the footer names"));
            }
        }
        if seen.digest != footer.digest {
            return Err(self.corrupt(footer.index.end(), "the digest of all blocks does not match"));
        }
        seen.check.bytes = footer.bytes;
        Ok(())
    }

    /// Checks the counts against the properties and the metadata in the manifest.
    fn verify_meta(&self, seen: &Seen) -> Result<()> {
        let properties = self.properties()?;
        let (largest, _) = seen.last.clone().unwrap_or_default();
        let found = FileMeta {
            number: self.footer.number,
            bytes: self.footer.bytes,
            footer_checksum: self.meta.footer_checksum,
            smallest: seen.smallest.clone(),
            largest,
            min_seq: seen.min_seq,
            max_seq: seen.max_seq,
            entries: seen.check.entries,
            tombstones: seen.check.tombstones,
            raw_bytes: seen.raw_bytes,
            dictionary_id: self.footer.dictionary_id,
        };
        let at = self.footer.properties.offset;
        if properties.meta != found {
            return Err(self.corrupt(at, "the properties do not match the entries"));
        }
        if self.meta != found {
            return Err(self.corrupt(at, "the metadata in the manifest do not match the entries"));
        }
        if (properties.data_blocks, properties.partitions) != (seen.check.data_blocks, seen.check.partitions) {
            return Err(self.corrupt(at, "the properties do not match the blocks"));
        }
        Ok(())
    }
}

fn check_entries(block: &Block, check: &mut CheckEntry<'_>) -> std::result::Result<(), String> {
    let mut cursor = Cursor::new();
    cursor.move_to(block, 0);
    loop {
        if let Some(what) = check(cursor.key(), cursor.kind()) {
            return Err(what);
        }
        if !cursor.next(block) {
            return Ok(());
        }
    }
}

impl Seen {
    /// Counts an entry; false if it is not after the last one.
    fn take(&mut self, key: &[u8], seq: Seq, kind: Kind, value: &[u8]) -> bool {
        let new_key = match &mut self.last {
            Some((last, last_seq)) => {
                if compare(last, *last_seq, key, seq) != Ordering::Less {
                    return false;
                }
                let new_key = last != key;
                last.clear();
                last.extend_from_slice(key);
                *last_seq = seq;
                new_key
            }
            None => {
                self.smallest = key.to_vec();
                self.last = Some((key.to_vec(), seq));
                true
            }
        };
        self.check.keys += u64::from(new_key);
        self.check.entries += 1;
        self.check.tombstones += u64::from(kind == Kind::Delete);
        self.raw_bytes += (key.len() + value.len()) as u64;
        self.min_seq = self.min_seq.min(seq);
        self.max_seq = self.max_seq.max(seq);
        true
    }
}
