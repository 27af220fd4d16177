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
}

/// The events of a scope, in the order of the commits.
pub struct ChangeStream {
    changes: Changes,
    writer: Writer,
    stages: Stages,
    /// The last change that was read, if an event has its token.
    last: Option<Change>,
    /// The token of the invalidation that follows, and whether the stream begins with it.
    invalidated: Invalidated,
    /// Events behind the stages that did not fit into the last batch.
    kept: VecDeque<Map>,
    /// The token of the last event that was returned.
    returned: Option<ResumeToken>,
    /// The fragment up to which the first event is left out.
    skip: Option<(Seq, u32)>,
}

/// Whether the collections of a stream still exist.
#[derive(Debug, Clone, PartialEq)]
enum Invalidated {
    No,
    /// The next event is the invalidation by this change.
    Next(Box<Change>),
    /// The stream has ended.
    Yes(ResumeToken),
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
        let stages = Stages::new(engine, &name, pipeline)?;
        let database = engine.store().database_id();
        let (mut invalidated, mut skip) = (Invalidated::No, None);
        let changes = match start {
            Start::Now => {
                let recorded = engine.catalog.recorded_scopes();
                if !recorded.iter().any(|recorded| recorded.scope.includes(&scope)) {
                    engine.catalog.record_changes(scope.clone(), Some(engine.env.clock.unix_millis()))?;
                }
                let number = engine.store().visible();
                let changes = changes::changes(engine, &scope, Some(ChangeToken { database, number }))?;
                // The token of the place may be kept.
                changes.make_durable()?;
                changes
            }
            Start::From(number) => {
                let number = changes::before_batch(engine, number)?;
                changes::changes(engine, &scope, Some(ChangeToken { database, number }))?
            }
            Start::ResumeAfter(token) if token.kind == TokenKind::Invalidate => {
                let message = "resumeAfter does not take the token of an invalidate event: use startAfter";
                return Err(WatchErrorKind::InvalidToken.error(message).into());
            }
            Start::ResumeAfter(token) | Start::StartAfter(token) => {
                let changes = changes::changes(
                    engine,
                    &scope,
                    Some(ChangeToken { database: token.database, number: token.number }),
                )?;
                if token.kind == TokenKind::Event
                    && let Some(change) = changes::change_at(engine, token.number)?
                {
                    if token.fragment > 0 {
                        skip = Some((token.number, token.fragment));
                    } else if invalidates(&scope, &change) {
                        invalidated = Invalidated::Next(Box::new(change));
                    }
                }
                match skip {
                    // The fragments after the token are made of the whole event.
                    Some(_) => {
                        let number = token.number.saturating_sub(1);
                        changes::changes(engine, &scope, Some(ChangeToken { database, number }))?
                    }
                    None => changes,
                }
            }
        };
        let writer = Writer { engine: engine.clone(), times, full_document, before, expanded };
        let (last, returned, kept) = (None, None, VecDeque::new());
        Ok(Self { changes, writer, stages, last, invalidated, kept, returned, skip })
    }

    /// The next events, at most `most`. Returns none if there are no more now, and sometimes if many changes were read that
    /// lead to no event.
    ///
    /// # Errors
    /// [`Error::ChangesLost`], [`Error::ChangesNotRecorded`] if the recording has ended; [`Error::Watch`] if a required
    /// document is not known, or a stage has changed the `_id` of an event; errors of the stages and of reading. The
    /// stream has ended then, and another one can be opened after the last token.
    pub fn next_batch(&mut self, most: usize) -> Result<Vec<Map>> {
        let (mut passed, most) = (0, most.max(1));
        while self.kept.is_empty() && passed < PASSED_MAX {
            let (events, read) = self.read(most)?;
            if read == 0 {
                break;
            }
            passed += read;
            self.kept = self.stages.apply(events)?;
            self.leave_out_fragments();
        }
        let count = self.kept.len().min(most);
        let events: Vec<Map> = self.kept.drain(..count).collect();
        self.returned = events.last().and_then(token_of).or(self.returned);
        Ok(events)
    }

    /// Reads changes, and makes their events. Returns them with the count of changes.
    fn read(&mut self, most: usize) -> Result<(Vec<Map>, usize)> {
        let (mut events, mut read, mut bytes) = (Vec::new(), 0, 0);
        let mut any_lookup = false;
        while read < most && bytes < READ_BYTES {
            if let Invalidated::Next(change) = &self.invalidated {
                let token = self.writer.token(change, TokenKind::Invalidate);
                events.push(self.writer.invalidation(change, &token));
                self.last = None;
                self.invalidated = Invalidated::Yes(token);
                read += 1;
            }
            if matches!(self.invalidated, Invalidated::Yes(_)) {
                break;
            }
            let Some(change) = self.changes.next_change()? else { break };
            read += 1;
            if let Some(event) = self.writer.event(&change, &mut any_lookup)? {
                bytes += bson::document_size(&event);
                events.push(event);
            }
            if invalidates(self.changes.scope(), &change) {
                self.invalidated = Invalidated::Next(Box::new(change.clone()));
            }
            self.last = Some(change);
        }
        if any_lookup {
            // The documents that were looked up may be newer than the changes.
            self.changes.make_durable()?;
        }
        Ok((events, read))
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
        if let Some(returned) = self.returned.filter(|_| !self.kept.is_empty()) {
            return returned;
        }
        if let Invalidated::Yes(token) = &self.invalidated {
            return *token;
        }
        match (&self.last, &self.invalidated) {
            // The invalidation has not been returned yet.
            (Some(change), Invalidated::Next(_)) => self.writer.token(change, TokenKind::Event),
            _ => self.writer.place(self.changes.token()),
        }
    }

    /// True if the stream has ended, because its collection was dropped or renamed, or its logical database dropped.
    pub fn is_invalidated(&self) -> bool {
        self.kept.is_empty() && matches!(self.invalidated, Invalidated::Yes(_))
    }

    /// True if [`ChangeStream::next_batch`] returns events without reading.
    pub fn has_kept(&self) -> bool {
        !self.kept.is_empty()
    }

    /// The collections.
    pub fn scope(&self) -> &Scope {
        self.changes.scope()
    }

    /// Calls `wake` when there may be more changes, and at once if there are.
    pub fn on_change(&self, wake: impl Fn() + Send + Sync + 'static) -> AppendWatch {
        self.changes.on_change(wake)
    }

    /// Waits until there may be more changes, for up to `time`. Returns false if the time has passed.
    pub fn wait(&self, time: Duration) -> bool {
        self.changes.wait(time)
    }
}

/// True if a stream over the scope ends with the change.
fn invalidates(scope: &Scope, change: &Change) -> bool {
    use crate::history::Event;
    match (scope, &change.event) {
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
