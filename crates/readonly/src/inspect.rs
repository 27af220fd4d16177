//! The contents of the superblock of a store, for tools.

use crate::error::Result;
use crate::layout::{self, SUPERBLOCK, Superblock};
use alluvium_env::{Env, OpenMode};
use std::path::Path;

/// The result of [`read_superblock`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SuperblockFacts {
    /// The random number that identifies the store.
    pub id: u64,
    /// The label of the layer above: [`crate::BuildOptions::label`].
    pub label: Vec<u8>,
    /// Pairs that the build left out as duplicates.
    pub duplicates: u64,
    /// The sorted file, if there are pairs, followed by the index files.
    pub files: Vec<FileFacts>,
}

/// A file that a superblock names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileFacts {
    /// Its name in the directory of the store.
    pub name: String,
    /// Its length in bytes.
    pub bytes: u64,
    /// For an index file: the number of keys for each index entry.
    pub interval: Option<u64>,
    /// Pairs of the sorted file, or index entries.
    pub entries: u64,
    /// The checksum of its footer.
    pub footer_checksum: u64,
}

/// True if the file is the superblock of a store or of a build, damaged or not. The file's name
/// decides, or its first bytes.
///
/// # Errors
/// I/O errors.
pub fn is_superblock(env: &Env, path: &Path) -> alluvium_env::Result<bool> {
    if path.file_name().is_some_and(|name| name == SUPERBLOCK || name == layout::TEMPORARY) {
        return Ok(true);
    }
    let mut head = [0; 8];
    let got = env.fs.open(path, OpenMode::Read)?.read_at(&mut head, 0)?;
    Ok(&head[..got] == layout::MAGIC)
}

/// Reads a superblock. Returns `None` if it is empty, as it is until the build has finished.
///
/// # Errors
/// [`alluvium_env::Error::Corrupt`], [`alluvium_env::Error::NewerFormat`] or
/// [`alluvium_env::Error::Io`].
pub fn read_superblock(env: &Env, path: &Path) -> Result<Option<SuperblockFacts>> {
    if env.fs.open(path, OpenMode::Read)?.is_empty()? && path.file_name().is_some_and(|name| name == layout::TEMPORARY)
    {
        return Ok(None);
    }
    let found = Superblock::read_file(env, path)?;
    let mut files = Vec::new();
    if let Some(content) = found.content {
        let data = content.data;
        files.push(FileFacts {
            name: layout::DATA.to_owned(),
            bytes: data.bytes,
            interval: None,
            entries: data.entries,
            footer_checksum: data.footer_checksum,
        });
        files.extend(content.indexes.into_iter().map(|index| FileFacts {
            name: layout::index_name(index.interval),
            bytes: index.bytes,
            interval: Some(index.interval),
            entries: index.extents,
            footer_checksum: index.footer_checksum,
        }));
    }
    Ok(Some(SuperblockFacts { id: found.id, label: found.label, duplicates: found.duplicates, files }))
}
