//! `alluvium load`: loads JSON, CSV and BSON into a collection.

mod columns;
mod format;
mod input;
mod one_object;
mod rejects;
mod room;
mod settings;
mod summary;
mod watch;

pub(crate) use format::FormatArgs;
pub use input::Source;
pub(crate) use input::open_unpacked;
pub(crate) use rejects::Rejects;
pub use settings::Loading;
pub(crate) use settings::{Args, Bad, Duplicate, Settings};

use super::collections;
use crate::exit::{Failure, Outcome};
use crate::files;
use crate::notes;
use crate::process;
use crate::session;
use crate::settings::database::{CollectionArgs, DatabaseArgs};
use crate::signals::{SIGNAL_CHECK, Stop};
use crate::streams;
use crate::text;
use alluvium::load::{Format, Load, LoadReport, Metadata, OnDuplicate, Outcome as Ended, Progress};
use alluvium::{Collection, Database, Error, ErrorKind};
use alluvium_env::Env;
use alluvium_env::sync::{Condvar, Mutex};
use std::path::Path;
use std::sync::Arc;
use summary::Summary;
use watch::{Lines, Watch};

/// A load of up to this many bytes leaves its last part in the log, like other writes.
const WORTH_A_FLUSH: u64 = 64 << 20;
/// Fragments of the errors about documents that are too large.
const TOO_LARGE: [&str; 2] = ["bytes as BSON; the limit is", "the next document has over"];

/// Parameters of [`Loading::run`] in addition to its own arguments.
pub struct SourceSettings {
    /// The field whose value becomes the `_id`.
    pub id_field: String,
    /// The action for a document whose `_id` exists.
    pub on_duplicate: OnDuplicate,
    /// Print the figures as JSON.
    pub json: bool,
    /// Add a sample for each second to the JSON.
    pub samples: bool,
}

impl Args {
    /// Loads the inputs one after the other, and prints a report.
    pub(crate) fn run(&self) -> Outcome {
        self.resolve(&Env::os())?.run(&self.collection.database)
    }
}

impl Loading {
    /// Loads a source that is not named in the arguments into a collection, and prints a report.
    ///
    /// # Errors
    /// The same as for `load`.
    pub fn run(&self, collection: &CollectionArgs, source: Source, more: SourceSettings) -> Outcome {
        let SourceSettings { id_field, on_duplicate, json, samples } = more;
        let settings = self.resolve(collection)?;
        let settings = Settings { sources: vec![source], id_field, on_duplicate, json, samples, ..settings };
        settings.run(&collection.database)
    }
}

impl Settings {
    /// Loads the inputs, and prints a report.
    pub(crate) fn run(&self, database: &DatabaseArgs) -> Outcome {
        let env = Env::os();
        let stop = Stop::on_signals()?;
        // Invalid arguments must not create a database.
        alluvium::check_name(&self.collection)?;
        if self.space_check && database.is_new(&self.builder)? {
            room::check_new(self, database.path())?;
        }
        let lines = Lines::open(self)?;
        let mut summary = Summary::begun(process::resident_bytes());
        let started = env.clock.now();
        let result = database.with_builder(self.builder.clone(), |database| {
            if !database.report().created {
                summary.disk_bytes_before = files::bytes_below(&env, database.path())?;
            }
            if self.space_check {
                room::check(database, self, &env, &stop)?;
            }
            let watch = Watch::start(database, self, lines, &env)?;
            let result = load_all(database, self, &stop, &env, &watch, &mut summary);
            let ended = watch.end().map(|samples| summary.samples = self.samples.then_some(samples));
            summary.stats = database.stats();
            result.and(ended)
        });
        summary.took = env.clock.now().saturating_sub(started);
        // Measured after the database is closed, because closing trims the log and ends all threads.
        summary.measure(&env, database.path());
        if result.is_ok() || summary.stopped {
            summary.print(self)?;
        }
        result
    }
}

/// Loads all inputs, and waits for compactions if requested.
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
            let advice = if source.is_resumable() { ": run the same command again to continue" } else { "" };
            return Err(Failure::Interrupted(format!("stopped{advice}")));
        }
    }
    if settings.settle {
        let before = env.clock.now();
        watch.settling();
        settle(database, stop)?;
        summary.settling = env.clock.now().saturating_sub(before);
        summary.settled = true;
    } else if summary.json_bytes >= WORTH_A_FLUSH {
        // Flushing frees the space of the log now. Every document is already durable.
        if let Err(error) = database.flush() {
            notes::say(&format!("all documents are loaded, but the last part stays in the log for now: {error}"));
        }
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
    if let Some(what) = source.not_resumable() {
        notes::say(&format!("{what} is not resumable: an interrupted load of it starts over"));
    }
    if let Some(note) = source.metadata().and_then(|(path, metadata)| unkept(path, metadata)) {
        notes::say(&note);
    }
    let (input, format, consumed) = source.open(env, stop).map_err(|failure| match stop.is_set() {
        true => Failure::Interrupted("stopped before any input was read".to_owned()),
        false => failure,
    })?;
    let progress = Arc::new(Progress::default());
    watch.input_begins(progress.clone(), consumed);
    let collection = database.collection(&settings.collection);
    let mut load = collection.load(input).format(format.clone()).id_field(&settings.id_field);
    load = load
        .writers(settings.writers)
        .on_duplicate(settings.on_duplicate)
        .on_bad(settings.on_bad)
        .alluvium_types(settings.alluvium_types);
    load = load.durability(settings.durability).again(settings.again).append(settings.append);
    if let Some(readers) = settings.readers {
        load = load.readers(readers);
    }
    if let Some(rejects) = &settings.rejects {
        load = load.rejects(rejects.writer(source.name()));
    }
    let load = load.stop_when(stop.flag()).progress(progress.clone());
    if settings.append {
        refuse_changed(&load, source)?;
    } else if !settings.again {
        refuse_doubles(&load, source)?;
    }
    let report = collections::without_leftover(&collection, || {
        create_indexes(&collection, settings, source, &load)?;
        load.run().map_err(|error| {
            let rejects = settings.rejects.as_ref().and_then(Rejects::failure);
            rejects.unwrap_or_else(|| explain(error, source, &format, &progress, stop))
        })
    })?;
    let is_json = matches!(format, Format::JsonObjects | Format::JsonLines);
    if is_json && report.documents == 1 && report.documents_before == 0 && source.is_json_file() {
        // A file that is one document is small enough to be read again.
        let content = source.open_bytes(env, stop)?;
        one_object::note(source.name(), content).iter().for_each(|note| notes::say(note));
    }
    columns::notes(source.name(), &report.columns).iter().for_each(|note| notes::say(note));
    Ok(report)
}

/// Refuses to load documents with generated `_id`s again, because the collection would then contain them twice. Prints
/// a note if other content of the same path was loaded before.
fn refuse_doubles(load: &Load<'_>, source: &Source) -> Outcome {
    let Some(before) = load.path_before()? else { return Ok(()) };
    let (name, documents) = (text::plain(source.name()), text::counted(before.documents, "document"));
    let what = match (before.continues, before.finished) {
        (true, true) => format!("{name} was loaded before ({documents}), and has grown since"),
        (true, false) => format!("the first {documents} of {name} were loaded before"),
        (false, _) => {
            notes::say(&format!("{name} was loaded before with other content ({documents}); these documents remain"));
            return Ok(());
        }
    };
    if before.generated {
        let advice =
            "--append loads what follows them, and --again all of it: documents without an _id would be there twice";
        return Err(Failure::Other(format!("{what}: nothing is loaded\n{advice}")));
    }
    notes::say(&format!("{what}: --append loads what follows them"));
    Ok(())
}

/// Refuses to continue a file if its beginning differs from the content that was loaded before: it is unknown which
/// part of the file is new.
fn refuse_changed(load: &Load<'_>, source: &Source) -> Outcome {
    let name = text::plain(source.name());
    if !source.is_plain_file() {
        let what = format!("--append is for plain files, which {name} is not: decompress it to a file first");
        return Err(Failure::Usage(what));
    }
    let changed = load.path_before()?.filter(|before| !before.continues && before.documents > 0);
    let Some(before) = changed else { return Ok(()) };
    let documents = text::counted(before.documents, "document");
    let what = format!("{name} was loaded before ({documents}), and this part of it has changed: nothing is loaded");
    let advice = "without --append all of it is loaded, and the earlier documents remain";
    Err(Failure::Other(format!("{what}\n{advice}")))
}

/// Creates the indexes of a dump before its documents are loaded, so that each document is indexed on loading.
fn create_indexes(collection: &Collection, settings: &Settings, source: &Source, load: &Load<'_>) -> Outcome {
    let Some((_, metadata)) = source.metadata() else { return Ok(()) };
    // If the whole input was loaded before, this load changes nothing.
    if settings.again || !load.loaded_before()?.is_some_and(|before| before.finished) {
        collection.create_indexes_of(metadata)?;
    }
    Ok(())
}

/// The parts of a dump's metadata that are not supported.
pub(crate) fn unkept(path: &Path, metadata: &Metadata) -> Option<String> {
    let mut parts = Vec::new();
    for (name, what) in metadata.converted_indexes() {
        parts.push(format!("the index {name} is converted, as by mongorestore --convertLegacyIndexes: {what}"));
    }
    for (name, reason) in metadata.unsupported_indexes() {
        parts.push(format!("the index {name} is skipped: {reason}"));
    }
    if let Err(error) = metadata.validator() {
        parts.push(format!("the validator is not kept: {error}"));
    }
    if let Err(error) = metadata.collation() {
        parts.push(format!("the collation is not kept: {error}"));
    }
    let names = metadata.options.iter().filter_map(|(name, _)| name.as_str());
    let kept = metadata.without_effect();
    let is_capped = metadata.capped().is_ok_and(|limits| limits.is_some());
    let is_kept = |name: &str| match name {
        "collation" => true,
        "capped" | "size" | "max" => is_capped,
        "changeStreamPreAndPostImages" => metadata.keeps_before().is_ok(),
        name => name.starts_with("valid") || kept.contains(name),
    };
    let names: Vec<&str> = names.filter(|name| !is_kept(name)).collect();
    if !names.is_empty() {
        parts.push(format!("the collection's options are not kept: {}", names.join(", ")));
    }
    if parts.is_empty() { None } else { Some(format!("{}: {}", text::path(path), parts.join("; "))) }
}

/// Adds advice to an error of loading.
fn explain(error: Error, source: &Source, format: &Format, progress: &Progress, stop: &Stop) -> Failure {
    if stop.is_set() && !source.is_resumable() {
        return Failure::Interrupted("stopped; the documents loaded so far remain".to_owned());
    }
    let loaded = progress.documents.load(std::sync::atomic::Ordering::Relaxed);
    let kept = match loaded {
        0 => "nothing of it is loaded".to_owned(),
        1 => "1 document loaded before remains".to_owned(),
        _ => format!("{} loaded before remain", text::counted(loaded, "document")),
    };
    if error.kind() == ErrorKind::NoSpace && source.is_resumable() {
        let reserve = match error.to_string().contains("disk_reserve_bytes") {
            true => "; --disk-reserve 0 lets it use the space that is kept free for deletes and compactions",
            false => "",
        };
        let advice = format!(
            "{kept}: free some space and run the same command again; it continues where this load stopped{reserve}"
        );
        return Failure::explained(error, Some(advice));
    }
    let is_too_large = || TOO_LARGE.iter().any(|part| error.to_string().contains(part));
    if matches!(format, Format::JsonObjects) && is_too_large() {
        let advice =
            "--split-object loads each field of one large object as a document, and --array PATH each element of an \
                      array in it"
                .to_owned();
        return Failure::explained(error, Some(advice));
    }
    let by_index = matches!(error, Error::LoadOf { .. });
    let again = match progress.ids_made.load(std::sync::atomic::Ordering::Relaxed) {
        0 => "correct the input, and load it with --on-duplicate skip, which skips documents that are loaded already",
        _ => {
            "documents of this input got a generated _id: correct the input, and load it again with --append, which continues \
             at that line; otherwise the documents before it would be loaded twice"
        }
    };
    let advice = match loaded {
        0 => "nothing more of it is loaded".to_owned(),
        _ => format!("{kept}; {again}"),
    };
    let option = match by_index {
        true => Some("--on-bad skip skips documents that an index refuses"),
        false => option_for(&error.to_string()).or_else(|| names_a_line(&error).then_some(SKIP)),
    };
    Failure::explained(error, Some(advice + &option.map_or_else(String::new, |option| format!("; {option}"))))
}

/// The option for a line that cannot be loaded with any other option.
const SKIP: &str = "--on-bad skip leaves such a line out, and --rejects FILE keeps it";

/// True if an error is about a line, or a document, of the input.
fn names_a_line(error: &Error) -> bool {
    matches!(error, Error::Load(text) if text.contains(" line ") || text.contains(" document "))
}

/// The option with which the input that caused this error can be loaded.
pub(crate) fn option_for(error: &str) -> Option<&'static str> {
    let options = [
        ("is no number of JSON", "--on-bad repair takes NaN and Infinity"),
        ("lone surrogate", "--on-bad repair puts U+FFFD in the place of half a surrogate pair"),
        ("invalid UTF-8", "--on-bad repair puts U+FFFD in the place of bytes that are not UTF-8"),
        ("not UTF-8", "--on-bad repair puts U+FFFD in the place of bytes that are not UTF-8"),
        ("control character in a string", "--on-bad repair takes control characters"),
        ("trailing characters", "--on-bad repair takes each of several objects on a line as a document"),
        ("decimal128", "--on-bad repair rounds to decimal128, and --alluvium-types keeps the number"),
        ("zero character", "--on-bad repair puts U+FFFD in the place of the zero, and --alluvium-types keeps it"),
        (
            "closing quote",
            "--no-quotes takes quotes as characters like others, and --on-bad repair takes such a field as it is",
        ),
        ("a quote is opened here and not closed", "--no-quotes takes quotes as characters like others"),
        ("but there are names for", "--on-bad skip skips such rows, and --names gives other names"),
        ("the text ends too early", "--format json-object takes an object on several lines"),
        ("expected a field name in quotes", "--on-bad skip skips what is no JSON"),
    ];
    options.iter().find(|(part, _)| error.contains(part)).map(|(_, option)| *option)
}

/// Waits until all compactions are finished. A signal ends the wait by closing the database.
fn settle(database: &Database, stop: &Stop) -> Outcome {
    if session::is_open() {
        // The database of a shell remains open.
        return Ok(database.wait_for_compaction()?);
    }
    let ended = Arc::new((Mutex::new(false), Condvar::new()));
    let watcher = {
        let (database, stop, ended) = (database.clone(), stop.clone(), ended.clone());
        alluvium_env::thread::try_spawn("signals", move || close_on_signal(&database, &stop, &ended.0, &ended.1))
    };
    let Ok(watcher) = watcher else {
        // Without the thread, a signal could not end the wait. The next session continues the compactions.
        streams::complain(
            "note: compactions continue when the database is used next: the system refuses another thread",
        );
        return Ok(());
    };
    let result = database.wait_for_compaction();
    *ended.0.lock() = true;
    ended.1.notify_all();
    watcher.join().map_err(|panicked| Failure::Other(panicked.to_string()))?;
    if result.is_err() && stop.is_set() {
        return Err(Failure::Interrupted("stopped while settling: all documents are loaded".to_owned()));
    }
    Ok(result?)
}

fn close_on_signal(database: &Database, stop: &Stop, ended: &Mutex<bool>, changed: &Condvar) {
    let mut has_ended = ended.lock();
    while !*has_ended && !stop.is_set() {
        // A signal handler cannot notify a condition variable.
        changed.wait_for(&mut has_ended, SIGNAL_CHECK);
    }
    if !*has_ended {
        drop(has_ended);
        // The second close, at the end of the command, returns the error.
        let _returned_later = database.close();
    }
}
