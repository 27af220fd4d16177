//! Names without quotes, strings in single quotes, trailing commas; commands of other databases;
//! updates instead of documents.

use crate::common::Place;

fn pets() -> Place {
    let place = Place::new();
    let line = |id: usize| format!("{{\"_id\":{id},\"kind\":\"{}\",\"age\":{id}}}\n", ["dog", "cat"][id % 2]);
    place.write("pets.jsonl", (0..40).map(line).collect::<String>());
    place.good(&["load", "db", "pets", "pets.jsonl"]);
    place
}

#[test]
fn json_needs_no_quotes_on_the_command_line_and_in_the_shell() {
    let place = pets();
    assert_eq!(place.good(&["count", "db", "pets", "{kind: 'dog', age: {$gte: 10,},}"]), "15\n");
    place.good(&[
        "put",
        "db",
        "pets",
        "{$oid: '5f43a1b2c3d4e5f601234567'}",
        "{kind: 'it\\'s \"{new}\"', tags: [1, 2,]}",
    ]);
    let printed = "{\"_id\":{\"$oid\":\"5f43a1b2c3d4e5f601234567\"},\"kind\":\"it's \\\"{new}\\\"\",\"tags\":[1,2]}\n";
    assert_eq!(place.good(&["find", "db", "pets", "{tags: 2}"]), printed);
    place.good(&["update", "db", "pets", "1", "{$set: {a.b: 1}}"]);
    let script = b"use pets\ncount {kind: 'dog',\n  age: {$lt: 10}}\nput q {k: 'a } b'}\nget q\n";
    let ended = place.run_with(&["shell", "db"], script);
    assert_eq!((ended.code, ended.out.as_str()), (Some(0), "5\n{\"_id\":\"q\",\"k\":\"a } b\"}\n"), "{}", ended.err);
    // The error refers to the text as it was typed.
    let said = place.bad(2, &["find", "db", "pets", "{kind: dog}"]);
    assert!(
        said.contains("the filter must be JSON") && said.contains("line 1, column 8: dog is not a value"),
        "{said}"
    );
    // Files are parsed strictly.
    place.write("bad.jsonl", "{kind: 'dog'}\n");
    place.bad(1, &["load", "db", "pets", "bad.jsonl"]);
}

#[test]
fn commands_of_other_databases_are_answered_with_those_of_this_one() {
    let place = pets();
    for (typed, here) in [
        ("insert", "`put`"),
        ("import", "`load`"),
        ("query", "`find`"),
        ("ls", "`collections`"),
        ("schema", "`describe"),
    ] {
        let said = place.bad(2, &[typed, "db", "pets"]);
        assert!(said.contains(&format!("there is no command {typed}")) && said.contains(here), "{said}");
        let ended = place.run_with(&["shell", "db"], format!("{typed} pets\n").as_bytes());
        assert!(ended.code == Some(2) && ended.err.contains(here), "{ended:?}");
    }
    let said = place.bad(2, &["insert", "db", "pets", "--json"]);
    let said: serde_json::Value = serde_json::from_str(&said).expect("JSON");
    assert!(said["error"].as_str().is_some_and(|text| text.contains("`put`")), "{said}");
}

#[test]
fn an_update_in_place_of_a_document_is_refused() {
    let place = pets();
    let said = place.bad(2, &["put", "db", "pets", "1", r#"{"$set": {"age": 3}}"#]);
    assert!(said.contains("did you mean `update`?"), "{said}");
    assert_eq!(place.good(&["get", "db", "pets", "1"]), "{\"_id\":1,\"kind\":\"cat\",\"age\":1}\n");
    // Other names that begin with a dollar sign are field names.
    place.good(&["put", "db", "pets", "1", r#"{"$price": 3}"#]);
}

#[test]
fn a_write_of_one_document_says_how_many_more_match() {
    let place = pets();
    let ended = place.run(&["update", "db", "pets", "--where", "{kind: 'dog'}", "{$set: {kind: 'wolf'}}"]);
    assert_eq!(ended.out, "updated 1 of 1 matching document\n");
    assert_eq!(ended.err, "note: 19 more documents match; --many updates all that match\n");
    let ended = place.run(&["delete", "db", "pets", "--where", "{age: {$gt: 37}}"]);
    assert_eq!(ended.out, "deleted 1 document\n");
    assert_eq!(ended.err, "note: 1 more document matches; --many deletes all that match\n");
    for arguments in [
        &["delete", "db", "pets", "--where", "{kind: 'wolf'}"][..],
        &["delete", "db", "pets", "--where", "{kind: 'dog'}", "--json"],
        &["update", "db", "pets", "--where", "{kind: 'cat'}", "{$set: {a: 1}}", "--many"],
    ] {
        let ended = place.run(arguments);
        assert_eq!((ended.code, ended.err.as_str()), (Some(0), ""), "{arguments:?}: {}", ended.out);
    }
}

#[test]
fn an_unknown_field_is_noted_with_the_nearest() {
    let place = pets();
    let note = "note: no field knid is known in main.pets: did you mean kind?\n";
    let set = "{$set: {a: 1}}";
    for arguments in [
        &["find", "db", "pets", "{knid: 'dog'}"][..],
        &["find", "db", "pets", "{}", "--sort", "{knid: 1}", "--limit", "1"],
        &["find", "db", "pets", "{}", "--projection", "{knid: 1}"],
        &["find", "db", "pets", "{}", "--fields", "knid"],
        &["count", "db", "pets", "{$or: [{knid: 1}, {age: -1}]}"],
        &["distinct", "db", "pets", "knid"],
        &["update", "db", "pets", "--where", "{knid: 'dog'}", set],
        &["delete", "db", "pets", "--where", "{knid: 'dog'}", "--many"],
        &["scan", "db", "pets", "--fields", "knid"],
        &["get", "db", "pets", "1", "--fields", "age,knid"],
        &["export", "db", "pets", "--fields", "_id,knid"],
    ] {
        let ended = place.run(arguments);
        assert_eq!((ended.code, ended.err.as_str()), (Some(0), note), "{arguments:?}");
    }
    let ended = place.run(&["find", "db", "pets", "{age: {gt: 3}}"]);
    assert_eq!(ended.err, "note: gt is the name of a field here: did you mean $gt?\n");
    // No notes are printed if the names are right, or if documents are found.
    for arguments in [
        &["find", "db", "pets", "{kind: 'cow', age: {$gt: 3}}"][..],
        &["find", "db", "pets", "{knid: {$exists: false}}"],
        &["find", "db", "pets", "{}", "--sort", "{age: -1}", "--projection", "{kind: 1, _id: 0}"],
    ] {
        assert_eq!(place.run(arguments).err, "", "{arguments:?}");
    }
}

#[test]
fn a_filter_that_is_no_json_and_an_unknown_operator_have_one_exit_code() {
    let place = pets();
    for filter in ["{\"a\":", "{a: {$foo: 1}}", "{$foo: 1}"] {
        place.bad(2, &["find", "db", "pets", filter]);
    }
    place.bad(2, &["update", "db", "pets", "1", "{$foo: {a: 1}}"]);
}

#[test]
fn documents_are_printed_as_asked() {
    let place = pets();
    let one = ["scan", "db", "pets", "--from", "7", "--limit", "1"];
    let pretty = "{\n  \"_id\": 7,\n  \"kind\": \"cat\",\n  \"age\": 7\n}\n";
    assert_eq!(place.good(&[&one[..], &["--pretty"]].concat()), pretty);
    place.good(&["put", "db", "pets", "7", "{kind: 'cat', chip: {number: 1}}"]);
    let scanned = place.good(&[&one[..], &["--fields", "chip.number,kind"]].concat());
    assert_eq!(scanned, "{\"_id\":7,\"chip.number\":1,\"kind\":\"cat\"}\n");
    assert_eq!(place.good(&["find", "db", "pets", "{_id: 7}", "--fields", "chip.number,kind"]), scanned);
    let both = ["find", "db", "pets", "{}", "--fields", "kind", "--projection", "{kind: 1}"];
    assert!(place.bad(2, &both).contains("cannot be combined"));
}

#[test]
fn a_filter_that_compares_other_types_is_answered_with_them() {
    let place = Place::new();
    let lines = (1..30).map(|n| {
        format!("{{\"_id\":{n},\"at\":{{\"$date\":\"2026-05-{n:02}T00:00:00Z\"}},\"tags\":[\"a\",\"b\"],\"size\":{{\"cm\":{n}}}}}\n")
    });
    place.write("pets.jsonl", lines.collect::<String>());
    place.good(&["load", "db", "pets", "pets.jsonl"]);
    let said = |arguments: &[&str]| {
        let ended = place.run(arguments);
        assert_eq!(ended.code, Some(0), "{ended:?}");
        ended.err
    };
    let noted = said(&["find", "db", "pets", "{at: {$gt: '2026-05-03'}}"]);
    let date = "note: at is compared with a value of type string, and has values of type date: a date is written {\"$date\": \"2026-01-31T00:00:00Z\"}\n";
    assert_eq!(noted, date);
    assert_eq!(said(&["count", "db", "pets", "{at: {$gt: '2026-05-03'}}"]), date);
    assert_eq!(said(&["aggregate", "db", "pets", "[{$match: {at: {$gt: '2026-05-03'}}}, {$count: 'n'}]"]), date);
    assert!(said(&["find", "db", "pets", "{'size.cm': '7'}"]).ends_with("of type int: a number has no quotes\n"));
    assert!(said(&["find", "db", "pets", "{tags: 3}"]).ends_with("of type string: a string has quotes\n"));
    // No notes are printed if nothing matches for another reason, or if something matches.
    for quiet in ["{tags: 'c'}", "{'size.cm': {$gt: 1000}}", "{at: null}", "{tags: 'a'}", "{_id: 77}"] {
        assert_eq!(said(&["find", "db", "pets", quiet]), "", "{quiet}");
    }
    let mistyped = said(&["aggregate", "db", "pets", "{$match: {tgas: 'a'}}"]);
    assert_eq!(mistyped, "note: no field tgas is known in main.pets: did you mean tags?\n");
}
