//! The documents scenario: puts, gets, gets of a field, cold gets, updates, and transactions of updates.

use super::figures::{DocumentFigures, Loaded};
use super::load::load;
use super::phases::Phases;
use super::rest::settled;
use super::settings::Settings;
use super::source::{Ids, Source};
use crate::peer::{Documents, Failure};
use crate::scenarios::run::latency_of;
use crate::trials::drop_from_cache;
use alluvium_cli::process::{Usage, peak_resident_bytes};
use alluvium_env::{Env, Fs};
use std::path::Path;
use std::time::Duration;

/// Opens the store with this number of bytes of memory. The first call creates the store.
pub type Open<'a> = dyn Fn(u64) -> Result<Box<dyn Documents>, Failure> + 'a;

/// Runs all phases over a store in the directory `dir`, which does not exist yet.
///
/// # Errors
/// Errors of the store; a document that is missing, is not the requested document, or lacks an
/// update.
pub fn documents(open: &Open<'_>, dir: &Path, settings: &Settings) -> Result<DocumentFigures, Failure> {
    let mut figures = DocumentFigures::default();
    let store = open(settings.memory_bytes)?;
    let (ids, loaded) = put(&*store, dir, settings)?;
    figures.put = loaded;
    if store.keeps() && ids.len() > 0 {
        let phases = Phases { store: &*store, ids: &ids, settings };
        let warm_up = Duration::from_secs((settings.duration.as_secs() / 4).max(1));
        phases.get("warm-up", warm_up)?;
        figures.get = Some(phases.get("get", settings.duration)?);
        figures.field = Some(phases.field()?);
        store.close()?;
        drop_from_cache(&Env::os(), dir).map_err(|failure| failure.to_string())?;
        let store = open(settings.cold_memory_bytes)?;
        figures.cold = Some(Phases { store: &*store, ids: &ids, settings }.cold(dir)?);
        store.close()?;
        let store = open(settings.memory_bytes)?;
        let phases = Phases { store: &*store, ids: &ids, settings };
        figures.update = Some(phases.update()?);
        figures.transaction = phases.transaction()?;
        store.close()?;
    } else {
        store.close()?;
    }
    figures.peak_memory_bytes = peak_resident_bytes().unwrap_or(0);
    Ok(figures)
}

/// Puts all documents, and settles the store.
fn put(store: &dyn Documents, dir: &Path, settings: &Settings) -> Result<(Ids, Loaded), Failure> {
    let source = Source::new(settings);
    let before = Usage::now();
    let done = load(store, &source, settings.threads, settings.put_limit)?;
    let put = Usage::now().since(&before);
    let settle_seconds = settled(|| store.settle())?;
    let all = Usage::now().since(&before);
    let (ids, json_bytes) = source.end();
    let disk_bytes = disk_bytes(&*Env::os().fs, dir)?;
    let harness = done.harness.as_secs_f64();
    let each = |cpu_seconds: f64| (cpu_seconds - harness) * 1e6 / done.documents.max(1) as f64;
    let of_json = |bytes: u64| bytes as f64 / json_bytes.max(1) as f64;
    let in_store = done.in_store.as_secs_f64() / settings.threads.max(1) as f64;
    let loaded = Loaded {
        documents: done.documents,
        json_bytes,
        rate: done.documents as f64 / in_store.max(1e-9),
        cpu_us: each(put.cpu_seconds),
        settled_cpu_us: each(all.cpu_seconds),
        latency: latency_of(&done.latencies),
        settle_seconds,
        disk_bytes,
        disk_over_json: of_json(disk_bytes),
        written_over_json: of_json(all.written_bytes),
        peak_memory_bytes: peak_resident_bytes().unwrap_or(0),
    };
    Ok((ids, loaded))
}

/// Bytes of all files below a directory; 0 if the directory does not exist.
pub(super) fn disk_bytes(fs: &dyn Fs, dir: &Path) -> Result<u64, Failure> {
    if !fs.exists(dir)? {
        return Ok(0);
    }
    let mut bytes = 0;
    for entry in fs.list(dir)? {
        bytes += if entry.is_dir { disk_bytes(fs, &dir.join(&entry.name))? } else { entry.len };
    }
    Ok(bytes)
}
