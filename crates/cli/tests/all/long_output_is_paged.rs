//! Output on a terminal that is longer than the screen is shown by the pager in the variable PAGER. Without a terminal,
//! or if the user does not want a pager, the output is printed at once.

#![cfg(target_os = "linux")]

use crate::common;
use crate::common::Place;
use rexpect::session::{PtySession, spawn_command};
use std::process::Stdio;

const PATIENCE_MS: u64 = 20_000;
/// A pager that marks each line that it was given.
const PAGER: &str = "sed s/^/paged:/";

fn place() -> Place {
    let place = Place::new();
    let pets: String = (0..100).map(|id| format!("{{\"_id\":{id},\"kind\":\"dog\"}}\n")).collect();
    place.write("pets.jsonl", pets);
    place.good(&["load", "db", "pets", "pets.jsonl"]);
    place
}

/// Starts a command on a terminal of 24 rows.
fn start(place: &Place, arguments: &[&str], pager: Option<&str>) -> PtySession {
    // A new terminal has no size, so the command sets one.
    let binary = place.command(&[]).get_program().to_str().expect("a path").to_owned();
    let quoted: Vec<String> = arguments.iter().map(|argument| format!("'{argument}'")).collect();
    let line = format!("stty rows 24 cols 80; exec {binary} {}", quoted.join(" "));
    let mut command = std::process::Command::new("sh");
    command.args(["-c", &line]).current_dir(place.path("")).stdin(Stdio::inherit());
    command.env("TERM", "xterm").env("NO_COLOR", "1").env_remove("LESS").env_remove("PAGER");
    command.env("XDG_CONFIG_HOME", place.path("")).env("XDG_STATE_HOME", place.path(""));
    if let Some(pager) = pager {
        command.env("PAGER", pager);
    }
    spawn_command(command, Some(PATIENCE_MS)).expect("a terminal")
}

/// The complete output of a command on the terminal.
fn printed(place: &Place, arguments: &[&str], pager: Option<&str>) -> String {
    start(place, arguments, pager).exp_eof().expect("the end")
}

const LONG: [&str; 5] = ["find", "db", "pets", "--format", "jsonl"];
const SHORT: [&str; 7] = ["find", "db", "pets", "--limit", "20", "--format", "jsonl"];

#[test]
fn only_what_is_longer_than_the_screen_is_paged() {
    let place = place();
    let out = printed(&place, &LONG, Some(PAGER));
    assert_eq!(out.matches("paged:").count(), 100, "{out}");
    let out = printed(&place, &SHORT, Some(PAGER));
    assert!(!out.contains("paged:") && out.contains("\"_id\":19,"), "{out}");
    let out = printed(&place, &["find", "db", "pets", "--format", "table"], Some(PAGER));
    assert_eq!(out.matches("paged:").count(), 102, "{out}");
}

#[test]
fn a_pager_that_is_not_wanted_or_missing_shows_all() {
    let place = place();
    for (arguments, pager) in [
        ([&LONG[..], &["--no-pager"]].concat(), Some(PAGER)),
        (LONG.to_vec(), Some("")),
        (LONG.to_vec(), Some("cat")),
        (LONG.to_vec(), Some("no-such-pager-anywhere")),
        (["export", "db", "pets"].to_vec(), Some(PAGER)),
    ] {
        let out = printed(&place, &arguments, pager);
        assert!(!out.contains("paged:") && out.contains("\"_id\":99,"), "{arguments:?} {pager:?}: {out}");
    }
    let mut piped = place.command(&LONG);
    piped.env("PAGER", PAGER).stdout(Stdio::piped()).stderr(Stdio::piped());
    let ended = common::ended(piped.spawn().expect("the binary"));
    assert!(!ended.out.contains("paged:"), "{}", ended.out);
}

#[test]
fn a_pager_may_be_a_command_for_a_shell() {
    let place = place();
    let out = printed(&place, &LONG, Some("grep -c dog | sed 's/^/paged: /'"));
    assert!(out.contains("paged: 100"), "{out}");
}

#[test]
fn a_pager_that_is_left_early_ends_the_command_without_an_error() {
    let place = Place::new();
    place.comments("c.jsonl", 5000);
    place.good(&["load", "db", "c", "c.jsonl", "--id-field", "id"]);
    let mut command = start(&place, &["scan", "db", "c"], Some("head -n 1"));
    let out = command.exp_eof().expect("the end");
    assert!(out.lines().count() < 100, "{out}");
    assert!(!out.contains("alluvium:"), "{out}");
}

#[test]
fn an_interrupt_leaves_the_pager_to_its_user() {
    let place = place();
    // A pager that reads its input to the end, and then a line from the terminal, as `less` does.
    let pager = "trap '' INT; cat >/dev/null; echo shown; read key </dev/tty; echo left with $key";
    let mut command = start(&place, &LONG, Some(pager));
    command.exp_string("shown").expect("the pager");
    command.send_control('c').expect("a terminal");
    command.send_line("q").expect("a terminal");
    command.exp_string("left with q").expect("the pager was not left alone");
    command.exp_eof().expect("the end");
}

/// On a terminal, a list of documents is a table. A single document is JSON, and so is all output to a pipe.
#[test]
fn a_list_on_a_terminal_is_a_table() {
    let place = place();
    let table = "_id  kind\r\n---  ----\r\n  0  dog\r\n";
    for command in ["find", "scan"] {
        let arguments = [command, "db", "pets", "--limit", "1"];
        assert_eq!(printed(&place, &arguments, Some("")), table);
        assert_eq!(place.good(&arguments), "{\"_id\":0,\"kind\":\"dog\"}\n");
    }
    assert_eq!(printed(&place, &["aggregate", "db", "pets", "[{\"$limit\": 1}]"], Some("")), table);
    assert_eq!(printed(&place, &["get", "db", "pets", "0"], Some("")), "{\"_id\":0,\"kind\":\"dog\"}\r\n");
    place.write("mode.toml", "mode = \"jsonl\"\n");
    let arguments = ["find", "db", "pets", "--limit", "1", "--config", "mode.toml"];
    assert_eq!(printed(&place, &arguments, Some("")), "{\"_id\":0,\"kind\":\"dog\"}\r\n");
}

#[test]
fn a_table_in_the_shell_is_paged_too() {
    let place = place();
    let mut shell = start(&place, &["shell", "db"], Some(PAGER));
    shell.exp_string("alluvium> ").expect("a prompt");
    shell.send_line("find pets --format table").expect("a terminal");
    shell.exp_string("paged:").expect("a page");
    shell.exp_string("alluvium> ").expect("a prompt");
    shell.send_line("find pets --limit 1").expect("a terminal");
    shell.exp_string("\"_id\": 0,\r\n").expect("a document");
    shell.exp_string("alluvium> ").expect("a prompt");
    shell.send_line("exit").expect("a terminal");
    shell.exp_eof().expect("the end");
}
