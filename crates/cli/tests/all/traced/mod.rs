//! The system calls of a program, recorded by `strace` and repeated on a simulated disk.

use super::common::Place;
use alluvium_env::mem::MemFs;
use alluvium_env::{Fs, OpenMode};
use std::collections::HashMap;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The calls that may change files. Every recorded call is either repeated, or listed as one without effect.
const RECORDED: &str = "openat,open,creat,write,pwrite64,writev,pwritev,pwritev2,ftruncate,truncate,fallocate,fsync,\
     fdatasync,sync_file_range,rename,renameat,renameat2,link,linkat,unlink,unlinkat,mkdir,mkdirat,rmdir,\
     copy_file_range,sendfile,splice";

/// A change, or a text that was printed.
pub enum Call {
    Create(PathBuf),
    Write(PathBuf, u64, Vec<u8>),
    Allocate(PathBuf, u64),
    SetLen(PathBuf, u64),
    Sync(PathBuf),
    Rename(PathBuf, PathBuf),
    Link(PathBuf, PathBuf),
    Remove(PathBuf),
    RemoveDir(PathBuf),
    CreateDir(PathBuf),
    /// A write to standard output.
    Print(Vec<u8>),
}

/// The output of `strace`.
pub struct Trace {
    text: String,
    root: PathBuf,
}

impl Trace {
    /// Runs the program with an input. `None` if programs cannot be traced on this machine.
    pub fn record(place: &Place, arguments: &[&str], input: &[u8]) -> Option<Self> {
        let program = place.command(arguments);
        let mut strace = Command::new("strace");
        strace.args(["-f", "-y", "-xx", "-s", "100000000", "-o", "trace", "-e"]).arg(format!("trace={RECORDED}"));
        strace.arg(program.get_program()).args(arguments).current_dir(place.path(""));
        for (name, value) in program.get_envs() {
            match value {
                Some(value) => strace.env(name, value),
                None => strace.env_remove(name),
            };
        }
        strace.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let ended = strace.spawn().and_then(|mut child| {
            let mut stdin = child.stdin.take().expect("a pipe");
            let input = input.to_vec();
            let writer = std::thread::spawn(move || stdin.write_all(&input));
            let ended = child.wait_with_output();
            let _closed_early = writer.join().expect("a writer");
            ended
        });
        let why = match ended {
            Ok(ended) if place.path("db").exists() => {
                let said = String::from_utf8_lossy(&ended.stderr);
                assert!(ended.status.success(), "{said}");
                let root = std::fs::canonicalize(place.path("")).expect("a directory");
                return Some(Self { text: place.read("trace"), root });
            }
            Ok(ended) => {
                let said = String::from_utf8_lossy(&ended.stderr).into_owned();
                // The code for wrong arguments, which is no reason to leave the test out.
                assert_ne!(ended.status.code(), Some(2), "{said}");
                said
            }
            Err(error) => error.to_string(),
        };
        assert!(std::env::var_os("ALLUVIUM_STRACE").is_none(), "cannot trace the program: {why}");
        eprintln!("nothing is tested: cannot trace the program: {why}");
        None
    }

    /// The calls that had an effect, in a possible order. A sync is placed at its beginning, because it covers only the
    /// calls before that.
    pub fn calls(&self) -> Vec<Call> {
        let mut calls: Vec<(usize, Call)> = Vec::new();
        let mut unfinished: HashMap<&str, (usize, String)> = HashMap::new();
        for (at, line) in self.text.lines().enumerate() {
            let (process, rest) = line.split_once(' ').expect("a process");
            let rest = rest.trim_start();
            let (began, whole) = if let Some(begun) = rest.strip_suffix(" <unfinished ...>") {
                unfinished.insert(process, (at, begun.to_owned()));
                continue;
            } else if rest.starts_with("<... ") {
                let Some((began, begun)) = unfinished.remove(process) else { continue };
                let (_, end) = rest.split_once(" resumed>").expect("a resumed call");
                (began, begun + end)
            } else {
                (at, rest.to_owned())
            };
            if let Some(call) = self.call(&whole) {
                let at = if matches!(call, Call::Sync(_)) { began } else { at };
                calls.push((at, call));
            }
        }
        calls.sort_by_key(|(at, _)| *at);
        calls.into_iter().map(|(_, call)| call).collect()
    }

    fn call(&self, line: &str) -> Option<Call> {
        let (name, rest) = line.split_once('(')?;
        let (arguments, result) = rest.rsplit_once(" = ")?;
        let arguments = arguments.trim_end().strip_suffix(')')?;
        if result.starts_with('-') || result.starts_with('?') {
            return None;
        }
        let arguments: Vec<&str> = arguments.split(", ").collect();
        let number = |at: usize| arguments[at].parse::<u64>().expect("a number");
        match name {
            "openat" => {
                let path = self.inside(&opened(result))?;
                arguments[2].contains("O_CREAT").then_some(Call::Create(path))
            }
            "write" if arguments[0].starts_with("1<") => Some(Call::Print(text(arguments[1]))),
            "pwrite64" => {
                let (path, bytes) = (self.file(arguments[0])?, text(arguments[1]));
                let written = result.parse::<usize>().expect("a number");
                Some(Call::Write(path, number(3), bytes[..written].to_vec()))
            }
            "ftruncate" => Some(Call::SetLen(self.file(arguments[0])?, number(1))),
            "fallocate" => {
                let path = self.file(arguments[0])?;
                assert_eq!(arguments[1], "0", "{line}");
                Some(Call::Allocate(path, number(2) + number(3)))
            }
            "fsync" | "fdatasync" => Some(Call::Sync(self.inside(&opened(arguments[0]))?)),
            "renameat" | "renameat2" => {
                Some(Call::Rename(self.name(arguments[0], arguments[1])?, self.name(arguments[2], arguments[3])?))
            }
            "linkat" => {
                Some(Call::Link(self.name(arguments[0], arguments[1])?, self.name(arguments[2], arguments[3])?))
            }
            "unlinkat" if arguments[2].contains("AT_REMOVEDIR") => {
                Some(Call::RemoveDir(self.name(arguments[0], arguments[1])?))
            }
            "unlinkat" => Some(Call::Remove(self.name(arguments[0], arguments[1])?)),
            "unlink" => Some(Call::Remove(self.inside(&self.root.join(as_string(arguments[0])))?)),
            "mkdirat" => Some(Call::CreateDir(self.name(arguments[0], arguments[1])?)),
            "mkdir" => Some(Call::CreateDir(self.inside(&self.root.join(as_string(arguments[0])))?)),
            "rmdir" => Some(Call::RemoveDir(self.inside(&self.root.join(as_string(arguments[0])))?)),
            // A write to standard error, or a write that wakes another thread.
            "write" if self.file(arguments[0]).is_none() => None,
            "sync_file_range" => None,
            _ => panic!("a call that is not known: {line}"),
        }
    }

    /// Returns the path if it is below the directory of the test.
    fn inside(&self, path: &Path) -> Option<PathBuf> {
        let is_removed = path.to_string_lossy().ends_with(" (deleted)");
        (path.starts_with(&self.root) && !is_removed).then(|| path.to_owned())
    }

    /// The path of a descriptor's file.
    fn file(&self, descriptor: &str) -> Option<PathBuf> {
        self.inside(&opened(descriptor))
    }

    /// The path of a name in an open directory.
    fn name(&self, directory: &str, name: &str) -> Option<PathBuf> {
        self.inside(&opened(directory).join(as_string(name)))
    }
}

/// The path of a descriptor, such as `3</tmp/file>`.
fn opened(descriptor: &str) -> PathBuf {
    let (_, path) = descriptor.split_once('<').expect("a path");
    let path = path.split_once('>').map_or(path, |(path, _)| path);
    PathBuf::from(String::from_utf8(unescaped(path)).expect("UTF-8"))
}

/// The bytes of a text in quotes.
fn text(quoted: &str) -> Vec<u8> {
    unescaped(quoted.strip_prefix('"').and_then(|text| text.strip_suffix('"')).expect("a whole text"))
}

fn as_string(quoted: &str) -> String {
    String::from_utf8(text(quoted)).expect("UTF-8")
}

/// Decodes `\x` with two digits to a byte; other characters stay unchanged.
fn unescaped(text: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut rest = text.as_bytes();
    while let Some((&first, behind)) = rest.split_first() {
        rest = match behind {
            [b'x', high, low, behind @ ..] if first == b'\\' => {
                let digits = std::str::from_utf8(&[*high, *low]).map(|digits| u8::from_str_radix(digits, 16));
                bytes.push(digits.expect("ASCII").expect("digits"));
                behind
            }
            _ => {
                bytes.push(first);
                behind
            }
        };
    }
    bytes
}

/// Repeats calls on a simulated disk.
pub struct Replay {
    disk: MemFs,
    printed: Vec<u8>,
}

impl Replay {
    /// A disk that contains the directory `root` durably.
    pub fn new(root: &Path) -> Self {
        let disk = MemFs::new();
        let root = std::fs::canonicalize(root).expect("a directory");
        disk.create_dir_all(&root).expect("space");
        root.ancestors().for_each(|dir| disk.sync_dir(dir).expect("a directory"));
        Self { disk, printed: Vec::new() }
    }

    pub fn disk(&self) -> &MemFs {
        &self.disk
    }

    /// The text that was written to standard output.
    pub fn printed(&self) -> &[u8] {
        &self.printed
    }

    pub fn carry_out(&mut self, call: &Call) {
        let disk = &self.disk;
        let open = |path: &Path| disk.open(path, OpenMode::ReadWrite).expect("a file");
        let is_dir = |path: &Path| disk.list(path).is_ok();
        match call {
            Call::Create(path) => {
                if !disk.exists(path).expect("a disk") {
                    disk.open(path, OpenMode::CreateNew).expect("a new file");
                }
            }
            Call::Write(path, at, bytes) => open(path).write_at(bytes, *at).expect("space"),
            Call::Allocate(path, len) => open(path).allocate(*len).expect("space"),
            Call::SetLen(path, len) => open(path).set_len(*len).expect("space"),
            Call::Sync(path) if is_dir(path) => disk.sync_dir(path).expect("a directory"),
            Call::Sync(path) => open(path).sync().expect("a file"),
            Call::Rename(from, to) => disk.rename(from, to).expect("a name"),
            Call::Link(from, to) => disk.hard_link(from, to).expect("a name"),
            Call::Remove(path) => disk.remove(path).expect("a file"),
            Call::RemoveDir(path) => disk.remove_dir(path).expect("a directory"),
            Call::CreateDir(path) => disk.create_dir_all(path).expect("a place"),
            Call::Print(bytes) => self.printed.extend(bytes),
        }
    }
}
