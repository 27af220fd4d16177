//! Change streams: recorded changes as documents in the form of MongoDB, with tokens from which they can be resumed.
//!
//! A [`ChangeStream`] reads the changes of a scope ([`crate::changes`]), makes an *event* of each, runs the events
//! through the stages of a pipeline, and gives each event a [`ResumeToken`]. The first stream over a scope begins to record
//! it.

mod event;
mod stages;
mod token;

pub use crate::watch_error::{WatchError, WatchErrorKind};
pub use stages::check_stages;
pub use token::{ResumeToken, TokenKind};

use crate::appends::AppendWatch;
use crate::changes::{self, ChangeToken, Changes};
use crate::engine::EngineHandle;
#[cfg(doc)]
use crate::error::Error;
use crate::error::Result;
use crate::history::{Change, Scope};
use crate::names::FullName;
use crate::pipeline::PipelineRequest;
use alluvium_document::{Map, Timestamp, Value, bson};
use alluvium_store::Seq;
use event::Writer;
use stages::Stages;
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

/// No more changes are read for one batch after events with this size in bytes of BSON.
const READ_BYTES: usize = 4 << 20;
/// No more changes are read for one batch after this many have led to no event.
const PASSED_MAX: usize = 16 << 10;

/// The place at which a change stream begins.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Start {
    /// After the changes so far.
    Now,
    /// With the first batch of writes whose last number is this one or higher.
    From(Seq),
    /// After a token of a stream over the same scope that was not invalidated.
    ResumeAfter(ResumeToken),
    /// After any token of a stream over the same scope.
    StartAfter(ResumeToken),
}

/// The document in the event of an update.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum FullDocument {
    /// No document.
    #[default]
    Default,
    /// The document as it is when the event is read, or null.
    UpdateLookup,
    /// The document after the change, or null if the collection does not keep documents before changes.
    WhenAvailable,
    /// The document after the change; the stream ends with an error if it is not known.
    Required,
}

/// The document before the change in an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum BeforeDocument {
    /// No document.
    #[default]
    Off,
    /// The document, or null if the collection does not keep documents before changes.
    WhenAvailable,
    /// The document; the stream ends with an error if it is not known.
    Required,
}

/// A change stream, not opened yet.
#[derive(Clone)]
pub struct WatchRequest {
    /// The collections.
    pub scope: Scope,
    /// The place at which it begins.
    pub start: Start,
    /// The document in the event of an update.
    pub full_document: FullDocument,
    /// The document before the change.
    pub before: BeforeDocument,
    /// True for more kinds of events and more fields: see [`crate::history::Event`].
    pub expanded: bool,
    /// The stages that events pass.
    pub pipeline: PipelineRequest,
}

/// The times of writes by the clock of a cluster.
pub trait ClusterTimes: Send + Sync {
    /// The time of the batch of writes with this last number.
    fn time(&self, number: Seq) -> Option<Timestamp>;

    /// The lowest number whose time is not before this time, or a higher one than all numbers. `None` if it is not known.
    fn number_at(&self, _time: Timestamp) -> Option<Seq> {
        None
    }
}

/// The events of a scope, in the order of the commits.
pub struct ChangeStream {
    changes: Changes,
    writer: Writer,
    stages: Stages,
    end: End,
    /// Events that have not passed the stages yet.
    waiting: VecDeque<Map>,
    /// Events behind the stages that did not fit into the last batch.
    kept: VecDeque<Map>,
    /// The token of the last event that was returned; at first, the one at which the stream was opened.
    returned: ResumeToken,
    /// The fragment up to which the first event is left out.
    skip: Option<(Seq, u32)>,
}

/// Whether the stream ends.
#[derive(Debug, Clone, PartialEq)]
enum End {
    No,
    /// The stream begins after an event that is not one of it: the next change is an error.
    Elsewhere,
    /// The next event is the invalidation.
    Next(Ending),
    /// The stream has ended.
    Yes(ResumeToken),
}

/// The change after which a stream ends.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Ending {
    number: Seq,
    batch: Seq,
    time_ms: i64,
}

impl From<&Change> for Ending {
    fn from(change: &Change) -> Self {
        Self { number: change.number, batch: change.batch, time_ms: change.time_ms }
    }
}

impl ChangeStream {
    /// Opens a change stream. Begins to record the scope if it is not recorded, and the stream begins now.
    ///
    /// # Errors
    /// [`Error::ChangesNotRecorded`], [`Error::ChangesLost`]; [`Error::Watch`] for a token that is not accepted and a
    /// stage that is not allowed; errors of the stages; as for any write if the recording begins.
    pub fn open(engine: &EngineHandle, request: WatchRequest, times: Option<Arc<dyn ClusterTimes>>) -> Result<Self> {
        let WatchRequest { scope, start, full_document, before, expanded, pipeline } = request;
        let name = match &scope {
            Scope::Collection(name) => name.clone(),
            Scope::Logical(logical) => FullName { logical: logical.clone(), collection: "".into() },
            Scope::Everything => FullName { logical: "admin".into(), collection: "".into() },
        };
        let stop = pipeline.limits.stop.clone();
        let stages = Stages::new(engine, &name, pipeline)?;
        let writer = Writer { engine: engine.clone(), times, full_document, before, expanded };
        let database = engine.store().database_id();
        let at = |number| changes::changes(engine, &scope, Some(ChangeToken { database, number }));
        let (mut end, mut skip) = (End::No, None);
        let (changes, token) = match start {
            Start::Now => {
                let recorded = engine.catalog.recorded_scopes();
                if !recorded.iter().any(|recorded| recorded.scope.includes(&scope)) {
                    engine.catalog.record_changes(scope.clone(), Some(engine.env.clock.unix_millis()))?;
                }
                let changes = at(engine.store().visible())?;
                // The token of the place may be kept.
                changes.make_durable()?;
                (changes, None)
            }
            Start::From(number) => (at(changes::before_batch(engine, number)?)?, None),
            Start::ResumeAfter(token) if token.kind == TokenKind::Invalidate => {
                let message = "resumeAfter does not take the token of an invalidate event: use startAfter";
                return Err(WatchErrorKind::InvalidToken.error(message).into());
            }
            Start::ResumeAfter(token) | Start::StartAfter(token) => {
                let place = ChangeToken { database: token.database, number: token.number };
                let mut changes = changes::changes(engine, &scope, Some(place))?;
                if token.fragment > 0 {
                    if !stages.splits() {
                        let message = "the resume token is that of a fragment: end the pipeline of the change stream \
                                       with $changeStreamSplitLargeEvent";
                        return Err(WatchErrorKind::Fragment.error(message).into());
                    }
                    // The fragments after the token are made of the whole event.
                    changes = at(token.number.saturating_sub(1))?;
                    skip = Some((token.number, token.fragment));
                } else {
                    end = End::after(engine, &scope, token, expanded)?;
                }
                (changes, Some(token))
            }
        };
        let returned = token.unwrap_or_else(|| writer.place(changes.token()));
        let (waiting, kept) = Default::default();
        let changes = changes.stopped_by(stop);
        Ok(Self { changes, writer, stages, end, waiting, kept, returned, skip })
    }

    /// The next events, at most `most`. Returns none if there are no more now, and sometimes if many changes were read that
    /// lead to no event.
    ///
    /// # Errors
    /// [`Error::ChangesLost`], [`Error::ChangesNotRecorded`] if the recording has ended; [`Error::Watch`] if a required
    /// document is not known, a stage has changed the `_id` of an event, or the stream begins after an event that it
    /// does not have; errors of the stages and of reading. The stream has ended then, and another one can be opened
    /// after the last token.
    pub fn next_batch(&mut self, most: usize) -> Result<Vec<Map>> {
        let (mut passed, most) = (0, most.max(1));
        while self.kept.is_empty() && passed < PASSED_MAX {
            if self.waiting.is_empty() {
                let read = self.read(most)?;
                if read == 0 {
                    break;
                }
                passed += read;
            }
            self.kept = self.stages.apply(&mut self.waiting)?;
            self.leave_out_fragments();
        }
        let count = self.kept.len().min(most);
        let events: Vec<Map> = self.kept.drain(..count).collect();
        self.returned = events.last().and_then(token_of).unwrap_or(self.returned);
        Ok(events)
    }

    /// Reads changes, and makes their events. Returns the count of changes.
    fn read(&mut self, most: usize) -> Result<usize> {
        let (mut read, mut bytes) = (0, 0);
        let mut any_lookup = false;
        while read < most && bytes < READ_BYTES {
            if let End::Next(ending) = self.end {
                let token = self.writer.token(ending, TokenKind::Invalidate);
                self.waiting.push_back(self.writer.invalidation(ending, &token));
                self.end = End::Yes(token);
                read += 1;
            }
            if matches!(self.end, End::Yes(_)) {
                break;
            }
            if read > 0 && !self.changes.has_more() {
                // Each further change would have to be made durable first, and those that were read would wait.
                break;
            }
            let Some(change) = self.changes.poll_change()? else { break };
            read += 1;
            if self.end == End::Elsewhere {
                return Err(not_found(self.changes.scope()));
            }
            let ends = invalidates(self.changes.scope(), &change);
            if let Some(event) = self.writer.event(&change, ends, &mut any_lookup)? {
                bytes += bson::document_size(&event);
                self.waiting.push_back(event);
            }
            if ends {
                self.end = End::Next(Ending::from(&change));
            }
        }
        if any_lookup {
            // The documents that were looked up may be newer than the changes.
            self.changes.make_durable()?;
        }
        Ok(read)
    }

    /// Removes the fragments that a resumed stream has returned before.
    fn leave_out_fragments(&mut self) {
        let Some((number, fragment)) = self.skip.take() else { return };
        self.kept
            .retain(|event| token_of(event).is_none_or(|token| token.number != number || token.fragment > fragment));
    }

    /// The token of the place after the events that were returned. A stream that is resumed there continues with the
    /// next one.
    pub fn token(&self) -> ResumeToken {
        if !self.kept.is_empty() || !self.waiting.is_empty() || self.skip.is_some() {
            return self.returned;
        }
        match self.end {
            End::Yes(token) => token,
            // The invalidation has not been returned yet.
            End::Next(ending) => self.writer.token(ending, TokenKind::Ending),
            End::Elsewhere => self.returned,
            End::No => self.writer.place(self.changes.token()),
        }
    }

    /// Moves the token behind the changes that were read and led to no event, which are made durable.
    ///
    /// # Errors
    /// Errors of syncing the log.
    pub fn settle(&mut self) -> Result<()> {
        if self.has_ahead() { Ok(()) } else { self.changes.settle() }
    }

    /// True if the stream has ended, because its collection was dropped or renamed, or its logical database dropped.
    pub fn is_invalidated(&self) -> bool {
        !self.has_ahead() && matches!(self.end, End::Yes(_))
    }

    fn has_ahead(&self) -> bool {
        !self.kept.is_empty() || !self.waiting.is_empty()
    }

    /// True if there may be more events without another change.
    pub fn has_more(&self) -> bool {
        self.has_ahead()
            || match self.end {
                End::No | End::Elsewhere => self.changes.has_more(),
                End::Next(_) => true,
                End::Yes(_) => false,
            }
    }

    /// The memory of what was read ahead, in bytes; an estimate.
    pub fn bytes_ahead(&self) -> usize {
        let ahead: usize = self.kept.iter().chain(&self.waiting).map(event_bytes).sum();
        ahead + self.changes.bytes_ahead()
    }

    /// The collections.
    pub fn scope(&self) -> &Scope {
        self.changes.scope()
    }

    /// Calls `wake` when there may be more changes, and at once if there are.
    pub fn on_change(&self, wake: impl Fn() + Send + Sync + 'static) -> AppendWatch {
        if self.has_ahead() || matches!(self.end, End::Next(_)) {
            wake();
        }
        self.changes.on_change(wake)
    }

    /// Waits until there may be more changes, for up to `time`. Returns false if the time has passed.
    pub fn wait(&self, time: Duration) -> bool {
        self.changes.wait(time)
    }
}

/// The error for the token of an event that a stream over the scope does not have.
fn not_found(scope: &Scope) -> crate::error::Error {
    let message = format!(
        "cannot resume the change stream over {scope}: the resume token is that of an event which this stream does not \
         have: use a token of a stream over the same collections, with the same showExpandedEvents"
    );
    WatchErrorKind::OtherEvent.error(message).into()
}

impl End {
    /// Whether a stream that begins after a token begins with its end.
    fn after(engine: &EngineHandle, scope: &Scope, token: ResumeToken, expanded: bool) -> Result<Self> {
        if !matches!(token.kind, TokenKind::Event | TokenKind::Ending) {
            return Ok(Self::No);
        }
        // The change may have been removed since: then the time of the token has to suffice.
        Ok(match changes::change_at(engine, token.number)? {
            Some(change) if !changes::is_of(&change, scope) || change.is_expanded() && !expanded => Self::Elsewhere,
            Some(change) if invalidates(scope, &change) => Self::Next(Ending::from(&change)),
            None if token.kind == TokenKind::Ending => Self::Next(Ending {
                number: token.number,
                batch: token.number,
                time_ms: i64::from(token.time.time) * 1000,
            }),
            _ => Self::No,
        })
    }
}

/// The memory of an event, which is a multiple of its bytes of BSON; an estimate.
pub fn event_bytes(event: &Map) -> usize {
    3 * bson::document_size(event)
}

/// True if a stream over the scope ends with the change.
fn invalidates(scope: &Scope, change: &Change) -> bool {
    use crate::history::Event;
    match (scope, &change.event) {
        _ if change.is_of_view() => false,
        (Scope::Collection(name), Event::Drop) => *name == change.name,
        (Scope::Collection(name), Event::Rename { to }) => *name == change.name || name == to,
        (Scope::Logical(logical), Event::DropDatabase) => *logical == change.name.logical,
        _ => false,
    }
}

/// The `_id` of an event.
fn id_of(event: &Map) -> Option<&Value> {
    event.get(crate::ids::ID)
}

/// The token of an event.
pub fn token_of(event: &Map) -> Option<ResumeToken> {
    ResumeToken::parse(id_of(event)?.as_map()?).ok()
}
