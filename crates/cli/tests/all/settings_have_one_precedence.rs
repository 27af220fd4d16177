//! An option overrides the environment, which overrides the file, which overrides the default;
//! errors name the source.

use crate::common;
use crate::common::{Ended, Place};
use std::process::Stdio;

/// Runs the command in an environment that has only these settings.
fn run(place: &Place, variables: &[(&str, &str)], arguments: &[&str]) -> Ended {
    let mut command = place.command(arguments);
    command.env("XDG_CONFIG_HOME", place.path("xdg")).env_remove("ALLUVIUM_CONFIG").env_remove("ALLUVIUM_MEMORY");
    command.envs(variables.iter().copied()).stdout(Stdio::piped()).stderr(Stdio::piped());
    common::ended(command.spawn().expect("the binary"))
}

/// The memory budget in MiB.
fn memory(place: &Place, variables: &[(&str, &str)], arguments: &[&str]) -> u64 {
    let ended = run(place, variables, &[&["stats", "db", "--json"], arguments].concat());
    assert_eq!(ended.code, Some(0), "{}", ended.err);
    let stats: serde_json::Value = serde_json::from_str(&ended.out).expect("JSON");
    stats["memory_budget_bytes"].as_u64().expect("a number") >> 20
}

fn place() -> Place {
    let place = Place::new();
    place.good(&["put", "db", "pets", "rex", "{}"]);
    std::fs::create_dir_all(place.path("xdg/alluvium")).expect("a folder");
    place.write("xdg/alluvium/config.toml", "memory = \"32M\"\n");
    place.write("other.toml", "log = \"info\" # tells more\nmemory = 50331648\n");
    place
}

#[test]
fn settings_have_one_precedence() {
    let place = place();
    let other = ["--config", "other.toml"];
    let variable = [("ALLUVIUM_MEMORY", "64M")];
    assert_eq!(memory(&place, &[("XDG_CONFIG_HOME", "/nowhere")], &[]), 256);
    assert_eq!(memory(&place, &[], &[]), 32);
    assert_eq!(memory(&place, &[("ALLUVIUM_CONFIG", "other.toml")], &[]), 48);
    assert_eq!(memory(&place, &[("ALLUVIUM_CONFIG", "nowhere.toml")], &other), 48);
    assert_eq!(memory(&place, &variable, &other), 64);
    assert_eq!(memory(&place, &variable, &["--memory", "16M", "--config", "other.toml"]), 16);
}

#[test]
fn what_is_set_is_shown_with_where_it_comes_from() {
    let place = place();
    let shown = run(&place, &[("ALLUVIUM_READERS", "3")], &["config", "show", "--config", "other.toml"]).out;
    let line = |name: &str| shown.lines().find(|line| line.starts_with(name)).unwrap_or_else(|| panic!("{shown}"));
    assert!(line("configuration file").ends_with(": other.toml"), "{shown}");
    assert!(line("readers").ends_with("3  (from ALLUVIUM_READERS)"), "{shown}");
    assert!(line("memory").ends_with("50331648  (from other.toml:2)"), "{shown}");
    assert!(line("disk-reserve").ends_with("(default; ALLUVIUM_DISK_RESERVE)"), "{shown}");
    let json = run(&place, &[], &["config", "show", "--json"]).out;
    let json: serde_json::Value = serde_json::from_str(&json).expect("JSON");
    assert_eq!(json["settings"]["memory"]["value"], "32M");
    assert_eq!(json["settings"]["writers"]["from"], "default");
}

#[test]
fn what_is_wrong_is_named() {
    let place = place();
    let bad = |code: i32, variables: &[(&str, &str)], arguments: &[&str]| {
        let ended = run(&place, variables, arguments);
        assert_eq!(ended.code, Some(code), "{}{}", ended.out, ended.err);
        ended.err
    };
    place.write("bad.toml", "\nmemroy = \"1G\"\n");
    let said = bad(2, &[], &["count", "db", "pets", "--config", "bad.toml"]);
    assert_eq!(said, "alluvium: bad.toml:2: there is no setting memroy: did you mean memory?\n");
    let said = bad(2, &[("ALLUVIUM_WRITERS", "none")], &["count", "db", "pets"]);
    assert!(said.starts_with("alluvium: ALLUVIUM_WRITERS: \"none\" is not valid"), "{said}");
    assert!(bad(3, &[], &["count", "db", "pets", "--config", "nowhere.toml"]).contains("nowhere.toml"));
    bad(2, &[], &["count", "db", "pets", "--log", "loud"]);
    // A valid value that is too small.
    let said = bad(2, &[("ALLUVIUM_MEMORY", "1M")], &["count", "db", "pets"]);
    assert!(said.contains("ALLUVIUM_MEMORY: \"1M\"") && said.contains("at least 8M"), "{said}");
    place.write("small.toml", "memory = 5\n");
    let said = bad(2, &[], &["count", "db", "pets", "--config", "small.toml"]);
    assert!(said.contains("small.toml:1") && said.contains("at least 8M"), "{said}");
    let said = bad(2, &[], &["count", "db", "pets", "--memory", "7M"]);
    assert!(said.contains("--memory") && said.contains("at least 8M"), "{said}");
}

#[test]
fn the_log_tells_as_much_as_is_asked_for() {
    let place = place();
    assert_eq!(run(&place, &[], &["count", "db", "pets"]).err, "");
    let said = run(&place, &[], &["count", "db", "pets", "--log", "info"]).err;
    assert!(said.contains("info  opened db, which had been closed cleanly"), "{said}");
    assert!(said.contains("info  closed db") && !said.contains("debug"), "{said}");
    let said = run(&place, &[("ALLUVIUM_LOG", "debug")], &["compact", "db"]).err;
    assert!(said.contains("debug flushed a memtable of db/p00"), "{said}");
    let said = run(&place, &[], &["count", "db", "pets", "--log", "info", "--log-format", "json"]).err;
    let first: serde_json::Value = serde_json::from_str(said.lines().next().expect("a line")).expect("JSON");
    assert_eq!((first["level"].as_str(), first["message"].is_string()), (Some("info"), true), "{said}");
    let said = run(&place, &[("ALLUVIUM_LOG", "debug")], &["--log", "off", "compact", "db"]).err;
    assert_eq!(said, "");
}
