//! Restoring a dump.

use super::{Dump, DumpedCollection};
#[cfg(doc)]
use crate::load::Metadata;
use crate::load::{Format, Identity, Input, Load, LoadReport, OnBad, OnDuplicate, Outcome, Progress};
use crate::packing::Packing;
use alluvium_collections::cursor::{Cursor, ScanRange};
use alluvium_collections::engine::EngineHandle;
use alluvium_collections::error::{Error, Result};
use alluvium_collections::names::FullName;
use alluvium_collections::pipeline::create_view;
use alluvium_env::{Env, FileReader, OpenMode};
use std::io::Write;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// Makes the writer that receives the rejects of an input, given its name.
type MakeRejects = Arc<dyn Fn(&str) -> Box<dyn Write + Send> + Send + Sync>;

/// How to restore: see the methods of [`Restore`].
#[derive(Clone)]
struct RestoreOptions {
    on_duplicate: Option<OnDuplicate>,
    on_bad: OnBad,
    rejects: Option<MakeRejects>,
    readers: usize,
    writers: usize,
    strict_indexes: bool,
    stop: Arc<AtomicBool>,
    progress: Arc<Progress>,
}

impl Default for RestoreOptions {
    fn default() -> Self {
        Self {
            on_duplicate: None,
            on_bad: OnBad::Error,
            rejects: None,
            readers: alluvium_env::thread::available_parallelism(),
            writers: 1,
            strict_indexes: false,
            stop: Arc::default(),
            progress: Arc::default(),
        }
    }
}

/// The result of a restore.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RestoreReport {
    /// The collections, sorted by name.
    pub collections: Vec<RestoredCollection>,
    /// The views that were created.
    pub views: Vec<String>,
}

/// The result of a restore for one collection.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RestoredCollection {
    /// The full name.
    pub name: String,
    /// Documents written by this run.
    pub documents: u64,
    /// Documents that earlier runs had written.
    pub documents_before: u64,
    /// Documents skipped because their `_id` existed already.
    pub duplicates: u64,
    /// Documents skipped because they could not be stored.
    pub rejected: u64,
    /// Documents that were repaired.
    pub repaired: u64,
    /// Indexes created by this run.
    pub indexes: Vec<String>,
    /// Why the validator of the dump was not set, if it is not supported.
    pub validator_lost: Option<String>,
}

/// A restore that has not started: made by [`Dump::restore`].
///
/// ```
/// # let env = alluvium_env::Env::in_memory(1);
/// # let db = alluvium::Database::builder().env(env.clone()).open("db")?;
/// # db.collection("pets").put("rex", r#"{"age": 3}"#)?;
/// # db.dump("dump").run()?;
/// # let other = alluvium::Database::builder().env(env.clone()).open("other")?;
/// # other.collection("pets").put("tom", r#"{"age": 5}"#)?;
/// use alluvium::OnDuplicate;
///
/// let dump = alluvium::dump::read("dump").env(env).run()?;
/// assert!(dump.restore(&other).run().is_err(), "the collection has documents");
/// let report = dump.restore(&other).on_duplicate(OnDuplicate::Skip).run()?;
/// assert_eq!(report.collections[0].documents, 1);
/// # alluvium::Result::Ok(())
/// ```
#[derive(Clone)]
#[must_use = "nothing is restored until `run`"]
pub struct Restore<'a> {
    dump: &'a Dump,
    engine: EngineHandle,
    options: RestoreOptions,
}

impl Restore<'_> {
    /// Sets the action for a document whose `_id` exists already. By default, or with `None`, a collection that has
    /// documents is refused, unless an interrupted restore of the same files wrote them. A dump that was restored
    /// completely before is refused, too.
    pub fn on_duplicate(mut self, treatment: impl Into<Option<OnDuplicate>>) -> Self {
        self.options.on_duplicate = treatment.into();
        self
    }

    /// Sets the action for a document that cannot be stored. MongoDB keeps strings that are not UTF-8; no document here
    /// can have such a string. [`OnBad::Repair`] replaces such bytes by U+FFFD. Default: the restore fails.
    pub fn on_bad(mut self, choice: OnBad) -> Self {
        self.options.on_bad = choice;
        self
    }

    /// Receives, for each file, one line of JSON for each document that is skipped: see
    /// [`Load::rejects`](crate::load::Load::rejects). `make` is called with the name of the file. Default: none.
    pub fn rejects(mut self, make: impl Fn(&str) -> Box<dyn Write + Send> + Send + Sync + 'static) -> Self {
        self.options.rejects = Some(Arc::new(make));
        self
    }

    /// Threads that parse. Default: one for each core.
    pub fn readers(mut self, threads: usize) -> Self {
        self.options.readers = threads;
        self
    }

    /// Threads that write. Default: 1.
    pub fn writers(mut self, threads: usize) -> Self {
        self.options.writers = threads;
        self
    }

    /// Refuses a dump with unsupported indexes, or with collections that cannot be restored, before anything is restored.
    /// Default: false, these are skipped; [`Metadata::unsupported_indexes`] and [`Dump::skipped`] name them.
    pub fn strict_indexes(mut self, strict: bool) -> Self {
        self.options.strict_indexes = strict;
        self
    }

    /// Counters that are updated after each collection. Other threads may read them.
    pub fn progress(mut self, progress: Arc<Progress>) -> Self {
        self.options.progress = progress;
        self
    }

    /// Ends the restore with [`Error::Stopped`] once `stop` is set to true. The next run continues it.
    pub fn stop_when(mut self, stop: Arc<AtomicBool>) -> Self {
        self.options.stop = stop;
        self
    }

    /// Restores every collection.
    ///
    /// # Errors
    /// [`Error::Dump`] if a collection has documents or the whole dump was restored before; then
    /// nothing is changed. [`Error::Dump`] if the number of documents in a file differs from its
    /// metadata; [`Error::Stopped`]; and as for loads. The documents restored before the error stay. The next run
    /// continues, and leaves the completed collections unchanged.
    pub fn run(self) -> Result<RestoreReport> {
        self.check()?;
        let mut report = RestoreReport::default();
        for collection in &self.dump.collections {
            report.collections.push(self.collection(collection)?);
        }
        report.views = self.create_views()?;
        Ok(report)
    }

    /// Creates the views of the dump, except views that exist already with the same definition. Returns the names of
    /// the created views.
    ///
    /// # Errors
    /// A view that Alluvium does not support, or whose name is taken; as for any write.
    pub fn create_views(&self) -> Result<Vec<String>> {
        let mut created = Vec::new();
        for (text, view) in &self.dump.views {
            let name = FullName::parse(text)?;
            if self.engine.catalog.view(&name).is_some_and(|known| *known == *view) {
                continue;
            }
            create_view(&self.engine, &name, view.clone())?;
            created.push(text.clone());
        }
        Ok(created)
    }

    /// Runs the checks with which [`Restore::run`] begins, and changes nothing. Without [`Restore::on_duplicate`],
    /// these refuse collections that have documents, and a dump that was restored completely before: its documents may
    /// have changed since, and skipping it would not restore them. With [`Restore::strict_indexes`], they refuse
    /// unsupported indexes.
    ///
    /// ```
    /// # let env = alluvium_env::Env::in_memory(1);
    /// # let db = alluvium::Database::builder().env(env.clone()).open("db")?;
    /// # db.collection("pets").put("rex", r#"{"age": 3}"#)?;
    /// # db.dump("dump").run()?;
    /// # let other = alluvium::Database::builder().env(env.clone()).open("other")?;
    /// let dump = alluvium::dump::read("dump").env(env).run()?;
    /// dump.restore(&other).check()?;
    /// assert!(dump.restore(&db).check().is_err(), "the collection has documents there");
    /// # alluvium::Result::Ok(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Dump`] naming the collections or the index.
    pub fn check(&self) -> Result<()> {
        if self.options.strict_indexes {
            self.dump.check_indexes()?;
        }
        if self.options.on_duplicate.is_some() {
            return Ok(());
        }
        let mut names = Vec::new();
        let mut finished = 0;
        for dumped in &self.dump.collections {
            match dumped.existing(&self.engine)? {
                Existing::OtherDocuments => names.push(dumped.name.as_str()),
                Existing::Restored => finished += 1,
                Existing::Nothing | Existing::Interrupted => {}
            }
        }
        match &names[..] {
            [] if finished > 0 && finished == self.dump.collections.len() => {
                let what =
                    "all of this dump was restored before, and documents may have changed since: nothing is restored";
                Err(Error::Dump(what.to_owned()))
            }
            [] => Ok(()),
            [name] => Err(Error::Dump(format!("the collection {name} has documents already: nothing is restored"))),
            names => {
                let names = names.join(", ");
                Err(Error::Dump(format!("these collections have documents already: {names}: nothing is restored")))
            }
        }
    }

    /// Restores one collection, even if it has documents.
    ///
    /// ```
    /// # let env = alluvium_env::Env::in_memory(1);
    /// # let db = alluvium::Database::builder().env(env.clone()).open("db")?;
    /// # db.collection("pets").put("rex", r#"{"age": 3}"#)?;
    /// # db.collection("pets").create_index(r#"{"age": 1}"#).run()?;
    /// # db.dump("dump").run()?;
    /// # let other = alluvium::Database::builder().env(env.clone()).open("other")?;
    /// let dump = alluvium::dump::read("dump").env(env).run()?;
    /// let restored = dump.restore(&other).collection(&dump.collections[0])?;
    /// assert_eq!((restored.documents, restored.indexes), (1, vec!["age_1".to_owned()]));
    /// # alluvium::Result::Ok(())
    /// ```
    ///
    /// # Errors
    /// As [`Restore::run`].
    pub fn collection(&self, collection: &DumpedCollection) -> Result<RestoredCollection> {
        collection.restore(&self.engine, &self.options)
    }
}

impl Dump {
    /// A restore of every collection into a database.
    ///
    /// ```
    /// # let env = alluvium_env::Env::in_memory(1);
    /// # let db = alluvium::Database::builder().env(env.clone()).open("db")?;
    /// # db.collection("pets").put("rex", r#"{"age": 3}"#)?;
    /// # db.dump("dump").run()?;
    /// # let other = alluvium::Database::builder().env(env.clone()).open("other")?;
    /// let report = alluvium::dump::read("dump").env(env).run()?.restore(&other).run()?;
    /// assert_eq!(report.collections[0].documents, 1);
    /// # alluvium::Result::Ok(())
    /// ```
    pub fn restore(&self, database: &impl AsRef<EngineHandle>) -> Restore<'_> {
        Restore { dump: self, engine: database.as_ref().clone(), options: RestoreOptions::default() }
    }

    /// Refuses unsupported indexes, and collections that cannot be restored. This is the part of [`Restore::check`] that needs no database.
    ///
    /// ```
    /// # let env = alluvium_env::Env::in_memory(1);
    /// # let db = alluvium::Database::builder().env(env.clone()).open("db")?;
    /// # db.collection("pets").create_index(r#"{"age": 1}"#).run()?;
    /// # db.dump("dump").run()?;
    /// alluvium::dump::read("dump").env(env).run()?.check_indexes()?;
    /// # alluvium::Result::Ok(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Dump`] naming the first unsupported index.
    pub fn check_indexes(&self) -> Result<()> {
        if let Some((path, why)) = self.skipped.first() {
            return Err(Error::Dump(format!("{} cannot be restored: {why}", path.display())));
        }
        self.collections.iter().try_for_each(DumpedCollection::refuse_unsupported)
    }
}

impl DumpedCollection {
    fn refuse_unsupported(&self) -> Result<()> {
        let Some((path, metadata)) = &self.metadata else { return Ok(()) };
        match metadata.unsupported_indexes().first() {
            Some((name, reason)) => {
                let what = format!("{}: the index {name} cannot be created: {reason}", path.display());
                Err(Error::Dump(what))
            }
            None => Ok(()),
        }
    }

    /// The state of this collection in the database, before the restore.
    fn existing(&self, engine: &EngineHandle) -> Result<Existing> {
        let name = FullName::parse(&self.name)?;
        let empty = is_empty(engine, &name)?;
        let before = |file: &Path, format: Format| {
            Load::new(engine.clone(), Ok(name.clone()), self.open(&engine.env, file)?).format(format).loaded_before()
        };
        let mut marks = vec![before(&self.bson, Format::Bson)?];
        if let Some(others) = &self.others {
            marks.push(before(others, Format::ExactLines)?);
        }
        let documents: u64 = marks.iter().flatten().map(|mark| mark.documents).sum();
        let finished = marks.iter().all(|mark| mark.as_ref().is_some_and(|mark| mark.finished));
        Ok(match (empty, finished, marks.iter().any(Option::is_some)) {
            // The dump has no documents either, so nothing is missing. With documents, the collection was emptied
            // since.
            (true, true, _) if documents == 0 => Existing::Restored,
            (true, ..) => Existing::Nothing,
            (false, true, _) => Existing::Restored,
            (false, false, true) => Existing::Interrupted,
            (false, false, false) => Existing::OtherDocuments,
        })
    }

    fn restore(&self, engine: &EngineHandle, options: &RestoreOptions) -> Result<RestoredCollection> {
        let name = FullName::parse(&self.name)?;
        let empty = is_empty(engine, &name)?;
        let mut restored = RestoredCollection { name: self.name.clone(), ..RestoredCollection::default() };
        if let Some((_, metadata)) = &self.metadata {
            // The indexes are created first, so that each document is indexed as it is written, even if the restore is
            // interrupted.
            restored.indexes = metadata.create_indexes(engine, &name)?;
        }
        let files = [(Some(&self.bson), Format::Bson), (self.others.as_ref(), Format::ExactLines)];
        let mut resumed = false;
        for (file, format) in files {
            let Some(file) = file else { continue };
            let report = self.load_file(engine, &name, file, format, empty, options)?;
            if report.outcome == Outcome::Stopped {
                return Err(Error::Stopped);
            }
            resumed |= report.documents_before > 0 || report.outcome == Outcome::AlreadyDone;
            restored.documents += report.documents;
            restored.documents_before += report.documents_before;
            restored.duplicates += report.duplicates;
            restored.rejected += report.rejected;
            restored.repaired += report.repaired;
        }
        if let Some((_, metadata)) = &self.metadata {
            // The validator is set after the documents are restored, because they may be older than it.
            match metadata.validator() {
                Ok(None) => {}
                Ok(validator) => drop(engine.catalog.change_options(&name, |options| options.validator = validator)?),
                Err(error) => restored.validator_lost = Some(error.to_string()),
            }
        }
        let found = restored.documents + restored.documents_before + restored.duplicates + restored.rejected;
        // An earlier run does not record how many documents it skipped.
        let skips = options.on_duplicate == Some(OnDuplicate::Skip) || options.on_bad == OnBad::Skip;
        let counted = !resumed || !skips;
        match self.metadata.as_ref().and_then(|(_, metadata)| metadata.documents) {
            Some(expected) if counted && expected != found => {
                let what = format!(
                    "{} has {found} documents, but its metadata counts {expected}: the dump is incomplete",
                    self.bson.display()
                );
                Err(Error::Dump(what))
            }
            _ => Ok(restored),
        }
    }
}

/// The state of a collection before it is restored.
enum Existing {
    /// No documents.
    Nothing,
    /// Documents of an interrupted restore of the same files.
    Interrupted,
    /// The documents of a completed restore of the same files.
    Restored,
    /// Documents that did not come from these files.
    OtherDocuments,
}

fn is_empty(engine: &EngineHandle, name: &FullName) -> Result<bool> {
    let mut cursor = Cursor::scan(engine, name, None, ScanRange { limit: Some(1), ..ScanRange::default() })?;
    Ok(cursor.next().transpose()?.is_none())
}

fn open(env: &Env, file: &Path) -> Result<Input> {
    let opened = env.fs.open(file, OpenMode::Read).map_err(alluvium_store::Error::from)?;
    let mut head = [0; Packing::HEAD_BYTES];
    let len = opened.read_at(&mut head, 0).map_err(alluvium_store::Error::from)?;
    let packing = Packing::of(file, &head[..len]);
    let identity = Identity::of_whole_file_in(env, file)?;
    if packing == Packing::Plain {
        return Ok(Input { identity: Some(identity), place: None, ..Input::file_in(env, file)? });
    }
    let reader = packing
        .reader(FileReader::new(opened))
        .map_err(|error| alluvium_store::Error::from(alluvium_env::Error::of_stream("read", file, error)))?;
    Ok(Input::decoded(&file.display().to_string(), identity, reader))
}

impl DumpedCollection {
    /// Opens the documents of a file as an input.
    fn open(&self, env: &Env, file: &Path) -> Result<Input> {
        match &self.section {
            Some(section) if *file == *self.bson => section.input(env, file, &self.name),
            _ => open(env, file),
        }
    }

    fn load_file(
        &self,
        engine: &EngineHandle,
        name: &FullName,
        file: &Path,
        format: Format,
        empty: bool,
        options: &RestoreOptions,
    ) -> Result<LoadReport> {
        let input = self.open(&engine.env, file)?;
        let mut load = Load::new(engine.clone(), Ok(name.clone()), input)
            .format(format)
            .readers(options.readers)
            .writers(options.writers)
            .on_duplicate(options.on_duplicate.unwrap_or(OnDuplicate::Error))
            .on_bad(options.on_bad)
            .stop_when(options.stop.clone());
        if let Some(make) = &options.rejects {
            load = load.rejects(make(&file.display().to_string()));
        }
        // An earlier restore completed, but its documents were deleted or changed since: load the whole file again. An
        // emptied collection is also loaded from the beginning.
        let finished = load.loaded_before()?.is_some_and(|before| before.finished);
        let report = load.again(empty || finished && options.on_duplicate.is_some()).run()?;
        Progress::add(&options.progress.documents, report.documents + report.documents_before);
        Progress::add(&options.progress.bytes, report.bytes + report.resumed_at);
        Ok(report)
    }
}
