//! The description of a load, built by its caller.

use super::pipeline::{self, BuildTarget};
use super::{Format, Input, LoadOptions, LoadReport, LoadedBefore, OnBad, OnDuplicate, PathBefore, Progress};
use alluvium_collections::engine::EngineHandle;
use alluvium_collections::error::{Error, Result};
use alluvium_collections::names::FullName;
use alluvium_store::Durability;
use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// Refuses options that contradict each other.
fn check_options(options: &LoadOptions) -> Result<()> {
    if options.format == Format::JsonFields && options.id_field != "_id" {
        let what = "the field names become the _id, so no other field can be the _id";
        return Err(Error::Load(what.to_owned()));
    }
    if options.readers == 0 || options.writers == 0 {
        return Err(Error::Load("a load needs at least one reader and one writer".to_owned()));
    }
    Ok(())
}

/// The target of a load.
enum Target<'a> {
    Collection { engine: EngineHandle, name: Result<FullName> },
    Build(&'a BuildTarget),
}

/// A load. `Collection::load` and `ReadOnlyBuild::load` create it, its methods set options, and [`Load::run`] runs it.
#[must_use = "nothing is loaded until `run`"]
pub struct Load<'a> {
    target: Target<'a>,
    input: Input,
    options: LoadOptions,
}

impl<'a> Load<'a> {
    /// A load into a collection. If the name is invalid, every method that returns a `Result` fails.
    pub fn new(engine: EngineHandle, name: Result<FullName>, input: Input) -> Self {
        Self { target: Target::Collection { engine, name }, input, options: LoadOptions::default() }
    }

    /// A load into a read-only store that is being built.
    pub(crate) fn for_build(build: &'a BuildTarget, input: Input) -> Self {
        Self { target: Target::Build(build), input, options: LoadOptions::default() }
    }

    /// The format of the input. Default: one JSON object per line.
    ///
    /// ```
    /// use alluvium::load::{Csv, Format, Input};
    /// # let db = alluvium::Database::in_memory()?;
    /// let input = Input::stream("pets", std::io::Cursor::new("_id,kind\nrex,dog\n"));
    /// db.collection("pets").load(input).format(Format::Csv(Csv::default())).run()?;
    /// # alluvium::Result::Ok(())
    /// ```
    pub fn format(mut self, format: Format) -> Self {
        self.options.format = format;
        self
    }

    /// The field whose value becomes the `_id`; the document keeps the field, and this takes no space on disk. Default:
    /// `_id`, generated where it is absent.
    ///
    /// ```
    /// # use alluvium::load::Input;
    /// # let db = alluvium::Database::in_memory()?;
    /// let input = Input::stream("pets", std::io::Cursor::new(r#"{"name": "rex"}"#));
    /// db.collection("pets").load(input).id_field("name").run()?;
    /// assert!(db.collection("pets").get("rex")?.is_some());
    /// # alluvium::Result::Ok(())
    /// ```
    pub fn id_field(mut self, name: impl Into<String>) -> Self {
        self.options.id_field = name.into();
        self
    }

    /// Threads that parse, at least 1. Default: one for each core.
    pub fn readers(mut self, threads: usize) -> Self {
        self.options.readers = threads;
        self
    }

    /// Threads that write, at least 1. Default: 1.
    pub fn writers(mut self, threads: usize) -> Self {
        self.options.writers = threads;
        self
    }

    /// Sets the action for a document whose `_id` exists already. Default: the load fails. Has no effect on a load into
    /// a read-only store: the options of its build decide.
    pub fn on_duplicate(mut self, choice: OnDuplicate) -> Self {
        self.options.on_duplicate = choice;
        self
    }

    /// Sets the action for a bad record. Default: the load fails.
    ///
    /// ```
    /// # use alluvium::load::{Input, OnBad};
    /// # let db = alluvium::Database::in_memory()?;
    /// let input = Input::stream("pets", std::io::Cursor::new("{\"_id\": 1}\n{\"_id\": \n"));
    /// let report = db.collection("pets").load(input).on_bad(OnBad::Skip).run()?;
    /// assert_eq!((report.documents, report.rejected), (1, 1));
    /// # alluvium::Result::Ok(())
    /// ```
    pub fn on_bad(mut self, choice: OnBad) -> Self {
        self.options.on_bad = choice;
        self
    }

    /// Also accepts values that BSON cannot hold: numbers beyond decimal128 (34 digits), names and regular expressions
    /// with a zero character. MongoDB's clients cannot read such documents, and a dump writes them to separate files.
    /// Default: false, such a document is a bad record.
    ///
    /// ```
    /// # use alluvium::load::{Input, OnBad};
    /// # let db = alluvium::Database::in_memory()?;
    /// let small = || Input::stream("pets", std::io::Cursor::new(r#"{"_id": 1, "weight": 1e-7000}"#));
    /// let pets = db.collection("pets");
    /// assert!(pets.load(small()).run().is_err());
    /// pets.load(small()).alluvium_types(true).run()?;
    /// # alluvium::Result::Ok(())
    /// ```
    pub fn alluvium_types(mut self, take: bool) -> Self {
        self.options.alluvium_types = take;
        self
    }

    /// Receives one line of JSON for each rejected record, with line, column, reason and text; for BSON, with
    /// document, byte, reason and base64. Default: none.
    pub fn rejects(mut self, writer: impl Write + Send + 'static) -> Self {
        self.options.rejects = Some(Box::new(writer));
        self
    }

    /// When a written document survives a power failure. Default: [`Durability::Bulk`]: the load as a whole is
    /// acknowledged at its end. A read-only store becomes durable when it is finished, regardless of this setting.
    pub fn durability(mut self, durability: Durability) -> Self {
        self.options.durability = durability;
        self
    }

    /// Loads an input again even if an earlier load completed it. Default: false.
    pub fn again(mut self, again: bool) -> Self {
        self.options.again = again;
        self
    }

    /// Continues after the part of the file that an earlier load has loaded, if that part is unchanged. This is for a
    /// log that has grown, or for a file that was repaired after that part. If the part has changed, the whole file is
    /// loaded. Default: false.
    ///
    /// ```
    /// # let dir = tempfile::tempdir().expect("a directory");
    /// # let db = alluvium::Database::open(dir.path().join("db"))?;
    /// use alluvium::load::Input;
    /// let (path, log) = (dir.path().join("log.jsonl"), db.collection("log"));
    /// std::fs::write(&path, "{\"n\": 1}\n").expect("space");
    /// log.load(Input::file(&path)?).run()?;
    /// std::fs::write(&path, "{\"n\": 1}\n{\"n\": 2}\n").expect("space");
    /// assert!(log.load(Input::file(&path)?).path_before()?.is_some_and(|before| before.continues));
    /// log.load(Input::file(&path)?).append(true).run()?;
    /// assert_eq!(log.count()?, 2);
    /// # alluvium::Result::Ok(())
    /// ```
    pub fn append(mut self, append: bool) -> Self {
        self.options.append = append;
        self
    }

    /// Stops the load once `stop` is set to true, after the slices that are being written. It ends with
    /// [`Outcome::Stopped`](super::Outcome::Stopped), and the next run continues after them.
    pub fn stop_when(mut self, stop: Arc<AtomicBool>) -> Self {
        self.options.stop = stop;
        self
    }

    /// Counters that the load updates. Other threads may read them.
    pub fn progress(mut self, progress: Arc<Progress>) -> Self {
        self.options.progress = progress;
        self
    }

    /// The progress of an earlier load of this input into this collection with the same format and `id_field`.
    /// `None` if there was none, or if the input cannot be resumed.
    ///
    /// ```
    /// # let dir = tempfile::tempdir().expect("a directory");
    /// # let db = alluvium::Database::open(dir.path().join("db"))?;
    /// use alluvium::load::Input;
    /// let (path, pets) = (dir.path().join("pets.jsonl"), db.collection("pets"));
    /// std::fs::write(&path, "{\"_id\": 1}\n").expect("space");
    /// pets.load(Input::file(&path)?).run()?;
    /// let before = pets.load(Input::file(&path)?).loaded_before()?.expect("a mark");
    /// assert!(before.finished && before.documents == 1);
    /// # alluvium::Result::Ok(())
    /// ```
    ///
    /// # Errors
    /// As for any read.
    pub fn loaded_before(&self) -> Result<Option<LoadedBefore>> {
        let Target::Collection { engine, name } = &self.target else { return Ok(None) };
        let name = name.as_ref().map_err(Clone::clone)?;
        let mark = pipeline::loaded_before(engine, name, &self.input, &self.options)?;
        Ok(mark.map(|mark| LoadedBefore { bytes: mark.offset, documents: mark.documents, finished: mark.finished }))
    }

    /// The last load of a file with the same path but with other content. `None` if no load of this path is known, or
    /// if it loaded this same input: see [`Load::loaded_before`].
    ///
    /// # Errors
    /// As for any read.
    pub fn path_before(&self) -> Result<Option<PathBefore>> {
        let Target::Collection { engine, name } = &self.target else { return Ok(None) };
        let name = name.as_ref().map_err(Clone::clone)?;
        if pipeline::loaded_before(engine, name, &self.input, &self.options)?.is_some() {
            return Ok(None);
        }
        let mark = pipeline::place_before(engine, name, &self.input, &self.options)?;
        let (Some(mark), Some(place)) = (mark, &self.input.place) else { return Ok(None) };
        place.compare(&mark).map(Some)
    }

    /// Loads the input.
    ///
    /// # Errors
    /// [`Error::Load`] with line, column and reason; [`Error::LoadDuplicate`]; [`Error::LoadOf`]; or as for any
    /// write. The documents loaded into a collection before the error remain, and are durable; a build cannot
    /// be used afterwards.
    pub fn run(self) -> Result<LoadReport> {
        check_options(&self.options)?;
        match self.target {
            Target::Collection { engine, name } => pipeline::run(&engine, &name?, self.input, self.options),
            Target::Build(build) => pipeline::run_build(build, self.input, self.options),
        }
    }
}
