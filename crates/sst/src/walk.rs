//! Reading a file that may be damaged: for tools and salvage.
//!
//! If footer and index are whole, they locate the blocks, and damage to one block loses only that
//! block. Otherwise blocks are found by their checksums, which are seeded with the location. From
//! the end of the previous block, every length is tried, up to 64 MiB and twice the length of the
//! longest block so far.

mod again;
mod index_file;
mod trial;

pub use again::BlockReader;

use crate::block::{Block, Cursor, PADDING, Shape};
use crate::compress::{Decoders, Method};
use crate::dictionary::{Dictionary, DictionaryRegistry};
use crate::footer::{self, FORMAT_VERSION, Footer, Unreadable};
use crate::index::{TopIndex, data_block};
use crate::index_file::IndexFileMeta;
use crate::properties::Properties;
use crate::stored::{self, Handle, Role};
use alluvium_codec::entry::{Entry, Kind, Seq};
use alluvium_env::{AroundReader, Env, Error, OpenMode, Result};
use std::path::Path;
use std::sync::Arc;
use trial::Limits;

/// The contents of a file's footer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FooterFacts {
    /// The footer's checksum, which the manifest keeps.
    pub checksum: u64,
    /// The digest of all blocks.
    pub digest: u64,
    /// The content id of the dictionary; 0 for none.
    pub dictionary_id: u64,
    /// The end of the data blocks and index partitions.
    pub data_end: u64,
}

/// One whole block of a file.
pub struct WalkedBlock<'a> {
    /// The block's offset in the file.
    pub offset: u64,
    /// The length of the stored block, trailer included.
    pub bytes: u64,
    /// The length of the decompressed block.
    pub raw_bytes: u64,
    /// The role of the block: "data", "index partition", "top-level index", "dictionary", "aux" or
    /// "properties".
    pub role: &'static str,
    /// The compression: "raw", "lz4", "zstd" or "zstd with dictionary". If the entries are stored
    /// column by column: "columns", alone or with one of those.
    pub method: &'static str,
    /// Bytes of the filter, in an index partition.
    pub filter_bytes: u64,
    block: Option<&'a Block>,
}

impl WalkedBlock<'_> {
    /// The number of entries of a data block or of an index; 0 for other blocks.
    pub fn entries(&self) -> u64 {
        self.block.map_or(0, |block| block.len() as u64)
    }

    /// Calls `visit` with the entries of a data block, in order. Other blocks have none.
    ///
    /// # Errors
    /// The error of `visit`.
    pub fn each(&self, visit: &mut dyn FnMut(Entry<'_>) -> Result<()>) -> Result<()> {
        let Some(block) = self.block.filter(|_| self.role == name_of(Role::Data)) else { return Ok(()) };
        each_entry(block, visit)
    }
}

fn each_entry(block: &Block, visit: &mut dyn FnMut(Entry<'_>) -> Result<()>) -> Result<()> {
    let mut cursor = Cursor::new();
    cursor.move_to(block, 0);
    loop {
        let (key, seq, kind) = (cursor.key(), cursor.seq(), cursor.kind());
        visit(Entry { key, seq, kind, value: cursor.value(block) })?;
        if !cursor.next(block) {
            return Ok(());
        }
    }
}

/// Bytes of a file that cannot be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LostBlock {
    /// The offset of the first of these bytes.
    pub offset: u64,
    /// The number of bytes.
    pub bytes: u64,
    /// A description of the damage.
    pub what: String,
    /// True if the bytes may hold entries, because they were, or may have been, data blocks.
    pub entries: bool,
    /// Lost entries are at or above this key; if it is empty, from the beginning.
    pub from: Vec<u8>,
    /// Lost entries are at or below this key; `None` if they extend to the end.
    pub to: Option<Vec<u8>>,
}

/// The result of [`walk_file`].
#[derive(Debug, Clone, Default)]
pub struct WalkedFile {
    /// The file's length in bytes.
    pub file_bytes: u64,
    /// The footer, if it is whole.
    pub footer: Option<FooterFacts>,
    /// The properties, if they are whole.
    pub properties: Option<Properties>,
    /// The metadata of an index file, if the file is an index file and its properties are whole.
    /// `bytes` and `footer_checksum`, which are not known when properties are written, are taken
    /// from the footer, or are 0.
    pub index_file: Option<IndexFileMeta>,
    /// The opaque bytes given to the writer, if they are whole.
    pub aux: Option<Vec<u8>>,
    /// The unreadable bytes, in the order of the file.
    pub lost: Vec<LostBlock>,
    /// Whole data blocks.
    pub data_blocks: u64,
    /// Entries in them.
    pub entries: u64,
    /// Tombstones among them.
    pub tombstones: u64,
    /// The lowest and the highest sequence number in them.
    pub numbers: Option<(Seq, Seq)>,
    /// The dictionary, if the file has one and it is whole. The registry holds the dictionary as
    /// long as this result is kept.
    pub dictionary: Option<Arc<Dictionary>>,
}

fn name_of(role: Role) -> &'static str {
    match role {
        Role::Data | Role::Columns => "data",
        Role::Partition => "index partition",
        Role::Index => "top-level index",
        Role::Dictionary => "dictionary",
        Role::Aux => "aux",
        Role::Properties => "properties",
    }
}

fn role_of(tag: u8) -> Option<Role> {
    use Role::{Aux, Columns, Data, Dictionary, Index, Partition, Properties};
    if tag >> 2 & 7 == Columns as u8 {
        return Some(Data);
    }
    [Data, Partition, Index, Dictionary, Aux, Properties].into_iter().find(|role| *role as u8 == tag >> 2 & 7)
}

/// Reads the file with this number from beginning to end and calls `visit` with each whole block,
/// in the order of the file. Dictionaries are registered in `dictionaries`. If the dictionary of
/// this file is damaged, it is taken from there, provided another file has the same one. Writes
/// nothing. Contents of the file never cause an error, except [`Error::NewerFormat`]; bytes that
/// the disk cannot read are lost like damaged ones.
///
/// # Errors
/// [`Error::NewerFormat`], I/O errors, and the error of `visit`.
pub fn walk_file(
    env: &Env,
    path: &Path,
    number: u64,
    dictionaries: &DictionaryRegistry,
    visit: &mut dyn FnMut(&WalkedBlock<'_>) -> Result<()>,
) -> Result<WalkedFile> {
    walk_within(env, path, number, dictionaries, Limits::USUAL, visit)
}

/// [`walk_file`] with other limits for the search for blocks.
fn walk_within(
    env: &Env,
    path: &Path,
    number: u64,
    dictionaries: &DictionaryRegistry,
    limits: Limits,
    visit: &mut dyn FnMut(&WalkedBlock<'_>) -> Result<()>,
) -> Result<WalkedFile> {
    let file = env.fs.open(path, OpenMode::Read)?;
    let mut reader = AroundReader::new(&*file)?;
    let len = reader.file_bytes();
    let mut tail = vec![0; len.min(8 << 10) as usize];
    let tail_at = len - tail.len() as u64;
    reader.read_at(&mut tail, tail_at);
    let mut walker = Walker {
        reader,
        number,
        len,
        limits,
        dictionaries,
        dictionary: None,
        decoders: Decoders::default(),
        found: WalkedFile { file_bytes: len, ..WalkedFile::default() },
        last_key: Vec::new(),
        visit,
    };
    match Footer::decode(&tail, len, number) {
        Ok((footer, checksum)) => {
            walker.found.footer = Some(FooterFacts {
                checksum,
                digest: footer.digest,
                dictionary_id: footer.dictionary_id,
                data_end: footer.data_end(),
            });
            walker.by_footer(&footer)?;
        }
        Err(Unreadable::Newer(found)) => {
            return Err(Error::NewerFormat { path: path.to_owned(), found, supported: FORMAT_VERSION });
        }
        Err(Unreadable::Damaged(what)) => {
            // In a truncated file, blocks may extend into the usual place of the footer.
            walker.by_trial(0, len, None)?;
            walker.lose_footer(what);
        }
    }
    walker.found.dictionary = walker.dictionary.take();
    Ok(walker.found)
}

struct Walker<'a> {
    reader: AroundReader<'a>,
    number: u64,
    len: u64,
    limits: Limits,
    dictionaries: &'a DictionaryRegistry,
    dictionary: Option<Arc<Dictionary>>,
    decoders: Decoders,
    found: WalkedFile,
    last_key: Vec<u8>,
    visit: &'a mut dyn FnMut(&WalkedBlock<'_>) -> Result<()>,
}

impl Walker<'_> {
    fn by_footer(&mut self, footer: &Footer) -> Result<()> {
        self.dictionary = self.dictionaries.get(footer.dictionary_id);
        if self.dictionary.is_none()
            && footer.dictionary.len > 0
            && let Ok(content) = self.content(footer.dictionary, Role::Dictionary)?
        {
            self.dictionary = Some(self.dictionaries.intern(Dictionary::from_bytes(content)));
        }
        if self.is_index_file(footer)? {
            self.index_partitions(footer)?;
            return self.sections_after_data(footer);
        }
        let top = self.content_padded(footer.index, Role::Index)?;
        match top.ok().and_then(|content| TopIndex::decode(content, footer.data_end()).ok()) {
            Some(top) => {
                for index in 0..top.len() {
                    self.region(&top, index)?;
                }
            }
            None => self.by_trial(0, footer.data_end(), None)?,
        }
        self.sections_after_data(footer)
    }

    /// The sections after the data, or after the partitions of an index file.
    fn sections_after_data(&mut self, footer: &Footer) -> Result<()> {
        for (at, role) in [
            (footer.dictionary, Role::Dictionary),
            (footer.aux, Role::Aux),
            (footer.properties, Role::Properties),
            (footer.index, Role::Index),
        ] {
            if at.len > 0 {
                self.block(at, role, None)?;
            }
        }
        Ok(())
    }

    /// The data blocks of an index partition, and the partition itself.
    fn region(&mut self, top: &TopIndex, index: usize) -> Result<()> {
        let (at, start) = (top.partition(index), top.region_start(index));
        let content = self.content_padded(at, Role::Partition)?;
        let partition = content.ok().and_then(|content| Block::decode(content, Shape::Partition).ok());
        let after = (index + 1 < top.len()).then(|| top.block().entry(index + 1).0);
        let Some(partition) = partition else {
            let bound = top.block().entry(index).0;
            self.last_key = bound.max(std::mem::take(&mut self.last_key));
            self.by_trial(start, at.offset, after)?;
            return self.block(at, Role::Partition, None);
        };
        for block in 0..partition.len() {
            let bound = |index: usize| partition.entry(index).0;
            let to = if block + 1 < partition.len() { Some(bound(block + 1)) } else { after.clone() };
            match data_block(&partition, block, start, at.offset) {
                Some(handle) => self.block(handle, Role::Data, Some((bound(block), to)))?,
                None => self.lose(start, at.offset - start, "the places of data blocks", true),
            }
        }
        self.block(at, Role::Partition, None)
    }

    /// Reads the block at `at`, and counts it as lost if it is not whole. `bounds` are the known
    /// key bounds of the entries that are lost then.
    fn block(&mut self, at: Handle, role: Role, bounds: Option<(Vec<u8>, Option<Vec<u8>>)>) -> Result<()> {
        let why = match self.content_padded(at, role)? {
            Ok(content) => match self.pass_block(at, role, content)? {
                None => return Ok(()),
                Some(why) => why,
            },
            Err(why) => why,
        };
        self.lose(at.offset, u64::from(at.len), &why, role == Role::Data);
        if let (Some((from, to)), Some(lost)) = (bounds, self.found.lost.last_mut()) {
            (lost.from, lost.to) = (from.max(std::mem::take(&mut lost.from)), to);
        }
        Ok(())
    }

    /// Passes a block to `visit`; returns a description of the damage if it cannot be decoded.
    fn pass_block(&mut self, at: Handle, role: Role, content: Vec<u8>) -> Result<Option<String>> {
        let raw_bytes = (content.len() - PADDING) as u64;
        let shape = match role {
            Role::Data | Role::Columns | Role::Index => Some(Shape::Entries),
            Role::Partition => Some(Shape::Partition),
            Role::Dictionary | Role::Aux | Role::Properties => None,
        };
        if role == Role::Properties
            && let Err(error) = self.properties(&content[..raw_bytes as usize])
        {
            return Ok(Some(error.to_string()));
        }
        if role == Role::Aux {
            self.found.aux = Some(content[..raw_bytes as usize].to_vec());
        }
        let block = match shape.map(|shape| Block::decode(content, shape)).transpose() {
            Ok(block) => block,
            Err(error) => return Ok(Some(error.to_string())),
        };
        let mut tag = [0];
        self.reader.read_at(&mut tag, at.end() - 5);
        let is_columns = role == Role::Data && tag[0] >> 2 & 7 == Role::Columns as u8;
        let method = match (Method::from_bits(tag[0]), is_columns) {
            (Method::Raw, false) => "raw",
            (Method::Lz4, false) => "lz4",
            (Method::Zstd, false) => "zstd",
            (Method::ZstdDictionary, false) => "zstd with dictionary",
            (Method::Raw, true) => "columns",
            (Method::Lz4, true) => "columns, lz4",
            (Method::Zstd, true) => "columns, zstd",
            (Method::ZstdDictionary, true) => "columns, zstd with dictionary",
        };
        let walked = WalkedBlock {
            offset: at.offset,
            bytes: u64::from(at.len),
            raw_bytes,
            role: name_of(role),
            method,
            filter_bytes: block.as_ref().filter(|_| role == Role::Partition).map_or(0, |b| b.filter().len() as u64),
            block: block.as_ref(),
        };
        if role == Role::Data {
            self.count(&walked)?;
        }
        (self.visit)(&walked)?;
        Ok(None)
    }

    fn count(&mut self, walked: &WalkedBlock<'_>) -> Result<()> {
        let (found, last_key) = (&mut self.found, &mut self.last_key);
        found.data_blocks += 1;
        let mut first = true;
        walked.each(&mut |entry| {
            if std::mem::take(&mut first) {
                // Sets the upper bound of earlier lost entries for which no index has one.
                for lost in found.lost.iter_mut().filter(|lost| lost.entries && lost.to.is_none()) {
                    lost.to = Some(entry.key.to_vec());
                }
            }
            found.entries += 1;
            found.tombstones += u64::from(entry.kind == Kind::Delete);
            let (low, high) = found.numbers.unwrap_or((entry.seq, entry.seq));
            found.numbers = Some((low.min(entry.seq), high.max(entry.seq)));
            last_key.clear();
            last_key.extend_from_slice(entry.key);
            Ok(())
        })
    }

    fn lose(&mut self, offset: u64, bytes: u64, what: &str, entries: bool) {
        let from = self.last_key.clone();
        self.found.lost.push(LostBlock { offset, bytes, what: what.to_owned(), entries, from, to: None });
    }

    /// Counts the bytes after the last block as lost, if there is no whole footer.
    fn lose_footer(&mut self, what: &str) {
        let mut at = self.len;
        // No whole block was found up to the end of the file. At most the length of a footer at the
        // end belongs to the footer.
        if let Some(last) = self.found.lost.pop_if(|last| last.offset + last.bytes == self.len) {
            at = last.offset.max(self.len.saturating_sub(footer::LEN as u64));
            if at > last.offset {
                self.found.lost.push(LostBlock { bytes: at - last.offset, ..last });
            }
        }
        let why = self.reader.why(at, self.len - at);
        // Without the properties the original end of the file is unknown.
        let known = self.found.properties.is_some() || self.found.index_file.is_some();
        self.lose(at, self.len - at, why.as_deref().unwrap_or(what), !known);
    }

    fn content(&mut self, at: Handle, role: Role) -> Result<std::result::Result<Vec<u8>, String>> {
        Ok(self.content_padded(at, role)?.map(|mut content| {
            content.truncate(content.len() - PADDING);
            content
        }))
    }

    /// The content of a block, or a description of the damage.
    fn content_padded(&mut self, at: Handle, role: Role) -> Result<std::result::Result<Vec<u8>, String>> {
        if at.end() > self.len {
            return Ok(Err("the file ends within it".to_owned()));
        }
        let mut bytes = vec![0; at.len as usize];
        self.reader.read_at(&mut bytes, at.offset);
        if let Some(why) = self.reader.why(at.offset, u64::from(at.len)) {
            return Ok(Err(why));
        }
        let dictionary = if role == Role::Dictionary { None } else { self.dictionary.as_deref() };
        Ok(stored::get(&bytes, role, &mut self.decoders, dictionary, self.number, at.offset))
    }
}

#[cfg(test)]
mod tests;
