#![cfg(not(feature = "shuttle"))]

use super::*;
use crate::fault::{Fault, FaultFs, OpKind};
use crate::mem::MemFs;
use crate::{Fs, OpenMode};
use std::path::Path;
use std::sync::Arc;

const LEN: usize = 300_000;

/// A file without the byte 0xff, on a disk that cannot read the ranges `bad`.
fn file(bad: &[std::ops::Range<u64>]) -> (FaultFs, Arc<dyn File>, Vec<u8>) {
    let fs = FaultFs::over(Arc::new(MemFs::new()));
    let file = fs.open(Path::new("f"), OpenMode::CreateNew).unwrap();
    let bytes: Vec<u8> = (0..LEN).map(|at| (at % 251) as u8).collect();
    file.write_at(&bytes, 0).unwrap();
    for range in bad {
        fs.inject(Fault::nth(1).of(OpKind::Read).touching(range.clone()).from_then_on());
    }
    (fs, file, bytes)
}

#[test]
fn all_but_what_cannot_be_read_is_read() {
    let (_fs, file, bytes) = file(&[5000..5001, 8192..12_289, 299_999..300_000]);
    let mut reader = AroundReader::new(&*file).unwrap();
    let mut found = vec![0; LEN + 10];
    assert_eq!(reader.read_at(&mut found, 0), LEN);
    let lost = [(4096, 12_288), (299_008, 992)];
    assert_eq!(reader.unreadable().iter().map(|part| (part.offset, part.bytes)).collect::<Vec<_>>(), lost);
    let is_lost = |at: usize| lost.iter().any(|(offset, bytes)| (*offset..offset + bytes).contains(&(at as u64)));
    for (at, byte) in bytes.iter().enumerate() {
        assert_eq!(found[at], if is_lost(at) { FILLER } else { *byte }, "offset {at}");
    }
    assert!(reader.why(4000, 96).is_none() && reader.why(16_384, 9).is_none());
    let why = reader.why(4000, 97).unwrap();
    assert!(why.starts_with("12288 bytes from offset 4096 on cannot be read: "), "{why}");
}

#[test]
fn what_failed_is_not_asked_for_again() {
    let (fs, file, bytes) = file(&[70_000..70_001, 70_005..70_006]);
    let mut reader = AroundReader::new(&*file).unwrap();
    let mut some = vec![0; 100];
    assert_eq!(reader.read_at(&mut some, 69_990), 100);
    assert_eq!(some, [FILLER; 100]);
    let fired = fs.fired();
    assert_eq!(reader.read_at(&mut some, 69_995), 100);
    assert_eq!(some, [FILLER; 100]);
    let mut all = vec![0; LEN];
    assert_eq!(reader.read_at(&mut all, 0), LEN);
    assert_eq!(fs.fired(), fired, "the disk was asked again");
    assert_eq!((&all[..69_632], &all[73_728..]), (&bytes[..69_632], &bytes[73_728..]));
    assert_eq!(reader.unreadable().len(), 1);
}

#[test]
fn a_whole_disk_is_read_at_once() {
    let (fs, file, bytes) = file(&[]);
    let mut reader = AroundReader::new(&*file).unwrap();
    let mut found = vec![0; LEN];
    let before = fs.count(OpKind::Read);
    assert_eq!(reader.read_at(&mut found, 0), LEN);
    assert_eq!((found, fs.count(OpKind::Read)), (bytes, before + 1));
    assert!(reader.unreadable().is_empty());
    assert_eq!(reader.read_at(&mut [0; 10], LEN as u64 + 5), 0);
}
