use crate::commands::*;
use crate::fields::Kind;
use std::fmt::Write;

const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/COMMANDS.md");

const HEAD: &str = "# Commands of the server

The commands that [the server](SERVER.md) answers, with their fields. A command that is not here is
answered by MongoDB's error 59; a field of another type than here by error 14 (73 for the name of a
collection, 9 for hints and updates), and one that is missing by error 40414. Other fields are
refused by error 40415 if the command is *strict*; else they are accepted and have no effect, except
for operators, which are refused by name ([COMPATIBILITY.md](COMPATIBILITY.md)).

All commands have the fields `$db`, `$readPreference`, `$clusterTime`, `lsid`, `txnNumber`,
`readConcern`, `writeConcern`, `maxTimeMS`, `comment` and `apiVersion`. This page is written by a
test (`UPDATE=1 cargo test -p alluvium-server --lib commands`).

| command | fields | writes | retried once | on `admin` | strict |
|---|---|---|---|---|---|
";

fn page() -> String {
    let mut page = HEAD.to_owned();
    let yes = |flag: bool| if flag { "yes" } else { "" };
    for command in all() {
        let names = [command.name].into_iter().chain(command.aliases.iter().copied());
        let names: Vec<String> = names.map(|name| format!("`{name}`")).collect();
        let fields = command.fields.iter().filter(|field| field.name != command.name);
        let fields: Vec<String> = fields.map(|field| format!("`{}`", field.name)).collect();
        let (writes, retried, admin) = (yes(command.writes), yes(command.retryable), yes(command.admin_only));
        let (names, fields, strict) = (names.join(" "), fields.join(" "), yes(command.is_strict));
        writeln!(page, "| {names} | {fields} | {writes} | {retried} | {admin} | {strict} |").expect("text");
    }
    page
}

#[test]
#[allow(clippy::disallowed_methods)]
fn the_page_of_commands_is_that_of_the_registry() {
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(PAGE, page()).expect("the page");
    }
    let written = std::fs::read_to_string(PAGE).expect("the page");
    assert_eq!(written, page(), "UPDATE=1 cargo test -p alluvium-server --lib commands");
}

#[test]
fn names_are_unique_and_in_order() {
    let names: Vec<String> = all().map(|command| command.name.to_lowercase()).collect();
    assert!(names.is_sorted(), "{names:?}");
    let all: Vec<&str> =
        all().flat_map(|command| [command.name].into_iter().chain(command.aliases.iter().copied())).collect();
    let unique: std::collections::BTreeSet<&str> = all.iter().copied().collect();
    assert_eq!(all.len(), unique.len());
    assert!(find("find").is_some() && find("ismaster").is_some() && find("Find").is_none());
}

#[test]
fn a_command_that_names_its_argument_requires_it() {
    for command in all() {
        let argument = command.fields.iter().find(|field| field.name == command.name);
        assert!(argument.is_none_or(|field| field.required || field.kind == Kind::Any), "{}", command.name);
    }
}
