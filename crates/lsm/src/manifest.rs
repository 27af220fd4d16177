//! The manifest: the version edits of a partition, each of which is made durable separately.
//!
//! `MANIFEST-<n>` is a header, a frame with a whole version, and a frame for each edit since; the
//! bytes are drawn in `docs/format/manifest.md`. A new manifest is written to `….tmp`, synced and
//! renamed, and the directory is synced, before anything is appended to it. Therefore the manifest
//! with the highest number is the current one, and only its last frame can be torn.
//!
//! Space is reserved ahead of the frames. Therefore a full disk refuses an edit before any byte of
//! the edit is written, and refuses a new manifest before it has its name. After every other
//! failure the edit may or may not be durable. The failure is reported as such, and the partition
//! then takes no further edit.

mod content;
pub(crate) mod walk;

use crate::edit::{AddedFile, VersionEdit};
use crate::names::{manifest_number, manifest_path};
use crate::superseded::Superseded;
use alluvium_codec::limits::{MAX_NUMBER, at_most};
use alluvium_codec::ranges::RangeSet;
use alluvium_codec::{checksum64, frame};
use alluvium_env::{DirEntry, Env, Error, File, OpenMode, Result};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The format version that this build writes, and the highest that it reads. Version 1 has the same bytes; the
/// superseded numbers of version 2 leave out keys that are marked in filters ([`Superseded`]).
const FORMAT_VERSION: u32 = 2;
/// The seed of the header's checksum, in all versions. That checksum is the seed of the frames'
/// checksums.
const HEADER_SEED: u64 = 1;
const MAGIC: &[u8; 8] = b"ALLUVMAN";
const HEADER_LEN: usize = 40;
/// The bytes that are reserved at a time.
const RESERVE_STEP: u64 = 16 << 10;

/// Which partition a manifest belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Identity {
    pub database_id: u64,
    pub partition: u32,
}

/// The torn end of a manifest, which recovery ignored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DroppedTail {
    /// The manifest.
    pub path: PathBuf,
    /// The offset of the torn frame.
    pub offset: u64,
    /// The number of ignored bytes.
    pub bytes: u64,
}

/// The state that a manifest describes after all edits.
#[derive(Debug, Default)]
pub(crate) struct Recovered {
    pub number: u64,
    pub flushed_seq: u64,
    pub next_file: u64,
    pub next_run: u64,
    pub files: BTreeMap<u64, AddedFile>,
    pub ranges: RangeSet,
    pub superseded: Superseded,
    totals: Totals,
    pub dropped: Option<DroppedTail>,
}

impl Recovered {
    /// The edit that makes this state from an empty version.
    pub fn snapshot(&self) -> VersionEdit {
        VersionEdit {
            flushed_seq: Some(self.flushed_seq),
            next_file: Some(self.next_file),
            next_run: Some(self.next_run),
            added: self.files.values().cloned().collect(),
            ranges: self.ranges.clone(),
            superseded: self.superseded.clone(),
            ..VersionEdit::default()
        }
    }

    fn apply(&mut self, edit: VersionEdit) -> std::result::Result<(), String> {
        if edit.changes_ranges() {
            self.ranges = edit.apply_ranges(&self.ranges)?;
        }
        self.superseded.join(&edit.superseded);
        if !edit.forgotten.is_empty() {
            self.superseded.forget(|tree| edit.forgets_tree(tree));
        }
        for number in edit.removed {
            let gone = self.files.remove(&number);
            self.totals.remove(&gone.ok_or_else(|| format!("it removes file {number}, which does not exist"))?);
        }
        for (number, run) in edit.moved {
            let file =
                self.files.get_mut(&number).ok_or_else(|| format!("it moves file {number}, which does not exist"))?;
            file.run = run;
        }
        for added in edit.added {
            let number = added.meta.number;
            self.totals.add(&added)?;
            if self.files.insert(number, added).is_some() {
                return Err(format!("it adds file {number} again"));
            }
        }
        self.flushed_seq = self.flushed_seq.max(edit.flushed_seq.unwrap_or(0));
        self.next_file = self.next_file.max(edit.next_file.unwrap_or(0));
        self.next_run = self.next_run.max(edit.next_run.unwrap_or(0));
        Ok(())
    }
}

/// Sums over all files. Each sum has a limit, like each summand, because statistics add the sums of
/// partitions up.
#[derive(Debug, Default, Clone, Copy)]
struct Totals {
    bytes: u64,
    raw_bytes: u64,
    entries: u64,
}

impl Totals {
    fn add(&mut self, file: &AddedFile) -> std::result::Result<(), String> {
        let pairs = [
            (&mut self.bytes, file.meta.bytes),
            (&mut self.raw_bytes, file.meta.raw_bytes),
            (&mut self.entries, file.meta.entries),
        ];
        for (sum, more) in pairs {
            *sum = sum.saturating_add(more);
            if *sum > MAX_NUMBER {
                return Err(format!("the files up to {} would be larger than any disk", file.meta.number));
            }
        }
        Ok(())
    }

    fn remove(&mut self, file: &AddedFile) {
        self.bytes -= file.meta.bytes;
        self.raw_bytes -= file.meta.raw_bytes;
        self.entries -= file.meta.entries;
    }
}

/// The failure to write an edit or a new manifest.
#[derive(Debug)]
pub(crate) struct WriteError {
    pub error: Error,
    /// True if the write may be durable despite the error. Callers must rely on neither outcome.
    pub ambiguous: bool,
}

/// A failure that has changed nothing.
fn harmless(error: Error) -> WriteError {
    WriteError { error, ambiguous: false }
}

/// A failure after which the write may or may not be durable.
pub(crate) fn ambiguous(error: Error) -> WriteError {
    WriteError { error, ambiguous: true }
}

/// The manifest of an open partition. Used under the partition's manifest lock.
pub(crate) struct Manifest {
    dir: PathBuf,
    number: u64,
    file: Arc<dyn File>,
    seed: u64,
    /// The offset of the next frame.
    end: u64,
    /// The length of the file, reserved space included.
    reserved: u64,
    /// The end of the first frame.
    first_end: u64,
    frame: Vec<u8>,
}

fn header(version: u32, identity: Identity, number: u64) -> Vec<u8> {
    let mut out = Vec::with_capacity(HEADER_LEN);
    out.extend_from_slice(MAGIC);
    out.extend_from_slice(&version.to_le_bytes());
    out.extend_from_slice(&identity.partition.to_le_bytes());
    out.extend_from_slice(&number.to_le_bytes());
    out.extend_from_slice(&identity.database_id.to_le_bytes());
    out.extend_from_slice(&checksum64(&out, 0).to_le_bytes());
    out
}

/// The seed of the frames' checksums. It covers the whole header, so that a frame of another
/// partition, database or manifest is rejected.
fn seed(header: &[u8]) -> u64 {
    checksum64(header, HEADER_SEED)
}

impl Manifest {
    /// Writes a new manifest that begins with a whole version. From then on, manifests with lower
    /// numbers no longer count.
    pub fn create(
        env: &Env,
        dir: &Path,
        identity: Identity,
        number: u64,
        snapshot: &VersionEdit,
    ) -> std::result::Result<Self, WriteError> {
        let path = manifest_path(dir, number);
        at_most(number, MAX_NUMBER, "all numbers of manifests are used up")
            .and_then(|_| snapshot.check())
            .map_err(|error| harmless(used_up(&path, error)))?;
        let temporary = dir.join(format!("MANIFEST-{number}.tmp"));
        let mut bytes = header(FORMAT_VERSION, identity, number);
        let seed = seed(&bytes);
        let mut payload = Vec::new();
        snapshot.encode(&mut payload);
        frame::put(&mut bytes, &payload, seed, HEADER_LEN as u64).map_err(|e| harmless(too_large(&path, &e)))?;
        let written = write_whole(env, &temporary, &bytes);
        if let Err(error) = written {
            let _ = env.fs.remove(&temporary);
            return Err(harmless(error));
        }
        if let Err(error) = env.fs.rename(&temporary, &path) {
            // A full disk has no room for the new name. The previous manifest then stays the
            // current one.
            if error.is_no_space() && matches!(env.fs.exists(&path), Ok(false)) {
                let _ = env.fs.remove(&temporary);
                return Err(harmless(error));
            }
            return Err(ambiguous(error));
        }
        env.fs.sync_dir(dir).map_err(ambiguous)?;
        let file = env.fs.open(&path, OpenMode::ReadWrite).map_err(ambiguous)?;
        let end = bytes.len() as u64;
        Ok(Self { dir: dir.to_owned(), number, file, seed, end, reserved: end, first_end: end, frame: Vec::new() })
    }

    /// Appends an edit and syncs it.
    pub fn append(&mut self, edit: &VersionEdit) -> std::result::Result<(), WriteError> {
        edit.check().map_err(|error| harmless(used_up(&self.path(), error)))?;
        let mut payload = Vec::new();
        edit.encode(&mut payload);
        self.frame.clear();
        frame::put(&mut self.frame, &payload, self.seed, self.end)
            .map_err(|e| harmless(too_large(&self.path(), &e)))?;
        let end = self.end + self.frame.len() as u64;
        if end > self.reserved {
            let wanted = end.next_multiple_of(RESERVE_STEP);
            self.file.allocate(wanted).map_err(|error| {
                // A full disk reserves no space and causes no relevant change, because zeros at the
                // end are not a frame.
                WriteError { ambiguous: !error.is_no_space(), error }
            })?;
            self.reserved = wanted;
        }
        self.file.write_at(&self.frame, self.end).map_err(ambiguous)?;
        self.file.sync().map_err(ambiguous)?;
        self.end = end;
        Ok(())
    }

    pub fn number(&self) -> u64 {
        self.number
    }

    /// The length of header and frames in bytes.
    pub fn bytes(&self) -> u64 {
        self.end
    }

    /// True if a new manifest would be much shorter.
    pub fn is_long(&self, limit: u64) -> bool {
        self.end > limit && self.end > self.first_end * 4
    }

    pub fn path(&self) -> PathBuf {
        manifest_path(&self.dir, self.number)
    }

    /// Reads the current manifest of a partition; `None` if the directory has no manifest.
    pub fn recover(env: &Env, dir: &Path, identity: Identity, names: &[DirEntry]) -> Result<Option<Recovered>> {
        let Some(number) = names.iter().filter_map(|entry| manifest_number(&entry.name)).max() else {
            return Ok(None);
        };
        let path = manifest_path(dir, number);
        if number > MAX_NUMBER {
            return Err(Error::corrupt(&path, 0, "the number of the manifest is out of range"));
        }
        let file = env.fs.open(&path, OpenMode::Read)?;
        let mut header = [0; HEADER_LEN];
        let got = file.read_at(&mut header, 0)?;
        let seed = check_header(&path, &header[..got], identity, number)?;
        let bytes = content::read(file.len()?, seed, &mut |piece, offset| file.read_exact_at(piece, offset))?;
        let mut recovered = Recovered { number, ..Recovered::default() };
        recovered.dropped = read_frames(&path, &bytes, seed, &mut recovered)?;
        Ok(Some(recovered))
    }
}

fn used_up(path: &Path, error: alluvium_codec::DecodeError) -> Error {
    Error::io("write", path, std::io::Error::new(std::io::ErrorKind::InvalidInput, error))
}

fn too_large(path: &Path, _error: &alluvium_codec::DecodeError) -> Error {
    Error::io("write", path, std::io::ErrorKind::FileTooLarge.into())
}

fn write_whole(env: &Env, path: &Path, bytes: &[u8]) -> Result<()> {
    if env.fs.exists(path)? {
        env.fs.remove(path)?;
    }
    let file = env.fs.open(path, OpenMode::CreateNew)?;
    file.write_at(bytes, 0)?;
    file.sync()
}

/// Checks the header; returns the seed of the frames.
fn check_header(path: &Path, bytes: &[u8], identity: Identity, number: u64) -> Result<u64> {
    let damaged = |offset: u64, what: &str| Err(Error::corrupt(path, offset, what));
    let Some(found) = bytes.first_chunk::<HEADER_LEN>() else {
        return damaged(bytes.len() as u64, "the manifest ends within its header");
    };
    if !found.starts_with(MAGIC) {
        return damaged(0, "this is not a manifest");
    }
    let version = u32::from_le_bytes([found[8], found[9], found[10], found[11]]);
    if version > FORMAT_VERSION {
        return Err(Error::NewerFormat { path: path.to_owned(), found: version, supported: FORMAT_VERSION });
    }
    let expected = header(version, identity, number);
    if version > 0 && found[..] == expected[..] {
        return Ok(seed(&expected));
    }
    if found[32..40] != checksum64(&found[..32], 0).to_le_bytes() {
        return damaged(32, "the checksum of the header does not match");
    }
    damaged(12, "the manifest belongs to another database, partition or number")
}

/// Applies all frames; returns the torn tail, if any.
fn read_frames(path: &Path, bytes: &[u8], seed: u64, recovered: &mut Recovered) -> Result<Option<DroppedTail>> {
    let mut offset = HEADER_LEN;
    loop {
        let rest = &bytes[offset..];
        let first = offset == HEADER_LEN;
        if rest.iter().all(|&byte| byte == 0) {
            // Reserved space, or the end of the file.
            return if first {
                Err(Error::corrupt(path, offset as u64, "the first frame is missing"))
            } else {
                Ok(None)
            };
        }
        let mut input = rest;
        let payload = match frame::get(&mut input, seed, offset as u64) {
            Ok(payload) if !payload.is_empty() => payload,
            _ => return torn_tail(path, bytes, seed, offset, first).map(Some),
        };
        let edit = VersionEdit::decode(payload).map_err(|e| Error::corrupt(path, offset as u64, e.to_string()))?;
        recovered.apply(edit).map_err(|what| Error::corrupt(path, offset as u64, format!("a version edit: {what}")))?;
        offset = bytes.len() - input.len();
    }
}

/// Classifies an invalid frame at `offset`. Each edit is synced before the next is written, so a
/// crash can only tear the last one: if a whole frame follows anywhere, this is damage. An invalid
/// first frame is damage too, because it was synced before the manifest got its name.
fn torn_tail(path: &Path, bytes: &[u8], seed: u64, offset: usize, first: bool) -> Result<DroppedTail> {
    let whole_after = (offset + 1..bytes.len()).find(|&at| {
        let mut input = &bytes[at..];
        frame::get(&mut input, seed, at as u64).is_ok_and(|payload| !payload.is_empty())
    });
    match whole_after {
        Some(at) => {
            let what = format!("a version edit is damaged (whole ones follow, from offset {at})");
            Err(Error::corrupt(path, offset as u64, what))
        }
        None if first => Err(Error::corrupt(path, offset as u64, "the first frame is damaged")),
        None => Ok(DroppedTail { path: path.to_owned(), offset: offset as u64, bytes: (bytes.len() - offset) as u64 }),
    }
}

#[cfg(test)]
mod tests;
