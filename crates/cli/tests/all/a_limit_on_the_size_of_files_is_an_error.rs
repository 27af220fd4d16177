//! Under `ulimit -f`, no command is ended by the signal SIGXFSZ. A file that would become too large causes an error
//! that names the limit, and all acknowledged writes are kept.

use crate::common::{Ended, Place, ended};
use std::process::{Command, Stdio};

/// Runs a command whose files may have at most 64 blocks of 1,024 bytes.
fn limited(place: &Place, arguments: &[&str], output: Stdio) -> Ended {
    let program = place.command(&[]);
    let mut command = Command::new("bash");
    command.args(["-c", "ulimit -f 64 && exec \"$0\" \"$@\""]).arg(program.get_program()).args(arguments);
    command.current_dir(place.path("")).env("XDG_CONFIG_HOME", place.path("")).stdin(Stdio::null());
    ended(command.stdout(output).stderr(Stdio::piped()).spawn().expect("bash"))
}

#[test]
fn a_load_and_a_redirected_output_fail_with_a_message() {
    let place = Place::new();
    place.comments("c.jsonl", 3000);
    place.good(&["put", "small", "pets", "rex", "{\"a\": 1}"]);

    let failed = limited(&place, &["load", "small", "c", "c.jsonl", "--id-field", "id"], Stdio::piped());
    assert_eq!(failed.code, Some(1), "{}", failed.err);
    let said = failed.err.as_str();
    assert!(said.contains("may have at most 65536 bytes") && said.contains("RLIMIT_FSIZE"), "{said}");
    assert!(said.contains("ulimit -f unlimited") && !said.contains("disk is full"), "{said}");
    assert_eq!(place.good(&["get", "small", "pets", "rex"]), "{\"_id\":\"rex\",\"a\":1}\n");
    place.good(&["verify", "small"]);
    place.good(&["load", "small", "c", "c.jsonl", "--id-field", "id"]);
    assert_eq!(place.good(&["count", "small", "c"]), "3000\n");

    // Standard output is written by the program, not by the library.
    let out = std::fs::File::create(place.path("completions")).expect("a file");
    let failed = limited(&place, &["completions", "bash"], out.into());
    assert_eq!(failed.code, Some(1), "{}", failed.err);
    assert!(failed.err.contains("cannot write to standard output: File too large"), "{}", failed.err);
    assert!(failed.err.contains("ulimit -f"), "{}", failed.err);
}
