//! If the reader of the output closes the pipe, the command ends without a message and with exit code 0.

use crate::common::{Place, ended};
use std::io::Read;

#[test]
fn a_broken_pipe_is_no_error() {
    let place = Place::new();
    place.comments("c.jsonl", 3000);
    place.good(&["load", "db", "c", "c.jsonl", "--id-field", "id"]);
    for arguments in [vec!["scan", "db", "c"], vec!["scan", "db", "c", "--fields", "body,author", "--reverse"]] {
        let mut child = place.start(&arguments);
        let mut out = child.stdout.take().expect("a pipe");
        out.read_exact(&mut [0; 100]).expect("output");
        drop(out);
        let ended = ended(child);
        assert_eq!((ended.code, ended.err.as_str()), (Some(0), ""), "{arguments:?}");
    }
    // The scans have closed the database cleanly.
    assert_eq!(place.good(&["count", "db", "c"]), "3000\n");
}
