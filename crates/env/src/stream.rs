//! Files that are read or written from beginning to end, as streams.

use crate::error::{Error, Result};
use crate::fs::{File, Fs, OpenMode};
use std::ffi::OsString;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The error of a stream; [`Error::of_stream`] converts it back.
impl From<Error> for io::Error {
    fn from(error: Error) -> Self {
        let kind = match &error {
            Error::Io { source, .. } => source.kind(),
            Error::Corrupt { .. } | Error::NewerFormat { .. } => io::ErrorKind::InvalidData,
            Error::Displaced { .. } => io::ErrorKind::NotFound,
            Error::NotAFile { .. } => io::ErrorKind::InvalidInput,
            Error::TooManyRanges { .. } | Error::OverlayFull { .. } => io::ErrorKind::OutOfMemory,
        };
        io::Error::new(kind, error)
    }
}

impl Error {
    /// The error of an operation `op` on a stream over the file `path`. If the stream error was
    /// made from an [`Error`], this is the original error.
    pub fn of_stream(op: &'static str, path: &Path, error: io::Error) -> Self {
        match error.get_ref().and_then(|inner| inner.downcast_ref::<Self>()) {
            Some(inner) => inner.clone(),
            None => Self::io(op, path, error),
        }
    }
}

/// Reads a file from its beginning to its end.
pub struct FileReader {
    file: Arc<dyn File>,
    offset: u64,
}

impl FileReader {
    /// A reader at the file's beginning.
    pub fn new(file: Arc<dyn File>) -> Self {
        Self { file, offset: 0 }
    }
}

impl Read for FileReader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.file.read_at(buffer, self.offset)?;
        self.offset += read as u64;
        Ok(read)
    }
}

/// A file that gets its name when it is complete. Until then its name has the suffix `.part`. If
/// the `WholeFile` is dropped before it is complete, the file is removed.
pub struct WholeFile {
    fs: Arc<dyn Fs>,
    path: PathBuf,
    part: PathBuf,
    file: Arc<dyn File>,
    offset: u64,
    finished: bool,
}

impl WholeFile {
    /// Creates an empty file. Removes an incomplete file of the same name.
    ///
    /// # Errors
    /// I/O errors.
    pub fn create(fs: &Arc<dyn Fs>, path: &Path) -> Result<Self> {
        let mut name = path.file_name().map_or_else(OsString::new, OsString::from);
        name.push(".part");
        let part = path.with_file_name(name);
        if fs.exists(&part)? {
            fs.remove(&part)?;
        }
        let file = fs.open(&part, OpenMode::CreateNew)?;
        Ok(Self { fs: fs.clone(), path: path.to_owned(), part, file, offset: 0, finished: false })
    }

    /// Makes the content durable, and gives the file its name. An existing file of that name is
    /// replaced.
    ///
    /// # Errors
    /// I/O errors; an existing file of that name is then unchanged.
    pub fn finish(mut self) -> Result<()> {
        self.file.sync()?;
        self.fs.rename(&self.part, &self.path)?;
        self.finished = true;
        // A path of a single name is in the working directory.
        let parent = self.path.parent().filter(|parent| !parent.as_os_str().is_empty());
        self.fs.sync_dir(parent.unwrap_or(Path::new(".")))
    }
}

impl Write for WholeFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write_at(bytes, self.offset)?;
        self.offset += bytes.len() as u64;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Drop for WholeFile {
    fn drop(&mut self) {
        if !self.finished {
            // A file that cannot be removed now is removed by the next `WholeFile`.
            let _left = self.fs.remove(&self.part);
        }
    }
}

#[cfg(test)]
mod tests;
