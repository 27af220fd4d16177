//! `getMore`: the next documents of a cursor.

use super::{Command, Levels};
use crate::batch::{Filled, fill, put_token};
use crate::call::Call;
use crate::client::Client;
use crate::cursors::{Documents, OpenCursor, Wake};
use crate::error::{CommandError, CommandResult};
use crate::fields::{Fields, Kind, optional, required};
use crate::figures::Figures;
use crate::latencies::Use;
use crate::security::access::Access;
use crate::shared::Shared;
use crate::waits::{Event, Wait};
use alluvium::{Map, Value};
use alluvium_document::BsonBuilder;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Notify;

/// The time that a `getMore` of an `awaitData` cursor waits if the client sets no time.
const AWAIT: Duration = Duration::from_secs(1);

pub(super) const COMMAND: Command = Command {
    fields: &[
        required("getMore", Kind::Int64),
        required("collection", Kind::Text),
        optional("batchSize", Kind::Number),
        optional("term", Kind::Int64),
        optional("lastKnownCommittedOpTime", Kind::Document),
    ],
    access: Access::Login,
    levels: Levels::OfCursor,
    namespace,
    abandon,
    ..Command::reading("getMore", run).counted(Use::GetMore, "getmore").stable().strict().in_transactions()
};

/// The namespace from the field `collection`, because the first field is the number of the cursor.
fn namespace(db: &str, body: &Map) -> String {
    body.text("collection").map_or_else(|| db.to_owned(), |collection| format!("{db}.{collection}"))
}

/// Closes the cursor.
fn abandon(shared: &Shared, client: &Client, body: &Map) {
    if let Some(id) = body.integer("getMore") {
        shared.cursors.kill(id, client.user().as_deref());
    }
}

fn run(call: &mut Call<'_>) -> CommandResult<BsonBuilder> {
    let resumed = call.client.waits.take_resumed();
    if resumed.is_none() {
        Figures::add(&call.shared.figures.get_mores, 1);
    }
    let id = call.body.integer("getMore").unwrap_or(0);
    let namespace = format!("{}.{}", call.db, call.body.text("collection").unwrap_or_default());
    let size = match call.body.count("batchSize")? {
        Some(0) | None => u64::MAX,
        Some(size) => size,
    };
    let cursors = &call.shared.cursors;
    let mut cursor = take(call, id, &namespace, resumed.is_some())?;
    let awaits = cursor.documents.awaits();
    if !awaits && call.body.integer("maxTimeMS").is_some() {
        cursors.give_back(id, cursor);
        let message = "cannot set maxTimeMS on getMore command for a non-awaitData cursor";
        return Err(CommandError::bad_value(message));
    }
    let until = awaits.then(|| resumed.unwrap_or_else(|| call.began + wait(call)));
    call.client.running.begin_reading(Arc::clone(&cursor.stop));
    call.shared.operations.stop_by(call.operation, Arc::clone(&cursor.stop));
    let before = cursor.documents.examined();
    let mut builder = call.reply();
    let (filled, count) = match call.shared.fail_points.on_get_more() {
        Some(error) => (Err(error), 0),
        None if cursor.is_limited && call.shared.fail_points.on_time_limit() => (Err(CommandError::time_limit()), 0),
        None => read(call, &mut builder, &mut cursor.documents, size),
    };
    if let (Ok(true), 0, Some(until)) = (&filled, count, until.filter(|until| *until > call.shared.env.clock.now())) {
        begin_wait(call, &mut cursor.documents, until);
        cursors.give_back(id, cursor);
        return Ok(builder);
    }
    if let Documents::Query(query, _) = &cursor.documents {
        call.note_plan(query);
    }
    call.note_count("nreturned", count);
    // As in MongoDB, an operation shows the counts of its own batch. The plan shows the counts of the whole cursor.
    if let (Some((keys_before, documents_before)), Some((keys, documents))) = (before, cursor.documents.examined()) {
        call.note_count("keysExamined", keys.saturating_sub(keys_before));
        call.note_count("docsExamined", documents.saturating_sub(documents_before));
    }
    let settled = filled.and_then(|more| Ok(cursor.documents.settle(count).map(|()| more)?));
    let more = match settled {
        Ok(more) => more,
        Err(error) => {
            cursors.close(id);
            return Err(CommandError { is_of_stream: cursor.documents.are_changes(), ..error });
        }
    };
    put_token(&mut builder, &cursor.documents)?;
    match more {
        true => {
            cursors.give_back(id, cursor);
            call.has_more.set(call.exhaust_allowed);
        }
        false => cursors.close(id),
    }
    builder.put("id", &Value::Int64(if more { id } else { 0 }))?;
    builder.put("ns", &Value::from(namespace))?;
    builder.close()?;
    Ok(builder)
}

/// Takes the cursor out of the list. Fails unless the client may read it and its collection still exists.
fn take(call: &Call<'_>, id: i64, namespace: &str, has_waited: bool) -> CommandResult<Box<OpenCursor>> {
    let cursors = &call.shared.cursors;
    let user = call.client.user();
    let cursor = cursors.take(id, namespace, user.as_deref()).map_err(|error| match has_waited {
        true if error.name == "CursorNotFound" => {
            CommandError::new(237, "CursorKilled", format!("cursor id {id} was closed while getMore waited"))
        }
        _ => error,
    })?;
    let checked = check_session(call, &cursor, id).and_then(|()| check_transaction(call, &cursor, id));
    if let Err(error) = checked {
        cursors.give_back(id, cursor);
        return Err(error);
    }
    let allowed = call.shared.security.check_cursor(&call.client.peer, &cursor.needs, namespace);
    if let Err(error) = allowed.and_then(|()| check_collection(call, &cursor, namespace)) {
        cursors.close(id);
        return Err(error);
    }
    Ok(cursor)
}

/// Checks that a cursor is read in the session in which it was opened.
///
/// # Errors
/// MongoDB's errors 50736, 50737 and 50738.
fn check_session(call: &Call<'_>, cursor: &OpenCursor, id: i64) -> CommandResult<()> {
    let (code, name, message) = match (&cursor.session, &call.session) {
        (opened, used) if opened == used => return Ok(()),
        (None, Some(used)) => {
            (50_736, "Location50736", format!("which was not created in a session, in session {used}"))
        }
        (Some(opened), None) => {
            (50_737, "Location50737", format!("which was created in session {opened}, without an lsid"))
        }
        (Some(opened), Some(used)) => {
            (50_738, "Location50738", format!("which was created in session {opened}, in session {used}"))
        }
        (None, None) => return Ok(()),
    };
    Err(CommandError::new(code, name, format!("Cannot run getMore on cursor {id}, {message}")))
}

/// Checks that a cursor is read in the transaction in which it was opened.
///
/// # Errors
/// MongoDB's errors 50739, 50740 and 50741.
fn check_transaction(call: &Call<'_>, cursor: &OpenCursor, id: i64) -> CommandResult<()> {
    let (code, name, message) = match (cursor.transaction, call.transaction.as_ref().map(|joined| joined.number)) {
        (opened, used) if opened == used => return Ok(()),
        (Some(opened), None) => {
            (50_740, "Location50740", format!("which was created in transaction {opened}, outside of it"))
        }
        (Some(opened), Some(used)) => {
            (50_741, "Location50741", format!("which was created in transaction {opened}, in transaction {used}"))
        }
        (None, used) => {
            let used = used.unwrap_or_default();
            (50_739, "Location50739", format!("which was not created in a transaction, in transaction {used}"))
        }
    };
    Err(CommandError::new(code, name, format!("Cannot run getMore on cursor {id}, {message}")))
}

/// Checks that the collection of a cursor still has the same name.
fn check_collection(call: &Call<'_>, cursor: &OpenCursor, namespace: &str) -> CommandResult<()> {
    let Some(identity) = cursor.identity else { return Ok(()) };
    if call.shared.db.collection(namespace).identity()? == Some(identity) {
        return Ok(());
    }
    let message = format!("collection dropped or renamed between getMore calls: {namespace}");
    Err(CommandError::new(175, "QueryPlanKilled", message))
}

/// The most time that the request may wait for documents.
fn wait(call: &Call<'_>) -> Duration {
    if call.body.contains("maxTimeMS") { call.max_time() } else { AWAIT }
}

/// Registers the request to be executed again when new documents arrive or the cursor is closed.
fn begin_wait(call: &Call<'_>, documents: &mut Documents, until: Duration) {
    let changed = Arc::new(Notify::new());
    let wake = Arc::clone(&changed);
    let Some(watch) = documents.on_change(move || wake.notify_one()) else { return };
    if let Some(waiting) = documents.waiting() {
        *waiting = Some(Wake(Arc::clone(&changed)));
    }
    call.client.waits.begin(Wait { until, event: Event::Documents { changed, _watch: watch } });
}

/// Adds the batch to a reply. Returns whether the cursor stays open, and the number of documents in the batch.
fn read(
    call: &Call<'_>,
    builder: &mut BsonBuilder,
    documents: &mut Documents,
    size: u64,
) -> (CommandResult<bool>, u64) {
    if let Some(waiting) = documents.waiting() {
        *waiting = None;
    }
    let mut count = 0;
    let mut fill_batch = || {
        builder.open_document("cursor")?;
        builder.open_array("nextBatch")?;
        let is_full = fill(call, builder, documents, size, false, &mut count)? != Filled::All;
        builder.close()?;
        Ok(documents.continues(is_full))
    };
    let more = fill_batch();
    documents.pause();
    (more, count)
}
