//! Measures encoding and reading of comment-like documents:
//! `cargo run --release -p alluvium-document --example comments
//! [count or file of JSON lines]
//! [encode]`. The figures are nanoseconds of CPU per document, each the best of several passes.

#![allow(clippy::disallowed_methods)]

#[path = "support/generator.rs"]
mod generator;

use std::hint::black_box;
use std::sync::Arc;

use alluvium_document::json::{Format, Parser, print_map};
use alluvium_document::row::encode_row;
use alluvium_document::shape::{ShapeOptions, ShapeTable};
use alluvium_document::speculate::Encoder;
use alluvium_document::{Document, Map, Value};

/// Nanoseconds that this thread was on a CPU; other load on the machine does not count.
fn cpu_nanos() -> u64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
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
    let argument = std::env::args().nth(1).unwrap_or_else(|| "20000".to_owned());
    let lines = match argument.parse() {
        Ok(count) => generator::comments(count, 42),
        Err(_) => read_lines(&argument),
    };
    let bytes: usize = lines.iter().map(Vec::len).sum();
    println!("{} documents, mean {} bytes of JSON", lines.len(), bytes / lines.len());
    let table = Arc::new(ShapeTable::new(ShapeOptions::default()));
    speculation(&lines, &table);
    if std::env::args().nth(2).is_none_or(|only| only != "encode") {
        reads(&parsing(&lines, &table), &table);
    }
}

/// What a pass over the lines gave.
struct Pass {
    row_bytes: usize,
    /// Of each line, whether it was read without the parser.
    speculated: Vec<bool>,
}

fn encode_all<'a>(encoder: &mut Encoder, table: &ShapeTable, lines: impl Iterator<Item = &'a Vec<u8>>) -> Pass {
    let (mut row, mut key) = (Vec::new(), Vec::new());
    let mut pass = Pass { row_bytes: 0, speculated: Vec::new() };
    for line in lines {
        row.clear();
        key.clear();
        let encoded = encoder.encode_json_line(line, &mut row, &mut key).expect("a document");
        encoded.new_shapes.iter().for_each(|shape| table.mark_committed(shape.number()));
        pass.row_bytes += row.len();
        pass.speculated.push(encoded.speculated);
    }
    pass
}

fn speculation(lines: &[Vec<u8>], table: &Arc<ShapeTable>) {
    let count = lines.len();
    let mut encoder = Encoder::new(Arc::clone(table), "id");
    encode_all(&mut encoder, table, lines.iter());
    let first = encoder.counts();
    println!("first pass: {first:?}");
    let pass = encode_all(&mut encoder, table, lines.iter());
    let second = encoder.counts();
    let parsed = second.parsed - first.parsed;
    println!(
        "second pass: parsed {parsed} ({:.2}%), walked {:.1}%, learnt {}; {} shapes",
        100.0 * parsed as f64 / count as f64,
        100.0 * (second.walked - first.walked) as f64 / count as f64,
        second.learnt - first.learnt,
        table.len(),
    );
    let bytes: usize = lines.iter().map(Vec::len).sum();
    println!("row bytes / JSON bytes: {:.4}", pass.row_bytes as f64 / bytes as f64);
    measure("line to row, all lines", count, || drop(encode_all(&mut encoder, table, lines.iter())));
    let hits: Vec<&Vec<u8>> =
        lines.iter().zip(&pass.speculated).filter(|(_, hit)| **hit).map(|(line, _)| line).collect();
    measure("line to row, lines without the parser", hits.len(), || {
        drop(encode_all(&mut encoder, table, hits.iter().copied()));
    });
    let plain = Arc::new(ShapeTable::new(ShapeOptions { max_shapes: 0, ..ShapeOptions::DEFAULT }));
    let mut never = Encoder::new(Arc::clone(&plain), "id");
    measure("line to row, always by the full parser", count, || drop(encode_all(&mut never, &plain, lines.iter())));
}

/// Measures the full parser; keys and rows of the documents.
fn parsing(lines: &[Vec<u8>], table: &ShapeTable) -> Vec<(Vec<u8>, Vec<u8>)> {
    let count = lines.len();
    let mut parser = Parser::new();
    measure("full parser, text to value", count, || {
        for line in lines {
            black_box(parser.parse(line).expect("JSON"));
        }
    });
    let map_of = |line: &Vec<u8>| match parser.parse(line) {
        Ok(Value::Map(map)) => Some(map),
        _ => None,
    };
    let maps: Vec<Map> = lines.iter().filter_map(map_of).collect();
    let mut row = Vec::new();
    let mut shapes = Vec::new();
    measure("value to row", count, || {
        for map in &maps {
            row.clear();
            encode_row(map, table, Some("id"), &mut row, &mut shapes).expect("a row");
        }
    });
    maps.iter().map(|map| store(map, table)).collect()
}

fn read_lines(path: &str) -> Vec<Vec<u8>> {
    let text = std::fs::read(path).expect("a file of JSON lines");
    text.split(|&byte| byte == b'\n').filter(|line| !line.is_empty()).map(<[u8]>::to_vec).collect()
}

/// Key and row of a document.
fn store(map: &Map, table: &ShapeTable) -> (Vec<u8>, Vec<u8>) {
    let mut map = map.clone();
    let id = map.get("id").cloned().expect("an id");
    map.entries.insert(0, ("_id".into(), id.clone()));
    let mut row = Vec::new();
    encode_row(&map, table, Some("id"), &mut row, &mut Vec::new()).expect("a row");
    (alluvium_document::key::id_key(&id).expect("a key"), row)
}

fn reads(stored: &[(Vec<u8>, Vec<u8>)], table: &Arc<ShapeTable>) {
    let count = stored.len();
    let open = |(key, row): &(Vec<u8>, Vec<u8>)| Document::from_row(table, key, row.clone()).expect("a document");
    measure("row to document, nothing read", count, || stored.iter().for_each(|it| drop(black_box(open(it)))));
    let documents: Vec<Document> = stored.iter().map(open).collect();
    let each = |name, read: &dyn Fn(&Document)| measure(name, count, || documents.iter().for_each(read));
    each("read one field (score)", &|document| drop(black_box(document.get("score"))));
    each("read _id", &|document| drop(black_box(document.get("_id"))));
    each("go through all fields", &|document| {
        black_box(document.iter().expect("fields").map(|field| field.is_ok()).filter(|ok| *ok).count());
    });
    each("decode whole", &|document| drop(black_box(document.to_map())));
    let mut out = Vec::new();
    measure("write JSON from the row", count, || {
        for document in &documents {
            out.clear();
            document.write_json(&mut out).expect("JSON");
            black_box(&out);
        }
    });
    measure("write BSON from the row", count, || {
        for document in &documents {
            out.clear();
            document.write_bson(&mut out).expect("BSON");
            black_box(&out);
        }
    });
    let maps: Vec<Map> = documents.iter().filter_map(|document| document.to_map().ok()).collect();
    measure("write JSON from the value", count, || {
        for map in &maps {
            out.clear();
            print_map(map, Format::RELAXED, &mut out).expect("JSON");
            black_box(&out);
        }
    });
}
