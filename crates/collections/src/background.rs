//! The background work of an open database, in addition to that of its store: resumes interrupted index builds, deletes
//! expired documents, removes stale entries from indexes, and recorded changes beyond their retention.
//!
//! The threads hold the engine, but do not keep the database open: when the last handle of a user
//! is dropped, the threads are stopped and joined.

use crate::engine::{EngineHandle, INTERVAL};
use crate::error::{Error, ErrorKind};
use crate::expire::delete_expired;
use crate::index::Index;
use crate::indexes::finish_all;
use crate::names::FullName;
use crate::retention::trim_changes;
use crate::sweep::sweep_where_due;
use std::sync::Arc;
use std::time::Duration;

/// The least time between two sweeps of stale index entries, and between two removals of recorded changes.
const SWEEPS: Duration = INTERVAL;

/// Starts the threads, if the options of the store enable them.
pub(crate) fn start(engine: &EngineHandle) {
    if !engine.store().options().background {
        return;
    }
    // Indexes that are declared from now on are built by the threads that declare them.
    let unfinished = engine.catalog.unfinished_indexes();
    if !unfinished.is_empty() {
        start_thread(engine, "alluvium-builds", move |engine| resume_builds(engine, unfinished));
    }
    start_thread(engine, "alluvium-tasks", run_periodic);
}

/// Continues an interrupted index build in a thread, if the options of the store enable background work.
pub(crate) fn resume_build(engine: &EngineHandle, name: &FullName, index: Arc<Index>) {
    if engine.store().options().background {
        let unfinished = vec![(name.clone(), index)];
        start_thread(engine, "alluvium-builds", move |engine| resume_builds(engine, unfinished));
    }
}

/// Starts a thread. If that fails, a warning is logged: interrupted index builds then wait for a request, and expired
/// documents remain.
fn start_thread(engine: &EngineHandle, name: &'static str, run: impl FnOnce(&EngineHandle) + Send + 'static) {
    let own = engine.for_background();
    match alluvium_env::thread::try_spawn(name, move || run(&own)) {
        Ok(thread) => engine.tasks.add(thread),
        Err(error) => log::warn!(target: "alluvium::index", "no thread for background work: {error}"),
    }
}

fn resume_builds(engine: &EngineHandle, unfinished: Vec<(FullName, Arc<Index>)>) {
    // Each failure is logged.
    let _logged = finish_all(engine, unfinished, |name, index, error| {
        let index = index.definition.name();
        let outcome = match error {
            Error::Index(_) | Error::DuplicateIndexKey { .. } => "is given up, and dropped",
            error if error.kind() == ErrorKind::Closed => {
                log::info!(target: "alluvium::index", "the build of {index} of {name} goes on at the next opening");
                return;
            }
            _ => "is not ready",
        };
        log::warn!(target: "alluvium::index", "the index {index} of {name}, which was being built, {outcome}: {error}");
    });
}

fn run_periodic(engine: &EngineHandle) {
    let mut swept = engine.env.clock.now();
    while engine.tasks.wait(engine.tasks.interval().unwrap_or(INTERVAL)) {
        if engine.tasks.interval().is_some()
            && let Err(error) = delete_expired(engine)
        {
            log::warn!(target: "alluvium::index", "expired documents stay for now: {error}");
        }
        let now = engine.env.clock.now();
        if now.saturating_sub(swept) < SWEEPS {
            continue;
        }
        swept = now;
        if let Err(error) = sweep_where_due(engine) {
            log::warn!(target: "alluvium::index", "stale index entries stay for now: {error}");
        }
        if let Err(error) = trim_changes(engine) {
            log::warn!(target: "alluvium::changes", "recorded changes stay beyond the retention for now: {error}");
        }
    }
}
