//! The files of a read-only store, and its superblock.
//!
//! A build begins with the file `READONLY.tmp` and ends by renaming it to `READONLY`. Therefore a
//! directory with `READONLY` contains a complete store, and an interrupted build is recognised and
//! cleaned up by the next build. The bytes are described in `docs/format/readonly.md`.

use crate::error::{Error, Result};
use alluvium_codec::entry::Seq;
use alluvium_codec::limits::get_number;
use alluvium_codec::{DecodeError, varint};
use alluvium_env::{Env, FileLock, OpenMode};
use alluvium_sst::{FileMeta, IndexFileMeta};
use std::path::{Path, PathBuf};

/// The longest key, and the longest value, in bytes.
pub const MAX_BYTES: usize = (1 << 28) - 8;
/// The file that makes a directory a read-only store.
pub const SUPERBLOCK: &str = "READONLY";
/// The name of that file while the store is being built.
pub(crate) const TEMPORARY: &str = "READONLY.tmp";
const LOCK: &str = "LOCK";
/// The sorted file.
pub(crate) const DATA: &str = "data.sst";
/// The number of the sorted file. The index files have the next numbers.
pub(crate) const DATA_NUMBER: u64 = 1;
/// The number that all entries of the sorted file have.
pub(crate) const SEQ: Seq = 1;
/// The prefix of all keys of the sorted file.
const TREE: [u8; 4] = 1u32.to_be_bytes();
pub(crate) const MAGIC: &[u8; 8] = b"alluv-ro";
/// The format version that this build writes, and the highest that it reads.
const FORMAT_VERSION: u32 = 1;
/// The longest superblock that is written or read. It has two keys of the sorted file, and smaller
/// fields.
const MAX_SUPERBLOCK: u64 = 2 * (MAX_BYTES + TREE.len()) as u64 + (1 << 20);
/// The first number of a run; it is above the numbers of index files.
const FIRST_RUN: u64 = 1 << 32;

/// The name of the index file at an interval.
pub(crate) fn index_name(interval: u64) -> String {
    format!("index-{interval}.idx")
}

/// The name of a run.
pub(crate) fn run_name(number: u64) -> String {
    format!("run-{number}.sst")
}

/// The file number of a run.
pub(crate) fn run_number(number: u64) -> u64 {
    FIRST_RUN + number
}

/// Replaces `out` by `key` with the prefix of the sorted file.
#[inline]
pub(crate) fn internal_key(out: &mut Vec<u8>, key: &[u8]) {
    out.clear();
    out.extend_from_slice(&TREE);
    out.extend_from_slice(key);
}

/// The key without the prefix of the sorted file.
#[inline]
pub(crate) fn user_key(internal: &[u8]) -> &[u8] {
    internal.get(TREE.len()..).unwrap_or(&[])
}

/// True for the names of files that an unfinished build contains.
fn is_part(name: &str) -> bool {
    let numbered = |prefix: &str, suffix: &str| {
        let number = name.strip_prefix(prefix).and_then(|rest| rest.strip_suffix(suffix));
        number.is_some_and(|number| number.parse::<u64>().is_ok())
    };
    name == DATA || numbered("index-", ".idx") || numbered("run-", ".sst")
}

/// True if the directory contains a read-only store, or an unfinished one.
///
/// # Errors
/// I/O errors.
pub fn is_read_only(env: &Env, dir: &Path) -> alluvium_env::Result<bool> {
    Ok(env.fs.exists(&dir.join(SUPERBLOCK))? || env.fs.exists(&dir.join(TEMPORARY))?)
}

/// The files of a store that is not empty.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Content {
    pub data: FileMeta,
    pub indexes: Vec<IndexFileMeta>,
}

impl Content {
    fn decode(input: &mut &[u8]) -> alluvium_codec::Result<Self> {
        let data = FileMeta::decode(input)?;
        // Each key of the sorted file has the prefix.
        if data.number != DATA_NUMBER || data.raw_bytes < TREE.len() as u64 * data.entries {
            return Err(DecodeError::Invalid("the sorted file"));
        }
        let mut indexes: Vec<IndexFileMeta> = Vec::new();
        for number in (DATA_NUMBER + 1..).take(get_number(input, "a number of index files")? as usize) {
            let index = IndexFileMeta::decode(input)?;
            if index.number != number || index.interval <= indexes.last().map_or(0, |before| before.interval) {
                return Err(DecodeError::Invalid("the number or interval of an index file"));
            }
            indexes.push(index);
        }
        Ok(Self { data, indexes })
    }

    /// Bytes of keys and values.
    pub fn raw_bytes(&self) -> u64 {
        self.data.raw_bytes.saturating_sub(TREE.len() as u64 * self.data.entries)
    }

    /// Bytes of all files except the superblock.
    pub fn disk_bytes(&self) -> u64 {
        self.indexes.iter().fold(self.data.bytes, |sum, index| sum.saturating_add(index.bytes))
    }
}

/// The contents of the superblock.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Superblock {
    /// A random number that identifies the store.
    pub id: u64,
    /// The label of the layer above.
    pub label: Vec<u8>,
    /// Pairs that were left out as duplicates.
    pub duplicates: u64,
    /// `None` without pairs.
    pub content: Option<Content>,
}

impl Superblock {
    fn encode(&self) -> Result<Vec<u8>> {
        let mut payload = self.id.to_le_bytes().to_vec();
        varint::put_bytes(&mut payload, &self.label);
        varint::put_u64(&mut payload, self.duplicates);
        match &self.content {
            None => payload.push(0),
            Some(content) => {
                payload.push(1);
                content.data.encode(&mut payload);
                varint::put_u64(&mut payload, content.indexes.len() as u64);
                content.indexes.iter().for_each(|index| index.encode(&mut payload));
            }
        }
        let mut bytes = MAGIC.to_vec();
        bytes.extend_from_slice(&FORMAT_VERSION.to_le_bytes());
        let too_long = |_| Error::InvalidOption { name: "label", must_be: "at most 64 KiB" };
        alluvium_codec::frame::put(&mut bytes, &payload, u64::from(FORMAT_VERSION), 12).map_err(too_long)?;
        Ok(bytes)
    }

    fn decode(bytes: &[u8], path: &Path) -> Result<Self> {
        let damaged = |offset, what: &str| Error::from(alluvium_env::Error::corrupt(path, offset, what));
        let rest =
            bytes.strip_prefix(MAGIC).ok_or_else(|| damaged(0, "the file does not start like a read-only store"))?;
        let (version, mut rest) = rest.split_first_chunk::<4>().ok_or_else(|| damaged(8, "the file is too short"))?;
        let found = u32::from_le_bytes(*version);
        if found != FORMAT_VERSION {
            // A damaged version field would look like a newer format, so the checksum of the frame
            // decides.
            let sane = alluvium_codec::frame::get(&mut { rest }, u64::from(found), 12).is_ok();
            if sane
                || found < 1 << 16 && alluvium_codec::frame::get(&mut { rest }, u64::from(FORMAT_VERSION), 12).is_err()
            {
                let (path, supported) = (path.to_owned(), FORMAT_VERSION);
                return Err(alluvium_env::Error::NewerFormat { path, found, supported }.into());
            }
            return Err(damaged(8, "the format version is damaged"));
        }
        let payload = alluvium_codec::frame::get(&mut rest, u64::from(FORMAT_VERSION), 12)
            .map_err(|e| damaged(12, &e.to_string()))?;
        if !rest.is_empty() {
            return Err(damaged(bytes.len() as u64 - rest.len() as u64, "more bytes than there should be"));
        }
        Self::decode_payload(payload).map_err(|e| damaged(20, &e.to_string()))
    }

    fn decode_payload(payload: &[u8]) -> alluvium_codec::Result<Self> {
        let (id, mut input) = payload.split_first_chunk::<8>().ok_or(DecodeError::Truncated)?;
        let label = varint::get_bytes(&mut input)?.to_vec();
        let duplicates = get_number(&mut input, "a number of pairs")?;
        let (&has_content, mut input) = input.split_first().ok_or(DecodeError::Truncated)?;
        let content = match has_content {
            0 => None,
            1 => Some(Content::decode(&mut input)?),
            _ => return Err(DecodeError::Invalid("the contents of a superblock")),
        };
        if !input.is_empty() {
            return Err(DecodeError::Invalid("more bytes than a superblock"));
        }
        Ok(Self { id: u64::from_le_bytes(*id), label, duplicates, content })
    }

    /// Reads the superblock of the store in `dir`.
    pub fn read(env: &Env, dir: &Path) -> Result<Self> {
        let path = dir.join(SUPERBLOCK);
        if !env.fs.exists(&path)? {
            return Err(match env.fs.exists(&dir.join(TEMPORARY))? {
                true => Error::Unfinished(dir.to_owned()),
                false => Error::NotReadOnly(dir.to_owned()),
            });
        }
        Self::read_file(env, &path)
    }

    /// Reads the superblock at `path`.
    pub fn read_file(env: &Env, path: &Path) -> Result<Self> {
        let file = env.fs.open(path, OpenMode::Read)?;
        let len = file.len()?;
        check_len(len, path)?;
        let mut bytes = vec![0; len as usize];
        file.read_exact_at(&mut bytes, 0)?;
        Self::decode(&bytes, path)
    }
}

/// The locked directory of a build. It is cleaned up if it is dropped before the build is finished.
pub(crate) struct BuildDir {
    /// The environment in which the directory is held open.
    pub env: Env,
    pub dir: PathBuf,
    /// True if the directory was created for the build.
    created: bool,
    finished: bool,
    _lock: Box<dyn FileLock>,
}

impl BuildDir {
    /// Locks a directory, which must be new or empty, or contain an interrupted build. Cleans up an
    /// interrupted build.
    pub fn take(env: &Env, dir: &Path) -> Result<Self> {
        let created = !env.fs.exists(dir)?;
        alluvium_env::create_dir_durably(&env.fs, dir)?;
        let env = &env.hold_dir(dir)?;
        check_free(env, dir)?;
        let Some(lock) = env.fs.try_lock(&dir.join(LOCK))? else { return Err(Error::InUse(dir.to_owned())) };
        // Another build may have finished before this one got the lock.
        check_free(env, dir)?;
        let build_dir = Self { env: env.clone(), dir: dir.to_owned(), created, finished: false, _lock: lock };
        let temporary = dir.join(TEMPORARY);
        if !env.fs.exists(&temporary)? {
            env.fs.open(&temporary, OpenMode::CreateNew)?.sync()?;
        }
        // From here on all files in the directory are recognised as parts of a build.
        env.fs.sync_dir(dir)?;
        build_dir.remove_parts()?;
        env.fs.sync_dir(dir)?;
        Ok(build_dir)
    }

    fn remove_parts(&self) -> alluvium_env::Result<()> {
        for entry in self.env.fs.list(&self.dir)? {
            if !entry.is_dir && is_part(&entry.name) {
                self.env.fs.remove(&self.dir.join(&entry.name))?;
            }
        }
        Ok(())
    }

    /// Completes the store, whose files are durable: only the superblock is missing.
    pub fn finish(&mut self, superblock: &Superblock) -> Result<()> {
        let (fs, temporary) = (&self.env.fs, self.dir.join(TEMPORARY));
        fs.sync_dir(&self.dir)?;
        let bytes = superblock.encode()?;
        // If the store could not be opened, the build must fail.
        check_len(bytes.len() as u64, &temporary)?;
        Superblock::decode(&bytes, &temporary)?;
        let file = fs.open(&temporary, OpenMode::ReadWrite)?;
        file.set_len(bytes.len() as u64)?;
        file.write_at(&bytes, 0)?;
        file.sync()?;
        fs.rename(&temporary, &self.dir.join(SUPERBLOCK))?;
        self.finished = true;
        Ok(fs.sync_dir(&self.dir)?)
    }

    fn clean_up(&self) -> alluvium_env::Result<()> {
        self.remove_parts()?;
        // The parts are removed first, so that remaining files are always recognised as files of a
        // build.
        self.env.fs.sync_dir(&self.dir)?;
        self.env.fs.remove(&self.dir.join(TEMPORARY))?;
        self.env.fs.remove(&self.dir.join(LOCK))?;
        if self.created {
            self.env.fs.remove_dir(&self.dir)?;
        }
        Ok(())
    }
}

impl Drop for BuildDir {
    fn drop(&mut self) {
        if !self.finished {
            // Files that cannot be removed now are removed by the next build.
            let _left = self.clean_up();
        }
    }
}

/// Returns an error if a superblock is longer than the limit.
fn check_len(len: u64, path: &Path) -> alluvium_env::Result<()> {
    match len <= MAX_SUPERBLOCK {
        true => Ok(()),
        false => Err(alluvium_env::Error::corrupt(path, MAX_SUPERBLOCK, "more bytes than there should be")),
    }
}

/// Returns an error unless a build may use the directory.
fn check_free(env: &Env, dir: &Path) -> Result<()> {
    let names: Vec<String> = env.fs.list(dir)?.into_iter().map(|entry| entry.name).collect();
    if names.iter().any(|name| name == SUPERBLOCK) {
        return Err(Error::Exists(dir.to_owned()));
    }
    if names.iter().any(|name| name == TEMPORARY) || names.iter().all(|name| name == LOCK) {
        return Ok(());
    }
    Err(Error::NotEmpty(dir.to_owned()))
}

#[cfg(test)]
mod tests;
