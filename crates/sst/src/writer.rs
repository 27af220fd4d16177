//! Writing a file.

use crate::block::BlockBuilder;
use crate::compress::Encoder;
use crate::data::DataBlocks;
use crate::dictionary::OWN_LEVEL;
use crate::filter;
use crate::footer::{self, Footer};
use crate::index::{self, IndexBuilder};
use crate::index_file::{IndexFileMeta, IndexFileWriter};
use crate::meta::{FileMeta, FooterInfo};
use crate::options::{Compression, WriterOptions};
use crate::output::Output;
use crate::properties::Properties;
use crate::stored::{Handle, Role};
use alluvium_codec::entry::{Entry, Kind, MAX_SEQ, Seq};
use alluvium_env::{Env, Error, Result};
use std::cmp::Ordering;
use std::path::Path;

/// The most bytes of a key and of a value.
const MAX_LEN: usize = 1 << 28;

/// Writes one file, front to back.
///
/// A writer belongs to one thread. Dropping it, or [`Writer::abandon`], removes the file unless
/// [`Writer::finish`] has succeeded. Memory: the buffer for output of some 600 KB, one data block,
/// one index partition, the top-level index, and zstd's context.
pub struct Writer {
    output: Output,
    options: WriterOptions,
    encoder: Encoder,
    data: BlockBuilder,
    blocks: DataBlocks,
    index: IndexBuilder,
    /// The raw content of the section that is being written; reused.
    raw: Vec<u8>,
    /// The last entry of the data blocks written so far.
    last_key: Vec<u8>,
    last_seq: Seq,
    properties: Properties,
    /// Index files that are written along with the file.
    index_files: Vec<IndexFileWriter>,
}

impl Writer {
    /// Creates the file; it must not exist.
    ///
    /// # Errors
    /// [`alluvium_env::Error::Io`] if the file cannot be created.
    pub fn create(env: &Env, path: &Path, file_number: u64, options: WriterOptions) -> Result<Self> {
        let mut options = options;
        options.block_bytes = options.block_bytes.clamp(512, 1 << 24);
        options.filter_bits_per_key = options.filter_bits_per_key.min(32);
        if !matches!(options.compression, Compression::Zstd { .. }) {
            options.dictionary = None;
        }
        let output = Output::create(env, path, file_number)?;
        let mut properties = Properties {
            block_bytes: options.block_bytes as u64,
            filter_bits_per_key: u64::from(options.filter_bits_per_key),
            ..Properties::default()
        };
        properties.meta.number = file_number;
        properties.meta.min_seq = MAX_SEQ;
        properties.meta.dictionary_id = options.dictionary.as_ref().map_or(0, |dictionary| dictionary.id());
        Ok(Self {
            output,
            encoder: Encoder::new(options.compression, options.dictionary.as_ref()),
            data: BlockBuilder::new(options.restart_interval),
            blocks: DataBlocks::default(),
            index: IndexBuilder::new(
                options.index_partition_blocks,
                options.index_partition_bytes,
                options.filter_bits_per_key,
            ),
            raw: Vec::new(),
            last_key: Vec::new(),
            last_seq: 0,
            properties,
            options,
            index_files: Vec::new(),
        })
    }

    /// Also writes an index file, with an index entry for every `interval` entries (0 counts as 1).
    /// Each data block ends with an interval, so short intervals make small blocks. Must be called
    /// before the first entry.
    ///
    /// # Errors
    /// [`alluvium_env::Error::Io`] if the index file cannot be created, or entries were added
    /// before.
    pub fn add_index(&mut self, env: &Env, path: &Path, file_number: u64, interval: u64) -> Result<()> {
        if self.properties.meta.entries > 0 {
            return Err(self.refusal("an index file must be added before the first entry"));
        }
        self.index_files.push(IndexFileWriter::create(env, path, file_number, interval, &self.options)?);
        Ok(())
    }

    /// Appends an entry, which must be after the last one in entry order. Key and value may have
    /// 256 MiB each.
    ///
    /// # Errors
    /// [`alluvium_env::Error::Io`] if the entry is out of order or too large (then nothing was
    /// added), or if writing fails (then the file cannot be used).
    pub fn add(&mut self, entry: Entry<'_>) -> Result<()> {
        let new_key = self.check(&entry)?;
        let size = entry.key.len() + entry.value.len();
        // A block ends where its size is nearest to its target.
        let full = self.data.raw_len() + size / 2 > self.options.block_bytes || self.data.is_full();
        if full && !self.data.is_empty() {
            self.write_data_block()?;
        }
        self.note(&entry, new_key);
        self.data.add(entry);
        let mut ends = entry.value.len() >= self.options.block_bytes;
        for index in &mut self.index_files {
            ends |= index.count_entry();
        }
        if ends {
            self.write_data_block()?;
        }
        Ok(())
    }

    /// Checks an entry against the last one. Returns true if the key is new.
    #[inline]
    fn check(&self, entry: &Entry<'_>) -> Result<bool> {
        if entry.key.len() > MAX_LEN || entry.value.len() > MAX_LEN || entry.seq > MAX_SEQ {
            return Err(self.refusal("an entry is too large"));
        }
        if self.properties.meta.entries == 0 {
            return Ok(true);
        }
        let last_seq = if self.data.is_empty() { self.last_seq } else { self.data.last_seq() };
        match self.last_key().cmp(entry.key) {
            Ordering::Less => Ok(true),
            Ordering::Equal if last_seq > entry.seq => Ok(false),
            _ => Err(self.refusal("an entry is out of order")),
        }
    }

    fn refusal(&self, what: &'static str) -> Error {
        self.output.refusal(what)
    }

    #[inline]
    fn note(&mut self, entry: &Entry<'_>, new_key: bool) {
        if new_key || self.index.has_no_key() {
            let hash = alluvium_codec::hash64(entry.key);
            self.index.add_hash(hash);
            if matches!(entry.kind, Kind::Delta | Kind::Folded) {
                self.index.add_hash(filter::mark_of(hash));
            }
        }
        for index in &mut self.index_files {
            index.note_key(entry.key, new_key);
        }
        if new_key {
            self.note_tree(entry.key);
        }
        let meta = &mut self.properties.meta;
        if meta.entries == 0 {
            meta.smallest = entry.key.to_vec();
        }
        meta.entries += 1;
        meta.tombstones += u64::from(entry.kind == Kind::Delete);
        meta.raw_bytes += (entry.key.len() + entry.value.len()) as u64;
        meta.min_seq = meta.min_seq.min(entry.seq);
        meta.max_seq = meta.max_seq.max(entry.seq);
    }

    #[inline]
    fn note_tree(&mut self, key: &[u8]) {
        let Some(tree) = key.first_chunk().map(|bytes| u32::from_be_bytes(*bytes)) else { return };
        if self.properties.trees.last() != Some(&tree) {
            self.properties.trees.push(tree);
        }
    }

    fn write_data_block(&mut self) -> Result<()> {
        let first_of_file = self.properties.data_blocks == 0;
        let first_key = self.data.first_key();
        let bound =
            if first_of_file { (first_key, MAX_SEQ) } else { index::bound(&self.last_key, self.last_seq, first_key) };
        // The block's location is determined before the block is packed, because packing empties
        // the builder.
        self.index.add_block(bound, Handle { offset: self.output.len(), len: 0 });
        for index in &mut self.index_files {
            index.begin_block(bound, self.output.len());
        }
        self.last_key.clear();
        self.last_key.extend_from_slice(self.data.last_key());
        self.last_seq = self.data.last_seq();
        let may_columns = self.options.columns && self.options.compression != Compression::None;
        let handle = self.blocks.put(&mut self.data, may_columns, &mut self.encoder, &mut self.output)?;
        self.properties.data_blocks += 1;
        self.properties.data_bytes += u64::from(handle.len);
        for index in &mut self.index_files {
            index.end_block(handle)?;
        }
        if self.index.is_full(handle.end()) {
            self.write_partition()?;
        }
        Ok(())
    }

    fn write_partition(&mut self) -> Result<()> {
        if self.index.top_is_full() {
            return Err(self.refusal(index::TOO_MANY_BLOCKS));
        }
        self.raw.clear();
        self.index.finish_partition(&mut self.raw);
        let handle = self.output.put(&self.raw, Role::Partition, None)?;
        self.index.add_partition(handle);
        self.properties.partitions += 1;
        self.properties.index_bytes += u64::from(handle.len);
        Ok(())
    }

    /// The approximate bytes of the file if it ended now, including the open data block.
    pub fn estimated_bytes(&self) -> u64 {
        self.output.len() + (self.data.raw_len() + self.index.pending_bytes()) as u64
    }

    /// The bytes of all keys and values so far.
    pub fn raw_bytes(&self) -> u64 {
        self.properties.meta.raw_bytes
    }

    /// The entries so far.
    pub fn entries(&self) -> u64 {
        self.properties.meta.entries
    }

    /// The key of the last entry; empty before the first.
    #[inline]
    pub fn last_key(&self) -> &[u8] {
        if self.data.is_empty() { &self.last_key } else { self.data.last_key() }
    }

    /// Writes index, dictionary, properties and footer, and syncs the file (not its directory).
    ///
    /// # Errors
    /// [`alluvium_env::Error::Io`] if nothing was added, or if writing or the sync fails; the file is then
    /// removed.
    pub fn finish(self, footer: FooterInfo) -> Result<FileMeta> {
        self.finish_with_indexes(footer).map(|(meta, _)| meta)
    }

    /// As [`Writer::finish`], with the index files of [`Writer::add_index`], in that order.
    ///
    /// # Errors
    /// As [`Writer::finish`]. After an error in an index file, the file itself may stay.
    pub fn finish_with_indexes(mut self, footer: FooterInfo) -> Result<(FileMeta, Vec<IndexFileMeta>)> {
        let meta = self.finish_data(footer)?;
        let indexes = std::mem::take(&mut self.index_files);
        let indexes = indexes.into_iter().map(|index| index.finish(&meta)).collect::<Result<_>>()?;
        Ok((meta, indexes))
    }

    fn finish_data(&mut self, footer: FooterInfo) -> Result<FileMeta> {
        if self.properties.meta.entries == 0 {
            return Err(self.refusal("a file must have an entry"));
        }
        if !self.data.is_empty() {
            self.write_data_block()?;
        }
        if !self.index.is_empty() {
            self.write_partition()?;
        }
        let FooterInfo { inputs, replaced, aux } = footer;
        (self.properties.inputs, self.properties.replaced) = (inputs, replaced);
        self.properties.meta.largest = std::mem::take(&mut self.last_key);
        let dictionary = match &self.options.dictionary {
            Some(dictionary) => {
                let mut encoder = Encoder::new(Compression::Zstd { level: OWN_LEVEL }, None);
                self.output.put(dictionary.bytes(), Role::Dictionary, Some(&mut encoder))?
            }
            None => Handle { offset: self.output.len(), len: 0 },
        };
        let aux = self.output.put(&aux, Role::Aux, Some(&mut self.encoder))?;
        self.raw.clear();
        self.properties.encode(&mut self.raw);
        let properties = self.output.put(&self.raw, Role::Properties, None)?;
        self.raw.clear();
        self.index.finish(&mut self.raw);
        let index = self.output.put(&self.raw, Role::Index, None)?;
        let mut meta = std::mem::take(&mut self.properties.meta);
        let footer = Footer {
            number: meta.number,
            bytes: index.end() + footer::LEN as u64,
            digest: self.output.digest(),
            dictionary_id: meta.dictionary_id,
            dictionary,
            aux,
            properties,
            index,
        };
        let (bytes, checksum) = footer.encode();
        self.output.finish(&bytes)?;
        meta.bytes = footer.bytes;
        meta.footer_checksum = checksum;
        Ok(meta)
    }

    /// Removes the file.
    pub fn abandon(self) {
        drop(self);
    }
}

#[cfg(test)]
mod tests;
