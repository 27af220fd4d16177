//! The last load of the file at a path: the progress of the load, and hashes of the content that was loaded.
//!
//! A file that has grown, or was repaired after the loaded part, is a different input ([`Identity`](super::Identity)).
//! The hashes show that the loaded part is unchanged, so that a load can continue after it.

use super::progress::Mark;
use alluvium_codec::{Hasher64, varint};
use alluvium_collections::error::Result;
use alluvium_env::File;
use std::path::Path;
use std::sync::Arc;

/// The first byte of the key in a collection's system tree.
const PREFIX: u8 = b'f';
/// This many bytes at the beginning and at the end of the loaded part are hashed.
const HASHED_BYTES: u64 = 1 << 20;

/// A plain file and its path.
pub(crate) struct FilePlace {
    path_hash: u64,
    file: Arc<dyn File>,
}

/// The last load of the file at a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct PlaceMark {
    /// The progress of the load.
    pub mark: Mark,
    /// True if the load generated `_id`s.
    pub generated: bool,
    /// Hashes of the beginning and the end of the loaded part.
    hashes: (u64, u64),
}

/// An earlier load of the same path, when the file had other content: see
/// [`Load::path_before`](super::Load::path_before).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PathBefore {
    /// The number of documents that the load wrote.
    pub documents: u64,
    /// The number of lines, or of BSON documents, that the load read.
    pub lines: u64,
    /// True if the load read the whole file.
    pub finished: bool,
    /// True if some of its documents got generated `_id`s, so that another load of the whole file stores these
    /// documents twice.
    pub generated: bool,
    /// True if the loaded part is unchanged, so that a load can continue after it
    /// ([`Load::append`](super::Load::append)).
    pub continues: bool,
}

impl FilePlace {
    pub fn new(path: &Path, file: Arc<dyn File>) -> Self {
        let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
        Self { path_hash: alluvium_codec::hash64(path.as_os_str().as_encoded_bytes()), file }
    }

    /// The key of the mark; `options` distinguishes loads by their options.
    pub fn key(&self, options: &[u8]) -> Vec<u8> {
        let mut key = vec![PREFIX];
        key.extend_from_slice(&self.path_hash.to_be_bytes());
        key.extend_from_slice(options);
        key
    }

    /// The mark of this file for a load with the progress `mark`.
    pub fn mark(&self, mark: Mark, generated: bool) -> Result<PlaceMark> {
        let hashes = self.hashes(mark.offset)?.unwrap_or_default();
        Ok(PlaceMark { mark, generated, hashes })
    }

    /// Compares an earlier load with the current content of the file.
    pub fn compare(&self, before: &PlaceMark) -> Result<PathBefore> {
        let Mark { documents, line, finished, offset, .. } = before.mark;
        let continues = offset > 0 && self.hashes(offset)? == Some(before.hashes);
        Ok(PathBefore { documents, lines: line, finished, generated: before.generated, continues })
    }

    /// The hashes of the first `end` bytes; `None` if the file is shorter.
    fn hashes(&self, end: u64) -> Result<Option<(u64, u64)>> {
        if self.file.len().map_err(alluvium_store::Error::from)? < end {
            return Ok(None);
        }
        let len = end.min(HASHED_BYTES);
        let hash = |at: u64| -> Result<u64> {
            let mut piece = vec![0; len as usize];
            self.file.read_exact_at(&mut piece, at).map_err(alluvium_store::Error::from)?;
            let mut hasher = Hasher64::default();
            hasher.add(&piece);
            Ok(hasher.finish())
        };
        Ok(Some((hash(0)?, hash(end - len)?)))
    }
}

impl PlaceMark {
    pub fn encode(&self) -> Vec<u8> {
        let mut out = vec![u8::from(self.generated)];
        for hash in [self.hashes.0, self.hashes.1] {
            out.extend_from_slice(&hash.to_be_bytes());
        }
        varint::put_bytes(&mut out, &self.mark.encode());
        out
    }

    pub fn decode(bytes: &[u8]) -> Option<Self> {
        let (&generated, rest) = bytes.split_first()?;
        let (first, rest) = rest.split_first_chunk()?;
        let (last, mut rest) = rest.split_first_chunk()?;
        let hashes = (u64::from_be_bytes(*first), u64::from_be_bytes(*last));
        let mark = Mark::decode(varint::get_bytes(&mut rest).ok()?)?;
        Some(Self { mark, generated: generated == 1, hashes })
    }
}
