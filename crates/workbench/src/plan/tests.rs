//! Plan files in memory: how they are resolved, and which are refused.

use super::*;
use alluvium_env::{Env, OpenMode};
use serde_json::json;
use std::path::Path;

const GOOD: &str = r#"
title = "Gets"
[values]
documents = { small = 200, machine = 5_000, published = 146_900_000 }
seconds = 2
unused = 1
[[experiment]]
name = "get-by-threads"
title = "Gets by threads"
prepare = ["load", "{store}", "c", "--docs", "{documents}", "--json"]
command = ["get", "{store}", "c", "--threads", "{threads}", "--how", "{how}", "--seconds", "{seconds}", "--seed", "{seed}"]
repeats = { small = 2, machine = 3, published = 3 }
grid.threads = { small = [1, 4], machine = [1, 4, 16], published = [1, 64] }
grid.how = ["warm", "x"]
[[experiment.chart]]
title = "Gets a second"
kind = "line"
x = "threads"
x_scale = "log2"
y = "outcome.rate"
series = ["how"]
published = [{ name = "Author, Title", points = [[1, 3200], ["four", 12.5]] }]
"#;

fn write(env: &Env, path: &str, text: &str) {
    let path = Path::new(path);
    if env.fs.exists(path).expect("a directory") {
        env.fs.remove(path).expect("a file");
    }
    env.fs.open(path, OpenMode::CreateNew).expect("a file").write_at(text.as_bytes(), 0).expect("space");
}

fn read_text(text: &str) -> Result<Plan, PlanError> {
    let env = Env::in_memory(1);
    env.fs.create_dir_all(Path::new("p")).expect("a directory");
    write(&env, "p/get.toml", text);
    read(&env, Path::new("p/get.toml"), Size::Small, 1)
}

/// The error message for a plan in which the text `from` is replaced by `to`.
fn wrong(from: &str, to: &str) -> String {
    assert!(GOOD.contains(from), "{from}");
    read_text(&GOOD.replacen(from, to, 1)).expect_err("a wrong plan").to_string()
}

#[test]
fn a_plan_is_resolved_for_a_size() {
    let plan = read_text(GOOD).expect("a plan");
    assert_eq!((plan.name.as_str(), plan.title.as_str(), plan.size), ("get", "Gets", Size::Small));
    let experiment = &plan.experiments[0];
    assert_eq!((experiment.program.as_str(), experiment.repeats), ("alluvium-bench", 2));
    assert_eq!(experiment.values, [("documents".to_owned(), json!(200)), ("seconds".to_owned(), json!(2))].into());
    assert_eq!(experiment.grid["threads"], [json!(1), json!(4)]);
    assert_eq!(experiment.charts[0].published[0].points[1], (json!("four"), 12.5));
    let json = serde_json::to_string(&plan).expect("JSON");
    assert_eq!(serde_json::from_str::<Plan>(&json).expect("a plan"), plan);
}

#[test]
fn every_combination_runs_as_often_as_it_should() {
    let plan = read_text(GOOD).expect("a plan");
    let all = trials(&plan);
    let names: std::collections::BTreeSet<String> = all.iter().map(Trial::file_name).collect();
    assert_eq!((all.len(), names.len()), (2 * 2 * 2, 8));
    let seeds: std::collections::BTreeSet<u64> = all.iter().map(|trial| trial.seed).collect();
    assert_eq!(seeds.len(), 8);
    for how in ["warm", "x"] {
        for threads in [1, 4] {
            let is = |trial: &&Trial<'_>| trial.parameters["how"] == how && trial.parameters["threads"] == threads;
            assert_eq!(all.iter().filter(is).map(|trial| trial.repeat).sum::<u32>(), 1, "repeats 0 and 1");
        }
    }
    assert_eq!(all.iter().find(|trial| trial.number == 0).expect("the first").label(), "how=warm threads=1");
}

#[test]
fn the_order_of_trials_depends_on_the_seed_alone() {
    let plan = read_text(GOOD).expect("a plan");
    let numbers = |seed| trials(&Plan { seed, ..plan.clone() }).iter().map(|trial| trial.number).collect::<Vec<_>>();
    assert_eq!(numbers(1), numbers(1));
    assert_ne!(numbers(1), numbers(2));
    assert_ne!(numbers(1), (0..8).collect::<Vec<_>>());
}

#[test]
fn placeholders_are_names_in_braces() {
    let arguments = ["{a}-{b_1}".to_owned(), "{\"x\": 1}{{a}".to_owned(), "{}{ a}{c}".to_owned()];
    assert_eq!(placeholders(&arguments), ["a", "b_1", "a", "c"]);
    let value = |name: &str| (name != "c").then(|| name.to_uppercase());
    assert_eq!(fill(&arguments, &value), ["A-B_1", "{\"x\": 1}{A", "{}{ a}{c}"]);
}

#[test]
fn unknown_keys_are_named_with_their_line() {
    assert_eq!(wrong("repeats =", "repaets ="), "p/get.toml:12: there is no key repaets here: did you mean repeats?");
    let chart = wrong("x_scale", "zoom");
    assert!(chart.starts_with("p/get.toml:19: there is no key zoom here: there are title, kind, x, "), "{chart}");
    assert!(wrong("[values]", "[vales]").contains(":3: there is no key vales here: did you mean values?"));
    assert!(wrong("points =", "pionts =").contains(":22: there is no key pionts here: did you mean points?"));
    let size = wrong("machine = 5_000", "maschine = 5_000");
    assert!(size.contains(":4: documents: there is no size maschine"), "{size}");
}

#[test]
fn what_no_trial_can_follow_is_refused() {
    for (from, to, what) in [
        ("small = [1, 4]", "small = []", ":13: grid.threads is an empty list"),
        ("grid.how = [\"warm\", \"x\"]", "grid.how = \"warm\"", ":14: grid.how: write a list"),
        ("grid.how = [\"warm\", \"x\"]", "grid.how = [[1]]", ":14: grid.how: write a number"),
        ("small = [1, 4], ", "", ":13: grid.threads has no value for the size small"),
        ("seconds = 2", "second = 2", ":11: {seconds} has no value, in [values] or the grid: did you mean {second}?"),
        ("\"{how}\"", "\"how\"", ":14: grid.how is not used"),
        ("unused = 1", "threads = 1", ":13: threads has a value already"),
        ("name = \"get-by-threads\"", "name = \"get by\"", ":8: \"get by\" is not a name"),
        ("small = 2, machine = 3", "small = 0, machine = 3", ":12: repeats is a number between 1 and 1000"),
        ("\"load\", \"{store}\"", "\"load\", \"store\"", ":10: prepare makes a store"),
        ("x = \"threads\"", "x = \"thread\"", "the grid has no parameter thread: did you mean threads?"),
        ("series = [\"how\"]", "ratio = true", "a ratio needs the series engine"),
        ("y = \"outcome.rate\"", "", "y is missing"),
        ("kind = \"line\"", "kind = \"table\"", "a table needs columns"),
        (
            "x = \"threads\"",
            "x = \"threads\"\nshare_of = \"reads\"",
            ":15: Gets a second: no experiment reads is before",
        ),
        ("title = \"Gets\"", "title = ", ":2: "),
    ] {
        let message = wrong(from, to);
        assert!(message.contains(what), "{to}: {message}");
    }
    assert!(read_text("title = \"x\"").expect_err("nothing").to_string().contains("has no experiment"));
}

#[test]
fn plans_include_others() {
    let env = Env::in_memory(1);
    env.fs.create_dir_all(Path::new("p")).expect("a directory");
    write(&env, "p/get.toml", GOOD);
    write(&env, "p/all.toml", "title = \"All\"\ninclude = [\"get.toml\", \"more.toml\"]\n");
    let all = |env: &Env| read(env, Path::new("p/all.toml"), Size::Small, 1);
    let missing = all(&env).expect_err("a plan is missing").to_string();
    assert_eq!(missing, "p/all.toml:2: there is no plan p/more.toml to include");
    write(&env, "p/more.toml", GOOD);
    let twice = all(&env).expect_err("a name is taken").to_string();
    assert_eq!(twice, "p/more.toml:8: the plan get has an experiment get-by-threads, too");
    write(&env, "p/more.toml", &GOOD.replace("get-by-threads", "get-by-other"));
    let plan = all(&env).expect("a plan");
    let of = |at: usize| (plan.experiments[at].plan.as_str(), plan.experiments[at].name.as_str());
    assert_eq!((of(0), of(1)), (("get", "get-by-threads"), ("more", "get-by-other")));
    assert_eq!((plan.name.as_str(), plan.title.as_str()), ("all", "All"));
    write(&env, "p/more.toml", "title = \"x\"\ninclude = [\"all.toml\"]");
    write(&env, "p/get.toml", "title = \"x\"\ninclude = [\"all.toml\"]");
    let circle = all(&env).expect_err("a circle").to_string();
    assert!(circle.contains("include each other"), "{circle}");
}
