#![allow(clippy::disallowed_methods)]

use super::*;

#[test]
fn every_line_names_its_input_however_it_is_cut() {
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("rejects");
    let rejects = Rejects::open(&path).expect("a new file");
    let mut first = rejects.writer("a \"b\".jsonl");
    for piece in ["{\"line\":", "1}\n{\"li", "ne\":2}", "\n"] {
        first.write_all(piece.as_bytes()).expect("space");
    }
    rejects.writer("-").write_all(b"{\"line\":3}\n").expect("space");
    let text = std::fs::read_to_string(&path).expect("readable");
    let expected = "{\"file\":\"a \\\"b\\\".jsonl\",\"line\":1}\n{\"file\":\"a \\\"b\\\".jsonl\",\"line\":2}\n{\"file\":\"-\",\"line\":3}\n";
    assert_eq!(text, expected);
}
