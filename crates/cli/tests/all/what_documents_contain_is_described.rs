//! `describe` shows fields with types, presence, distinct values, ranges, examples and indexes, of
//! all documents or of a sample.

use crate::common::Place;
use serde_json::{Value, json};

fn pets() -> Place {
    let place = Place::new();
    let lines = "{\"_id\":1,\"kind\":\"dog\",\"chip\":{\"number\":17},\"toys\":[\"ball\",\"bone\"]}\n\
                 {\"_id\":2,\"kind\":\"cat\",\"chip\":{\"number\":4.5},\"toys\":[]}\n\
                 {\"_id\":3,\"kind\":null}\n\
                 {\"_id\":\"x\",\"kind\":\"dog\"}\n";
    place.write("pets.jsonl", lines);
    place.good(&["load", "db", "pets", "pets.jsonl"]);
    place
}

#[test]
fn fields_are_described() {
    let place = pets();
    place.good(&["index", "create", "db", "pets", "{\"kind\": 1, \"chip.number\": -1}", "--name", "k"]);
    place.good(&["index", "create", "db", "pets", "{\"toys\": 1}"]);
    let expected = "\
main.pets: 4 documents

field        types                 present  distinct  indexes  smallest  largest  examples
-----------  --------------------  -------  --------  -------  --------  -------  --------------
_id          int 75%, string 25%      100%         4  _id_     1         x        1, 2, 3
kind         string 75%, null 25%     100%         2  k        cat       dog      \"dog\", \"cat\"
chip         object                    50%
chip.number  double 50%, int 50%       50%         2  k        4.5       17       17, 4.5
toys         array                     50%            toys_1
toys[]       string                    25%         2           ball      bone     \"ball\", \"bone\"
";
    assert_eq!(place.good(&["describe", "db", "pets"]), expected);
    assert_eq!(place.good(&["describe", "db", "pets", "--all"]), expected);
    assert_eq!(place.good(&["describe", "db"]), expected);
    let ended = place.run_with(&["shell", "db"], b"describe pets\nuse pets\ndescribe\ndesc pets\n.schema pets\n");
    assert_eq!((ended.code, ended.out), (Some(0), expected.repeat(4)), "{}", ended.err);
    let markdown = place.good(&["describe", "db", "pets", "--format", "markdown"]);
    assert!(markdown.contains("\n| chip.number | double 50%, int 50%  |     50% |"), "{markdown}");
    let csv = place.good(&["describe", "db", "pets", "--format", "csv"]);
    assert!(
        csv.starts_with("collection,field,types,present,") && csv.contains("\nmain.pets,chip,object,50%,"),
        "{csv}"
    );
}

#[test]
fn figures_come_as_json() {
    let place = pets();
    let all = place.json(&["describe", "db", "pets", "--json"]);
    let kind = &all[1];
    assert_eq!((&kind["collection"], &kind["field"]), (&"main.pets".into(), &"kind".into()), "{all}");
    assert_eq!(kind["types"], json!({ "string": 0.75, "null": 0.25 }));
    assert_eq!((&kind["present"], &kind["distinct"], &kind["distinct_is"]), (&1.0.into(), &2.into(), &"exact".into()));
    assert_eq!((&kind["smallest"], &kind["largest"]), (&"cat".into(), &"dog".into()));
    assert_eq!((&kind["examples"], &kind["indexes"]), (&json!(["dog", "cat"]), &json!([])));
    assert_eq!(all[2]["distinct"], Value::Null);
    let lines = place.good(&["describe", "db", "pets", "--format", "jsonl"]);
    assert_eq!(lines.lines().count(), all.as_array().map_or(0, Vec::len));
    let first: Value = serde_json::from_str(lines.lines().next().expect("a line")).expect("JSON");
    assert_eq!(first, all[0]);
}

#[test]
fn a_sample_says_so_and_is_extrapolated() {
    let place = Place::new();
    let lines: String =
        (0..20_000).map(|n| format!("{{\"_id\":{n},\"kind\":{},\"even\":{}}}\n", n % 12, n % 2 == 0)).collect();
    place.write("c.jsonl", lines);
    place.good(&["load", "db", "c", "c.jsonl"]);
    let table = place.good(&["describe", "db", "c", "--sample", "1000"]);
    let lines: Vec<&str> = table.lines().collect();
    assert_eq!(lines[0], "main.c: 20,000 documents; described by a sample of 1,000");
    assert!(lines[4].starts_with("_id") && lines[4].contains("~20,000"), "{table}");
    assert!(lines[5].starts_with("kind") && lines[5].contains("~12 "), "{table}");
    let by_default = place.json(&["describe", "db", "c", "--json"]);
    assert_eq!((&by_default[0]["sampled"], &by_default[0]["documents"]), (&10_000.into(), &20_000.into()));
    assert_eq!(by_default[0]["distinct_is"], "estimated");
    let all = place.json(&["describe", "db", "c", "--all", "--json"]);
    assert_eq!((&all[0]["distinct"], &all[0]["distinct_is"]), (&20_000.into(), &"exact".into()));
    assert_eq!((&all[0]["smallest"], &all[0]["largest"]), (&0.into(), &19_999.into()));
}

#[test]
fn deep_fields_are_left_out_unless_asked_for() {
    let place = Place::new();
    place.good(&["put", "db", "c", "1", "{\"a\": {\"b\": {\"c\": {\"d\": {\"e\": 1}}}}}"]);
    let shown = place.good(&["describe", "db", "c"]);
    assert!(shown.starts_with("main.c: 1 document; it has fields below these: use --depth\n"), "{shown}");
    assert!(shown.contains("\na.b.c ") && !shown.contains("a.b.c.d"), "{shown}");
    let fields =
        |depth| place.json(&["describe", "db", "c", "--json", "--depth", depth]).as_array().map_or(0, Vec::len);
    assert_eq!((fields("1"), fields("4"), fields("0")), (2, 5, 6));
    let whole = place.good(&["describe", "db", "c", "--depth", "0"]);
    assert!(whole.starts_with("main.c: 1 document\n") && whole.contains("\na.b.c.d.e "), "{whole}");
}

#[test]
fn several_collections_have_a_title_each() {
    let place = pets();
    place.good(&["put", "db", "empty", "1", "{}"]);
    place.good(&["delete", "db", "empty", "1"]);
    place.good(&["put", "db", "zoo.a\u{1b}[1m", "1", "{\"b\\u001b[1m\": \"\\u001b[1m\"}"]);
    let out = place.good(&["describe", "db"]);
    let titles: Vec<&str> = out.lines().filter(|line| line.contains(": ")).collect();
    assert_eq!(titles, ["main.empty: 0 documents", "main.pets: 4 documents", "zoo.a\\u{1b}[1m: 1 document"]);
    assert!(!out.contains('\u{1b}'), "{out:?}");
}

#[test]
fn read_only_stores_are_described_and_wrong_arguments_refused() {
    let place = pets();
    place.good(&["build", "store", "pets", "pets.jsonl"]);
    let of_store = place.good(&["describe", "store", "pets"]);
    assert!(
        of_store.starts_with("main.pets: 4 documents\n\nfield ") && of_store.contains("\nchip.number  "),
        "{of_store}"
    );
    assert!(place.bad(3, &["describe", "store", "cats"]).contains("main.cats"));
    assert!(place.bad(3, &["describe", "db", "pots"]).contains("did you mean main.pets"));
    place.bad(3, &["describe", "nowhere"]);
    for arguments in [&["--sample", "0"][..], &["--sample", "10", "--all"], &["--json", "--format", "csv"]] {
        place.bad(2, &[&["describe", "db", "pets"], arguments].concat());
    }
    assert!(place.bad(2, &["schema", "db"]).contains("describe DB COLLECTION"));
}
