//! Batches of documents in replies.

use crate::call::Call;
use crate::cursors::{Documents, OpenCursor, TailCursor};
use crate::error::CommandResult;
use alluvium::{Cursor, Document, Tail, Value};
use alluvium_document::BsonBuilder;
use std::sync::Arc;

/// The documents of a first batch, if the client does not say.
pub(crate) const FIRST_BATCH: u64 = 101;
/// A batch ends before it has more bytes than this, unless it would be empty.
const BATCH_BYTES_MAX: usize = 16 << 20;
/// A reply with fewer bytes than this has room for any document of a row of fewer bytes.
const ROOM_BYTES: usize = 1 << 20;

/// Adds documents to the open array of a reply until it is full, and to their `count`. Returns true if there may be
/// more.
///
/// # Errors
/// Errors of the query, and of documents that are no BSON.
pub(crate) fn fill(
    builder: &mut BsonBuilder,
    documents: &mut Documents,
    count_max: u64,
    count: &mut u64,
) -> CommandResult<bool> {
    let start = builder.len();
    while *count < count_max {
        let Some(document) = documents.next()? else { return Ok(false) };
        let may_be_large = builder.len() - start > ROOM_BYTES || document.row_len() > ROOM_BYTES / 32;
        if *count > 0 && may_be_large {
            let size = document.bson_size().map_err(alluvium::Error::from)?;
            if builder.len() - start + size > BATCH_BYTES_MAX {
                documents.give_back(document);
                return Ok(true);
            }
        }
        builder.push(&document)?;
        *count += 1;
    }
    Ok(true)
}

/// What the cursor of a reply reads, and how much of it at once.
pub(crate) struct FirstBatch {
    /// The documents.
    pub documents: Documents,
    /// `database.collection`, as the client has to repeat it.
    pub namespace: String,
    /// The most documents of the batch.
    pub size: u64,
    /// The most documents of all batches, which the query limits itself.
    pub limit: Option<u64>,
    /// The cursor is closed after the batch.
    pub single: bool,
    /// The cursor stays open however long it is not read.
    pub never_expires: bool,
    /// The documents are the results of the user's own writes: no right is needed to read them.
    pub is_own: bool,
}

impl FirstBatch {
    /// The batch of a query or a pipeline.
    pub(crate) fn of(cursor: Cursor, namespace: String) -> Self {
        let documents = Documents::Query(Box::new(cursor), None);
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

    /// The batch of a tailable cursor.
    pub(crate) fn of_tail(tail: Tail, awaits: bool, namespace: String) -> Self {
        let documents = Documents::Tail(Box::new(TailCursor { tail, kept: None, awaits, waiting: None }));
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

    /// The batch of documents that were made at once.
    pub(crate) fn of_list(list: Vec<Document>, namespace: String) -> Self {
        let documents = Documents::of(list);
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

    /// A reply with the batch. The cursor stays open if there may be more documents.
    ///
    /// # Errors
    /// As [`fill`]; if there are too many cursors.
    pub(crate) fn reply(mut self, call: &Call<'_>) -> CommandResult<BsonBuilder> {
        let mut builder = call.reply();
        builder.open_document("cursor")?;
        builder.open_array("firstBatch")?;
        let more = fill(&mut builder, &mut self.documents, self.size, &mut 0)? || self.documents.stays_open();
        self.documents.pause();
        builder.close()?;
        if let Documents::Query(cursor, _) = &self.documents {
            call.note_plan(cursor);
        }
        let done = self.limit.is_some_and(|limit| limit <= self.size);
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
            documents: self.documents,
            namespace: self.namespace,
            user: call.client.user(),
            needs,
            session: call.session.clone(),
            is_limited: !call.max_time().is_zero(),
            stop: Arc::clone(&call.stop),
            never_expires: self.never_expires,
        })
    }
}
