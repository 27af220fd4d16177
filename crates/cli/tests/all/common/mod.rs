//! Runs the real binary, each test in its own directory. The tests of `alluvium-bench`
//! (crates/workbench) include this file, too.

// Each test file is a separate crate and uses a part of this module.

use serde_json::Value;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// The program under test.
const PROGRAM: &str = match (option_env!("CARGO_BIN_EXE_alluvium"), option_env!("CARGO_BIN_EXE_alluvium-bench")) {
    (Some(program), _) | (None, Some(program)) => program,
    (None, None) => panic!("cargo names the programs of a package to its tests"),
};

/// A directory for one test.
pub struct Place {
    dir: tempfile::TempDir,
}

/// The result of a command.
#[derive(Debug)]
pub struct Ended {
    pub code: Option<i32>,
    pub out: String,
    pub err: String,
}

impl Place {
    pub fn new() -> Self {
        Self { dir: tempfile::tempdir().expect("a directory") }
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    pub fn write(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(name);
        std::fs::write(&path, content).expect("space");
        path
    }

    pub fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.path(name)).expect("a text file")
    }

    /// A command that will run in the directory.
    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(PROGRAM);
        command.args(arguments).current_dir(self.dir.path()).stdin(Stdio::null());
        // The command does not depend on the user's settings.
        command.env("XDG_CONFIG_HOME", self.dir.path()).env("XDG_STATE_HOME", self.dir.path());
        command.env_remove("ALLUVIUM_CONFIG").env_remove("ALLUVIUM_MEMORY").env_remove("ALLUVIUM_LOG");
        command.env_remove("ALLUVIUM_COLOR").env_remove("COLUMNS");
        command
    }

    pub fn run(&self, arguments: &[&str]) -> Ended {
        self.run_with(arguments, b"")
    }

    /// Runs a command with text on its standard input.
    pub fn run_with(&self, arguments: &[&str], input: &[u8]) -> Ended {
        let mut command = self.command(arguments);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("the binary");
        let mut stdin = child.stdin.take().expect("a pipe");
        let input = input.to_vec();
        // A command that does not read its input must not block the test.
        let writer = std::thread::spawn(move || drop(stdin.write_all(&input)));
        let ended = ended(child);
        writer.join().expect("the writer");
        ended
    }

    /// Runs a command that must succeed, and returns its output.
    pub fn good(&self, arguments: &[&str]) -> String {
        let ended = self.run(arguments);
        assert_eq!(ended.code, Some(0), "{arguments:?}: {}", ended.err);
        ended.out
    }

    /// Runs a command that must fail with this code, and returns its message.
    pub fn bad(&self, code: i32, arguments: &[&str]) -> String {
        let ended = self.run(arguments);
        assert_eq!(ended.code, Some(code), "{arguments:?}: {}{}", ended.out, ended.err);
        assert!(!ended.err.is_empty(), "{arguments:?} says nothing");
        ended.err
    }

    /// Runs a command that must succeed and print one line of JSON.
    pub fn json(&self, arguments: &[&str]) -> Value {
        let out = self.good(arguments);
        assert_eq!(out.lines().count(), 1, "{arguments:?}: {out}");
        serde_json::from_str(&out).unwrap_or_else(|error| panic!("{arguments:?}: {error}: {out}"))
    }

    /// Writes `docs` generated comments to a file, and returns its lines.
    pub fn comments(&self, name: &str, docs: usize) -> Vec<String> {
        let mut comments = alluvium_workbench::comments::Generator::new(1);
        let mut lines = Vec::new();
        (0..docs).for_each(|_| comments.write_line(&mut lines));
        self.write(name, lines);
        self.read(name).lines().map(str::to_owned).collect()
    }

    /// Starts a command whose output is captured for [`ended`].
    pub fn start(&self, arguments: &[&str]) -> Child {
        let mut command = self.command(arguments);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command.spawn().expect("the binary")
    }

    /// Waits until a progress file reports at least `least` documents, and returns the number; zero if the child ends
    /// before.
    pub fn wait_for_documents(&self, name: &str, least: u64, child: &mut Child) -> u64 {
        let deadline = Instant::now() + Duration::from_secs(60);
        while Instant::now() < deadline {
            let documents = last_progress(&self.path(name));
            if documents >= least {
                return documents;
            }
            if child.try_wait().expect("a child").is_some() {
                return 0;
            }
            std::thread::sleep(Duration::from_millis(2));
        }
        panic!("no progress within a minute");
    }
}

/// The number of documents in the last complete line of a progress file.
pub fn last_progress(path: &Path) -> u64 {
    let text = std::fs::read_to_string(path).unwrap_or_default();
    let whole = text.rsplit_once('\n').map_or("", |(whole, _)| whole);
    let line = whole.lines().last().unwrap_or("");
    serde_json::from_str::<Value>(line).map_or(0, |line| line["documents"].as_u64().expect("a number"))
}

/// Waits for a command to end; kills it if it does not end within half a minute.
pub fn ended_soon(mut child: Child) -> Ended {
    let deadline = Instant::now() + Duration::from_secs(30);
    while child.try_wait().expect("a child").is_none() {
        if Instant::now() > deadline {
            child.kill().expect("a child");
        }
        std::thread::sleep(Duration::from_millis(2));
    }
    ended(child)
}

/// Waits for a command to end.
pub fn ended(child: Child) -> Ended {
    let output = child.wait_with_output().expect("a child");
    Ended {
        code: output.status.code(),
        out: String::from_utf8(output.stdout).expect("UTF-8"),
        err: String::from_utf8(output.stderr).expect("UTF-8"),
    }
}

/// A generated comment as it is printed after its `id` became its `_id`, with only the escapes that JSON requires.
pub fn with_id(line: &str) -> String {
    let value: Value = serde_json::from_str(line).expect("a document");
    let text = value.to_string();
    format!("{{\"_id\":{},{}", value["id"], &text[1..])
}

/// Panics at the first line that differs, and shows only that line.
pub fn same_lines(printed: &str, expected: &[String]) {
    for (number, (line, expected)) in printed.lines().zip(expected).enumerate() {
        assert_eq!(line, expected, "line {}", number + 1);
    }
    assert_eq!(printed.lines().count(), expected.len());
}

/// Sends a signal by its name, such as `INT`.
pub fn signal(child: &Child, name: &str) {
    let status = Command::new("kill").args([&format!("-{name}"), &child.id().to_string()]).status();
    assert!(status.expect("kill").success());
}
