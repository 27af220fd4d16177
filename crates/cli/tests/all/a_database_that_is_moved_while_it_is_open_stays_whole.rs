//! If a directory is moved, replaced or removed while a process has its database open, the process continues in the
//! moved directory or reports what happened. Another database that is created at the old path is not changed.

use crate::common;
use crate::common::{Place, ended_soon};
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin};

/// A shell that has a database open.
struct Open {
    shell: Child,
    input: ChildStdin,
    out: BufReader<std::process::ChildStdout>,
}

impl Open {
    fn new(place: &Place) -> Self {
        let mut shell = place.start(&["shell", "db", "--create"]);
        let (input, out) = (shell.stdin.take().expect("a pipe"), shell.stdout.take().expect("a pipe"));
        Self { shell, input, out: BufReader::new(out) }
    }

    /// Runs a command, and then a second one whose output shows that the first has ended.
    fn run(&mut self, command: &str) {
        writeln!(self.input, "{command}\ncount no.such").expect("a shell that reads");
        let mut line = String::new();
        while line != "0\n" {
            line.clear();
            assert!(self.out.read_line(&mut line).expect("text") > 0, "the shell has ended");
        }
    }

    fn end(self) -> common::Ended {
        let Self { shell, input, .. } = self;
        drop(input);
        ended_soon(shell)
    }
}

#[test]
fn when_another_database_takes_its_path() {
    let place = Place::new();
    let mut open = Open::new(&place);
    open.run("put docs --sync sync a1 {\"of\": \"a\"}");
    std::fs::rename(place.path("db"), place.path("old")).expect("a rename");
    place.good(&["put", "db", "docs", "b1", "{\"of\": \"b\"}", "--sync", "sync"]);
    open.run("put docs --sync sync a2 {\"of\": \"a\"}");
    open.run("compact");
    // No process has the new database open, and the shell has the old one open.
    place.good(&["put", "db", "docs", "b2", "{\"of\": \"b\"}"]);
    place.bad(6, &["count", "old", "docs"]);
    std::fs::remove_file(place.path("old/LOCK")).expect("a removal");
    place.bad(6, &["count", "old", "docs"]);
    open.run("checkpoint made");
    let ended = open.end();
    assert_eq!(ended.code, Some(0), "{}", ended.err);
    let documents = |ids: [&str; 2], of: &str| ids.map(|id| format!("{{\"_id\":\"{id}\",\"of\":\"{of}\"}}\n")).concat();
    assert_eq!(place.good(&["scan", "old", "docs"]), documents(["a1", "a2"], "a"));
    assert_eq!(place.good(&["scan", "db", "docs"]), documents(["b1", "b2"], "b"));
    for database in ["old", "db", "made"] {
        place.good(&["verify", database]);
    }
}

#[test]
fn when_it_is_removed() {
    let place = Place::new();
    let mut open = Open::new(&place);
    open.run("put docs --sync sync a1 {}");
    std::fs::remove_dir_all(place.path("db")).expect("a removal");
    place.good(&["put", "db", "docs", "b1", "{}", "--sync", "sync"]);
    open.run("put docs --sync sync a2 {}");
    open.run("compact");
    let ended = open.end();
    assert_ne!(ended.code, Some(0));
    assert!(ended.err.contains("was removed while it was in use"), "{}", ended.err);
    assert_eq!(place.good(&["count", "db", "docs"]), "1\n");
    place.good(&["verify", "db"]);
}
