//! Only the owner can read the files that a command creates: a database, a checkpoint, a dump, a store.

use crate::common::Place;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

fn check_all(path: &Path, seen: &mut usize) {
    let found = std::fs::symlink_metadata(path).expect("it is there");
    let wanted = if found.is_dir() { 0o700 } else { 0o600 };
    assert_eq!(found.permissions().mode() & 0o777, wanted, "{}", path.display());
    *seen += 1;
    if found.is_dir() {
        for entry in std::fs::read_dir(path).expect("a directory") {
            check_all(&entry.expect("an entry").path(), seen);
        }
    }
}

#[test]
fn what_is_made_is_for_its_owner() {
    let place = Place::new();
    let lines: String = (0..2000).map(|n| format!("{{\"_id\":{n},\"k\":{}}}\n", n % 7)).collect();
    place.write("in.jsonl", lines);
    place.good(&["load", "db", "docs", "in.jsonl"]);
    place.good(&["index", "create", "db", "docs", "{\"k\":1}"]);
    place.good(&["put", "db", "docs", "a", "{\"v\":1}"]);
    place.good(&["compact", "db"]);
    place.good(&["checkpoint", "db", "copy"]);
    place.good(&["checkpoint", "db", "whole", "--copy"]);
    place.good(&["restore", "copy", "again"]);
    place.good(&["repair", "db", "--to", "saved"]);
    place.good(&["dump", "db", "dumped"]);
    place.good(&["build", "store.ro", "docs", "in.jsonl"]);
    for made in ["db", "copy", "whole", "again", "saved", "dumped", "store.ro"] {
        let mut seen = 0;
        check_all(&place.path(made), &mut seen);
        assert!(seen > 2, "{made}");
    }
}
