#![cfg(not(feature = "shuttle"))]

use super::file::ZEROS_LEN;
use super::*;

/// Tests the replacement for `fallocate` on file systems that do not support it.
#[test]
fn written_zeros_extend_and_keep_what_is_there() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("f");
    let file = OsFile::open(&Place::new(&path), OpenMode::CreateNew).unwrap();
    file.write_at(b"kept", 0).unwrap();
    file.write_zeros(ZEROS_LEN as u64 * 2 + 7).unwrap();
    let mut bytes = vec![1; ZEROS_LEN * 2 + 7];
    file.read_exact_at(&mut bytes, 0).unwrap();
    assert_eq!(&bytes[..4], b"kept");
    assert!(bytes[4..].iter().all(|byte| *byte == 0));
    file.write_zeros(3).unwrap();
    assert_eq!(file.len().unwrap(), ZEROS_LEN as u64 * 2 + 7);
}

#[test]
fn reserved_space_is_taken_from_the_disk() {
    use std::os::unix::fs::MetadataExt;
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("f");
    let file = OsFs::new().open(&path, OpenMode::CreateNew).unwrap();
    file.allocate(1 << 20).unwrap();
    assert!(fs::metadata(&path).unwrap().blocks() * 512 >= 1 << 20);
}

#[test]
fn what_is_no_file_is_named_and_waits_for_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let path = |name: &str| dir.path().join(name);
    let _socket = std::os::unix::net::UnixListener::bind(path("socket")).unwrap();
    let mode = Mode::from_raw_mode(0o600);
    rustix::fs::mknodat(rustix::fs::CWD, path("pipe"), FileType::Fifo, mode, 0).unwrap();
    std::os::unix::fs::symlink("/dev/zero", path("device")).unwrap();
    let held = OsFs::new().hold_dir(dir.path()).unwrap();
    for (name, what) in [("pipe", "a named pipe"), ("socket", "a socket"), ("device", "a device")] {
        let refused = [
            held.open(&path(name), OpenMode::Read).err(),
            held.open(&path(name), OpenMode::ReadWrite).err(),
            held.open_direct(&path(name), OpenMode::Read).err(),
            held.try_lock(&path(name)).err(),
            held.try_lock_to_read(&path(name)).err(),
        ];
        for error in refused {
            let error = error.unwrap();
            assert!(
                matches!(&error, Error::NotAFile { path: named, what: found } if (named, *found) == (&path(name), what)),
                "{error}"
            );
        }
        assert!(held.sync_dir(&path(name)).unwrap_err().is_not_a_directory());
    }
    assert!(matches!(OsFs::new().open(&path("pipe"), OpenMode::Read), Err(Error::NotAFile { .. })));
    // Devices are allowed, because settings and inputs may be read from a device.
    OsFs::new().open(Path::new("/dev/null"), OpenMode::Read).unwrap();
}

#[test]
fn what_is_made_belongs_to_its_owner_or_to_whom_its_directory_does() {
    use std::os::unix::fs::PermissionsExt;
    let dir = tempfile::tempdir().unwrap();
    let db = dir.path().join("above/db");
    let permissions = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    let made = |name: &str| {
        let held = OsFs::new().hold_dir(&db).unwrap();
        held.open(&db.join(name), OpenMode::CreateNew).unwrap();
        held.create_dir_all(&db.join(format!("{name}-dir"))).unwrap();
        let _lock = held.try_lock(&db.join(format!("{name}-lock"))).unwrap().unwrap();
        ["", "-dir", "-lock"].map(|end| permissions(&db.join(format!("{name}{end}"))))
    };
    OsFs::new().create_dir_all(&db).unwrap();
    assert_eq!([permissions(&dir.path().join("above")), permissions(&db)], [0o700; 2]);
    assert_eq!(made("private"), [0o600, 0o700, 0o600]);
    std::fs::set_permissions(&db, std::fs::Permissions::from_mode(0o750)).unwrap();
    assert_eq!(made("of-the-group"), [0o640, 0o750, 0o640]);
}
