//! Without a terminal, `shell` runs the commands in its standard input on one open database.

use crate::common::{Ended, Place, ended};
use std::io::{Read, Write};

fn run(place: &Place, options: &[&str], script: &str) -> Ended {
    place.run_with(&[&["shell", "db"], options].concat(), script.as_bytes())
}

#[test]
fn commands_run_on_one_open_database() {
    let place = Place::new();
    place.write("more.jsonl", "{\"_id\":\"tom\",\"kind\":\"cat\"}\n");
    let script = "\
# the household
put pets rex {\"kind\": \"dog\",
  \"age\": 3}
use pets
update rex {\"$inc\": {\"age\": 1}}
load more.jsonl

get rex \\
  'tom' --fields kind,age
count
use
collections
export pets -o pets.json
mv put by_kind dog rex
mv get by_kind dog
exit
nonsense that is not reached
";
    let ended = run(&place, &["--create"], script);
    assert_eq!(ended.code, Some(0), "{}", ended.err);
    let (loaded, rest) = ended.out.split_once("{\"_id\":\"rex\"").expect("what get prints");
    assert!(loaded.starts_with("updated \"rex\"\n") && loaded.contains("1 document"), "{loaded}");
    assert_eq!(rest, ",\"kind\":\"dog\",\"age\":4}\n{\"_id\":\"tom\",\"kind\":\"cat\"}\n2\nmain.pets\nrex\n");
    assert!(place.read("pets.json").starts_with('['));
    // The database was closed cleanly, and can be opened again.
    assert_eq!(place.good(&["count", "db", "pets"]), "2\n");
}

#[test]
fn what_fails_is_named_with_its_line_and_the_first_failure_is_the_exit_code() {
    let place = Place::new();
    place.good(&["put", "db", "pets", "rex", "{}"]);
    let script = "count pets\nget pets\n  tom\nget pets tom\nput pets a {\n\"b\":\n}\n\ncount pets\n";
    let ended = run(&place, &[], script);
    assert_eq!((ended.code, ended.out.as_str()), (Some(2), "1\n1\n"), "{}", ended.err);
    let said: Vec<&str> = ended.err.lines().filter(|line| line.starts_with("alluvium: ")).collect();
    assert_eq!(said.len(), 4, "{}", ended.err);
    assert!(said[0].starts_with("alluvium: line 2: the following required"), "{}", said[0]);
    assert!(said[1].starts_with("alluvium: line 3: unrecognized subcommand 'tom'"), "{}", said[1]);
    assert_eq!(said[2], "alluvium: line 4: not found: \"tom\"");
    assert!(said[3].starts_with("alluvium: line 5: the document is not JSON"), "{}", said[3]);
    let ended = run(&place, &["--strict"], "get pets tom\ncount pets\n");
    assert_eq!((ended.code, ended.out.as_str()), (Some(3), ""));
    let ended = run(&place, &[], "count pets\nput pets a {\"b\":\n");
    assert_eq!((ended.code, ended.out.as_str()), (Some(2), "1\n"));
    assert!(ended.err.contains("line 2: the script ends within a quote or bracket"), "{}", ended.err);
}

#[test]
fn a_line_that_asks_for_json_fails_with_json() {
    let place = Place::new();
    place.good(&["put", "db", "pets", "rex", "{\"a\":\"x\"}"]);
    let script =
        "find pets {\"a\": {\"$near\": 1}} --json\ncount pets --json --hint\ndelete pets tom --json\nget pets tom\n";
    let ended = run(&place, &[], script);
    assert_eq!(ended.code, Some(2), "{}", ended.err);
    let lines: Vec<&str> = ended.err.lines().collect();
    let message =
        |line: &str| serde_json::from_str::<serde_json::Value>(line).unwrap_or_else(|_| panic!("no JSON: {line}"));
    let filter = message(lines[0]);
    assert_eq!(
        (&filter["code"], &filter["exit_code"], &filter["line"]),
        (&238.into(), &2.into(), &1.into()),
        "{filter}"
    );
    assert!(filter["error"].as_str().is_some_and(|text| text.contains("$near")), "{filter}");
    let parser = message(lines[1]);
    assert_eq!((&parser["exit_code"], &parser["line"]), (&2.into(), &2.into()), "{parser}");
    assert!(parser["error"].as_str().is_some_and(|text| text.contains("--hint")), "{parser}");
    assert_eq!(message(lines[2])["exit_code"], 3, "{}", lines[2]);
    assert_eq!(lines[3], "alluvium: line 4: not found: \"tom\"");
}

#[test]
fn a_script_whose_output_nobody_reads_ends_badly() {
    let place = Place::new();
    place.comments("c.jsonl", 3000);
    place.good(&["load", "db", "c", "c.jsonl", "--id-field", "id"]);
    for (script, code) in [("count c\nscan c\nput c new {}\n", 1), ("get c nobody\nscan c\nput c new {}\n", 3)] {
        for options in [&[][..], &["--strict"]] {
            if code == 3 && !options.is_empty() {
                continue;
            }
            let mut child = place.start(&[&["shell", "db"], options].concat());
            let mut out = child.stdout.take().expect("a pipe");
            child.stdin.take().expect("a pipe").write_all(script.as_bytes()).expect("a reader");
            out.read_exact(&mut [0; 100]).expect("output");
            drop(out);
            let ended = ended(child);
            assert_eq!(ended.code, Some(code), "{}", ended.err);
            let said = "alluvium: line 2: the output was closed; the rest of the script was not run\n";
            assert!(ended.err.ends_with(said), "{}", ended.err);
        }
    }
    place.bad(3, &["get", "db", "c", "new"]);
}

#[test]
fn what_does_not_go_in_a_shell_says_so() {
    let place = Place::new();
    assert!(place.bad(3, &["shell", "db"]).contains("not an Alluvium database"));
    assert!(!place.path("db").exists());
    place.good(&["put", "db", "pets", "rex", "{}"]);
    let ended = run(&place, &[], "load pets -\n");
    assert_eq!(ended.code, Some(2));
    assert!(ended.err.contains("standard input is the shell's own"), "{}", ended.err);
    let ended = run(&place, &[], "load pets missing.jsonl --memory 64M\nuse a b\nload pets missing.jsonl\n");
    assert!(ended.err.contains("--memory is for opening") && ended.err.contains("one collection"), "{}", ended.err);
    assert!(ended.err.contains("line 3: ") && ended.err.contains("missing.jsonl"), "{}", ended.err);
    let ended = run(&place, &[], "help\nhelp load\n");
    assert!(ended.out.contains("use [COLLECTION]") && ended.out.contains("--split-object"), "{}", ended.out);
    assert_eq!((ended.code, run(&place, &[], "").code), (Some(0), Some(0)));
}

/// A mode applies to the commands after it, and `auto` resets it.
#[test]
fn a_shell_has_a_mode() {
    let place = Place::new();
    let script = "\
put pets 7 {\"kind\": \"cat\"}
.mode
.mode csv
find pets
get pets 7
.mode
.mode auto
find pets
find pets --format tsv
.mode wide
";
    let ended = run(&place, &["--create"], script);
    let json = "{\"_id\":7,\"kind\":\"cat\"}\n";
    assert_eq!(ended.out, format!("auto\n_id,kind\n7,cat\n_id,kind\n7,cat\ncsv\n{json}_id\tkind\n7\tcat\n"));
    assert!(ended.err.contains(".mode takes one of auto, pretty, json, jsonl, table"), "{}", ended.err);
    assert_eq!(ended.code, Some(2));
}

/// A number is searched that is stored as a string, and a string that is stored as a number.
#[test]
fn get_names_the_id_that_looks_the_same() {
    let place = Place::new();
    place.good(&["put", "db", "pets", "40000000002", "{}", "--id-string"]);
    place.good(&["put", "db", "pets", "7", "{}"]);
    for (arguments, hint) in [
        (vec!["40000000002"], "(there is a document with the _id \"40000000002\": add --id-string)"),
        (vec!["7", "--id-string"], "(there is a document with the _id 7: leave out --id-string)"),
    ] {
        let ended = place.run(&[&["get", "db", "pets"], &arguments[..]].concat());
        assert!(ended.code == Some(3) && ended.err.contains(hint), "{}", ended.err);
    }
    let ended = place.run(&["get", "db", "pets", "8"]);
    assert!(ended.err.ends_with("not found: 8\n"), "{}", ended.err);
}

#[test]
fn a_command_of_a_script_does_not_read_the_script() {
    let place = Place::new();
    let ended = place.run_with(&["shell", "db", "--create"], b"put c x -\nput c y {}\ncount c\n");
    assert!(ended.err.contains("line 1: standard input is the shell's own: name a file"), "{}", ended.err);
    assert_eq!((ended.code, ended.out.as_str()), (Some(2), "1\n"));
}
