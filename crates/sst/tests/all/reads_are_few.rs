//! The number of reads: one for most opens, two for a cold get, and one for hundreds of KiB of a
//! scan. The check reads at most a few MiB at once. Also tests which blocks are cached.

use crate::common::{Fixture, KeepAll, Owned, all, get};
use alluvium_codec::entry::EntryIter;
use alluvium_env::Env;
use alluvium_env::fault::{FaultFs, OpKind};
use alluvium_sst::{Compression, WriterOptions};
use std::sync::Arc;

/// A file of some 3.6 MB, and the count of reads.
fn fixture() -> (Vec<Owned>, Fixture, Arc<FaultFs>) {
    let options = WriterOptions { compression: Compression::None, block_bytes: 2048, ..WriterOptions::default() };
    fixture_with(9000, options)
}

fn fixture_with(count: u32, options: WriterOptions) -> (Vec<Owned>, Fixture, Arc<FaultFs>) {
    let entries: Vec<_> =
        (0..count).map(|n| Owned::put(format!("tree{n:06}"), 9, [n.to_be_bytes(); 100].concat())).collect();
    let mut fixture = Fixture::new(&entries, options);
    let faults = Arc::new(FaultFs::new(fixture.env.fs.clone()));
    fixture.env = Env { fs: faults.clone(), ..fixture.env };
    (entries, fixture, faults)
}

#[test]
fn reads_of_opens_gets_and_scans() {
    let (entries, fixture, faults) = fixture();
    let reads = |f: &mut dyn FnMut()| {
        let before = faults.count(OpKind::Read);
        f();
        faults.count(OpKind::Read) - before
    };
    let cache = Arc::new(KeepAll::default());
    let mut reader = None;
    assert_eq!(reads(&mut || reader = Some(fixture.open_with(cache.clone()).unwrap())), 1);
    let reader = reader.unwrap();
    let get_one =
        |n: usize| reads(&mut || assert_eq!(get(&reader, &entries[n].key, 9).unwrap().unwrap().2, entries[n].value));
    assert_eq!(get_one(5000), 2);
    assert_eq!(get_one(5000), 0);
    assert_eq!(get_one(5001 + 9), 1, "another block of the same partition");
    let kept = cache.blocks.lock().len();
    assert_eq!(kept, 3);

    let megabytes = fixture.meta.bytes.div_ceil(1 << 20);
    let scan = reads(&mut || assert_eq!(all(&reader, false).unwrap(), entries));
    assert!(scan <= megabytes * 5, "{scan} reads for {megabytes} MB");
    assert_eq!(cache.blocks.lock().len(), kept, "a scan that must not fill the cache did");
    let scan = reads(&mut || assert_eq!(all(&reader, true).unwrap(), entries));
    assert!(scan <= megabytes * 5 + 30, "{scan} reads for {megabytes} MB");
    assert!(cache.blocks.lock().len() > 800);
    assert_eq!(reads(&mut || assert_eq!(all(&reader, true).unwrap(), entries)), 0);
    assert_eq!(reads(&mut || assert_eq!(all(&reader, false).unwrap(), entries)), 0, "what is cached is used");
}

#[test]
fn short_scans_read_no_more_than_they_need() {
    let (entries, fixture, faults) = fixture();
    let reader = fixture.open_with(Arc::new(KeepAll::default())).unwrap();
    let mut iter = reader.iter(true);
    let before = faults.count(OpKind::Read);
    iter.seek(&entries[4000].key, 9).unwrap();
    for entry in &entries[4000..4008] {
        assert_eq!(iter.key(), &entry.key[..]);
        iter.next().unwrap();
    }
    let reads = faults.count(OpKind::Read) - before;
    assert!(reads <= 3, "{reads} reads: a partition and two blocks at most");
}

#[test]
fn the_check_reads_a_few_mebibytes_at_once() {
    let reads_of_a_check = |partition: usize| {
        let options = WriterOptions {
            compression: Compression::None,
            block_bytes: 64 << 10,
            filter_bits_per_key: 0,
            index_partition_blocks: partition,
            index_partition_bytes: 1 << 20,
            ..WriterOptions::default()
        };
        let (_, fixture, faults) = fixture_with(12_000, options);
        let reader = fixture.open_with(Arc::new(KeepAll::default())).unwrap();
        let before = faults.count(OpKind::Read);
        let check = reader.verify().unwrap();
        (faults.count(OpKind::Read) - before, check)
    };
    let (few, check) = reads_of_a_check(10);
    assert!(few < check.data_blocks / 2, "{few} reads of {check:?}");
    // A region of more than 4 MiB is read block by block.
    let (many, check) = reads_of_a_check(1000);
    assert!(check.partitions == 1 && many > check.data_blocks, "{many} reads of {check:?}");
}
