//! Runs the same scenarios on the file system of the operating system, on the one in memory, and on both under a fault
//! layer without faults.
#![cfg(not(feature = "shuttle"))]

use alluvium_env::fault::FaultFs;
use alluvium_env::mem::MemFs;
use alluvium_env::{Env, Error, Fs, OpenMode, OverlayFs};
use std::io::ErrorKind;
use std::path::Path;
use std::sync::Arc;

type Scenario = fn(&dyn Fs, &Path);

const SCENARIOS: &[(&str, Scenario)] = &[
    ("a new file is empty and can be read and written", new_file),
    ("a file is created once", create_new_refuses),
    ("an absent file cannot be opened", absent_file),
    ("a read ends at the end of the file", short_reads),
    ("read_exact_at names what is missing", exact_reads),
    ("a write past the end leaves zeros", hole),
    ("writes of odd sizes land where they should", odd_writes),
    ("set_len cuts and extends with zeros", set_len),
    ("allocate extends with zeros and never shortens", allocate),
    ("a file opened for reading refuses changes", read_only),
    ("a directory is no file", directory_as_file),
    ("a file is no directory", file_as_directory),
    ("rename moves and replaces", rename),
    ("rename over itself or a second name keeps the file", rename_same),
    ("a directory can be renamed, not into itself", rename_directory),
    ("remove takes the name, open files stay", remove),
    ("a hard link is the same file", hard_link),
    ("directories are made with their parents and removed when empty", directories),
    ("a list is sorted and has lengths", list),
    ("paths may hold dots", dotted_paths),
    ("a lock is held once", lock),
    ("a lock for reading is shared", lock_to_read),
    ("there is space", space),
    ("syncs succeed and change nothing", syncs),
    ("an impossible length is refused", too_long),
];

fn run_all(fs: &dyn Fs, base: &Path) {
    for (index, (name, scenario)) in SCENARIOS.iter().enumerate() {
        println!("{name}");
        let dir = base.join(format!("s{index}"));
        fs.create_dir_all(&dir).unwrap();
        scenario(fs, &dir);
    }
}

#[test]
fn the_operating_system() {
    let dir = tempfile::tempdir().unwrap();
    let fs = Env::os().fs;
    run_all(&*fs, dir.path());
    let faulty = dir.path().join("faulty");
    fs.create_dir_all(&faulty).unwrap();
    run_all(&FaultFs::new(fs), &faulty);
}

#[test]
fn memory() {
    run_all(&MemFs::new(), Path::new("/base"));
    run_all(&MemFs::new(), Path::new("relative/base"));
    run_all(&FaultFs::over(Arc::new(MemFs::new())), Path::new("/base"));
    run_all(&FaultFs::new(Arc::new(MemFs::new())), Path::new("/base"));
}

/// Some scenarios are excluded: locks, which are shared in an overlay; renames of directories; and paths with `..`,
/// which lead out of the directory.
#[test]
fn an_overlay() {
    let fs: Arc<dyn Fs> = Arc::new(MemFs::new());
    fs.create_dir_all(Path::new("/base")).unwrap();
    let overlay = OverlayFs::new(fs.clone(), Path::new("/base"), u64::MAX, |_| true);
    let left_out = ["lock", "directory can be renamed", "a file is no directory", "dots"];
    let others = SCENARIOS.iter().filter(|(name, _)| !left_out.iter().any(|part| name.contains(part)));
    for (index, (name, scenario)) in others.enumerate() {
        println!("{name}");
        let dir = Path::new("/base").join(format!("s{index}"));
        overlay.create_dir_all(&dir).unwrap();
        scenario(&overlay, &dir);
    }
    assert!(fs.list(Path::new("/base")).unwrap().is_empty());
}

/// The clone of a crash that loses nothing must behave like any other file system.
#[test]
fn a_crash_clone() {
    let fs = MemFs::new();
    run_all(&fs, Path::new("/before"));
    for seed in 0..20 {
        run_all(&fs.crash_clone(seed, alluvium_env::mem::CrashStyle::Any), Path::new("/after"));
    }
    run_all(&fs.kill_clone(), Path::new("/after"));
}

fn write(fs: &dyn Fs, path: &Path, bytes: &[u8]) {
    fs.open(path, OpenMode::CreateNew).unwrap().write_at(bytes, 0).unwrap();
}

fn read(fs: &dyn Fs, path: &Path) -> Vec<u8> {
    let file = fs.open(path, OpenMode::Read).unwrap();
    let mut bytes = vec![0; file.len().unwrap() as usize];
    file.read_exact_at(&mut bytes, 0).unwrap();
    bytes
}

#[track_caller]
fn assert_kind<T>(result: alluvium_env::Result<T>, wanted: ErrorKind) {
    match result.map(|_| "success") {
        Err(Error::Io { source, .. }) => assert_eq!(source.kind(), wanted),
        other => panic!("{wanted:?} was wanted, not {other:?}"),
    }
}

fn new_file(fs: &dyn Fs, dir: &Path) {
    let path = dir.join("f");
    let file = fs.open(&path, OpenMode::CreateNew).unwrap();
    assert_eq!(file.path(), path);
    assert!(file.is_empty().unwrap());
    file.write_at(b"hello", 0).unwrap();
    assert!(!file.is_empty().unwrap());
    let mut buf = [0; 5];
    file.read_exact_at(&mut buf, 0).unwrap();
    assert_eq!(&buf, b"hello");
    let again = fs.open(&path, OpenMode::ReadWrite).unwrap();
    again.write_at(b"J", 0).unwrap();
    assert_eq!(read(fs, &path), b"Jello");
}

fn create_new_refuses(fs: &dyn Fs, dir: &Path) {
    let path = dir.join("f");
    write(fs, &path, b"x");
    assert_kind(fs.open(&path, OpenMode::CreateNew), ErrorKind::AlreadyExists);
    assert_eq!(read(fs, &path), b"x");
}

fn absent_file(fs: &dyn Fs, dir: &Path) {
    let path = dir.join("absent");
    assert_kind(fs.open(&path, OpenMode::Read), ErrorKind::NotFound);
    assert_kind(fs.open(&path, OpenMode::ReadWrite), ErrorKind::NotFound);
    assert_kind(fs.open(&path.join("f"), OpenMode::CreateNew), ErrorKind::NotFound);
    assert_kind(fs.rename(&path, &dir.join("other")), ErrorKind::NotFound);
    assert_kind(fs.remove(&path), ErrorKind::NotFound);
    assert_kind(fs.remove_dir(&path), ErrorKind::NotFound);
    assert_kind(fs.hard_link(&path, &dir.join("other")), ErrorKind::NotFound);
    assert_kind(fs.list(&path), ErrorKind::NotFound);
    assert_kind(fs.sync_dir(&path), ErrorKind::NotFound);
    assert_kind(fs.available_bytes(&path), ErrorKind::NotFound);
    assert_kind(fs.try_lock(&path.join("LOCK")).map(|_| ()), ErrorKind::NotFound);
    assert!(!fs.exists(&path).unwrap());
    assert!(!fs.exists(&path.join("f")).unwrap());
}

fn short_reads(fs: &dyn Fs, dir: &Path) {
    let path = dir.join("f");
    write(fs, &path, b"hello");
    let file = fs.open(&path, OpenMode::Read).unwrap();
    let mut buf = [9; 8];
    assert_eq!(file.read_at(&mut buf, 2).unwrap(), 3);
    assert_eq!(&buf, b"llo\x09\x09\x09\x09\x09");
    assert_eq!(file.read_at(&mut buf, 5).unwrap(), 0);
    assert_eq!(file.read_at(&mut buf, 500).unwrap(), 0);
    assert_eq!(file.read_at(&mut [], 0).unwrap(), 0);
}

fn exact_reads(fs: &dyn Fs, dir: &Path) {
    let path = dir.join("f");
    write(fs, &path, b"hello");
    let file = fs.open(&path, OpenMode::Read).unwrap();
    match file.read_exact_at(&mut [0; 4], 3) {
        Err(Error::Corrupt { path: named, offset: 3, .. }) => assert_eq!(named, path),
        other => panic!("{other:?}"),
    }
}

fn hole(fs: &dyn Fs, dir: &Path) {
    let path = dir.join("f");
    let file = fs.open(&path, OpenMode::CreateNew).unwrap();
    file.write_at(b"end", 300_000).unwrap();
    assert_eq!(file.len().unwrap(), 300_003);
    let bytes = read(fs, &path);
    assert!(bytes[..300_000].iter().all(|byte| *byte == 0));
    assert_eq!(&bytes[300_000..], b"end");
    file.write_at(b"", 900_000).unwrap();
    assert_eq!(file.len().unwrap(), 300_003, "an empty write extends nothing");
}

fn odd_writes(fs: &dyn Fs, dir: &Path) {
    let path = dir.join("f");
    let file = fs.open(&path, OpenMode::CreateNew).unwrap();
    let mut model = Vec::new();
    let rng = fastrand::Rng::with_seed(7);
    let mut rng = rng;
    for step in 0..300_u32 {
        let offset = rng.usize(0..40_000);
        let bytes = vec![step as u8; rng.usize(0..9_000)];
        file.write_at(&bytes, offset as u64).unwrap();
        if !bytes.is_empty() {
            model.resize(model.len().max(offset + bytes.len()), 0);
            model[offset..offset + bytes.len()].copy_from_slice(&bytes);
        }
        if step % 17 == 0 {
            let len = rng.usize(0..50_000);
            file.set_len(len as u64).unwrap();
            model.resize(len, 0);
        }
        let from = rng.usize(0..50_000);
        let mut buf = vec![7; rng.usize(0..9_000)];
        let got = file.read_at(&mut buf, from as u64).unwrap();
        let end = model.len().min(from + buf.len()).max(from.min(model.len()));
        assert_eq!(&buf[..got], &model[from.min(model.len())..end], "step {step}");
    }
    assert_eq!(read(fs, &path), model);
}

fn set_len(fs: &dyn Fs, dir: &Path) {
    let path = dir.join("f");
    write(fs, &path, b"hello world");
    let file = fs.open(&path, OpenMode::ReadWrite).unwrap();
    file.set_len(5).unwrap();
    assert_eq!(read(fs, &path), b"hello");
    file.set_len(8).unwrap();
    assert_eq!(read(fs, &path), b"hello\0\0\0");
    file.set_len(0).unwrap();
    assert!(file.is_empty().unwrap());
}

fn allocate(fs: &dyn Fs, dir: &Path) {
    let path = dir.join("f");
    let file = fs.open(&path, OpenMode::CreateNew).unwrap();
    file.allocate(10_000).unwrap();
    assert_eq!(read(fs, &path), vec![0; 10_000]);
    file.write_at(b"x", 0).unwrap();
    file.allocate(5_000).unwrap();
    file.allocate(0).unwrap();
    assert_eq!(file.len().unwrap(), 10_000);
    assert_eq!(read(fs, &path)[0], b'x');
}

fn read_only(fs: &dyn Fs, dir: &Path) {
    let path = dir.join("f");
    write(fs, &path, b"x");
    let file = fs.open(&path, OpenMode::Read).unwrap();
    assert!(file.write_at(b"y", 0).is_err());
    assert!(file.set_len(0).is_err());
    assert!(file.allocate(100).is_err());
    assert_eq!(read(fs, &path), b"x");
}

fn directory_as_file(fs: &dyn Fs, dir: &Path) {
    let sub = dir.join("sub");
    fs.create_dir_all(&sub).unwrap();
    assert_kind(fs.open(&sub, OpenMode::Read), ErrorKind::IsADirectory);
    assert_kind(fs.open(&sub, OpenMode::ReadWrite), ErrorKind::IsADirectory);
    assert_kind(fs.open(&sub, OpenMode::CreateNew), ErrorKind::AlreadyExists);
    assert!(fs.remove(&sub).is_err());
    assert!(fs.hard_link(&sub, &dir.join("other")).is_err());
    assert!(fs.try_lock(&sub).is_err());
    let file = dir.join("f");
    write(fs, &file, b"x");
    assert_kind(fs.rename(&file, &sub), ErrorKind::IsADirectory);
    assert!(fs.exists(&sub).unwrap());
}

fn file_as_directory(fs: &dyn Fs, dir: &Path) {
    let file = dir.join("f");
    write(fs, &file, b"x");
    assert_kind(fs.open(&file.join("g"), OpenMode::CreateNew), ErrorKind::NotADirectory);
    assert_kind(fs.list(&file), ErrorKind::NotADirectory);
    assert!(!fs.exists(&file.join("g")).unwrap());
    assert_kind(fs.remove_dir(&file), ErrorKind::NotADirectory);
    assert!(fs.create_dir_all(&file).is_err());
    assert!(fs.create_dir_all(&file.join("sub")).is_err());
    let sub = dir.join("sub");
    fs.create_dir_all(&sub).unwrap();
    assert_kind(fs.rename(&sub, &file), ErrorKind::NotADirectory);
}

fn rename(fs: &dyn Fs, dir: &Path) {
    let (a, b) = (dir.join("a"), dir.join("b"));
    write(fs, &a, b"a");
    let open = fs.open(&a, OpenMode::ReadWrite).unwrap();
    fs.rename(&a, &b).unwrap();
    assert!(!fs.exists(&a).unwrap());
    open.write_at(b"!", 1).unwrap();
    assert_eq!(read(fs, &b), b"a!");
    write(fs, &a, b"new");
    fs.rename(&a, &b).unwrap();
    assert_eq!(read(fs, &b), b"new");
    assert_eq!(fs.list(dir).unwrap().len(), 1);
    let sub = dir.join("sub");
    fs.create_dir_all(&sub).unwrap();
    fs.rename(&b, &sub.join("c")).unwrap();
    assert_eq!(read(fs, &sub.join("c")), b"new");
    let mut replaced = [0; 2];
    open.read_exact_at(&mut replaced, 0).unwrap();
    assert_eq!(&replaced, b"a!", "an open file outlives its replacement");
}

fn rename_same(fs: &dyn Fs, dir: &Path) {
    let (a, b) = (dir.join("a"), dir.join("b"));
    write(fs, &a, b"a");
    fs.rename(&a, &a).unwrap();
    fs.hard_link(&a, &b).unwrap();
    fs.rename(&a, &b).unwrap();
    assert_eq!((read(fs, &a), read(fs, &b)), (b"a".to_vec(), b"a".to_vec()));
}

fn rename_directory(fs: &dyn Fs, dir: &Path) {
    let (a, b) = (dir.join("a"), dir.join("b"));
    fs.create_dir_all(&a).unwrap();
    write(fs, &a.join("f"), b"x");
    fs.rename(&a, &b).unwrap();
    assert_eq!(read(fs, &b.join("f")), b"x");
    assert_kind(fs.rename(&b, &b.join("c")), ErrorKind::InvalidInput);
    fs.create_dir_all(&a).unwrap();
    assert_kind(fs.rename(&a, &b), ErrorKind::DirectoryNotEmpty);
    fs.rename(&b, &a).unwrap();
    assert_eq!(read(fs, &a.join("f")), b"x");
}

fn remove(fs: &dyn Fs, dir: &Path) {
    let path = dir.join("f");
    write(fs, &path, b"old");
    let open = fs.open(&path, OpenMode::ReadWrite).unwrap();
    fs.remove(&path).unwrap();
    assert!(!fs.exists(&path).unwrap());
    write(fs, &path, b"new");
    open.write_at(b"O", 0).unwrap();
    let mut buf = [0; 3];
    open.read_exact_at(&mut buf, 0).unwrap();
    assert_eq!(&buf, b"Old");
    assert_eq!(read(fs, &path), b"new");
}

fn hard_link(fs: &dyn Fs, dir: &Path) {
    let (a, b) = (dir.join("a"), dir.join("b"));
    write(fs, &a, b"a");
    fs.hard_link(&a, &b).unwrap();
    fs.open(&b, OpenMode::ReadWrite).unwrap().write_at(b"B", 0).unwrap();
    assert_eq!(read(fs, &a), b"B");
    assert_kind(fs.hard_link(&a, &b), ErrorKind::AlreadyExists);
    fs.remove(&a).unwrap();
    assert_eq!(read(fs, &b), b"B");
}

fn directories(fs: &dyn Fs, dir: &Path) {
    let deep = dir.join("a/b/c");
    fs.create_dir_all(&deep).unwrap();
    fs.create_dir_all(&deep).unwrap();
    assert!(fs.exists(&dir.join("a/b")).unwrap());
    assert_kind(fs.remove_dir(&dir.join("a/b")), ErrorKind::DirectoryNotEmpty);
    fs.remove_dir(&deep).unwrap();
    fs.remove_dir(&dir.join("a/b")).unwrap();
    assert!(!fs.exists(&deep).unwrap());
}

fn list(fs: &dyn Fs, dir: &Path) {
    assert_eq!(fs.list(dir).unwrap(), []);
    for name in ["b", "a", "10", "9"] {
        write(fs, &dir.join(name), name.as_bytes());
    }
    fs.create_dir_all(&dir.join("aa")).unwrap();
    let found: Vec<_> = fs.list(dir).unwrap().into_iter().map(|e| (e.name, e.len, e.is_dir)).collect();
    let wanted = [("10", 2, false), ("9", 1, false), ("a", 1, false), ("aa", 0, true), ("b", 1, false)];
    assert_eq!(found, wanted.map(|(name, len, is_dir)| (name.to_owned(), len, is_dir)));
}

fn dotted_paths(fs: &dyn Fs, dir: &Path) {
    fs.create_dir_all(&dir.join("sub")).unwrap();
    write(fs, &dir.join("./sub/../f"), b"x");
    assert_eq!(read(fs, &dir.join("f")), b"x");
    assert_eq!(fs.list(&dir.join("sub/..")).unwrap().len(), 2);
}

fn lock(fs: &dyn Fs, dir: &Path) {
    let path = dir.join("LOCK");
    let held = fs.try_lock(&path).unwrap();
    assert!(held.is_some());
    assert!(fs.exists(&path).unwrap());
    assert!(fs.try_lock(&path).unwrap().is_none());
    assert!(fs.try_lock(&dir.join("OTHER")).unwrap().is_some());
    drop(held);
    assert!(fs.try_lock(&path).unwrap().is_some());
    write(fs, &dir.join("f"), b"kept");
    assert!(fs.try_lock(&dir.join("f")).unwrap().is_some());
    assert_eq!(read(fs, &dir.join("f")), b"kept");
}

fn lock_to_read(fs: &dyn Fs, dir: &Path) {
    let path = dir.join("LOCK");
    assert!(fs.try_lock_to_read(&path).is_err());
    assert!(!fs.exists(&path).unwrap(), "a lock for reading creates no file");
    write(fs, &path, b"");
    let held = fs.try_lock_to_read(&path).unwrap();
    assert!(held.is_some());
    assert!(fs.try_lock(&path).unwrap().is_none());
    let second = fs.try_lock_to_read(&path).unwrap();
    assert!(second.is_some(), "readers share the lock");
    drop(held);
    assert!(fs.try_lock(&path).unwrap().is_none());
    drop(second);
    let writer = fs.try_lock(&path).unwrap();
    assert!(writer.is_some() && fs.try_lock_to_read(&path).unwrap().is_none());
    drop(writer);
    assert!(fs.try_lock(&path).unwrap().is_some());
}

fn space(fs: &dyn Fs, dir: &Path) {
    assert!(fs.available_bytes(dir).unwrap() > 1 << 20);
    write(fs, &dir.join("f"), b"x");
    assert!(fs.available_bytes(&dir.join("f")).unwrap() > 1 << 20);
}

fn syncs(fs: &dyn Fs, dir: &Path) {
    let path = dir.join("f");
    let file = fs.open(&path, OpenMode::CreateNew).unwrap();
    file.sync().unwrap();
    file.write_at(b"abc", 0).unwrap();
    file.sync().unwrap();
    file.sync().unwrap();
    fs.open(&path, OpenMode::Read).unwrap().sync().unwrap();
    fs.sync_dir(dir).unwrap();
    fs.sync_dir(dir).unwrap();
    assert_eq!(read(fs, &path), b"abc");
}

fn too_long(fs: &dyn Fs, dir: &Path) {
    let path = dir.join("f");
    write(fs, &path, b"abc");
    let file = fs.open(&path, OpenMode::ReadWrite).unwrap();
    assert!(file.set_len(u64::MAX).is_err());
    assert!(file.allocate(u64::MAX).is_err());
    assert!(file.write_at(b"x", u64::MAX - 3).is_err());
    assert_eq!(read(fs, &path), b"abc");
}
