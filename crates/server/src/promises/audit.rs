//! The audit log.

use super::World;
use crate::config::Config;
use crate::fields::Fields;
use alluvium::{Map, Value, doc};
use alluvium_document::json;
use alluvium_env::{File, OpenMode};
use std::path::Path;
use std::sync::Arc;

const LOG: &str = "audit.jsonl";

fn text(file: &Arc<dyn File>) -> String {
    let mut bytes = vec![0; usize::try_from(file.len().expect("a length")).expect("short")];
    file.read_exact_at(&mut bytes, 0).expect("bytes");
    String::from_utf8(bytes).expect("text")
}

fn lines(world: &World, path: &str) -> Vec<Map> {
    let file = world.shared.env.fs.open(Path::new(path), OpenMode::Read).expect("a file");
    let line = |line: &str| match json::parse(line.as_bytes()) {
        Ok(Value::Map(line)) => line,
        other => panic!("{line}: {other:?}"),
    };
    text(&file).lines().map(line).collect()
}

fn audited() -> World {
    World::with(Config { audit: Some(LOG.into()), ..Config::default() })
}

#[test]
fn the_audit_log_has_a_line_for_each_act() {
    let world = audited();
    let connection = world.connect();
    connection.ok("zoo", doc! {"insert": "pets", "documents": [{"_id": 1}]});
    connection.ok("admin", doc! {"logApplicationMessage": "a message"});
    let user = doc! {"createUser": "root", "pwd": "secret", "roles": ["root"]};
    connection.ok("admin", user);
    connection.fails(13, "zoo", doc! {"find": "pets"});
    let lines = lines(&world, LOG);
    let of = |command: &str| lines.iter().filter(|line| line.text("command") == Some(command)).collect::<Vec<_>>();
    assert_eq!(of("insert"), Vec::<&Map>::new(), "a write of a document has no line");
    for (command, event, result) in [
        ("logApplicationMessage", "message", "ok"),
        ("createUser", "administration", "ok"),
        ("find", "refused", "Unauthorized"),
    ] {
        let [line] = of(command)[..] else { panic!("{command}: {lines:?}") };
        assert_eq!((line.text("event"), line.text("result")), (Some(event), Some(result)), "{line}");
        for field in ["time", "address", "user", "namespace"] {
            assert!(line.contains(field), "{field}: {line}");
        }
    }
    assert!(of("logApplicationMessage")[0].text("message") == Some("a message"));
    assert!(lines.iter().all(|line| !line.to_string().contains("secret")), "{lines:?}");
}

/// A pipeline that writes has a line with the collection that it writes, even if the pipeline fails. Other pipelines
/// have no line.
#[test]
fn pipelines_that_write_have_a_line() {
    let world = audited();
    let connection = world.connect();
    connection.ok("zoo", doc! {"insert": "pets", "documents": [{"_id": 1}]});
    for (stage, namespace, result) in [
        (doc! {"$match": {"_id": 1}}, None, "ok"),
        (doc! {"$out": "one"}, Some("zoo.one"), "ok"),
        (doc! {"$out": {"db": "farm", "coll": "two"}}, Some("farm.two"), "ok"),
        (doc! {"$merge": "three"}, Some("zoo.three"), "ok"),
        (doc! {"$merge": {"into": {"db": "farm", "coll": "four"}}}, Some("farm.four"), "ok"),
        (doc! {"$merge": {"into": "pets", "whenMatched": "fail"}}, Some("zoo.pets"), "DuplicateKey"),
    ] {
        let before = lines(&world, LOG).len();
        connection.run("zoo", doc! {"aggregate": "pets", "pipeline": [(stage.clone())], "cursor": {}});
        let lines = lines(&world, LOG).split_off(before);
        match (namespace, &lines[..]) {
            (None, []) => {}
            (Some(namespace), [line]) => {
                let shown =
                    ["event", "command", "namespace", "result"].map(|field| line.text(field).unwrap_or_default());
                assert_eq!(shown, ["administration", "aggregate", namespace, result], "{stage}");
            }
            other => panic!("{stage}: {other:?}"),
        }
    }
}

#[test]
fn the_audit_log_is_opened_again_after_it_was_renamed() {
    let world = audited();
    let connection = world.connect();
    let note = |text: &str| drop(connection.ok("admin", doc! {"logApplicationMessage": text}));
    note("one");
    world.shared.env.fs.rename(Path::new(LOG), Path::new("old.jsonl")).expect("a rename");
    note("two");
    world.shared.security.audit.reopen().expect("a file");
    note("three");
    let messages = |path: &str| {
        let of = |line: &Map| line.text("message").map(str::to_owned);
        lines(&world, path).iter().filter_map(of).collect::<Vec<_>>()
    };
    assert_eq!((messages("old.jsonl"), messages(LOG)), (vec!["one".into(), "two".into()], vec!["three".into()]));
    // A server that starts again appends to the file.
    world.shared.security.audit.reopen().expect("a file");
    note("four");
    assert_eq!(messages(LOG), ["three", "four"]);
}
