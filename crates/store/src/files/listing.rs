//! The file `CHECKPOINT`: the origin of a checkpoint, and its files with sizes and checksums. The file is text, so that
//! any tool can read it; `docs/format/checkpoint.md` describes it.

use crate::error::{Error, Result, check_stop};
use alluvium_codec::checksum64;
use alluvium_codec::entry::Seq;
use alluvium_codec::limits::{LAST_SEQ, MAX_NUMBER};
use alluvium_env::{Env, OpenMode};
use std::fmt::Write;
use std::path::Path;
use std::sync::atomic::AtomicBool;

/// The name of the file.
pub(crate) const NAME: &str = "CHECKPOINT";
/// The name of the file until the checkpoint is complete.
pub(crate) const TEMPORARY: &str = "CHECKPOINT.tmp";
/// The format version that this build writes, and the highest that it reads.
const FORMAT_VERSION: u32 = 1;
const TITLE: &str = "alluvium checkpoint ";
/// A longer file is not a listing: 1 GiB lists some ten million files.
const MOST_BYTES: u64 = 1 << 30;

/// The checksum of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileChecksum {
    /// For a sorted file: the checksum of its footer, which covers the checksums of all its blocks.
    Footer(u64),
    /// The XXH3-64 of all its bytes.
    Content(u64),
}

/// One file of a checkpoint.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListedFile {
    /// The path of the file in the directory of the checkpoint, with `/` between the parts.
    pub path: String,
    /// The length of the file in bytes.
    pub bytes: u64,
    /// The checksum of the file.
    pub checksum: FileChecksum,
    /// True if the base checkpoint also has the file, so that it need not be transferred again.
    pub in_base: bool,
}

/// The content of the file `CHECKPOINT`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Listing {
    /// The id of the checkpoint. Its manifests and its log have the same id.
    pub id: u64,
    /// The id of the original database.
    pub database_id: u64,
    /// The number of the last operation in the checkpoint.
    pub seq: Seq,
    /// Partitions of the database.
    pub partitions: u32,
    /// The id of the base checkpoint.
    pub base: Option<u64>,
    /// All files except this file and the lock, in the order of their paths.
    pub files: Vec<ListedFile>,
}

impl Listing {
    /// Reads the listing of the checkpoint in `dir`.
    ///
    /// ```
    /// # use alluvium_store::{CheckpointOptions, Listing, Options, Store};
    /// # let env = alluvium_env::Env::in_memory(1);
    /// # let store = Store::open(env.clone(), "db".as_ref(), Options::default())?;
    /// let made = store.checkpoint("monday".as_ref(), &CheckpointOptions::default())?;
    /// let listing = Listing::read(&env, "monday".as_ref())?;
    /// assert_eq!((listing.id, listing.seq), (made.id, made.seq));
    /// # alluvium_store::Result::Ok(())
    /// ```
    ///
    /// # Errors
    /// [`Error::NotACheckpoint`] if there is no listing, and [`Error::Storage`] for damage, a newer
    /// format, or a failed read.
    pub fn read(env: &Env, dir: &Path) -> Result<Self> {
        let path = dir.join(NAME);
        if !env.fs.exists(&path)? {
            return Err(Error::NotACheckpoint(dir.to_owned()));
        }
        Self::read_file(env, &path)
    }

    /// Reads a listing from a file with any name.
    pub(crate) fn read_file(env: &Env, path: &Path) -> Result<Self> {
        let file = env.fs.open(path, OpenMode::Read)?;
        let len = file.len()?;
        if len > MOST_BYTES {
            return Err(alluvium_env::Error::corrupt(path, 0, "it is too long for the listing of a checkpoint").into());
        }
        let mut bytes = vec![0; len as usize];
        file.read_exact_at(&mut bytes, 0)?;
        Self::decode(&bytes, path)
    }

    /// The bytes of the file.
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut text = format!("{TITLE}{FORMAT_VERSION}\n");
        let base = self.base.map_or_else(|| "none".to_owned(), |id| format!("{id:016x}"));
        // Writing to a string cannot fail.
        let _ok = write!(
            text,
            "id {:016x}\ndatabase {:016x}\nsequence {}\npartitions {}\nbase {base}\n",
            self.id, self.database_id, self.seq, self.partitions
        );
        for file in &self.files {
            let (kind, sum) = match file.checksum {
                FileChecksum::Footer(sum) => ("footer", sum),
                FileChecksum::Content(sum) => ("content", sum),
            };
            let place = if file.in_base { "base" } else { "new" };
            let _ok = writeln!(text, "file {} {} {kind} {sum:016x} {place}", file.path, file.bytes);
        }
        let sum = checksum64(text.as_bytes(), u64::from(FORMAT_VERSION));
        let _ok = writeln!(text, "end {} {sum:016x}", self.files.len());
        text.into_bytes()
    }

    /// Decodes the bytes of the file `path`.
    ///
    /// # Errors
    /// [`alluvium_env::Error::Corrupt`], [`alluvium_env::Error::NewerFormat`].
    pub(crate) fn decode(bytes: &[u8], path: &Path) -> Result<Self> {
        let damaged = |offset: usize, what: &str| Error::from(alluvium_env::Error::corrupt(path, offset as u64, what));
        let text = std::str::from_utf8(bytes).map_err(|error| damaged(error.valid_up_to(), "it is not text"))?;
        let version = text.lines().next().and_then(|line| line.strip_prefix(TITLE)?.parse::<u32>().ok());
        let version = version.ok_or_else(|| damaged(0, "the listing of a checkpoint does not start like this"))?;
        let body = text.strip_suffix('\n').and_then(|text| Some(text.rfind('\n')? + 1));
        let body = body.ok_or_else(|| damaged(bytes.len(), "the last line is missing"))?;
        let mut end = text[body..].split_ascii_whitespace();
        let (mark, count, sum) = (end.next(), end.next(), end.next().and_then(hex));
        if mark != Some("end") || sum != Some(checksum64(&bytes[..body], u64::from(version))) {
            return Err(damaged(body, "the last line is missing, or its checksum does not match"));
        }
        if version > FORMAT_VERSION {
            let path = path.to_owned();
            return Err(alluvium_env::Error::NewerFormat { path, found: version, supported: FORMAT_VERSION }.into());
        }
        let mut listing = Self::default();
        let mut offset = 0;
        for line in text[..body].split_inclusive('\n') {
            if offset > 0 && listing.take(line).is_none() {
                return Err(damaged(offset, "an unknown or malformed line"));
            }
            offset += line.len();
        }
        if count.and_then(|count| count.parse().ok()) != Some(listing.files.len()) {
            return Err(damaged(body, "the number of files does not match"));
        }
        // No checksum covers the last line. Therefore the line is compared with the line that this build would write,
        // blanks included.
        if text[body..] != format!("end {} {:016x}\n", listing.files.len(), sum.unwrap_or_default()) {
            return Err(damaged(body, "the last line is malformed"));
        }
        // The sum of all lengths must fit the largest number.
        let sum = listing.files.iter().try_fold(0u64, |sum, file| sum.checked_add(file.bytes));
        if sum.is_none_or(|sum| sum > MAX_NUMBER) {
            return Err(damaged(0, "the files would be larger than any disk"));
        }
        if listing.partitions == 0 || listing.partitions > 256 {
            return Err(damaged(0, "the number of partitions is out of range"));
        }
        Ok(listing)
    }

    /// Parses a line of the listing.
    fn take(&mut self, line: &str) -> Option<()> {
        let mut words = line.split_ascii_whitespace();
        let (name, first) = (words.next()?, words.next()?);
        match name {
            "id" => self.id = hex(first)?,
            "database" => self.database_id = hex(first)?,
            "sequence" => self.seq = first.parse().ok().filter(|seq| *seq <= LAST_SEQ)?,
            "partitions" => self.partitions = first.parse().ok()?,
            "base" if first == "none" => self.base = None,
            "base" => self.base = Some(hex(first)?),
            "file" => {
                let bytes = words.next()?.parse().ok()?;
                let (kind, sum) = (words.next()?, hex(words.next()?)?);
                let checksum = match kind {
                    "footer" => FileChecksum::Footer(sum),
                    "content" => FileChecksum::Content(sum),
                    _ => return None,
                };
                let in_base = match words.next()? {
                    "base" => true,
                    "new" => false,
                    _ => return None,
                };
                let inside = first.split('/').all(|part| !part.is_empty() && part != "." && part != "..");
                self.files.push(ListedFile { path: first.to_owned(), bytes, checksum, in_base });
                return inside.then_some(()).filter(|()| words.next().is_none());
            }
            _ => return None,
        }
        words.next().is_none().then_some(())
    }

    /// The total length of all files in bytes.
    ///
    /// ```
    /// # use alluvium_store::{CheckpointOptions, Listing, Options, Store};
    /// # let env = alluvium_env::Env::in_memory(1);
    /// # let store = Store::open(env.clone(), "db".as_ref(), Options::default())?;
    /// # let made = store.checkpoint("monday".as_ref(), &CheckpointOptions::default())?;
    /// let listing = Listing::read(&env, "monday".as_ref())?;
    /// assert_eq!(listing.bytes(), made.bytes);
    /// # alluvium_store::Result::Ok(())
    /// ```
    pub fn bytes(&self) -> u64 {
        self.files.iter().map(|file| file.bytes).sum()
    }
}

/// The length of a file, and the XXH3-64 of its bytes.
pub(crate) fn content_checksum(env: &Env, path: &Path, stop: &AtomicBool) -> Result<(u64, u64)> {
    let file = env.fs.open(path, OpenMode::Read)?;
    let len = file.len()?;
    let mut hasher = alluvium_codec::Hasher64::default();
    let mut piece = vec![0; (1 << 20).min(len as usize)];
    let mut at = 0;
    while at < len {
        check_stop(stop)?;
        let piece = &mut piece[..(1 << 20).min((len - at) as usize)];
        file.read_exact_at(piece, at)?;
        hasher.add(piece);
        at += piece.len() as u64;
    }
    Ok((len, hasher.finish()))
}

/// Parses sixteen lowercase hexadecimal digits without a sign.
fn hex(text: &str) -> Option<u64> {
    let written = text.len() == 16 && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
    u64::from_str_radix(text, 16).ok().filter(|_| written)
}

#[cfg(test)]
mod tests;
