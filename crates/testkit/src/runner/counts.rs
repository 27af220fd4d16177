//! Counts operations that had an effect: an operation that is never drawn, or never has an effect, tests nothing.

use crate::replay::seed;
use std::sync::atomic::{AtomicU64, Ordering};

/// The names under which operations are counted.
const OPERATIONS: [&str; 67] = [
    "put",
    "insert",
    "delete",
    "modify",
    "update",
    "apply",
    "batch",
    "load lines",
    "load array",
    "load objects",
    "load fields",
    "load exact lines",
    "load csv",
    "load bson",
    "load refused",
    "upsert",
    "upsert inserts",
    "replace",
    "replace if",
    "replace if, too late",
    "get and update",
    "update one",
    "update many",
    "replace one",
    "delete one",
    "delete many",
    "find one and update",
    "find one and replace",
    "find one and delete",
    "upsert by filter",
    "bulk write",
    "find",
    "find at a snapshot",
    "find one",
    "count documents",
    "distinct",
    "hint of few",
    "estimated document count",
    "cursor next",
    "cursor next batch",
    "cursor next fields",
    "cursor encode next",
    "cursor backward",
    "cursor at a snapshot",
    "cursor over a question",
    "cursor ended",
    "drop logical",
    "collections at",
    "dump",
    "typed",
    "field names",
    "settle",
    "compact unless",
    "stop an index build",
    "expire",
    "checkpoint",
    "look at a checkpoint",
    "go on from a checkpoint",
    "repair",
    "move the directory",
    "move the directory back",
    "remove the directory",
    "rename",
    "snapshot",
    "close and open",
    "kill and open",
    "open for reading only",
];

static COUNTS: [AtomicU64; OPERATIONS.len()] = [const { AtomicU64::new(0) }; OPERATIONS.len()];

/// Counts an operation if it had an effect: `any` is true if it changed or found a document.
pub(super) fn add(operation: &str, any: bool) {
    let at = OPERATIONS.iter().position(|name| *name == operation);
    let at = at.unwrap_or_else(|| panic!("{operation} is not among the operations that are counted"));
    COUNTS[at].fetch_add(u64::from(any), Ordering::Relaxed);
}

/// The counts of this process.
pub fn counted() -> impl Iterator<Item = (&'static str, u64)> {
    OPERATIONS.iter().copied().zip(COUNTS.iter().map(|count| count.load(Ordering::Relaxed)))
}

/// Checks that each operation had an effect at least `least` times. For a test that runs `usual` sequences.
///
/// # Panics
/// If an operation had an effect less often.
pub fn must_have_done(usual: u64, least: u64) {
    if seed::is_usual(usual) {
        println!("what was done: {:?}", counted().collect::<Vec<_>>());
        let rare: Vec<(&str, u64)> = counted().filter(|(_, count)| *count < least).collect();
        assert!(rare.is_empty(), "done less than {least} times: {rare:?}");
    }
}
