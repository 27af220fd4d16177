//! Measures files of comment-like rows: writing, size, decoding, gets, filter misses, scans.
//!
//! `cargo run --release -p alluvium-sst --example sst_speed [rows-file]`. A rows file is a sequence
//! of keys and values, each after its length (u32, little-endian). Without one, rows are generated.
//! Every figure is CPU time of the thread, the best of several rounds: the machine may be shared.
#![allow(missing_docs)]

use alluvium_codec::entry::{Entry, EntryIter, Kind, MAX_SEQ};
use alluvium_env::Env;
use alluvium_env::sync::RwLock;
use alluvium_sst::{Block, BlockCache, Compression, DictionaryRegistry, FileMeta, FooterInfo, NoCache};
use alluvium_sst::{Reader, Sampler, Writer, WriterOptions};
use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

const ROUNDS: usize = 3;

type Rows = Vec<(Vec<u8>, Vec<u8>)>;

/// A cache with a cheap hash, as a real one has.
#[derive(Default)]
struct Cache(RwLock<HashMap<u64, Arc<Block>, BuildHasherDefault<Multiply>>>);

#[derive(Default)]
struct Multiply(u64);

impl Hasher for Multiply {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, _: &[u8]) {}

    fn write_u64(&mut self, value: u64) {
        let product = u128::from(value) * 0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835;
        self.0 = (product >> 64) as u64 ^ product as u64;
    }
}

impl BlockCache for Cache {
    fn get(&self, _file: u64, offset: u64) -> Option<Arc<Block>> {
        self.0.read().get(&offset).cloned()
    }

    fn insert(&self, _file: u64, offset: u64, block: &Arc<Block>) {
        self.0.write().insert(offset, block.clone());
    }
}

/// Keys and their hashes, side by side in memory, so that preparing a look-up costs nothing.
struct Asked {
    keys: Vec<u8>,
    ends: Vec<(usize, u64)>,
}

impl Asked {
    fn new(keys: impl Iterator<Item = Vec<u8>>) -> Self {
        let mut asked = Self { keys: Vec::new(), ends: Vec::new() };
        for key in keys {
            asked.keys.extend_from_slice(&key);
            asked.ends.push((asked.keys.len(), alluvium_codec::hash64(&key)));
        }
        asked
    }

    fn iter(&self) -> impl Iterator<Item = (&[u8], u64)> {
        let mut start = 0;
        self.ends.iter().map(move |&(end, hash)| (&self.keys[std::mem::replace(&mut start, end)..end], hash))
    }
}

struct Bench {
    env: Env,
    path: PathBuf,
    rows: Rows,
    registry: DictionaryRegistry,
}

impl Bench {
    fn write(&self, options: &WriterOptions) -> FileMeta {
        if self.env.fs.exists(&self.path).unwrap() {
            self.env.fs.remove(&self.path).unwrap();
        }
        let mut writer = Writer::create(&self.env, &self.path, 1, options.clone()).unwrap();
        for (index, (key, value)) in self.rows.iter().enumerate() {
            writer.add(Entry { key, seq: self.seq_of(index), kind: Kind::Put, value }).unwrap();
        }
        writer.finish(FooterInfo::default()).unwrap()
    }

    /// The sequence number of a row: in the order of the keys if rows have values, otherwise in random order.
    fn seq_of(&self, index: usize) -> u64 {
        let index = index as u64;
        if self.rows[0].1.is_empty() { 1000 + index * 0x9e37_79b9 % 400_000 } else { 1000 + index }
    }

    fn open(&self, meta: &FileMeta, cache: Arc<dyn BlockCache>) -> Arc<Reader> {
        Arc::new(Reader::open(&self.env, &self.path, meta, cache, &self.registry).unwrap())
    }

    /// The shortest of several rounds, divided by `count`, in nanoseconds.
    fn best(&self, count: usize, mut f: impl FnMut()) -> f64 {
        let mut best = Duration::MAX;
        for _ in 0..ROUNDS {
            let start = cpu_time();
            f();
            best = best.min(cpu_time() - start);
        }
        best.as_nanos() as f64 / count as f64
    }

    fn scan(&self, reader: &Arc<Reader>, fill_cache: bool) -> usize {
        let mut iter = reader.iter(fill_cache);
        iter.seek_first().unwrap();
        let mut bytes = 0;
        while iter.valid() {
            bytes += iter.value().len() + iter.key().len();
            iter.next().unwrap();
        }
        bytes
    }

    fn write_and_read(&self, name: &str, options: &WriterOptions) {
        let rows = self.rows.len();
        let mut meta = FileMeta::default();
        let write = self.best(rows, || meta = self.write(options));
        let reader = self.open(&meta, Arc::new(NoCache));
        let properties = reader.properties().unwrap();
        let blocks = properties.data_blocks as usize;
        let scan = self.best(rows, || assert!(self.scan(&reader, false) > 0));
        println!(
            "{name:28} {:5} B: write {write:5.0} ns/row, scan {scan:4.0} ns/row = {:5.2} µs/block; ratio {:.4} ({:.4} data, {:.4} index) = {:.1} B/row, {:.1} rows/block",
            options.block_bytes,
            scan * rows as f64 / blocks as f64 / 1000.0,
            meta.bytes as f64 / meta.raw_bytes as f64,
            properties.data_bytes as f64 / meta.raw_bytes as f64,
            properties.index_bytes as f64 / meta.raw_bytes as f64,
            meta.bytes as f64 / rows as f64,
            rows as f64 / blocks as f64,
        );
    }

    fn gets(&self, options: &WriterOptions) {
        let meta = self.write(options);
        let cache = Arc::new(Cache::default());
        let reader = self.open(&meta, cache.clone());
        let warm = self.best(self.rows.len(), || assert!(self.scan(&reader, true) > 0));
        let mut order: Vec<usize> = (0..self.rows.len()).collect();
        fastrand::Rng::with_seed(1).shuffle(&mut order);
        let all = order.clone();
        let mut value = Vec::new();
        let asked = Asked::new(order.iter().map(|&index| self.rows[index].0.clone()));
        let get = self.best(order.len(), || {
            for (key, hash) in asked.iter() {
                assert!(reader.get(key, hash, MAX_SEQ, &mut value).unwrap().is_some());
            }
        });
        order.retain(|&index| index < 1000);
        let few = Asked::new((0..60).flat_map(|_| order.iter().map(|&index| self.rows[index].0.clone())));
        let hot = self.best(60 * order.len(), || {
            for (key, hash) in few.iter() {
                assert!(reader.get(key, hash, MAX_SEQ, &mut value).unwrap().is_some());
            }
        });
        let absent = Asked::new(all.iter().map(|&index| [&self.rows[index].0[..], b"x"].concat()));
        let mut passed = 0;
        let miss = self.best(all.len(), || {
            passed = absent.iter().filter(|(key, hash)| reader.may_contain(key, *hash).unwrap()).count();
        });
        let cold = self.open(&meta, Arc::new(NoCache));
        let cold_get = self.best(all.len() / 10, || {
            for &index in &all[..all.len() / 10] {
                let key = &self.rows[index].0;
                assert!(cold.get(key, alluvium_codec::hash64(key), MAX_SEQ, &mut value).unwrap().is_some());
            }
        });
        let (blocks, weight) = {
            let blocks = cache.0.read();
            (blocks.len(), blocks.values().map(|block| block.weight()).sum::<usize>())
        };
        println!(
            "cached get {get:.0} ns ({hot:.0} of 1000 rows), filter miss {miss:.0} ns ({:.2}% pass), cached scan {warm:.0} ns/row",
            100.0 * passed as f64 / all.len() as f64
        );
        println!("get without a cache (partition and block read) {cold_get:.0} ns");
        println!(
            "{blocks} cached blocks weigh {:.3} of the raw bytes, reader {} B",
            weight as f64 / meta.raw_bytes as f64,
            reader.pinned_bytes()
        );
    }
}

fn cpu_time() -> Duration {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    Duration::new(now.tv_sec as u64, now.tv_nsec as u32)
}

fn read_rows(path: &Path, env: &Env) -> Rows {
    let file = env.fs.open(path, alluvium_env::OpenMode::Read).unwrap();
    let mut bytes = vec![0; file.len().unwrap() as usize];
    file.read_exact_at(&mut bytes, 0).unwrap();
    let mut rest = &bytes[..];
    let mut take = || {
        let (len, after) = rest.split_first_chunk::<4>()?;
        let (bytes, after) = after.split_at(u32::from_le_bytes(*len) as usize);
        rest = after;
        Some(bytes.to_vec())
    };
    let mut rows = Vec::new();
    while let (Some(key), Some(value)) = (take(), take()) {
        rows.push((key, value));
    }
    rows.sort();
    rows
}

fn made_up_rows() -> Rows {
    let mut random = fastrand::Rng::with_seed(1);
    let words: Vec<String> = (0..3000).map(|_| (0..random.usize(2..9)).map(|_| random.lowercase()).collect()).collect();
    (0..60_000u32)
        .map(|n| {
            let mut row = format!("\u{1}user{}t2_{:x}", random.u32(0..50_000), random.u32(..)).into_bytes();
            while row.len() < 330 {
                let word = random.usize(0..3000);
                row.extend_from_slice(words[random.usize(0..=word)].as_bytes());
                row.push(b' ');
            }
            row.extend_from_slice(&random.u64(..).to_le_bytes());
            (format!("\0\0\0\u{7}id{n:06}").into_bytes(), row)
        })
        .collect()
}

/// Entries of a secondary index as iibench has it: tree, price, customer, document number.
fn index_entries() -> Rows {
    let mut random = fastrand::Rng::with_seed(2);
    let mut rows: Rows = (0..400_000u64)
        .map(|n| {
            let mut key = vec![0, 0, 0, 9, 0x30];
            key.extend_from_slice(&((f64::from(random.u32(0..50_000)) / 100.0).to_bits() | 1 << 63).to_be_bytes());
            key.extend_from_slice(&[0, 0x30]);
            key.extend_from_slice(&(f64::from(random.u32(0..100_000)).to_bits() | 1 << 63).to_be_bytes());
            key.extend_from_slice(&[0, 0x30]);
            key.extend_from_slice(&((n as f64).to_bits() | 1 << 63).to_be_bytes());
            key.push(0);
            (key, Vec::new())
        })
        .collect();
    rows.sort();
    rows
}

fn main() {
    let env = Env::os();
    let rows = match std::env::args().nth(1) {
        Some(path) => read_rows(Path::new(&path), &env),
        None => made_up_rows(),
    };
    let dir = tempfile::tempdir().unwrap();
    let bench = Bench { path: dir.path().join("1.sst"), env, rows, registry: DictionaryRegistry::new() };
    let values: Vec<_> = bench.rows.iter().map(|row| &row.1).collect();
    let only_gets = std::env::args().nth(2).is_some();
    println!("{} rows of {} bytes", values.len(), values.iter().map(|v| v.len()).sum::<usize>() / values.len());
    let mut sampler = Sampler::new(4 << 10);
    for (index, (key, value)) in bench.rows.iter().enumerate() {
        sampler.add(Entry { key, seq: bench.seq_of(index), kind: Kind::Put, value });
    }
    let start = cpu_time();
    let dictionary = bench.registry.intern(sampler.train(64 << 10).unwrap());
    println!("training {:?}, {} bytes", cpu_time() - start, dictionary.bytes().len());
    let with = Some(dictionary);
    for block_bytes in if only_gets { vec![] } else { vec![4 << 10, 8 << 10, 16 << 10] } {
        let base = WriterOptions { block_bytes, ..WriterOptions::default() };
        for level in [-3, -1, 1, 2, 3] {
            let options =
                WriterOptions { compression: Compression::Zstd { level }, dictionary: with.clone(), ..base.clone() };
            bench.write_and_read(&format!("zstd {level} with dictionary"), &options);
        }
        for (name, compression) in
            [("zstd 3", Compression::Zstd { level: 3 }), ("lz4", Compression::Lz4), ("none", Compression::None)]
        {
            bench.write_and_read(name, &WriterOptions { compression, ..base.clone() });
        }
    }
    bench.gets(&WriterOptions { block_bytes: 4 << 10, dictionary: with, ..WriterOptions::default() });

    let entries = Bench { rows: index_entries(), ..bench };
    println!("{} index entries of {} bytes", entries.rows.len(), entries.rows[0].0.len());
    for block_bytes in [4 << 10, 8 << 10] {
        for (name, compression) in [
            ("index entries, zstd 1", Compression::Zstd { level: 1 }),
            ("index entries, zstd 3", Compression::Zstd { level: 3 }),
            ("index entries, lz4", Compression::Lz4),
            ("index entries, none", Compression::None),
        ] {
            let options = WriterOptions { block_bytes, compression, ..WriterOptions::default() };
            entries.write_and_read(name, &options);
        }
    }
    entries.gets(&WriterOptions::default());
}
