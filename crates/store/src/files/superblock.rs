//! The file `ALLUVIUM`: what a database is, written once when it is created.
//!
//! A checked frame (`docs/format/store.md`): magic, format version, database id, partitions.
//! Written and synced as `ALLUVIUM.tmp` before anything else is made, and renamed when the rest is
//! durable, so that a directory with this file is a whole (if empty) database.

use crate::error::{Error, Result};
use alluvium_env::{Env, OpenMode};
use std::path::Path;

/// The name of the file.
pub(crate) const NAME: &str = "ALLUVIUM";
/// Its name while a database is being created.
pub(crate) const TEMPORARY: &str = "ALLUVIUM.tmp";
/// The name of one that is to take the place of another.
pub(crate) const NEXT: &str = "ALLUVIUM.next";
const MAGIC: &[u8; 8] = b"alluvium";
/// The format version that this build writes, and the highest that it reads.
pub(crate) const FORMAT_VERSION: u32 = 1;

/// What the file says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Superblock {
    /// A random number that ties the log to the database.
    pub database_id: u64,
    /// Partitions, fixed.
    pub partitions: u32,
}

impl Superblock {
    fn encode(self) -> Result<Vec<u8>> {
        let mut payload = Vec::new();
        payload.extend_from_slice(&self.database_id.to_le_bytes());
        payload.extend_from_slice(&self.partitions.to_le_bytes());
        // The magic and the version stand before the frame, so that a newer format is named
        // even if its frame looks different.
        let mut bytes = MAGIC.to_vec();
        bytes.extend_from_slice(&FORMAT_VERSION.to_le_bytes());
        alluvium_codec::frame::put(&mut bytes, &payload, u64::from(FORMAT_VERSION), 12).map_err(|_| Error::Closed)?;
        Ok(bytes)
    }

    fn decode(bytes: &[u8], path: &Path) -> Result<Self> {
        let damaged = |offset, what: &str| Error::from(alluvium_env::Error::corrupt(path, offset, what));
        let rest = bytes.strip_prefix(MAGIC).ok_or_else(|| damaged(0, "no Alluvium database starts like this"))?;
        let (version, mut rest) = rest.split_first_chunk::<4>().ok_or_else(|| damaged(8, "the file is too short"))?;
        let found = u32::from_le_bytes(*version);
        if found != FORMAT_VERSION {
            // A flipped bit in the version would read as a newer format: the frame tells.
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

    /// Reads the file; `None` if there is none.
    pub fn read(env: &Env, dir: &Path) -> Result<Option<Self>> {
        let path = dir.join(NAME);
        if !env.fs.exists(&path)? {
            return Ok(None);
        }
        Self::read_file(env, &path).map(Some)
    }

    /// Reads the file, whatever its name.
    pub fn read_file(env: &Env, path: &Path) -> Result<Self> {
        let file = env.fs.open(path, OpenMode::Read)?;
        let len = file.len()?.min(1 << 16) as usize;
        let mut bytes = vec![0; len];
        file.read_exact_at(&mut bytes, 0)?;
        Self::decode(&bytes, path)
    }

    /// Begins a creation: the file, durable, under its temporary name.
    ///
    /// One that an unfinished creation has left gives way to the new one, and is not removed before:
    /// the removal may reach the disk before those of the old parts do, and these would then look like
    /// a database that has lost its superblock. Nor is it written over: its name may be lost, though
    /// one sees it, if it was the sync of the directory that had failed.
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

    /// Ends a creation again whose last step may have failed: the file's name, which one sees, may be
    /// lost then, whatever the next sync of the directory says. It gives way to a copy.
    pub fn finish_again(self, env: &Env, dir: &Path) -> Result<()> {
        self.write(env, &dir.join(NEXT))?;
        env.fs.rename(&dir.join(NEXT), &dir.join(NAME))?;
        Ok(env.fs.sync_dir(dir)?)
    }

    /// Ends a creation: the file gets its name.
    pub fn finish(self, env: &Env, dir: &Path) -> Result<()> {
        env.fs.rename(&dir.join(TEMPORARY), &dir.join(NAME))?;
        Ok(env.fs.sync_dir(dir)?)
    }
}

#[cfg(test)]
mod tests;
