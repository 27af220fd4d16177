//! Change streams.

use alluvium_collections::appends::AppendWatch;
use alluvium_collections::engine::EngineHandle;
use alluvium_collections::error::Result;
use alluvium_collections::history::Scope;
use alluvium_collections::pipeline::PipelineRequest;
use alluvium_collections::watch::{self, BeforeDocument, ClusterTimes, FullDocument, ResumeToken, Start, WatchRequest};
use alluvium_document::{IntoDocument, Map, Value};
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

/// The most events that are read at once.
const BATCH: usize = 128;

/// A change stream, not opened yet; returned by [`crate::Collection::watch`], [`crate::LogicalDatabase::watch`] and
/// [`crate::Database::watch`].
///
/// ```
/// # let db = alluvium::Database::in_memory()?;
/// let pets = db.collection("pets");
/// let mut changes = pets.watch().run()?;
/// pets.insert_one(r#"{"_id": "rex", "age": 3}"#)?;
/// pets.update_one(r#"{"_id": "rex"}"#, r#"{"$inc": {"age": 1}}"#).run()?;
///
/// let inserted = changes.next().expect("an event")?;
/// assert_eq!(inserted.get("operationType"), Some(&"insert".into()));
/// let updated = changes.next().expect("an event")?;
/// let description = updated.get("updateDescription").and_then(|it| it.as_map()).expect("a description");
/// assert_eq!(description.get("updatedFields").and_then(|it| it.as_map()), Some(&alluvium::doc! {"age": 4}));
///
/// // A program that keeps the token continues there, also after a restart.
/// let token = changes.token();
/// pets.delete("rex")?;
/// let deleted = pets.watch().resume_after(token).run()?.next().expect("an event")?;
/// assert_eq!(deleted.get("operationType"), Some(&"delete".into()));
/// # alluvium::Result::Ok(())
/// ```
#[derive(Clone)]
#[must_use = "a change stream does nothing until `run`"]
pub struct Watch {
    engine: EngineHandle,
    /// An error for a name that is not valid.
    scope: Result<Scope>,
    request: WatchRequest,
    times: Option<Arc<dyn ClusterTimes>>,
}

impl Watch {
    pub(crate) fn new(engine: &EngineHandle, scope: Result<Scope>) -> Self {
        let durability = engine.store().options().durability;
        let request = WatchRequest {
            scope: Scope::Everything,
            start: Start::Now,
            full_document: FullDocument::Default,
            before: BeforeDocument::Off,
            expanded: false,
            pipeline: PipelineRequest::new(Ok(Value::Array(Vec::new())), durability),
        };
        Self { engine: engine.clone(), scope, request, times: None }
    }

    /// Sets the stages that events pass: `$match`, `$project`, `$addFields`, `$set`, `$unset`, `$replaceRoot`,
    /// `$replaceWith` and `$redact`, which must keep the `_id`; the last one may be `$changeStreamSplitLargeEvent`.
    ///
    /// ```
    /// # let db = alluvium::Database::in_memory()?;
    /// let pets = db.collection("pets");
    /// let mut old = pets.watch().pipeline(r#"[{"$match": {"fullDocument.age": {"$gt": 5}}}]"#).run()?;
    /// pets.insert_many([r#"{"_id": "rex", "age": 3}"#, r#"{"_id": "tom", "age": 7}"#])?;
    /// assert_eq!(old.next().expect("an event")?.get("documentKey"), Some(&alluvium::doc! {"_id": "tom"}.into()));
    /// # alluvium::Result::Ok(())
    /// ```
    pub fn pipeline(mut self, stages: impl IntoDocument) -> Self {
        self.request.pipeline.stages = stages.into_value();
        self
    }

    /// Begins after the event or the place of this token. Does not take the token of an invalidation.
    ///
    /// ```
    /// # let db = alluvium::Database::in_memory()?;
    /// let pets = db.collection("pets");
    /// let token = pets.watch().run()?.token();
    /// pets.put("rex", r#"{"age": 3}"#)?;
    /// assert_eq!(pets.watch().resume_after(token).run()?.count(), 1);
    /// # alluvium::Result::Ok(())
    /// ```
    pub fn resume_after(mut self, token: ResumeToken) -> Self {
        self.request.start = Start::ResumeAfter(token);
        self
    }

    /// As [`Watch::resume_after`], also for the token of an invalidation.
    ///
    /// ```
    /// # let db = alluvium::Database::in_memory()?;
    /// let pets = db.collection("pets");
    /// pets.put("rex", r#"{"age": 3}"#)?;
    /// let mut changes = pets.watch().run()?;
    /// db.drop_collection("pets")?;
    /// assert_eq!(changes.by_ref().count(), 2); // The drop and the invalidation.
    /// pets.put("rex", r#"{"age": 4}"#)?;
    /// assert_eq!(pets.watch().start_after(changes.token()).run()?.count(), 1);
    /// # alluvium::Result::Ok(())
    /// ```
    pub fn start_after(mut self, token: ResumeToken) -> Self {
        self.request.start = Start::StartAfter(token);
        self
    }

    /// Sets the document in the event of an update. Default: [`FullDocument::Default`], none.
    ///
    /// ```
    /// # let db = alluvium::Database::in_memory()?;
    /// use alluvium::FullDocument;
    /// let pets = db.collection("pets");
    /// pets.put("rex", r#"{"age": 3}"#)?;
    /// let mut changes = pets.watch().full_document(FullDocument::UpdateLookup).run()?;
    /// pets.update_one(r#"{"_id": "rex"}"#, r#"{"$inc": {"age": 1}}"#).run()?;
    /// let document = alluvium::doc! {"_id": "rex", "age": 4};
    /// assert_eq!(changes.next().expect("an event")?.get("fullDocument"), Some(&document.into()));
    /// # alluvium::Result::Ok(())
    /// ```
    pub fn full_document(mut self, document: FullDocument) -> Self {
        self.request.full_document = document;
        self
    }

    /// Sets whether events have the document before the change, of collections that keep it. Default:
    /// [`BeforeDocument::Off`].
    ///
    /// ```
    /// # let db = alluvium::Database::in_memory()?;
    /// use alluvium::{BeforeDocument, Value};
    /// let pets = db.collection("pets");
    /// pets.put("rex", r#"{"age": 3}"#)?;
    /// let mut changes = pets.watch().before_change(BeforeDocument::WhenAvailable).run()?;
    /// pets.delete("rex")?;
    /// assert_eq!(changes.next().expect("an event")?.get("fullDocumentBeforeChange"), Some(&Value::Null));
    /// # alluvium::Result::Ok(())
    /// ```
    pub fn before_change(mut self, document: BeforeDocument) -> Self {
        self.request.before = document;
        self
    }

    /// If true, there are events of new collections, of indexes and of options, and events have more fields. Default:
    /// false.
    ///
    /// ```
    /// # let db = alluvium::Database::in_memory()?;
    /// let pets = db.collection("pets");
    /// let mut changes = pets.watch().expanded(true).run()?;
    /// pets.put("rex", r#"{"age": 3}"#)?;
    /// assert!(changes.last().expect("an event")?.contains("collectionUUID"));
    /// # alluvium::Result::Ok(())
    /// ```
    pub fn expanded(mut self, expanded: bool) -> Self {
        self.request.expanded = expanded;
        self
    }

    /// Begins with the first batch of writes whose last number is this one or higher.
    ///
    /// ```
    /// # let db = alluvium::Database::in_memory()?;
    /// let pets = db.collection("pets");
    /// db.record_changes(alluvium::ChangeScope::Everything)?;
    /// pets.put("rex", r#"{"age": 3}"#)?;
    /// let change = db.changes(&alluvium::ChangeScope::Everything, None)?.next().expect("a change")?;
    /// assert_eq!(pets.watch().from_number(change.batch).run()?.count(), 1);
    /// # alluvium::Result::Ok(())
    /// ```
    pub fn from_number(mut self, number: u64) -> Self {
        self.request.start = Start::From(number);
        self
    }

    /// Adds times of a cluster to events and tokens. Default: events have no `clusterTime`.
    ///
    /// ```
    /// # let db = alluvium::Database::in_memory()?;
    /// use alluvium::{ClusterTimes, Timestamp};
    ///
    /// struct Numbers;
    /// impl ClusterTimes for Numbers {
    ///     fn time(&self, number: u64) -> Option<Timestamp> {
    ///         Some(Timestamp { time: 1, increment: u32::try_from(number).ok()? })
    ///     }
    /// }
    /// let mut changes = db.watch().cluster_times(std::sync::Arc::new(Numbers)).run()?;
    /// db.collection("pets").put("rex", r#"{"age": 3}"#)?;
    /// assert!(changes.next().expect("an event")?.contains("clusterTime"));
    /// # alluvium::Result::Ok(())
    /// ```
    pub fn cluster_times(mut self, times: Arc<dyn ClusterTimes>) -> Self {
        self.times = Some(times);
        self
    }

    /// Sets the collation of the stages, given by MongoDB's options. Default: strings are compared by their bytes.
    ///
    /// ```
    /// # let db = alluvium::Database::in_memory()?;
    /// let stages = r#"[{"$match": {"documentKey._id": "REX"}}]"#;
    /// let mut changes = db.watch().pipeline(stages).collation(r#"{"locale": "en", "strength": 2}"#).run()?;
    /// db.collection("pets").put("rex", r#"{"age": 3}"#)?;
    /// assert_eq!(changes.count(), 1);
    /// # alluvium::Result::Ok(())
    /// ```
    pub fn collation(mut self, options: impl IntoDocument) -> Self {
        self.request.pipeline.collation = Some(options.into_map());
        self
    }

    /// Sets variables, which the stages use as `$$name`.
    ///
    /// ```
    /// # let db = alluvium::Database::in_memory()?;
    /// let stages = r#"[{"$match": {"$expr": {"$eq": ["$documentKey._id", "$$pet"]}}}]"#;
    /// let mut changes = db.watch().pipeline(stages).variables(r#"{"pet": "rex"}"#).run()?;
    /// db.collection("pets").put("rex", r#"{"age": 3}"#)?;
    /// assert_eq!(changes.count(), 1);
    /// # alluvium::Result::Ok(())
    /// ```
    pub fn variables(mut self, variables: impl IntoDocument) -> Self {
        self.request.pipeline.variables = Some(variables.into_map());
        self
    }

    /// Ends the stages with [`crate::Error::Stopped`] when `stop` is set to true.
    ///
    /// ```
    /// # let db = alluvium::Database::in_memory()?;
    /// use std::sync::Arc;
    /// use std::sync::atomic::AtomicBool;
    ///
    /// let stop = Arc::new(AtomicBool::new(false)); // which another thread may set
    /// assert!(db.watch().stop_when(stop.clone()).run()?.next().is_none());
    /// # alluvium::Result::Ok(())
    /// ```
    pub fn stop_when(mut self, stop: Arc<AtomicBool>) -> Self {
        self.request.pipeline.limits.stop = Some(stop);
        self
    }

    /// Opens the stream. If the collections are not recorded yet, begins to record them, and the stream begins now.
    ///
    /// ```
    /// # let db = alluvium::Database::in_memory()?;
    /// let mut changes = db.watch().run()?;
    /// assert!(changes.next().is_none() && !db.recorded().is_empty());
    /// # alluvium::Result::Ok(())
    /// ```
    ///
    /// # Errors
    /// [`crate::Error::ChangesNotRecorded`], [`crate::Error::ChangesLost`] if changes after the token are not recorded;
    /// [`crate::Error::Watch`] for a token or a stage that is not allowed; errors of the stages; as for any write if the
    /// recording begins.
    pub fn run(self) -> Result<ChangeStream> {
        let request = WatchRequest { scope: self.scope?, ..self.request };
        let stream = watch::ChangeStream::open(&self.engine, request, self.times)?;
        let (token, engine) = (stream.token(), self.engine);
        Ok(ChangeStream { stream, ready: VecDeque::new(), token, engine })
    }
}

/// The change events of some collections, each as a document in the form of MongoDB. As an iterator it returns `None`
/// when there are no more events now, and may continue later; [`ChangeStream::next_within`] waits.
///
/// Each event has been made durable before it is returned. After an error the stream has ended; another one can be
/// opened after its last token.
pub struct ChangeStream {
    stream: watch::ChangeStream,
    ready: VecDeque<Map>,
    /// The token of the last event that was returned.
    token: ResumeToken,
    engine: EngineHandle,
}

impl std::fmt::Debug for ChangeStream {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ChangeStream").field("token", &self.token).finish_non_exhaustive()
    }
}

impl ChangeStream {
    /// The next event, or `None` until there is another one.
    ///
    /// ```
    /// # let db = alluvium::Database::in_memory()?;
    /// let mut changes = db.watch().run()?;
    /// assert!(changes.next_event()?.is_none());
    /// db.collection("pets").put("rex", r#"{"age": 3}"#)?;
    /// assert!(changes.next_event()?.is_some());
    /// # alluvium::Result::Ok(())
    /// ```
    ///
    /// # Errors
    /// [`crate::Error::ChangesNotRecorded`], [`crate::Error::ChangesLost`] if the recording has ended;
    /// [`crate::Error::Watch`] if a required document is not known or a stage has changed the `_id`; errors of the
    /// stages and of reading.
    pub fn next_event(&mut self) -> Result<Option<Map>> {
        let event = self.poll_event()?;
        if event.is_none() {
            self.settle()?;
        }
        Ok(event)
    }

    /// As [`ChangeStream::next_event`], but the token does not move behind changes that lead to no event, and nothing is
    /// synced for them: for programs that wait for the events of many streams, most of which have none.
    ///
    /// ```
    /// # let db = alluvium::Database::in_memory()?;
    /// let mut changes = db.collection("pets").watch().run()?;
    /// let token = changes.token();
    /// db.collection("zoos").put("north", "{}")?;
    /// assert!(changes.poll_event()?.is_none());
    /// assert_eq!(changes.token(), token);
    /// # alluvium::Result::Ok(())
    /// ```
    ///
    /// # Errors
    /// As [`ChangeStream::next_event`].
    pub fn poll_event(&mut self) -> Result<Option<Map>> {
        while self.ready.is_empty() {
            self.ready = self.stream.next_batch(BATCH)?.into();
            if !self.stream.has_more() {
                break;
            }
        }
        let event = self.ready.pop_front();
        self.token = match event.as_ref().filter(|_| !self.ready.is_empty()).and_then(watch::token_of) {
            Some(token) => token,
            None => self.stream.token(),
        };
        Ok(event)
    }

    /// Moves the token behind the changes that led to no event so far, which are made durable.
    ///
    /// ```
    /// # let db = alluvium::Database::in_memory()?;
    /// let mut changes = db.collection("pets").watch().run()?;
    /// let token = changes.token();
    /// db.collection("zoos").put("north", "{}")?;
    /// assert!(changes.poll_event()?.is_none());
    /// changes.settle()?;
    /// assert_ne!(changes.token(), token);
    /// # alluvium::Result::Ok(())
    /// ```
    ///
    /// # Errors
    /// As for any write.
    pub fn settle(&mut self) -> Result<()> {
        if self.ready.is_empty() {
            self.stream.settle()?;
            self.token = self.stream.token();
        }
        Ok(())
    }

    /// As [`ChangeStream::next_event`], but waits for up to `time`.
    ///
    /// ```
    /// # let db = alluvium::Database::in_memory()?;
    /// use std::time::Duration;
    /// let pets = db.collection("pets");
    /// let mut changes = pets.watch().run()?;
    /// std::thread::spawn(move || pets.put("rex", r#"{"age": 3}"#));
    /// assert!(changes.next_within(Duration::from_secs(30))?.is_some());
    /// # alluvium::Result::Ok(())
    /// ```
    ///
    /// # Errors
    /// As [`ChangeStream::next_event`].
    pub fn next_within(&mut self, time: Duration) -> Result<Option<Map>> {
        let clock = self.engine.env.clock.clone();
        let until = clock.now().saturating_add(time);
        loop {
            if let Some(event) = self.poll_event()? {
                return Ok(Some(event));
            }
            if self.is_invalidated() || !self.stream.wait(until.saturating_sub(clock.now())) {
                self.settle()?;
                return Ok(None);
            }
        }
    }

    /// Calls `wake` when there may be more events, and at once if there are, as long as the result exists.
    ///
    /// ```
    /// # let db = alluvium::Database::in_memory()?;
    /// let (sender, receiver) = std::sync::mpsc::channel();
    /// let mut changes = db.watch().run()?;
    /// assert!(changes.next().is_none());
    /// let _watch = changes.on_change(move || drop(sender.send(())));
    /// db.collection("pets").put("rex", r#"{"age": 3}"#)?;
    /// receiver.recv().unwrap();
    /// # alluvium::Result::Ok(())
    /// ```
    pub fn on_change(&self, wake: impl Fn() + Send + Sync + 'static) -> AppendWatch {
        if !self.ready.is_empty() {
            wake();
        }
        self.stream.on_change(wake)
    }

    /// The memory of the events that were read ahead, in bytes; an estimate.
    ///
    /// ```
    /// # let db = alluvium::Database::in_memory()?;
    /// let mut changes = db.watch().run()?;
    /// db.collection("pets").put("rex", r#"{"age": 3}"#)?;
    /// db.collection("pets").put("tom", r#"{"age": 4}"#)?;
    /// assert!(changes.next().is_some() && changes.bytes_ahead() > 0);
    /// # alluvium::Result::Ok(())
    /// ```
    pub fn bytes_ahead(&self) -> usize {
        let ready: usize = self.ready.iter().map(watch::event_bytes).sum();
        ready + self.stream.bytes_ahead()
    }

    /// The token of the place after the last event that was returned.
    ///
    /// ```
    /// # let db = alluvium::Database::in_memory()?;
    /// let token = db.watch().run()?.token();
    /// assert_eq!(token.to_string().parse::<alluvium::ResumeToken>().unwrap(), token);
    /// # alluvium::Result::Ok(())
    /// ```
    pub fn token(&self) -> ResumeToken {
        self.token
    }

    /// True if the stream has ended, because its collection was dropped or renamed, or its logical database dropped.
    ///
    /// ```
    /// # let db = alluvium::Database::in_memory()?;
    /// let pets = db.collection("pets");
    /// pets.put("rex", r#"{"age": 3}"#)?;
    /// let mut changes = pets.watch().run()?;
    /// db.drop_collection("pets")?;
    /// let last = changes.by_ref().last().expect("an event")?;
    /// assert_eq!(last.get("operationType"), Some(&"invalidate".into()));
    /// assert!(changes.is_invalidated());
    /// # alluvium::Result::Ok(())
    /// ```
    pub fn is_invalidated(&self) -> bool {
        self.ready.is_empty() && self.stream.is_invalidated()
    }
}

impl Iterator for ChangeStream {
    type Item = Result<Map>;

    /// As [`ChangeStream::next_event`].
    fn next(&mut self) -> Option<Self::Item> {
        self.next_event().transpose()
    }
}
