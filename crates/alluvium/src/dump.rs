//! Whole databases in files, in the layout that `mongodump` writes and `mongorestore` reads.
//!
//! A collection `logical.pets` becomes `DIR/logical/pets.bson`, its documents as BSON in the order of
//! their `_id`, and `DIR/logical/pets.metadata.json`, with the definitions of its indexes, but for those that
//! were still being built. All collections are of one moment. What BSON cannot
//! hold (decimals of more than 34 digits, maps whose keys are not strings, names with a zero character, and
//! what else would come back as something else) is refused by name, or goes, a document a line, to
//! `DIR/logical/pets.alluvium.jsonl`, in the form of [`alluvium_document::json::print_exact`]. Restored, every document
//! is what it was: all types, and the order of its fields.
//!
//! While a dump is being written, `DIR` holds a file `dump.incomplete`. A dump that fails takes away what it has
//! written; what a kill leaves is taken away by the next dump into `DIR`.

mod names;
mod place;
mod read;
mod restore;

pub use read::{Dump, DumpedCollection};
pub use restore::{RestoreOptions, RestoreReport, RestoredCollection};

use crate::database::CollectionInfo;
use crate::export::refused;
use crate::index::Index;
use crate::indexes::id_definition;
use crate::load::METADATA_ENDING;
use crate::names::FullName;
use crate::{Cursor, Database, Error, Packer, Packing, Result, Snapshot};
use alluvium_document::{Document, Map, json};
use alluvium_env::{Env, WholeFile};
use place::Place;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// The file that stands in a dump until it is whole.
const INCOMPLETE: &str = "dump.incomplete";
/// The ending of the files of documents that BSON cannot hold.
const OTHERS_ENDING: &str = ".alluvium.jsonl";
/// The ending of the files of documents.
const BSON_ENDING: &str = ".bson";
/// Bytes that are handed on at once.
const CHUNK_BYTES: usize = 256 << 10;

/// How to dump.
#[derive(Debug, Clone, Default)]
pub struct DumpOptions {
    /// Compress every file with gzip.
    pub gzip: bool,
    /// Write documents that BSON cannot hold to a file of their own, which only Alluvium reads, in place
    /// of refusing them.
    pub alluvium_types: bool,
    /// Set to true by anybody, the dump ends with [`Error::Stopped`].
    pub stop: Arc<AtomicBool>,
}

/// What a dump holds.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DumpReport {
    /// Its collections.
    pub collections: u64,
    /// All documents.
    pub documents: u64,
    /// Those of them that BSON cannot hold.
    pub others: u64,
    /// Definitions of indexes, but for those on `_id` and those that were being built.
    pub indexes: u64,
    /// Bytes before compression.
    pub bytes: u64,
}

impl Database {
    /// Writes all collections of one moment into the directory `dir`, which must not exist, be empty, or hold what
    /// is left of a dump that was killed: that is removed. `progress` is told of documents and bytes so far.
    ///
    /// ```
    /// use alluvium::dump::{Dump, DumpOptions, RestoreOptions};
    /// # fn main() -> alluvium::Result<()> {
    /// # let dir = tempfile::tempdir().expect("a directory");
    /// # let db = alluvium::Database::open(dir.path().join("db"))?;
    /// # let other = alluvium::Database::open(dir.path().join("other"))?;
    /// # let to = dir.path().join("dump");
    /// db.collection("pets").insert_one(r#"{"_id": "rex", "kind": "dog"}"#)?;
    /// db.dump(&to, &DumpOptions::default(), |documents, _| println!("{documents} documents"))?;
    /// let dump = Dump::read(&alluvium_env::Env::os(), &to)?;
    /// dump.restore(&other, &RestoreOptions::default())?;
    /// assert_eq!(other.collection("pets").count()?, 1);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`Error::Dump`] if the directory holds something, or another dump is being written there; [`Error::Export`]
    /// naming a document that cannot be written; what else reading and writing say. Nothing is left of the dump then.
    pub fn dump(&self, dir: &Path, options: &DumpOptions, progress: impl FnMut(u64, u64)) -> Result<DumpReport> {
        let place = Place::take(&self.inner.env, dir)?;
        match self.dump_into(dir, options, progress) {
            Ok(report) => place.finish().map(|()| report),
            Err(error) => {
                place.abandon();
                Err(error)
            }
        }
    }

    fn dump_into(&self, dir: &Path, options: &DumpOptions, progress: impl FnMut(u64, u64)) -> Result<DumpReport> {
        let snapshot = self.snapshot();
        let mut dumping = Dumping { env: &self.inner.env, options, report: DumpReport::default(), progress };
        for info in self.collections_at(&snapshot)? {
            let name = FullName::new(&info.logical, &info.name)?;
            let cursor = self.collection(&name.to_string()).scan().snapshot(&snapshot).run()?;
            let indexes = self.definitions_at(&name, &snapshot)?;
            dumping.collection(&dir.join(&info.logical), &info, cursor, indexes)?;
        }
        Ok(dumping.report)
    }
}

impl Database {
    /// The definitions of the indexes that the collection of this name had at a snapshot, that on `_id` first. Not of those
    /// that were being built: it is not known yet whether they go with the documents.
    fn definitions_at(&self, name: &FullName, snapshot: &Snapshot) -> Result<Vec<Map>> {
        let store = &self.inner.store;
        let open = self.inner.catalog.require_at(store, name, snapshot)?;
        let trees = store.trees_at(&snapshot.store)?;
        let indexes = trees.iter().filter_map(|(tree, description)| Index::read(*tree, description));
        let own = indexes.filter(|(documents, index)| *documents == open.documents && index.ready.is_some());
        Ok(std::iter::once(id_definition()).chain(own.map(|(_, index)| index.definition.to_map())).collect())
    }
}

struct Dumping<'a, P> {
    env: &'a Env,
    options: &'a DumpOptions,
    report: DumpReport,
    progress: P,
}

impl<P: FnMut(u64, u64)> Dumping<'_, P> {
    fn collection(&mut self, dir: &Path, info: &CollectionInfo, mut cursor: Cursor, indexes: Vec<Map>) -> Result<()> {
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
        self.report.indexes += indexes.len() as u64 - 1;
        let documents = self.report.documents - before.documents;
        let text = metadata(&info.name, documents, self.report.others - before.others, &indexes)?;
        let mut target = self.target(dir, info, METADATA_ENDING)?;
        target.chunk.extend_from_slice(text.as_bytes());
        target.finish(&mut self.report.bytes)?;
        (self.progress)(self.report.documents, self.report.bytes);
        // The directory of a logical database is there before its files are.
        self.env.fs.sync_dir(dir.parent().unwrap_or(dir)).map_err(alluvium_store::Error::from)?;
        Ok(())
    }

    fn document(
        &mut self,
        document: &Document,
        name: &FullName,
        bson: &mut Target,
        others: &mut Option<Target>,
        place: (&Path, &CollectionInfo),
    ) -> Result<()> {
        if let Err(error) = document.write_bson_exact(&mut bson.chunk) {
            let held = matches!(error, alluvium_document::DocumentError::Bson(_));
            if !held || !self.options.alluvium_types {
                return Err(refused(document, name, error));
            }
            let target = match others {
                Some(target) => target,
                None => others.insert(self.target(place.0, place.1, OTHERS_ENDING)?),
            };
            let map = document.to_map().map_err(|error| refused(document, name, error.into()))?;
            let before = target.chunk.len();
            json::print_exact(&map, &mut target.chunk).map_err(|error| refused(document, name, error.into()))?;
            // Nothing is known that does not come back; what should not is better told now than later.
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

    fn target(&self, dir: &Path, info: &CollectionInfo, ending: &str) -> Result<Target> {
        let packed = if self.options.gzip { ".gz" } else { "" };
        let path = dir.join(format!("{}{ending}{packed}", names::file_stem(&info.name)));
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
    /// Hands on what has gathered, if it is worth it; true if so.
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

/// What `mongorestore` reads beside the documents, and how many there are.
fn metadata(name: &str, documents: u64, others: u64, indexes: &[Map]) -> Result<String> {
    let canonical = |index: &Map| -> Result<serde_json::Value> {
        let mut text = Vec::new();
        let cannot = |what: String| Error::Export(format!("the indexes of {name} cannot be written: {what}"));
        json::print_map(index, json::Format::CANONICAL, &mut text).map_err(|error| cannot(error.to_string()))?;
        serde_json::from_slice(&text).map_err(|error| cannot(error.to_string()))
    };
    let metadata = serde_json::json!({
        "options": {},
        "indexes": indexes.iter().map(canonical).collect::<Result<Vec<_>>>()?,
        "collectionName": name,
        "type": "collection",
        "alluvium": {"documents": documents, "others": others},
    });
    Ok(format!("{metadata}\n"))
}
