#![cfg(not(feature = "shuttle"))]

use super::*;

/// The replacement for `fallocate` on file systems without it.
#[test]
fn written_zeros_extend_and_keep_what_is_there() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("f");
    let file = OpenOptions::new().read(true).write(true).create_new(true).open(&path).unwrap();
    let file = OsFile { file, path };
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
