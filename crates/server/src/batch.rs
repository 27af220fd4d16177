//! Batches of documents in replies.

use crate::call::Call;
use crate::cursors::{ChangeCursor, Documents, Followed, OpenCursor, TailCursor};
use crate::error::{CommandError, CommandResult};
use crate::fields::{self, Field, Fields, Kind, optional};
use crate::memory::Until;
use alluvium::{ChangeStream, Cursor, Document, DocumentError, Value};
use alluvium_document::BsonBuilder;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// The number of documents of a first batch if the client sets none.
pub(crate) const FIRST_BATCH: u64 = 101;
/// The most bytes of a batch. The first document of a batch may exceed the limit.
const BATCH_BYTES_MAX: usize = 16 << 20;
/// While a reply has fewer bytes than this, any document of a row with fewer bytes fits into it.
const ROOM_BYTES: usize = 1 << 20;

/// The bytes of a batch that are not charged.
const FREE_BYTES: usize = 64 << 10;
/// The step by which the charge of a batch grows.
const CHARGED_BYTES: usize = 1 << 20;
/// The most time that a batch which may not be split waits for memory.
const MEMORY_WAIT: Duration = Duration::from_secs(60);

/// The fields of `cursor`.
const CURSOR: &[Field] = &[optional("batchSize", Kind::Number)];

/// Returns the most documents of the first batch, for a command that makes all its documents at once; `None` if the
/// client sets no size.
///
/// # Errors
/// Error 14 for a size of another type, 40415 for an unknown field of `cursor`, 2 for a negative size.
pub(crate) fn first_size(command: &str, body: &impl Fields) -> CommandResult<Option<u64>> {
    let Some(cursor) = body.document("cursor") else { return Ok(None) };
    let owner = format!("{command}.cursor");
    fields::check(&owner, CURSOR, cursor)?;
    fields::refuse_unknown(&owner, CURSOR, cursor.entries.iter().map(|(name, _)| name))?;
    cursor.count("batchSize")
}

/// The reason why a batch ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Filled {
    /// There are no more documents.
    All,
    /// The batch has its maximum number of documents.
    Count,
    /// The batch has its maximum number of bytes, or there is no memory for a further document.
    Bytes,
}

/// Adds documents to the open array of a reply until it is full, and to their `count`. If memory is short, a batch ends
/// earlier; a batch that has to be `whole` waits for memory.
///
/// # Errors
/// Errors of the query; an error for a document that cannot be encoded as BSON; error 462 if there is no memory for a
/// document.
pub(crate) fn fill(
    call: &Call<'_>,
    builder: &mut BsonBuilder,
    documents: &mut Documents,
    count_max: u64,
    is_whole: bool,
    count: &mut u64,
) -> CommandResult<Filled> {
    let start = builder.len();
    let mut charged = FREE_BYTES;
    while *count < count_max {
        let Some(document) = documents.next()? else { return Ok(Filled::All) };
        let used = builder.len() - start;
        let may_be_large = used > ROOM_BYTES || document.row_len() > ROOM_BYTES / 32;
        let size = match may_be_large {
            true => document.bson_size().map_err(alluvium::Error::from)?,
            false => document.row_len(),
        };
        let is_full = *count > 0 && may_be_large && used + size > BATCH_BYTES_MAX;
        if is_full || used + size > charged && !charge(call, &mut charged, used + size, is_whole || *count == 0)? {
            documents.give_back(document);
            return Ok(Filled::Bytes);
        }
        if let Err(error) = builder.push(&document) {
            if *count > 0 && !is_whole && matches!(error, DocumentError::Bson(_)) {
                // This batch ends before the document. The next batch begins with the document, and fails.
                documents.give_back(document);
                return Ok(Filled::Bytes);
            }
            return Err(unsendable(call, &document, error));
        }
        *count += 1;
    }
    Ok(Filled::Count)
}

/// Adds the token after which a change stream continues behind its batch to the open cursor of a reply.
///
/// # Errors
/// Errors of encoding.
pub(crate) fn put_token(builder: &mut BsonBuilder, documents: &Documents) -> CommandResult<()> {
    if let Some(token) = documents.token() {
        builder.put("postBatchResumeToken", &Value::Map(token.to_map()))?;
    }
    Ok(())
}

/// The error for a stored document with a value that BSON cannot hold.
fn unsendable(call: &Call<'_>, document: &Document, error: DocumentError) -> CommandError {
    let DocumentError::Bson(error) = error else { return error.into() };
    let namespace = match call.body.text("collection") {
        // The first field of `getMore` is the number of the cursor.
        Some(collection) if call.argument().is_number() => format!("{}.{collection}", call.db),
        _ => call.namespace().unwrap_or_else(|_| call.db.clone()),
    };
    alluvium::Error::not_bson(&namespace, document, &error).into()
}

/// Charges the memory of a batch that grows. Returns false if there is not enough memory; with `waits`, the function
/// waits and then fails.
fn charge(call: &Call<'_>, charged: &mut usize, needed: usize, waits: bool) -> CommandResult<bool> {
    let more = (needed - *charged).max(CHARGED_BYTES);
    let (memory, (principal, _)) = (&call.shared.memory, call.client.peer.principal());
    let charge = match memory.try_charge(&principal, more) {
        None if waits => {
            let more = needed - *charged;
            let charge = memory.charge_on_thread(&principal, more, Until::Sent, MEMORY_WAIT, &call.stop);
            Some(charge.ok_or_else(|| CommandError::no_memory(more, memory))?)
        }
        charge => charge,
    };
    let Some(charge) = charge else { return Ok(false) };
    *charged += charge.bytes();
    call.client.charge_reply(charge);
    Ok(true)
}

/// Charges the memory of a reply that is not a batch, and of the values that the reply is built from.
///
/// # Errors
/// Error 462 if there is no memory for it.
pub(crate) fn charge_whole(call: &Call<'_>, bytes: usize) -> CommandResult<()> {
    let mut charged = FREE_BYTES;
    if bytes > charged {
        charge(call, &mut charged, bytes, true)?;
    }
    Ok(())
}

/// Charges the memory of the reply to a write that is done already, and of the values that the reply is built from.
/// Waits until the memory is available, even if the command is killed.
///
/// # Errors
/// An error if the client has disconnected, which also ends the wait.
pub(crate) fn charge_made(call: &Call<'_>, bytes: usize) -> CommandResult<()> {
    if bytes <= FREE_BYTES {
        return Ok(());
    }
    let (principal, _) = call.client.peer.principal();
    let is_gone = || call.client.running.is_gone();
    // When the server stops, connections give up, so that no other request waits for the memory that they hold.
    let is_over = || is_gone() || call.shared.stopping.load(Ordering::Relaxed);
    let charge = call.shared.memory.charge_made(&principal, bytes - FREE_BYTES, is_over);
    if is_gone() {
        return Err(CommandError::new(11601, "Interrupted", "the client is gone"));
    }
    call.client.charge_reply(charge);
    Ok(())
}

/// The documents that the cursor of a reply reads, and the limits of its first batch.
pub(crate) struct FirstBatch {
    /// The documents.
    pub documents: Documents,
    /// `database.collection`, which the client repeats in `getMore`.
    pub namespace: String,
    /// The most documents of the batch.
    pub size: u64,
    /// The most documents of all batches; the query enforces this limit itself.
    pub limit: Option<u64>,
    /// True if the cursor is closed after the batch.
    pub single: bool,
    /// True if the cursor has no timeout.
    pub never_expires: bool,
    /// True if the documents are results of the user's own writes, which need no right to be read.
    pub is_own: bool,
}

/// The identity of the collection that a cursor reads; `None` at a snapshot and in a transaction, which keep their collections, and for
/// a view, which has no identity.
fn identity(call: &Call<'_>, documents: &Documents, namespace: &str) -> Option<u64> {
    if call.snapshot.is_some()
        || call.transaction.is_some()
        || !matches!(documents, Documents::Query(..) | Documents::WithRecordIds(..))
    {
        return None;
    }
    call.shared.db.collection(namespace).identity().ok().flatten()
}

impl FirstBatch {
    /// The first batch of a query or a pipeline.
    pub(crate) fn of(cursor: Cursor, namespace: String) -> Self {
        Self::reading(Documents::Query(Box::new(cursor), None), namespace)
    }

    /// The first batch of a tailable cursor.
    pub(crate) fn of_tail(tail: Followed, awaits: bool, namespace: String) -> Self {
        let cursor = TailCursor { tail, kept: None, awaits, waiting: None };
        Self::reading(Documents::Tail(Box::new(cursor)), namespace)
    }

    /// The first batch of a change stream.
    pub(crate) fn of_changes(stream: ChangeStream, namespace: String) -> Self {
        Self::reading(Documents::Changes(Box::new(ChangeCursor::new(stream))), namespace)
    }

    /// The first batch of documents that are all in memory.
    pub(crate) fn of_list(list: Vec<Document>, namespace: String) -> Self {
        Self::reading(Documents::of(list), namespace)
    }

    fn reading(documents: Documents, namespace: String) -> Self {
        Self {
            documents,
            namespace,
            size: FIRST_BATCH,
            limit: None,
            single: false,
            never_expires: false,
            is_own: false,
        }
    }

    /// Returns a reply with the batch. The cursor stays open if there may be more documents.
    ///
    /// # Errors
    /// The errors of [`fill`]; an error if there are too many cursors.
    pub(crate) fn reply(mut self, call: &Call<'_>) -> CommandResult<BsonBuilder> {
        let mut builder = call.reply();
        builder.open_document("cursor")?;
        builder.open_array("firstBatch")?;
        let mut count = 0;
        let filled = fill(call, &mut builder, &mut self.documents, self.size, self.single, &mut count)?;
        call.note_count("nreturned", count);
        let more = self.documents.continues(filled != Filled::All);
        self.documents.pause();
        self.documents.settle(count)?;
        builder.close()?;
        put_token(&mut builder, &self.documents)?;
        if let Documents::Query(cursor, _) = &self.documents {
            call.note_plan(cursor);
        }
        // A batch that ended because of its bytes is not the last one.
        let done = filled != Filled::Bytes && self.limit.is_some_and(|limit| limit <= self.size);
        let namespace = Value::from(self.namespace.as_str());
        let id = if more && !self.single && !done { self.keep(call)? } else { 0 };
        builder.put("id", &Value::Int64(id))?;
        builder.put("ns", &namespace)?;
        if let Some(at) = &call.snapshot {
            builder.put("atClusterTime", &Value::Timestamp(at.time))?;
        }
        builder.close()?;
        Ok(builder)
    }

    fn keep(self, call: &Call<'_>) -> CommandResult<i64> {
        let needs = if self.is_own { Vec::new() } else { call.needs()? };
        call.shared.cursors.keep(OpenCursor {
            identity: identity(call, &self.documents, &self.namespace),
            documents: self.documents,
            namespace: self.namespace,
            user: call.client.user(),
            fields_bytes: call.body.memory(),
            needs,
            session: call.session.clone(),
            transaction: call.transaction.as_ref().map(|joined| joined.number),
            is_limited: !call.max_time().is_zero(),
            stop: Arc::clone(&call.stop),
            never_expires: self.never_expires,
        })
    }
}
