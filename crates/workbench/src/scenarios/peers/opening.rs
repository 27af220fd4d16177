//! Opening a store whose process was killed, and the first gets after opening.

use super::documents::Open;
use super::figures::Phase;
use super::load::load;
use super::phases::Phases;
use super::settings::Settings;
use super::source::Source;
use crate::peer::{Documents, Failure};
use crate::trials::drop_from_cache;
use alluvium_cli::process::Usage;
use alluvium_env::Env;
use serde::Serialize;
use std::path::Path;
use std::time::Duration;

/// The cost of opening, and of the gets after it.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Opened {
    /// Wall clock of opening, in milliseconds.
    pub open_ms: f64,
    /// Processor time of opening, in milliseconds.
    pub open_cpu_ms: f64,
    /// Gets in the first second.
    pub first: Phase,
    /// Gets after that.
    pub later: Phase,
}

/// The figures of two openings.
#[derive(Debug, Clone, Default, Serialize)]
pub struct OpeningFigures {
    /// After the process was killed: the last documents are in the log, and the files in the page
    /// cache.
    pub killed: Opened,
    /// With little memory after everything was settled and closed, and the files were dropped from
    /// the page cache.
    pub cold: Opened,
}

/// Puts all documents, and neither settles nor closes the store: the process is to be killed.
///
/// # Errors
/// Errors of the store.
pub fn put_before_kill(store: &dyn Documents, settings: &Settings) -> Result<(), Failure> {
    load(store, &Source::new(settings), settings.threads, None)?;
    Ok(())
}

/// Opens the store in `dir` after a process that had put the documents was killed, and once more
/// from cold files. Gets random documents after each.
///
/// # Errors
/// Errors of the store; a document that is missing, or is not the requested document.
pub fn opening(open: &Open<'_>, dir: &Path, settings: &Settings) -> Result<OpeningFigures, Failure> {
    let ids = Source::new(settings).all_ids()?;
    let opened = |memory_bytes| {
        let (clock, before) = (Env::os().clock, Usage::now());
        let start = clock.now();
        let store = open(memory_bytes)?;
        let open_ms = clock.now().saturating_sub(start).as_secs_f64() * 1e3;
        let open_cpu_ms = Usage::now().since(&before).cpu_seconds * 1e3;
        let phases = Phases { store: &*store, ids: &ids, settings };
        let first = phases.get("first second", Duration::from_secs(1))?;
        let later = phases.get("later", settings.duration)?;
        store.settle()?;
        store.close()?;
        Ok::<_, Failure>(Opened { open_ms, open_cpu_ms, first, later })
    };
    let killed = opened(settings.memory_bytes)?;
    drop_from_cache(&Env::os(), dir).map_err(|failure| failure.to_string())?;
    Ok(OpeningFigures { killed, cold: opened(settings.cold_memory_bytes)? })
}
