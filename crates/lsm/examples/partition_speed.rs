//! Measures one partition on this machine: `cargo run --release -p alluvium-lsm --example
//! partition_speed [entries] [ordered|random|merge|all] [rounds] [MiB]`. Figures are CPU time of the process.
#![allow(clippy::disallowed_methods, clippy::disallowed_types)]

use alluvium_codec::entry::{Entry, EntryIter, Kind, Seq};
use alluvium_env::Env;
use alluvium_lsm::{
    Budget, DefinitionUse, DeltaFold, Liveness, LogBarrier, Options, Owner, Partition, Policies, Shared, TreeProperties,
};
use std::ops::Bound;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

struct Newest(AtomicU64);

impl Liveness for Newest {
    fn snapshots(&self) -> Vec<Seq> {
        vec![self.0.load(Ordering::Relaxed)]
    }
    fn tree_is_live(&self, _tree: u32, _now: Seq) -> bool {
        true
    }
}

impl LogBarrier for Newest {
    fn sync_past(&self, _max_seq: Seq) -> alluvium_env::Result<()> {
        Ok(())
    }
}

impl TreeProperties for Newest {}
impl DeltaFold for Newest {}
impl DefinitionUse for Newest {}

/// Rows of some 380 bytes that compress like comments: words by Zipf's law, some numbers.
struct Rows {
    words: Vec<String>,
}

impl Rows {
    fn new() -> Self {
        let mut rng = fastrand::Rng::with_seed(1);
        let word = |_| (0..rng.usize(2..9)).map(|_| rng.lowercase()).collect();
        Self { words: (0..5000).map(word).collect() }
    }

    fn row(&self, i: u64, out: &mut Vec<u8>) {
        let mut rng = fastrand::Rng::with_seed(i);
        out.clear();
        out.extend_from_slice(&i.to_le_bytes());
        for _ in 0..6 {
            out.extend_from_slice(&rng.u32(..100_000).to_le_bytes());
        }
        let len = rng.usize(220..480);
        while out.len() < len {
            let rank = (5000f64.powf(rng.f64()) - 1.0) as usize;
            out.extend_from_slice(self.words[rank].as_bytes());
            out.push(b' ');
        }
    }
}

fn cpu() -> Duration {
    let stat = std::fs::read_to_string("/proc/self/schedstat").unwrap();
    let own: u64 = stat.split_whitespace().next().unwrap().parse().unwrap();
    Duration::from_nanos(own)
}

fn timed<T>(what: &str, count: u64, act: impl FnOnce() -> T) -> T {
    let (from, wall) = (cpu(), Instant::now());
    let result = act();
    let took = cpu() - from;
    println!(
        "{what:44} {:8.3} us each, {:7.2} s wall",
        took.as_secs_f64() * 1e6 / count as f64,
        wall.elapsed().as_secs_f64()
    );
    result
}

fn key(i: u64) -> [u8; 13] {
    let mut key = [0; 13];
    key[3] = 1;
    key[4] = 4;
    key[5..].copy_from_slice(&i.to_be_bytes());
    key
}

fn scatter(i: u64) -> u64 {
    i.wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

struct Load {
    partition: Partition,
    policy: Arc<Newest>,
    shared: Arc<Shared>,
}

fn load(dir: &Path, count: u64, memory: usize, keys: impl Fn(u64) -> u64) -> Load {
    let policy = Arc::new(Newest(AtomicU64::new(0)));
    let shared = Shared::new(Env::os(), Options::default(), Budget::new(memory), Policies::from_one(&policy));
    let partition = Partition::open(shared.clone(), 0, dir).unwrap();
    let (rows, mut row) = (Rows::new(), Vec::new());
    let (mut flush, mut compact) = (Duration::ZERO, Duration::ZERO);
    let background = |partition: &Partition, flush: &mut Duration, compact: &mut Duration| {
        let from = cpu();
        while partition.flush_oldest().unwrap() {}
        let flushed = cpu();
        while let Some(job) = partition.pick_compaction() {
            partition.run_compaction(job, &|| false).unwrap();
        }
        *flush += flushed - from;
        *compact += cpu() - flushed;
    };
    for i in 1..=count {
        rows.row(i, &mut row);
        let key = key(keys(i));
        let memtable = partition.active();
        memtable.register_writer();
        memtable.apply(std::iter::once(Entry { key: &key, seq: i, kind: Kind::Put, value: &row }));
        memtable.finish_writer();
        if memtable.charged_bytes() > memory / 4 || i == count {
            policy.0.store(i, Ordering::Relaxed);
            partition.rotate(i + 1);
            background(&partition, &mut flush, &mut compact);
        }
    }
    let stats = partition.stats();
    let each = |d: Duration| d.as_secs_f64() * 1e6 / count as f64;
    println!("  flush {:.2} us, compaction {:.2} us each", each(flush), each(compact));
    let raw = stats.raw_bytes.max(1) as f64;
    let files = stats.files;
    println!(
        "  {files} files in {} runs, {:.3} of raw bytes; written {:.3} (flush {:.3}, compaction {:.3}); {} flushes, {} compactions, {} moves",
        stats.runs,
        stats.bytes as f64 / raw,
        (stats.bytes_flushed + stats.bytes_compacted) as f64 / raw,
        stats.bytes_flushed as f64 / raw,
        stats.bytes_compacted as f64 / raw,
        stats.flushes,
        stats.compactions,
        stats.trivial_moves,
    );
    Load { partition, policy, shared }
}

/// The cost of writing the same entries without a partition.
fn writer_alone(dir: &Path, count: u64, keys: impl Fn(u64) -> u64) {
    let rows = Rows::new();
    let mut row = Vec::new();
    let mut samples = Vec::new();
    for i in 0..3000 {
        rows.row(i * (count / 3000).max(1), &mut row);
        samples.push(row.clone());
    }
    let registry = alluvium_sst::DictionaryRegistry::new();
    let dictionary = alluvium_sst::Dictionary::train(&samples, 64 << 10).map(|d| registry.intern(d));
    let path = dir.join("alone.sst");
    let options = alluvium_sst::WriterOptions { dictionary, ..alluvium_sst::WriterOptions::default() };
    let mut writer = alluvium_sst::Writer::create(&Env::os(), &path, 1, options).unwrap();
    let mut entries: Vec<([u8; 13], u64)> = (1..=count).map(|i| (key(keys(i)), i)).collect();
    entries.sort();
    let made: Vec<Vec<u8>> = entries
        .iter()
        .map(|(_, i)| {
            rows.row(*i, &mut row);
            row.clone()
        })
        .collect();
    timed("the writer alone, dictionary ready", count, || {
        for ((key, seq), value) in entries.iter().zip(&made) {
            writer.add(Entry { key, seq: *seq, kind: Kind::Put, value }).unwrap();
        }
        writer.finish(alluvium_sst::FooterInfo::default()).unwrap()
    });
}

fn gets(load: &Load, count: u64, keys: impl Fn(u64) -> u64, what: &str) {
    let mut value = Vec::new();
    let mut rng = fastrand::Rng::with_seed(3);
    // A working set that fits the cache.
    let hot: Vec<u64> = (0..4_000).map(|_| keys(rng.u64(1..=count))).collect();
    let seq = load.policy.0.load(Ordering::Relaxed);
    for &k in &hot {
        assert!(load.partition.pin().get(&key(k), seq, &mut value).unwrap());
    }
    let rounds: u64 = std::env::args().nth(3).map_or(100, |n| n.parse().unwrap());
    timed(&format!("get, blocks cached, {what}"), rounds * hot.len() as u64, || {
        for _ in 0..rounds {
            for &k in &hot {
                assert!(load.partition.pin().get(&key(k), seq, &mut value).unwrap());
            }
        }
    });
    timed(&format!("get of an absent key, {what}"), rounds * hot.len() as u64, || {
        for _ in 0..rounds {
            for &k in &hot {
                assert!(!load.partition.pin().get(&key(k ^ (1 << 60)), seq, &mut value).unwrap());
            }
        }
    });
}

fn scan(load: &Load, count: u64) {
    let seq = load.policy.0.load(Ordering::Relaxed);
    timed("scan", count, || {
        let mut iter = load.partition.iter(load.partition.view(), seq, Bound::Unbounded, Bound::Unbounded);
        iter.seek_first().unwrap();
        let mut seen = 0;
        while iter.valid() {
            seen += 1;
            iter.next().unwrap();
        }
        assert_eq!(seen, count);
    });
}

/// Measures only the merge, without decoding: five sources, with entries distributed in small
/// groups.
fn merge_alone() {
    let tables: Vec<Arc<alluvium_memtable::Memtable>> =
        (0..5).map(|_| Arc::new(alluvium_memtable::Memtable::new(1))).collect();
    let count = 1_000_000u64;
    for i in 0..count {
        let k = key(scatter(i));
        let table = &tables[(i % 5) as usize];
        table.apply(std::iter::once(Entry { key: &k, seq: i + 1, kind: Kind::Put, value: b"v" }));
    }
    let walk = |iter: &mut dyn EntryIter<Error = alluvium_env::Error>| {
        let mut seen = 0;
        iter.seek_first().unwrap();
        while iter.valid() {
            seen += iter.key().len() as u64;
            iter.next().unwrap();
        }
        assert!(seen > 0);
    };
    for table in &tables {
        walk(&mut table.iter());
    }
    timed("five memtables one after the other", count, || tables.iter().for_each(|table| walk(&mut table.iter())));
    timed("five memtables merged", count, || {
        walk(&mut alluvium_lsm::Merge::new(tables.iter().map(|table| table.iter()).collect()));
    });
}

fn main() {
    let mut args = std::env::args().skip(1);
    let count: u64 = args.next().map_or(600_000, |n| n.parse().unwrap());
    let what = args.next().unwrap_or_else(|| "all".to_owned());
    let memory = std::env::args().nth(4).map_or(256, |n| n.parse::<usize>().unwrap()) << 20;
    let all = what == "all";
    if all || what == "merge" {
        merge_alone();
    }
    if all || what == "ordered" {
        let dir = tempfile::tempdir().unwrap();
        writer_alone(dir.path(), count, |i| i);
        println!("load in key order, {count} rows, {} MB", memory >> 20);
        let load = load(&dir.path().join("p"), count, memory, |i| i);
        gets(&load, count, |i| i, "one run");
        scan(&load, count);
        let budget = &load.shared.budget;
        println!(
            "  pinned {} KB, dictionaries {} KB",
            budget.used(Owner::Pinned) >> 10,
            budget.used(Owner::Dictionaries) >> 10
        );
    }
    if all || what == "random" {
        let dir = tempfile::tempdir().unwrap();
        println!("load in random order, {count} rows, {} MB", memory >> 20);
        let load = load(&dir.path().join("p"), count, memory, scatter);
        gets(&load, count, scatter, &format!("{} runs", load.partition.stats().runs));
        scan(&load, count);
        timed("compact_all", count, || load.partition.compact_all().unwrap());
        gets(&load, count, scatter, "one run");
        assert!(load.partition.verify().damage.is_empty());
    }
}
