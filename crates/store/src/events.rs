//! Log messages, through the facade `log`. The program that embeds the store chooses where they are written. A disabled
//! level costs one comparison.
//!
//! Errors and warnings need attention. Information is about rare events (open, recovery, close). Flushes, compactions
//! and slow operations log figures at the debug level, and at the warning level if they were very slow.

use crate::error::Error;
use crate::report::{CutTail, LostNumbers, OpenReport};
use std::path::Path;
use std::time::Duration;

/// The target of the messages, for filters. It does not depend on the names of crates.
const TARGET: &str = "alluvium::store";
/// The target of the message about a failed open. The caller of the open gets the same error.
const REFUSED: &str = "alluvium::open";
/// An operation that takes longer than this is logged.
const SLOW: Duration = Duration::from_millis(200);
/// An operation that takes longer than this is logged as a warning.
const VERY_SLOW: Duration = Duration::from_secs(5);

/// Logs that the store is open.
pub(crate) fn opened(path: &Path, partitions: usize, report: &OpenReport) {
    let path = path.display();
    let took_ms = report.took.as_millis();
    match (report.created, report.clean) {
        (true, _) => log::info!(target: TARGET, "created {path} with {partitions} partitions"),
        (_, true) => log::info!(target: TARGET, "opened {path}, which had been closed cleanly, in {took_ms} ms"),
        _ => log::info!(target: TARGET,
            "opened {path}, which had not been closed, in {took_ms} ms: {} records of the log replayed, {} bytes",
            report.replayed_records,
            report.replayed_bytes,
        ),
    }
    damage(report);
}

fn damage(report: &OpenReport) {
    if let Some(CutTail { path, offset, bytes }) = &report.dropped {
        log::warn!(target: TARGET, "a torn tail of the log is left out: {} at offset {offset}, {bytes} bytes", path.display());
    }
    for CutTail { path, offset, bytes } in &report.manifest_tails {
        log::warn!(target: TARGET, "a torn tail of a manifest is left out: {} at offset {offset}, {bytes} bytes", path.display());
    }
    for LostNumbers { first, last } in &report.lost {
        log::error!(target: TARGET, "the operations {first} to {last} are lost to damage of the log");
    }
}

/// Logs that opening was refused because of damage. The caller gets the same error, and may filter this message by its
/// target.
pub(crate) fn not_opened(path: &Path, error: &Error) {
    if error.is_corruption() {
        log::error!(target: REFUSED, "{} was not opened: {error}", path.display());
    }
}

/// Logs that the store is closed.
pub(crate) fn closed(path: &Path, error: Option<&Error>) {
    match error {
        None => log::info!(target: TARGET, "closed {}", path.display()),
        Some(error) => log::error!(target: TARGET, "{} could not be closed cleanly: {error}", path.display()),
    }
}

/// Logs that the store takes no more writes.
pub(crate) fn poisoned(cause: &Error) {
    log::error!(target: TARGET, "no more writes are taken until the database is reopened: {cause}");
}

/// Logs that a flush or compaction failed and will be tried again.
pub(crate) fn background_failed(error: &Error) {
    log::warn!(target: TARGET, "a flush or compaction failed, and will be tried again: {error}");
}

/// Logs that snapshots were ended because of their age or debt.
pub(crate) fn snapshots_ended(number: usize, why: &str) {
    if number > 0 {
        log::warn!(target: TARGET, "{number} snapshots or cursors were ended: {why}");
    }
}

/// Logs that an operation ended after `took`, if it was slow.
pub(crate) fn took(what: &str, took: Duration) {
    if took > VERY_SLOW {
        log::warn!(target: TARGET, "{what} took {} ms", took.as_millis());
    } else if took > SLOW {
        log::debug!(target: TARGET, "{what} took {} ms", took.as_millis());
    }
}
