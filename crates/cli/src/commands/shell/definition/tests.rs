use super::*;
use crate::config::Config;
use crate::exit;

fn commands(collection: Option<&str>) -> clap::Command {
    let context = Context { definition: crate::app::definition, config: &Config::default(), run_for_visitor: |_| 0 };
    definition(context, Path::new("my.db"), collection)
}

fn read(collection: Option<&str>, line: &str) -> Outcome<Option<Command>> {
    let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
    parse(&mut commands(collection), &words)
}

fn refused(collection: Option<&str>, line: &str) -> String {
    let failure = read(collection, line).expect_err("wrong");
    assert_eq!(failure.exit_code(), exit::USAGE, "{line}");
    failure.to_string()
}

#[test]
fn the_definitions_are_consistent_with_and_without_a_collection() {
    commands(None).debug_assert();
    commands(Some("pets")).debug_assert();
}

#[test]
fn commands_are_read_without_what_the_shell_knows() {
    let shown = |collection, line: &str| format!("{:?}", read(collection, line).expect("a command"));
    let get = shown(None, "get pets rex --pretty");
    assert!(get.contains("\"my.db\"") && get.contains("\"pets\"") && get.contains("[\"rex\"]"), "{get}");
    assert_eq!(shown(Some("pets"), "get rex --pretty"), get);
    assert_eq!(shown(Some("cats"), "get --collection pets rex --pretty"), get);
    let all = shown(Some("pets"), "stats");
    assert_eq!(all, shown(None, "stats"));
    assert!(shown(Some("pets"), "mv get by_author me").contains("by_author"));
    assert!(shown(Some("pets"), "restore dumped").contains("\"dumped\""));
}

#[test]
fn what_is_not_for_the_shell_is_refused() {
    for line in ["shell my.db", "man pages", "completions bash", "build my.ro c x", "config show", "nonsense"] {
        assert!(refused(None, line).contains("unrecognized subcommand"), "{line}");
    }
    let memory = refused(None, "count pets --memory 1G");
    assert!(memory.contains("--memory is for opening"), "{memory}");
    assert!(refused(None, "count pets --database other.db").contains("leave it out"));
    assert!(refused(None, "load pets a.jsonl --partitions 8").contains("--partitions"));
    assert!(refused(Some("pets"), "put rex").contains("<JSON>"));
    assert!(refused(None, "count").contains("<COLLECTION>"));
}

#[test]
fn help_shows_no_pipes() {
    for collection in [None, Some("pets")] {
        for mut command in commands(collection).get_subcommands().cloned() {
            let help = command.render_long_help().to_string();
            let pipe = [" < ", " | ", " > "].iter().find(|pipe| help.contains(**pipe));
            assert!(pipe.is_none(), "{}: {help}", command.get_name());
        }
    }
    let put = commands(None).find_subcommand_mut("put").expect("a command").render_long_help().to_string();
    assert!(put.contains("put pets rex '{") && !put.contains("document.json"), "{put}");
}

#[test]
fn help_shows_no_database() {
    let mut definition = commands(None);
    let help = definition.render_help().to_string();
    assert!(help.contains("count") && help.contains("use [COLLECTION]") && !help.contains("completions"), "{help}");
    let load = definition.find_subcommand_mut("load").expect("a command").render_long_help().to_string();
    assert!(
        load.contains("  load airports airports.csv") && !load.contains("--memory") && !load.contains("DB"),
        "{load}"
    );
}

#[test]
fn examples_are_as_they_are_typed() {
    let examples = |collection: Option<&str>, command: &str| {
        let mut all = commands(collection);
        let found = all.find_subcommand_mut(command).expect("a command");
        found.get_after_help().map(ToString::to_string).unwrap_or_default()
    };
    for command in [
        "find",
        "delete",
        "update",
        "count",
        "load",
        "put",
        "get",
        "scan",
        "export",
        "distinct",
        "aggregate",
        "describe",
    ] {
        for collection in [None, Some("pets")] {
            for line in examples(collection, command).lines() {
                let line = line.strip_prefix("Example: ").unwrap_or(line).trim_start();
                let Some(rest) = line.strip_prefix(&format!("{command} ")) else { continue };
                assert!(!rest.starts_with("my.db"), "{line}");
                let first = rest.split(' ').next().unwrap_or_default();
                let names =
                    ["comments", "pets", "pages", "orders", "events", "airports", "licences", "users"].contains(&first);
                assert_eq!(names, collection.is_none(), "{collection:?}: {line}");
            }
        }
    }
    let find = examples(Some("pets"), "find");
    assert!(find.contains("\n  find '{\"author\": \"ann\"}' --explain\n"), "{find}");
    assert!(examples(None, "find").contains("\n  find comments '{\"author\": \"ann\"}' --explain\n"));
    assert!(examples(Some("pets"), "count").contains("\n  count\n"), "{}", examples(Some("pets"), "count"));
}

#[test]
fn usage_begins_with_the_command() {
    let help =
        |line: &str| commands(None).try_get_matches_from(line.split(' ')).expect_err("help is no command").to_string();
    assert!(help("get --help").contains("\nUsage: get [OPTIONS] <COLLECTION> <ID>..."), "{}", help("get --help"));
    assert!(help("mv get --help").contains("\nUsage: mv get [OPTIONS] <SET> <KEY>"), "{}", help("mv get --help"));
    let two = "\nUsage: update [OPTIONS] <COLLECTION> <ID> <UPDATE>\n       update [OPTIONS] <COLLECTION> --where <FILTER> <UPDATE>\n";
    assert!(help("update --help").contains(two), "{}", help("update --help"));
    assert!(refused(Some("pets"), "index drop").contains("\n       index drop [OPTIONS] --all"));
    assert!(refused(None, "count").contains("Usage: count "), "{}", refused(None, "count"));
}

#[test]
fn a_definition_is_used_again_with_the_same_answers() {
    let mut kept = commands(None);
    let words = |line: &str| -> Vec<String> { line.split(' ').map(str::to_owned).collect() };
    let lines = [
        "get pets rex --pretty",
        "get pets",
        "get pets rex --nonsense",
        "mv get",
        "mv get pets me",
        "mv nonsense",
        "update pets rex",
        "update pets rex {}",
        "count pets --memory 1G",
        "gte pets rex",
        "select pets",
        "load",
        "index drop",
    ];
    for _ in 0..3 {
        for line in lines {
            let shown = |parsed: Outcome<Option<Command>>| parsed.map_or_else(|f| f.to_string(), |c| format!("{c:?}"));
            let first = shown(parse(&mut commands(None), &words(line)));
            assert_eq!(shown(parse(&mut kept, &words(line))), first, "{line}");
        }
    }
}
