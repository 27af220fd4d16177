#![cfg(not(feature = "shuttle"))]

use super::*;
use crate::mem::CrashStyle;
use std::io::ErrorKind;

fn over_memory() -> (Arc<MemFs>, FaultFs) {
    let mem = Arc::new(MemFs::new());
    (Arc::clone(&mem), FaultFs::over(mem))
}

fn create(fs: &dyn Fs, path: &str) -> Arc<dyn File> {
    fs.open(Path::new(path), OpenMode::CreateNew).unwrap()
}

fn read(fs: &dyn Fs, path: &str) -> Vec<u8> {
    let file = fs.open(Path::new(path), OpenMode::Read).unwrap();
    let mut bytes = vec![0; file.len().unwrap() as usize];
    file.read_exact_at(&mut bytes, 0).unwrap();
    bytes
}

fn kind_of(error: &Error) -> ErrorKind {
    match error {
        Error::Io { source, .. } => source.kind(),
        other => panic!("{other}"),
    }
}

/// Does one operation of each kind, in the order of `OpKind::ALL`, and returns the failed ones.
fn one_of_each(fs: &dyn Fs) -> Vec<bool> {
    let path = Path::new;
    let first = create(fs, "seen");
    create(fs, "removed");
    let opened = fs.open(path("seen"), OpenMode::ReadWrite);
    let open_failed = opened.is_err();
    let file = opened.unwrap_or(first);
    let lock_failed = fs.try_lock_to_read(path("seen")).is_err();
    vec![
        open_failed,
        fs.open(path("new"), OpenMode::CreateNew).is_err(),
        file.read_at(&mut [0], 0).is_err(),
        file.write_at(b"x", 0).is_err(),
        file.allocate(10).is_err(),
        file.set_len(5).is_err(),
        file.sync().is_err(),
        file.len().is_err(),
        fs.rename(path("seen"), path("renamed")).is_err(),
        fs.remove(path("removed")).is_err(),
        fs.create_dir_all(path("dir")).is_err(),
        fs.remove_dir(path("dir")).is_err(),
        fs.list(path("/")).is_err(),
        fs.exists(path("seen")).is_err(),
        fs.sync_dir(path("/")).is_err(),
        fs.hard_link(path("renamed"), path("linked")).is_err(),
        fs.try_lock(path("LOCK")).is_err(),
        lock_failed,
        fs.available_bytes(path("/")).is_err(),
    ]
}

#[test]
fn operations_are_counted_by_kind() {
    let (_, fs) = over_memory();
    assert!(one_of_each(&fs).iter().all(|failed| !failed));
    for kind in OpKind::ALL {
        let wanted = if kind == OpKind::Create { 3 } else { 1 };
        assert_eq!(fs.count(kind), wanted, "{kind:?}");
    }
    assert_eq!(fs.total(), OpKind::ALL.len() as u64 + 2);
    assert_eq!(fs.fired(), 0);
    assert!(OpKind::ALL.iter().enumerate().all(|(index, kind)| *kind as usize == index));
}

#[test]
fn each_kind_fails_alone() {
    for (index, kind) in OpKind::ALL.into_iter().enumerate() {
        let (_, fs) = over_memory();
        // The helper creates two files first.
        let nth = if kind == OpKind::Create { 3 } else { 1 };
        fs.inject(Fault::nth(nth).of(kind));
        let mut failed = one_of_each(&fs);
        assert!(failed[index], "{kind:?}");
        assert_eq!((fs.fired(), fs.struck()), (1, vec![kind]));
        failed[index] = false;
        // If the rename fails, the file to link is missing; if the directory is not created, it
        // cannot be removed.
        match kind {
            OpKind::Rename => failed[OpKind::HardLink as usize] = false,
            OpKind::CreateDir => failed[OpKind::RemoveDir as usize] = false,
            _ => {}
        }
        assert!(failed.iter().all(|failed| !failed), "{kind:?}: {failed:?}");
    }
}

#[test]
fn the_hook_runs_before_each_change_and_only_there() {
    let (mem, fs) = over_memory();
    let seen = Arc::new(Mutex::new(Vec::new()));
    let (log, disk) = (Arc::clone(&seen), Arc::clone(&mem));
    fs.set_hook(Some(Arc::new(move |op: &Op<'_>| {
        let clone = disk.crash_clone(0, CrashStyle::AllKept);
        let names: Vec<String> = clone.list(Path::new("/")).unwrap().into_iter().map(|e| e.name).collect();
        log.lock().push((op.kind, op.path.to_owned(), names.join(" ")));
    })));
    let path = Path::new;
    let file = create(&fs, "f");
    file.read_at(&mut [0], 0).unwrap();
    file.write_at(b"1", 0).unwrap();
    file.sync().unwrap();
    fs.rename(path("f"), path("g")).unwrap();
    fs.remove(path("g")).unwrap();
    fs.sync_dir(path("/")).unwrap();
    fs.exists(path("g")).unwrap();
    fs.set_hook(None);
    create(&fs, "unseen");
    let seen: Vec<_> = seen.lock().iter().map(|(kind, path, names)| (*kind, path.clone(), names.clone())).collect();
    let wanted = [
        (OpKind::Create, "f", ""),
        (OpKind::Write, "f", "f"),
        (OpKind::Sync, "f", "f"),
        (OpKind::Rename, "f", "f"),
        (OpKind::Remove, "g", "g"),
        (OpKind::SyncDir, "/", ""),
    ];
    assert_eq!(seen, wanted.map(|(kind, path, names)| (kind, path.into(), names.to_owned())));
}

#[test]
fn the_hook_can_make_its_own_operation_fail() {
    let (mem, fs) = over_memory();
    let fs = Arc::new(fs);
    let weak = Arc::downgrade(&fs);
    fs.set_hook(Some(Arc::new(move |op: &Op<'_>| {
        if op.number == 2 {
            weak.upgrade().unwrap().inject(Fault::nth(1));
        }
    })));
    let file = create(&*fs, "f");
    assert!(file.write_at(b"1", 0).is_err());
    file.write_at(b"2", 0).unwrap();
    assert_eq!(read(&*mem, "f"), b"2");
}

#[test]
fn only_the_nth_operation_fails_and_only_once() {
    let (_, fs) = over_memory();
    let file = create(&fs, "f");
    fs.inject(Fault::nth(3).of(OpKind::Write));
    let failed: Vec<bool> = (0..6).map(|at| file.write_at(b"1", at).is_err()).collect();
    assert_eq!(failed, [false, false, true, false, false, false]);
    assert_eq!(fs.fired(), 1);
}

#[test]
fn a_lasting_fault_fails_until_it_is_cleared() {
    let (_, fs) = over_memory();
    let file = create(&fs, "f");
    fs.inject(Fault::nth(2).of(OpKind::Write).from_then_on().no_space());
    let failed: Vec<bool> = (0..4).map(|at| file.write_at(b"1", at).is_err()).collect();
    assert_eq!(failed, [false, true, true, true]);
    assert!(file.write_at(b"1", 0).unwrap_err().is_no_space());
    file.sync().unwrap();
    fs.clear();
    file.write_at(b"1", 0).unwrap();
    assert_eq!(fs.fired(), 4);
}

#[test]
fn a_fault_can_be_bound_to_a_path_or_to_changes() {
    let (_, fs) = over_memory();
    let (a, b) = (create(&fs, "a.wal"), create(&fs, "b.sst"));
    fs.inject(Fault::nth(1).on(".sst"));
    a.write_at(b"1", 0).unwrap();
    assert!(b.write_at(b"1", 0).is_err());
    fs.inject(Fault::nth(2).of_changes());
    a.sync().unwrap();
    a.len().unwrap();
    a.read_at(&mut [0], 0).unwrap();
    assert!(a.sync().is_err());
}

#[test]
fn the_error_is_the_one_asked_for_and_names_the_path() {
    let (_, fs) = over_memory();
    let file = create(&fs, "f");
    fs.inject(Fault::nth(1));
    let error = file.sync().unwrap_err();
    assert_eq!(error.to_string(), "cannot sync f: Input/output error (os error 5)");
    fs.inject(Fault::nth(1).os_error(28));
    assert!(file.sync().unwrap_err().is_no_space());
    fs.inject(Fault::nth(1).os_error(13));
    assert_eq!(kind_of(&file.sync().unwrap_err()), ErrorKind::PermissionDenied);
}

#[test]
fn a_short_write_leaves_its_prefix() {
    let (mem, fs) = over_memory();
    let file = create(&fs, "f");
    fs.inject(Fault::nth(1).of(OpKind::Write).short(3).no_space());
    assert!(file.write_at(b"hello", 0).unwrap_err().is_no_space());
    assert_eq!(read(&*mem, "f"), b"hel");
    fs.inject(Fault::nth(1).of(OpKind::Write).short(100));
    assert!(file.write_at(b"abc", 1).is_err());
    assert_eq!(read(&*mem, "f"), b"habc");
}

#[test]
fn a_plain_failure_does_nothing_and_another_does_all() {
    let (mem, fs) = over_memory();
    let file = create(&fs, "f");
    fs.inject(Fault::nth(1).of(OpKind::Write));
    assert!(file.write_at(b"lost", 0).is_err());
    assert_eq!(read(&*mem, "f"), b"");
    fs.inject(Fault::nth(1).of(OpKind::Write).though_done());
    assert!(file.write_at(b"done", 0).is_err());
    assert_eq!(read(&*mem, "f"), b"done");
    let (f, g) = (Path::new("f"), Path::new("g"));
    fs.inject(Fault::nth(1).of(OpKind::Rename));
    assert!(fs.rename(f, g).is_err());
    assert!(mem.exists(f).unwrap());
    fs.inject(Fault::nth(1).of(OpKind::Rename).though_done());
    assert!(fs.rename(f, g).is_err());
    assert!(mem.exists(g).unwrap());
}

#[test]
fn a_failed_sync_leaves_the_bytes_unsynced_done_or_forgotten() {
    type Case = (fn(Fault) -> Fault, [&'static [u8]; 2]);
    // The content after a crash that loses all unsynced changes: right after the failed sync, and
    // after a second sync.
    let cases: [Case; 3] = [
        (|fault| fault, [b"old", b"new"]),
        (Fault::though_done, [b"new", b"new"]),
        (Fault::losing_pages, [b"old", b"old"]),
    ];
    for (make, wanted) in cases {
        let (mem, fs) = over_memory();
        let file = create(&fs, "f");
        file.write_at(b"old", 0).unwrap();
        file.sync().unwrap();
        fs.sync_dir(Path::new("/")).unwrap();
        file.write_at(b"new", 0).unwrap();
        fs.inject(make(Fault::nth(1).of(OpKind::Sync)));
        assert!(file.sync().is_err());
        let crashed = || read(&mem.crash_clone(0, CrashStyle::AllLost), "f");
        let first = crashed();
        file.sync().unwrap();
        assert_eq!([first, crashed()], wanted.map(<[u8]>::to_vec));
        assert_eq!(read(&fs, "f"), b"new");
    }
}

#[test]
fn a_failed_sync_of_a_directory_leaves_its_entries_unsynced_done_or_forgotten() {
    type Case = (fn(Fault) -> Fault, [bool; 2]);
    // Whether the name exists after a crash that loses all unsynced changes: right after the failed
    // sync, and after a second sync.
    let cases: [Case; 3] =
        [(|fault| fault, [false, true]), (Fault::though_done, [true, true]), (Fault::losing_pages, [false, false])];
    for (make, wanted) in cases {
        let (mem, fs) = over_memory();
        create(&fs, "f");
        fs.inject(make(Fault::nth(1).of(OpKind::SyncDir)));
        assert!(fs.sync_dir(Path::new("/")).is_err());
        let crashed = || mem.crash_clone(0, CrashStyle::AllLost).exists(Path::new("f")).unwrap();
        let first = crashed();
        fs.sync_dir(Path::new("/")).unwrap();
        assert_eq!([first, crashed()], wanted);
        assert!(fs.exists(Path::new("f")).unwrap());
    }
}

#[test]
fn faults_count_side_by_side_and_the_first_decides() {
    let (_, fs) = over_memory();
    let file = create(&fs, "f");
    fs.inject(Fault::nth(2).no_space());
    fs.inject(Fault::nth(2));
    fs.inject(Fault::nth(3));
    file.write_at(b"1", 0).unwrap();
    assert!(file.write_at(b"1", 0).unwrap_err().is_no_space());
    assert!(file.write_at(b"1", 0).is_err());
    file.write_at(b"1", 0).unwrap();
    assert_eq!(fs.fired(), 2);
}

#[test]
fn a_handle_outlives_the_rename_of_its_file() {
    let (mem, fs) = over_memory();
    let file = create(&fs, "tmp");
    fs.rename(Path::new("tmp"), Path::new("f")).unwrap();
    fs.sync_dir(Path::new("/")).unwrap();
    file.write_at(b"x", 0).unwrap();
    fs.inject(Fault::nth(1).of(OpKind::Sync).losing_pages());
    assert!(file.sync().is_err());
    assert_eq!(read(&*mem, "f"), b"x");
    assert_eq!(read(&mem.crash_clone(0, CrashStyle::AllKept), "f"), b"");
}
