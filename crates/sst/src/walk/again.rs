//! Reading data blocks again that a walk has found whole.

use super::each_entry;
use crate::block::{Block, Shape};
use crate::compress::Decoders;
use crate::dictionary::Dictionary;
use crate::stored::{self, Role};
use alluvium_codec::entry::Entry;
use alluvium_env::{Env, Error, File, OpenMode, Result};
use std::path::Path;
use std::sync::Arc;

/// Reads data blocks of a damaged file by the locations that [`crate::walk_file`] has reported.
pub struct BlockReader {
    file: Arc<dyn File>,
    number: u64,
    dictionary: Option<Arc<Dictionary>>,
    decoders: Decoders,
}

impl BlockReader {
    /// Opens the file with this number. `dictionary` is [`crate::WalkedFile::dictionary`] of the walk.
    ///
    /// # Errors
    /// I/O errors.
    pub fn open(env: &Env, path: &Path, number: u64, dictionary: Option<Arc<Dictionary>>) -> Result<Self> {
        let file = env.fs.open(path, OpenMode::Read)?;
        Ok(Self { file, number, dictionary, decoders: Decoders::default() })
    }

    /// Calls `visit` with the entries of the block at `offset`, which has this many stored bytes,
    /// in order.
    ///
    /// # Errors
    /// [`Error::Corrupt`] if the block has changed, I/O errors, and the error of `visit`.
    pub fn each(&mut self, offset: u64, bytes: u32, visit: &mut dyn FnMut(Entry<'_>) -> Result<()>) -> Result<()> {
        let mut stored = vec![0; bytes as usize];
        self.file.read_exact_at(&mut stored, offset)?;
        let (dictionary, decoders) = (self.dictionary.as_deref(), &mut self.decoders);
        let corrupt = |what: String| Error::corrupt(self.file.path(), offset, what);
        let content = stored::get(&stored, Role::Data, decoders, dictionary, self.number, offset).map_err(corrupt)?;
        let block = Block::decode(content, Shape::Entries).map_err(|error| corrupt(error.to_string()))?;
        each_entry(&block, visit)
    }
}
