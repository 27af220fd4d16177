//! A file of a database may be a pipe or device or extremely long, or the process may be allowed to open only a few
//! files. Each command then ends at once with a message about the cause, takes little memory, and reports no undamaged
//! file as damaged.

use crate::common::{Ended, Place, ended_soon};
use std::path::PathBuf;
use std::process::{Command, Stdio};

/// Runs the program under limits of the shell's `ulimit`; kills it if it hangs.
fn limited(place: &Place, limits: &str, arguments: &[&str]) -> Ended {
    let command = place.command(arguments);
    let mut shell = Command::new("sh");
    shell.arg("-c").arg(format!("{limits}; exec \"$0\" \"$@\"")).arg(command.get_program()).args(arguments);
    shell.current_dir(place.path("")).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => shell.env(name, value),
            None => shell.env_remove(name),
        };
    }
    ended_soon(shell.spawn().expect("a shell"))
}

fn database() -> Place {
    let place = Place::new();
    place.good(&["put", "db", "docs", "a", "{\"v\":1}"]);
    place.good(&["compact", "db"]);
    place
}

fn files(place: &Place) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for dir in ["db", "db/wal", "db/p000", "db/p001", "db/p002", "db/p003"] {
        let entries = std::fs::read_dir(place.path(dir)).expect("a directory");
        files.extend(entries.map(|entry| entry.expect("an entry").path()).filter(|path| path.is_file()));
    }
    files
}

#[test]
fn a_named_pipe_in_place_of_any_file_is_named_and_waited_for_by_no_command() {
    let place = database();
    for file in files(&place) {
        let aside = place.path("aside");
        std::fs::rename(&file, &aside).expect("a rename");
        assert!(Command::new("mkfifo").arg(&file).status().expect("mkfifo").success());
        let name = file.file_name().expect("a name").to_string_lossy().into_owned();
        for command in [&["count", "db", "docs"][..], &["verify", "db"], &["repair", "db", "--to", "new"]] {
            let ended = limited(&place, "true", command);
            let said = format!("{}{}", ended.out, ended.err);
            assert!(ended.code.is_some(), "{command:?} hangs at {name}");
            // For a sorted file, the reported error is its wrong length. A repair that does not need the file succeeds.
            let is_named = said.contains("named pipe") || said.contains(&name);
            assert!(is_named || command[0] == "repair", "{command:?}, {name}: {said}");
            let _made = std::fs::remove_dir_all(place.path("new"));
        }
        std::fs::remove_file(&file).expect("a removal");
        std::fs::rename(&aside, &file).expect("a rename");
    }
    place.good(&["verify", "db"]);
}

#[test]
fn a_file_of_a_terabyte_takes_no_memory() {
    let verify = &["verify", "db"][..];
    let repair = &["repair", "db", "--to", "new", "--no-space-check"][..];
    let count = &["count", "db", "docs"][..];
    // Bytes after the last record of a manifest or of the log are not read, so all commands are tested on these files.
    // Verification and repair search a sorted file for blocks up to its end. This would take too long for a test, so
    // they are left out.
    let all = [(verify, 0), (repair, 0), (count, 0)];
    for (kind, commands) in [("MANIFEST", &all[..]), (".log", &all), ("ALLUVIUM", &all), (".sst", &[(count, 5)])] {
        for &(command, code) in commands {
            let place = database();
            let path = files(&place).into_iter().find(|path| path.to_string_lossy().contains(kind)).expect("one");
            let file = std::fs::OpenOptions::new().write(true).open(&path).expect("a file");
            if file.set_len(1 << 40).is_err() {
                // The file system does not support files of this length.
                return;
            }
            let ended = limited(&place, "ulimit -v 4000000", command);
            assert_eq!(ended.code, Some(code), "{kind}, {command:?}: {}{}", ended.out, ended.err);
            if command == repair {
                assert_eq!(place.good(&["count", "new", "docs"]).trim(), "1", "{kind}");
            }
        }
    }
}

#[test]
fn too_many_open_files_are_no_damage() {
    let place = database();
    for command in [&["verify", "db"][..], &["repair", "db", "--to", "new"], &["count", "db", "docs"]] {
        for most in 5..40 {
            let ended = limited(&place, &format!("ulimit -n {most}"), command);
            let said = format!("{}{}", ended.out, ended.err);
            assert!(matches!(ended.code, Some(0 | 1)), "{command:?}, {most}: {:?} {said}", ended.code);
            assert!(ended.code == Some(0) || said.contains("Too many open files"), "{command:?}, {most}: {said}");
            assert!(!said.contains("restore a backup"), "{command:?}, {most}: {said}");
            let _made = std::fs::remove_dir_all(place.path("new"));
        }
    }
    place.good(&["verify", "db"]);
}
