//! `alluvium load`: JSON lines into a collection.

mod input;
mod rejects;
mod settings;
mod summary;
mod watch;

pub(crate) use settings::Args;

use crate::exit::{Failure, Outcome};
use crate::files;
use crate::process;
use crate::signals::Stop;
use crate::text;
use alluvium::load::{LoadOptions, LoadReport, Outcome as Ended, Progress};
use alluvium::{Database, Error};
use env::Env;
use env::sync::{Condvar, Mutex};
use input::Source;
use settings::Settings;
use std::sync::Arc;
use std::time::Duration;
use summary::Summary;
use watch::Watch;

/// How long a signal may go unnoticed.
pub(crate) const SIGNAL_CHECK: Duration = Duration::from_millis(50);

impl Args {
    /// Loads the inputs one after the other, and prints what was done.
    pub(crate) fn run(&self) -> Outcome {
        let env = Env::os();
        let settings = self.resolve(&env)?;
        let stop = Stop::on_signals()?;
        let started = env.clock.now();
        let mut summary = Summary::begun(process::resident_bytes());
        let result = self.collection.database.with_builder(settings.builder.clone(), |database| {
            if !database.report().created {
                summary.disk_bytes_before = files::bytes_below(&env, database.path())?;
            }
            let watch = Watch::start(database, &settings, &env)?;
            let result = load_all(database, &settings, &stop, &env, &watch, &mut summary);
            let ended = watch.end();
            summary.stats = database.stats();
            result.and(ended)
        });
        summary.took = env.clock.now().saturating_sub(started);
        // After closing: the log is trimmed then, and all threads have ended.
        summary.measure(&env, self.collection.database.path());
        if result.is_ok() || summary.stopped {
            summary.print(&settings)?;
        }
        result
    }
}

/// Loads every input, and settles if that was asked for.
fn load_all(
    database: &Database,
    settings: &Settings,
    stop: &Stop,
    env: &Env,
    watch: &Watch,
    summary: &mut Summary,
) -> Outcome {
    for source in &settings.sources {
        let report = load_one(database, settings, source, stop, env, watch);
        watch.input_ended(source);
        let report = report.inspect_err(|_| summary.stopped = stop.is_set())?;
        summary.add(source, &report);
        if report.outcome == Ended::Stopped {
            summary.stopped = true;
            let advice = if source.is_resumable() { ": run the same command again to go on" } else { "" };
            return Err(Failure::Interrupted(format!("stopped{advice}")));
        }
    }
    if settings.settle {
        let before = env.clock.now();
        watch.settling();
        settle(database, stop)?;
        summary.settling = env.clock.now().saturating_sub(before);
        summary.settled = true;
    }
    Ok(())
}

fn load_one(
    database: &Database,
    settings: &Settings,
    source: &Source,
    stop: &Stop,
    env: &Env,
    watch: &Watch,
) -> Outcome<LoadReport> {
    if !source.is_resumable() {
        eprintln!("note: standard input is not resumable: a load of it that is cut short begins anew");
    }
    let (input, consumed) = source.open(env, stop)?;
    let progress = Arc::new(Progress::default());
    watch.input_begins(progress.clone(), consumed);
    let options = LoadOptions {
        id_field: settings.id_field.clone(),
        readers: settings.readers,
        writers: settings.writers,
        on_duplicate: settings.on_duplicate,
        on_bad: settings.on_bad,
        rejects: settings.rejects.as_ref().map(|rejects| rejects.writer(source.name())),
        durability: settings.durability,
        again: settings.again,
        stop: stop.flag(),
        progress: progress.clone(),
    };
    let result = database.collection(&settings.collection).load(input, options);
    result.map_err(|error| explain(error, source, &progress, stop))
}

/// Adds to a load's error what the user can do next.
fn explain(error: Error, source: &Source, progress: &Progress, stop: &Stop) -> Failure {
    if stop.is_set() && !source.is_resumable() {
        return Failure::Interrupted("stopped; what was loaded stays".to_owned());
    }
    let loaded = progress.documents.load(std::sync::atomic::Ordering::Relaxed);
    let advice = (loaded > 0).then(|| format!("{} loaded before stay", text::counted(loaded, "document")));
    Failure::Library { error, advice }
}

/// Waits until no compaction is due; a signal ends the waiting by closing the database.
fn settle(database: &Database, stop: &Stop) -> Outcome {
    let done = Mutex::new(false);
    let changed = Condvar::new();
    let result = env::thread::scope(|scope| {
        scope.spawn(|| {
            let mut done = done.lock();
            while !*done && !stop.is_set() {
                // Nobody can notify from within a signal handler.
                changed.wait_for(&mut done, SIGNAL_CHECK);
            }
            if !*done {
                drop(done);
                // Closing again, at the end of the command, tells how it went.
                let _told_later = database.close();
            }
        });
        let result = database.settle();
        *done.lock() = true;
        changed.notify_all();
        result
    });
    if result.is_err() && stop.is_set() {
        return Err(Failure::Interrupted("stopped while settling: all documents are loaded".to_owned()));
    }
    Ok(result?)
}
