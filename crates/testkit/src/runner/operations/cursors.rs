//! Cursors that stay open during other operations. They must continue to return the documents from the time when they
//! were opened, or an error that they were ended.

use super::reads::fields;
use crate::model::Id;
use crate::model::filters::matching;
use crate::runner::draws::{any_filter, any_sort_order};
use crate::runner::kept::{KeptSnapshot, OpenCursor, Remaining};
use crate::runner::session::Session;
use alluvium::export::{Encoder, Format};
use alluvium::{Document, ErrorKind, Map};
use std::collections::{BTreeMap, VecDeque};
use std::ops::Bound;
use std::sync::Arc;

/// The maximum number of open cursors.
const MOST: usize = 4;

/// Paths for [`alluvium::Cursor::next_fields`].
const PATHS: [&str; 4] = ["k", "_id", "by.name", "missing"];

/// Opens a cursor, or advances one.
pub(crate) fn step(session: &mut Session) {
    let open = session.cursors.len();
    if open == 0 || open < MOST && session.rng.u8(0..3) == 0 {
        return match session.rng.u8(0..3) {
            0 => open_query(session),
            _ => open_scan(session),
        };
    }
    let at = session.rng.usize(0..open);
    if session.rng.u8(0..12) == 0 {
        session.note(format!("close {}", session.cursors[at].words));
        session.cursors.swap_remove(at);
        return;
    }
    advance(session, at);
}

/// A kept snapshot, or `None` for the latest state.
fn any_snapshot(session: &mut Session) -> Option<&KeptSnapshot> {
    match session.snapshots.len() {
        0 => None,
        count => (session.rng.u8(0..3) == 0).then(|| &session.snapshots[session.rng.usize(0..count)]),
    }
}

fn open_scan(session: &mut Session) {
    let name = session.any_name();
    let (from, to) = (session.any_id(&name), session.any_id(&name));
    let bounds = session.rng.u8(0..6);
    let from = (bounds < 2).then_some(from);
    let to = (bounds == 0 || bounds == 2).then_some(to);
    let limit = (session.rng.u8(0..5) == 0).then(|| session.rng.u64(0..12));
    let reverse = session.rng.bool();
    let mut scan = session.db().collection(&name).scan();
    let moment = any_snapshot(session);
    let at = moment.is_some();
    let state = moment.map(|kept| (kept.snapshot.clone(), kept.state.clone()));
    if let Some((snapshot, _)) = &state {
        scan = scan.at(snapshot);
    }
    if let Some(id) = &from {
        scan = scan.from(id.value(&mut session.rng));
    }
    if let Some(id) = &to {
        scan = scan.to(id.value(&mut session.rng));
    }
    if let Some(limit) = limit {
        scan = scan.limit(limit);
    }
    if reverse {
        scan = scan.reverse();
    }
    let words = format!("cursor of {name} from {from:?} to {to:?} limit {limit:?} reverse {reverse} snapshot {at}");
    session.note(format!("open {words}"));
    let opened = scan.run();
    let state = state.as_ref().map_or(&session.state, |(_, state)| state);
    let nothing = BTreeMap::new();
    let mut left = within(state.documents(&name).unwrap_or(&nothing), from.as_ref(), to.as_ref());
    if reverse {
        left = left.into_iter().rev().collect();
    }
    // A limit of 0 means no limit.
    left.truncate(limit.filter(|limit| *limit > 0).map_or(usize::MAX, |limit| limit as usize));
    session.effect("cursor backward", reverse && left.len() > 1);
    session.effect("cursor at a snapshot", at && !left.is_empty());
    let cursor = opened.unwrap_or_else(|e| panic!("{words}: {e}"));
    session.cursors.push(OpenCursor { cursor, left: Remaining::Ordered(left), words, batch: 101 });
}

fn open_query(session: &mut Session) {
    let name = session.any_name();
    let (filter, batch) = (any_filter(session, &name), session.rng.usize(1..5));
    let order = session.rng.bool().then(|| any_sort_order(session));
    let mut find = session.db().collection(&name).find(filter.to_map()).batch_size(batch);
    if let Some(order) = &order {
        find = find.sort(order.to_map());
    }
    let words = format!("cursor of {name} over {:?} {order:?} batch {batch}", filter.to_map());
    session.note(format!("open {words}"));
    let opened = find.run();
    let nothing = BTreeMap::new();
    let mut found = matching(session.state.documents(&name).unwrap_or(&nothing), &filter);
    session.effect("cursor over a question", found.len() > 1);
    let left = match &order {
        Some(order) => {
            order.sort(&mut found);
            Remaining::Ordered(found.into_iter().map(|(_, map)| map.clone()).collect())
        }
        None => Remaining::Any(found.into_iter().map(|(_, map)| map.clone()).collect()),
    };
    let cursor = opened.unwrap_or_else(|e| panic!("{words}: {e}"));
    session.cursors.push(OpenCursor { cursor, left, words, batch });
}

/// Reads a few documents from an open cursor.
fn advance(session: &mut Session, at: usize) {
    let mut open = session.cursors.swap_remove(at);
    let way = session.rng.u8(0..4);
    session.note(format!("go on, way {way}, with {}", open.words));
    let some = open.left.len() > 0;
    let (operation, alive) = match way {
        0 => ("cursor next batch", next_batch(session, &mut open)),
        1 => ("cursor next fields", next_fields(session, &mut open)),
        2 => ("cursor encode next", encode_next(session, &mut open)),
        _ => {
            let steps = session.rng.usize(1..5);
            ("cursor next", next_documents(session, &mut open, steps))
        }
    };
    session.effect(operation, alive && some);
    if alive {
        session.cursors.push(open);
    }
}

fn next_documents(session: &Session, open: &mut OpenCursor, steps: usize) -> bool {
    for _ in 0..steps {
        match open.cursor.next().transpose() {
            Ok(Some(document)) => expect(open, &document),
            Ok(None) => return ended(open),
            Err(error) => return was_ended(session, open, &error),
        }
    }
    true
}

fn next_batch(session: &Session, open: &mut OpenCursor) -> bool {
    let expected = open.left.len().min(open.batch);
    match open.cursor.next_batch() {
        Ok(batch) => {
            assert_eq!(batch.len(), expected, "a batch of {}", open.words);
            batch.iter().for_each(|document| expect(open, document));
            !batch.is_empty() || ended(open)
        }
        Err(error) => was_ended(session, open, &error),
    }
}

fn next_fields(session: &Session, open: &mut OpenCursor) -> bool {
    match open.cursor.next_fields(&PATHS) {
        Ok(Some(found)) => {
            let taken = open.left.take(|map| fields(map, &PATHS) == found);
            assert!(taken.is_some(), "{}: {found:?} is not to be found", open.words);
            true
        }
        Ok(None) => ended(open),
        Err(error) => was_ended(session, open, &error),
    }
}

/// Encodes the next document as text with all types, which is parsed again, or as BSON.
fn encode_next(session: &mut Session, open: &mut OpenCursor) -> bool {
    let text = session.rng.bool();
    let format = if text { Format::JsonLines } else { Format::Bson };
    let mut encoder = Encoder::new(format).canonical(true);
    let mut out = Vec::new();
    encoder.begin(&mut out).expect("it begins");
    match encoder.write_next(&mut open.cursor, &mut out) {
        Ok(true) => {
            let taken = open.left.take(|map| read_again(&out, text).is_some_and(|found| found == *map));
            let shown = String::from_utf8_lossy(&out);
            assert!(taken.is_some(), "{}: {shown} is not to be found", open.words);
            true
        }
        Ok(false) => ended(open),
        // BSON cannot represent this document, so the cursor skips it.
        Err(error) if !text && error.kind() == ErrorKind::Invalid => {
            // If several documents could have been skipped and the cursor has no order, it is unknown which one was.
            // The cursor is then dropped.
            let one = open.left.count(|map| map.contains("wide")) == 1 || matches!(open.left, Remaining::Ordered(_));
            assert!(open.left.take(|map| map.contains("wide")).is_some(), "{}: {error}", open.words);
            one
        }
        Err(error) => was_ended(session, open, &error),
    }
}

/// Checks the error that ended a cursor: its snapshot was too old. The cursor must return nothing after the error.
fn was_ended(session: &Session, open: &mut OpenCursor, error: &alluvium::Error) -> bool {
    let may = session.snapshots_may_end() && error.kind() == ErrorKind::SnapshotTooOld;
    assert!(may, "{}: {error}", open.words);
    assert!(open.cursor.next().is_none(), "{}: it continues after an error", open.words);
    session.effect("cursor ended", true);
    false
}

/// Reads from the cursors of a closed database. Each must return a correct document, or an error.
pub(crate) fn end_cursors(session: &mut Session) {
    for mut open in std::mem::take(&mut session.cursors) {
        match open.cursor.next().transpose() {
            Err(error) if error.kind() == ErrorKind::Closed => {}
            Err(error) => _ = was_ended(session, &mut open, &error),
            Ok(Some(document)) => expect(&mut open, &document),
            Ok(None) => _ = ended(&mut open),
        }
    }
}

/// Reads the remaining documents of open cursors, and closes them.
pub(crate) fn drain_cursors(session: &mut Session) {
    for mut open in std::mem::take(&mut session.cursors) {
        let steps = open.left.len() + 1;
        next_documents(session, &mut open, steps);
    }
}

fn within(documents: &BTreeMap<Id, Arc<Map>>, from: Option<&Id>, to: Option<&Id>) -> VecDeque<Arc<Map>> {
    if let (Some(from), Some(to)) = (from, to)
        && from >= to
    {
        return VecDeque::new();
    }
    let bounds = (from.map_or(Bound::Unbounded, Bound::Included), to.map_or(Bound::Unbounded, Bound::Excluded));
    documents.range(bounds).map(|(_, map)| map.clone()).collect()
}

fn expect(open: &mut OpenCursor, found: &Document) {
    let found = found.to_map().unwrap_or_else(|e| panic!("{}: {e}", open.words));
    let taken = open.left.take(|map| *map == found);
    assert!(taken.is_some(), "{}: {found:?} is not to be found", open.words);
}

/// Checks that the cursor ends after all documents were returned, and returns no more after its end.
fn ended(open: &mut OpenCursor) -> bool {
    assert_eq!(open.left.len(), 0, "{}: it ends before all was returned", open.words);
    assert!(open.cursor.next().is_none(), "{}: it continues after its end", open.words);
    false
}

fn read_again(bytes: &[u8], text: bool) -> Option<Map> {
    let value = match text {
        true => alluvium_document::json::parse(bytes).ok()?,
        false => alluvium::Value::Map(alluvium_document::bson::decode_document(bytes).ok()?),
    };
    value.as_map().cloned()
}
