//! Opens an LMDB environment, for which heed asks the caller to promise two things.
#![allow(unsafe_code)]

use alluvium_workbench::peer::Failure;
use heed::{Env, EnvFlags, EnvOpenOptions};
use std::path::Path;

/// The address space for the file, which grows as it is filled.
const MAP_BYTES: usize = 256 << 30;
/// Threads that read at once.
const READERS_MAX: u32 = 1100;

/// Opens the environment in a directory, and creates it if it does not exist. Commits are written to the operating
/// system and not synced. Reads ahead are off, as LMDB's documentation suggests for random reads of more data than memory.
pub(super) fn open(dir: &Path) -> Result<Env, Failure> {
    let mut options = EnvOpenOptions::new();
    options.map_size(MAP_BYTES).max_readers(READERS_MAX);
    // SAFETY: without syncs a power cut may damage the environment. It is made for one measurement, and never opened
    // after one.
    unsafe { options.flags(EnvFlags::NO_SYNC | EnvFlags::NO_READ_AHEAD) };
    // SAFETY: the file is changed through LMDB alone: the directory is this process's own, and opened once at a time.
    Ok(unsafe { options.open(dir) }?)
}
