//! The last pass: the sorted file and its index files.

use crate::arena::{Pair, position};
use crate::error::Result;
use crate::layout::{self, Content};
use crate::options::{BuildOptions, OnDuplicate};
use crate::runs::{Duplicate, earlier};
use alluvium_codec::entry::{Entry, Kind};
use alluvium_env::Env;
use alluvium_sst::{Compression, DictionaryRegistry, FooterInfo, Sampler, Writer, WriterOptions};
use std::path::Path;

/// The longest dictionary, in bytes.
const DICTIONARY_BYTES: u64 = 64 << 10;
/// Inputs with fewer bytes than this get no dictionary.
const DICTIONARY_INPUT: u64 = 1 << 20;

/// Writes the data of a store, from pairs in order.
pub(crate) struct DataWriter {
    writer: Writer,
    on_duplicate: OnDuplicate,
    key: Vec<u8>,
    pub duplicates: u64,
    pub duplicate: Option<Duplicate>,
}

impl DataWriter {
    /// Creates the files. `sampler` has samples of the input, whose keys and values have
    /// `raw_bytes`.
    pub fn create(env: &Env, dir: &Path, options: &BuildOptions, sampler: Sampler, raw_bytes: u64) -> Result<Self> {
        let dictionary = match options.compression {
            Compression::Zstd { .. } if raw_bytes >= DICTIONARY_INPUT => {
                let trained = sampler.train((raw_bytes / 64).min(DICTIONARY_BYTES) as usize);
                trained.map(|dictionary| DictionaryRegistry::new().intern(dictionary))
            }
            _ => None,
        };
        let writer_options = WriterOptions {
            block_bytes: options.block_bytes,
            compression: options.compression,
            dictionary,
            filter_bits_per_key: options.filter_bits_per_key,
            ..WriterOptions::default()
        };
        let mut writer = Writer::create(env, &dir.join(layout::DATA), layout::DATA_NUMBER, writer_options)?;
        for (number, interval) in (layout::DATA_NUMBER + 1..).zip(&options.index_intervals) {
            writer.add_index(env, &dir.join(layout::index_name(*interval)), number, *interval)?;
        }
        Ok(Self { writer, on_duplicate: options.on_duplicate, key: Vec::new(), duplicates: 0, duplicate: None })
    }

    /// Adds a pair that is not before the last one. Of several pairs with the same key, the first
    /// is kept.
    pub fn add(&mut self, pair: Pair<'_>) -> Result<()> {
        layout::internal_key(&mut self.key, pair.key);
        if self.writer.entries() > 0 && self.writer.last_key() == self.key {
            self.duplicates += 1;
            if self.on_duplicate == OnDuplicate::Error {
                earlier(&mut self.duplicate, position(pair.rank, self.on_duplicate), pair.key);
            }
            return Ok(());
        }
        if self.duplicate.is_some() {
            // The build will fail. The pairs are only searched for an earlier duplicate, which
            // needs the last key.
            self.writer.add(Entry { key: &self.key, seq: layout::SEQ, kind: Kind::Put, value: &[] })?;
            return Ok(());
        }
        self.writer.add(Entry { key: &self.key, seq: layout::SEQ, kind: Kind::Put, value: pair.value })?;
        Ok(())
    }

    /// Completes the files, and makes them durable.
    pub fn finish(self, aux: Vec<u8>) -> Result<Content> {
        let (data, indexes) = self.writer.finish_with_indexes(FooterInfo { aux, ..FooterInfo::default() })?;
        Ok(Content { data, indexes })
    }
}
