//! Measures what a write waits for when the log begins a new segment: bulk writes on this machine's
//! disk, with enough memory that nothing is flushed. Run: `cargo run --release -p alluvium-store
//! --example rotation -- <empty directory> [megabytes] [MiB of a segment]`.

use alluvium_env::Env;
use alluvium_store::{Durability, Options, Store};
use std::time::Duration;

const BATCH: usize = 100_000;
const VALUE: usize = 1000;

fn main() -> alluvium_store::Result<()> {
    let mut arguments = std::env::args().skip(1);
    let dir = arguments.next().unwrap_or_else(|| "rotation".to_owned());
    let mut number = |default: u64| arguments.next().and_then(|n| n.parse().ok()).unwrap_or(default);
    let (megabytes, segment) = (number(640), number(64));
    let env = Env::os();
    let options = Options { memory_bytes: 4 << 30, segment_bytes: Some(segment << 20), ..Options::default() };
    let store = Store::open(env.clone(), dir.as_ref(), options)?;
    let tree = store.create_trees(&[b"tree"])?[0];
    let (mut took, mut rotations) = (Vec::new(), Vec::new());
    let started = env.clock.now();
    let mut noise = 1u64;
    for n in 0..megabytes * 1_000_000 / BATCH as u64 {
        let mut batch = store.batch();
        for at in 0..(BATCH / VALUE) as u64 {
            noise = noise.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(at | 1);
            batch.put(tree, &[n, at].map(u64::to_be_bytes).concat(), &[(noise >> 56) as u8; VALUE]);
        }
        let log_bytes = store.stats().log_bytes;
        let before = env.clock.now();
        store.write(batch, Durability::Bulk)?;
        let waited = env.clock.now() - before;
        match store.stats().log_bytes == log_bytes {
            true => took.push(waited),
            false => rotations.push(waited),
        }
    }
    let whole = env.clock.now() - started;
    let before = env.clock.now();
    store.sync()?;
    let synced = env.clock.now() - before;
    took.sort_unstable();
    let at = |part: f64| took.get(((took.len() - 1) as f64 * part) as usize).map_or(0.0, |t| millis(*t));
    println!("{megabytes} MB in batches of {BATCH} B: {:.0} MB/s", megabytes as f64 / whole.as_secs_f64());
    println!("a write: median {:.2} ms, 99% {:.2} ms, the slowest {:.1} ms", at(0.5), at(0.99), at(1.0));
    rotations.sort_unstable();
    let rotations: Vec<String> = rotations.iter().map(|t| format!("{:.1}", millis(*t))).collect();
    println!("with a new segment of {segment} MiB: {} ms", rotations.join(" "));
    println!("the sync at the end: {:.1} ms", millis(synced));
    store.close()
}

fn millis(time: Duration) -> f64 {
    time.as_secs_f64() * 1000.0
}
