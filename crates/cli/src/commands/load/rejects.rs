//! The file of rejected lines; each line gets the name of its input.

use crate::exit::{Failure, Outcome};
use crate::files;
use alluvium_env::sync::Mutex;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The file of rejects.
#[derive(Clone)]
pub(crate) struct Rejects {
    /// Unbuffered: a rejected line is written before the load's mark moves beyond the line. A load that is killed and
    /// run again therefore misses no rejected line.
    file: Arc<Mutex<Box<dyn Write + Send>>>,
    path: PathBuf,
    failure: Arc<Mutex<Option<Failure>>>,
}

impl Rejects {
    /// Opens the file for appending: a load that continues keeps the rejects of earlier runs.
    pub(crate) fn open(path: &Path) -> Outcome<Self> {
        let file: Box<dyn Write + Send> = Box::new(files::append(path)?);
        Ok(Self { file: Arc::new(Mutex::new(file)), path: path.to_owned(), failure: Arc::default() })
    }

    /// The error of writing a line, if one occurred; unlike the load's own error, it names the file.
    pub(crate) fn failure(&self) -> Option<Failure> {
        self.failure.lock().take()
    }

    fn append(&self, line: &[u8]) -> io::Result<()> {
        self.file.lock().write_all(line).inspect_err(|error| {
            *self.failure.lock() = Some(Failure::io("write", &self.path, error));
        })
    }

    /// A writer for one input. It accepts lines of JSON objects and adds a field `file` to each.
    pub(crate) fn writer(&self, input: &str) -> Box<dyn Write + Send> {
        let head = format!("{{\"file\":{},", serde_json::Value::from(input));
        Box::new(Named { rejects: self.clone(), head: head.into_bytes(), line: Vec::new() })
    }
}

struct Named {
    rejects: Rejects,
    head: Vec<u8>,
    /// The start of an incomplete line.
    line: Vec<u8>,
}

impl Write for Named {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        for piece in bytes.split_inclusive(|byte| *byte == b'\n') {
            self.line.extend_from_slice(piece);
            if piece.ends_with(b"\n") {
                let mut whole = self.head.clone();
                whole.extend_from_slice(self.line.strip_prefix(b"{").unwrap_or(&self.line));
                self.line.clear();
                self.rejects.append(&whole)?;
            }
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.rejects.file.lock().flush()
    }
}

#[cfg(test)]
mod tests;
