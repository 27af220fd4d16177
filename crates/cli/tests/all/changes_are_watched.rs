//! `alluvium watch`: events of change streams as lines, places that are kept, and arguments that are refused.

use crate::common::{Place, ended_soon, signal};
use crate::served::{kill, serve_with};
use serde_json::Value;
use std::io::{BufRead, BufReader};
use std::process::Child;

fn events(printed: &str) -> Vec<Value> {
    printed.lines().map(|line| serde_json::from_str(line).expect("a line of JSON")).collect()
}

fn kinds(printed: &str) -> Vec<String> {
    events(printed).iter().map(|event| event["operationType"].as_str().expect("a kind").to_owned()).collect()
}

#[test]
fn a_token_file_continues_where_the_last_watch_ended() {
    let place = Place::new();
    place.good(&["put", "db", "pets", "1", r#"{"n": 1}"#]);
    let watch = ["watch", "db", "main.pets", "--token-file", "place", "--no-wait"];
    assert_eq!(place.good(&watch), "");
    place.good(&["put", "db", "pets", "2", r#"{"n": 2}"#]);
    place.good(&["update", "db", "pets", "1", r#"{"$inc": {"n": 5}}"#]);
    let one = place.good(&[&watch[..], &["--limit", "1"]].concat());
    assert_eq!(kinds(&one), ["insert"]);
    let two = place.good(&[&watch[..], &["--full-document", "update-lookup", "--expanded"]].concat());
    assert_eq!(kinds(&two), ["update"]);
    let update = &events(&two)[0];
    assert_eq!(update["fullDocument"], serde_json::json!({"_id": 1, "n": 6}));
    assert_eq!(update["updateDescription"]["updatedFields"], serde_json::json!({"n": 6}));
    assert!(update["collectionUUID"].is_object());
    assert_eq!(place.good(&watch), "", "each event once");
    let token = events(&one)[0]["_id"]["_data"].as_str().expect("a token").to_owned();
    let resumed = place.good(&["watch", "db", "main.pets", "--resume-after", &token, "--no-wait"]);
    assert_eq!(kinds(&resumed), ["update"]);
    let all = place.good(&["watch", "db", "main.pets", "--since", "2020-01-01T00:00:00Z", "--no-wait"]);
    assert_eq!(kinds(&all), ["insert", "update"]);
    assert_eq!(place.good(&["watch", "db", "main.pets", "--since", "2120-01-01T00:00:00Z", "--no-wait"]), "");
    let chosen = r#"[{"$match": {"operationType": "update"}}, {"$unset": "wallTime"}]"#;
    let chosen = place.good(&["watch", "db", "main.pets", chosen, "--since", "2020-01-01T00:00:00Z", "--no-wait"]);
    assert_eq!(kinds(&chosen), ["update"]);
    assert!(events(&chosen)[0]["wallTime"].is_null());
    // The end of the collection ends the watch, and the file continues with the next collection of the name.
    place.good(&["drop", "db", "pets", "--yes"]);
    place.good(&["put", "db", "pets", "3", "{}"]);
    assert_eq!(kinds(&place.good(&watch)), ["drop", "invalidate"]);
    assert_eq!(kinds(&place.good(&watch)), ["insert"]);
}

#[test]
fn without_a_server_a_watch_ends_and_says_why() {
    let place = Place::new();
    place.good(&["put", "db", "pets", "1", "{}"]);
    let ended = place.run(&["watch", "db"]);
    assert!(ended.code == Some(0) && ended.err.contains("watch a database that is being served"), "{}", ended.err);
}

#[test]
fn wrong_arguments_of_a_watch_are_refused() {
    let place = Place::new();
    place.good(&["put", "db", "pets", "1", "{}"]);
    place.bad(3, &["watch", "nowhere"]);
    for (arguments, said) in [
        (&["--resume-after", "82"][..], "--resume-after"),
        (&["--since", "yesterday"], "--since: yesterday"),
        (&["--token-file", "place", "--since", "2026-01-01T00:00:00Z"], "--since"),
        (&["--full-document", "some"], "update-lookup"),
        (&["main.pets", r#"[{"$group": {"_id": 1}}]"#], "$group is not permitted"),
        (&["main.pets", r#"[{"$match": "#], "the pipeline"),
        (&["sh op"], "is not allowed"),
    ] {
        let refused = place.bad(2, &[&["watch", "db"], arguments].concat());
        assert!(refused.contains(said), "{arguments:?}: {refused}");
    }
    place.write("place", "no token\n");
    assert!(place.bad(2, &["watch", "db", "--token-file", "place"]).contains("place: the resume token"));
    let required = ["watch", "db", "--before", "required", "--since", "2020-01-01T00:00:00Z"];
    place.good(&["watch", "db"]);
    place.good(&["delete", "db", "pets", "1"]);
    assert!(place.run(&required).err.contains("changeStreamPreAndPostImages"));
}

fn line(lines: &mut impl BufRead) -> Value {
    let mut line = String::new();
    lines.read_line(&mut line).expect("a line");
    serde_json::from_str(&line).expect("JSON")
}

#[test]
#[cfg(unix)]
fn a_served_database_is_watched_until_an_interruption() {
    let place = Place::new();
    let (mut server, _) = serve_with(&place, &[]);
    place.good(&["watch", "db", "main.pets", "--token-file", "place", "--no-wait"]);
    let mut watch: Child = place.start(&["watch", "db", "main.pets", "--token-file", "place"]);
    let mut lines = BufReader::new(watch.stdout.take().expect("its output"));
    for id in 0..3 {
        place.good(&["put", "db", "pets", &id.to_string(), "{}"]);
        if id == 0 {
            assert_eq!(line(&mut lines)["operationType"], "insert");
        }
    }
    for id in 1..3 {
        assert_eq!(line(&mut lines)["documentKey"]["_id"], id);
    }
    signal(&watch, "INT");
    let ended = ended_soon(watch);
    assert_eq!(ended.code, Some(130), "{}", ended.err);
    place.good(&["put", "db", "pets", "9", "{}"]);
    let rest = place.good(&["watch", "db", "main.pets", "--token-file", "place", "--no-wait"]);
    assert_eq!(events(&rest)[0]["documentKey"]["_id"], 9, "{rest}");
    kill(&mut server);
}

#[test]
#[cfg(unix)]
fn an_interrupted_watch_leaves_no_event_out() {
    let place = Place::new();
    let lines: Vec<String> = (0..20_000).map(|id| format!("{{\"_id\":{id}}}")).collect();
    place.write("pets.jsonl", lines.join("\n"));
    let (mut server, _) = serve_with(&place, &[]);
    let watch = ["watch", "db", "main.pets", "--token-file", "place"];
    place.good(&[&watch[..], &["--no-wait"]].concat());
    place.good(&["load", "db", "pets", "pets.jsonl"]);
    let mut ids = std::collections::BTreeSet::new();
    let mut runs = 0;
    while ids.len() < lines.len() {
        let mut child = place.start(&watch);
        let output = BufReader::new(child.stdout.take().expect("its output"));
        let before = ids.len();
        for line in output.lines() {
            let line = line.expect("a line");
            // The last line of an interrupted watch may be cut, if the pipe was full: then its event is printed again.
            let Ok(event) = serde_json::from_str::<Value>(&line) else { break };
            if event["operationType"] == "insert" {
                ids.insert(event["documentKey"]["_id"].as_i64().expect("a number"));
            }
            if ids.len() == before + 3000 || ids.len() == lines.len() {
                signal(&child, "INT");
            }
        }
        assert_eq!(ended_soon(child).code, Some(130));
        runs += 1;
        assert!(runs < 20, "{} of {} after {runs} runs", ids.len(), lines.len());
    }
    assert!(runs > 1);
    kill(&mut server);
}
