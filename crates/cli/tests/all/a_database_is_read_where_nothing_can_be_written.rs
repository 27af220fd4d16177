//! Commands that read work on a full disk, on a disk that is mounted for reading only, and in a directory without
//! permission to write. They print one note that nothing is written, and change no file. Commands that write fail with
//! the reason.

#![cfg(target_os = "linux")]

use crate::common;
use crate::common::{Ended, Place};
use std::process::{Command, Stdio};

/// A way in which writes are refused: the shell commands that prepare an empty directory `$D` (in their own mount
/// namespace, if the first word is `mount`), and the commands that make it refuse writes.
struct Refusal {
    what: &'static str,
    make: &'static str,
    refuse: &'static str,
    /// Part of the reason in the note.
    reason: &'static str,
    /// The exit code of commands that write.
    code: i32,
}

const REFUSALS: &[Refusal] = &[
    Refusal {
        what: "a full disk",
        make: "mount -t tmpfs -o size=3M tmpfs \"$D\"",
        refuse: "dd if=/dev/zero of=\"$D/fill\" bs=4k 2>/dev/null; true",
        reason: "No space left on device",
        code: 7,
    },
    Refusal {
        what: "no inodes",
        make: "mount -t tmpfs -o size=8M,nr_inodes=60 tmpfs \"$D\"",
        refuse: "for i in $(seq 100); do : > \"$D/f$i\" || break; done 2>/dev/null; true",
        reason: "No space left on device",
        code: 7,
    },
    Refusal {
        what: "a disk that is mounted for reading only",
        make: "mount -t tmpfs -o size=8M tmpfs \"$D\"",
        refuse: "mount -o remount,ro \"$D\"",
        reason: "Read-only file system",
        code: 1,
    },
    Refusal {
        what: "no permission to write",
        make: "true",
        refuse: "chmod -R a-w,a+rX \"$D\"",
        reason: "Permission denied",
        code: 1,
    },
];

/// Commands that read. Their output does not depend on the place of the database.
const READS: &[&[&str]] = &[
    &["count", "DB", "pets"],
    &["count", "DB", "pets", "{kind: \"k1\"}"],
    &["get", "DB", "pets", "5", "77"],
    &["find", "DB", "pets", "{kind: \"k1\"}", "--sort", "{age: -1, _id: 1}", "--limit", "3"],
    &["scan", "DB", "pets", "--limit", "2"],
    &["distinct", "DB", "pets", "kind"],
    &["collections", "DB"],
    &["index", "list", "DB", "pets"],
    &["export", "DB", "pets", "--format", "csv"],
    &["mv", "sets", "DB"],
    &["mv", "get", "DB", "tags", "k"],
    &["mv", "keys", "DB", "tags"],
    &["stats", "DB", "pets"],
];

/// Commands that write.
const WRITES: &[&[&str]] = &[
    &["put", "DB", "pets", "new", "{}"],
    &["update", "DB", "pets", "5", "{\"$set\": {\"a\": 1}}"],
    &["delete", "DB", "pets", "5"],
    &["drop", "DB", "pets", "--yes"],
    &["rename", "DB", "pets", "animals"],
    &["index", "create", "DB", "pets", "{age: 1}"],
    &["compact", "DB"],
];

fn with_database(arguments: &[&str], path: &str) -> Vec<String> {
    arguments.iter().map(|argument| if *argument == "DB" { path.to_owned() } else { (*argument).to_owned() }).collect()
}

/// Creates a database with documents, an index and a set; some of the documents and values are only in the log.
fn fill(place: &Place) {
    let documents: String =
        (0..500).map(|n| format!("{{\"_id\": {n}, \"kind\": \"k{}\", \"age\": {}}}\n", n % 7, n % 90)).collect();
    place.write("pets.jsonl", documents);
    place.good(&["load", "db", "pets", "pets.jsonl", "--memory", "8M", "--disk-reserve", "0"]);
    place.good(&["index", "create", "db", "pets", "{kind: 1}"]);
    place.good(&["compact", "db"]);
    place.good(&["update", "db", "pets", "77", "{\"$set\": {\"in\": \"the log\"}}"]);
    place.good(&["mv", "put", "db", "tags", "k", "a", "b"]);
}

/// Runs a script in bash, in a mount namespace if it mounts something. `None` if the machine does not allow that.
fn script(place: &Place, refusal: &Refusal, body: &str) -> Option<Ended> {
    let mounts = refusal.make.starts_with("mount");
    // Root may write to any directory, except on a disk that is mounted for reading only, so another user runs the
    // commands.
    let user = if mounts || !is_root() { "" } else { "setpriv --reuid 65534 --regid 65534 --clear-groups" };
    let can = "mkdir -p \"$D\" && chmod a+rwx . && $P \"$A\" --version > /dev/null";
    let text = format!("P='{user}'; {can} && {} || exit 99\n{body}", refusal.make);
    let mut command = match mounts {
        true => {
            let mut command = Command::new("unshare");
            command.args(["--map-root-user", "--mount", "bash", "-c", &text]);
            command
        }
        false => {
            let mut command = Command::new("bash");
            command.args(["-c", &text]);
            command
        }
    };
    command.current_dir(place.path("")).env("XDG_CONFIG_HOME", place.path("")).env("XDG_STATE_HOME", place.path(""));
    command.env("A", place.command(&[]).get_program()).env("D", place.path("there")).stdin(Stdio::null());
    let ended = common::ended(command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().ok()?);
    match ended.code {
        Some(99) => None,
        None | Some(1) if mounts && ended.err.contains("unshare") => None,
        _ => Some(ended),
    }
}

fn is_root() -> bool {
    let id = Command::new("id").arg("-u").output().expect("id");
    id.stdout.starts_with(b"0\n")
}

/// The arguments as quoted words for bash.
fn quoted(arguments: &[String]) -> String {
    arguments.iter().map(|argument| format!(" '{argument}'")).collect()
}

/// Runs commands in a place where nothing can be written. Returns the result of each, and checks that the files have
/// not changed. `None` if this machine cannot refuse writes in this way.
fn refused(place: &Place, refusal: &Refusal, commands: &[Vec<String>]) -> Option<Vec<Ended>> {
    let mut body = format!("cp -r db \"$D/db\" && {} || exit 99\n", refusal.refuse);
    let files = "(cd \"$D\" && find db -type f | sort | xargs sha256sum; find db -printf '%p %s\\n' | sort)";
    body += &format!("{files} > before\n");
    for (at, arguments) in commands.iter().enumerate() {
        body += &format!("$P \"$A\"{} > out.{at} 2> err.{at} < input; echo $? > code.{at}\n", quoted(arguments));
    }
    body += &format!("{files} > after\ncmp before after || exit 98\nchmod -R u+w \"$D\" 2>/dev/null; true\n");
    let ended = script(place, refusal, &body)?;
    assert_eq!(ended.code, Some(0), "{}: {} {}", refusal.what, ended.out, ended.err);
    let read = |name: &str, at: usize| place.read(&format!("{name}.{at}"));
    let of = |at| Ended { code: read("code", at).trim().parse().ok(), out: read("out", at), err: read("err", at) };
    Some((0..commands.len()).map(of).collect())
}

/// Checks that the copies contain all data, including data that only the log contains.
fn copies_are_complete(place: &Place) {
    place.good(&["restore", "copied", "restored"]);
    place.good(&["restore", "dumped", "loaded"]);
    for copy in ["restored", "loaded"] {
        assert_eq!(place.good(&["count", copy, "pets"]), "500\n");
        assert!(place.good(&["get", copy, "pets", "77"]).contains("the log"));
    }
    assert_eq!(place.good(&["mv", "get", "restored", "tags", "k"]), "a\nb\n");
    assert_eq!(place.read("pets.out").lines().count(), 500);
}

#[test]
fn where_nothing_can_be_written() {
    let mut tested = 0;
    for refusal in REFUSALS {
        let place = Place::new();
        fill(&place);
        place.write("input", "count pets\nput pets new {}\ncollections\n");
        let there = place.path("there/db").display().to_string();
        let mut commands: Vec<Vec<String>> = READS.iter().map(|read| with_database(read, &there)).collect();
        // With the option `--read-only`, the output is the same, and no note is printed.
        commands.push([with_database(READS[0], &there), vec!["--read-only".to_owned()]].concat());
        let others: [&[&str]; 6] = [
            &["verify", "DB"],
            &["stats", "DB"],
            &["dump", "DB", "dumped"],
            &["checkpoint", "DB", "copied"],
            &["export", "DB", "pets", "-o", "pets.out"],
            &["shell", "DB"],
        ];
        commands.extend(others.map(|other| with_database(other, &there)));
        commands.extend(WRITES.iter().map(|write| with_database(write, &there)));
        let Some(ended) = refused(&place, refusal, &commands) else {
            println!("skipped: {}: this machine allows no mounts, or no other users", refusal.what);
            continue;
        };
        tested += 1;
        let mut ended = ended.into_iter();
        let mut next = || ended.next().expect("a result");
        for read in READS {
            let (found, expected) =
                (next(), place.run(&with_database(read, "db").iter().map(String::as_str).collect::<Vec<_>>()));
            assert_eq!((found.code, &found.out), (Some(0), &expected.out), "{}: {read:?}: {}", refusal.what, found.err);
            let notes: Vec<&str> = found.err.lines().collect();
            assert_eq!(notes.len(), 1, "{}: {read:?}: {}", refusal.what, found.err);
            assert!(
                notes[0].contains("is opened for reading only") && notes[0].contains(refusal.reason),
                "{}",
                notes[0]
            );
        }
        let asked_for = next();
        assert_eq!((asked_for.code, asked_for.out.as_str(), asked_for.err.as_str()), (Some(0), "500\n", ""));
        for (at, other) in others.iter().enumerate() {
            let found = next();
            assert!(found.err.contains("is opened for reading only"), "{}: {other:?}: {}", refusal.what, found.err);
            match at {
                0 => assert!(found.out.starts_with("no damage:") && found.out.contains("an index"), "{}", found.out),
                5 => {
                    assert_eq!(found.out, "500\nmain.pets\n");
                    assert!(found.err.contains("line 2") && found.err.contains("nothing was written"), "{}", found.err);
                    continue;
                }
                _ => {}
            }
            assert_eq!(found.code, Some(0), "{}: {other:?}: {}", refusal.what, found.err);
        }
        for write in WRITES {
            let found = next();
            assert_eq!(found.code, Some(refusal.code), "{}: {write:?}: {}", refusal.what, found.err);
            assert!(found.err.contains(refusal.reason), "{}: {write:?}: {}", refusal.what, found.err);
            assert!(found.err.contains("that only read"), "{}: {write:?}: {}", refusal.what, found.err);
        }
        copies_are_complete(&place);
    }
    println!("{tested} of {} ways to refuse writes were tested", REFUSALS.len());
}

/// With as much space as the error names, documents can be deleted and collections dropped.
#[test]
fn with_the_space_that_is_named_collections_are_dropped() {
    let place = Place::new();
    fill(&place);
    let free = "truncate -s -\"$(sed -n 's/.*that takes \\([0-9]*\\) bytes.*/\\1/p' err)\" \"$D/fill\"";
    let body = format!(
        "cp -r db \"$D/db\" && dd if=/dev/zero of=\"$D/fill\" bs=4k 2>/dev/null\n\
         \"$A\" drop \"$D/db\" pets --yes 2> err; echo $?\n{free}\n\
         \"$A\" delete \"$D/db\" pets 5; \"$A\" drop \"$D/db\" pets --yes; echo $?\n\"$A\" collections \"$D/db\"\n\
         \"$A\" mv put \"$D/db\" tags k c --disk-reserve 0; echo $?\n\
         \"$A\" mv get \"$D/db\" tags k\n"
    );
    match script(&place, &REFUSALS[0], &body) {
        Some(ended) => assert_eq!(ended.out, "7\ndeleted 1 document\n0\n0\na\nb\nc\n", "{}", ended.err),
        None => println!("skipped: this machine allows no mounts"),
    }
}

#[test]
fn readers_run_at_once_and_a_writer_alone() {
    let place = Place::new();
    fill(&place);
    // A reader that waits for its input keeps the database open.
    let mut reader = place.command(&["shell", "db", "--read-only", "--wait", "20"]);
    let mut reader = reader.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("a shell");
    let until = std::time::Instant::now() + std::time::Duration::from_secs(20);
    while place.run(&["count", "db", "pets"]).code != Some(6) {
        assert!(std::time::Instant::now() < until, "the reader does not open the database");
    }
    assert_eq!(place.good(&["count", "db", "pets", "--read-only"]), "500\n");
    let refused = place.run(&["put", "db", "pets", "new", "{}"]);
    assert_eq!(refused.code, Some(6), "{}", refused.err);
    drop(reader.stdin.take());
    assert!(reader.wait().expect("it ends").success());
    place.good(&["put", "db", "pets", "new", "{}"]);
}
