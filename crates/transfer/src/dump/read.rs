//! Reads the directory of a dump, written by Alluvium or by `mongodump`.

use super::directory::is_file;
use super::{BSON_ENDING, INCOMPLETE, OTHERS_ENDING, names};
use crate::load::{METADATA_ENDING, Metadata};
use alluvium_collections::error::{Error, Result};
use alluvium_collections::names::FullName;
use alluvium_collections::options::View;
use alluvium_env::{DirEntry, Env};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// The contents of a dump. Its documents are not read yet.
#[derive(Debug, Clone, PartialEq)]
pub struct Dump {
    /// The collections, sorted by name.
    pub collections: Vec<DumpedCollection>,
    /// The views, with their full names.
    pub views: Vec<(String, View)>,
    /// Files that are not restored, and why.
    pub passed_over: Vec<(PathBuf, String)>,
}

/// A collection of a dump.
#[derive(Debug, Clone, PartialEq)]
pub struct DumpedCollection {
    /// The full name.
    pub name: String,
    /// The file of documents.
    pub bson: PathBuf,
    /// The file of documents that BSON cannot hold.
    pub others: Option<PathBuf>,
    /// The metadata file, and the options and indexes in it.
    pub metadata: Option<(PathBuf, Metadata)>,
    /// The size on disk of the files of documents, in bytes.
    pub bytes: u64,
}

/// The files of one collection: those with the same stem.
#[derive(Default)]
struct Files {
    bson: Vec<PathBuf>,
    others: Vec<PathBuf>,
    metadata: Vec<PathBuf>,
    bytes: u64,
}

/// Reads the directory of a dump: `DIR/<logical>/<collection>.bson`, plain or compressed, with
/// `.metadata.json` and `.alluvium.jsonl` beside it.
///
/// # Errors
/// [`Error::Dump`] if the directory holds no dump or an incomplete one; and as for any read.
pub fn read(env: &Env, dir: &Path) -> Result<Dump> {
    let entries = match env.fs.list(dir) {
        Err(error) if is_file(&error) => {
            let what = format!("{} is a file: name the directory of a dump (`load` takes single files)", dir.display());
            return Err(Error::Dump(what));
        }
        entries => entries.map_err(alluvium_store::Error::from)?,
    };
    if entries.iter().any(|entry| entry.name == INCOMPLETE) {
        let what = format!("the dump in {} was cut short: it is incomplete", dir.display());
        return Err(Error::Dump(what));
    }
    let mut dump = Dump { collections: Vec::new(), views: Vec::new(), passed_over: Vec::new() };
    for entry in entries {
        let path = dir.join(&entry.name);
        if entry.is_dir {
            dump.logical(env, &entry.name, &path)?;
        } else {
            dump.pass_over(path, "it is outside the directory of a logical database");
        }
    }
    if dump.collections.is_empty() && dump.views.is_empty() {
        let what = format!("{} holds no dump: there is no file DIR/LOGICAL/COLLECTION.bson", dir.display());
        return Err(Error::Dump(what));
    }
    dump.collections.sort_by(|a, b| a.name.cmp(&b.name));
    if let Some(pair) = dump.collections.windows(2).find(|pair| pair[0].name == pair[1].name) {
        let (name, first, second) = (&pair[0].name, pair[0].bson.display(), pair[1].bson.display());
        return Err(Error::Dump(format!("{first} and {second} are both of collection {name}")));
    }
    Ok(dump)
}

impl Dump {
    /// A view, whose stages are checked when it is created.
    fn view(&mut self, logical: &str, stem: &str, path: PathBuf, metadata: &Metadata) -> Result<()> {
        let name = metadata.collection.clone().or_else(|| names::collection_name(stem));
        let name = name.and_then(|name| FullName::new(logical, &name).ok());
        match (name, View::from_map(&metadata.options)) {
            (Some(name), Some(view)) => self.views.push((name.to_string(), view)),
            (None, _) => self.pass_over(path, "its name is not a valid name of a view"),
            (_, None) => self.pass_over(path, "it does not say what the view is over"),
        }
        Ok(())
    }

    fn pass_over(&mut self, path: PathBuf, why: impl Into<String>) {
        self.passed_over.push((path, why.into()));
    }

    /// Reads the directory of a logical database.
    fn logical(&mut self, env: &Env, logical: &str, dir: &Path) -> Result<()> {
        let mut stems: BTreeMap<String, Files> = BTreeMap::new();
        for DirEntry { name, len, is_dir } in env.fs.list(dir).map_err(alluvium_store::Error::from)? {
            let path = dir.join(&name);
            let plain = [".gz", ".zst"].iter().find_map(|packed| name.strip_suffix(packed)).unwrap_or(&name);
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
            return self.view(logical, stem, path.clone(), read);
        }
        let Some(bson) = bson.pop() else {
            let why = "there are no documents (.bson) beside it";
            for path in metadata.into_iter().map(|(path, _)| path).chain(others) {
                self.pass_over(path, why);
            }
            return Ok(());
        };
        let recorded = metadata.as_ref().and_then(|(_, read)| read.collection.clone());
        let name = if names::is_shortened(stem) { recorded } else { names::collection_name(stem) };
        let Some(name) = name else {
            self.pass_over(bson, "its name is not a valid name of a collection");
            return Ok(());
        };
        match FullName::new(logical, &name) {
            Ok(name) => {
                let (name, others) = (name.to_string(), others.pop());
                self.collections.push(DumpedCollection { name, bson, others, metadata, bytes });
            }
            // MongoDB's internal collections: system.views, $admin.system.users and the like.
            Err(error) => self.pass_over(bson, error.to_string()),
        }
        Ok(())
    }
}
