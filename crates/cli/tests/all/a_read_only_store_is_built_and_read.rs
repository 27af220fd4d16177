//! A read-only store gives the same results for every reading command as a database that loaded the same file. It
//! refuses every writing command, and its build reports errors in the input.

use crate::common::{Place, ended};
use std::io::Write;

fn loaded_and_built(place: &Place) -> Vec<String> {
    let lines = place.comments("c.jsonl", 600);
    place.good(&["load", "c.db", "comments", "c.jsonl", "--id-field", "id"]);
    let arguments = ["build", "c.ro", "comments", "c.jsonl", "--id-field", "id", "--memory", "8M"];
    // One parsing thread, because with several threads their order would affect the shapes, and thereby the size.
    let built = place.json(&[&arguments[..], &["--index-interval", "10,100", "--readers", "1", "--json"]].concat());
    assert_eq!(built["pairs"], 600);
    assert!(built["disk_ratio"].as_f64().expect("a ratio") < 0.22, "{built}");
    lines
}

#[test]
fn all_commands_that_read() {
    let place = Place::new();
    let lines = loaded_and_built(&place);
    let id = |at: usize| {
        let line: serde_json::Value = serde_json::from_str(&lines[at]).expect("a document");
        line["id"].as_str().expect("an id").to_owned()
    };
    let (first, last) = (id(100), id(300));
    for arguments in [
        vec!["scan"],
        vec!["scan", "--from", &first, "--to", &last, "--reverse", "--limit", "50"],
        vec!["scan", "--fields", "author,score"],
        vec!["get", &first, &last],
        vec!["get", &first, "--pretty"],
        vec!["get", &last, "--fields", "author"],
        vec!["count"],
        vec!["count", "--json"],
        vec!["export"],
        vec!["export", "--format", "bson"],
        vec!["export", "--format", "csv", "--fields", "_id,score"],
    ] {
        let on = |db: &str| {
            let command = [&arguments[..1], &[db, "comments"], &arguments[1..]].concat();
            let output = place.command(&command).output().expect("the binary");
            assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
            output.stdout
        };
        assert!(on("c.ro") == on("c.db"), "{arguments:?}");
    }
    for interval in ["10", "100", "0"] {
        let found = place.good(&["get", "c.ro", "comments", &first, "--index-interval", interval]);
        assert_eq!(found, place.good(&["get", "c.db", "comments", &first]));
    }
    assert_eq!(place.good(&["collections", "c.ro"]), "main.comments\n");
    let stats = place.json(&["stats", "c.ro", "--json"]);
    assert_eq!((&stats["pairs"], &stats["indexes"][0]["entries"]), (&600.into(), &60.into()));
    assert!(place.good(&["stats", "c.ro"]).contains("documents of main.comments"));
    assert!(place.good(&["verify", "c.ro"]).starts_with("no damage: 1 sorted file and its indexes"));
    assert!(place.bad(3, &["get", "c.ro", "comments", "absent"]).contains("not found"));
    assert!(place.bad(3, &["count", "c.ro", "comment"]).contains("did you mean main.comments?"));
}

#[test]
fn questions_are_answered_as_by_a_database() {
    let place = Place::new();
    loaded_and_built(&place);
    let some = r#"{"score": {"$gt": 3}}"#;
    let groups = r#"[{$match: {score: {$gt: 1}}}, {$group: {_id: "$subreddit", n: {$sum: 1}, score: {$avg: "$score"}}}, {$sort: {n: -1, _id: 1}}, {$limit: 5}]"#;
    for arguments in [
        vec!["find"],
        vec!["find", some, "--sort", r#"{"score": -1, "_id": 1}"#, "--skip", "2", "--limit", "10"],
        vec!["find", some, "--projection", r#"{"author": 1}"#],
        vec!["find", some, "--fields", "author,score", "--sort", r#"{"_id": -1}"#, "--format", "table"],
        vec!["find", r#"{"body": {"$regex": "the"}, "author": {"$ne": "x"}}"#, "--sort", r#"{"_id": 1}"#],
        vec!["find", r#"{"_id": {"$gte": "evn2", "$lt": "evn3"}}"#, "--sort", r#"{"_id": 1}"#],
        vec!["find", r#"{"auhtor": "x"}"#],
        vec!["count", some],
        vec!["count", r#"{"score": {"$gt": 100000}}"#, "--json"],
        vec!["count", "--by", "subreddit", "--limit", "5"],
        vec!["count", some, "--by", "subreddit,score", "--format", "csv"],
        vec!["distinct", "subreddit"],
        vec!["distinct", "score", some, "--counts", "--limit", "3"],
        vec!["distinct", "subreddit", "--json"],
        vec!["aggregate", groups, "--format", "table"],
        vec!["aggregate", "[{$sortByCount: '$score'}, {$match: {count: {$gt: 20}}}]", "--format", "csv"],
        vec!["aggregate", "[{$documents: [{a: 1}]}]"],
        vec!["export", "--where", some, "--sort", r#"{"_id": 1}"#, "--project", r#"{"score": 1}"#],
        vec!["export", "--pipeline", groups, "--format", "csv"],
    ] {
        let on = |db: &str| {
            let command = [&arguments[..1], &[db, "comments"], &arguments[1..]].concat();
            let ended = place.run(&command);
            assert_eq!(ended.code, Some(0), "{command:?}: {}", ended.err);
            // Without a sort, the order does not matter.
            let mut lines: Vec<String> = ended.out.lines().map(str::to_owned).collect();
            if !arguments.iter().any(|argument| argument.contains("sort")) {
                lines.sort_unstable();
            }
            (lines, ended.err)
        };
        assert_eq!(on("c.ro"), on("c.db"), "{arguments:?}");
    }
    let explained = place.json(&["find", "c.ro", "comments", r#"{"_id": "absent"}"#, "--explain", "--json"]);
    assert_eq!(explained["executionStats"]["totalDocsExamined"], 0, "{explained}");
    assert!(place.good(&["aggregate", "c.ro", "comments", groups, "--explain"]).contains("scan of all"));
    let lookup = "[{$lookup: {from: 'people', localField: 'author', foreignField: '_id', as: 'p'}}]";
    let said = place.bad(3, &["aggregate", "c.ro", "comments", lookup]);
    let expected =
        "c.ro is a read-only store with one collection, main.comments: a pipeline over it cannot read main.people";
    assert!(said.contains(expected), "{said}");
    for writes in ["[{$out: 'copy'}]", "[{$merge: 'copy'}]"] {
        let said = place.bad(1, &["aggregate", "c.ro", "comments", writes]);
        assert!(said.contains("c.ro is a read-only store, which never changes"), "{said}");
    }
    assert!(place.bad(3, &["find", "c.ro", "comments", "--hint", "score_1"]).contains("score_1"));
    assert!(place.bad(3, &["find", "c.ro", "others", "{}"]).contains("did you mean main.comments?"));
    assert!(place.bad(2, &["find", "c.ro", "comments", "{a: {$bad: 1}}"]).contains("$bad"));
}

#[test]
fn keys_and_values_are_found_by_their_fields() {
    let place = Place::new();
    let pair = |key: &str, value: &str| {
        let mut pair = Vec::new();
        alluvium::prefixed::write_pair(key.as_bytes(), value.as_bytes(), &mut pair);
        pair
    };
    place.write("pairs.bin", [pair("b", "2"), pair("a", "1"), pair("c", "1")].concat());
    place.good(&["build", "p.ro", "pairs", "pairs.bin", "--key-values"]);
    let all = place.good(&["find", "p.ro", "pairs", "{value: '1'}", "--sort", "{_id: -1}"]);
    assert_eq!(all, "{\"_id\":\"c\",\"value\":\"1\"}\n{\"_id\":\"a\",\"value\":\"1\"}\n");
    assert_eq!(place.good(&["count", "p.ro", "pairs", "{_id: {$gt: 'a'}}"]), "2\n");
    assert_eq!(place.good(&["count", "p.ro", "pairs", "--by", "value", "--format", "csv"]), "value,count\n1,2\n2,1\n");
}

#[test]
fn all_commands_that_write_are_refused() {
    let place = Place::new();
    loaded_and_built(&place);
    for arguments in [
        vec!["put", "c.ro", "comments", "x", "{}"],
        vec!["delete", "c.ro", "comments", "x"],
        vec!["update", "c.ro", "comments", "x", r#"{"$set": {"a": 1}}"#],
        vec!["update", "c.ro", "comments", "--where", "{}", r#"{"$set": {"a": 1}}"#],
        vec!["delete", "c.ro", "comments", "--where", "{}"],
        vec!["load", "c.ro", "comments", "c.jsonl"],
        vec!["drop", "c.ro", "comments", "--yes"],
        vec!["rename", "c.ro", "comments", "others"],
        vec!["compact", "c.ro"],
    ] {
        assert!(place.bad(1, &arguments).contains("c.ro is a read-only store, which never changes"), "{arguments:?}");
    }
    assert!(place.bad(1, &["build", "c.ro", "comments", "c.jsonl"]).contains("is already a read-only store"));
    assert!(place.bad(1, &["build", "c.db", "comments", "c.jsonl"]).contains("c.db is not empty"));
    assert_eq!(place.good(&["count", "c.ro", "comments"]), "600\n");
}

#[test]
fn wrong_arguments_and_input_leave_nothing() {
    let place = Place::new();
    place.write("c.jsonl", "{\"_id\": 1}\n{\"_id\": 2}\n{\"_id\": 1, \"b\": true}\n");
    place.write("bad.jsonl", "{\"_id\": 1}\nno document\n{\"_id\": 2}\n");
    let build = |code: i32, more: &[&str]| place.bad(code, &[&["build", "x.ro", "c"], more].concat());
    assert!(build(3, &["absent.jsonl"]).contains("absent.jsonl"));
    assert!(build(1, &["bad.jsonl"]).contains("bad.jsonl line 2 column 2"));
    assert!(build(4, &["c.jsonl"]).contains("c.jsonl document 3: collection main.c already has a document with _id 1"));
    assert!(build(2, &["c.jsonl", "--index-interval", "0"]).contains("--index-interval"));
    assert!(build(2, &["c.jsonl", "--index-interval", "ten"]).contains("--index-interval"));
    assert!(build(2, &["c.jsonl", "--block-size", "100"]).contains("512 to 1M"));
    assert!(build(2, &["c.jsonl", "--memory", "1M"]).contains("at least 8M"));
    assert!(build(2, &["c.jsonl", "--rejects", "r"]).contains("--skip-bad"));
    assert!(build(2, &["-", "-"]).contains("only once"));
    assert!(build(2, &["c.jsonl", "--key-values", "--id-field", "id"]).contains("--key-values"));
    assert!(place.bad(2, &["build", "x.ro", "system$", "c.jsonl"]).contains("not allowed"));
    assert!(!place.path("x.ro").is_dir());

    for (how, expected) in
        [("replace", "{\"_id\":1,\"b\":true}\n{\"_id\":2}\n"), ("skip", "{\"_id\":1}\n{\"_id\":2}\n")]
    {
        let db = format!("{how}.ro");
        let out = place.good(&["build", &db, "c", "c.jsonl", "--on-duplicate", how]);
        assert!(out.contains("left out 1 duplicate"), "{out}");
        assert_eq!(place.good(&["scan", &db, "c"]), expected);
    }
    place.good(&["build", "skipped.ro", "c", "bad.jsonl", "--skip-bad", "--rejects", "rejects.jsonl"]);
    assert_eq!(place.good(&["count", "skipped.ro", "c"]), "2\n");
    assert!(place.read("rejects.jsonl").contains("\"line\":2"));
    let what = place.bad(2, &["get", "skipped.ro", "c", "1", "--index-interval", "10"]);
    assert!(what.contains("this store was built without index files"), "{what}");
    place.good(&["load", "c.db", "c", "bad.jsonl", "--on-bad", "skip"]);
    assert!(place.bad(2, &["get", "c.db", "c", "1", "--index-interval", "10"]).contains("c.db is a database"));
}

#[test]
fn several_files_standard_input_and_compression() {
    let place = Place::new();
    let packed = zstd::encode_all(&b"{\"_id\": 1}\n{\"_id\": 2}\n"[..], 3).expect("memory");
    place.write("one.jsonl.zst", packed);
    place.write("two.csv", "_id,b\n3,x\n4,y\n");
    let arguments = ["build", "x.ro", "logical.c", "one.jsonl.zst", "two.csv", "-"];
    let ended = place.run_with(&arguments, b"{\"_id\": 0}\n");
    assert_eq!(ended.code, Some(0), "{}", ended.err);
    let all = "{\"_id\":0}\n{\"_id\":1}\n{\"_id\":2}\n{\"_id\":3,\"b\":\"x\"}\n{\"_id\":4,\"b\":\"y\"}\n";
    assert_eq!(place.good(&["scan", "x.ro", "logical.c"]), all);
}

#[test]
fn many_processes_read_at_once() {
    let place = Place::new();
    let lines = loaded_and_built(&place);
    let readers: Vec<_> = (0..8)
        .map(|n| match n % 2 {
            0 => place.start(&["scan", "c.ro", "comments"]),
            _ => place.start(&["verify", "c.ro"]),
        })
        .collect();
    // All processes keep the store open until their output is read, so they have it open at the same time.
    let scans: Vec<String> = readers
        .into_iter()
        .map(|child| {
            let ended = ended(child);
            assert_eq!(ended.code, Some(0), "{}", ended.err);
            ended.out
        })
        .collect();
    assert_eq!(scans[0].lines().count(), lines.len());
    assert!(scans.iter().step_by(2).all(|scan| *scan == scans[0]));
}

#[test]
fn a_killed_build_leaves_nothing_that_opens_and_the_next_one_cleans_up() {
    let place = Place::new();
    let mut child = place.start(&["build", "x.ro", "c", "-", "--memory", "8M"]);
    let mut stdin = child.stdin.take().expect("a pipe");
    let filler = "x".repeat(2000);
    let line = |n: u32| format!("{{\"_id\": {n}, \"text\": \"{n} {filler}\"}}\n");
    // More data than the memory budget holds, so that runs are written to the disk.
    for n in 0..10_000 {
        stdin.write_all(line(n).as_bytes()).expect("the build reads");
    }
    child.kill().expect("a child");
    drop(stdin);
    assert_eq!(ended(child).code, None);
    let names = || -> Vec<String> {
        let entries = std::fs::read_dir(place.path("x.ro")).expect("a directory");
        let mut names: Vec<String> =
            entries.map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned()).collect();
        names.sort();
        names
    };
    assert!(names().iter().any(|name| name.starts_with("run-")), "{:?}", names());
    let what = place.bad(1, &["count", "x.ro", "c"]);
    assert!(what.contains("the build of x.ro is incomplete: run it again"), "{what}");
    place.write("c.jsonl", "{\"_id\": 1}\n");
    place.good(&["build", "x.ro", "c", "c.jsonl"]);
    assert_eq!(names(), ["LOCK", "READONLY", "data.sst"]);
    assert_eq!(place.good(&["scan", "x.ro", "c"]), "{\"_id\":1}\n");
}

#[test]
fn damage_is_named_with_its_exit_code() {
    let place = Place::new();
    loaded_and_built(&place);
    let path = place.path("c.ro/data.sst");
    let mut bytes = std::fs::read(&path).expect("a file");
    bytes[1000] ^= 1;
    std::fs::write(&path, &bytes).expect("space");
    assert!(place.bad(5, &["scan", "c.ro", "comments"]).contains("data.sst is damaged at offset"));
    assert!(place.run(&["verify", "c.ro"]).out.contains("data.sst is damaged at offset"));
    bytes.truncate(5000);
    std::fs::write(&path, &bytes).expect("space");
    assert!(place.bad(5, &["count", "c.ro", "comments"]).contains("data.sst is damaged at offset"));
}

#[test]
fn each_of_its_files_can_be_inspected() {
    let place = Place::new();
    loaded_and_built(&place);
    let superblock = place.good(&["inspect", "c.ro/READONLY"]);
    for says in ["kind: superblock of a read-only store", "collection: main.comments", "file: name index-10.idx"] {
        assert!(superblock.contains(says), "{says}: {superblock}");
    }
    let index = place.good(&["inspect", "c.ro/index-10.idx"]);
    for says in ["kind: index file", "interval: 10", "index entries: 60", "role index partition"] {
        assert!(index.contains(says), "{says}: {index}");
    }
    // Files with other names are recognized by their content.
    for name in ["index-10.idx", "READONLY"] {
        std::fs::copy(place.path("c.ro").join(name), place.path("copy")).expect("space");
        let (copy, file) = (place.good(&["inspect", "copy"]), place.good(&["inspect", &format!("c.ro/{name}")]));
        assert_eq!(copy.lines().skip(1).collect::<Vec<_>>(), file.lines().skip(1).collect::<Vec<_>>());
    }
    assert!(place.good(&["inspect", "c.ro/data.sst"]).contains("entries read: 600"));
    let mut bytes = std::fs::read(place.path("c.ro/READONLY")).expect("a file");
    bytes[40] ^= 1;
    std::fs::write(place.path("c.ro/READONLY"), &bytes).expect("space");
    let ended = place.run(&["inspect", "c.ro/READONLY"]);
    assert!(ended.code == Some(5) && ended.out.contains("damage at offset"), "{ended:?}");
}

#[test]
fn what_does_not_go_on_it_says_what_does() {
    let place = Place::new();
    loaded_and_built(&place);
    for (arguments, says) in [
        (&["shell", "c.ro"][..], "`get`, `scan`, `find`"),
        (&["checkpoint", "c.ro", "ck"], "a copy of its directory is a whole backup"),
        (&["dump", "c.ro", "dumped"], "`export` writes its documents"),
        (&["compact", "c.ro"], "nothing to compact"),
        (&["repair", "c.ro", "--to", "new"], "built again from its source"),
    ] {
        let said = place.bad(1, arguments);
        assert!(said.contains("c.ro is a read-only store") && said.contains(says), "{arguments:?}: {said}");
        assert!(!said.contains("build another one"), "{arguments:?}: {said}");
    }
    std::fs::remove_file(place.path("c.ro/index-100.idx")).expect("a file");
    let ended = place.run(&["verify", "c.ro"]);
    assert_eq!((ended.code, ended.out.lines().count()), (Some(5), 1), "{ended:?}");
    assert!(ended.out.contains("index-100.idx is damaged at offset 0: the file is missing"), "{ended:?}");
    assert!(ended.err.contains("`alluvium build`") && !ended.err.contains("repair"), "{ended:?}");
    assert!(place.bad(5, &["get", "c.ro", "comments", "x", "--index-interval", "100"]).contains("missing"));
    std::fs::remove_file(place.path("c.ro/data.sst")).expect("a file");
    let ended = place.run(&["verify", "c.ro"]);
    assert!(ended.code == Some(5) && ended.out.contains("data.sst is damaged at offset 0: the file is missing"));
    assert!(ended.err.contains("`alluvium build`"), "{ended:?}");
}
