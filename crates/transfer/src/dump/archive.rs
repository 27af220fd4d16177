//! Archives of `mongodump --archive`: a dump in one file, plain or compressed.
//!
//! An archive is a magic number of four bytes, followed by blocks. A block consists of a header (a BSON document),
//! further BSON documents, and four bytes `ff`. The documents of the first block describe the collections. The
//! documents of every other block belong to the collection that its header names. A block without documents, whose
//! header has `EOF`, ends its collection. The blocks of several collections may alternate.

mod crc64;

use crate::load::{Identity, Input, Metadata, Source};
use crate::packing::Packing;
use alluvium_codec::Hasher64;
use alluvium_collections::error::{Error, Result};
use alluvium_document::{Map, Value, bson};
use alluvium_env::{Env, File, FileReader, OpenMode};
use crc64::Crc64;
use std::collections::BTreeMap;
use std::io::{self, BufReader, Read};
use std::path::Path;
use std::sync::Arc;

const MAGIC: [u8; 4] = [0x6d, 0xe2, 0x99, 0x81];
const TERMINATOR: [u8; 4] = [0xff; 4];
/// The size limit of a document in MongoDB, with 16 KiB for fields that MongoDB adds.
const DOCUMENT_MAX: usize = (16 << 20) + (16 << 10);
const PIECE_BYTES: usize = 256 << 10;
/// The documents of a collection in a compressed archive are held in memory if they have at most this many bytes...
const HELD_MAX: usize = 1 << 20;
/// ...and if all held documents together have at most this many. Other collections are read by decompressing the
/// archive from its beginning.
const ALL_HELD_MAX: usize = 32 << 20;

/// The content of an archive.
pub(super) struct Archive {
    /// The collections and views, in the order of the archive.
    pub entries: Vec<Entry>,
}

/// A collection, a view or another thing with a name.
pub(super) struct Entry {
    pub logical: String,
    pub collection: String,
    /// `collection`, `view` or `timeseries`.
    pub kind: String,
    pub metadata: Option<Metadata>,
    pub section: Section,
}

/// The documents of one collection in an archive.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Section(Arc<Content>);

#[derive(Debug, Default, PartialEq, Eq)]
struct Content {
    /// The offsets of the documents in the decompressed archive, and their bytes.
    parts: Vec<(u64, u64)>,
    bytes: u64,
    hash: u64,
    /// The bytes of all documents, if they are held in memory.
    held: Option<Vec<u8>>,
}

/// A section while the archive is read.
#[derive(Default)]
struct Building {
    content: Content,
    hasher: Hasher64,
    crc: Crc64,
    held: Vec<u8>,
    is_held: bool,
    has_ended: bool,
}

impl Archive {
    /// Reads the descriptions and the places of the documents; `None` if the file is no archive.
    ///
    /// # Errors
    /// [`Error::Dump`] if the archive is truncated or damaged.
    pub fn read(env: &Env, path: &Path) -> Result<Option<Self>> {
        let mut stream = Blocks { reader: BufReader::with_capacity(PIECE_BYTES, open(env, path)?), at: 0 };
        let damaged = |what: String| Error::Dump(format!("the archive {} is damaged: {what}", path.display()));
        let mut magic = [0; 4];
        match stream.fill(&mut magic) {
            Ok(()) if magic == MAGIC => {}
            _ => return Ok(None),
        }
        let mut document = Vec::new();
        let mut described = Vec::new();
        let mut is_first = true;
        while stream.next(&mut document).map_err(&damaged)? {
            // The first document describes the tools that wrote the archive.
            if !is_first {
                described.push(bson::decode_document(&document).map_err(|error| damaged(error.to_string()))?);
            }
            is_first = false;
        }
        let is_packed = packing(env, path)? != Packing::Plain;
        let mut sections = stream.sections(is_packed).map_err(&damaged)?;
        let mut entries = Vec::new();
        for description in described {
            let entry = Entry::of(&description, &mut sections).map_err(&damaged)?;
            // The documents of a time series are stored in buckets, in a collection with another name.
            let name = (entry.logical.clone(), format!("system.buckets.{}", entry.collection));
            let buckets = Some(()).filter(|()| entry.kind == "timeseries").and_then(|()| sections.remove_entry(&name));
            entries.push(entry);
            entries.extend(buckets.map(|((logical, collection), found)| Entry::of_section(logical, collection, found)));
        }
        let rest = sections.into_iter();
        entries.extend(rest.map(|((logical, collection), found)| Entry::of_section(logical, collection, found)));
        Ok(Some(Self { entries }))
    }
}

type Sections = BTreeMap<(String, String), Building>;

impl Entry {
    fn of(description: &Map, sections: &mut Sections) -> std::result::Result<Self, String> {
        let text = |name: &str| description.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
        let (logical, collection) = (text("db"), text("collection"));
        let metadata = match text("metadata") {
            text if text.is_empty() => None,
            text => Some(Metadata::parse(text.as_bytes()).map_err(|what| format!("metadata of {collection}: {what}"))?),
        };
        let found = sections.remove(&(logical.clone(), collection.clone()));
        // Every collection has a last block.
        if found.is_none() && text("type") == "collection" {
            return Err(format!("it ends before the documents of {logical}.{collection}"));
        }
        let found = found.unwrap_or_default();
        Ok(Self { logical, collection, kind: text("type"), metadata, section: found.finish() })
    }

    /// A collection with documents but without a description in the archive.
    fn of_section(logical: String, collection: String, found: Building) -> Self {
        Self { logical, collection, kind: "collection".to_owned(), metadata: None, section: found.finish() }
    }
}

impl Building {
    fn finish(mut self) -> Section {
        self.content.hash = self.hasher.finish();
        self.content.held = self.is_held.then_some(self.held);
        Section(Arc::new(self.content))
    }

    /// Ends the section after its last block, and compares the checksum in that block with the documents.
    fn end(&mut self, checksum: Option<&Value>) -> std::result::Result<(), String> {
        self.has_ended = true;
        let computed = self.crc.value();
        match checksum.and_then(Value::as_i64).map(i64::cast_unsigned) {
            Some(expected) if expected == computed => Ok(()),
            Some(expected) => Err(format!(
                "the checksum of its documents is {computed:016x}, and not {expected:016x} as in its last block: they were \
                 changed"
            )),
            None => Err("its last block has no checksum".to_owned()),
        }
    }

    fn add(&mut self, document: &[u8], at: u64, all_held: &mut usize) {
        let len = document.len() as u64;
        match self.content.parts.last_mut() {
            Some((start, bytes)) if *start + *bytes == at => *bytes += len,
            _ => self.content.parts.push((at, len)),
        }
        self.content.bytes += len;
        self.hasher.add(document);
        self.crc.add(document);
        if !self.is_held {
            return;
        }
        if self.held.len() + document.len() <= HELD_MAX && *all_held + document.len() <= ALL_HELD_MAX {
            self.held.extend_from_slice(document);
            *all_held += document.len();
        } else {
            *all_held -= self.held.len();
            (self.held, self.is_held) = (Vec::new(), false);
        }
    }
}

impl Section {
    /// The number of bytes of its documents.
    pub fn bytes(&self) -> u64 {
        self.0.bytes
    }

    /// The documents as an input: one after the other, as in a file of a dump.
    pub fn input(&self, env: &Env, path: &Path, collection: &str) -> Result<Input> {
        let name = format!("{collection} in {}", path.display());
        let identity = Identity { size: self.0.bytes, hash: self.0.hash };
        if self.0.held.is_some() {
            let stream = Held { section: self.clone(), at: 0 };
            return Ok(Input { total: self.0.bytes, ..Input::decoded(&name, identity, stream) });
        }
        let parts = Parts { section: self.clone(), part: 0, inside: 0 };
        let source: Box<dyn Source> = match packing(env, path)? {
            Packing::Plain => {
                let file = env.fs.open(path, OpenMode::Read).map_err(alluvium_store::Error::from)?;
                Box::new(PlainSource { file, parts })
            }
            _ => Box::new(PackedSource { stream: open(env, path)?, at: 0, parts }),
        };
        Ok(Input { name, identity: Some(identity), total: self.0.bytes, source, place: None })
    }
}

fn packing(env: &Env, path: &Path) -> Result<Packing> {
    let file = env.fs.open(path, OpenMode::Read).map_err(alluvium_store::Error::from)?;
    let mut head = [0; Packing::HEAD_BYTES];
    let len = file.read_at(&mut head, 0).map_err(alluvium_store::Error::from)?;
    Ok(Packing::of(Path::new(""), head.get(..len).unwrap_or(&[])))
}

/// Opens the archive as a stream of decompressed bytes.
fn open(env: &Env, path: &Path) -> Result<Box<dyn Read + Send>> {
    let packing = packing(env, path)?;
    let file = env.fs.open(path, OpenMode::Read).map_err(alluvium_store::Error::from)?;
    let failed = |error| alluvium_store::Error::from(alluvium_env::Error::of_stream("read", path, error)).into();
    packing.reader(FileReader::new(file)).map_err(failed)
}

/// Reads blocks.
struct Blocks<R> {
    reader: R,
    /// The offset of the next byte.
    at: u64,
}

impl<R: Read> Blocks<R> {
    fn fill(&mut self, bytes: &mut [u8]) -> io::Result<()> {
        self.reader.read_exact(bytes)?;
        self.at += bytes.len() as u64;
        Ok(())
    }

    /// Reads the next document of a block; returns false at the end of the block.
    fn next(&mut self, document: &mut Vec<u8>) -> std::result::Result<bool, String> {
        let cut = |error: io::Error| match error.kind() {
            io::ErrorKind::UnexpectedEof => {
                "it ends within a block, so it is cut: copy or make the archive again".to_owned()
            }
            _ => error.to_string(),
        };
        let mut head = [0; 4];
        self.fill(&mut head).map_err(cut)?;
        if head == TERMINATOR {
            return Ok(false);
        }
        let len = usize::try_from(i32::from_le_bytes(head)).ok().filter(|len| (5..=DOCUMENT_MAX).contains(len));
        let len = len.ok_or_else(|| format!("no document begins at byte {}", self.at - 4))?;
        document.clear();
        document.extend_from_slice(&head);
        document.resize(len, 0);
        self.fill(document.get_mut(4..).unwrap_or(&mut [])).map_err(cut)?;
        Ok(true)
    }

    /// Reads the rest of the archive, and returns its sections.
    fn sections(&mut self, is_packed: bool) -> std::result::Result<Sections, String> {
        let mut sections = Sections::new();
        let (mut document, mut all_held) = (Vec::new(), 0);
        loop {
            // An archive may end only where a header could begin.
            let mut head = [0; 1];
            let read = self.reader.read(&mut head).map_err(|error| error.to_string())?;
            if read == 0 {
                break;
            }
            let before = self.at;
            let mut chained = Blocks { reader: head.as_slice().chain(&mut self.reader), at: before };
            let has_header = chained.next(&mut document)?;
            self.at = chained.at;
            if !has_header {
                return Err(format!("a block without a header at byte {before}"));
            }
            let header = bson::decode_document(&document).map_err(|error| error.to_string())?;
            let text = |name: &str| header.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
            let (logical, collection) = (text("db"), text("collection"));
            let of_section = |what: String| format!("in {logical}.{collection}: {what}");
            let section = sections
                .entry((logical.clone(), collection.clone()))
                .or_insert_with(|| Building { is_held: is_packed, ..Building::default() });
            if section.has_ended {
                return Err(of_section(format!("another block follows its last one, at byte {before}")));
            }
            loop {
                let at = self.at;
                if !self.next(&mut document).map_err(of_section)? {
                    break;
                }
                section.add(&document, at, &mut all_held);
            }
            if header.get("EOF") == Some(&Value::Bool(true)) {
                section.end(header.get("CRC")).map_err(of_section)?;
            }
        }
        match sections.iter().find(|(_, section)| !section.has_ended) {
            Some(((logical, collection), _)) => Err(format!("it ends before the end of {logical}.{collection}")),
            None => Ok(sections),
        }
    }
}

/// Reads the documents of a section that is held in memory.
struct Held {
    section: Section,
    at: usize,
}

impl Read for Held {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let rest = self.section.0.held.as_deref().and_then(|held| held.get(self.at..)).unwrap_or(&[]);
        let len = rest.len().min(buffer.len());
        buffer[..len].copy_from_slice(&rest[..len]);
        self.at += len;
        Ok(len)
    }
}

/// A position among the parts of a section.
struct Parts {
    section: Section,
    part: usize,
    /// The number of bytes of the part that were read already.
    inside: u64,
}

impl Parts {
    /// The offset of the next byte, and the number of bytes left in its part.
    fn place(&self) -> Option<(u64, u64)> {
        let (start, bytes) = self.section.0.parts.get(self.part)?;
        Some((start + self.inside, bytes - self.inside))
    }

    fn pass(&mut self, bytes: u64) {
        self.inside += bytes;
        if self.section.0.parts.get(self.part).is_some_and(|(_, all)| self.inside >= *all) {
            (self.part, self.inside) = (self.part + 1, 0);
        }
    }

    fn skip(&mut self, bytes: u64) -> io::Result<()> {
        let mut left = bytes;
        while left > 0 {
            let (_, here) = self.place().ok_or(io::ErrorKind::UnexpectedEof)?;
            self.pass(here.min(left));
            left -= here.min(left);
        }
        Ok(())
    }
}

/// Reads a section of an uncompressed archive.
struct PlainSource {
    file: Arc<dyn File>,
    parts: Parts,
}

impl Read for PlainSource {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let Some((at, here)) = self.parts.place() else { return Ok(0) };
        let len = buffer.len().min(usize::try_from(here).unwrap_or(usize::MAX));
        let read = self.file.read_at(&mut buffer[..len], at).map_err(io::Error::other)?;
        self.parts.pass(read as u64);
        Ok(read)
    }
}

impl Source for PlainSource {
    fn skip(&mut self, bytes: u64) -> io::Result<()> {
        self.parts.skip(bytes)
    }
}

/// Reads a section of a compressed archive by decompressing it from its beginning.
struct PackedSource {
    stream: Box<dyn Read + Send>,
    /// The offset of the next byte of the stream.
    at: u64,
    parts: Parts,
}

impl Read for PackedSource {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let Some((at, here)) = self.parts.place() else { return Ok(0) };
        let gap = at - self.at;
        if io::copy(&mut self.stream.by_ref().take(gap), &mut io::sink())? < gap {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let len = buffer.len().min(usize::try_from(here).unwrap_or(usize::MAX));
        let read = self.stream.read(&mut buffer[..len])?;
        if read == 0 && len > 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        self.at = at + read as u64;
        self.parts.pass(read as u64);
        Ok(read)
    }
}

impl Source for PackedSource {
    fn skip(&mut self, bytes: u64) -> io::Result<()> {
        self.parts.skip(bytes)
    }
}

#[cfg(test)]
mod tests;
