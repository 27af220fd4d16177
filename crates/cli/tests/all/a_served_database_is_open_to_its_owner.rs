//! While `serve` has a database open, commands run in the server, with the same output and exit codes as on the closed
//! database.

use crate::common::{Ended, Place, ended_soon, signal};
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream;
use std::process::{Child, Stdio};
use std::time::Duration;

/// A server of the database `db`.
struct Served {
    child: Child,
}

impl Served {
    fn begin(place: &Place) -> Self {
        let mut command = place.command(&["serve", "db", "--listen", "127.0.0.1:0"]);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().expect("the binary");
        let mut line = String::new();
        BufReader::new(child.stdout.as_mut().expect("a pipe")).read_line(&mut line).expect("a line");
        assert!(line.starts_with("listening at"), "{line}");
        Self { child }
    }

    /// Ends the server, which removes its socket.
    fn end(mut self, place: &Place) {
        signal(&self.child, "INT");
        assert_eq!(self.child.wait().expect("a child").code(), Some(0));
        assert!(!place.path("db/server.sock").exists());
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ended_already = self.child.kill();
        let _waited_already = self.child.wait();
    }
}

/// A database with documents, an index and a view.
fn database() -> Place {
    let place = Place::new();
    let lines: String =
        (0..50).map(|n| format!("{{\"_id\":{n},\"kind\":\"k{}\",\"age\":{}}}\n", n % 3, n % 7)).collect();
    place.write("in.jsonl", lines);
    place.write("more.csv", "_id,kind\n100,k9\n101,k9\n");
    place.write("pipeline.json", r#"[{"$group": {"_id": "$kind", "n": {"$sum": 1}}}, {"$sort": {"_id": 1}}]"#);
    place.good(&["load", "db", "pets", "in.jsonl"]);
    place
}

/// Commands, each with the text on its standard input. The order gives each command something to do.
const COMMANDS: &[(&[&str], &str)] = &[
    (&["count", "db", "pets"], ""),
    (&["count", "db", "pets", "--by", "kind"], ""),
    (&["count", "db", "pets", "{age: 3}", "--json"], ""),
    (&["find", "db", "pets", "{age: {$gte: 5}}", "--sort", "{age: -1, _id: 1}"], ""),
    (&["find", "db", "pets", "{$wrong: 1}"], ""),
    (&["find", "db", "pets", "{$wrong: 1}", "--json"], ""),
    (&["find", "db", "none"], ""),
    (&["find", "db", "pets", "{}", "--table", "--limit", "3"], ""),
    (&["get", "db", "pets", "7"], ""),
    (&["get", "db", "pets", "77"], ""),
    (&["scan", "db", "pets", "--limit", "4", "--color", "always"], ""),
    (&["distinct", "db", "pets", "kind"], ""),
    (&["aggregate", "db", "pets", "[{$match: {age: 1}}, {$count: 'n'}]"], ""),
    (&["aggregate", "db", "pets", "--file", "pipeline.json"], ""),
    (&["aggregate", "db", "pets", "--file", "-"], r#"[{"$limit": 1}]"#),
    (&["describe", "db", "pets"], ""),
    (&["index", "create", "db", "pets", "{age: 1}"], ""),
    (&["index", "create", "db", "pets", "{kind: 1}", "--unique"], ""),
    (&["index", "list", "db", "pets"], ""),
    (&["find", "db", "pets", "{age: 2}", "--explain"], ""),
    (&["put", "db", "pets", "200", "{kind: 'k1'}"], ""),
    (&["put", "db", "pets", "-"], r#"{"_id": 201, "kind": "k2"}"#),
    (&["put", "db", "pets", "1", "{$set: {a: 1}}"], ""),
    (&["update", "db", "pets", "{kind: 'k1'}", "{$set: {old: true}}"], ""),
    (&["update", "db", "pets", "{kind: 'k1'}", "{$set: {old: true}}", "--many"], ""),
    (&["delete", "db", "pets", "200", "201"], ""),
    (&["load", "db", "other", "more.csv", "--on-duplicate", "replace", "--progress-json", "p"], ""),
    (&["load", "db", "piped", "-", "--format", "csv"], "_id,a\n1,x\n2,y\n"),
    (&["load", "db", "other", "missing.jsonl"], ""),
    (&["load", "db", "other", "in.jsonl", "--partitions", "3"], ""),
    (&["export", "db", "pets"], ""),
    (&["view", "create", "db", "young", "pets", "[{$match: {age: {$lt: 2}}}]"], ""),
    (&["view", "list", "db"], ""),
    (&["count", "db", "young"], ""),
    (&["validator", "set", "db", "other", "{kind: {$exists: true}}"], ""),
    (&["validator", "show", "db", "other"], ""),
    (&["put", "db", "other", "5", "{}"], ""),
    (&["create", "db", "capped", "--capped", "1M", "--max", "5"], ""),
    (&["expire", "db"], ""),
    (&["changes", "record", "db", "main.pets"], ""),
    (&["changes", "list", "db"], ""),
    (&["changes", "stop", "db", "main.pets"], ""),
    (&["changes", "stop", "db", "main.pets"], ""),
    (&["rename", "db", "other", "another"], ""),
    (&["collections", "db"], ""),
    (&["index", "drop", "db", "pets", "age_1"], ""),
    (&["drop", "db", "another"], ""),
    (&["collections", "db", "--json"], ""),
    (&["verify", "db"], ""),
    (&["checkpoint", "db", "checkpoint"], ""),
    (&["verify", "checkpoint"], ""),
    (&["dump", "db", "dumped"], ""),
    (&["compact", "db"], ""),
    (&["stats", "db"], ""),
];

/// The output without times and sizes.
fn shown(ended: &Ended) -> (Option<i32>, Vec<String>) {
    let words = |text: &str| {
        let is_figure = |word: &&str| word.starts_with(|c: char| c.is_ascii_digit());
        text.split_whitespace().filter(|word| !is_figure(word)).map(str::to_owned).collect::<Vec<_>>()
    };
    // Only outputs that contain one of these texts contain sizes or times.
    let has_sizes =
        ["checked in", "made in", "now\n", "documents of", "documents in", "examined", "on disk ", "loaded "];
    let text = format!("{}\n{}", ended.out, ended.err);
    match has_sizes.iter().any(|part| text.contains(part)) {
        true => {
            let units = ["B", "kB", "MB", "ms", "ms.", "us", "us,", "s", "µs", "B,", "kB,", "MB,", "ms,"];
            let words = words(&text.replace(['(', ')'], " "));
            (ended.code, words.into_iter().filter(|word| !units.contains(&word.as_str())).collect())
        }
        false => (ended.code, vec![text]),
    }
}

#[test]
fn every_command_prints_the_same() {
    let (closed, served) = (database(), database());
    // A server stores its cluster time in a system collection.
    for place in [&closed, &served] {
        let server = Served::begin(place);
        place.good(&["put", "db", "pets", "first", "{}"]);
        place.good(&["delete", "db", "pets", "first"]);
        server.end(place);
    }
    let server = Served::begin(&served);
    for (arguments, input) in COMMANDS {
        let expected = closed.run_with(arguments, input.as_bytes());
        let found = served.run_with(arguments, input.as_bytes());
        assert_eq!(shown(&found), shown(&expected), "{arguments:?}");
    }
    // Files are written to the working directory of the command.
    assert!(std::fs::read_to_string(served.path("p")).expect("progress").contains("documents"));
    assert!(served.path("dumped").is_dir() && served.path("checkpoint").is_dir());
    server.end(&served);
    assert_eq!(served.good(&["find", "db", "pets"]), closed.good(&["find", "db", "pets"]));
}

#[test]
fn paths_are_those_of_the_command() {
    let place = database();
    let server = Served::begin(&place);
    std::fs::create_dir(place.path("below")).expect("a directory");
    let run = |arguments: &[&str]| {
        let output = place.command(arguments).current_dir(place.path("below")).output().expect("the binary");
        (output.status.code(), String::from_utf8(output.stderr).expect("UTF-8"))
    };
    let (code, said) = run(&["export", "../db", "pets", "--output", "out.jsonl"]);
    assert_eq!(code, Some(0), "{said}");
    assert_eq!(place.read("below/out.jsonl").lines().count(), 50);
    let (code, said) = run(&["export", "../db", "pets", "--output", "../db/out.jsonl"]);
    assert!(code == Some(2) && said.contains("../db/out.jsonl is inside the database"), "{said}");
    let (code, said) = run(&["checkpoint", "../db", "made"]);
    assert_eq!(code, Some(0), "{said}");
    assert!(place.path("below/made/CHECKPOINT").exists());
    server.end(&place);
}

#[test]
fn commands_that_need_the_database_for_themselves_are_refused() {
    let place = database();
    let server = Served::begin(&place);
    for arguments in [vec!["repair", "db", "--to", "new"], vec!["serve", "db"]] {
        let said = place.bad(6, &arguments);
        assert!(said.contains(&format!("`{}` needs the database for itself", arguments[0])), "{said}");
        assert!(said.contains("server.sock"), "{said}");
    }
    server.end(&place);
}

#[test]
fn a_shell_has_its_commands_run_where_the_database_is_open() {
    let place = database();
    let server = Served::begin(&place);
    let script = "use pets\ncount\nput new {age: 3}\n.mode csv\nfind {_id: new} --fields age\nget nothing\ncount\n\
                  put x -\nrestore other\nhelp count\n";
    let ended = place.run_with(&["shell", "db"], script.replace("{_id: new}", "{\"_id\": \"new\"}").as_bytes());
    assert_eq!(ended.code, Some(3), "{}", ended.err);
    assert!(ended.out.starts_with("50\n") && ended.out.contains("_id,age\nnew,3\n51\n"), "{}", ended.out);
    assert!(ended.out.contains("--where") || ended.out.contains("Usage"), "{}", ended.out);
    assert!(ended.err.contains("not found: \"nothing\"") && ended.err.contains("line 6 failed"), "{}", ended.err);
    assert!(ended.err.contains("standard input is the shell's own"), "{}", ended.err);
    let ended = place.run_with(&["shell", "db", "--strict"], b"get pets nothing\ncount pets\n");
    assert!(ended.code == Some(3) && ended.out.is_empty(), "{}", ended.out);
    server.end(&place);
}

#[test]
fn a_server_that_cannot_listen_creates_no_database() {
    let place = Place::new();
    let taken = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = taken.local_addr().expect("an address").port().to_string();
    let said = place.bad(1, &["serve", "new", "--port", &port]);
    assert!(said.contains("cannot listen at 127.0.0.1:") && said.contains("choose another address"), "{said}");
    assert!(!place.path("new").exists());
}

#[test]
fn only_the_owner_may_open_the_socket() {
    let place = database();
    let server = Served::begin(&place);
    let mode = std::fs::metadata(place.path("db/server.sock")).expect("a socket").permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    server.end(&place);
}

#[test]
fn the_socket_of_a_killed_server_is_in_nobodys_way() {
    let place = database();
    let mut server = Served::begin(&place);
    server.child.kill().expect("a child");
    server.child.wait().expect("a child");
    assert!(place.path("db/server.sock").exists());
    assert_eq!(place.good(&["count", "db", "pets"]), "50\n");
    place.good(&["verify", "db"]);
    place.good(&["checkpoint", "db", "made"]);
    place.good(&["restore", "made", "restored"]);
    assert!(!place.path("restored/server.sock").exists());
    place.good(&["repair", "db", "--to", "repaired"]);
    assert_eq!(place.good(&["count", "repaired", "pets"]), "50\n");
    // The next server replaces the socket that the killed server left.
    let server = Served::begin(&place);
    assert_eq!(place.good(&["count", "db", "pets"]), "50\n");
    server.end(&place);
}

#[test]
fn an_interrupt_stops_a_load_from_standard_input() {
    let place = database();
    let server = Served::begin(&place);
    let mut loading = place.start(&["load", "db", "piped", "-", "--progress-json", "p", "--progress-ms", "5"]);
    let mut stdin = loading.stdin.take().expect("a pipe");
    stdin.write_all(b"{\"_id\":1}\n").expect("a reader");
    while std::fs::metadata(place.path("p")).map_or(0, |file| file.len()) == 0 {
        std::thread::sleep(Duration::from_millis(2));
    }
    // Other commands run at the same time.
    assert_eq!(place.good(&["count", "db", "pets"]), "50\n");
    signal(&loading, "INT");
    let ended = ended_soon(loading);
    assert_eq!(ended.code, Some(130), "{}", ended.err);
    assert!(ended.err.contains("stopped"), "{}", ended.err);
    assert_eq!(place.good(&["count", "db", "pets"]), "50\n");
    server.end(&place);
}

#[test]
fn a_command_ends_with_its_reader_its_process_and_its_server() {
    let place = Place::new();
    let text = "x".repeat(200);
    let lines: String = (0..20_000).map(|n| format!("{{\"_id\":{n},\"text\":\"{text}\"}}\n")).collect();
    place.write("in.jsonl", lines);
    place.good(&["load", "db", "c", "in.jsonl"]);
    let server = Served::begin(&place);
    // A closed pipe is not an error.
    let mut closed = place.start(&["find", "db", "c"]);
    drop(closed.stdout.take());
    assert_eq!(ended_soon(closed).code, Some(0));
    // The output of this command is not read.
    let mut killed = place.start(&["find", "db", "c"]);
    std::thread::sleep(Duration::from_millis(200));
    killed.kill().expect("a child");
    killed.wait().expect("a child");
    let interrupted = place.start(&["find", "db", "c"]);
    std::thread::sleep(Duration::from_millis(200));
    signal(&interrupted, "INT");
    assert_eq!(ended_soon(interrupted).code, Some(130));
    let stopped = place.start(&["find", "db", "c"]);
    std::thread::sleep(Duration::from_millis(200));
    server.end(&place);
    let ended = ended_soon(stopped);
    assert_eq!(ended.code, Some(130));
    assert!(ended.err.contains("ends, and has stopped the command"), "{}", ended.err);
}

#[test]
fn a_program_opens_its_database_to_clients() {
    let place = Place::new();
    // A path that is longer than the address of a socket may be.
    let name = ["d".repeat(60), "e".repeat(60), "db".to_owned()].join("/");
    std::fs::create_dir_all(place.path(&name)).expect("a directory");
    let database = alluvium::Database::open(place.path(&name)).expect("a database");
    let attached = alluvium_server::attach(&database).expect("a socket");
    assert!(alluvium_server::attach(&database).is_err());
    let mut stream = alluvium_server::connect(&place.path(&name)).expect("a server");
    ping(&mut stream);
    // This program serves the database, but runs no commands of other processes.
    let said = place.bad(6, &["count", &name, "pets"]);
    assert!(said.contains("server.sock"), "{said}");
    drop(attached);
    assert!(!place.path(&name).join("server.sock").exists());
    database.close().expect("no error");
}

/// Sends `{ping: 1, $db: "admin"}`, and expects `ok: 1`.
fn ping(stream: &mut UnixStream) {
    let body = b"\x1e\0\0\0\x10ping\0\x01\0\0\0\x02$db\0\x06\0\0\0admin\0\0";
    let mut message = Vec::new();
    for number in [16 + 5 + body.len() as i32, 1, 0, 2013, 0] {
        message.extend_from_slice(&number.to_le_bytes());
    }
    message.push(0);
    message.extend_from_slice(body);
    stream.write_all(&message).expect("a server");
    let mut length = [0; 4];
    stream.read_exact(&mut length).expect("a reply");
    let mut reply = vec![0; i32::from_le_bytes(length) as usize - 4];
    stream.read_exact(&mut reply).expect("a reply");
    let ok = [b"\x01ok\0".as_slice(), &1.0f64.to_le_bytes()].concat();
    assert!(reply.windows(ok.len()).any(|window| window == ok), "{reply:?}");
}
