//! Control characters in names of collections, indexes, sets, fields and files are escaped wherever a name is printed,
//! so that no name affects a terminal or looks like two names.

use crate::common::{Ended, Place};

const NAME: &str = "pe\u{1b}[31mts\nx";
const SHOWN: &str = "pe\\u{1b}[31mts\\nx";
const OTHER: &str = "pe\u{1b}[31mts\ny";
const INDEX: &str = "i\u{1b}[2J\nx";
const INDEX_SHOWN: &str = "i\\u{1b}[2J\\nx";

/// Checks that a command printed no raw name, and returns both outputs.
fn checked(arguments: &[&str], ended: Ended) -> String {
    let both = ended.out + &ended.err;
    assert!(!both.contains('\u{1b}'), "{arguments:?}: {both:?}");
    for half in ["mts\n", "2J\n", "mf\n"] {
        assert!(!both.contains(half), "{arguments:?}: {both:?}");
    }
    both
}

fn run(place: &Place, arguments: &[&str]) -> String {
    checked(arguments, place.run(arguments))
}

#[test]
fn every_command_escapes_names() {
    let place = Place::new();
    place.good(&["put", "db", NAME, "rex", "{\"f\\u001b[1mf\\n\": 1, \"a\": 1}"]);
    place.good(&["put", "db", NAME, "tom", "{\"a\": 1}"]);
    place.good(&["mv", "put", "db", NAME, "key", "value"]);
    let named = |arguments: &[&str], what: &str| {
        let both = run(&place, arguments);
        assert!(both.contains(what), "{arguments:?}: {both}");
    };
    // Lists and figures.
    named(&["index", "create", "db", NAME, "{\"a\": 1}", "--name", INDEX], INDEX_SHOWN);
    named(&["index", "create", "db", NAME, "{\"a\": 1}", "--name", INDEX], INDEX_SHOWN);
    named(&["index", "create", "db", NAME, "{\"b\": 1, \"a\": 1}", "--name", INDEX], INDEX_SHOWN);
    named(&["index", "create", "db", NAME, "{\"a\": 1, \"c\": 1}", "--unique"], "was not created");
    assert_eq!(place.good(&["collections", "db"]), format!("main.{SHOWN}\n"));
    named(&["index", "list", "db"], SHOWN);
    named(&["index", "list", "db", NAME], INDEX_SHOWN);
    named(&["find", "db", NAME, "{\"a\": 1}", "--explain"], INDEX_SHOWN);
    named(&["stats", "db", NAME], INDEX_SHOWN);
    named(&["stats", "db"], "collections");
    named(&["mv", "sets", "db"], SHOWN);
    named(&["verify", "db"], "no damage");
    named(&["dump", "db", "dumped"], SHOWN);
    named(&["restore", "dumped", "new"], "restored");
    named(&["repair", "db", "--to", "repaired"], SHOWN);
    // Errors and notes.
    named(&["count", "db", OTHER], SHOWN);
    named(&["stats", "db", OTHER], SHOWN);
    named(&["drop", "db", OTHER, "--yes"], SHOWN);
    named(&["drop", "db", NAME], SHOWN);
    named(&["rename", "db", OTHER, "cats"], SHOWN);
    named(&["rename", "db", NAME, NAME], SHOWN);
    named(&["index", "drop", "db", NAME, OTHER], "\\n");
    named(&["find", "db", NAME, "{\"f\\u001b[1mg\\n\": 1}"], "\\u{1b}[1m");
    named(&["find", "db", NAME, "{}", "--hint", OTHER], "\\u{1b}");
    named(&["get", "db", NAME, "rex", "--fields", OTHER], "\\u{1b}");
    named(&["get", "db", NAME, OTHER], "not found");
    named(&["mv", "get", "db", OTHER, "key"], SHOWN);
    named(&["mv", "drop", "db", NAME], SHOWN);
    named(&["index", "create", "db", OTHER, "{\"a\": 1}"], "did not exist");
    for command in ["load", "verify", "inspect", "restore", "repair", "count", "export", "checkpoint", "nonsense"] {
        run(&place, &[command, NAME, NAME, NAME]);
        run(&place, &[command, "db", NAME, "-o", NAME]);
        run(&place, &[command, NAME]);
        run(&place, &[command, "db", NAME, "--nonsense\u{1b}[1m"]);
    }
    place.good(&["rename", "db", NAME, "dogs"]);
    place.good(&["rename", "db", "dogs", NAME]);
    place.good(&["drop", "db", NAME, "--yes"]);
    place.good(&["drop", "db", OTHER, "--yes"]);
    assert_eq!(place.good(&["collections", "db"]), "");
}

#[test]
fn the_shell_escapes_names() {
    let place = Place::new();
    place.good(&["put", "db", NAME, "rex", "{}"]);
    let script = format!("use '{OTHER}'\ncount\nuse '{NAME}'\ncount\nno{NAME}\ndrop\nget {OTHER}\ncollections\n");
    let both = checked(&["shell"], place.run_with(&["shell", "db"], script.as_bytes()));
    assert!(both.contains(&format!("there is no collection {}", SHOWN.replace('x', "y"))), "{both}");
    assert!(both.contains(&format!("this removes the collection {SHOWN}")), "{both}");
    assert!(both.contains(&format!("main.{SHOWN}\n")), "{both}");
}
