//! The input of a load: a file or any other stream.

use super::place::FilePlace;
use alluvium_collections::error::Result;
use alluvium_env::{Env, File, OpenMode};
use std::io::{self, Read};
use std::path::Path;
use std::sync::Arc;

/// [`Identity::of_file`] hashes this many bytes at the beginning and at the end of a file.
const HASHED_BYTES: u64 = 1 << 20;

/// A stream of bytes that can skip its beginning.
pub trait Source: Read + Send {
    /// Skips `bytes` bytes. The default reads and discards them.
    ///
    /// # Errors
    /// As for reads; `UnexpectedEof` if the stream is shorter.
    fn skip(&mut self, bytes: u64) -> io::Result<()> {
        let mut left = bytes;
        let mut buffer = vec![0; 64 << 10];
        while left > 0 {
            let want = usize::try_from(left).map_or(buffer.len(), |l| l.min(buffer.len()));
            match self.read(&mut buffer[..want])? {
                0 => return Err(io::ErrorKind::UnexpectedEof.into()),
                read => left -= read as u64,
            }
        }
        Ok(())
    }
}

/// Identifies an input, so that a later run recognises it and resumes its load.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Identity {
    /// The size of the file on disk, in bytes.
    pub size: u64,
    /// A hash of the whole content, or of the inode, the modification time and parts of the
    /// content.
    pub hash: u64,
}

impl Identity {
    /// The identity of a file: its inode, its size, its modification time, its first and its last
    /// MiB. A renamed file keeps its identity; a touched file and a copy get another one.
    ///
    /// ```
    /// # let dir = tempfile::tempdir().expect("a directory");
    /// # let path = dir.path().join("pets.jsonl");
    /// # std::fs::write(&path, "{\"_id\": \"rex\"}\n").expect("space");
    /// let identity = alluvium::load::Identity::of_file(&path)?;
    /// assert_eq!(identity.size, 15);
    /// # alluvium::Result::Ok(())
    /// ```
    ///
    /// # Errors
    /// [`alluvium_collections::error::ErrorKind::Io`].
    pub fn of_file(path: impl AsRef<Path>) -> Result<Self> {
        Self::of_file_in(&Env::os(), path)
    }

    /// As [`Identity::of_file`], in another environment.
    ///
    /// # Errors
    /// [`alluvium_collections::error::ErrorKind::Io`].
    pub fn of_file_in(env: &Env, path: impl AsRef<Path>) -> Result<Self> {
        let file = env.fs.open(path.as_ref(), OpenMode::Read).map_err(alluvium_store::Error::from)?;
        let size = file.len().map_err(alluvium_store::Error::from)?;
        let modified = file.modified().map_err(alluvium_store::Error::from)?.unwrap_or(0);
        let inode = file.inode().map_err(alluvium_store::Error::from)?.unwrap_or(0);
        let mut hasher = alluvium_codec::Hasher64::default();
        hasher.add(&inode.to_le_bytes());
        hasher.add(&modified.to_le_bytes());
        let mut piece = vec![0; size.min(HASHED_BYTES) as usize];
        for at in [0, size - piece.len() as u64] {
            file.read_exact_at(&mut piece, at).map_err(alluvium_store::Error::from)?;
            hasher.add(&piece);
        }
        Ok(Self { size, hash: hasher.finish() })
    }

    /// The identity of a file by its size and a hash of its whole content. Dumps of one collection
    /// often have the same size and differ only in the middle.
    ///
    /// ```
    /// # let dir = tempfile::tempdir().expect("a directory");
    /// # let path = dir.path().join("pets.jsonl");
    /// # std::fs::write(&path, "{\"_id\": \"rex\"}\n").expect("space");
    /// use alluvium::load::Identity;
    ///
    /// let identity = Identity::of_whole_file(&path)?;
    /// std::fs::write(&path, "{\"_id\": \"tom\"}\n").expect("space");
    /// assert_ne!(Identity::of_whole_file(&path)?, identity);
    /// # alluvium::Result::Ok(())
    /// ```
    ///
    /// # Errors
    /// [`alluvium_collections::error::ErrorKind::Io`].
    pub fn of_whole_file(path: impl AsRef<Path>) -> Result<Self> {
        Self::of_whole_file_in(&Env::os(), path)
    }

    /// As [`Identity::of_whole_file`], in another environment.
    ///
    /// # Errors
    /// [`alluvium_collections::error::ErrorKind::Io`].
    pub fn of_whole_file_in(env: &Env, path: impl AsRef<Path>) -> Result<Self> {
        let file = env.fs.open(path.as_ref(), OpenMode::Read).map_err(alluvium_store::Error::from)?;
        let size = file.len().map_err(alluvium_store::Error::from)?;
        let mut hasher = alluvium_codec::Hasher64::default();
        let mut piece = vec![0; size.min(HASHED_BYTES) as usize];
        let mut at = 0;
        while at < size {
            let len = (size - at).min(HASHED_BYTES) as usize;
            file.read_exact_at(&mut piece[..len], at).map_err(alluvium_store::Error::from)?;
            hasher.add(&piece[..len]);
            at += len as u64;
        }
        Ok(Self { size, hash: hasher.finish() })
    }

    /// The size and the hash combined into one number.
    pub(crate) fn number(self) -> u64 {
        alluvium_codec::checksum64(&self.size.to_le_bytes(), self.hash)
    }
}

/// The input of a load.
pub struct Input {
    pub(crate) name: String,
    pub(crate) identity: Option<Identity>,
    pub(crate) total: u64,
    pub(crate) source: Box<dyn Source>,
    /// The file and its path, if the input is a file without compression.
    pub(crate) place: Option<FilePlace>,
}

impl Input {
    /// A file, in any format. Resumable.
    ///
    /// ```
    /// # let dir = tempfile::tempdir().expect("a directory");
    /// # let path = dir.path().join("pets.jsonl");
    /// # std::fs::write(&path, "{\"_id\": \"rex\"}\n").expect("space");
    /// # let db = alluvium::Database::in_memory()?;
    /// use alluvium::load::Input;
    ///
    /// let report = db.collection("pets").load(Input::file(&path)?).run()?;
    /// assert_eq!(report.documents, 1);
    /// # alluvium::Result::Ok(())
    /// ```
    ///
    /// # Errors
    /// [`alluvium_collections::error::ErrorKind::Io`].
    pub fn file(path: impl AsRef<Path>) -> Result<Self> {
        Self::file_in(&Env::os(), path)
    }

    /// As [`Input::file`], in another environment.
    ///
    /// # Errors
    /// [`alluvium_collections::error::ErrorKind::Io`].
    pub fn file_in(env: &Env, path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        let identity = Identity::of_file_in(env, path)?;
        let file = env.fs.open(path, OpenMode::Read).map_err(alluvium_store::Error::from)?;
        Ok(Self {
            name: path.display().to_string(),
            identity: Some(identity),
            total: identity.size,
            place: Some(FilePlace::new(path, Arc::clone(&file))),
            source: Box::new(FileSource { file, offset: 0 }),
        })
    }

    /// A stream that represents a file, for instance its decompressed content. Resumable: the load
    /// reads the stream from its start and skips the part that is loaded already.
    ///
    /// ```
    /// # let dir = tempfile::tempdir().expect("a directory");
    /// # let path = dir.path().join("pets.jsonl");
    /// # std::fs::write(&path, "{\"_id\": \"rex\"}\n").expect("space");
    /// # let db = alluvium::Database::in_memory()?;
    /// use alluvium::load::{Identity, Input};
    ///
    /// // The content of `path`, decoded by the program itself.
    /// let text = std::io::Cursor::new("{\"_id\": \"rex\"}\n");
    /// let input = Input::decoded("pets", Identity::of_file(&path)?, text);
    /// db.collection("pets").load(input).run()?;
    /// # alluvium::Result::Ok(())
    /// ```
    pub fn decoded(name: &str, identity: Identity, stream: impl Read + Send + 'static) -> Self {
        let source = Box::new(Stream(stream));
        Self { name: name.to_owned(), identity: Some(identity), total: 0, source, place: None }
    }

    /// Any stream, such as standard input. Not resumable.
    ///
    /// ```
    /// # let db = alluvium::Database::in_memory()?;
    /// use alluvium::load::Input;
    ///
    /// let lines = std::io::Cursor::new("{\"_id\": \"rex\"}\n");
    /// db.collection("pets").load(Input::stream("lines", lines)).run()?;
    /// # alluvium::Result::Ok(())
    /// ```
    pub fn stream(name: &str, stream: impl Read + Send + 'static) -> Self {
        Self { name: name.to_owned(), identity: None, total: 0, source: Box::new(Stream(stream)), place: None }
    }

    /// The name of the input in messages.
    ///
    /// ```
    /// let input = alluvium::load::Input::stream("standard input", std::io::empty());
    /// assert_eq!(input.name(), "standard input");
    /// ```
    pub fn name(&self) -> &str {
        &self.name
    }

    /// True if an interrupted load of this input can resume.
    ///
    /// ```
    /// # let dir = tempfile::tempdir().expect("a directory");
    /// # let path = dir.path().join("pets.jsonl");
    /// # std::fs::write(&path, "{\"_id\": \"rex\"}\n").expect("space");
    /// use alluvium::load::Input;
    ///
    /// assert!(Input::file(&path)?.is_resumable());
    /// assert!(!Input::stream("standard input", std::io::empty()).is_resumable());
    /// # alluvium::Result::Ok(())
    /// ```
    pub fn is_resumable(&self) -> bool {
        self.identity.is_some()
    }
}

struct Stream<R>(R);

impl<R: Read> Read for Stream<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.0.read(buffer)
    }
}

impl<R: Read + Send> Source for Stream<R> {}

struct FileSource {
    file: Arc<dyn File>,
    offset: u64,
}

impl Read for FileSource {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.file.read_at(buffer, self.offset).map_err(io::Error::other)?;
        self.offset += read as u64;
        Ok(read)
    }
}

impl Source for FileSource {
    fn skip(&mut self, bytes: u64) -> io::Result<()> {
        self.offset += bytes;
        Ok(())
    }
}
