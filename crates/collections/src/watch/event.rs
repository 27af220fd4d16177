//! Change events in the form of MongoDB.

use super::token::{ResumeToken, TokenKind};
use super::{BeforeDocument, ClusterTimes, Ending, FullDocument};
use crate::changes::ChangeToken;
use crate::engine::EngineHandle;
use crate::error::Result;
use crate::history::{Change, Event};
use crate::ids::{ID, collection_uuid};
use crate::names::FullName;
use crate::read::Reader;
use crate::watch_error::WatchErrorKind;
use alluvium_document::{Map, Timestamp, Value};
use alluvium_store::Seq;
use std::sync::Arc;

/// The time of a token without the clock of a cluster.
const NO_TIME: Timestamp = Timestamp { time: 0, increment: 0 };

/// Makes the events of changes.
pub(super) struct Writer {
    pub engine: EngineHandle,
    pub times: Option<Arc<dyn ClusterTimes>>,
    pub full_document: FullDocument,
    pub before: BeforeDocument,
    pub expanded: bool,
}

impl Writer {
    fn time(&self, number: Seq) -> Option<Timestamp> {
        self.times.as_ref()?.time(number)
    }

    /// The token of a change.
    pub fn token(&self, change: Ending, kind: TokenKind) -> ResumeToken {
        let time = self.time(change.batch).unwrap_or(NO_TIME);
        let database = self.engine.store().database_id();
        ResumeToken { time, number: change.number, kind, fragment: 0, database }
    }

    /// The token of a place.
    pub fn place(&self, place: ChangeToken) -> ResumeToken {
        let ChangeToken { database, number } = place;
        let time = self.time(number).unwrap_or(NO_TIME);
        ResumeToken { time, number, kind: TokenKind::HighWater, fragment: 0, database }
    }

    /// The event that ends a stream after a change.
    pub fn invalidation(&self, change: Ending, token: &ResumeToken) -> Map {
        self.head("invalidate", change, None, token)
    }

    fn head(&self, operation: &'static str, change: Ending, collection: Option<u64>, token: &ResumeToken) -> Map {
        let mut event = Map::from([(ID, Value::Map(token.to_map())), ("operationType", Value::from(operation))]);
        if let Some(time) = self.time(change.batch) {
            event.push("clusterTime", Value::Timestamp(time));
        }
        if let Some(collection) = collection.filter(|collection| self.expanded && *collection != 0) {
            event.push("collectionUUID", collection_uuid(collection));
        }
        event.push("wallTime", Value::DateTime(change.time_ms));
        event
    }

    /// The event of a change; `None` if the stream does not return its kind. `ends` is true if the stream ends after it;
    /// `looks_up` is set if a document of now was read.
    ///
    /// # Errors
    /// [`WatchErrorKind::NoDocument`]; errors of reading the document.
    pub fn event(&self, change: &Change, ends: bool, looks_up: &mut bool) -> Result<Option<Map>> {
        if change.is_expanded() && !self.expanded {
            return Ok(None);
        }
        let operation = match &change.event {
            Event::Insert { .. } => "insert",
            Event::Update { .. } => "update",
            Event::Replace { .. } => "replace",
            Event::Delete { .. } => "delete",
            Event::Drop => "drop",
            Event::Rename { .. } => "rename",
            Event::DropDatabase => "dropDatabase",
            Event::Create { .. } => "create",
            Event::CreateIndexes { .. } => "createIndexes",
            Event::DropIndexes { .. } => "dropIndexes",
            Event::Modify { .. } => "modify",
        };
        let kind = if ends { TokenKind::Ending } else { TokenKind::Event };
        let token = self.token(Ending::from(change), kind);
        let mut event = self.head(operation, Ending::from(change), Some(change.collection), &token);
        if let Some(fields) = &change.transaction {
            event.entries.extend(fields.entries.iter().cloned());
        }
        let ns = namespace(&change.name);
        match &change.event {
            Event::Insert { document } | Event::Replace { document } => {
                event.push("fullDocument", document.clone());
                event.push("ns", ns);
            }
            Event::Update { id, .. } => {
                if let Some(document) = self.updated(change, id, looks_up)? {
                    event.push("fullDocument", document);
                }
                event.push("ns", ns);
            }
            Event::Rename { to } => {
                event.push("ns", ns);
                event.push("to", namespace(to));
                if self.expanded {
                    let mut description = Map::from([("to", namespace(to))]);
                    description.entries.extend(change.before.iter().flat_map(|dropped| dropped.entries.clone()));
                    event.push("operationDescription", description);
                }
            }
            _ => event.push("ns", ns),
        }
        match &change.event {
            Event::Create { description } => {
                event.push("nsType", if change.is_of_view() { "view" } else { "collection" });
                event.push("operationDescription", description.clone());
            }
            Event::CreateIndexes { description }
            | Event::DropIndexes { description }
            | Event::Modify { description } => event.push("operationDescription", description.clone()),
            _ => {}
        }
        if let Some(id) = change.event.id() {
            event.push("documentKey", Map::from([(ID, id.clone())]));
        }
        if let Event::Update { difference, .. } = &change.event {
            event.push("updateDescription", difference.description(self.expanded));
        }
        if let Some(before) = self.before(change)? {
            event.push("fullDocumentBeforeChange", before);
        }
        Ok(Some(event))
    }

    /// The document in the event of an update.
    fn updated(&self, change: &Change, id: &Value, looks_up: &mut bool) -> Result<Option<Value>> {
        let is_required = match self.full_document {
            FullDocument::Default => return Ok(None),
            FullDocument::UpdateLookup => {
                *looks_up = true;
                return self.looked_up(change, id).map(Some);
            }
            FullDocument::WhenAvailable => false,
            FullDocument::Required => true,
        };
        let after = change.before.clone().and_then(|mut document| match &change.event {
            Event::Update { difference, .. } => difference.apply(&mut document).ok().map(|()| document),
            _ => None,
        });
        match after {
            Some(after) => Ok(Some(Value::Map(after))),
            None if is_required => Err(missing(change, "after")),
            None => Ok(Some(Value::Null)),
        }
    }

    /// The document as it is now, or null.
    fn looked_up(&self, change: &Change, id: &Value) -> Result<Value> {
        let Some(state) = self.engine.catalog.find(&change.name)? else { return Ok(Value::Null) };
        if u64::from(state.documents.0) != change.collection {
            return Ok(Value::Null);
        }
        let reader = Reader::of_write(self.engine.store(), state, &change.name, None);
        match reader.get(id)? {
            Some(document) => Ok(Value::Map(document.to_map().map_err(crate::error::Error::from)?)),
            None => Ok(Value::Null),
        }
    }

    /// The document before the change, for kinds of changes that have one.
    fn before(&self, change: &Change) -> Result<Option<Value>> {
        if !matches!(change.event, Event::Update { .. } | Event::Replace { .. } | Event::Delete { .. }) {
            return Ok(None);
        }
        match (self.before, &change.before) {
            (BeforeDocument::Off, _) => Ok(None),
            (_, Some(before)) => Ok(Some(Value::Map(before.clone()))),
            (BeforeDocument::WhenAvailable, None) => Ok(Some(Value::Null)),
            (BeforeDocument::Required, None) => Err(missing(change, "before")),
        }
    }
}

/// The error for a document that the stream requires.
fn missing(change: &Change, when: &str) -> crate::error::Error {
    let (name, id) = (&change.name, change.event.id().map(crate::error::id_text).unwrap_or_default());
    let message = format!(
        "the change stream requires the document {when} the change of {id} in {name}, which was not kept: switch on \
         changeStreamPreAndPostImages for {name}, and begin the stream after that"
    );
    WatchErrorKind::NoDocument.error(message).into()
}

/// The names in an event. A logical database alone has no collection.
fn namespace(name: &FullName) -> Value {
    let mut ns = Map::from([("db", Value::from(name.logical.as_str()))]);
    if !name.collection.is_empty() {
        ns.push("coll", Value::from(name.collection.as_str()));
    }
    Value::Map(ns)
}
