//! Reads the directory of a dump, written by Alluvium or by `mongodump`.

use super::archive::{Archive, Entry, Section};
use super::directory::is_file;
use super::{BSON_ENDING, INCOMPLETE, OTHERS_ENDING, names};
use crate::load::{METADATA_ENDING, Metadata};
use crate::packing::Packing;
use alluvium_collections::error::{Error, Result};
use alluvium_collections::names::FullName;
use alluvium_collections::options::View;
use alluvium_env::{DirEntry, Env};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// The contents of a dump. Its documents are not read yet.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Dump {
    /// The collections, sorted by name.
    pub collections: Vec<DumpedCollection>,
    /// The views, with their full names.
    pub views: Vec<(String, View)>,
    /// Files that are not restored and hold no documents or indexes of users, each with the reason.
    pub passed_over: Vec<(PathBuf, String)>,
    /// Collections and views that cannot be restored: the file or the name in the archive, and the reason.
    pub skipped: Vec<(PathBuf, String)>,
}

/// A collection of a dump.
#[derive(Debug, Clone, PartialEq)]
pub struct DumpedCollection {
    /// The full name.
    pub name: String,
    /// The file of documents, or the archive that has them.
    pub bson: PathBuf,
    /// The documents in the archive.
    pub(super) section: Option<Section>,
    /// The file of documents that BSON cannot hold.
    pub others: Option<PathBuf>,
    /// The metadata file, and the options and indexes in it.
    pub metadata: Option<(PathBuf, Metadata)>,
    /// The size on disk of the files of documents, in bytes.
    pub bytes: u64,
}

/// The files of one collection, which have the same stem.
#[derive(Default)]
struct Files {
    bson: Vec<PathBuf>,
    others: Vec<PathBuf>,
    metadata: Vec<PathBuf>,
    bytes: u64,
}

/// Reads a dump. `dir` is one of three: the directory of a dump, with files `DIR/<logical>/<collection>.bson`, plain or
/// compressed, and `.metadata.json` and `.alluvium.jsonl` next to them; the directory of a single database of a dump,
/// named after the database; or the file of an archive of `mongodump --archive`.
///
/// # Errors
/// [`Error::Dump`] if the directory holds no dump or an incomplete one, or if an archive is damaged; and as for any
/// read.
pub fn read(env: &Env, dir: &Path) -> Result<Dump> {
    let entries = match env.fs.list(dir) {
        Err(error) if is_file(&error) => {
            if let Some(archive) = Archive::read(env, dir)? {
                return Ok(Dump::of_archive(archive, dir));
            }
            let what = format!(
                "{} is a file and no archive of mongodump: name the directory of a dump (`load` takes single files)",
                dir.display()
            );
            return Err(Error::Dump(what));
        }
        entries => entries.map_err(alluvium_store::Error::from)?,
    };
    if entries.iter().any(|entry| entry.name == INCOMPLETE) {
        let what = format!("the dump in {} was cut short: it is incomplete", dir.display());
        return Err(Error::Dump(what));
    }
    let mut dump = Dump::default();
    if is_of_one_database(&entries) {
        let Some(logical) = dir.file_name().and_then(|name| name.to_str()) else {
            let what = format!(
                "{} is the directory of one database of a dump: write its path with its name, which is that of the database",
                dir.display()
            );
            return Err(Error::Dump(what));
        };
        dump.logical(env, logical, dir)?;
        return dump.checked(dir);
    }
    for entry in entries {
        let path = dir.join(&entry.name);
        if entry.is_dir {
            dump.logical(env, &entry.name, &path)?;
        } else if is_prelude(&entry.name) {
            // The file describes the tools; it has nothing to restore.
        } else if plain_name(&entry.name) == OPLOG {
            dump.pass_over(path, "writes during the dump (`mongodump --oplog`) are not applied");
        } else {
            dump.pass_over(path, "it is outside the directory of a logical database");
        }
    }
    dump.checked(dir)
}

/// The file of `mongodump --oplog`.
const OPLOG: &str = "oplog.bson";
/// The file about the tools, which mongodump 100.9 and later write.
const PRELUDE: &str = "prelude.json";
/// The names of MongoDB's internal collections begin with these: definitions of views, users and roles, versions,
/// profiles.
const INTERNAL: [&str; 2] = ["system.", "$admin.system."];
/// The names of collections with the documents of a time series begin with this. These documents belong to users.
const BUCKETS: &str = "system.buckets.";

/// The name without the suffix of its compression.
fn plain_name(name: &str) -> &str {
    [".gz", ".zst"].iter().find_map(|packed| name.strip_suffix(packed)).unwrap_or(name)
}

fn is_prelude(name: &str) -> bool {
    plain_name(name) == PRELUDE
}

/// True if a directory has files of collections and no subdirectories. In the directory of a whole dump each database
/// has a subdirectory.
fn is_of_one_database(entries: &[DirEntry]) -> bool {
    let is_file = |name: &str| name.ends_with(BSON_ENDING) && name != OPLOG || name.ends_with(METADATA_ENDING);
    entries.iter().all(|entry| !entry.is_dir) && entries.iter().any(|entry| is_file(plain_name(&entry.name)))
}

impl DumpedCollection {
    /// True if [`DumpedCollection::bytes`] counts compressed bytes.
    pub fn is_packed(&self) -> bool {
        self.section.is_none() && Packing::of_name(&self.bson) != Packing::Plain
    }
}

impl Dump {
    /// Refuses a dump in which nothing was found in `dir`.
    fn checked(mut self, dir: &Path) -> Result<Self> {
        if self.collections.is_empty() && self.views.is_empty() && self.skipped.is_empty() {
            let what = format!("{} holds no dump: there is no file DIR/LOGICAL/COLLECTION.bson", dir.display());
            return Err(Error::Dump(what));
        }
        self.collections.sort_by(|a, b| a.name.cmp(&b.name));
        if let Some(pair) = self.collections.windows(2).find(|pair| pair[0].name == pair[1].name) {
            let (name, first, second) = (&pair[0].name, pair[0].bson.display(), pair[1].bson.display());
            return Err(Error::Dump(format!("{first} and {second} are both of collection {name}")));
        }
        Ok(self)
    }

    /// The content of an archive.
    fn of_archive(archive: Archive, path: &Path) -> Self {
        let mut dump = Self::default();
        for entry in archive.entries {
            let Entry { logical, collection, kind, metadata, section } = entry;
            let place = path.join(format!("{logical}.{collection}"));
            if logical.is_empty() && collection == "oplog" {
                dump.pass_over(place, "writes during the dump (`mongodump --oplog`) are not applied");
            } else if kind == "view" {
                dump.view(&logical, &collection, place, &metadata.unwrap_or_default());
            } else if kind == "timeseries" && section.bytes() == 0 {
                dump.pass_over(place, "it is the view of a time series");
            } else {
                match FullName::new(&logical, &collection) {
                    Ok(name) => dump.collections.push(DumpedCollection {
                        name: name.to_string(),
                        bson: path.to_owned(),
                        bytes: section.bytes(),
                        section: Some(section),
                        others: None,
                        metadata: metadata.map(|metadata| (path.to_owned(), metadata)),
                    }),
                    Err(error) => dump.no_collection(place, &collection, error.to_string()),
                }
            }
        }
        dump.collections.sort_by(|a, b| a.name.cmp(&b.name));
        dump
    }

    /// Adds a collection whose name is not valid here.
    fn no_collection(&mut self, path: PathBuf, collection: &str, why: String) {
        let is_internal = INTERNAL.iter().any(|start| collection.starts_with(start));
        match is_internal && !collection.starts_with(BUCKETS) {
            true => self.pass_over(path, why),
            false => self.skip(path, why),
        }
    }

    fn skip(&mut self, path: PathBuf, why: impl Into<String>) {
        self.skipped.push((path, why.into()));
    }

    /// Adds a view. Its stages are checked when it is created.
    fn view(&mut self, logical: &str, stem: &str, path: PathBuf, metadata: &Metadata) {
        let name = metadata.collection.clone().or_else(|| names::collection_name(stem));
        let name = name.and_then(|name| FullName::new(logical, &name).ok());
        match (name, View::from_map(&metadata.options)) {
            (Some(name), Some(view)) => self.views.push((name.to_string(), view)),
            (None, _) => self.skip(path, "its name is not a valid name of a view"),
            (_, None) => self.skip(path, "it does not say what the view is over"),
        }
    }

    fn pass_over(&mut self, path: PathBuf, why: impl Into<String>) {
        self.passed_over.push((path, why.into()));
    }

    /// Reads the directory of a logical database.
    fn logical(&mut self, env: &Env, logical: &str, dir: &Path) -> Result<()> {
        let mut stems: BTreeMap<String, Files> = BTreeMap::new();
        for DirEntry { name, len, is_dir } in env.fs.list(dir).map_err(alluvium_store::Error::from)? {
            let path = dir.join(&name);
            let plain = plain_name(&name);
            if is_prelude(&name) {
                continue;
            }
            if is_dir {
                self.pass_over(path, "it is a directory");
            } else if let Some(stem) = plain.strip_suffix(METADATA_ENDING) {
                stems.entry(stem.to_owned()).or_default().metadata.push(path);
            } else if let Some(stem) = plain.strip_suffix(OTHERS_ENDING) {
                let files = stems.entry(stem.to_owned()).or_default();
                files.others.push(path);
                files.bytes += len;
            } else if let Some(stem) = plain.strip_suffix(BSON_ENDING) {
                let files = stems.entry(stem.to_owned()).or_default();
                files.bson.push(path);
                files.bytes += len;
            } else {
                self.pass_over(path, "it is not a file of a dump");
            }
        }
        stems.into_iter().try_for_each(|(stem, files)| self.collection(env, logical, &stem, files))
    }

    fn collection(&mut self, env: &Env, logical: &str, stem: &str, files: Files) -> Result<()> {
        let Files { mut bson, mut others, mut metadata, bytes } = files;
        for paths in [&bson, &others, &metadata] {
            if let [first, second, ..] = &paths[..] {
                let what = format!(
                    "{} and {} are versions of one file: remove one of them",
                    first.display(),
                    second.display()
                );
                return Err(Error::Dump(what));
            }
        }
        let metadata = match metadata.pop() {
            Some(path) => Metadata::read_in(env, &path)?.map(|read| (path, read)),
            None => None,
        };
        if bson.is_empty()
            && let Some((path, read)) = &metadata
            && read.kind.as_deref() == Some("view")
        {
            self.view(logical, stem, path.clone(), read);
            return Ok(());
        }
        let Some(bson) = bson.pop() else {
            let why = "there are no documents (.bson) beside it";
            // The documents of a time series are in a file with another name.
            let is_view = |read: &Metadata| read.kind.as_deref() == Some("timeseries");
            if let Some((path, read)) = metadata {
                if is_view(&read) { self.pass_over(path, why) } else { self.skip(path, why) }
            }
            others.into_iter().for_each(|path| self.skip(path, why));
            return Ok(());
        };
        let recorded = metadata.as_ref().and_then(|(_, read)| read.collection.clone());
        let name = if names::is_shortened(stem) { recorded } else { names::collection_name(stem) };
        let Some(name) = name else {
            self.skip(bson, "its name is not a valid name of a collection");
            return Ok(());
        };
        match FullName::new(logical, &name) {
            Ok(name) => {
                let (name, others) = (name.to_string(), others.pop());
                self.collections.push(DumpedCollection { name, bson, section: None, others, metadata, bytes });
            }
            Err(error) => self.no_collection(bson, name.as_str(), error.to_string()),
        }
        Ok(())
    }
}
