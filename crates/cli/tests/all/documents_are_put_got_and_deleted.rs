//! The commands on single documents, and ids of all kinds.

use crate::common::Place;

#[test]
fn an_id_of_another_type_is_named() {
    let place = Place::new();
    place.good(&["put", "db", "c", "40000000002", "{}", "--id-string"]);
    let hint = "(there is a document with the _id \"40000000002\": add --id-string)";
    for command in [&["get", "db", "c", "40000000002"][..], &["delete", "db", "c", "40000000002"]] {
        assert!(place.bad(3, command).contains(hint), "{command:?}");
    }
    let update = ["update", "db", "c", "40000000002", "{$set: {a: 1}}"];
    assert!(place.bad(3, &update).contains(hint));
    place.good(&[&update[..], &["--id-string"]].concat());
    place.good(&["delete", "db", "c", "40000000002", "--id-string"]);
}

#[test]
fn documents_are_put_got_and_deleted() {
    let place = Place::new();
    let ended =
        place.run(&["put", "db", "pets", "rex", r#"{"kind":"dog","age":3,"owner":{"name":"Ada","zip":[1,2]}}"#]);
    assert_eq!(ended.code, Some(0));
    assert!(ended.err.contains("created the database db"), "{}", ended.err);
    assert_eq!(
        place.good(&["get", "db", "pets", "rex"]),
        "{\"_id\":\"rex\",\"kind\":\"dog\",\"age\":3,\"owner\":{\"name\":\"Ada\",\"zip\":[1,2]}}\n"
    );
    let fields = place.good(&["get", "db", "pets", "rex", "--fields", "age,owner.name,owner.zip.1,absent"]);
    assert_eq!(fields, "{\"_id\":\"rex\",\"age\":3,\"owner.name\":\"Ada\",\"owner.zip.1\":2}\n");
    let pretty = place.good(&["get", "db", "pets", "rex", "--pretty"]);
    assert!(pretty.starts_with("{\n  \"_id\": \"rex\",\n  \"kind\": \"dog\","), "{pretty}");
    // The document is replaced by a document from standard input.
    let piped = place.run_with(&["put", "db", "pets", "rex"], b"{\n  \"kind\": \"cat\"\n}\n");
    assert_eq!(piped.code, Some(0), "{}", piped.err);
    assert_eq!(place.good(&["get", "db", "pets", "rex"]), "{\"_id\":\"rex\",\"kind\":\"cat\"}\n");
    assert_eq!(place.good(&["delete", "db", "pets", "rex"]), "deleted 1 document\n");
    place.bad(3, &["get", "db", "pets", "rex"]);
}

#[test]
fn a_document_can_bring_its_own_id_or_get_one() {
    let place = Place::new();
    place.good(&["put", "db", "c", "-", "{\"_id\":{\"x\":1},\"a\":1}"]);
    assert_eq!(place.good(&["get", "db", "c", "{\"x\":1}"]), "{\"_id\":{\"x\":1},\"a\":1}\n");
    let id = place.good(&["put", "db", "c", "-", "{\"a\":2}"]);
    assert!(id.starts_with("{\"$oid\":\""), "{id}");
    assert!(place.good(&["get", "db", "c", id.trim()]).contains("\"a\":2"));
    let said = place.bad(2, &["put", "db", "c", "1", "{\"_id\":2}"]);
    assert!(said.contains("has _id 2"), "{said}");
}

#[test]
fn ids_are_extended_json_or_strings() {
    let place = Place::new();
    let ids = ["17", "-5", "1.5", "\"17\"", "null", "true", "a b", "{\"$date\":\"2026-01-01T00:00:00Z\"}", "", "ключ"];
    for (number, id) in ids.iter().enumerate() {
        place.good(&["put", "db", "c", id, &format!("{{\"n\":{number}}}")]);
    }
    for (number, id) in ids.iter().enumerate() {
        let got = place.json(&["get", "db", "c", id]);
        assert_eq!(got["n"], number, "{id:?}");
    }
    assert_eq!(place.good(&["count", "db", "c"]), "10\n");
    // The string 17 can be written with quotes, or with the option.
    assert_eq!(place.json(&["get", "db", "c", "17", "--id-string"])["n"], 3);
    // Equal numbers are the same _id, whatever their types.
    assert_eq!(place.json(&["get", "db", "c", "17.0"])["n"], 0);
}
