//! `bench load|get|update|kv`, small: each prints its figures, with --json as one line.

#![allow(clippy::expect_used, clippy::panic, clippy::disallowed_methods)]

mod common;

use common::Place;

#[test]
fn documents_are_loaded_got_and_updated() {
    let place = Place::new();
    let loaded = place.json(&["bench", "load", "db", "c", "--docs", "2000", "--settle", "--json"]);
    assert_eq!((&loaded["documents"], &loaded["settled"]), (&2000.into(), &true.into()));
    assert!(loaded["cpu_us_per_document"].as_f64() > Some(0.0), "{loaded}");
    let got = place.json(&[
        "bench",
        "get",
        "db",
        "c",
        "--operations",
        "500",
        "--threads",
        "2",
        "--find-rate",
        "0.5",
        "--json",
    ]);
    assert_eq!(got["operations"], 500);
    assert!(got["latency"]["p99"].as_f64() >= got["latency"]["p50"].as_f64(), "{got}");
    let updated = place.json(&["bench", "update", "db", "c", "--operations", "300", "--json"]);
    assert_eq!(updated["operations"], 300);
    let text = place.good(&["bench", "get", "db", "c", "--operations", "200"]);
    assert!(text.contains("200 in ") && text.contains("µs an operation"), "{text}");
    assert_eq!(place.good(&["count", "db", "c"]), "2000\n");
    // The same documents as from a file.
    let lines = place.comments("c.jsonl", 2000);
    let id = serde_json::from_str::<serde_json::Value>(&lines[1999]).expect("JSON")["id"].clone();
    assert_eq!(
        place.json(&["get", "db", "c", id.as_str().expect("text")])["body"].as_str().map(str::is_empty),
        Some(false)
    );
}

#[test]
fn the_mix_runs_for_its_time() {
    let place = Place::new();
    let run = [
        "bench",
        "kv",
        "kv",
        "--json",
        "--mix",
        "put-heavy",
        "--seconds",
        "0.5",
        "--threads",
        "2",
        "--partitions",
        "2",
    ];
    for _ in 0..2 {
        let outcome = place.json(&run);
        assert!(outcome["operations"].as_u64() > Some(100), "{outcome}");
        assert!(outcome["seconds"].as_f64().is_some_and(|seconds| (0.5..5.0).contains(&seconds)), "{outcome}");
        assert!(outcome["samples"].is_array(), "{outcome}");
    }
    place.bad(2, &["bench", "kv", "kv", "--find-rate", "2"]);
}

#[test]
fn the_mix_is_not_written_into_documents() {
    let place = Place::new();
    place.good(&["put", "db", "c", "1", "{}"]);
    let said = place.bad(2, &["bench", "kv", "db", "--seconds", "0.1"]);
    assert!(said.contains("holds documents"), "{said}");
    assert_eq!(place.good(&["scan", "db", "c"]), "{\"_id\":1}\n");
}
