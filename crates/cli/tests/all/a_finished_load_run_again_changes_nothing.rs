//! If a file was already loaded completely, a second load of it reports this, exits with 0 and changes nothing.

use crate::common::Place;

#[test]
fn a_finished_load_run_again_changes_nothing() {
    let place = Place::new();
    place.comments("c.jsonl", 200);
    place.good(&["load", "db", "c", "c.jsonl", "--id-field", "id"]);
    place.good(&["delete", "db", "c", "evn2i5p"]);
    let before = place.good(&["scan", "db", "c"]);
    let said = place.good(&["load", "db", "c", "c.jsonl", "--id-field", "id"]);
    assert!(said.contains("was loaded completely before (200 documents)") && said.contains("--again"), "{said}");
    let summary = place.json(&["load", "db", "c", "c.jsonl", "--id-field", "id", "--json"]);
    assert_eq!(summary["outcome"], "already_done");
    assert_eq!(place.good(&["scan", "db", "c"]), before);
    // A renamed file is the same file. A load with another id field is another load.
    std::fs::rename(place.path("c.jsonl"), place.path("d.jsonl")).expect("a file");
    let summary = place.json(&["load", "db", "c", "d.jsonl", "--id-field", "id", "--json"]);
    assert_eq!(summary["outcome"], "already_done");
    // With --again, the file is loaded again.
    let again = ["load", "db", "c", "d.jsonl", "--id-field", "id", "--again", "--on-duplicate", "skip", "--json"];
    let summary = place.json(&again);
    assert_eq!((&summary["documents"], &summary["duplicates"]), (&1.into(), &199.into()));
}

#[test]
fn many_finished_files_are_summed_up() {
    let place = Place::new();
    let names: Vec<String> = (0..20).map(|n| format!("{n}.jsonl")).collect();
    let mut load = vec!["load", "db", "c"];
    load.extend(names.iter().map(String::as_str));
    for (n, name) in names.iter().enumerate() {
        place.write(name, format!("{{\"_id\":{n}}}\n"));
    }
    place.good(&load);
    let said = place.good(&load);
    assert_eq!(said.matches("was loaded completely before (1 document)").count(), 4, "{said}");
    assert!(said.ends_with("so were 16 more inputs (16 documents)\n"), "{said}");
    let said = place.good(&load[..8]);
    assert_eq!(said.matches("was loaded completely before (1 document)").count(), 5, "{said}");
}

#[test]
fn a_file_that_has_changed_is_another_one() {
    let place = Place::new();
    // The file is longer than the parts at both ends that are compared, and it is changed in the middle.
    let line = |n: u32, v: u32| format!("{{\"_id\":{n},\"v\":{v},\"pad\":\"{}\"}}\n", "x".repeat(1000));
    let text = |changed: u32| (0..3000).map(|n| line(n, u32::from(n == changed))).collect::<String>();
    place.write("c.jsonl", text(4000));
    place.good(&["load", "db", "c", "c.jsonl"]);
    place.write("c.jsonl", text(1500));
    let said = place.good(&["load", "db", "c", "c.jsonl", "--on-duplicate", "replace"]);
    assert!(!said.contains("before"), "{said}");
    assert!(place.good(&["get", "db", "c", "1500", "--fields", "v"]).contains("\"v\":1"));
}

#[test]
fn files_of_one_content_are_loaded_each() {
    let place = Place::new();
    let time = std::time::SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(1_700_000_000);
    for name in ["a.jsonl", "b.jsonl", "c.jsonl"] {
        let path = place.write(name, "{\"event\":\"login\"}\n");
        std::fs::File::options().append(true).open(path).and_then(|file| file.set_modified(time)).expect("a time");
    }
    place.good(&["load", "db", "c", "a.jsonl", "b.jsonl"]);
    place.good(&["load", "db", "c", "a.jsonl", "c.jsonl"]);
    assert_eq!(place.good(&["count", "db", "c"]), "3\n");
}

#[test]
fn what_was_given_an_id_is_not_to_be_loaded_twice() {
    let place = Place::new();
    place.write("a.jsonl", "{\"v\":1}\n{\"v\":2}\n{\"v\":\n");
    let said = place.bad(1, &["load", "db", "c", "a.jsonl"]);
    assert!(said.contains("load it again with --append") && !said.contains("skip"), "{said}");
    place.write("b.jsonl", "{\"_id\":1}\n{\"_id\":2}\n{\"_id\":\n");
    let said = place.bad(1, &["load", "db", "c", "b.jsonl"]);
    assert!(said.contains("--on-duplicate skip, which skips documents that are loaded already"), "{said}");
}

#[test]
fn several_files_are_loaded_one_after_the_other() {
    let place = Place::new();
    place.write("a.jsonl", "{\"_id\":1}\n{\"_id\":2}\n");
    place.write("b.jsonl", "{\"_id\":3}\n");
    let summary = place.json(&["load", "db", "c", "a.jsonl", "b.jsonl", "--json"]);
    assert_eq!((&summary["documents"], &summary["inputs"]), (&3.into(), &2.into()));
    place.write("c.jsonl", "{\"_id\":4}\n");
    let summary = place.json(&["load", "db", "c", "a.jsonl", "b.jsonl", "c.jsonl", "--json"]);
    assert_eq!((&summary["outcome"], &summary["documents"]), (&"done".into(), &1.into()));
    assert_eq!(place.good(&["count", "db", "c"]), "4\n");
}
