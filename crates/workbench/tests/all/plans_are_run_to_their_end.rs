//! `run`: every trial of a plan has a record at the end, even if trials fail or the run is interrupted.

use crate::common::{Ended, Place, ended, ended_soon, signal};
use serde_json::Value;
use std::collections::BTreeMap;
use std::process::Child;
use std::time::{Duration, Instant};

/// Three experiments: gets from a store that is prepared once, mixes with a separate store for each trial, and an
/// experiment that needs a missing program.
const PLAN: &str = r#"
title = "Tiny trials"
[values]
documents = { small = 300, machine = 400, published = 500 }
seconds = { small = 0.02, machine = 0.1, published = 1 }
[[experiment]]
name = "gets"
title = "Gets"
prepare = ["load", "{store}", "c", "--docs", "{documents}", "--settle", "--json"]
warm_up = ["get", "{store}", "c", "--operations", "10", "--json"]
command = ["get", "{store}", "c", "--threads", "{threads}", "--operations", "50", "--seed", "{seed}", "--json"]
cold = true
repeats = 2
grid.threads = [1, 2]
[[experiment]]
name = "mixes"
title = "Mixes"
command = ["kv", "{store}", "--find-rate", "{find_rate}", "--seconds", "{seconds}", "--json"]
fresh = true
grid.find_rate = [0, 1]
"#;

fn run(place: &Place, more: &[&str]) -> Ended {
    place.run(&[&["run", "p.toml", "--out", "out"], more].concat())
}

/// The records by name.
fn records(place: &Place) -> BTreeMap<String, Value> {
    let Ok(dir) = std::fs::read_dir(place.path("out/trials")) else { return BTreeMap::new() };
    let names = dir.map(|entry| entry.expect("an entry").file_name().into_string().expect("a name"));
    let whole = names.filter(|name| name.ends_with(".json"));
    let record = |name: String| {
        let text = place.read(&format!("out/trials/{name}"));
        (name, serde_json::from_str(&text).expect("a record is complete"))
    };
    whole.map(record).collect()
}

fn without_failure(records: &BTreeMap<String, Value>) -> usize {
    records.values().filter(|record| record["failure"].is_null()).count()
}

#[test]
fn each_trial_has_a_record() {
    let place = Place::new();
    place.write("p.toml", PLAN);
    let done = run(&place, &[]);
    assert_eq!(done.code, Some(0), "{}", done.err);
    assert!(done.out.starts_with("measured 6 trials: "), "{}", done.out);
    assert_eq!(done.err.lines().count(), 6, "a line for each trial: {}", done.err);
    let records = records(&place);
    assert_eq!((records.len(), without_failure(&records)), (6, 6));
    let got = &records["gets-0000.json"];
    assert_eq!(got["parameters"], serde_json::json!({"documents": 300, "threads": 1}));
    assert_eq!((&got["outcome"]["operations"], &got["prepared"]["documents"]), (&50.into(), &300.into()));
    assert_eq!((&got["plan"], &got["size"], &got["format"]), (&"p".into(), &"small".into(), &1.into()));
    let command = got["command"].as_array().expect("a list");
    assert_eq!((&command[0], &command[1]), (&"alluvium-bench".into(), &"get".into()));
    assert!(got["began"].as_str().is_some_and(|began| began.ends_with('Z')), "{got}");
    let figure = |path: &str| alluvium_workbench::record::figure(got, path).expect(path);
    for path in ["seconds", "process.cpu_seconds", "process.peak_memory_bytes", "machine.cores"] {
        assert!(figure(path) > 0.0, "{path}: {got}");
    }
    let used = figure("process.user_seconds") + figure("process.system_seconds");
    assert!((figure("process.cpu_seconds") - used).abs() < 1e-9, "{got}");
    // The process reads cold blocks, but in a file system in memory no bytes are read from a device.
    assert!(figure("process.read_bytes") >= 0.0, "{got}");
    let seeds: std::collections::BTreeSet<u64> =
        (0..4).map(|n| records[&format!("gets-000{n}.json")]["seed"].as_u64().expect("a seed")).collect();
    assert_eq!(seeds.len(), 4);
    assert!(!place.path("out/stores").exists(), "stores are removed at the end");
    let plan: alluvium_workbench::plan::Plan = serde_json::from_str(&place.read("out/plan.json")).expect("a plan");
    assert_eq!((plan.title.as_str(), plan.experiments.len()), ("Tiny trials", 2));
}

#[test]
fn trials_that_have_figures_do_not_run_again() {
    let place = Place::new();
    place.write("p.toml", PLAN);
    assert_eq!(run(&place, &[]).code, Some(0));
    let first = records(&place);
    std::fs::remove_file(place.path("out/trials/mixes-0001.json")).expect("a record");
    let again = run(&place, &[]);
    assert!(again.out.starts_with("measured 1 trial, and 5 trials before: "), "{}", again.out);
    let mut second = records(&place);
    assert_ne!(second.remove("mixes-0001.json"), None);
    assert!(second.iter().all(|(name, record)| first[name] == *record));
    let all = run(&place, &["--again", "--keep"]);
    assert!(all.out.starts_with("measured 6 trials: "), "{}", all.out);
    assert!(place.path("out/stores/p.0/ALLUVIUM").exists(), "the store of the gets is kept");
    assert!(place.path("out/stores/mixes-0000").exists());
}

#[test]
fn a_trial_that_fails_is_recorded_and_the_rest_runs() {
    let place = Place::new();
    place.write("p.toml", PLAN.replace("grid.find_rate = [0, 1]", "grid.find_rate = [0, 7, 1]"));
    let done = run(&place, &[]);
    assert_eq!(done.code, Some(1), "{}", done.out);
    assert!(done.err.contains("1 trial failed\nmixes-0001.json: exit status: 2: "), "{}", done.err);
    let failed = records(&place).remove("mixes-0001.json").expect("a record");
    assert!(failed["failure"].as_str().is_some_and(|why| why.contains("--find-rate is between 0 and 1")), "{failed}");
    assert_eq!((&failed["outcome"], &failed["parameters"]["find_rate"]), (&Value::Null, &7.into()));
    assert_eq!(without_failure(&records(&place)), 6);
    let again = run(&place, &[]);
    assert_eq!(again.code, Some(1));
    assert!(again.out.starts_with("measured 0 trials, and 6 trials before: "), "the failed one again: {}", again.out);
}

#[test]
fn a_store_that_cannot_be_prepared_fails_its_trials_alone() {
    let place = Place::new();
    place.write("p.toml", PLAN.replace("\"--settle\"", "\"--writers\", \"0\""));
    let done = run(&place, &[]);
    assert_eq!(done.code, Some(1), "{}", done.out);
    assert!(done.err.contains("4 trials failed"), "{}", done.err);
    assert_eq!(done.err.matches("the store could not be prepared: exit status: 2").count(), 8, "{}", done.err);
    assert_eq!(without_failure(&records(&place)), 2);
    let missing = PLAN.replace("\"--operations\", \"10\"", "\"--find-rate\", \"3\"");
    place.write("q.toml", missing);
    let done = place.run(&["run", "q.toml", "--out", "q"]);
    assert!(done.err.contains("gets-0000.json: the warm-up failed: exit status: 2"), "{}", done.err);
}

#[test]
fn output_that_is_no_json_is_a_failure() {
    let place = Place::new();
    place.write("p.toml", PLAN.replace("\"{seconds}\", \"--json\"", "\"{seconds}\""));
    let done = run(&place, &[]);
    assert_eq!(done.code, Some(1), "{}", done.out);
    assert!(done.err.contains("mixes-0000.json: what it printed is not JSON"), "{}", done.err);
    assert_eq!(without_failure(&records(&place)), 4);
}

#[test]
fn experiments_without_their_program_are_skipped_by_name() {
    let place = Place::new();
    place.write("p.toml", PLAN.replace("fresh = true", "fresh = true\nprogram = \"no-such-program\""));
    let done = run(&place, &[]);
    assert_eq!(done.code, Some(0), "{}", done.err);
    assert!(done.out.starts_with("measured 4 trials: "), "{}", done.out);
    assert!(done.out.contains("skipped mixes: there is no program no-such-program"), "{}", done.out);
    let skipped: Value = serde_json::from_str(&place.read("out/skipped.json")).expect("JSON");
    assert!(skipped["mixes"].as_str().is_some_and(|why| why.contains("no-such-program")), "{skipped}");
    place.write("q.toml", PLAN.replace("fresh = true", "fresh = true\nprogram = \"bench-peers\""));
    // If the program exists nevertheless, the trials fail, because it has no command `kv`.
    let mut command = place.command(&["run", "q.toml", "--out", "q"]);
    let done = command.env("PATH", "").output().expect("the binary");
    let out = String::from_utf8(done.stdout).expect("UTF-8");
    assert!(out.contains("skipped mixes: there is no program bench-peers: `make peers` builds it"), "{out}");
}

#[test]
fn experiments_whose_program_does_not_start_are_skipped_with_its_reason() {
    use std::os::unix::fs::PermissionsExt;
    let place = Place::new();
    place.write("p.toml", PLAN.replace("fresh = true", "fresh = true\nprogram = \"unlinked\""));
    std::fs::create_dir(place.path("bin")).expect("a directory");
    place.write("bin/unlinked", "#!/bin/sh\necho 'libsomething.so.1: cannot open shared object file' >&2\nexit 127\n");
    let program = place.path("bin/unlinked");
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).expect("permissions");
    let mut command = place.command(&["run", "p.toml", "--out", "out"]);
    let path = format!("{}:/usr/bin:/bin", program.parent().expect("a directory").display());
    let done = command.env("PATH", path).output().expect("the binary");
    let out = String::from_utf8(done.stdout).expect("UTF-8");
    assert_eq!(done.status.code(), Some(0), "{out}");
    let why = "skipped mixes: unlinked does not start: libsomething.so.1: cannot open shared object file";
    assert!(out.starts_with("measured 4 trials: ") && out.contains(why), "{out}");
}

#[test]
fn another_plan_or_size_in_a_directory_is_refused() {
    let place = Place::new();
    place.write("p.toml", PLAN);
    assert_eq!(run(&place, &[]).code, Some(0));
    let before = records(&place);
    let size = place.bad(2, &["run", "p.toml", "--out", "out", "--size", "machine"]);
    assert!(size.contains("out has records of the size small: name another directory"), "{size}");
    place.write("p.toml", PLAN.replace("grid.threads = [1, 2]", "grid.threads = [1, 3]"));
    let other = place.bad(2, &["run", "p.toml", "--out", "out", "--again"]);
    assert!(other.contains("another p, in the experiment gets"), "{other}");
    assert_eq!(records(&place), before);
    place.write("p.toml", PLAN.replace("cold = true", "cool = true"));
    let wrong = place.bad(2, &["run", "p.toml", "--out", "new"]);
    assert!(wrong.contains("p.toml:12: there is no key cool here: did you mean cold?"), "{wrong}");
    assert!(!place.path("new").exists(), "a wrong plan creates nothing");
}

/// Starts a plan whose trials are long enough to be interrupted, and waits until it has two records.
fn started(place: &Place) -> Child {
    let slow = PLAN.replace("small = 0.02", "small = 0.4").replace("[0, 1]", "[0, 0.1, 0.2, 0.3, 0.4, 0.5]");
    place.write("p.toml", slow.replace("repeats = 2", "repeats = 1").replace("[1, 2]", "[1]"));
    let child = place.start(&["run", "p.toml", "--out", "out"]);
    let deadline = Instant::now() + Duration::from_secs(60);
    while records(place).len() < 3 {
        assert!(Instant::now() < deadline, "no records within a minute");
        std::thread::sleep(Duration::from_millis(2));
    }
    child
}

/// Runs the plan to its end, and checks that trials that had ended keep their records.
fn finished_after(place: &Place, before: &BTreeMap<String, Value>) {
    let done = run(place, &[]);
    assert_eq!(done.code, Some(0), "{}", done.err);
    let after = records(place);
    assert_eq!((after.len(), without_failure(&after)), (7, 7), "{}", done.err);
    for (name, record) in before {
        assert_eq!(after[name], *record, "{name} ran again");
    }
    assert!(before.len() < 7, "the run was over before it was interrupted");
}

#[test]
fn an_interrupted_run_continues() {
    let place = Place::new();
    let child = started(&place);
    signal(&child, "INT");
    let interrupted = ended_soon(child);
    assert_eq!(interrupted.code, Some(130), "{}", interrupted.err);
    let line = "to continue: alluvium-bench run p.toml --out out --size small";
    assert!(interrupted.err.contains(line), "{}", interrupted.err);
    let before = records(&place);
    assert_eq!(without_failure(&before), before.len(), "the interrupted trial has no record");
    finished_after(&place, &before);
}

#[test]
fn a_killed_run_continues() {
    let place = Place::new();
    let mut child = started(&place);
    child.kill().expect("a child");
    let _killed = ended(child);
    finished_after(&place, &records(&place));
}
