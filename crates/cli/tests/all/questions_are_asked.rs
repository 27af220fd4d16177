//! `find`, `count` and `distinct` with filters, with and without an index; `--explain`; error
//! messages.

use crate::common::Place;

fn pets() -> Place {
    let place = Place::new();
    let lines: Vec<String> = (0..50)
        .map(|n| {
            let kind = ["dog", "cat", "fish"][n % 3];
            format!("{{\"_id\":{n},\"kind\":\"{kind}\",\"age\":{},\"toys\":[\"a\",\"b{n}\"]}}\n", n / 3)
        })
        .collect();
    place.write("pets.jsonl", lines.concat());
    place.good(&["load", "db", "pets", "pets.jsonl"]);
    place
}

#[test]
fn answers_are_the_same_with_an_index() {
    let place = pets();
    let questions: [&[&str]; 6] = [
        &["find", "db", "pets", r#"{"kind": "dog", "age": {"$gte": 14}}"#, "--sort", r#"{"age": -1}"#],
        &[
            "find",
            "db",
            "pets",
            r#"{"kind": {"$in": ["cat", "fish"]}}"#,
            "--sort",
            r#"{"kind": 1, "_id": -1}"#,
            "--limit",
            "3",
        ],
        &["find", "db", "pets", "--sort", r#"{"age": 1, "_id": 1}"#, "--skip", "48", "--projection", r#"{"age": 1}"#],
        &["count", "db", "pets", r#"{"kind": "dog"}"#],
        &["count", "db", "pets", r#"{"toys": "b7"}"#, "--json"],
        &["distinct", "db", "pets", "kind", r#"{"age": {"$lt": 1}}"#],
    ];
    let answers: Vec<String> = questions.iter().map(|question| place.good(question)).collect();
    assert_eq!(answers[0].lines().count(), 3);
    assert!(answers[0].starts_with(r#"{"_id":48,"kind":"dog","age":16,"toys":["a","b48"]}"#), "{}", answers[0]);
    assert_eq!(answers[1].lines().next().map(|line| line.contains(r#""_id":49"#)), Some(true), "{}", answers[1]);
    assert_eq!(answers[2], "{\"_id\":48,\"age\":16}\n{\"_id\":49,\"age\":16}\n");
    assert_eq!((answers[3].as_str(), answers[4].as_str()), ("17\n", "{\"documents\":1}\n"));
    assert_eq!(answers[5], "\"cat\"\n\"dog\"\n\"fish\"\n");
    for keys in [r#"{"kind": 1, "age": 1}"#, r#"{"toys": 1}"#] {
        place.good(&["index", "create", "db", "pets", keys]);
    }
    let again: Vec<String> = questions.iter().map(|question| place.good(question)).collect();
    assert_eq!(answers, again);
    assert_eq!(place.good(&["distinct", "db", "pets", "kind", "--json"]), "[\"cat\",\"dog\",\"fish\"]\n");
    assert_eq!(place.good(&["find", "db", "pets", r#"{"kind": "bird"}"#]), "");
}

#[test]
fn how_an_answer_is_found_is_explained() {
    let place = pets();
    place.good(&["index", "create", "db", "pets", r#"{"kind": 1}"#]);
    let filter = r#"{"kind": "dog"}"#;
    let text = place.good(&["find", "db", "pets", filter, "--hint", "kind_1", "--explain"]);
    assert!(text.contains("kind_1") && text.contains("17 returned"), "{text}");
    let message = place.json(&["find", "db", "pets", filter, "--hint", r#"{"kind": 1}"#, "--explain", "--json"]);
    assert_eq!(message["executionStats"]["totalKeysExamined"], 17, "{message}");
    let message = place.json(&["count", "db", "pets", filter, "--hint", r#"{"$natural": 1}"#, "--explain", "--json"]);
    assert_eq!(message["executionStats"]["totalDocsExamined"], 50, "{message}");
    assert!(place.good(&["distinct", "db", "pets", "kind", "--explain"]).contains("returned"));
    // Uses of an index are counted only while the database is open.
    let script = "find pets {\"kind\": \"dog\"} --hint kind_1 --limit 1\nstats pets --json\n";
    let ended = place.run_with(&["shell", "db"], script.as_bytes());
    let last = ended.out.lines().last().expect("figures");
    let stats: serde_json::Value = serde_json::from_str(last).expect("JSON");
    let index = &stats["indexes"][0];
    assert_eq!(index["uses"], 1, "{stats}");
    assert!(index["last_used_unix_ms"].as_i64() > Some(0) && index["examined"].as_u64() > Some(0), "{stats}");
}

#[test]
fn documents_are_handed_over_in_batches() {
    let place = pets();
    let all = place.good(&["find", "db", "pets"]);
    for size in ["1", "7", "50", "1000"] {
        assert_eq!(place.good(&["find", "db", "pets", "--batch-size", size]), all, "{size}");
    }
    let ended = place.run_with(&["shell", "db"], b"find pets --batch-size 3 --limit 4\n");
    assert_eq!((ended.code, ended.out.lines().count()), (Some(0), 4), "{}", ended.err);
    for size in ["0", "-1", "many"] {
        assert!(place.bad(2, &["find", "db", "pets", "--batch-size", size]).contains("--batch-size"), "{size}");
    }
}

#[test]
fn zero_is_no_limit() {
    let place = pets();
    assert_eq!(place.good(&["find", "db", "pets", "--limit", "0"]).lines().count(), 50);
    assert_eq!(place.good(&["scan", "db", "pets", "--limit", "0"]).lines().count(), 50);
    let explained = place.json(&["find", "db", "pets", "--limit", "0", "--explain", "--json"]);
    assert_eq!(explained["executionStats"]["nReturned"], 50, "{explained}");
    assert_eq!(place.good(&["find", "db", "pets", "--max-time", "0", "--limit", "2"]).lines().count(), 2);
    assert_eq!(place.good(&["count", "db", "pets", "{}", "--max-time", "0"]), "50\n");
    assert_eq!(place.good(&["distinct", "db", "pets", "kind", "--max-time", "0"]).lines().count(), 3);
    let set = r#"{"$set": {"seen": true}}"#;
    place.good(&["update", "db", "pets", "--where", r#"{"_id": 1}"#, set, "--max-time", "0"]);
    place.good(&["delete", "db", "pets", "--where", r#"{"_id": 1}"#, "--max-time", "0"]);
    let ended = place.run_with(&["shell", "db"], b"find pets --limit 0 --max-time 0\n");
    assert_eq!((ended.code, ended.out.lines().count()), (Some(0), 49), "{}", ended.err);
    for option in ["--limit", "--skip", "--max-time"] {
        let error = place.bad(2, &["find", "db", "pets", option, "-5"]);
        assert!(error.contains("'-5'") && error.contains(option), "{error}");
        assert!(error.contains("it takes a whole number, 0 or more"), "{error}");
    }
}

#[test]
fn what_is_wrong_is_said() {
    let place = pets();
    for (code, arguments, said) in [
        (2, &["find", "db", "pets", "{\"a\":"][..], "the filter must be JSON"),
        (2, &["find", "db", "pets", "[1]"], "the filter must be a JSON object"),
        (2, &["find", "db", "pets", r#"{"a": {"$near": 1}}"#], "$near"),
        (2, &["find", "db", "pets", "{}", "--sort", r#"{"a": 2}"#], "sort"),
        (2, &["find", "db", "pets", "{}", "--sort", "a"], "--sort must be JSON"),
        (2, &["find", "db", "pets", "{}", "--projection", r#"{"a": 1, "b": 0}"#], "b"),
        (3, &["find", "db", "pets", "{}", "--hint", "nothing_1"], "nothing_1"),
        (3, &["find", "db", "pets", "{}", "--hint", r#"{"nothing": 1}"#], "nothing"),
        (2, &["find", "db", "pets", "{}", "--hint", r#"{"$natural": 7}"#], "1 or -1"),
        (2, &["find", "db", "pets", "{}", "--hint", "{bad"], "--hint must be JSON"),
        (2, &["find", "db", "pets", "{}", "--projection", "{bad"], "--projection must be JSON"),
        (2, &["delete", "db", "pets", "--where", "{}", "--hint", "{bad"], "--hint must be JSON"),
        (3, &["count", "db", "pets", "{}", "--hint", "nothing_1"], "nothing_1"),
        (2, &["distinct", "db", "pets", "a..b"], "a..b"),
        (2, &["find", "db", "pets", "{}", "--limit", "many"], "many"),
        (2, &["distinct", "db", "pets"], "FIELD"),
        (3, &["find", "nowhere", "pets", "{}"], "nowhere"),
    ] {
        let error = place.bad(code, arguments);
        assert!(error.contains(said), "{arguments:?}: {error}");
    }
    for command in [
        &["find", "db", "pots", "{}"][..],
        &["count", "db", "pots"],
        &["distinct", "db", "pots", "a"],
        &["scan", "db", "pots"],
        &["delete", "db", "pots", "--where", "{}"],
        &["update", "db", "pots", "--where", "{}", r#"{"$set": {"a": 1}}"#],
    ] {
        let ended = place.run(command);
        assert_eq!(ended.code, Some(0), "{command:?}: {}", ended.err);
        let note = "note: there is no collection main.pots: did you mean main.pets?";
        assert!(ended.err.contains(note), "{command:?}: {}", ended.err);
    }
    assert_eq!(place.good(&["collections", "db"]), "main.pets\n", "none of them creates it");
}

#[test]
fn what_is_no_json_has_mongodbs_code() {
    let place = pets();
    for (arguments, code) in [
        (&["find", "db", "pets", "{\"a\":", "--json"][..], 9),
        (&["find", "db", "pets", "[1]", "--json"], 14),
        (&["find", "db", "pets", "{}", "--sort", "5", "--json"], 14),
        (&["count", "db", "pets", "{", "--json"], 9),
        (&["distinct", "db", "pets", "kind", "{", "--json"], 9),
        (&["update", "db", "pets", "1", "{", "--json"], 9),
        (&["delete", "db", "pets", "--where", "5", "--json"], 14),
        (&["index", "create", "db", "pets", "{", "--json"], 9),
    ] {
        let message: serde_json::Value = serde_json::from_str(&place.bad(2, arguments)).expect("JSON");
        assert_eq!((&message["code"], &message["exit_code"]), (&code.into(), &2.into()), "{arguments:?}: {message}");
    }
}

#[test]
fn documents_that_match_are_changed_and_deleted() {
    let place = pets();
    place.good(&["index", "create", "db", "pets", r#"{"kind": 1}"#]);
    let cats = r#"{"kind": "cat"}"#;
    let said = place.good(&["update", "db", "pets", "--where", cats, r#"{"$set": {"seen": true}}"#]);
    assert_eq!(said, "updated 1 of 1 matching document\n");
    let said = place.good(&["update", "db", "pets", "--where", cats, r#"{"$set": {"seen": true}}"#, "--many"]);
    assert_eq!(said, "updated 16 of 17 matching documents\n");
    let bird = r#"{"kind": "bird"}"#;
    let done = place.json(&["update", "db", "pets", "--where", bird, r#"{"$set": {"n": 1}}"#, "--many", "--json"]);
    assert_eq!(done, serde_json::json!({"matched": 0, "modified": 0, "upserted": 0}));
    let said = place.good(&["update", "db", "pets", "--where", bird, r#"{"$set": {"_id": "tweety"}}"#, "--upsert"]);
    assert_eq!(said, "inserted \"tweety\"\n");
    assert_eq!(place.good(&["find", "db", "pets", bird]), "{\"_id\":\"tweety\",\"kind\":\"bird\"}\n");
    let message = place.good(&["delete", "db", "pets", "--where", cats, "--many", "--hint", "kind_1", "--explain"]);
    assert!(message.contains("kind_1"), "{message}");
    assert_eq!(place.good(&["count", "db", "pets", cats]), "17\n");
    assert_eq!(place.good(&["delete", "db", "pets", "--where", cats]), "deleted 1 document\n");
    assert_eq!(place.json(&["delete", "db", "pets", "--where", cats, "--many", "--json"])["deleted"], 16);
    assert_eq!(place.good(&["count", "db", "pets"]), "34\n");
    assert!(place.good(&["verify", "db"]).contains("no damage"));

    let tweety = r#"{"_id": "tweety"}"#;
    place.good(&["update", "db", "pets", "--where", tweety, r#"{"$set": {"marks": [1, 5, 9]}}"#]);
    let update = r#"{"$inc": {"marks.$[high]": 100}}"#;
    place.good(&["update", "db", "pets", "--where", tweety, update, "--array-filters", r#"[{"high": {"$gte": 5}}]"#]);
    let found = place.good(&["find", "db", "pets", tweety, "--projection", r#"{"marks": 1, "_id": 0}"#]);
    assert_eq!(found, "{\"marks\":[1,105,109]}\n");
    // The update changes the first bird, and fails on the second.
    let midway = r#"{"$bit": {"n": {"or": 64}}, "$pullAll": {"marks": [1, 105, 109]}}"#;
    place.good(&["put", "db", "pets", "zz", r#"{"kind": "bird", "n": "many"}"#]);
    let error = place.bad(1, &["update", "db", "pets", "--where", bird, midway, "--many", "--hint", "_id_"]);
    assert!(error.contains("; before that, 1 of 1 matching document had been updated"), "{error}");
    let found = place.good(&["find", "db", "pets", tweety, "--projection", r#"{"marks": 1, "n": 1, "_id": 0}"#]);
    assert_eq!(found, "{\"marks\":[],\"n\":64}\n");

    let set = r#"{"$set": {"a": 1}}"#;
    for (code, arguments, said) in [
        (2, &["update", "db", "pets", "1", set, "--where", "{}"][..], "cannot be combined"),
        (2, &["update", "db", "pets", "1"], "UPDATE"),
        (2, &["update", "db", "pets", "1", set, "--many"], "--where"),
        (2, &["update", "db", "pets", "1", set, "--explain"], "go with --where"),
        (2, &["update", "db", "pets", "--where", "x", set], "the filter of --where must be JSON"),
        (2, &["update", "db", "pets", "--where", "{}", "x"], "the update must be JSON"),
        (2, &["update", "db", "pets", "--where", "{}", set, "--array-filters", "{}"], "a JSON array of filters"),
        (2, &["update", "db", "pets", "--where", "{}", set, "--array-filters", "[1]"], "a JSON array of filters"),
        (2, &["update", "db", "pets", "1", set, "--array-filters", "[]"], "--where"),
        (2, &["update", "db", "pets", "--where", "{}", r#"{"$sett": {"a": 1}}"#], "$sett"),
        (2, &["delete", "db", "pets"], "ID"),
        (2, &["delete", "db", "pets", "1", "--where", "{}"], "--where"),
        (2, &["delete", "db", "pets", "--where", "{"], "the filter of --where must be JSON"),
    ] {
        let error = place.bad(code, arguments);
        assert!(error.contains(said), "{arguments:?}: {error}");
    }
}
