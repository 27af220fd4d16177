//! Shared by the tests of the log.
#![allow(dead_code, clippy::disallowed_methods)]

use alluvium_env::fault::FaultFs;
use alluvium_env::mem::MemFs;
use alluvium_env::{Env, Error, Fs, ManualClock, OpenMode, SeededRng};
use alluvium_wal::{OnDamage, Options, Record, Recovery, Wal};
use std::path::{Path, PathBuf};
use std::sync::Arc;

pub const DATABASE: u64 = 0x0123_4567_89ab_cdef;

/// The offset at which groups begin in a segment.
pub const GROUPS_AT: u64 = 8192;

pub fn dir() -> PathBuf {
    PathBuf::from("/log")
}

/// A seed that is printed when the test fails.
pub fn seed() -> u64 {
    let seed = std::env::var("SEED").ok().and_then(|s| s.parse().ok()).unwrap_or_else(|| fastrand::u64(..));
    println!("SEED={seed}");
    seed
}

pub fn env_of(fs: Arc<dyn Fs>) -> Env {
    Env { fs, clock: Arc::new(ManualClock::new()), rng: Arc::new(SeededRng::new(1)) }
}

/// An empty file system with the log's directory, and the layer for faults over it.
pub fn new_disk() -> (Arc<MemFs>, Arc<FaultFs>, Env) {
    let mem = Arc::new(MemFs::new());
    mem.create_dir_all(&dir()).unwrap();
    mem.sync_dir(Path::new("/")).unwrap();
    over(mem)
}

/// A layer for faults over a file system.
pub fn over(mem: Arc<MemFs>) -> (Arc<MemFs>, Arc<FaultFs>, Env) {
    let faults = Arc::new(FaultFs::over(Arc::clone(&mem)));
    (mem, Arc::clone(&faults), env_of(faults))
}

pub fn options(segment_bytes: u64) -> Options {
    Options { segment_bytes, ..Options::new(DATABASE) }
}

pub fn skipping(segment_bytes: u64) -> Options {
    Options { on_damage: OnDamage::Skip, ..options(segment_bytes) }
}

/// A record that owns its payload.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Owned {
    pub first: u64,
    pub last: u64,
    pub payload: Vec<u8>,
}

impl Owned {
    pub fn record(&self) -> Record<'_> {
        Record::new(self.first, self.last, &self.payload)
    }
}

/// A record from `first` on with a random length and content.
pub fn random_record(rng: &mut fastrand::Rng, first: u64, most: usize) -> Owned {
    let len = if rng.u8(0..4) == 0 { rng.usize(0..=most) } else { rng.usize(0..=most.min(60)) };
    let payload = (0..len).map(|_| rng.u8(..)).collect();
    Owned { first, last: first + rng.u64(0..4), payload }
}

pub fn append(wal: &Wal, records: &[Owned]) -> Result<alluvium_wal::Position, Error> {
    let records: Vec<_> = records.iter().map(Owned::record).collect();
    wal.append(&records)
}

/// Recovers the log of `env`, and returns the replayed records.
pub fn recover(env: &Env, options: Options) -> Result<(Wal, Recovery, Vec<Owned>), Error> {
    let mut records = Vec::new();
    let (wal, recovery) = Wal::recover(env, &dir(), options, &mut |record| {
        let payload = record.payload.to_vec();
        records.push(Owned { first: record.first_seq, last: record.last_seq, payload });
        Ok(())
    })?;
    assert_eq!(recovery.records, records.len() as u64);
    assert_eq!(recovery.bytes, records.iter().map(|r| r.payload.len() as u64).sum::<u64>());
    if recovery.lost.is_empty() {
        let next = records.iter().fold(recovery.first_seq, |next, record| {
            assert!(record.first >= next && record.last >= record.first);
            record.last + 1
        });
        assert!(next <= recovery.last_seq + 1);
    }
    Ok((wal, recovery, records))
}

/// The path of a segment.
pub fn segment(number: u64) -> PathBuf {
    dir().join(format!("wal-{number:020}.log"))
}

pub fn read_file(fs: &dyn Fs, path: &Path) -> Vec<u8> {
    let file = fs.open(path, OpenMode::Read).unwrap();
    let mut bytes = vec![0; file.len().unwrap() as usize];
    file.read_exact_at(&mut bytes, 0).unwrap();
    bytes
}

/// A disk that holds these files in the log's directory, durably.
pub fn disk_with(files: &[(PathBuf, Vec<u8>)]) -> Env {
    let (mem, _, env) = new_disk();
    for (path, bytes) in files {
        let file = mem.open(path, OpenMode::CreateNew).unwrap();
        file.write_at(bytes, 0).unwrap();
        file.sync().unwrap();
    }
    mem.sync_dir(&dir()).unwrap();
    env
}

/// All segments of a file system.
pub fn files(fs: &dyn Fs) -> Vec<(PathBuf, Vec<u8>)> {
    let names = fs.list(&dir()).unwrap();
    names.into_iter().map(|entry| (dir().join(&entry.name), read_file(fs, &dir().join(entry.name)))).collect()
}

/// The offsets and lengths of the groups of a segment.
pub fn groups(bytes: &[u8]) -> Vec<(usize, usize)> {
    let mut at = GROUPS_AT as usize;
    let mut found = Vec::new();
    while at + 48 <= bytes.len() {
        let len = u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap()) as usize;
        if len == 0 {
            break;
        }
        found.push((at, 48 + len));
        at += 48 + len;
    }
    found
}
