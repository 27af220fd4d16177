//! Measures entries of indexes, packed and as columns: bytes, and the cost to write and read a
//! block: `cargo run --release -p alluvium-sst --example column_speed [entries] [bytes of a block]
//! [columns|packed]`. Times are CPU time.
#![allow(clippy::disallowed_methods, clippy::disallowed_types)]

use alluvium_codec::entry::{Entry, EntryIter, Kind};
use alluvium_codec::key::{self, rank};
use alluvium_env::Env;
use alluvium_sst::{Dictionary, DictionaryRegistry, FooterInfo, NoCache, Reader, Sampler, Writer, WriterOptions};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

fn cpu() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

fn number(key: &mut Vec<u8>, value: f64) {
    key.push(rank::NUMBER);
    key::put_number(key, key::f64_bits(value));
}

fn date(key: &mut Vec<u8>, millis: i64) {
    key.push(rank::DATE_TIME);
    key::put_u64(key, millis as u64 ^ 1 << 63);
}

type Row = (Vec<u8>, u64);

/// Entries of iibench's indexes, and of an index of ids by name, as many as one partition has.
fn rows(kind: &str, count: u64) -> Vec<Row> {
    let mut rng = fastrand::Rng::with_seed(7);
    let mut rows = Vec::new();
    for id in 0..count {
        let customer = rng.u64(..100_000);
        let price = (rng.u64(..500_000) as f64 / 1000.0 + customer as f64) / 100.0;
        let (register, millis) = (rng.u64(..1000), 1_417_392_000_000 + (id / 20) as i64);
        let mut key = vec![0, 0, 0, 9];
        let mut seq = 1000 + id + if id / 1000 % 7 == 3 { 1000 } else { 0 };
        match kind {
            "price customer" => {
                number(&mut key, price);
                number(&mut key, customer as f64);
            }
            "register price customer" => {
                number(&mut key, register as f64);
                number(&mut key, price);
                number(&mut key, customer as f64);
            }
            "price date customer" => {
                number(&mut key, price);
                date(&mut key, millis);
                number(&mut key, customer as f64);
            }
            _ => {
                let pick = (count as f64 / 3.5 * rng.f64() * rng.f64()) as u64;
                let mut name = fastrand::Rng::with_seed(pick);
                let len = name.usize(6..18);
                let text: Vec<u8> = (0..len).map(|_| name.lowercase() as u8).collect();
                key::put_bytes(&mut key, &text);
                key.extend_from_slice(&(20_000_000_000 + 2 * id + rng.u64(..2)).to_be_bytes());
                seq = 1;
            }
        }
        if kind != "ids by name" {
            number(&mut key, id as f64);
        }
        // One partition of four.
        if alluvium_codec::hash64(&id.to_le_bytes()).is_multiple_of(4) {
            rows.push((key, seq));
        }
    }
    rows.sort();
    rows
}

fn train(rows: &[Row], block_bytes: usize) -> Option<Arc<Dictionary>> {
    let mut sampler = Sampler::new(block_bytes);
    rows.iter().take(120_000).for_each(|(key, seq)| sampler.add(Entry { key, seq: *seq, kind: Kind::Put, value: &[] }));
    sampler.train(64 << 10).map(Arc::new)
}

fn measure(kind: &str, rows: &[Row], block_bytes: usize, columns: bool) {
    let env = Env::in_memory(1);
    let path = Path::new("/f.sst");
    let before = cpu();
    let dictionary = train(rows, block_bytes);
    let trained = cpu() - before;
    let options =
        WriterOptions { block_bytes, columns, dictionary, filter_bits_per_key: 0, ..WriterOptions::default() };
    let before = cpu();
    let mut writer = Writer::create(&env, path, 1, options).unwrap();
    for (key, seq) in rows {
        writer.add(Entry { key, seq: *seq, kind: Kind::Put, value: &[] }).unwrap();
    }
    let meta = writer.finish(FooterInfo::default()).unwrap();
    let wrote = cpu() - before;
    let reader = Arc::new(Reader::open(&env, path, &meta, Arc::new(NoCache), &DictionaryRegistry::new()).unwrap());
    let blocks = reader.properties().unwrap().data_blocks;
    let n = rows.len() as u32;
    let (mut walked, mut read) = (Duration::MAX, 0);
    for _ in 0..3 {
        let before = cpu();
        let mut iter = reader.iter(false);
        iter.seek_first().unwrap();
        while iter.valid() {
            read += iter.key().len();
            iter.next().unwrap();
        }
        walked = walked.min(cpu() - before);
    }
    println!(
        "{kind:24} {block_bytes:6} {} {:5.2} B, write {:4} ns, training {:4} ns, read {:4} ns an entry; {:5.0} entries, {:6.2} us to read a block {}",
        if columns { "columns" } else { "packed " },
        meta.bytes as f64 / f64::from(n),
        (wrote / n).as_nanos(),
        (trained / n).as_nanos(),
        (walked / n).as_nanos(),
        f64::from(n) / blocks as f64,
        walked.as_secs_f64() * 1e6 / blocks as f64,
        read % 10,
    );
}

fn main() {
    let argument = |at: usize| std::env::args().nth(at);
    let count = argument(1).map_or(1_000_000, |text| text.parse().unwrap());
    let sizes = argument(2).map_or(vec![2 << 10, 4 << 10, 8 << 10], |text| vec![text.parse().unwrap()]);
    let ways = argument(3).map_or(vec![false, true], |text| vec![text == "columns"]);
    for kind in ["price customer", "register price customer", "price date customer", "ids by name"] {
        let rows = rows(kind, count);
        for &block_bytes in &sizes {
            ways.iter().for_each(|&columns| measure(kind, &rows, block_bytes, columns));
        }
    }
}
