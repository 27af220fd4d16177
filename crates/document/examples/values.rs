//! Measures the forms of a value with comment-like documents:
//! `cargo run --release -p alluvium-document --example values
//! [count or file of JSON lines]`. The figures are nanoseconds of CPU per document, each the best of several passes.

#![allow(clippy::disallowed_methods)]

#[path = "support/generator.rs"]
mod generator;

use std::hint::black_box;

use alluvium_document::compare::compare;
use alluvium_document::json::{Format, Parser, parse, print};
use alluvium_document::{Value, bson, encoding, key};

/// Nanoseconds that this thread was on a CPU; other load on the machine does not count.
fn cpu_nanos() -> u64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// The best of several passes over all items, per item.
fn measure<T>(name: &str, items: &[T], mut one: impl FnMut(&T)) {
    let best = (0..9)
        .map(|_| {
            let start = cpu_nanos();
            items.iter().for_each(&mut one);
            cpu_nanos() - start
        })
        .min()
        .unwrap_or_default();
    println!("{name:<44} {:>8.0} ns", best as f64 / items.len() as f64);
}

fn main() {
    let argument = std::env::args().nth(1).unwrap_or_else(|| "5000".to_owned());
    let lines = match argument.parse() {
        Ok(count) => generator::comments(count, 42),
        Err(_) => std::fs::read(&argument).expect("a file").split(|&b| b == b'\n').map(<[u8]>::to_vec).collect(),
    };
    let lines: Vec<Vec<u8>> = lines.into_iter().filter(|line| !line.is_empty()).collect();
    let values: Vec<Value> = lines.iter().map(|line| parse(line).expect("JSON")).collect();
    let encoded = |encode: fn(&Value, &mut Vec<u8>)| -> Vec<Vec<u8>> {
        let one = |value| {
            let mut out = Vec::new();
            encode(value, &mut out);
            out
        };
        values.iter().map(one).collect()
    };
    let own = encoded(encoding::encode);
    let documents = encoded(to_bson);
    let mean = |all: &[Vec<u8>]| all.iter().map(Vec::len).sum::<usize>() / all.len();
    println!("{} documents; bytes: JSON {}, own {}, BSON {}", lines.len(), mean(&lines), mean(&own), mean(&documents));

    let mut parser = Parser::new();
    let mut out = Vec::new();
    measure("JSON to value, dropped again", &lines, |line| {
        black_box(parser.parse(line).expect("JSON"));
    });
    measure("JSON to value to own encoding", &lines, |line| {
        out.clear();
        encoding::encode(&parser.parse(line).expect("JSON"), &mut out);
        black_box(&out);
    });
    measure("value to JSON", &values, |value| {
        out.clear();
        print(value, Format::RELAXED, &mut out).expect("names");
        black_box(&out);
    });
    measure("value to own encoding", &values, |value| {
        out.clear();
        encoding::encode(value, &mut out);
        black_box(&out);
    });
    measure("own encoding to value", &own, |bytes| drop(black_box(encoding::decode(&mut &bytes[..]))));
    measure("own encoding skipped", &own, |bytes| assert!(encoding::skip(&mut black_box(&bytes[..])).is_ok()));
    measure("value to BSON", &values, |value| {
        out.clear();
        to_bson(value, &mut out);
        black_box(&out);
    });
    measure("size as BSON", &values, |value| {
        black_box(bson::bson_size(value));
    });
    measure("BSON to value", &documents, |bytes| drop(black_box(bson::decode_document(bytes))));
    measure("value to key", &values, |value| {
        out.clear();
        key::encode(value, &mut out);
        black_box(&out);
    });
    measure("value cloned", &values, |value| drop(black_box(value.clone())));
    measure("value compared with itself", &values, |value| {
        black_box(compare(value, black_box(value)));
    });
}

fn to_bson(value: &Value, out: &mut Vec<u8>) {
    bson::encode_document(value.as_map().expect("a map"), out).expect("BSON");
}
