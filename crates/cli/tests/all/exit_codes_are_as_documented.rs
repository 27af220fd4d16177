//! Each exit code in the help occurs. (Exit codes 6 and 130 have their own tests.)

use crate::common::Place;
use std::fs;

#[test]
fn exit_codes_are_as_documented() {
    let place = Place::new();
    place.good(&["put", "db", "c", "1", "{\"a\":1}"]);
    // 0: success, and nothing on standard error.
    let ended = place.run(&["get", "db", "c", "1"]);
    assert_eq!((ended.code, ended.err.as_str()), (Some(0), ""));
    // 1: failure.
    place.bad(1, &["rename", "db", "c", "c"]);
    // 2: invalid arguments.
    for arguments in [
        vec!["nonsense"],
        vec!["get"],
        vec!["get", "db", "c"],
        vec!["load", "db", "c", "x", "--memory", "1.5X"],
        vec!["drop", "db", "c"],
        vec!["get", "db", "c", "[1]"],
        vec!["put", "db", "c", "[1]", "{}"],
        vec!["put", "db", "c", "1", "{\"a\":"],
        vec!["put", "db", "c", "1", "[1]"],
        vec!["put", "db", "$bad", "1", "{}"],
        vec!["stats", "db", "--memory", "1K"],
    ] {
        place.bad(2, &arguments);
    }
    // 3: not found.
    assert!(place.bad(3, &["get", "db", "c", "1", "2", "\"3\""]).contains("not found: 2, \"3\""));
    place.bad(3, &["delete", "db", "c", "2"]);
    place.bad(3, &["rename", "db", "d", "e"]);
    // 4: duplicate.
    place.write("in.jsonl", "{\"_id\":1}\n");
    place.bad(4, &["load", "db", "c", "in.jsonl"]);
    assert_eq!(place.good(&["scan", "db", "c"]), "{\"_id\":1,\"a\":1}\n");
}

#[test]
fn damage_has_its_exit_code_and_names_the_file() {
    let place = Place::new();
    place.comments("c.jsonl", 500);
    place.good(&["load", "db", "c", "c.jsonl", "--id-field", "id", "--settle"]);
    place.good(&["verify", "db"]);
    let sst = find(&place.path("db"), ".sst");
    let mut bytes = fs::read(&sst).expect("a file");
    bytes[100] ^= 1;
    fs::write(&sst, bytes).expect("space");
    let ended = place.run(&["verify", "db"]);
    assert_eq!(ended.code, Some(5), "{ended:?}");
    let name = sst.file_name().expect("a name").to_string_lossy().into_owned();
    assert!(ended.out.contains(&name), "{ended:?}");
    let ended = place.run(&["verify", "db", "--json"]);
    let found: serde_json::Value = serde_json::from_str(&ended.out).expect("JSON");
    assert_eq!((ended.code, found["damage"].as_array().map(Vec::len)), (Some(5), Some(1)));
}

/// The largest file with this ending below a directory.
fn find(dir: &std::path::Path, ending: &str) -> std::path::PathBuf {
    let mut found = Vec::new();
    let mut dirs = vec![dir.to_owned()];
    while let Some(dir) = dirs.pop() {
        for entry in fs::read_dir(dir).expect("a directory") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                dirs.push(path);
            } else if path.to_string_lossy().ends_with(ending) {
                found.push((fs::metadata(&path).expect("a file").len(), path));
            }
        }
    }
    found.sort();
    found.pop().expect("a sorted file").1
}

#[test]
fn help_documents_the_codes_and_every_command_has_help() {
    let place = Place::new();
    let help = place.good(&["help"]);
    for code in ["0", "1", "2", "3", "4", "5", "6", "7", "130"] {
        assert!(help.lines().any(|line| line.trim_start().starts_with(&format!("{code}  "))), "{code}: {help}");
    }
    for command in
        ["load", "get", "put", "delete", "scan", "count", "stats", "verify", "compact", "collections", "drop", "expire"]
    {
        assert!(help.contains(command), "{command}");
        assert!(place.good(&[command, "--help"]).contains("Example"), "{command}");
    }
    assert!(help.contains("Delete documents by _id or by filter"), "{help}");
    for command in ["update", "delete"] {
        let help = place.good(&[command, "--help"]);
        assert!(help.contains("Print how the matching documents would be found, and write nothing"), "{help}");
    }
    assert!(place.good(&["find", "--help"]).contains("Run the query, and print how it was executed"));
    assert!(place.good(&["--version"]).starts_with("alluvium 0."));
}

#[test]
#[cfg(target_os = "linux")]
fn a_full_disk_under_the_output_has_its_code() {
    let place = Place::new();
    let full = std::fs::OpenOptions::new().write(true).open("/dev/full").expect("a device");
    let status = place.command(&["completions", "bash"]).stdout(full).status().expect("the binary");
    assert_eq!(status.code(), Some(7));
    place.write("in.jsonl", "{\"_id\":1}\n");
    place.bad(7, &["load", "db", "c", "in.jsonl", "--progress-json", "/dev/full"]);
    // The load itself succeeded; only its progress could not be written.
    assert_eq!(place.good(&["count", "db", "c"]), "1\n");
    place.write("bad.jsonl", "{\"_id\":2}\nno document\n");
    for arguments in [
        vec!["load", "db", "c", "bad.jsonl", "--on-bad", "skip", "--rejects", "/dev/full"],
        vec!["build", "ro", "c", "bad.jsonl", "--skip-bad", "--rejects", "/dev/full"],
    ] {
        let said = place.bad(7, &arguments);
        assert!(said.contains("cannot write /dev/full: "), "{said}");
    }
}
