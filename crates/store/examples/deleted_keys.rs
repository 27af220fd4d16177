//! What a scan over a million deleted keys costs: deleted as a range or one by one, before and
//! after the files were settled. Prints blocks looked at, blocks read, and times.
//!
//! `cargo run --release -p alluvium-store --example deleted_keys -- DIR [KEYS] [VALUE BYTES]`
#![allow(clippy::print_stdout, clippy::disallowed_methods)]

use alluvium_store::{Bounds, Durability, Options, Store, TreeId};
use std::path::{Path, PathBuf};
use std::time::Instant;

const BATCH: u32 = 1000;
/// Keys that stay at both ends.
const KEPT: u32 = 10;

fn key(n: u32) -> [u8; 12] {
    let mut key = *b"key-........";
    key[4..].copy_from_slice(format!("{n:08}").as_bytes());
    key
}

/// Values that do not compress to nothing.
fn value(n: u32, bytes: usize) -> Vec<u8> {
    let mut state = u64::from(n) | 1 << 40;
    let next = |_| {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        b"abcdefghijklmnop"[(state >> 60) as usize]
    };
    (0..bytes).map(next).collect()
}

fn scan(store: &Store, tree: TreeId, reverse: bool) -> (u64, f64) {
    let start = Instant::now();
    let mut found = 0;
    let mut scan = store.scan(tree, Bounds { reverse, ..Bounds::all() }, None).unwrap();
    while scan.next().unwrap().is_some() {
        found += 1;
    }
    (found, start.elapsed().as_secs_f64())
}

fn report(what: &str, store: &Store, tree: TreeId) {
    for (direction, reverse) in [("forward", false), ("back", true)] {
        let before = store.stats();
        let (found, seconds) = scan(store, tree, reverse);
        let after = store.stats();
        let read = after.cache_misses - before.cache_misses;
        let looked_at = read + after.cache_hits - before.cache_hits;
        let sum = |part: fn(&alluvium_store::PartitionStats) -> u64| after.partitions.iter().map(part).sum::<u64>();
        println!(
            "{what:22} {direction:8} {found:8} keys, {looked_at:7} blocks, {read:7} read, {:10.3} ms; {} files, {} entries, {} tombstones, {} ranges",
            seconds * 1e3,
            sum(|p| p.files as u64),
            sum(|p| p.entries),
            sum(|p| p.tombstones),
            sum(|p| p.ranges),
        );
    }
}

fn run(dir: &Path, keys: u32, value_bytes: usize, by_range: bool) {
    let options = Options { memory_bytes: 64 << 20, durability: Durability::Bulk, ..Options::default() };
    let store = Store::open(alluvium_env::Env::os(), dir, options).unwrap();
    let tree = store.create_trees(&[b"t"]).unwrap()[0];
    for from in (0..keys).step_by(BATCH as usize) {
        let mut batch = store.batch();
        (from..(from + BATCH).min(keys)).for_each(|n| batch.put(tree, &key(n), &value(n, value_bytes)));
        store.write(batch, Durability::Bulk).unwrap();
    }
    store.wait_for_compaction().unwrap();
    report("loaded", &store, tree);
    let started = Instant::now();
    if by_range {
        store.delete_range(tree, &key(KEPT), &key(keys - KEPT), Durability::Sync).unwrap();
    } else {
        for from in (KEPT..keys - KEPT).step_by(BATCH as usize) {
            let mut batch = store.batch();
            (from..(from + BATCH).min(keys - KEPT)).for_each(|n| batch.delete(tree, &key(n)));
            store.write(batch, Durability::Bulk).unwrap();
        }
        store.sync().unwrap();
    }
    println!("deleted in {:.3} ms", started.elapsed().as_secs_f64() * 1e3);
    report("deleted", &store, tree);
    store.flush().unwrap();
    report("flushed", &store, tree);
    let started = Instant::now();
    store.wait_for_compaction().unwrap();
    println!("settled in {:.3} ms", started.elapsed().as_secs_f64() * 1e3);
    report("settled", &store, tree);
    let stats = store.stats();
    println!("{} bytes in files, {} compacted since open", stats.disk_bytes - stats.log_bytes, stats.compacted_bytes);
    store.close().unwrap();
}

fn main() {
    let mut arguments = std::env::args().skip(1);
    let dir = PathBuf::from(arguments.next().expect("a directory that does not exist yet"));
    let keys = arguments.next().map_or(1_000_000, |text| text.parse().expect("a number of keys"));
    let value_bytes = arguments.next().map_or(100, |text| text.parse().expect("a number of bytes"));
    for (name, by_range) in [("range", true), ("point", false)] {
        println!("{keys} keys with values of {value_bytes} bytes, deleted by {name}:");
        run(&dir.join(name), keys, value_bytes, by_range);
    }
}
