//! `--format` of `find`, `scan`, `get`, `collections` and `index list`; unchanged output without `--format`; colours.

use crate::common;
use crate::common::Place;
use std::process::Stdio;

const LINES: &str = "{\"_id\":\"ada\",\"age\":102,\"at\":{\"x\":1.5,\"y\":null},\"toys\":[\"ball\",{\"a\":1}]}\n\
                     {\"_id\":\"rex\",\"age\":3,\"note\":\"a, \\\"b\\\"\\nc|d\"}\n";

fn pets() -> Place {
    let place = Place::new();
    place.write("pets.jsonl", LINES);
    place.good(&["load", "db", "pets", "pets.jsonl"]);
    place
}

#[test]
fn find_scan_and_get_have_the_same_formats() {
    let place = pets();
    let formats = [
        ("jsonl", LINES.to_owned()),
        ("json", format!("[\n{}\n]\n", LINES.trim_end().replace("}\n{", "},\n{"))),
        (
            "table",
            "_id  age  at.x  at.y  toys              note\n\
             ---  ---  ----  ----  ----------------  -----------\n\
             ada  102   1.5  null  [\"ball\",{\"a\":1}]\n\
             rex    3"
                .to_owned()
                + &" ".repeat(32)
                + "a, \"b\"\\nc|d\n",
        ),
        (
            "csv",
            "_id,age,at.x,at.y,toys,note\nada,102,1.5,,\"[\"\"ball\"\",{\"\"a\"\":1}]\",\nrex,3,,,,\"a, \"\"b\"\"\nc|d\"\n"
                .to_owned(),
        ),
        (
            "tsv",
            "_id\tage\tat.x\tat.y\ttoys\tnote\nada\t102\t1.5\t\t\"[\"\"ball\"\",{\"\"a\"\":1}]\"\t\nrex\t3\t\t\t\t\"a, \"\"b\"\"\nc|d\"\n"
                .to_owned(),
        ),
    ];
    for command in [&["find", "db", "pets"][..], &["scan", "db", "pets"], &["get", "db", "pets", "ada", "rex"]] {
        assert_eq!(place.good(command), LINES, "{command:?}");
        for (format, expected) in &formats {
            let printed = place.good(&[command, &["--format", format]].concat());
            assert_eq!(printed, *expected, "{command:?} {format}");
        }
        let markdown = place.good(&[command, &["--format", "markdown"]].concat());
        let lines: Vec<&str> = markdown.lines().collect();
        assert_eq!(lines[0], "| _id | age | at.x | at.y | toys             | note         |");
        assert!(lines[1].starts_with("| --- | --: | ---: | ---- | --"), "{markdown}");
        assert!(lines[3].ends_with("| a, \"b\"\\nc\\|d |"), "{markdown}");
        assert_eq!(lines.len(), 4, "{markdown}");
    }
    let same = [("jsonl", "ndjson"), ("markdown", "md")];
    for (name, alias) in same {
        let of = |format: &str| place.good(&["find", "db", "pets", "--format", format]);
        assert_eq!(of(name), of(alias));
    }
}

#[test]
fn chosen_fields_are_the_columns() {
    let place = pets();
    let csv = ["--format", "csv", "--fields", "toys,age,at"];
    let expected =
        "_id,toys,age,at\nada,\"[\"\"ball\"\",{\"\"a\"\":1}]\",102,\"{\"\"x\"\":1.5,\"\"y\"\":null}\"\nrex,,3,\n";
    for command in [&["find", "db", "pets"][..], &["scan", "db", "pets"], &["get", "db", "pets", "ada", "rex"]] {
        assert_eq!(place.good(&[command, &csv].concat()), expected, "{command:?}");
    }
    let empty = ["find", "db", "pets", "{age: 5}", "--format", "csv", "--fields", "age"];
    assert_eq!(place.good(&empty), "_id,age\n");
    assert_eq!(place.good(&["find", "db", "pets", "{age: 5}", "--format", "csv"]), "");
    assert_eq!(place.good(&["find", "db", "pets", "{age: 5}", "--format", "json"]), "[]\n");
    let projected = ["find", "db", "pets", "--projection", "{age: 1, _id: 0}", "--format", "csv"];
    assert_eq!(place.good(&projected), "age\n102\n3\n");
}

#[test]
fn json_may_be_pretty_and_tables_not() {
    let place = pets();
    let pretty = place.good(&["get", "db", "pets", "rex", "--pretty", "--format", "json", "--fields", "age"]);
    assert_eq!(pretty, "[\n{\n  \"_id\": \"rex\",\n  \"age\": 3\n}\n]\n");
    assert!(place.bad(2, &["find", "db", "pets", "--pretty", "--format", "table"]).contains("--pretty is for JSON"));
    assert!(place.bad(2, &["find", "db", "pets", "--format", "xml"]).contains("jsonl"));
    assert!(place.bad(2, &["find", "db", "pets", "--json", "--format", "csv"]).contains("--format"));
}

#[test]
fn a_field_that_comes_late_is_an_error_in_csv_and_a_note_in_tables() {
    let place = Place::new();
    let lines: String = (0..1100)
        .map(
            |n| if n == 1050 { "{\"_id\":1050,\"late\":{\"x\":1}}\n".to_owned() } else { format!("{{\"_id\":{n}}}\n") },
        )
        .collect();
    place.write("c.jsonl", lines);
    place.good(&["load", "db", "c", "c.jsonl"]);
    for format in ["csv", "tsv"] {
        let ended = place.run(&["scan", "db", "c", "--format", format]);
        assert_eq!(ended.code, Some(1), "{}", ended.err);
        assert!(ended.err.contains("the document 1050 has a field late.x"), "{}", ended.err);
        assert!(ended.err.contains("1,000 documents") && ended.err.contains("--fields"), "{}", ended.err);
        assert_eq!(ended.out.lines().count(), 1 + 1050, "what was printed before is whole");
        let ended = place.run(&["aggregate", "db", "c", "{$match: {}}", "--format", format]);
        assert_eq!((ended.code, ended.out.lines().count()), (Some(1), 1 + 1050), "{}", ended.err);
        assert!(ended.err.contains("also with --pipeline"), "{}", ended.err);
    }
    for format in ["table", "markdown"] {
        let ended = place.run(&["scan", "db", "c", "--format", format]);
        assert_eq!((ended.code, ended.out.lines().count()), (Some(0), 2 + 1100), "{}", ended.err);
        assert!(
            ended.err.contains("note: fields that appear only in later documents are left out: late.x"),
            "{}",
            ended.err
        );
    }
    assert_eq!(place.good(&["scan", "db", "c", "--format", "csv", "--fields", "late.x"]).lines().count(), 1101);
    let exported = place.good(&["export", "db", "c", "--format", "csv", "--pipeline", "{$match: {}}"]);
    assert_eq!((exported.lines().next(), exported.lines().count()), (Some("_id,late.x"), 1101));
}

#[test]
fn tables_fit_the_width_that_is_set() {
    let place = pets();
    let mut command = place.command(&["find", "db", "pets", "--format", "table"]);
    command.env("COLUMNS", "40").stdout(Stdio::piped()).stderr(Stdio::piped());
    let ended = common::ended(command.spawn().expect("the binary"));
    assert!(ended.out.lines().all(|line| line.chars().count() <= 40), "{}", ended.out);
    assert!(ended.out.contains('…'), "{}", ended.out);
}

#[test]
fn colours_are_for_terminals_unless_the_user_wants_them_elsewhere() {
    let place = pets();
    let get = ["get", "db", "pets", "rex", "--fields", "age"];
    assert!(!place.good(&get).contains('\u{1b}'));
    let coloured = place.good(&[&get[..], &["--color", "always"]].concat());
    assert_eq!(
        coloured,
        "{\u{1b}[34m\"_id\"\u{1b}[0m:\u{1b}[32m\"rex\"\u{1b}[0m,\u{1b}[34m\"age\"\u{1b}[0m:\u{1b}[36m3\u{1b}[0m}\n"
    );
    let table = place.good(&[&get[..], &["--color", "always", "--format", "table"]].concat());
    assert!(table.starts_with("\u{1b}[1m_id\u{1b}[0m"), "{table:?}");
    let csv = place.good(&[&get[..], &["--color", "always", "--format", "csv"]].concat());
    assert_eq!(csv, "_id,age\nrex,3\n");
    assert!(!place.good(&[&get[..], &["--color", "never"]].concat()).contains('\u{1b}'));
    place.write("red.toml", "color = \"always\"\n");
    assert_eq!(place.good(&[&get[..], &["--config", "red.toml"]].concat()), coloured);
    assert!(place.bad(2, &[&get[..], &["--color", "red"]].concat()).contains("always"));
}

#[test]
fn control_characters_of_documents_do_not_reach_a_table() {
    let place = Place::new();
    place.good(&["put", "db", "c", "1", "{\"a\\u001b[1m\": \"\\u001b[31mred\\u009b1m\"}"]);
    for format in ["table", "markdown"] {
        let out = place.good(&["find", "db", "c", "--format", format]);
        assert!(!out.contains(['\u{1b}', '\u{9b}']) && out.contains("\\u{1b}[31mred\\u{9b}1m"), "{out:?}");
    }
    // In a pipe, CSV contains the unescaped values.
    assert_eq!(place.good(&["find", "db", "c", "--format", "csv"]), "_id,a\u{1b}[1m\n1,\u{1b}[31mred\u{9b}1m\n");
}

#[test]
fn collections_have_figures() {
    let place = pets();
    place.good(&["index", "create", "db", "pets", "{\"age\": 1}"]);
    place.good(&["put", "db", "zoo.cats", "1", "{}"]);
    assert_eq!(place.good(&["collections", "db"]), "main.pets\nzoo.cats\n");
    assert_eq!(place.json(&["collections", "db", "--json"]), serde_json::json!(["main.pets", "zoo.cats"]));
    let json = place.good(&["collections", "db", "--format", "json"]);
    let all: serde_json::Value = serde_json::from_str(&json).expect("JSON");
    assert_eq!((&all[0]["collection"], &all[0]["documents"]), (&"main.pets".into(), &2.into()), "{json}");
    assert_eq!((&all[0]["indexes"], &all[1]["indexes"]), (&2.into(), &1.into()), "{json}");
    assert!(all[0]["bytes"].is_number() && all[0]["estimated"] == false, "{json}");
    let table = place.good(&["collections", "db", "--format", "table"]);
    let lines: Vec<&str> = table.lines().collect();
    assert!(lines[0].starts_with("collection  documents ") && lines[0].ends_with("indexes"), "{table}");
    assert!(lines[2].starts_with("main.pets           2 ") && lines[2].ends_with(" 2"), "{table}");
    place.good(&["build", "store", "documents", "pets.jsonl"]);
    let csv = place.good(&["collections", "store", "--format", "csv"]);
    assert!(csv.contains("\nmain.documents,2,false,"), "{csv}");
}

#[test]
fn indexes_have_rows() {
    let place = pets();
    place.good(&["index", "create", "db", "pets", "{\"age\": -1}", "--unique"]);
    let csv = place.good(&["index", "list", "db", "--format", "csv"]);
    let lines: Vec<&str> = csv.lines().collect();
    assert_eq!(lines[0], "collection,name,key,options,entries,bytes,state");
    assert_eq!(lines[1], "main.pets,_id_,\"{\"\"_id\"\":1}\",{},2,,ready");
    assert!(lines[2].starts_with("main.pets,age_-1,\"{\"\"age\"\":-1}\",\"{\"\"unique\"\":true}\",2,"), "{csv}");
    assert!(lines[2].ends_with(",ready") && lines.len() == 3, "{csv}");
    let jsonl = place.good(&["index", "list", "db", "pets", "--format", "jsonl"]);
    let last: serde_json::Value = serde_json::from_str(jsonl.lines().last().expect("a line")).expect("JSON");
    assert_eq!(last["key"], serde_json::json!({ "age": -1 }));
    let table = place.good(&["index", "list", "db", "pets", "--format", "table"]);
    assert!(table.lines().nth(3).is_some_and(|line| line.contains("~2") && line.ends_with("ready")), "{table}");
}
