//! `load|put|get|update|reads|kv|readonly|wire|changes`, with little data: each prints its figures, with --json as one line.

use crate::common::Place;
use alluvium::{Database, Value};

#[test]
fn documents_are_loaded_got_and_updated() {
    let place = Place::new();
    let loaded = place.json(&["load", "db", "c", "--docs", "2000", "--settle", "--json"]);
    assert_eq!((&loaded["documents"], &loaded["settled"]), (&2000.into(), &true.into()));
    assert!(loaded["cpu_us_per_document"].as_f64() > Some(0.0), "{loaded}");
    // The last sample is taken at the end, even if the load is short.
    let samples = loaded["samples"].as_array().expect("a list");
    assert_eq!(samples.iter().filter_map(|sample| sample["put"].as_u64()).sum::<u64>(), 2000, "{loaded}");
    assert!(samples.iter().all(|sample| sample["file_bytes"].as_u64() > Some(0)), "{loaded}");
    let got = place.json(&["get", "db", "c", "--operations", "500", "--threads", "2", "--find-rate", "0.5", "--json"]);
    assert_eq!(got["operations"], 500);
    assert!(got["latency"]["p99"].as_f64() >= got["latency"]["p50"].as_f64(), "{got}");
    let updated = place.json(&["update", "db", "c", "--operations", "300", "--json"]);
    assert_eq!(updated["operations"], 300);
    let text = place.good(&["get", "db", "c", "--operations", "200"]);
    assert!(text.contains("200 in ") && text.contains("µs an operation"), "{text}");
    // The load stores the same documents as a load of a generated file.
    let lines = place.comments("c.jsonl", 2000);
    let id = serde_json::from_str::<serde_json::Value>(&lines[1999]).expect("JSON")["id"].clone();
    let database = Database::open(place.path("db")).expect("a database");
    let comments = database.collection("c");
    assert_eq!(comments.count().expect("a count"), 2000);
    let last = comments.get(id.as_str().expect("text")).expect("a read").expect("the last comment");
    assert_eq!(last.to_map().expect("a map").get("body").and_then(Value::as_str).map(str::is_empty), Some(false));
}

#[test]
fn comments_are_written_as_text_and_as_maps() {
    let place = Place::new();
    let run = |collection: &str, how: &str, more: &[&str]| {
        let outcome =
            place.json(&[&["put", "db", collection, "--json", "--docs", "1500", "--how", how], more].concat());
        assert!(outcome["cpu_us"].as_f64() > Some(0.0), "{outcome}");
        assert_eq!(outcome["operations"].as_u64(), Some(1500), "{outcome}");
    };
    for how in ["put", "put", "insert-one", "insert-many"] {
        run(&format!("{how}-text"), how, &[]);
        run(&format!("{how}-map"), how, &["--parse"]);
    }
    let database = Database::open(place.path("db")).expect("a database");
    for how in ["put", "insert-one", "insert-many"] {
        let documents = |kind: &str| {
            let found = database.collection(&format!("{how}-{kind}")).find("{}").run().expect("a cursor");
            found.map(|document| document.expect("a document").to_string()).collect::<Vec<_>>()
        };
        let text = documents("text");
        assert_eq!(text.len(), 1500);
        assert!(text == documents("map"), "{how}: text and maps are different documents");
    }
    database.close().expect("a close");
    let again = place.run(&["put", "db", "insert-one-text", "--docs", "10", "--how", "insert-one"]);
    assert!(again.code != Some(0) && again.err.contains("_id"), "{again:?}");
}

#[test]
fn blocks_of_files_are_read() {
    let place = Place::new();
    place.good(&["load", "db", "c", "--docs", "2000", "--settle", "--json"]);
    let short = ["--operations", "300", "--threads", "2", "--json"];
    let run = |more: &[&'static str]| place.json(&[&["reads"], more, &short].concat());
    // Not every file system supports reads without the page cache.
    let refused = place.run(&["reads", "db", "--operations", "1"]).err.contains("without the page cache");
    let whole = run(if refused { &["db", "--cached"] } else { &["db"] });
    assert_eq!((&whole["operations"], &whole["scenario"]), (&300.into(), &"reads".into()));
    assert!(refused || whole["usage"]["read_bytes"].as_u64() >= Some(300 * 4096), "past the cache: {whole}");
    assert!(whole["latency"]["p99"].as_f64() >= whole["latency"]["p50"].as_f64(), "{whole}");
    place.write("data", vec![1; 100_000]);
    assert_eq!(run(&["data", "db", "--bytes", "512", "--cached"])["operations"], 300);
    let text = place.good(&["reads", "db", "--seconds", "0.1", "--cached"]);
    assert!(text.contains("read from storage"), "{text}");
    std::fs::create_dir(place.path("empty")).expect("space");
    assert!(place.bad(2, &["reads", "empty"]).contains("no sorted file (*.sst) of 4096 bytes or more in empty"));
    assert!(place.run(&["reads", "nothing"]).err.contains("nothing"));
    for wrong in [["--threads", "0"], ["--bytes", "0"], ["--seconds", "-1"], ["--find-rate", "0.5"]] {
        place.bad(2, &[&["reads", "db"], &wrong[..]].concat());
    }
    place.bad(2, &["reads"]);
}

#[test]
fn the_mix_runs_for_its_time() {
    let place = Place::new();
    let run = ["kv", "kv", "--json", "--mix", "put-heavy", "--seconds", "0.5", "--threads", "2", "--partitions", "2"];
    for _ in 0..2 {
        let outcome = place.json(&run);
        assert!(outcome["operations"].as_u64() > Some(100), "{outcome}");
        assert!(outcome["seconds"].as_f64().is_some_and(|seconds| (0.5..5.0).contains(&seconds)), "{outcome}");
        assert!(outcome["samples"].is_array(), "{outcome}");
    }
    place.bad(2, &["kv", "kv", "--find-rate", "2"]);
}

#[test]
fn requests_to_a_server_are_measured() {
    let place = Place::new();
    let short = ["--documents", "2500", "--seconds", "0.2", "--json"];
    let run = |more: &[&'static str]| place.json(&[&["wire"], more, &short].concat());
    let all = run(&["db", "--connections", "2"]);
    let named = |all: &serde_json::Value| {
        let names = all.as_array().expect("a list").iter().map(|one| one["operation"].as_str().map(str::to_owned));
        names.collect::<Option<Vec<_>>>().expect("names")
    };
    assert_eq!(named(&all), ["insert_many", "ping", "find_one", "insert_one", "update_one"]);
    assert_eq!(all[0]["operations"], 2500);
    for one in all.as_array().expect("a list") {
        assert!(one["rate"].as_f64() > Some(0.0) && one["client_us"].as_f64() > Some(0.0), "{one}");
        assert!(one["latency"]["p99"].as_f64() >= one["latency"]["p50"].as_f64(), "{one}");
        assert!(one["server"]["user_us"].as_f64() >= Some(0.0), "the server is on this machine: {one}");
    }
    let found = run(&["db", "--operation", "find-one", "--operation", "ping"]);
    assert_eq!(named(&found), ["ping", "find_one"]);
    let database = Database::open(place.path("db")).expect("the server has ended");
    assert_eq!(database.collection("wire.documents").count().expect("a count"), 2500);
    let score = database.collection("wire.documents").get(0_i64).expect("a read").expect("a document");
    assert_eq!(score.to_map().expect("a map").get("score").and_then(Value::as_i64), Some(31), "filled again");
    let listen = vec!["127.0.0.1:0".parse().expect("an address")];
    let config = alluvium_server::Config { listen, ..Default::default() };
    let server = alluvium_server::Server::bind(&database, config).expect("a port");
    let (address, (end, ended)) = (server.addresses()[0].to_string(), std::sync::mpsc::channel::<()>());
    let thread = std::thread::spawn(move || server.run(move || assert!(ended.recv().is_err())));
    let text = place.good(&["wire", "--address", &address, "--operation", "update-one", "--seconds", "0.1"]);
    assert!(text.contains("system µs") && text.contains("update_one"), "{text}");
    drop(end);
    thread.join().expect("the server");
    assert!(place.bad(1, &["wire", "--address", &address]).contains(&address), "nothing listens");
    place.bad(2, &["wire"]);
    place.bad(2, &["wire", "db", "--connections", "0"]);
    place.bad(2, &["wire", "db", "--seconds", "-1"]);
}

#[test]
fn the_mix_is_not_written_into_documents() {
    let place = Place::new();
    let database = Database::open(place.path("db")).expect("a database");
    database.collection("c").put(1, "{}").expect("a write");
    database.close().expect("a close");
    let said = place.bad(2, &["kv", "db", "--seconds", "0.1"]);
    assert!(said.contains("holds documents"), "{said}");
    let database = Database::open(place.path("db")).expect("a database");
    assert_eq!(database.collection("c").count().expect("a count"), 1);
}

#[test]
fn read_only_stores_are_built_once_and_read_in_trials() {
    let place = Place::new();
    let run = |more: &[&str]| {
        let arguments = ["readonly", "trials", "--data-size", "200K", "--value-bytes", "100,1000"];
        let short = ["--threads", "1,2", "--find-rate", "0.5", "--trials", "3", "--seconds", "0.02"];
        [&arguments[..], &short, more].concat().into_iter().map(str::to_owned).collect::<Vec<_>>()
    };
    let json = |more: &[&str]| {
        let arguments = run(more);
        place.json(&arguments.iter().map(String::as_str).collect::<Vec<_>>())
    };
    let report = json(&["--index-interval", "10,100", "--ordinary", "--json"]);
    assert_eq!(report["built"].as_array().map(Vec::len), Some(4), "two lengths of values, two kinds of store");
    let found = report["found"].as_array().expect("a list");
    assert_eq!(found.len(), 2 * 3 * 2, "lengths, two indexes and the ordinary store, threads");
    for found in found {
        let rate = &found["rate"];
        let figure = |name: &str| rate[name].as_f64().expect("a number");
        assert!(0.0 < figure("min") && figure("min") <= figure("q1") && figure("q1") <= figure("median"), "{found}");
        assert!(figure("median") <= figure("q3") && figure("q3") <= figure("max"), "{found}");
        let share = found["found"].as_f64().expect("a number");
        assert!((0.3..0.7).contains(&share), "{found}");
    }
    let again = json(&["--index-interval", "100", "--json"]);
    assert_eq!(again["built"].as_array().map(Vec::len), Some(0), "used again");
    std::fs::create_dir(place.path("other")).expect("space");
    place.write("other/notes.txt", "notes");
    for wrong in [["--threads", "0"], ["--find-rate", "1.5"], ["--index-interval", "0,10"], ["--memory", "1K"]] {
        place.bad(2, &[&["readonly", "x"], &wrong[..]].concat());
    }
    assert!(place.bad(2, &["readonly", "other"]).contains("holds something else"));
}

#[test]
fn rows_are_inserted_under_indexes() {
    let place = Place::new();
    let short = ["--rows", "3000", "--interval", "1000", "--queries", "10", "--memory", "8M", "--loaders", "2"];
    let run = |more: &[&'static str]| [&["iibench"], more, &short].concat();
    let report = place.json(&run(&["pairs", "--layer", "pairs", "--indexes", "2", "--json"]));
    assert_eq!((&report["rows"], &report["load"]["inserts"]), (&3000.into(), &3000.into()));
    assert_eq!(report["sizes"]["indexes"].as_array().map(Vec::len), Some(2));
    assert_eq!(report["queries"].as_array().map(Vec::len), Some(5), "by _id, and two indexes without and with rows");
    assert!(report["load"]["harness_cpu_seconds"].as_f64() < report["load"]["cpu_seconds"].as_f64(), "{report}");
    let figure = |path: &str| alluvium_workbench::record::figure(&report, path).expect(path);
    assert!(figure("figures.settled_rate") <= figure("figures.rate"), "{report}");
    let switches = figure("load.voluntary_switches") + figure("load.involuntary_switches");
    assert!(figure("figures.per_200k.switches") * 3000.0 >= switches * 199_999.0, "{report}");
    assert!(figure("intervals.0.cost.inserts_per_second") > 0.0 && report["samples"].is_array(), "{report}");
    let report = place.json(&run(&["indexed", "--json"]));
    assert_eq!(report["sizes"]["indexes"].as_array().map(Vec::len), Some(3));
    let text = place.good(&run(&["documents", "--indexes", "0"]));
    assert!(text.contains("CPU µs an insert, net, settled") && text.contains("query by _id"), "{text}");
    let again = place.bad(2, &run(&["documents", "--indexes", "0"]));
    assert!(again.contains("is not empty"), "{again}");
    for wrong in [["--indexes", "4"], ["--loaders", "0"], ["--rows", "0"], ["--limit-seconds", "-1"]] {
        place.bad(2, &[&["iibench", "x"], &wrong[..]].concat());
    }
    assert!(!place.path("x").exists(), "nothing was created for a wrong argument");
}

#[test]
fn recorded_changes_have_a_price_and_events_have_a_time() {
    let place = Place::new();
    let short = ["--docs", "1500", "--operations", "300", "--writes", "40", "--rate", "2000", "--rounds", "1"];
    let run = |more: &[&'static str]| [&["changes", "trials", "--memory", "8M"], &short[..], more].concat();
    let report = place.json(&run(&["--json"]));
    let prices = report["prices"].as_array().expect("a list");
    assert_eq!(prices.iter().map(|price| &price["what"]).collect::<Vec<_>>(), ["load", "checked update", "put"]);
    for price in prices {
        let figure = |turn: &str, name: &str| price[turn][name].as_f64().expect("a number");
        assert!(figure("plain", "cpu_us") > 0.0 && figure("recorded", "cpu_us") > 0.0, "{price}");
        assert!(figure("recorded", "written_bytes") > figure("plain", "written_bytes"), "nothing is recorded: {price}");
    }
    assert!(report["read"]["beside"]["rate"].as_f64() > Some(0.0), "{report}");
    let lags = report["lags"].as_array().expect("a list");
    assert_eq!(lags.iter().filter(|lag| lag["durability"] == "sync").count(), 3);
    for lag in lags {
        assert!(lag["beside"] != "nothing" || lag["writes"] == 40, "{lag}");
        assert!(lag["lag"]["p99"].as_f64() >= lag["lag"]["p50"].as_f64() && lag["writes"] != 0, "{lag}");
    }
    assert_eq!(std::fs::read_dir(place.path("trials")).expect("a directory").count(), 0, "databases are removed");
    let text = place.good(&run(&[]));
    assert!(text.contains("checked update") && text.contains("a load that is watched, too"), "{text}");
    place.write("trials/notes.txt", "notes");
    assert!(place.bad(2, &run(&[])).contains("is not empty"));
    for wrong in [["--rounds", "0"], ["--memory", "1M"], ["--rate", "0"]] {
        place.bad(2, &[&["changes", "x"], &wrong[..]].concat());
    }
    assert!(!place.path("x").exists(), "nothing was created for a wrong argument");
}
