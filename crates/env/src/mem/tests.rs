#![cfg(not(feature = "shuttle"))]

use super::*;

const MIB: u64 = 1 << 20;

fn create(fs: &MemFs, path: &str) -> Arc<dyn File> {
    fs.open(Path::new(path), OpenMode::CreateNew).unwrap()
}

#[test]
fn a_full_disk_refuses_and_keeps_the_part_that_fitted() {
    let fs = MemFs::with_capacity(2 * 4096);
    let file = create(&fs, "f");
    let error = file.write_at(&[1; 10_000], 0).unwrap_err();
    assert!(error.is_no_space(), "{error}");
    assert_eq!(file.len().unwrap(), 2 * 4096);
    assert_eq!(fs.available_bytes(Path::new("f")).unwrap(), 0);
    file.write_at(&[2; 8192], 0).unwrap();
    assert!(file.write_at(&[3; 1], 8192).unwrap_err().is_no_space());
    assert_eq!(file.len().unwrap(), 2 * 4096);
    assert!(file.write_at(&[3; 5000], 4096).unwrap_err().is_no_space());
    let mut byte = [0];
    file.read_exact_at(&mut byte, 8191).unwrap();
    assert_eq!(byte, [3]);
}

#[test]
fn the_capacity_can_change_while_running() {
    let fs = MemFs::with_capacity(4096);
    let file = create(&fs, "f");
    file.write_at(&[1; 4096], 0).unwrap();
    assert!(file.write_at(&[1], 4096).unwrap_err().is_no_space());
    fs.set_capacity(8192);
    file.write_at(&[1], 4096).unwrap();
    fs.set_capacity(0);
    assert_eq!(fs.available_bytes(Path::new("/")).unwrap(), 0);
    file.write_at(&[2; 8192], 0).unwrap();
    assert_eq!(fs.used_bytes(), 8192);
}

#[test]
fn allocation_takes_space_at_once_or_not_at_all() {
    let fs = MemFs::with_capacity(MIB);
    let file = create(&fs, "wal");
    assert!(file.allocate(MIB + 1).unwrap_err().is_no_space());
    assert_eq!((file.len().unwrap(), fs.used_bytes()), (0, 0));
    file.write_at(&[1; 5000], 100_000).unwrap();
    file.allocate(MIB).unwrap();
    assert_eq!(fs.used_bytes(), MIB);
    assert!(create(&fs, "other").write_at(&[1], 0).unwrap_err().is_no_space());
    file.write_at(&vec![1; MIB as usize], 0).unwrap();
    assert_eq!(fs.used_bytes(), MIB);
    file.set_len(MIB / 2).unwrap();
    assert_eq!(fs.used_bytes(), MIB / 2);
    file.set_len(MIB).unwrap();
    assert_eq!(fs.used_bytes(), MIB / 2, "a hole takes nothing");
}

#[test]
fn space_comes_back_with_the_last_name_and_handle() {
    let fs = MemFs::new();
    let file = create(&fs, "a");
    file.write_at(&[1; 4096], 0).unwrap();
    fs.hard_link(Path::new("a"), Path::new("b")).unwrap();
    fs.remove(Path::new("a")).unwrap();
    assert_eq!(fs.used_bytes(), 4096);
    fs.remove(Path::new("b")).unwrap();
    assert_eq!(fs.used_bytes(), 4096);
    drop(file);
    assert_eq!(fs.used_bytes(), 0);
    create(&fs, "old").write_at(&[1; 9000], 0).unwrap();
    create(&fs, "new").write_at(&[1; 10], 0).unwrap();
    fs.rename(Path::new("new"), Path::new("old")).unwrap();
    assert_eq!(fs.used_bytes(), 4096);
    fs.remove(Path::new("old")).unwrap();
    assert_eq!(fs.used_bytes(), 0);
}

#[test]
fn a_refused_creation_or_lock_takes_nothing() {
    let fs = MemFs::new();
    let file = create(&fs, "f");
    file.write_at(&[1; 4096], 0).unwrap();
    assert!(fs.open(Path::new("f"), OpenMode::CreateNew).is_err());
    let lock = fs.try_lock(Path::new("f")).unwrap();
    assert!(fs.try_lock(Path::new("f")).unwrap().is_none());
    drop(file);
    fs.remove(Path::new("f")).unwrap();
    assert_eq!(fs.used_bytes(), 4096, "the lock holds the file");
    drop(lock);
    assert_eq!(fs.used_bytes(), 0);
}

#[test]
fn threads_write_beside_each_other() {
    let fs = Arc::new(MemFs::new());
    let file = create(&fs, "shared");
    let threads: Vec<_> = (0..4_u8)
        .map(|id| {
            let (fs, file) = (Arc::clone(&fs), Arc::clone(&file));
            crate::thread::spawn("writer", move || {
                let own = create(&fs, &format!("own{id}"));
                for round in 0..200_u64 {
                    let at = (round * 4 + u64::from(id)) * 100;
                    file.write_at(&[id + 1; 100], at).unwrap();
                    own.write_at(&[id; 100], round * 100).unwrap();
                    own.sync().unwrap();
                    fs.sync_dir(Path::new("/")).unwrap();
                    let clone = fs.crash_clone(round, CrashStyle::Any);
                    let kept = clone.open(Path::new(&format!("own{id}")), OpenMode::Read).unwrap();
                    assert_eq!(kept.len().unwrap(), (round + 1) * 100);
                }
            })
        })
        .collect();
    for thread in threads {
        thread.join().unwrap();
    }
    let mut bytes = vec![0; 80_000];
    file.read_exact_at(&mut bytes, 0).unwrap();
    assert!(bytes.chunks(100).zip((1..=4).cycle()).all(|(chunk, id)| chunk == [id; 100]));
}
