//! The overlay, compared with a file system in memory that behaves as documented.
#![cfg(not(feature = "shuttle"))]

use super::*;
use crate::fault::{Fault, FaultFs};
use crate::mem::MemFs;
use crate::rng::{Rng, SeededRng};

const DIR: &str = "db";

/// The operating system's number for "Read-only file system".
const EROFS: i32 = 30;

fn all(_name: &str) -> bool {
    true
}

/// A directory with some files, in memory.
fn filled(rng: &SeededRng) -> MemFs {
    let fs = MemFs::new();
    fs.create_dir_all(Path::new("db/p0")).unwrap();
    for at in 0..4 {
        let bytes: Vec<u8> = (0..rng.next_u64() % 20_000).map(|n| (n * 7 + at) as u8).collect();
        fs.open(&name(at), OpenMode::CreateNew).unwrap().write_at(&bytes, 0).unwrap();
    }
    fs
}

fn name(at: u64) -> PathBuf {
    let dir = if at.is_multiple_of(2) { "db" } else { "db/p0" };
    Path::new(dir).join(format!("f{at}"))
}

fn read(fs: &dyn Fs, path: &Path) -> Vec<u8> {
    let file = fs.open(path, OpenMode::Read).unwrap();
    let mut bytes = vec![0; file.len().unwrap() as usize];
    file.read_exact_at(&mut bytes, 0).unwrap();
    bytes
}

/// Everything in a directory, with the contents of files.
fn content(fs: &dyn Fs, dir: &Path) -> Vec<(PathBuf, Option<Vec<u8>>)> {
    let mut found = Vec::new();
    for entry in fs.list(dir).unwrap() {
        let path = dir.join(&entry.name);
        match entry.is_dir {
            true => {
                found.push((path.clone(), None));
                found.extend(content(fs, &path));
            }
            false => {
                let bytes = read(fs, &path);
                assert_eq!(bytes.len() as u64, entry.len, "{}", path.display());
                found.push((path, Some(bytes)));
            }
        }
    }
    found
}

/// An overlay over a disk that refuses every change.
fn over(below: &MemFs, limit: u64) -> (OverlayFs, Arc<FaultFs>) {
    let refusing = Arc::new(FaultFs::new(Arc::new(below.kill_clone())));
    refusing.inject(Fault::nth(1).of_changes().from_then_on().os_error(EROFS));
    (OverlayFs::new(refusing.hold_dir(Path::new(DIR)).unwrap(), Path::new(DIR), limit, all), refusing)
}

/// Runs one random operation, and returns its result. An error is returned without its text.
fn step(fs: &dyn Fs, rng: &SeededRng, open: &mut Vec<Arc<dyn File>>) -> std::result::Result<Vec<u8>, String> {
    let n = || rng.next_u64();
    let (one, other) = (name(n() % 8), name(n() % 8));
    let with = |act: &dyn Fn(&dyn File) -> Result<()>| {
        let file = fs.open(&one, OpenMode::ReadWrite)?;
        act(&*file)
    };
    let (offset, len, kind) = (n() % 20_000, n() % 9_000, n());
    let done: Result<Vec<u8>> = match kind % 12 {
        0 => fs.open(&one, OpenMode::CreateNew).map(|file| open.push(file)).map(|()| Vec::new()),
        1 | 2 => with(&|file| file.write_at(&vec![offset as u8 | 1; len as usize], offset)).map(|()| Vec::new()),
        3 => with(&|file| file.set_len(offset)).map(|()| Vec::new()),
        4 => with(&|file| file.allocate(offset)).map(|()| Vec::new()),
        5 => fs.remove(&one).map(|()| Vec::new()),
        6 => fs.rename(&one, &other).map(|()| Vec::new()),
        7 => fs.hard_link(&one, &other).map(|()| Vec::new()),
        8 => fs.open(&one, OpenMode::Read).map(|file| open.push(file)).map(|()| Vec::new()),
        9 => fs.create_dir_all(&Path::new("db/q").join((n() % 2).to_string())).map(|()| Vec::new()),
        10 => fs.remove_dir(&Path::new("db/q").join((n() % 2).to_string())).map(|()| Vec::new()),
        _ => match open.len() {
            0 => Ok(Vec::new()),
            count => {
                let mut buf = vec![0; len as usize];
                let got = open[n() as usize % count].read_at(&mut buf, offset).unwrap();
                buf.truncate(got);
                Ok(buf)
            }
        },
    };
    done.map_err(|error| match error {
        Error::Io { source, .. } => source.kind().to_string(),
        other => other.to_string(),
    })
}

#[test]
fn it_behaves_like_a_disk_and_changes_none() {
    for seed in 0..300 {
        let rng = SeededRng::new(seed);
        let below = filled(&rng);
        let (overlay, refusing) = over(&below, u64::MAX);
        let plain = below.kill_clone();
        let (mut mine, mut theirs) = (Vec::new(), Vec::new());
        for at in 0..60 {
            let drawn = rng.next_u64();
            let expected = step(&plain, &SeededRng::new(drawn), &mut theirs);
            let found = step(&overlay, &SeededRng::new(drawn), &mut mine);
            assert_eq!(found, expected, "seed {seed}, step {at}");
        }
        assert_eq!(content(&overlay, Path::new(DIR)), content(&plain, Path::new(DIR)), "seed {seed}");
        assert_eq!(refusing.fired(), 0, "seed {seed}: {:?}", refusing.struck());
        let kept = below.kill_clone();
        assert_eq!(content(&*refusing, Path::new(DIR)), content(&kept, Path::new(DIR)), "seed {seed}");
        drop((mine, theirs));
        for at in 0..8 {
            let _absent = overlay.remove(&name(at));
        }
        assert_eq!(overlay.used_bytes(), 0, "seed {seed}: removed files take no memory");
    }
}

#[test]
fn a_write_of_the_same_bytes_takes_no_memory_and_holes_take_none() {
    let below = MemFs::new();
    below.create_dir_all(Path::new(DIR)).unwrap();
    let path = Path::new("db/log");
    below.open(path, OpenMode::CreateNew).unwrap().write_at(&[7; 50_000], 0).unwrap();
    let (overlay, _) = over(&below, 4 * 4096);
    let file = overlay.open(path, OpenMode::ReadWrite).unwrap();
    file.write_at(&[7; 50_000], 0).unwrap();
    overlay.open(Path::new("db/new"), OpenMode::CreateNew).unwrap().allocate(1 << 30).unwrap();
    assert_eq!(overlay.used_bytes(), 0);
    file.write_at(&[8; 10], 4090).unwrap();
    assert_eq!(overlay.used_bytes(), 2 * 4096);
}

#[test]
fn the_limit_is_kept_and_an_error_names_it() {
    let below = filled(&SeededRng::new(1));
    let (overlay, _) = over(&below, 3 * 4096);
    let seen = Arc::new(std::sync::atomic::AtomicU64::new(0));
    let noted = seen.clone();
    overlay.listen(move |used| noted.store(used, std::sync::atomic::Ordering::SeqCst));
    let file = overlay.open(Path::new("db/new"), OpenMode::CreateNew).unwrap();
    file.write_at(&[1; 3 * 4096], 0).unwrap();
    assert_eq!(seen.load(std::sync::atomic::Ordering::SeqCst), 3 * 4096);
    let full = file.write_at(&[1], 3 * 4096).unwrap_err();
    assert!(full.is_overlay_full() && full.to_string().contains("12288 bytes"), "{full}");
    assert_eq!(file.len().unwrap(), 3 * 4096);
    file.set_len(0).unwrap();
    assert_eq!((overlay.used_bytes(), seen.load(std::sync::atomic::Ordering::SeqCst)), (0, 0));
}

#[test]
fn other_paths_are_those_of_the_disk_and_names_that_users_choose_are_refused() {
    let below = filled(&SeededRng::new(1));
    let only: fn(&str) -> bool = |name| name == "wal";
    let overlay = OverlayFs::new(Arc::new(below.kill_clone()), Path::new(DIR), u64::MAX, only);
    overlay.create_dir_all(Path::new("db/wal/x")).unwrap();
    let refused = |result: Result<()>| assert!(result.unwrap_err().is_read_only_disk());
    refused(overlay.create_dir_all(Path::new("db/dump")));
    refused(overlay.open(Path::new("db/export.json"), OpenMode::CreateNew).map(|_| ()));
    refused(overlay.rename(&name(0), Path::new("db/other")));
    refused(overlay.hard_link(&name(0), Path::new("db/other")));
    overlay.create_dir_all(Path::new("copy")).unwrap();
    let crosses = overlay.hard_link(&name(0), Path::new("copy/f0")).unwrap_err();
    assert!(matches!(crosses, Error::Io { source, .. } if source.kind() == ErrorKind::CrossesDevices));
    overlay.open(Path::new("copy/f"), OpenMode::CreateNew).unwrap().write_at(b"x", 0).unwrap();
    assert_eq!((overlay.used_bytes(), read(&*overlay.inner, Path::new("copy/f"))), (0, b"x".to_vec()));
}

#[test]
fn locks_are_those_of_readers() {
    let below = Arc::new(filled(&SeededRng::new(1)));
    let held = || below.hold_dir(Path::new(DIR)).unwrap();
    let overlay = || OverlayFs::new(held(), Path::new(DIR), u64::MAX, all);
    let lock = Path::new("db/LOCK");
    let first = overlay().try_lock(lock).unwrap();
    let second = overlay().try_lock(lock).unwrap();
    assert!(first.is_some() && second.is_some() && held().try_lock(lock).unwrap().is_none());
    drop((first, second));
    let writer = held().try_lock(lock).unwrap();
    assert!(writer.is_some() && overlay().try_lock(lock).unwrap().is_none());
}
