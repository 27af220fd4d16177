#![cfg(not(feature = "shuttle"))]

use super::BoundedFs;
use crate::fault::{FaultFs, OpKind};
use crate::mem::MemFs;
use crate::{File, Fs, OpenMode};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A bounded file system that keeps three files open, over a file system that counts operations.
/// Each file contains its own number.
fn files(count: usize) -> (Arc<FaultFs>, BoundedFs, Vec<Arc<dyn File>>) {
    let below = Arc::new(FaultFs::over(Arc::new(MemFs::new())));
    let path = |n: usize| PathBuf::from(format!("{n}"));
    for n in 0..count {
        let file = below.open(&path(n), OpenMode::CreateNew).unwrap();
        file.write_at(&[n as u8; 8], 0).unwrap();
    }
    let bounded = BoundedFs::new(below.clone(), 3);
    let files = (0..count).map(|n| bounded.open(&path(n), OpenMode::Read).unwrap()).collect();
    (below, bounded, files)
}

fn read(file: &Arc<dyn File>) -> u8 {
    let mut buf = [0; 8];
    file.read_exact_at(&mut buf, 0).unwrap();
    buf[0]
}

/// The number of files of the ring that are open.
fn open_now(fs: &BoundedFs) -> usize {
    let files = fs.ring.files.lock();
    files.iter().filter_map(std::sync::Weak::upgrade).filter(|file| file.open.read().is_some()).count()
}

#[test]
fn every_file_is_read_and_few_are_open() {
    let (_below, fs, files) = files(20);
    for round in 0..3 {
        for (n, file) in files.iter().enumerate() {
            assert_eq!(read(file), n as u8, "round {round}");
            assert!(open_now(&fs) <= 3);
        }
    }
    assert_eq!(files[4].path(), Path::new("4"));
}

#[test]
fn what_is_read_often_stays_open() {
    let (below, _fs, files) = files(10);
    read(&files[0]);
    let before = below.count(OpKind::Open);
    for n in 1..10 {
        read(&files[n]);
        read(&files[0]);
    }
    let opened = below.count(OpKind::Open) - before;
    assert!(opened <= 11, "nine others, and the first one hardly ever again: {opened}");
}

#[test]
fn closed_files_make_room() {
    let (below, fs, mut files) = files(3);
    files.truncate(1);
    let path = Path::new("1");
    let other = fs.open(path, OpenMode::Read).unwrap();
    let before = below.count(OpKind::Open);
    assert_eq!((read(&files[0]), read(&other)), (0, 1));
    assert_eq!(below.count(OpKind::Open), before, "both are open still");
}
