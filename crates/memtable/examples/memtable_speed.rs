//! Measures a memtable on one thread: inserts, gets, the sort and the walk of a flush, and
//! iterators on a table that grows. CPU time of the thread. Run:
//! `cargo run --release -p alluvium-memtable --example memtable_speed`.

use alluvium_codec::entry::{Entry, EntryIter, Kind, Seq};
use alluvium_memtable::Memtable;
use rustix::time::{ClockId, clock_gettime};
use std::hint::black_box;
use std::sync::Arc;

const SEED: u64 = 1;

fn main() {
    for (name, count, value) in [("rows of 400 B", 150_000, 400), ("index entries of 8 B", 500_000, 8)] {
        println!("{name}, {count} of them");
        for batch in [1, 100] {
            rows(count, value, batch);
        }
        growing(count, value);
    }
}

/// Keys of 20 bytes: a tree, and 16 random bytes.
fn keys(count: usize) -> Vec<[u8; 20]> {
    let mut rng = fastrand::Rng::with_seed(SEED);
    let key = |_| {
        let mut key = [0; 20];
        key[3] = rng.u8(1..4);
        rng.fill(&mut key[4..]);
        key
    };
    (0..count).map(key).collect()
}

fn sink<T>(result: T) {
    let _ = black_box(result);
}

fn time(what: &str, count: usize, f: impl FnOnce()) {
    let start = cpu_nanos();
    f();
    println!("  {what:<44} {:>8.1} ns", (cpu_nanos() - start) / count as f64);
}

fn cpu_nanos() -> f64 {
    let now = clock_gettime(ClockId::ThreadCPUTime);
    now.tv_sec as f64 * 1e9 + now.tv_nsec as f64
}

fn entry<'a>(key: &'a [u8], seq: usize, value: &'a [u8]) -> Entry<'a> {
    Entry { key, seq: seq as Seq + 1, kind: Kind::Put, value }
}

fn fill(table: &Memtable, keys: &[[u8; 20]], from: usize, value: &[u8], batch: usize) {
    for (at, keys) in keys.chunks(batch).enumerate() {
        table.apply(keys.iter().enumerate().map(|(i, key)| entry(key, from + at * batch + i, value)));
    }
}

fn rows(count: usize, value: usize, batch: usize) {
    let (keys, value) = (keys(count), vec![7; value]);
    let table = Arc::new(Memtable::new(1));
    time(&format!("insert, batches of {batch}"), count, || fill(&table, &keys, 0, &value, batch));
    let mut out = Vec::new();
    let mut order: Vec<usize> = (0..count).collect();
    fastrand::Rng::with_seed(SEED + 1).shuffle(&mut order);
    let get = |out: &mut Vec<u8>| order.iter().for_each(|&at| sink(table.get(&keys[at], Seq::MAX, out)));
    time("get, in random order", count, || get(&mut out));
    time("get, the last 1000 again and again", count, || {
        (0..count).for_each(|at| sink(table.get(&keys[count - 1 - at % 1000], Seq::MAX, &mut out)));
    });
    time("get, absent", count, || {
        order.iter().for_each(|&at| sink(table.get(&keys[at][..19], Seq::MAX, &mut out)));
    });
    println!("  {:<44} {:>8.1} B", "charged per entry", table.charged_bytes() as f64 / count as f64);
    table.seal(count as Seq);
    time("get, frozen, in random order", count, || get(&mut out));
    let mut iter = table.iter();
    time("sort for the flush", count, || drop(iter.seek_first()));
    time("walk for the flush, bytes copied", count, || {
        let mut bytes = 0u64;
        while iter.valid() {
            out.clear();
            out.extend_from_slice(iter.key());
            out.extend_from_slice(iter.value());
            bytes += out.len() as u64 + iter.seq() + iter.kind() as u64;
            let _ = iter.next();
        }
        black_box(bytes);
    });
    time("seek, frozen", count, || {
        order.iter().for_each(|&at| sink(iter.seek(&keys[at], Seq::MAX)));
    });
}

fn growing(count: usize, value: usize) {
    let (keys, value) = (keys(count), vec![7; value]);
    let table = Arc::new(Memtable::new(1));
    let (mut at, step) = (0, 10);
    time("a new iterator and seek every 10 inserts, each", count / step, || {
        while at + step <= count {
            fill(&table, &keys[at..at + step], at, &value, step);
            let mut iter = table.iter();
            let _ = iter.seek(&keys[at], Seq::MAX);
            black_box(iter.key());
            at += step;
        }
    });
    let mut iter = table.iter();
    let _ = iter.seek_first();
    time("walk, growing", count, || {
        while iter.valid() {
            black_box(iter.value());
            let _ = iter.next();
        }
    });
    let fresh = Arc::new(Memtable::new(1));
    fill(&fresh, &keys, 0, &value, 100);
    time("the first iterator of a large table", count, || drop(fresh.iter()));
}
