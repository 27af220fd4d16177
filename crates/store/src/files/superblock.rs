//! The file `ALLUVIUM`: the identity of a database, written once when it is created.
//!
//! A checked frame (`docs/format/store.md`): magic, format version, database id, partitions. It is written and synced
//! as `ALLUVIUM.tmp` before any other file is made, and renamed when all other files are durable. Therefore a directory
//! with this file is a complete (possibly empty) database.

use crate::error::{Error, Result};
use alluvium_env::{Env, OpenMode};
use std::path::Path;

/// The name of the file.
pub(crate) const NAME: &str = "ALLUVIUM";
/// The name of the superblock while a database is being created.
pub(crate) const TEMPORARY: &str = "ALLUVIUM.tmp";
/// The name of a superblock that will replace another.
pub(crate) const NEXT: &str = "ALLUVIUM.next";
const MAGIC: &[u8; 8] = b"alluvium";
/// The format version that this build writes, and the highest that it reads.
pub(crate) const FORMAT_VERSION: u32 = 1;

/// The content of the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Superblock {
    /// A random number. The log has the same number, so that the log of another database is recognised.
    pub database_id: u64,
    /// The number of partitions, which is fixed.
    pub partitions: u32,
}

impl Superblock {
    fn encode(self) -> Result<Vec<u8>> {
        let mut payload = Vec::new();
        payload.extend_from_slice(&self.database_id.to_le_bytes());
        payload.extend_from_slice(&self.partitions.to_le_bytes());
        // The magic and the version precede the frame, so that a newer format is recognised even if it has another
        // frame.
        let mut bytes = MAGIC.to_vec();
        bytes.extend_from_slice(&FORMAT_VERSION.to_le_bytes());
        alluvium_codec::frame::put(&mut bytes, &payload, u64::from(FORMAT_VERSION), 12).map_err(|_| Error::Closed)?;
        Ok(bytes)
    }

    fn decode(bytes: &[u8], path: &Path) -> Result<Self> {
        let damaged = |offset, what: &str| Error::from(alluvium_env::Error::corrupt(path, offset, what));
        let rest =
            bytes.strip_prefix(MAGIC).ok_or_else(|| damaged(0, "an Alluvium database does not start like this"))?;
        let (version, mut rest) = rest.split_first_chunk::<4>().ok_or_else(|| damaged(8, "the file is too short"))?;
        let found = u32::from_le_bytes(*version);
        if found != FORMAT_VERSION {
            // A flipped bit in the version would look like a newer format. The checksum of the frame shows the
            // difference.
            let sane = alluvium_codec::frame::get(&mut { rest }, u64::from(found), 12).is_ok();
            if sane
                || found < 1 << 16 && alluvium_codec::frame::get(&mut { rest }, u64::from(FORMAT_VERSION), 12).is_err()
            {
                let path = path.to_owned();
                return Err(alluvium_env::Error::NewerFormat { path, found, supported: FORMAT_VERSION }.into());
            }
            return Err(damaged(8, "the format version is damaged"));
        }
        let payload = alluvium_codec::frame::get(&mut rest, u64::from(FORMAT_VERSION), 12)
            .map_err(|e| damaged(12, &e.to_string()))?;
        let (id, payload) = payload.split_first_chunk::<8>().ok_or_else(|| damaged(20, "the file is too short"))?;
        let (partitions, _) = payload.split_first_chunk::<4>().ok_or_else(|| damaged(28, "the file is too short"))?;
        let partitions = u32::from_le_bytes(*partitions);
        if partitions == 0 || partitions > 256 {
            return Err(damaged(28, "the number of partitions is out of range"));
        }
        Ok(Self { database_id: u64::from_le_bytes(*id), partitions })
    }

    /// Reads the file; `None` if it does not exist.
    pub fn read(env: &Env, dir: &Path) -> Result<Option<Self>> {
        let path = dir.join(NAME);
        if !env.fs.exists(&path)? {
            return Ok(None);
        }
        Self::read_file(env, &path).map(Some)
    }

    /// Reads a superblock from a file with any name.
    pub fn read_file(env: &Env, path: &Path) -> Result<Self> {
        let file = env.fs.open(path, OpenMode::Read)?;
        let len = file.len()?.min(1 << 16) as usize;
        let mut bytes = vec![0; len];
        file.read_exact_at(&mut bytes, 0)?;
        Self::decode(&bytes, path)
    }

    /// Begins a creation: writes the file durably, under its temporary name.
    ///
    /// If an unfinished creation has left a file, it is replaced by a rename. It is not removed first, because the
    /// removal may reach the disk before the removals of the other old parts, and these would then look like a database
    /// that has lost its superblock. It is not overwritten either: if the sync of the directory had failed, the name
    /// may be lost although it is visible.
    pub fn begin(self, env: &Env, dir: &Path) -> Result<()> {
        let temporary = dir.join(TEMPORARY);
        if env.fs.exists(&temporary)? {
            let next = dir.join(NEXT);
            self.write(env, &next)?;
            env.fs.rename(&next, &temporary)?;
        } else {
            self.write(env, &temporary)?;
        }
        Ok(env.fs.sync_dir(dir)?)
    }

    fn write(self, env: &Env, path: &Path) -> Result<()> {
        if env.fs.exists(path)? {
            env.fs.remove(path)?;
        }
        let file = env.fs.open(path, OpenMode::CreateNew)?;
        file.write_at(&self.encode()?, 0)?;
        Ok(file.sync()?)
    }

    /// Repeats the last step of a creation, because that step may have failed. The name of the file may then be lost,
    /// although it is visible, even if the next sync of the directory succeeds. Therefore a copy replaces the file.
    pub fn finish_again(self, env: &Env, dir: &Path) -> Result<()> {
        self.write(env, &dir.join(NEXT))?;
        env.fs.rename(&dir.join(NEXT), &dir.join(NAME))?;
        Ok(env.fs.sync_dir(dir)?)
    }

    /// Ends a creation: renames the file to its final name.
    pub fn finish(self, env: &Env, dir: &Path) -> Result<()> {
        env.fs.rename(&dir.join(TEMPORARY), &dir.join(NAME))?;
        Ok(env.fs.sync_dir(dir)?)
    }
}

#[cfg(test)]
mod tests;
