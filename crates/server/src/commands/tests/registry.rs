use crate::commands::*;
use crate::fields::Kind;
use std::fmt::Write;

const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/COMMANDS.md");

const HEAD: &str = "# Commands of the server

The commands that [the server](SERVER.md) answers, with their fields. A command that is not here is
answered by MongoDB's error 59; a field of another type than here by error 14 (73 for the name of a
collection, 9 for hints and updates), and one that is missing by error 40414. Other fields are
refused by error 40415 if the command is *strict*; else they are accepted and have no effect, except
for operators, which are refused by name ([COMPATIBILITY.md](COMPATIBILITY.md)). Each execution of
an *audited* command is a line of the audit log ([SERVER.md](SERVER.md#audit-log)).

All commands have the fields `$db`, `$readPreference`, `$clusterTime`, `lsid`, `txnNumber`,
`autocommit`, `startTransaction`, `readConcern`, `writeConcern`, `maxTimeMS`, `comment` and
`apiVersion`. This page is written by a test (`UPDATE=1 cargo test -p alluvium-server --lib
commands`).

| command | fields | writes | retried once | in transactions | on `admin` | strict | audited |
|---|---|---|---|---|---|---|---|
";

fn page() -> String {
    let mut page = HEAD.to_owned();
    let yes = |flag: bool| if flag { "yes" } else { "" };
    for command in all() {
        let names = [command.name].into_iter().chain(command.aliases.iter().copied());
        let names: Vec<String> = names.map(|name| format!("`{name}`")).collect();
        let fields = command.fields.iter().filter(|field| field.name != command.name);
        let fields: Vec<String> = fields.map(|field| format!("`{}`", field.name)).collect();
        let (writes, retried, admin) = (yes(command.may_write()), yes(command.retryable), yes(command.admin_only));
        let (names, fields) = (names.join(" "), fields.join(" "));
        let (strict, audited) = (yes(command.is_strict), yes(command.is_audited));
        let within = match command.in_transaction {
            InTransaction::No => "",
            InTransaction::Yes => "yes",
            InTransaction::Later => "not as the first",
            InTransaction::End => "as the last",
        };
        writeln!(page, "| {names} | {fields} | {writes} | {retried} | {within} | {admin} | {strict} | {audited} |")
            .expect("text");
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

/// The fast check of fields looks a name up among the fields of the command first, and then among those of all commands.
#[test]
fn a_field_of_all_commands_has_one_type() {
    for field in all().flat_map(|command| command.fields) {
        let common = crate::fields::COMMON.iter().find(|common| common.name == field.name);
        assert!(common.is_none_or(|common| common.kind == field.kind), "{}", field.name);
    }
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

/// Writes of documents are counted under their own kind, or are retryable. All other writes change users, roles, names,
/// indexes or settings, and must be audited.
#[test]
fn a_command_that_changes_more_than_documents_is_audited() {
    let ends = |command: &Command| command.in_transaction == InTransaction::End;
    let of_documents = |command: &Command| command.counts_itself || command.retryable || ends(command);
    for command in all().filter(|command| command.may_write()) {
        assert_eq!(command.is_audited, !of_documents(command), "{}", command.name);
    }
}

/// Commands that need an administrative action can change the data or the operations of other users. Such a command is
/// audited, or is in the list of commands that change nothing.
#[test]
fn a_command_for_administrators_is_audited_or_changes_nothing() {
    let reading = [
        "autoSplitVector",
        "checkShardingIndex",
        "connPoolStats",
        "currentOp",
        "getClusterParameter",
        "getCmdLineOpts",
        "getDefaultRWConcern",
        "getLog",
        "getParameter",
        "hostInfo",
        "invalidateUserCache",
        "lockInfo",
        "logApplicationMessage",
        "replSetGetConfig",
        "replSetGetStatus",
        "serverStatus",
        "top",
    ];
    for command in all().filter(|command| matches!(command.access, Access::Server(_))) {
        assert_eq!(command.is_audited, !reading.contains(&command.name), "{}", command.name);
    }
}

/// The listed commands ignore unknown fields; all other commands refuse them.
#[test]
fn commands_that_take_unknown_fields() {
    let lenient = [
        "abortTransaction",
        "applyOps",
        "cloneCollectionAsCapped",
        "collStats",
        "commitTransaction",
        "configureFailPoint",
        "connPoolStats",
        "convertToCapped",
        "createSearchIndexes",
        "currentOp",
        "dbHash",
        "driverOIDTest",
        "dropSearchIndex",
        "filemd5",
        "fsyncUnlock",
        "getClusterParameter",
        "getParameter",
        "hello",
        "isMaster",
        "isSelf",
        "killAllSessions",
        "killAllSessionsByPattern",
        "killOp",
        "killSessions",
        "listCommands",
        "planCacheClear",
        "planCacheClearFilters",
        "planCacheListFilters",
        "planCacheSetFilter",
        "replSetAbortPrimaryCatchUp",
        "replSetFreeze",
        "replSetGetConfig",
        "replSetGetStatus",
        "replSetInitiate",
        "replSetMaintenance",
        "replSetReconfig",
        "replSetStepDown",
        "replSetSyncFrom",
        "saslContinue",
        "saslStart",
        "serverStatus",
        "setClusterParameter",
        "setParameter",
        "startSession",
        "testVersion2",
        "top",
        "updateSearchIndex",
        "validate",
        "whatsmyuri",
    ];
    let found: Vec<&str> = all().filter(|command| !command.is_strict).map(|command| command.name).collect();
    assert_eq!(found, lenient);
}

#[test]
fn what_is_shown_of_a_command_has_no_secret() {
    for command in all().filter(|command| command.has_secrets()) {
        let mut body = Map::from([(command.name, Value::from("shown"))]);
        for field in command.fields.iter().filter(|field| field.name != command.name) {
            let secret = Map::from([("deep", Value::Array(vec![Value::from("hidden")]))]);
            let is_secret = field.handling == Handling::Secret;
            body.push(field.name, if is_secret { Value::Map(secret) } else { Value::from("shown") });
        }
        // The unknown field `password` must be hidden. Commands that are not strict accept it; strict commands refuse
        // the request before it is listed.
        body.push("password", "hidden");
        body.push("comment", "shown");
        let shown = command.shown(&Arc::new(body.clone()));
        assert!(!Value::Map(Map::clone(&shown)).to_string().contains("hidden"), "{shown}");
        let count = |map: &Map| map.iter().filter(|(_, value)| value.as_str() == Some("shown")).count();
        assert_eq!(count(&shown), count(&body), "{shown}");
    }
    // These commands refuse the nested command, but the request is listed before.
    let user = || Value::Map(Map::from([("createUser", Value::from("shown")), ("pwd", Value::from("hidden"))]));
    let entry = Value::Map(Map::from([("op", Value::from("c")), ("o", user())]));
    for (name, within) in [("explain", user()), ("applyOps", Value::Array(vec![entry]))] {
        let body = Map::from([(name, within), ("comment", Value::from("shown"))]);
        let shown = find(name).unwrap().shown(&Arc::new(body)).to_string();
        assert_eq!((shown.matches("shown").count(), shown.contains("hidden")), (2, false), "{shown}");
    }
    let secret: Vec<&str> = all().filter(|command| command.has_secrets()).map(|command| command.name).collect();
    assert_eq!(secret, ["authenticate", "createUser", "hello", "isMaster", "saslContinue", "saslStart", "updateUser"]);
}
