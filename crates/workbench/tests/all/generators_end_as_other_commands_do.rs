//! Generators exit with the same codes as `alluvium`: a closed pipe is not an error, a full disk is
//! an error.

use crate::common::{Place, ended_soon};

#[test]
fn a_closed_pipe_is_no_error() {
    let place = Place::new();
    for arguments in [["gen", "comments", "--docs", "3000"], ["gen", "keys", "--keys", "3000"]] {
        let mut child = place.start(&arguments);
        drop(child.stdout.take());
        let ended = ended_soon(child);
        assert_eq!((ended.code, ended.err.as_str()), (Some(0), ""), "{arguments:?}");
    }
}

#[test]
#[cfg(target_os = "linux")]
fn a_full_disk_under_the_output_has_its_code() {
    let place = Place::new();
    let full = std::fs::OpenOptions::new().write(true).open("/dev/full").expect("a device");
    let status = place.command(&["gen", "comments", "--docs", "2000"]).stdout(full).status().expect("the binary");
    assert_eq!(status.code(), Some(7));
    place.bad(7, &["gen", "comments", "--docs", "10", "-o", "/dev/full"]);
}

#[test]
fn wrong_arguments_are_refused_by_name() {
    let place = Place::new();
    assert!(place.bad(2, &["kv", "db", "--mix", "none"]).contains("put-heavy"));
    let said = place.bad(2, &["get", "db", "--json"]);
    assert!(said.starts_with("{\"error\":") && said.contains("COLLECTION"), "{said}");
    assert!(place.good(&["--version"]).starts_with("alluvium-bench 0."));
}
