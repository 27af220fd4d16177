//! The shell on a pseudo-terminal: editing, completion, history, colours, unfinished JSON, ctrl-C and ctrl-D.

#![cfg(target_os = "linux")]

use crate::common::Place;
use rexpect::process::{PtyProcess, WaitStatus};
use rexpect::session::{PtySession, spawn_command};
use std::fs::File;
use std::io::{Read, Write};
use std::sync::mpsc::{Receiver, sync_channel};
use std::time::Duration;

const PATIENCE_MS: u64 = 20_000;
const CONTROL_C: &str = "\x03";
const CONTROL_D: &str = "\x04";

fn shell(place: &Place, colours: bool) -> PtySession {
    let mut command = place.command(&["shell", "db"]);
    command.env("TERM", "xterm").stdin(std::process::Stdio::inherit());
    match colours {
        true => command.env_remove("NO_COLOR"),
        false => command.env("NO_COLOR", "1"),
    };
    let mut shell = spawn_command(command, Some(PATIENCE_MS)).expect("a terminal");
    shell.exp_string("`help` lists the commands").expect("a greeting");
    shell.exp_string("alluvium> ").expect("a prompt");
    shell
}

fn place() -> Place {
    let place = Place::new();
    let pets: String = (0..100).map(|id| format!("{{\"_id\":{id},\"kind\":\"dog\",\"age\":{id}}}\n")).collect();
    place.write("pets.jsonl", pets);
    place.good(&["load", "db", "pets", "pets.jsonl"]);
    place
}

fn say(shell: &mut PtySession, line: &str) {
    shell.send_line(line).expect("a terminal");
}

/// Waits for the prompt before sending ctrl-D: while a command runs, the terminal treats ctrl-D as the end of a line,
/// and the shell does not receive it.
fn end_with_control_d(mut shell: PtySession) {
    shell.exp_string("alluvium> ").expect("a prompt");
    shell.send_control('d').expect("a terminal");
    shell.exp_eof().expect("the end");
}

#[test]
fn documents_are_shown_for_people_and_in_colours_unless_unwanted() {
    let place = place();
    let mut plain = shell(&place, false);
    say(&mut plain, "use pets");
    plain.exp_string("pets> ").expect("the prompt names the collection");
    say(&mut plain, "get 7");
    plain.exp_string("{\r\n  \"_id\": 7,\r\n  \"kind\": \"dog\",\r\n  \"age\": 7\r\n}\r\n").expect("a document");
    say(&mut plain, "exit");
    plain.exp_eof().expect("the end");
    let mut coloured = shell(&place, true);
    say(&mut coloured, "get pets 7");
    coloured.exp_string("\x1b[34m\"kind\"\x1b[0m: \x1b[32m\"dog\"\x1b[0m").expect("colours");
    end_with_control_d(coloured);
}

#[test]
fn words_are_completed_and_json_goes_on_over_lines() {
    let place = place();
    let mut shell = shell(&place, false);
    // Unambiguous prefixes are completed.
    shell.send("upd\t pe\t 7 {\"$unse\t\": {\"ag\t\": 1}}\n").expect("a terminal");
    shell.exp_string("updated 7").expect("an update");
    shell.exp_string("alluvium> ").expect("a prompt");
    // Completion in the middle of a command: before text that was already typed, and after options.
    shell.send("scan  --limit 1").expect("a terminal");
    shell.send(&"\x1b[D".repeat(10)).expect("a terminal");
    shell.send("pe\t\x05 --rev\t --fields=ki\t\n").expect("a terminal");
    shell.exp_string("\"kind\": \"dog\"").expect("a document");
    shell.exp_string("alluvium> ").expect("a prompt");
    say(&mut shell, "put pets new {\"kind\":");
    say(&mut shell, "\"cat\"}");
    shell.exp_string("alluvium> ").expect("a prompt");
    say(&mut shell, "exit");
    shell.exp_eof().expect("the end");
    assert_eq!(
        place.good(&["get", "db", "pets", "7", "new"]),
        "{\"_id\":7,\"kind\":\"dog\"}\n{\"_id\":\"new\",\"kind\":\"cat\"}\n"
    );
}

#[test]
fn an_unfinished_line_is_continued_at_a_prompt_of_its_own() {
    let place = place();
    let mut shell = shell(&place, false);
    say(&mut shell, "put pets new {kind:");
    shell.exp_string("     ...> ").expect("a prompt");
    say(&mut shell, "'cat'}");
    shell.exp_string("alluvium> ").expect("a prompt");
    say(&mut shell, "use pets");
    shell.exp_string("pets> ").expect("a prompt");
    say(&mut shell, "delete 'given up");
    shell.exp_string(" ...> ").expect("a prompt");
    shell.send_control('c').expect("a terminal");
    shell.exp_string("pets> ").expect("a prompt");
    say(&mut shell, "get new");
    shell.exp_string("\"kind\": \"cat\"").expect("a document");
    shell.exp_string("pets> ").expect("a prompt");
    shell.send_control('d').expect("a terminal");
    shell.exp_eof().expect("the end");
}

#[test]
fn documents_are_shown_by_twenties() {
    let place = place();
    let mut shell = shell(&place, false);
    say(&mut shell, "find pets");
    shell.exp_string("\"age\": 19").expect("a page");
    shell.exp_string("-- Enter shows 20 more, a all, q no more -- ").expect("a question");
    say(&mut shell, "");
    shell.exp_string("\"age\": 39").expect("a page");
    shell.exp_string("q no more -- ").expect("a question");
    say(&mut shell, "q");
    shell.exp_string("alluvium> ").expect("a prompt");
    say(&mut shell, "scan pets");
    shell.exp_string("q no more -- ").expect("a question");
    say(&mut shell, "a");
    shell.exp_string("\"age\": 99").expect("all");
    shell.exp_string("alluvium> ").expect("a prompt");
    // Any other input is the next command.
    say(&mut shell, "scan pets");
    shell.exp_string("q no more -- ").expect("a question");
    say(&mut shell, "count pets");
    shell.exp_string("100\r\n").expect("a count");
    end_with_control_d(shell);
}

#[test]
fn words_of_other_shells_are_understood() {
    let place = place();
    let mut shell = shell(&place, false);
    for line in ["show collections", ".tables"] {
        say(&mut shell, line);
        shell.exp_string("main.pets ").expect("the collection");
        shell.exp_string("alluvium> ").expect("a prompt");
    }
    say(&mut shell, ".schema pets");
    for field in ["main.pets: 100 documents", "_id ", "kind ", "age "] {
        shell.exp_string(field).expect("the fields");
    }
    shell.exp_string("alluvium> ").expect("a prompt");
    say(&mut shell, "db.pets.find({})");
    shell.exp_string("commands have this form here: `find pets").expect("advice");
    shell.exp_string("alluvium> ").expect("a prompt");
    say(&mut shell, ".exit");
    shell.exp_eof().expect("the end");
}

#[test]
fn a_document_that_is_left_out_is_asked_for() {
    let place = place();
    let mut command = place.command(&["put", "db", "pets", "typed"]);
    command.env("TERM", "xterm").env("NO_COLOR", "1").stdin(std::process::Stdio::inherit());
    let mut put = spawn_command(command, Some(PATIENCE_MS)).expect("a terminal");
    put.exp_string("type the document as JSON").expect("a question");
    say(&mut put, "{\"kind\": \"cat\"}");
    put.send_control('d').expect("a terminal");
    put.exp_eof().expect("the end");
    assert_eq!(place.good(&["get", "db", "pets", "typed"]), "{\"_id\":\"typed\",\"kind\":\"cat\"}\n");
}

#[test]
fn lines_typed_ahead_are_taken_one_after_the_other() {
    let place = place();
    let mut shell = shell(&place, false);
    // More text than one read from a terminal returns, with a word across the boundary.
    let lines: String = (0..300).map(|id| format!("put pets ahead{id} {{}}\n")).collect();
    shell.send(&lines).expect("a terminal");
    say(&mut shell, "count pets");
    shell.exp_string("\r\n400\r\n").expect("all of them");
    say(&mut shell, "exit");
    shell.exp_eof().expect("the end");
}

#[test]
fn each_line_of_what_is_pasted_is_a_command() {
    let place = place();
    let mut shell = shell(&place, false);
    let lines = "delete pets 1\rput pets rex {\"v\":\r2}\rget pets 7\ruse pets\r\rcount\r";
    shell.send(&format!("\x1b[200~{lines}\x1b[201~\n")).expect("a terminal");
    shell.exp_string("\"_id\": 7").expect("a document");
    shell.exp_string("\r\n100\r\n").expect("one deleted, one put");
    shell.exp_string("pets> ").expect("the prompt names the collection");
    say(&mut shell, "exit");
    shell.exp_eof().expect("the end");
    assert_eq!(
        place.good(&["get", "db", "pets", "7", "rex", "--fields", "v"]),
        "{\"_id\":7}\n{\"_id\":\"rex\",\"v\":2}\n"
    );
    let history = place.read("alluvium/history");
    let commands = ["delete pets 1", "get pets 7", "use pets", "count", "exit"];
    assert!(commands.iter().all(|&command| history.lines().any(|line| line == command)), "{history}");
}

#[test]
fn an_interrupt_gives_up_the_rest_of_what_was_pasted() {
    let place = place();
    place.comments("comments.jsonl", 30_000);
    place.good(&["load", "db", "comments", "comments.jsonl", "--id-field", "id"]);
    let mut shell = SlowTerminal::new(&place);
    shell.send("\x1b[200~scan comments\ndelete pets 1\x1b[201~\n");
    shell.expect("\"subreddit\"");
    shell.send(CONTROL_C);
    shell.expect("alluvium: stopped");
    shell.expect("was not run: 1 command");
    shell.end_with_control_d();
    assert_eq!(place.good(&["count", "db", "pets"]), "100\n");
}

#[test]
fn earlier_commands_are_remembered_from_shell_to_shell() {
    let place = place();
    let mut first = shell(&place, false);
    say(&mut first, "count pets");
    first.exp_string("100").expect("a count");
    say(&mut first, "exit");
    first.exp_eof().expect("the end");
    assert_eq!(place.read("alluvium/history").lines().last(), Some("exit"));
    let mut second = shell(&place, false);
    // Pressing Up twice selects the command before the last.
    second.send("\x1b[A\x1b[A\n").expect("a terminal");
    second.exp_string("100\r\n").expect("a count");
    say(&mut second, "exit");
    second.exp_eof().expect("the end");
}

/// A terminal whose output is read only on request. A command with much output therefore blocks, and cannot end before
/// it is interrupted. (A [`PtySession`] reads all output at once.)
struct SlowTerminal {
    shell: PtyProcess,
    keyboard: File,
    pages: Receiver<Vec<u8>>,
    shown: Vec<u8>,
}

impl SlowTerminal {
    fn new(place: &Place) -> Self {
        let mut command = place.command(&["shell", "db"]);
        command.env("TERM", "xterm").env("NO_COLOR", "1").stdin(std::process::Stdio::inherit());
        let shell = PtyProcess::new(command).expect("a terminal");
        let keyboard = shell.get_file_handle().expect("a terminal");
        let mut screen = shell.get_file_handle().expect("a terminal");
        let (sender, pages) = sync_channel(0);
        std::thread::spawn(move || {
            let mut page = [0; 4096];
            while let Ok(len @ 1..) = screen.read(&mut page) {
                if sender.send(page[..len].to_vec()).is_err() {
                    return;
                }
            }
        });
        let mut terminal = Self { shell, keyboard, pages, shown: Vec::new() };
        terminal.expect("`help` lists the commands");
        terminal.expect("alluvium> ");
        terminal
    }

    fn send(&mut self, keys: &str) {
        self.keyboard.write_all(keys.as_bytes()).expect("a terminal");
    }

    /// Reads until the text has appeared, and no further than the page that contains it.
    fn expect(&mut self, text: &str) {
        let patience = Duration::from_millis(PATIENCE_MS);
        loop {
            if let Some(at) = self.shown.windows(text.len()).position(|shown| shown == text.as_bytes()) {
                self.shown.drain(..at + text.len());
                return;
            }
            let keep = self.shown.len().min(text.len());
            self.shown.drain(..self.shown.len() - keep);
            match self.pages.recv_timeout(patience) {
                Ok(page) => self.shown.extend(page),
                Err(why) => panic!("{text:?} was not shown: {why}; last: {:?}", String::from_utf8_lossy(&self.shown)),
            }
        }
    }

    fn end_with_control_d(mut self) {
        self.expect("alluvium> ");
        self.send(CONTROL_D);
        let patience = Duration::from_millis(PATIENCE_MS);
        while self.pages.recv_timeout(patience).is_ok() {}
        assert!(matches!(self.shell.wait(), Ok(WaitStatus::Exited(_, 0))), "it ended badly");
    }
}

#[test]
fn an_interrupt_gives_up_a_line_or_stops_a_command_and_never_ends_the_shell() {
    let place = place();
    place.comments("comments.jsonl", 30_000);
    place.good(&["load", "db", "comments", "comments.jsonl", "--id-field", "id"]);
    let mut shell = SlowTerminal::new(&place);
    shell.send("drop pets --y");
    shell.expect("--y");
    shell.send(CONTROL_C);
    shell.expect("alluvium> ");
    shell.send("scan comments\n");
    shell.expect("\"subreddit\"");
    shell.send(CONTROL_C);
    shell.expect("alluvium: stopped");
    shell.expect("alluvium> ");
    shell.send("get pets nobody\n");
    shell.expect("alluvium: not found: \"nobody\"");
    // The interrupt stopped one command, but not the next.
    shell.send("scan pets --from 41 --limit 1\n");
    shell.expect("\"age\": 41\r\n");
    shell.send("count pets\n");
    shell.expect("100\r\n");
    shell.end_with_control_d();
    assert_eq!(place.good(&["count", "db", "pets"]), "100\n");
}
