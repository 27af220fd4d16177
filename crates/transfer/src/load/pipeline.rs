//! The threads of a load and their order.
//!
//! Readers take slices from the slicer one at a time, parse them in parallel, and store each batch under the ticket of
//! its slice. Writers take the batches in the order of their tickets. The number of slices between readers and writers
//! is bounded.

use super::framed::Cutter;
use super::open::{CsvRows, open_input};
use super::progress::{Mark, Progress};
use super::slice::{Slice, SliceLimits};
use super::{ColumnReport, Format, Input, LoadOptions, LoadReport, OnBad, OnDuplicate, Outcome};
use crate::marks;
use alluvium_collections::engine::EngineHandle;
use alluvium_collections::error::{Error, Result};
use alluvium_collections::names::FullName;
use alluvium_document::shape::{Shape, ShapeTable};
use alluvium_document::speculate::{Encoded, Encoder, LineError};
use alluvium_document::{Map, Value};
use alluvium_env::sync::{Condvar, Mutex};
use alluvium_env::thread::Scope;
use alluvium_store::Durability;
use std::collections::BTreeMap;
use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

mod bad;
mod before;
mod clashes;
mod parts;
mod records;
mod repair;
mod target;
mod writing;

use bad::{BadLine, Refused, check_document_size, check_size};
pub(crate) use before::{loaded_before, place_before};
use before::{mark_key, place_key, read_mark};
pub(crate) use target::{BuildTarget, explain};
use target::{CollectionTarget, PlaceTarget, Rows, Target};

/// A parsed slice.
struct Parsed<'a> {
    rows: Rows<'a>,
    /// The keys of the documents, concatenated; `key_ends` has the end of each key.
    keys: Vec<u8>,
    key_ends: Vec<usize>,
    /// The position of each document.
    lines: Vec<RecordPlace>,
    /// The texts of the documents, if the documents may still be rejected.
    texts: Option<Vec<Vec<u8>>>,
    shapes: Vec<Arc<Shape>>,
    bad: Vec<BadLine>,
    /// The last of `bad` ends the load.
    fatal: bool,
    /// The offset of the last record that was repaired.
    repaired: Option<u64>,
    /// Why the input cannot be read after this slice.
    unread: Option<String>,
    /// Lines (or BSON documents) that end within the slice. With `end` and `end_column` this is the
    /// position of the next slice.
    line_count: u64,
    end: u64,
    end_column: u64,
    bytes: u64,
}

/// The position of a line or another record.
#[derive(Clone, Copy)]
struct RecordPlace {
    /// The number of the first line of the record within the slice; for BSON, the number of the document.
    line: u64,
    /// The byte offset in the input.
    offset: u64,
    /// The number of characters before the record in its line.
    column: u64,
}

impl Parsed<'_> {
    fn key(&self, at: usize) -> &[u8] {
        let start = if at == 0 { 0 } else { self.key_ends[at - 1] };
        &self.keys[start..self.key_ends[at]]
    }
}

/// The options that determine how records are parsed and written.
struct Settings {
    format: Format,
    id_field: String,
    on_duplicate: OnDuplicate,
    on_bad: OnBad,
    /// Values that BSON cannot hold are refused, or repaired.
    is_for_bson: bool,
    durability: Durability,
}

/// The state that the threads share.
struct Load<'a> {
    target: Target<'a>,
    /// The full name of the collection, for messages.
    collection: String,
    shapes: Arc<ShapeTable>,
    settings: Settings,
    progress: Arc<Progress>,
    stop: Arc<AtomicBool>,
    rejects: Mutex<Option<Box<dyn Write + Send>>>,
    /// True if the texts of valid documents are kept, too. A document may be rejected later, because only the write
    /// detects that a unique key is taken.
    keeps_texts: bool,
    name: String,
    id_seed: u64,
    cutter: Mutex<Cutter>,
    csv: Option<Arc<CsvRows>>,
    state: Mutex<LoadState<'a>>,
    /// The progress of the load at the record that ended it.
    failed_at: Mutex<Option<Mark>>,
    changed: Condvar,
    /// The readers run at most this many slices ahead of the writers.
    ahead_max: u64,
    /// The readers take no further slice while the slices ahead have this many bytes in total. Slices with long lines
    /// can be large.
    ahead_bytes_max: u64,
}

struct LoadState<'a> {
    ready: BTreeMap<u64, Parsed<'a>>,
    taken: u64,
    next: u64,
    /// The number of bytes in slices that were taken and are not written yet.
    ahead_bytes: u64,
    writing: bool,
    readers: usize,
    mark: Mark,
    error: Option<Error>,
}

/// Runs a load into a collection.
pub(crate) fn run(engine: &EngineHandle, name: &FullName, input: Input, options: LoadOptions) -> Result<LoadReport> {
    let store = engine.store();
    let state = engine.catalog.find_or_create(name)?;
    let mark_key = mark_key(&input, &options);
    let mut before = match &mark_key {
        Some(key) if !options.again => read_mark(store, &state, key)?,
        _ => Mark::default(),
    };
    let place_before = place_before(engine, name, &input, &options)?;
    if options.append
        && before == Mark::default()
        && let (Some(mark), Some(place)) = (&place_before, &input.place)
        && place.compare(mark)?.continues
    {
        before = Mark { finished: false, ..mark.mark };
    }
    // A load that continues includes the documents of the earlier load.
    let generated_before = before.offset > 0 && place_before.is_some_and(|mark| mark.generated);
    options.progress.total_bytes.store(input.total, Ordering::Relaxed);
    if before.finished {
        return Ok(report(Outcome::AlreadyDone, &options.progress, before, Vec::new()));
    }
    Progress::add(&options.progress.bytes, before.offset);
    let plan = Plan {
        collection: name.to_string(),
        shapes: state.shapes.clone(),
        memory_bytes: store.options().memory_bytes,
        random: engine.env.rng.next_u64(),
        before,
    };
    let place_key = place_key(&input, &options);
    let mut input = input;
    let place = place_key.zip(input.place.take()).map(|(key, place)| PlaceTarget { key, place, generated_before });
    let target = Target::Collection(CollectionTarget { engine, name, state, mark_key, place });
    run_threads(target, plan, input, options)
}

/// Runs a load into a read-only store that is being built.
pub(crate) fn run_build(target: &BuildTarget, input: Input, options: LoadOptions) -> Result<LoadReport> {
    let before = target.build.lock().added();
    target.inputs.lock().push((before, input.name().to_owned()));
    options.progress.total_bytes.store(input.total, Ordering::Relaxed);
    let plan = Plan {
        collection: target.name.clone(),
        shapes: target.shapes.clone(),
        memory_bytes: target.memory_bytes,
        random: target.env.rng.next_u64(),
        before: Mark::default(),
    };
    run_threads(Target::Build(target), plan, input, options)
}

/// The properties of a target that a load needs.
struct Plan {
    collection: String,
    shapes: Arc<ShapeTable>,
    memory_bytes: usize,
    /// The seed of generated `_id`s if the input has no identity.
    random: u64,
    before: Mark,
}

fn run_threads(target: Target<'_>, plan: Plan, input: Input, mut options: LoadOptions) -> Result<LoadReport> {
    let before = plan.before;
    let rejects = options.rejects.take();
    let limits = SliceLimits::of_memory(plan.memory_bytes);
    let id_seed = input.identity.map_or(plan.random, |identity| identity.number());
    let has_unique = matches!(&target, Target::Collection(target) if target.state.indexes().has_unique());
    let keeps_texts = has_unique && options.on_bad == OnBad::Skip && rejects.is_some();
    let opened = open_input(&input.name, input.source, &options.format, before, limits)?;
    let load = Load {
        target,
        collection: plan.collection,
        shapes: plan.shapes,
        settings: Settings {
            format: options.format.clone(),
            id_field: options.id_field.clone(),
            on_duplicate: options.on_duplicate,
            on_bad: options.on_bad,
            // Files of exact lines exist for values that BSON cannot hold, and BSON files cannot have such values.
            is_for_bson: !options.alluvium_types && !matches!(options.format, Format::ExactLines | Format::Bson),
            durability: options.durability,
        },
        progress: options.progress.clone(),
        stop: options.stop.clone(),
        rejects: Mutex::new(rejects),
        keeps_texts,
        name: input.name.clone(),
        id_seed,
        cutter: Mutex::new(opened.cutter),
        csv: opened.rows,
        state: Mutex::new(LoadState {
            ready: BTreeMap::new(),
            taken: 0,
            next: 0,
            ahead_bytes: 0,
            writing: false,
            readers: options.readers,
            mark: opened.begin,
            error: None,
        }),
        failed_at: Mutex::new(None),
        changed: Condvar::new(),
        ahead_max: options.readers as u64 + 1,
        ahead_bytes_max: (plan.memory_bytes / 8).max((options.readers + 1) * limits.slice_bytes) as u64,
    };
    alluvium_env::thread::scope(|scope| load.start(scope, options.readers, options.writers));
    load.finish(before)
}

/// Starts threads until one is refused. Returns the number of started threads.
fn start_threads<'scope>(
    scope: &'scope Scope<'scope, '_>,
    name: &str,
    most: usize,
    body: impl Fn() + Copy + Send + 'scope,
) -> (usize, Option<std::io::Error>) {
    for started in 0..most {
        if let Err(error) = alluvium_env::thread::try_spawn_scoped(scope, name, body) {
            return (started, Some(error));
        }
    }
    (most, None)
}

fn report(outcome: Outcome, progress: &Progress, before: Mark, columns: Vec<ColumnReport>) -> LoadReport {
    if before.offset > 0 && !before.finished {
        marks::LOAD_RESUMED.hit();
    }
    LoadReport {
        outcome,
        documents: progress.documents.load(Ordering::Relaxed),
        duplicates: progress.duplicates.load(Ordering::Relaxed),
        rejected: progress.rejected.load(Ordering::Relaxed),
        repaired: progress.repaired.load(Ordering::Relaxed),
        bytes: progress.bytes.load(Ordering::Relaxed).saturating_sub(before.offset),
        resumed_at: before.offset,
        documents_before: before.documents,
        columns,
    }
}

impl<'a> Load<'a> {
    /// Starts the threads. The load fails unless at least one reader and one writer start.
    fn start<'scope>(&'scope self, scope: &'scope Scope<'scope, '_>, readers: usize, writers: usize) {
        // The writers start first: without a writer, the readers would wait for ever.
        let (started, refused) = start_threads(scope, "load-write", writers, || self.guarded(Load::write));
        if started == 0 {
            return self.refuse_threads(refused);
        }
        let (started, refused) = start_threads(scope, "load-read", readers, || self.guarded(Load::read));
        self.state.lock().readers -= readers - started;
        if started == 0 {
            return self.refuse_threads(refused);
        }
        self.changed.notify_all();
    }

    fn refuse_threads(&self, cause: Option<std::io::Error>) {
        let cause = cause.map_or_else(String::new, |cause| format!(": {cause}"));
        let what =
            "the system refuses another thread: end other programs, or raise the limit of processes or of memory";
        self.fail(Error::Load(format!("cannot load {}: {what}{cause}", self.name)));
    }

    /// Writes the final mark, makes the load durable, and returns the report.
    fn finish(self, before: Mark) -> Result<LoadReport> {
        let state = self.state.into_inner();
        let stopped = self.stop.load(Ordering::Relaxed) && state.error.is_none();
        if let Target::Collection(target) = &self.target {
            let is_done = state.error.is_none() && !stopped;
            let generated = self.progress.ids_made.load(Ordering::Relaxed) > 0;
            let reached = self.failed_at.lock().unwrap_or(state.mark);
            let marked = target.mark_end(reached, is_done, generated, self.settings.durability);
            // If the load itself failed, its error is returned instead of this one.
            if state.error.is_none() {
                marked?;
            }
        }
        // The documents loaded before an error stay, so they are made durable after an error, too.
        let synced = self.target.sync();
        let rejects = self.rejects.into_inner();
        let flushed = rejects.map_or(Ok(()), |mut out| out.flush());
        if let Some(error) = state.error {
            return Err(error);
        }
        synced?;
        flushed.map_err(|e| Error::Load(format!("cannot write rejects: {e}")))?;
        let outcome = if stopped { Outcome::Stopped } else { Outcome::Done };
        let columns = self.csv.as_ref().map(|csv| csv.columns.report()).unwrap_or_default();
        Ok(report(outcome, &self.progress, before, columns))
    }

    /// Runs a thread of the load. If the thread panics (a source may), the load fails. Otherwise the other threads
    /// would wait for ever for its slice.
    fn guarded(&self, body: impl FnOnce(&Self)) {
        if std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| body(self))).is_err() {
            let what = "a thread panicked; what was loaded before stays; please report this";
            self.fail(Error::Load(format!("cannot load {}: {what}", self.name)));
        }
    }

    fn fail(&self, error: Error) {
        self.state.lock().error.get_or_insert(error);
        self.changed.notify_all();
    }

    /// The body of a reader thread.
    fn read(&self) {
        let mut encoder = Encoder::new(self.shapes.clone(), &self.settings.id_field);
        if self.settings.is_for_bson {
            encoder = encoder.for_bson();
        }
        while let Some(slice) = self.take_slice() {
            let ticket = slice.ticket;
            let parsed = self.parse(&mut encoder, slice);
            self.state.lock().ready.insert(ticket, parsed);
            self.changed.notify_all();
        }
        self.state.lock().readers -= 1;
        self.changed.notify_all();
    }

    fn take_slice(&self) -> Option<Slice> {
        // The cutter stays locked until the bytes of the slice are counted.
        let mut cutter = self.cutter.lock();
        let mut state = self.state.lock();
        loop {
            if state.error.is_some() || self.stop.load(Ordering::Relaxed) {
                return None;
            }
            let ahead = state.taken - state.next;
            if ahead == 0 || ahead < self.ahead_max && state.ahead_bytes < self.ahead_bytes_max {
                break;
            }
            self.changed.wait(&mut state);
        }
        state.taken += 1;
        drop(state);
        let slice = cutter.next(&mut |bytes| self.wait_for(bytes as u64))?;
        self.state.lock().ahead_bytes += slice.bytes.len() as u64;
        Some(slice)
    }

    /// Waits until a slice of this many bytes may be read: until few bytes are ahead, or no other slice. Returns false if
    /// the load has ended.
    fn wait_for(&self, bytes: u64) -> bool {
        let mut state = self.state.lock();
        loop {
            if state.error.is_some() || self.stop.load(Ordering::Relaxed) {
                return false;
            }
            // The slice that is being read was counted as taken.
            if state.taken - state.next == 1 || state.ahead_bytes + bytes <= self.ahead_bytes_max {
                return true;
            }
            self.changed.wait(&mut state);
        }
    }

    fn parse(&self, encoder: &mut Encoder, slice: Slice) -> Parsed<'a> {
        let mut parsed = Parsed {
            rows: self.target.rows(slice.bytes.len() / 2),
            keys: Vec::new(),
            key_ends: Vec::new(),
            lines: Vec::new(),
            texts: self.keeps_texts.then(Vec::new),
            shapes: Vec::new(),
            bad: Vec::new(),
            fatal: false,
            repaired: None,
            unread: slice.unread.clone(),
            line_count: 0,
            end: slice.offset + slice.bytes.len() as u64,
            end_column: 0,
            bytes: slice.bytes.len() as u64,
        };
        if self.settings.format == Format::JsonLines {
            self.parse_lines(encoder, &slice, &mut parsed);
        } else {
            self.parse_records(encoder, &slice, &mut parsed);
        }
        parsed
    }

    fn parse_lines(&self, encoder: &mut Encoder, slice: &Slice, parsed: &mut Parsed<'a>) {
        let mut row = Vec::with_capacity(4096);
        let mut at = 0;
        while at < slice.bytes.len() && !parsed.fatal {
            let rest = &slice.bytes[at..];
            let len = memchr::memchr(b'\n', rest).unwrap_or(rest.len());
            let mut line = &rest[..len];
            let offset = slice.offset + at as u64;
            at += len + 1;
            if offset == 0 {
                line = line.strip_prefix(super::BOM).unwrap_or(line);
            }
            if !line.iter().all(u8::is_ascii_whitespace) {
                let place = RecordPlace { line: parsed.line_count, offset, column: 0 };
                self.parse_text(encoder, line, place, &mut row, parsed);
            }
            parsed.line_count += 1;
        }
    }

    /// Parses one document of JSON text.
    fn parse_text(
        &self,
        encoder: &mut Encoder,
        text: &[u8],
        place: RecordPlace,
        row: &mut Vec<u8>,
        parsed: &mut Parsed<'a>,
    ) {
        row.clear();
        let start = parsed.keys.len();
        let encoded = if self.settings.id_field == "_id" {
            let mut id = || Value::ObjectId(self.generated_id(place.offset));
            encoder.encode_json_line_or_new_id(text, &mut id, row, &mut parsed.keys)
        } else {
            encoder.encode_json_line(text, row, &mut parsed.keys)
        };
        let encoded = encoded
            .map_err(|e| self.refused(&e, place))
            .and_then(|encoded| check_size(text, place, |map| self.id_bytes(map)).map(|()| encoded));
        if encoded.is_err() && self.settings.on_bad == OnBad::Repair && self.repair_text(text, place, row, parsed) {
            return;
        }
        self.take(encoded, start, place, row, text, parsed);
    }

    /// The number of bytes that a generated or copied `_id` adds to the document in BSON.
    fn id_bytes(&self, map: &Map) -> usize {
        match map.get(&self.settings.id_field) {
            Some(_) if self.settings.id_field == "_id" => 0,
            Some(id) => ID_NAME_BYTES + alluvium_document::bson::bson_size(id),
            None => ID_NAME_BYTES + OBJECT_ID_BYTES,
        }
    }

    /// Adds a parsed record, or its error. The row is in `row`; the key is in `parsed.keys`, from `start` to the end.
    fn take(
        &self,
        encoded: std::result::Result<Encoded, Refused>,
        start: usize,
        place: RecordPlace,
        row: &[u8],
        text: &[u8],
        parsed: &mut Parsed<'a>,
    ) {
        match encoded {
            Ok(encoded) => {
                for shape in encoded.new_shapes {
                    if !parsed.shapes.iter().any(|known| Arc::ptr_eq(known, &shape)) {
                        parsed.shapes.push(shape);
                    }
                }
                if let Err(error) = parsed.rows.put(&parsed.keys[start..], row) {
                    return self.refuse(place.refused_by(error), start, place, text, parsed);
                }
                parsed.key_ends.push(parsed.keys.len());
                parsed.lines.push(place);
                if let Some(texts) = &mut parsed.texts {
                    texts.push(text.to_vec());
                }
            }
            Err(refused) => self.refuse(refused, start, place, text, parsed),
        }
    }

    /// Adds a record that cannot be stored.
    fn refuse(&self, refused: Refused, start: usize, place: RecordPlace, text: &[u8], parsed: &mut Parsed<'a>) {
        parsed.keys.truncate(start);
        parsed.fatal = self.settings.on_bad != OnBad::Skip;
        let text = if parsed.fatal { Vec::new() } else { text.to_vec() };
        parsed.bad.push(BadLine { place, refused, text });
    }

    /// The position and the reason of the error for a record that begins at `place`.
    fn refused(&self, error: &LineError, place: RecordPlace) -> Refused {
        match error {
            LineError::Json(json) => {
                let before = if json.line == 1 { place.column } else { 0 };
                Refused {
                    line: place.line + json.line as u64 - 1,
                    column: before + json.column as u64,
                    reason: json.reason.to_string(),
                    error: None,
                }
            }
            LineError::MissingId if self.settings.id_field != "_id" => {
                let field = &self.settings.id_field;
                place.refused(format!("the document has no field {field:?} to take its _id from"))
            }
            other => place.refused(other.to_string()),
        }
    }

    /// The `_id` of a document that has none. It is the same on every run over the same input, and differs from
    /// generated `_id`s of other inputs. Seven bytes identify the input and the terabyte within it; five bytes are the
    /// offset within that terabyte.
    fn generated_id(&self, offset: u64) -> [u8; 12] {
        Progress::add(&self.progress.ids_made, 1);
        let terabyte = self.id_seed.wrapping_add(offset >> 40).to_be_bytes();
        let mut id = [0; 12];
        id[..7].copy_from_slice(&terabyte[1..]);
        id[7..].copy_from_slice(&offset.to_be_bytes()[3..]);
        id
    }

    /// The body of a writer thread.
    fn write(&self) {
        while let Some((parsed, mark)) = self.take_parsed() {
            let bytes = parsed.bytes;
            let result = self.write_slice(parsed, mark);
            let mut state = self.state.lock();
            state.writing = false;
            state.next += 1;
            state.ahead_bytes -= bytes;
            match result {
                Ok(mark) => state.mark = mark,
                Err(error) => {
                    state.error.get_or_insert(error);
                }
            }
            drop(state);
            self.changed.notify_all();
        }
    }

    /// The batch with the next ticket; waits until it is parsed.
    fn take_parsed(&self) -> Option<(Parsed<'a>, Mark)> {
        let mut state = self.state.lock();
        loop {
            if state.error.is_some() {
                return None;
            }
            let next = state.next;
            if !state.writing {
                if let Some(parsed) = state.ready.remove(&next) {
                    state.writing = true;
                    return Some((parsed, state.mark));
                }
                if state.readers == 0 {
                    return None;
                }
            }
            self.changed.wait(&mut state);
        }
    }

    fn write_slice(&self, parsed: Parsed<'a>, before: Mark) -> Result<Mark> {
        match &self.target {
            Target::Collection(target) => self.write_to_collection(target, parsed, before),
            Target::Build(target) => self.write_to_build(target, parsed, before),
        }
    }
}

/// The size of an `_id` in BSON without its value: the type, the name and the terminating zero.
const ID_NAME_BYTES: usize = 5;
const OBJECT_ID_BYTES: usize = 12;
