//! Writes directories with a plan and records, in the form of `alluvium-bench run`. The figures are easy to recognize.

// Each test file is a separate crate and uses a part of this module.
#![allow(dead_code)]

use serde_json::{Map, Value, json};
use std::path::Path;

/// A text that would end the script of a page and begin another script if it were not escaped.
pub const HOSTILE: &str = "</script><script>alert(1)</script><img src=x onerror=alert(2)>";

/// The origin of records.
#[derive(Clone, Copy)]
pub struct Origin {
    pub processor: &'static str,
    pub commit: &'static str,
    /// Multiplies all rates.
    pub speed: f64,
}

pub const ORIGIN: Origin = Origin { processor: "Processor One", commit: "0123456789abcdef", speed: 1.0 };

/// The number of charts in the report of one origin.
pub const CHARTS: usize = 8;

/// Writes a plan and its records into a directory.
pub fn write(dir: &Path, origin: Origin) {
    std::fs::create_dir_all(dir.join("trials")).expect("space");
    write_json(&dir.join("plan.json"), &plan());
    for threads in [1, 2, 4] {
        for repeat in 0..3 {
            let rate = f64::from(threads * 10_000 + repeat * 100) * origin.speed;
            let parameters = json!({"threads": threads, "documents": 200_000});
            let outcome = json!({"rate": rate, "latency": {"p99": 12.5}, "samples": samples(700)});
            record(dir, origin, "get-by-threads", parameters, repeat, Ok(outcome));
        }
    }
    for threads in [1, 2] {
        let rate = f64::from(threads * 40_400) * origin.speed;
        record(dir, origin, "raw-reads", json!({"threads": threads}), 0, Ok(json!({"rate": rate})));
    }
    for (engine, rate) in [("alluvium", 3000.0), ("rocksdb", 1000.0), ("lmdb", 6000.0)] {
        for documents in [100, 300] {
            let parameters = json!({"engine": engine, "documents": documents});
            let outcome = json!({"rate": rate * origin.speed, "cpu_us": 1e6 / rate, "disk_bytes": 26_500_000_000_u64});
            record(dir, origin, "peers", parameters, 0, Ok(outcome));
        }
    }
    let parameters = json!({"engine": HOSTILE, "documents": 100});
    record(dir, origin, "peers", parameters, 0, Err(format!("killed by signal 9\n{HOSTILE}")));
}

/// Samples with one stall, at 350 s.
fn samples(count: u32) -> Value {
    let sample =
        |at: u32| json!({"seconds": f64::from(at) + 0.001, "get": if at == 350 { 17 } else { 5000 + at % 10 }});
    (1..=count).map(sample).collect()
}

fn chart(title: &str, kind: &str, more: Value) -> Value {
    let mut chart = json!({"title": title, "kind": kind, "unit": "documents/s", "y": "outcome.rate"});
    merge(&mut chart, more);
    chart
}

fn merge(value: &mut Value, more: Value) {
    let (Some(fields), Value::Object(more)) = (value.as_object_mut(), more) else { panic!("objects") };
    fields.extend(more);
}

fn plan() -> Value {
    let published = json!([{"name": "Author & Co., \"A store\"", "points": [[1, 3200], [64, 70_100.5]]}]);
    let get = json!([
        chart("Gets by threads", "line", json!({"x": "threads", "x_scale": "log2", "published": published})),
        chart(
            "Gets over time",
            "time",
            json!({"y": "get", "published": [{"name": "An hour", "points": [[60_000, 10]]}]})
        ),
        chart(&format!("Spread of gets {HOSTILE}"), "quartiles", json!({"x": "threads"})),
        chart("Share of raw reads", "line", json!({"x": "threads", "unit": "", "share_of": "raw-reads"})),
    ]);
    let documents = json!({"x": "engine", "series": ["engine"], "ratio": true});
    let peers = json!([
        chart("Rates of engines", "bar", documents),
        chart(
            "CPU of engines",
            "line",
            json!({
                "x": "documents", "series": ["engine"], "ratio": true, "y": "outcome.cpu_us", "unit": "µs", "y_scale": "log10",
            })
        ),
        chart("Disks of engines", "table", json!({"columns": ["outcome.disk_bytes", "outcome.rate"]})),
    ]);
    json!({
        "format": 1, "name": "all", "title": format!("All {HOSTILE}"), "size": "small", "seed": 1,
        "command": ["alluvium-bench", "run", "plans/all.toml", "--size", "small"],
        "experiments": [
            experiment("raw-reads", "alluvium-bench", json!({"threads": [1, 2]}), 1,
                json!([chart("Raw reads", "line", json!({"x": "threads"}))])),
            experiment("get-by-threads", "alluvium-bench", json!({"threads": [1, 2, 4]}), 3, get),
            experiment("peers", "bench-peers",
                json!({"engine": ["alluvium", "rocksdb", "lmdb", HOSTILE], "documents": [100, 300]}), 1, peers),
            experiment("never-ran", "other-program", json!({"threads": [1]}), 1, json!([])),
        ],
    })
}

fn experiment(name: &str, program: &str, grid: Value, repeats: u32, charts: Value) -> Value {
    json!({
        "plan": "get", "plan_title": "Gets", "name": name, "title": format!("Experiment {name}"), "program": program,
        "prepare": null, "command": ["get", "{store}", "--docs", "{documents}", "--threads", "{threads}"],
        "warm_up": null, "fresh": false, "cold": false, "repeats": repeats,
        "values": if name == "peers" { json!({}) } else { json!({"documents": 200_000}) }, "grid": grid, "charts": charts,
    })
}

fn record(
    dir: &Path,
    origin: Origin,
    experiment: &str,
    parameters: Value,
    repeat: u32,
    outcome: Result<Value, String>,
) {
    let use_of_process: Map<String, Value> = [
        "cpu_seconds",
        "user_seconds",
        "system_seconds",
        "voluntary_switches",
        "involuntary_switches",
        "read_bytes",
        "written_bytes",
        "peak_memory_bytes",
    ]
    .map(|name| (name.to_owned(), 1.into()))
    .into_iter()
    .collect();
    let record = json!({
        "format": 1, "plan": "get", "experiment": experiment, "size": "small", "parameters": parameters, "repeat": repeat,
        "seed": 17, "command": ["alluvium-bench", "get"], "began": "2026-11-25T23:59:59Z", "seconds": 2.31,
        "machine": {
            "processor": origin.processor, "cores": 2, "memory_bytes": 25_000_000_000_u64, "kernel": "Linux 6.1",
            "file_system": "ext4", "device": "vda",
        },
        "versions": {"alluvium": "0.1.0", "commit": origin.commit, "program": "alluvium-bench 0.1.0"},
        "process": use_of_process, "device": null, "prepared": null, "outcome": outcome.as_ref().ok(),
        "failure": outcome.err(),
    });
    let number = std::fs::read_dir(dir.join("trials")).expect("a directory").count();
    write_json(&dir.join(format!("trials/{experiment}-{number:04}.json")), &record);
}

/// Writes JSON to a file.
pub fn write_json(path: &Path, value: &Value) {
    std::fs::write(path, value.to_string()).expect("space");
}
