//! A key whose versions continue over blocks and partitions: every version is found, with one
//! partition and one data block read.

use crate::common::{Fixture, Owned, get};
use alluvium_codec::entry::{EntryIter, Kind, MAX_SEQ};
use alluvium_env::Env;
use alluvium_env::fault::{FaultFs, OpKind};
use alluvium_sst::{NoCache, WriterOptions};
use std::sync::Arc;

#[test]
fn every_version_is_found_at_once() {
    // Versions have even numbers, so that there is a number between any two versions.
    let mut entries = vec![Owned::put("tree a", 5, "before")];
    entries.extend((1..=2000u64).rev().map(|n| Owned::put("tree hot", 2 * n, format!("version {n}"))));
    entries.push(Owned::put("tree hot!", 7, "behind"));
    let options = WriterOptions { block_bytes: 512, index_partition_blocks: 4, ..WriterOptions::default() };
    let mut fixture = Fixture::new(&entries, options);
    let faults = Arc::new(FaultFs::new(fixture.env.fs.clone()));
    fixture.env = Env { fs: faults.clone(), ..fixture.env };
    let reader = fixture.open_with(Arc::new(NoCache)).unwrap();
    let check = reader.verify().unwrap();
    assert!(check.partitions > 5 && check.keys == 3, "{check:?}");
    let hash = alluvium_codec::hash64(b"tree hot");
    assert!(reader.may_contain(b"tree hot", hash).unwrap());
    let mut iter = reader.iter(true);
    for seq in 1..=4010u64 {
        let newest = (seq / 2).min(2000);
        let before = faults.count(OpKind::Read);
        let found = get(&reader, b"tree hot", seq).unwrap();
        assert!(faults.count(OpKind::Read) - before <= 2, "{seq}");
        let expected = (newest > 0).then(|| (2 * newest, Kind::Put, format!("version {newest}").into_bytes()));
        assert_eq!(found, expected, "at {seq}");
        iter.seek(b"tree hot", seq).unwrap();
        assert_eq!(
            (iter.key(), iter.seq()),
            if newest > 0 { (&b"tree hot"[..], 2 * newest) } else { (&b"tree hot!"[..], 7) }
        );
    }
    assert_eq!(get(&reader, b"tree hot", 0).unwrap(), None);
    assert_eq!(get(&reader, b"tree hot", MAX_SEQ).unwrap().unwrap().0, 4000);
    iter.seek_before(b"tree hot").unwrap();
    assert_eq!(iter.key(), b"tree a");
    iter.seek_before(b"tree hot!").unwrap();
    assert_eq!((iter.key(), iter.seq()), (&b"tree hot"[..], 2));
}
