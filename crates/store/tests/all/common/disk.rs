//! Files in memory that a test copies, restores, truncates and changes.

use alluvium_env::mem::MemFs;
use alluvium_env::{Env, Fs, ManualClock, OpenMode, SeededRng};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Paths of files, and their contents.
pub type Copies = Vec<(PathBuf, Vec<u8>)>;

pub fn env_of(fs: &Arc<dyn Fs>) -> Env {
    Env { fs: fs.clone(), clock: Arc::new(ManualClock::new()), rng: Arc::new(SeededRng::new(1)) }
}

pub fn read(fs: &dyn Fs, path: &Path) -> Vec<u8> {
    let file = fs.open(path, OpenMode::Read).unwrap();
    let mut bytes = vec![0; file.len().unwrap() as usize];
    file.read_exact_at(&mut bytes, 0).unwrap();
    bytes
}

/// The files of a directory whose names contain `part`.
pub fn copies(fs: &dyn Fs, dir: &str, part: &str) -> Copies {
    let names = fs.list(Path::new(dir)).unwrap().into_iter().map(|entry| entry.name).filter(|name| name.contains(part));
    let mut found: Copies =
        names.map(|name| Path::new(dir).join(name)).map(|path| (path.clone(), read(fs, &path))).collect();
    found.sort_unstable();
    found
}

/// Replaces the files of a directory whose names contain `part` by these files.
pub fn put_back(fs: &dyn Fs, dir: &str, part: &str, files: &Copies) {
    copies(fs, dir, part).iter().for_each(|(path, _)| fs.remove(path).unwrap());
    for (path, bytes) in files {
        fs.open(path, OpenMode::CreateNew).unwrap().write_at(bytes, 0).unwrap();
    }
}

/// Truncates a sorted file so far that its properties are lost.
pub fn cut_end(mem: &Arc<MemFs>, path: &Path) {
    let number = alluvium_lsm::image::sst_number(&path.file_name().unwrap().to_string_lossy()).unwrap();
    let file = mem.open(path, OpenMode::ReadWrite).unwrap();
    let (env, known) = (env_of(&(mem.clone() as Arc<dyn Fs>)), alluvium_sst::DictionaryRegistry::new());
    let walk = || alluvium_sst::walk_file(&env, path, number, &known, &mut |_| Ok(())).unwrap();
    let whole = walk().data_blocks;
    while walk().properties.is_some() {
        file.set_len(file.len().unwrap() - 20).unwrap();
    }
    assert_eq!(walk().data_blocks, whole);
}

pub fn flip(fs: &dyn Fs, path: &Path, at: usize) {
    let changed = read(fs, path)[at] ^ 4;
    fs.open(path, OpenMode::ReadWrite).unwrap().write_at(&[changed], at as u64).unwrap();
}

/// Changes the last occurrence of this text in the log, so that the group with the text becomes a gap.
pub fn damage_log(mem: &MemFs, text: &str) {
    let place = |(path, bytes): &(PathBuf, Vec<u8>)| {
        Some((path.clone(), bytes.windows(text.len()).rposition(|window| window == text.as_bytes())?))
    };
    let (path, at) = copies(mem, "db/wal", "wal-").iter().rev().find_map(place).unwrap();
    flip(mem, &path, at);
}
