//! `--json` prints statistics as one line of JSON; `--progress-json` writes lines during a load.

use crate::common::Place;
use serde_json::Value;

#[test]
fn figures_come_as_json() {
    let place = Place::new();
    let lines = place.comments("c.jsonl", 2000);
    let load = ["load", "db", "c", "c.jsonl", "--id-field", "id", "--settle", "--json"];
    let summary = place.json(&load);
    assert_eq!(summary["outcome"], "done");
    assert_eq!(summary["documents"], 2000);
    assert_eq!(summary["json_bytes"].as_u64(), Some(lines.iter().map(|line| line.len() as u64 + 1).sum()));
    assert_eq!(summary["settled"], true);
    for positive in
        ["seconds", "cpu_us_per_document", "documents_per_second", "disk_ratio", "written_ratio", "disk_bytes"]
    {
        assert!(summary[positive].as_f64().is_some_and(|n| n > 0.0), "{positive}: {summary}");
    }
    assert!(summary["disk_ratio"].as_f64() < Some(1.0), "{summary}");
    assert_eq!(place.json(&["count", "db", "c", "--json"])["documents"], 2000);
    assert_eq!(place.json(&["collections", "db", "--json"]), serde_json::json!(["main.c"]));
    let stats = place.json(&["stats", "db", "--json"]);
    let entries: u64 =
        stats["partitions"].as_array().expect("four").iter().map(|p| p["entries"].as_u64().expect("n")).sum();
    assert!(entries >= 2000, "{stats}");
    assert!(stats["space_amplification"].as_f64() >= Some(1.0), "{stats}");
    assert!(stats["read_amplification"].as_u64() >= Some(2), "a memtable and a run: {stats}");
    assert_eq!(stats["write_amplification"], Value::Null, "nothing was flushed since it was opened");
    assert_eq!(stats["oldest_snapshot_seq"], Value::Null);
    let of_c = place.json(&["stats", "db", "c", "--json"]);
    let about = of_c["documents_estimated"].as_u64().expect("a number");
    assert!((1000..=4000).contains(&about), "{of_c}");
    assert_eq!(of_c["collection"], "main.c");
    assert!(place.good(&["stats", "db", "c"]).contains("documents"));
    assert!(place.good(&["stats", "db", "--verbose"]).contains("amplification"));
    let words = place.good(&["stats", "db"]);
    assert!(words.contains("collections  1, with 2,000 documents and no indexes but those on _id\n"), "{words}");
    assert!(words.contains("\nstate        good: ") && !words.contains("amplification"), "{words}");
    assert!(place.bad(3, &["stats", "db", "d"]).contains("main.d"));
    assert_eq!(place.json(&["delete", "db", "c", "evn2i5p", "--json"])["deleted"], 1);
    let verified = place.json(&["verify", "db", "--json"]);
    assert_eq!(verified["damage"], serde_json::json!([]));
    assert!(place.json(&["compact", "db", "--json"])["disk_bytes"].as_u64() > Some(0));
    assert_eq!(place.good(&["count", "db", "c"]), "1999\n");
}

#[test]
fn wrong_arguments_are_told_as_json() {
    let place = Place::new();
    for (arguments, said) in [
        (&["count", "db", "--json"][..], "COLLECTION"),
        (&["find", "db", "c", "--json", "--limit", "many"], "many"),
        (&["nonsense", "--json"], "nonsense"),
        (&["count", "db", "c", "--json", "--config", "missing.toml"], "missing.toml"),
    ] {
        let error = place.bad(if said == "missing.toml" { 3 } else { 2 }, arguments);
        assert_eq!(error.lines().count(), 1, "{error}");
        let message: serde_json::Value = serde_json::from_str(&error).expect("JSON");
        let text = message["error"].as_str().expect("a text");
        assert!(text.contains(said) && !text.contains("Usage") && !text.contains("--help"), "{text}");
        assert!(message["exit_code"] == 2 || said == "missing.toml", "{message}");
    }
    assert!(place.good(&["count", "--json", "--help"]).contains("Usage"));
}

#[test]
fn a_load_that_an_index_refuses_has_mongodbs_code() {
    let place = Place::new();
    place.good(&["put", "db", "c", "0", "{}"]);
    place.good(&["index", "create", "db", "c", r#"{"x": 1, "y": 1}"#]);
    place.write("in.jsonl", "{\"_id\":1}\n{\"_id\":2,\"x\":[1],\"y\":[2]}\n");
    let error = place.bad(1, &["load", "db", "c", "in.jsonl", "--json"]);
    let message: serde_json::Value = serde_json::from_str(error.lines().last().expect("a line")).expect("JSON");
    assert_eq!(
        (&message["code"], &message["code_name"]),
        (&171.into(), &"CannotIndexParallelArrays".into()),
        "{message}"
    );
    let said = "in.jsonl line 2: document 2 of main.c: index x_1_y_1: cannot index parallel arrays: x and y";
    assert!(message["error"].as_str().is_some_and(|text| text.starts_with(said)), "{message}");
}

#[test]
fn progress_comes_as_lines_of_json() {
    let place = Place::new();
    place.comments("c.jsonl", 20_000);
    place.good(&["load", "db", "c", "c.jsonl", "--id-field", "id", "--progress-json", "p", "--progress-ms", "10"]);
    let text = place.read("p");
    let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    assert!(lines.len() > 1, "{text}");
    let documents = |line: &Value| line["documents"].as_u64().expect("a number");
    let seconds = |line: &Value| line["seconds"].as_f64().expect("a number");
    assert!(lines.windows(2).all(|pair| documents(&pair[0]) <= documents(&pair[1])), "{text}");
    assert!(lines.windows(2).all(|pair| seconds(&pair[0]) < seconds(&pair[1])), "{text}");
    let last = lines.last().expect("a line");
    assert_eq!(documents(last), 20_000);
    for name in ["bytes", "disk_bytes", "debt", "memory_bytes", "resident_bytes"] {
        assert!(last[name].is_number(), "{name}: {last}");
    }
}

#[test]
fn progress_ends_with_a_line_of_the_whole_load() {
    let place = Place::new();
    place.write("in.jsonl", "{\"_id\":1}\n{\"_id\":2}\n");
    // The load finishes long before the first second has passed.
    place.good(&["load", "db", "c", "in.jsonl", "--progress-json", "p"]);
    let line: Value = serde_json::from_str(place.read("p").trim()).expect("one line of JSON");
    assert_eq!(line["documents"], 2);
}

#[test]
fn standard_error_has_no_progress_bar_where_there_is_no_terminal() {
    let place = Place::new();
    place.write("in.jsonl", "{\"_id\":1}\n");
    place.good(&["load", "db", "c", "in.jsonl"]);
    place.write("more.jsonl", "{\"_id\":2}\n");
    let ended = place.run(&["load", "db", "c", "more.jsonl"]);
    assert_eq!((ended.code, ended.err.as_str()), (Some(0), ""));
}

/// Compacts a database of a few documents.
fn fresh_disk_is_small(place: &Place) -> bool {
    let compacted = place.json(&["compact", "db", "--json"]);
    ["disk_bytes_before", "disk_bytes"].iter().all(|name| compacted[name].as_u64().is_some_and(|bytes| bytes < 1 << 20))
}

#[test]
fn figures_for_people_are_true() {
    let place = Place::new();
    place.good(&["put", "db", "one", "1", "{}"]);
    place.good(&["put", "db", "two", "1", "{}"]);
    let fresh = place.good(&["stats", "db", "one"]);
    assert!(fresh.contains("in no file yet"), "{fresh}");
    assert!(fresh_disk_is_small(&place), "reserved space of the log is not counted");
    // Collections with a few documents each, which share files.
    let shared = place.good(&["stats", "db", "one"]);
    assert!(shared.contains(" that it shares with other collections\n"), "{shared}");
    let shared = place.good(&["stats", "db", "one", "--verbose"]);
    assert!(shared.contains("in shared files, which do not count them") && !shared.contains("0 files"), "{shared}");
    let all = place.good(&["stats", "db", "--verbose"]);
    let table: Vec<&str> = all.lines().skip_while(|line| !line.starts_with("partition  ")).collect();
    assert_eq!(table.len(), 1 + 4, "{all}");
    assert!(all.contains(" of it log with reserved space\n"), "{all}");
    assert!(table[0].contains("to compact") && table[4].starts_with("p003 "), "{all}");
}

#[test]
fn numbers_of_documents_are_right_after_updates_and_a_compaction() {
    let place = Place::new();
    let documents: String = (0..250).map(|id| format!("{{\"_id\":{id},\"n\":{}}}\n", id % 5)).collect();
    place.write("in.jsonl", documents);
    place.good(&["load", "db", "c", "in.jsonl"]);
    for value in ["1", "2"] {
        let set = format!("{{$set: {{a: {value}}}}}");
        place.good(&["update", "db", "c", "--where", "{n: 3}", &set, "--many"]);
        place.good(&["compact", "db"]);
        assert_eq!(place.json(&["stats", "db", "c", "--json"])["documents_estimated"], 250);
        let stats = place.good(&["stats", "db", "c"]);
        assert!(stats.lines().any(|line| line.split_whitespace().eq(["documents", "250"])), "{stats}");
    }
}
