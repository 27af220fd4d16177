//! Dumps of whole databases, in the layout that `mongodump` writes and `mongorestore` reads.
//!
//! A collection `logical.pets` becomes two files: `DIR/logical/pets.bson`, its documents as BSON in the order of their
//! `_id`; and `DIR/logical/pets.metadata.json`, the definitions of its indexes, except indexes that are still being
//! built. All collections are read from one snapshot.
//!
//! BSON cannot hold every value of Alluvium: for example, decimals of more than 34 digits, maps with keys that are not
//! strings, and names with a zero character. A document with such a value is refused with an error that names its
//! `_id`, or it is written as one line of `DIR/logical/pets.alluvium.jsonl`, in the form of
//! [`alluvium_document::json::print_exact`]. A restored document equals the dumped one in all types and in the order of
//! its fields.
//!
//! While a dump is being written, `DIR` holds a file `dump.incomplete`. A dump that fails removes
//! its files; the files of a killed dump are removed by the next dump into `DIR`.

mod archive;
mod directory;
mod names;
mod read;
mod restore;

pub use read::{Dump, DumpedCollection, read};
pub use restore::{Restore, RestoreReport, RestoredCollection};

use crate::export::refused;
use crate::load::METADATA_ENDING;
use crate::packing::{Packer, Packing};
use alluvium_collections::cursor::Cursor;
use alluvium_collections::engine::EngineHandle;
use alluvium_collections::error::{Error, Result};
use alluvium_collections::index::Index;
use alluvium_collections::names::FullName;
use alluvium_collections::snapshot::Snapshot;
use alluvium_collections::trees::read_options;
use alluvium_document::{Document, Map, json};
use alluvium_env::{Env, WholeFile};
use alluvium_query::index::Unbuilt;
use directory::DumpDirectory;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Marks a directory whose dump is not complete.
const INCOMPLETE: &str = "dump.incomplete";
/// The suffix of the files for documents that BSON cannot hold.
const OTHERS_ENDING: &str = ".alluvium.jsonl";
/// The suffix of the files for documents.
const BSON_ENDING: &str = ".bson";
/// A file is written in chunks of at least this size.
const CHUNK_BYTES: usize = 256 << 10;

/// How to dump.
#[derive(Debug, Clone, Default)]
pub struct DumpOptions {
    /// Compresses every file with gzip.
    pub gzip: bool,
    /// Writes documents that BSON cannot hold to separate files, which only Alluvium reads, instead
    /// of refusing them.
    pub alluvium_types: bool,
    /// Once any thread sets this to true, the dump ends with [`Error::Stopped`].
    pub stop: Arc<AtomicBool>,
}

/// The content of a dump.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DumpReport {
    /// Collections.
    pub collections: u64,
    /// Views.
    pub views: u64,
    /// All documents.
    pub documents: u64,
    /// Documents that BSON cannot hold.
    pub others: u64,
    /// Definitions of indexes, except the indexes on `_id` and indexes that are still being built.
    pub indexes: u64,
    /// Bytes before compression.
    pub bytes: u64,
}

/// Writes all collections to a directory: see `Database::dump`.
///
/// # Errors
/// [`Error::Export`] for a document that the files cannot hold; [`Error::Dump`];
/// [`Error::Stopped`]; and as for any read.
pub fn dump(
    engine: &EngineHandle,
    dir: &Path,
    options: &DumpOptions,
    progress: impl FnMut(u64, u64),
) -> Result<DumpReport> {
    let target = DumpDirectory::take(&engine.env, dir)?;
    match dump_into(engine, &target.env, dir, options, progress) {
        Ok(report) => target.finish().map(|()| report),
        Err(error) => {
            target.abandon();
            Err(error)
        }
    }
}

fn dump_into(
    engine: &EngineHandle,
    env: &Env,
    dir: &Path,
    options: &DumpOptions,
    progress: impl FnMut(u64, u64),
) -> Result<DumpReport> {
    let snapshot = engine.snapshot();
    let mut dumping = Dumping { env, options, report: DumpReport::default(), progress };
    for name in engine.catalog.list_at(&snapshot)? {
        let cursor = Cursor::natural(engine, &name, &snapshot)?;
        let about = About::read(engine, &name, &snapshot)?;
        dumping.collection(&dir.join(&name.logical), &name, cursor, &about)?;
    }
    for (name, view) in engine.catalog.views() {
        dumping.view(&dir.join(&name.logical), &name, view.to_map())?;
    }
    Ok(dumping.report)
}

/// The description of a collection in a dump: everything except its documents.
struct About {
    /// The definitions of the indexes that were ready at the snapshot; the index on `_id` comes first.
    indexes: Vec<Map>,
    options: Map,
    /// The documents keep the order of insertion.
    natural_order: bool,
}

impl About {
    fn read(engine: &EngineHandle, name: &FullName, snapshot: &Snapshot) -> Result<Self> {
        let state = engine.catalog.require_at(name, snapshot)?;
        let trees = engine.store().trees_at(&snapshot.store)?;
        let indexes = trees.iter().filter_map(|(tree, description)| Index::read(*tree, description));
        let own = indexes.filter(|(documents, index)| *documents == state.documents && index.ready.is_some());
        let own = own.map(|(_, index)| index.definition.to_map());
        let description = trees.iter().find(|(tree, _)| *tree == state.documents).map(|(_, description)| description);
        let options = description.and_then(|description| read_options(description)).unwrap_or_default();
        let unbuilt = options.unbuilt.iter().map(Unbuilt::to_map);
        let indexes = std::iter::once(options.id_index()).chain(own).chain(unbuilt).collect();
        Ok(Self { indexes, natural_order: options.natural_order, options: options.to_map() })
    }
}

struct Dumping<'a, P> {
    env: &'a Env,
    options: &'a DumpOptions,
    report: DumpReport,
    progress: P,
}

impl<P: FnMut(u64, u64)> Dumping<'_, P> {
    fn collection(&mut self, dir: &Path, info: &FullName, mut cursor: Cursor, about: &About) -> Result<()> {
        self.env.fs.create_dir_all(dir).map_err(alluvium_store::Error::from)?;
        let before = self.report.clone();
        let mut bson = self.target(dir, info, BSON_ENDING)?;
        let mut others = None;
        while let Some(document) = cursor.next() {
            if self.options.stop.load(Ordering::Relaxed) {
                return Err(Error::Stopped);
            }
            self.document(&document?, cursor.name(), &mut bson, &mut others, (dir, info))?;
        }
        bson.finish(&mut self.report.bytes)?;
        if let Some(others) = others {
            others.finish(&mut self.report.bytes)?;
        }
        self.report.collections += 1;
        self.report.indexes += about.indexes.len() as u64 - 1;
        let documents = self.report.documents - before.documents;
        let others = self.report.others - before.others;
        let text = metadata(&info.collection, "collection", documents, others, about)?;
        let mut target = self.target(dir, info, METADATA_ENDING)?;
        target.chunk.extend_from_slice(text.as_bytes());
        target.finish(&mut self.report.bytes)?;
        (self.progress)(self.report.documents, self.report.bytes);
        // `dir` was created before its files; this makes its entry in the parent durable.
        self.env.fs.sync_dir(dir.parent().unwrap_or(dir)).map_err(alluvium_store::Error::from)?;
        Ok(())
    }

    /// Writes a view, which has only a metadata file.
    fn view(&mut self, dir: &Path, info: &FullName, options: Map) -> Result<()> {
        self.env.fs.create_dir_all(dir).map_err(alluvium_store::Error::from)?;
        let text =
            metadata(&info.collection, "view", 0, 0, &About { indexes: Vec::new(), options, natural_order: false })?;
        let mut target = self.target(dir, info, METADATA_ENDING)?;
        target.chunk.extend_from_slice(text.as_bytes());
        target.finish(&mut self.report.bytes)?;
        self.env.fs.sync_dir(dir.parent().unwrap_or(dir)).map_err(alluvium_store::Error::from)?;
        self.report.views += 1;
        Ok(())
    }

    fn document(
        &mut self,
        document: &Document,
        name: &FullName,
        bson: &mut Target,
        others: &mut Option<Target>,
        target: (&Path, &FullName),
    ) -> Result<()> {
        if let Err(error) = document.write_bson_exact(&mut bson.chunk) {
            let unsupported = matches!(error, alluvium_document::DocumentError::Bson(_));
            if !unsupported || !self.options.alluvium_types {
                return Err(refused(document, name, error));
            }
            let target = match others {
                Some(target) => target,
                None => others.insert(self.target(target.0, target.1, OTHERS_ENDING)?),
            };
            let map = document.to_map().map_err(|error| refused(document, name, error.into()))?;
            let before = target.chunk.len();
            json::print_exact(&map, &mut target.chunk).map_err(|error| refused(document, name, error.into()))?;
            // Every known value is parsed back unchanged. If there is an exception, it is refused now and not at the
            // restore.
            if json::parse_exact(&target.chunk[before..]) != Ok(alluvium_document::Value::Map(map)) {
                return Err(refused(document, name, error));
            }
            target.chunk.push(b'\n');
            target.write_some(&mut self.report.bytes)?;
            self.report.others += 1;
        }
        self.report.documents += 1;
        if bson.write_some(&mut self.report.bytes)? {
            (self.progress)(self.report.documents, self.report.bytes);
        }
        Ok(())
    }

    fn target(&self, dir: &Path, info: &FullName, ending: &str) -> Result<Target> {
        let packed = if self.options.gzip { ".gz" } else { "" };
        let path = dir.join(format!("{}{ending}{packed}", names::file_stem(&info.collection)));
        let file = WholeFile::create(&self.env.fs, &path).map_err(alluvium_store::Error::from)?;
        let packing = if self.options.gzip { Packing::Gzip } else { Packing::Plain };
        let out = packing.writer(file).map_err(|error| failed(&path, error))?;
        Ok(Target { path, out, chunk: Vec::with_capacity(CHUNK_BYTES) })
    }
}

/// A file of a dump.
struct Target {
    path: PathBuf,
    out: Packer<WholeFile>,
    chunk: Vec<u8>,
}

impl Target {
    /// Writes the chunk if it has reached `CHUNK_BYTES`; returns whether it did.
    fn write_some(&mut self, bytes: &mut u64) -> Result<bool> {
        if self.chunk.len() < CHUNK_BYTES {
            return Ok(false);
        }
        self.out.write_all(&self.chunk).map_err(|error| failed(&self.path, error))?;
        *bytes += self.chunk.len() as u64;
        self.chunk.clear();
        Ok(true)
    }

    fn finish(mut self, bytes: &mut u64) -> Result<()> {
        *bytes += self.chunk.len() as u64;
        self.out.write_all(&self.chunk).map_err(|error| failed(&self.path, error))?;
        let file = self.out.finish().map_err(|error| failed(&self.path, error))?;
        Ok(file.finish().map_err(alluvium_store::Error::from)?)
    }
}

fn failed(path: &Path, error: std::io::Error) -> Error {
    alluvium_store::Error::from(alluvium_env::Error::of_stream("write", path, error)).into()
}

/// The text of the metadata file: the part that `mongorestore` reads, and the counts of documents.
fn metadata(name: &str, kind: &str, documents: u64, others: u64, about: &About) -> Result<String> {
    let mut text = Vec::new();
    // A JSON serializer is not used: validators may be nested deeper than its parser allows.
    let mut put = |before: &str, map: &Map| {
        text.extend_from_slice(before.as_bytes());
        json::print_map(map, json::Format::CANONICAL, &mut text)
            .map_err(|error| Error::Export(format!("the indexes and options of {name} cannot be written: {error}")))
    };
    put("{\"options\":", &about.options)?;
    for (at, index) in about.indexes.iter().enumerate() {
        put(if at == 0 { ",\"indexes\":[" } else { "," }, index)?;
    }
    text.extend_from_slice(if about.indexes.is_empty() { b",\"indexes\":[]" } else { b"]" });
    text.extend_from_slice(b",\"collectionName\":");
    json::write_string(name, &mut text);
    text.extend_from_slice(b",\"type\":");
    json::write_string(kind, &mut text);
    // This is not one of the options: MongoDB's tools would refuse to restore an option that they do not know.
    let order = if about.natural_order { ",\"naturalOrder\":true" } else { "" };
    let counts = format!(",\"alluvium\":{{\"documents\":{documents},\"others\":{others}{order}}}}}\n");
    text.extend_from_slice(counts.as_bytes());
    String::from_utf8(text).map_err(|error| Error::Export(error.to_string()))
}

#[cfg(test)]
mod tests;
