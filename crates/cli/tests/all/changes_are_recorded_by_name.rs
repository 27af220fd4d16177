//! `changes record`, `changes stop` and `changes list`, and what a server does with recorded changes.

use crate::common::Place;
use crate::served::{kill, run, serve_with};

fn names(place: &Place) -> Vec<String> {
    let listed = place.json(&["changes", "list", "db", "--json"]);
    let recorded = listed["recorded"].as_array().expect("an array");
    recorded.iter().map(|scope| scope["name"].as_str().unwrap_or("everything").to_owned()).collect()
}

#[test]
fn changes_are_recorded_listed_and_stopped() {
    let place = Place::new();
    place.write("pets.jsonl", "{\"_id\":1}\n{\"_id\":2}\n");
    place.good(&["load", "db", "pets", "pets.jsonl"]);
    assert_eq!(place.good(&["changes", "list", "db"]), "nothing is recorded\n");
    assert_eq!(
        place.good(&["changes", "record", "db", "main.pets"]),
        "the changes of the collection main.pets are recorded\n"
    );
    let shop = place.run(&["changes", "record", "db", "shop"]);
    assert_eq!((shop.code, shop.out.as_str()), (Some(0), "the changes of the logical database shop are recorded\n"));
    assert!(shop.err.contains("there is no logical database shop yet") && !shop.err.contains("main."), "{}", shop.err);
    let mistaken = place.run(&["changes", "record", "db", "pets"]).err;
    assert!(
        mistaken.contains("no logical database pets yet; for the collection main.pets, write main.pets"),
        "{mistaken}"
    );
    place.good(&["changes", "stop", "db", "pets"]);
    assert!(place.run(&["changes", "record", "db", "main.toys"]).err.contains("there is no collection main.toys yet"));
    place.good(&["changes", "stop", "db", "main.toys"]);
    place.good(&["put", "db", "pets", "3", "{}"]);
    let listed = place.good(&["changes", "list", "db"]);
    let lines: Vec<&str> = listed.lines().collect();
    assert!(lines[0].starts_with("main.pets  since 20") && lines[0].ends_with("until it is stopped"), "{listed}");
    assert!(lines[1].starts_with("shop") && lines[2].starts_with("about 1 change, "), "{listed}");
    let json = place.json(&["changes", "list", "db", "--json"]);
    assert_eq!((&json["changes_estimated"], &json["recorded"][0]["automatic"]), (&1.into(), &false.into()), "{json}");
    assert!(json["recorded"][0]["first_unix_ms"].as_i64().expect("a time") > 1_700_000_000_000, "{json}");
    place.good(&["changes", "record", "db"]);
    assert_eq!(names(&place), ["main.pets", "shop", "everything"]);
    assert_eq!(place.good(&["changes", "stop", "db"]), "the changes of all collections are no longer recorded\n");
    assert_eq!(
        place.run_with(&["shell", "db"], b"changes stop shop\n").out,
        "the changes of the logical database shop are no longer recorded\n"
    );
    assert_eq!(names(&place), ["main.pets"]);
    place.good(&["changes", "stop", "db", "main.pets"]);
    assert_eq!(names(&place), [""; 0]);
}

#[test]
fn wrong_names_and_databases_are_refused() {
    let place = Place::new();
    place.write("pets.jsonl", "{\"_id\":1}\n");
    place.good(&["load", "db", "pets", "pets.jsonl"]);
    for command in ["record", "stop", "list"] {
        place.bad(3, &["changes", command, "nowhere"]);
        place.bad(2, &["changes", command]);
    }
    for name in ["", "sh op", "shop.", ".pets", "shop.system.x", "$shop", "shop.a$b"] {
        for command in ["record", "stop"] {
            let ended = place.run(&["changes", command, "db", name]);
            assert!(ended.code == Some(2) && ended.err.contains("is not allowed"), "{name}: {}", ended.err);
        }
    }
    let stopped = place.bad(3, &["changes", "stop", "db", "shop"]);
    assert!(stopped.contains("not recorded under this name"), "{stopped}");
    assert_eq!(place.good(&["changes", "list", "db"]), "nothing is recorded\n");
}

#[test]
fn wrong_retentions_are_refused_before_a_database_is_created() {
    let place = Place::new();
    for retention in ["0", "0h", "24h,0G", "soon", "", "24h,24h", "5m"] {
        let said = place.bad(2, &["serve", "db", "--change-retention", retention]);
        assert!(said.contains("--change-retention"), "{retention}: {said}");
    }
    assert!(place.bad(2, &["serve", "db", "--changes", "sometimes"]).contains("always"));
    assert!(!place.path("db").exists());
}

#[test]
#[cfg(unix)]
fn a_server_shows_the_operation_log_if_it_is_told_to() {
    let place = Place::new();
    assert!(place.bad(2, &["serve", "db", "--oplog", "--standalone"]).contains("--standalone"));
    let find = || alluvium::doc! {"find": "oplog.rs", "$db": "local"};
    for (arguments, entries) in [(&["--oplog"][..], 3), (&["--oplog"], 4), (&[], 0)] {
        let (mut server, port) = serve_with(&place, arguments);
        let mut client = std::net::TcpStream::connect(("127.0.0.1", port)).expect("a connection");
        let pets = vec![alluvium::Value::Map(alluvium::Map::new())];
        run(&mut client, alluvium::doc! {"insert": "pets", "documents": pets}).expect("a reply");
        let reply = run(&mut client, find()).expect("a reply");
        let batch = reply.get("cursor").and_then(|cursor| cursor.as_map()?.get("firstBatch")?.as_array());
        assert_eq!(batch.map_or(0, <[_]>::len), entries, "{reply}");
        assert_eq!(names(&place), ["everything"], "recorded until it is stopped");
        kill(&mut server);
    }
}

#[test]
#[cfg(unix)]
fn a_server_records_always_and_keeps_it_by_name() {
    let place = Place::new();
    let (mut server, port) = serve_with(&place, &["--changes", "always", "--change-retention", "1h"]);
    let mut client = std::net::TcpStream::connect(("127.0.0.1", port)).expect("a connection");
    let pets = vec![alluvium::Value::Map(alluvium::doc! {"_id": 1})];
    run(&mut client, alluvium::doc! {"insert": "pets", "documents": pets}).expect("a reply");
    let listed = place.good(&["changes", "list", "db"]);
    assert!(
        listed.starts_with("everything  since 20") && listed.contains("until it is stopped\nabout 2 changes"),
        "{listed}"
    );
    kill(&mut server);
    let (mut server, _) = serve_with(&place, &[]);
    assert_eq!(names(&place), ["everything"], "also without the argument");
    place.good(&["changes", "stop", "db"]);
    assert_eq!(names(&place), [""; 0]);
    kill(&mut server);
}
