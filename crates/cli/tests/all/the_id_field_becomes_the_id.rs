//! With `--id-field`, the value of the field becomes the `_id`, which is printed first; the document keeps the field.

use crate::common::{Place, same_lines, with_id};

#[test]
fn the_id_field_becomes_the_id() {
    let place = Place::new();
    let lines = place.comments("c.jsonl", 300);
    place.good(&["load", "db", "c", "c.jsonl", "--id-field", "id"]);
    let expected: Vec<String> = lines.iter().map(|line| with_id(line)).collect();
    same_lines(&place.good(&["scan", "db", "c"]), &expected);
}

#[test]
fn a_document_without_the_field_is_a_bad_line() {
    let place = Place::new();
    place.write("in.jsonl", "{\"key\":1}\n{\"other\":2}\n");
    let said = place.bad(1, &["load", "db", "c", "in.jsonl", "--id-field", "key"]);
    assert!(said.contains("line 2") && said.contains("key"), "{said}");
    assert_eq!(place.good(&["count", "db", "c"]), "1\n");
}

#[test]
fn an_absent_id_is_made_and_is_the_same_when_the_load_is_repeated() {
    let place = Place::new();
    place.write("in.jsonl", "{\"a\":1}\n{\"a\":2}\n");
    place.good(&["load", "db", "c", "in.jsonl"]);
    let first = place.good(&["scan", "db", "c"]);
    assert!(first.starts_with("{\"_id\":{\"$oid\":\""), "{first}");
    place.good(&["load", "db", "c", "in.jsonl", "--again", "--on-duplicate", "skip"]);
    assert_eq!(place.good(&["scan", "db", "c"]), first);
}
