//! Measures encoding and reading of comment-like documents: `cargo run --release -p alluvium-document --example comments
//! [count]`. The figures are nanoseconds of CPU per document, each the best of several passes.

#![allow(clippy::disallowed_methods, clippy::disallowed_types, clippy::unwrap_used, clippy::expect_used)]

#[path = "support/generator.rs"]
mod generator;

use std::sync::Arc;

use document::shape::{ShapeOptions, ShapeTable};
use document::speculate::Encoder;

/// Nanoseconds that this thread was on a CPU; other load on the machine does not count.
fn cpu_nanos() -> u64 {
    let stat = std::fs::read_to_string("/proc/thread-self/schedstat").expect("Linux");
    stat.split(' ').next().and_then(|text| text.parse().ok()).expect("a number")
}

/// The best of several passes, per document.
fn measure(name: &str, count: usize, mut pass: impl FnMut()) {
    let best = (0..7)
        .map(|_| {
            let start = cpu_nanos();
            pass();
            cpu_nanos() - start
        })
        .min()
        .unwrap_or_default();
    println!("{name:<44} {:>8.0} ns", best as f64 / count as f64);
}

fn main() {
    let count = std::env::args().nth(1).and_then(|text| text.parse().ok()).unwrap_or(20_000);
    let lines = generator::comments(count, 42);
    let bytes: usize = lines.iter().map(Vec::len).sum();
    println!("{count} documents, mean {} bytes of JSON", bytes / count);
    let table = Arc::new(ShapeTable::new(ShapeOptions::default()));
    let mut encoder = Encoder::new(Arc::clone(&table), "id");
    let (mut row, mut key) = (Vec::new(), Vec::new());
    let mut row_bytes = 0;
    let mut pass = |encoder: &mut Encoder, only: Option<&[bool]>| {
        row_bytes = 0;
        let mut speculated = Vec::new();
        for (at, line) in lines.iter().enumerate() {
            if only.is_some_and(|only| !only[at]) {
                continue;
            }
            row.clear();
            key.clear();
            let encoded = encoder.encode_json_line(line, &mut row, &mut key).expect("a document");
            encoded.new_shapes.iter().for_each(|shape| table.mark_committed(shape.number()));
            row_bytes += row.len();
            if only.is_none() {
                speculated.push(encoded.speculated);
            }
        }
        speculated
    };
    pass(&mut encoder, None);
    let first = encoder.counts();
    println!("first pass: {first:?}");
    let speculated = pass(&mut encoder, None);
    let second = encoder.counts();
    let parsed = second.parsed - first.parsed;
    println!(
        "second pass: parsed {parsed} ({:.2}%), walked {:.1}%, learnt {}; {} shapes",
        100.0 * parsed as f64 / count as f64,
        100.0 * (second.walked - first.walked) as f64 / count as f64,
        second.learnt - first.learnt,
        table.len(),
    );
    measure("line to row, all lines", count, || drop(pass(&mut encoder, None)));
    let hits = speculated.iter().filter(|&&hit| hit).count();
    measure("line to row, lines without the parser", hits, || drop(pass(&mut encoder, Some(&speculated))));
    println!("row bytes / JSON bytes: {:.4}", row_bytes as f64 / bytes as f64);
}
