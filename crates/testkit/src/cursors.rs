//! Cursors that stay open while other operations go on: what they still return is what there was when they were opened, or
//! the word that they were ended.

use crate::asks::matching;
use crate::runner::Kept;
use crate::{Id, Runner};
use alluvium::export::{Encoder, Format};
use alluvium::{Cursor, Document, ErrorKind, Map};
use std::collections::{BTreeMap, VecDeque};
use std::ops::Bound;
use std::sync::Arc;

/// So many are open at most.
const MOST: usize = 4;

/// Paths that [`Cursor::next_fields`] is asked for.
const PATHS: [&str; 4] = ["k", "_id", "by.name", "missing"];

/// What a cursor has still to return.
enum Left {
    /// In this order.
    Ordered(VecDeque<Arc<Map>>),
    /// In any order.
    Any(Vec<Arc<Map>>),
}

impl Left {
    fn len(&self) -> usize {
        match self {
            Self::Ordered(left) => left.len(),
            Self::Any(left) => left.len(),
        }
    }

    fn count(&self, is_it: impl Fn(&Map) -> bool) -> usize {
        match self {
            Self::Ordered(left) => left.iter().filter(|map| is_it(map)).count(),
            Self::Any(left) => left.iter().filter(|map| is_it(map)).count(),
        }
    }

    /// Takes the document that a found one has to be: the next, or the one that `is_it`.
    fn take(&mut self, is_it: impl Fn(&Map) -> bool) -> Option<Arc<Map>> {
        match self {
            Self::Ordered(left) if left.front().is_some_and(|map| is_it(map)) => left.pop_front(),
            Self::Ordered(_) => None,
            Self::Any(left) => {
                let at = left.iter().position(|map| is_it(map))?;
                Some(left.swap_remove(at))
            }
        }
    }
}

/// A cursor, and what it has to return.
pub(crate) struct Open {
    cursor: Cursor,
    left: Left,
    words: String,
    batch: usize,
}

impl Runner {
    /// Opens a cursor, or goes on with one.
    pub(crate) fn cursors(&mut self) {
        let open = self.cursors.len();
        if open == 0 || open < MOST && self.rng.u8(0..3) == 0 {
            return match self.rng.u8(0..3) {
                0 => self.open_question(),
                _ => self.open_scan(),
            };
        }
        let at = self.rng.usize(0..open);
        if self.rng.u8(0..12) == 0 {
            self.note(format!("close {}", self.cursors[at].words));
            self.cursors.swap_remove(at);
            return;
        }
        self.go_on(at);
    }

    /// A kept snapshot, or none for now.
    fn any_moment(&mut self) -> Option<&Kept> {
        match self.snapshots.len() {
            0 => None,
            count => (self.rng.u8(0..3) == 0).then(|| &self.snapshots[self.rng.usize(0..count)]),
        }
    }

    fn open_scan(&mut self) {
        let name = self.any_name();
        let (from, to) = (self.any_id(&name), self.any_id(&name));
        let bounds = self.rng.u8(0..6);
        let from = (bounds < 2).then_some(from);
        let to = (bounds == 0 || bounds == 2).then_some(to);
        let limit = (self.rng.u8(0..5) == 0).then(|| self.rng.u64(0..12));
        let reverse = self.rng.bool();
        let mut scan = self.db().collection(&name).scan();
        let moment = self.any_moment();
        let at = moment.is_some();
        let state = moment.map(|kept| (kept.snapshot.clone(), kept.state.clone()));
        if let Some((snapshot, _)) = &state {
            scan = scan.snapshot(snapshot);
        }
        if let Some(id) = &from {
            scan = scan.from(id.value(&mut self.rng));
        }
        if let Some(id) = &to {
            scan = scan.to(id.value(&mut self.rng));
        }
        if let Some(limit) = limit {
            scan = scan.limit(limit);
        }
        if reverse {
            scan = scan.reverse();
        }
        let words = format!("cursor of {name} from {from:?} to {to:?} limit {limit:?} reverse {reverse} snapshot {at}");
        self.note(format!("open {words}"));
        let opened = scan.run();
        let state = state.as_ref().map_or(&self.state, |(_, state)| state);
        let Some(documents) = state.documents(&name) else {
            assert!(opened.is_err_and(|e| e.kind() == ErrorKind::Namespace), "{words}: there is no such collection");
            return;
        };
        let mut left = within(documents, from.as_ref(), to.as_ref());
        if reverse {
            left = left.into_iter().rev().collect();
        }
        // 0 is no limit.
        left.truncate(limit.filter(|limit| *limit > 0).map_or(usize::MAX, |limit| limit as usize));
        self.effect("cursor backward", reverse && left.len() > 1);
        self.effect("cursor at a snapshot", at && !left.is_empty());
        let cursor = opened.unwrap_or_else(|e| panic!("{words}: {e}"));
        self.cursors.push(Open { cursor, left: Left::Ordered(left), words, batch: 101 });
    }

    fn open_question(&mut self) {
        let name = self.any_name();
        let (ask, batch) = (self.any_ask(&name), self.rng.usize(1..5));
        let order = self.rng.bool().then(|| self.any_order());
        let mut find = self.db().collection(&name).find(ask.to_map()).batch_size(batch);
        if let Some(order) = &order {
            find = find.sort(order.to_map());
        }
        let words = format!("cursor of {name} over {:?} {order:?} batch {batch}", ask.to_map());
        self.note(format!("open {words}"));
        let opened = find.run();
        if self.missing(&name, &opened.as_ref().map(|_| ()).map_err(Clone::clone)) {
            return;
        }
        let mut found = matching(self.state.documents(&name).expect("it is there"), &ask);
        self.effect("cursor over a question", found.len() > 1);
        let left = match &order {
            Some(order) => {
                order.sort(&mut found);
                Left::Ordered(found.into_iter().map(|(_, map)| map.clone()).collect())
            }
            None => Left::Any(found.into_iter().map(|(_, map)| map.clone()).collect()),
        };
        let cursor = opened.unwrap_or_else(|e| panic!("{words}: {e}"));
        self.cursors.push(Open { cursor, left, words, batch });
    }

    /// A few steps of an open cursor.
    fn go_on(&mut self, at: usize) {
        let mut open = self.cursors.swap_remove(at);
        let way = self.rng.u8(0..4);
        self.note(format!("go on, way {way}, with {}", open.words));
        let some = open.left.len() > 0;
        let (operation, alive) = match way {
            0 => ("cursor next batch", self.next_batch(&mut open)),
            1 => ("cursor next fields", self.next_fields(&mut open)),
            2 => ("cursor encode next", self.encode_next(&mut open)),
            _ => {
                let steps = self.rng.usize(1..5);
                ("cursor next", self.next_documents(&mut open, steps))
            }
        };
        self.effect(operation, alive && some);
        if alive {
            self.cursors.push(open);
        }
    }

    fn next_documents(&self, open: &mut Open, steps: usize) -> bool {
        for _ in 0..steps {
            match open.cursor.next().transpose() {
                Ok(Some(document)) => expect(open, &document),
                Ok(None) => return ended(open),
                Err(error) => return self.was_ended(open, &error),
            }
        }
        true
    }

    fn next_batch(&self, open: &mut Open) -> bool {
        let expected = open.left.len().min(open.batch);
        match open.cursor.next_batch() {
            Ok(batch) => {
                assert_eq!(batch.len(), expected, "a batch of {}", open.words);
                batch.iter().for_each(|document| expect(open, document));
                !batch.is_empty() || ended(open)
            }
            Err(error) => self.was_ended(open, &error),
        }
    }

    fn next_fields(&self, open: &mut Open) -> bool {
        match open.cursor.next_fields(&PATHS) {
            Ok(Some(found)) => {
                let taken = open.left.take(|map| crate::reads::fields(map, &PATHS) == found);
                assert!(taken.is_some(), "{}: {found:?} is not to be found", open.words);
                true
            }
            Ok(None) => ended(open),
            Err(error) => self.was_ended(open, &error),
        }
    }

    /// As text with all types, which is read again; or as BSON.
    fn encode_next(&mut self, open: &mut Open) -> bool {
        let text = self.rng.bool();
        let format = if text { Format::JsonLines } else { Format::Bson };
        let mut encoder = Encoder::new(format).canonical(true);
        let mut out = Vec::new();
        encoder.begin(&mut out).expect("it begins");
        match open.cursor.encode_next(&mut encoder, &mut out) {
            Ok(true) => {
                let taken = open.left.take(|map| read_again(&out, text).is_some_and(|found| found == *map));
                let shown = String::from_utf8_lossy(&out);
                assert!(taken.is_some(), "{}: {shown} is not to be found", open.words);
                true
            }
            Ok(false) => ended(open),
            // The document is passed over.
            Err(error) if !text && error.kind() == ErrorKind::Invalid => {
                // Of several, without an order, nobody knows which: one goes on with the cursor no more.
                let one = open.left.count(|map| map.contains("wide")) == 1 || matches!(open.left, Left::Ordered(_));
                assert!(open.left.take(|map| map.contains("wide")).is_some(), "{}: {error}", open.words);
                one
            }
            Err(error) => self.was_ended(open, &error),
        }
    }

    /// A cursor has ended with an error: it may have been too old, and says nothing else any more.
    fn was_ended(&self, open: &mut Open, error: &alluvium::Error) -> bool {
        let may = self.snapshots_may_end() && error.kind() == ErrorKind::SnapshotTooOld;
        assert!(may, "{}: {error}", open.words);
        assert!(open.cursor.next().is_none(), "{}: it goes on after an error", open.words);
        self.effect("cursor ended", true);
        false
    }

    /// Goes on with the cursors of a database that was closed, which may say so, and may not be wrong.
    pub(crate) fn end_cursors(&mut self) {
        for mut open in std::mem::take(&mut self.cursors) {
            match open.cursor.next().transpose() {
                Err(error) if error.kind() == ErrorKind::Closed => {}
                Err(error) => _ = self.was_ended(&mut open, &error),
                Ok(Some(document)) => expect(&mut open, &document),
                Ok(None) => _ = ended(&mut open),
            }
        }
    }

    /// Reads all that open cursors have left, and closes them.
    pub(crate) fn drain_cursors(&mut self) {
        for mut open in std::mem::take(&mut self.cursors) {
            let steps = open.left.len() + 1;
            self.next_documents(&mut open, steps);
        }
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

fn expect(open: &mut Open, found: &Document) {
    let found = found.to_map().unwrap_or_else(|e| panic!("{}: {e}", open.words));
    let taken = open.left.take(|map| *map == found);
    assert!(taken.is_some(), "{}: {found:?} is not to be found", open.words);
}

/// The end, which comes when all was returned, and stays.
fn ended(open: &mut Open) -> bool {
    assert_eq!(open.left.len(), 0, "{}: it ends before all was returned", open.words);
    assert!(open.cursor.next().is_none(), "{}: it goes on after its end", open.words);
    false
}

fn read_again(bytes: &[u8], text: bool) -> Option<Map> {
    let value = match text {
        true => alluvium_document::json::parse(bytes).ok()?,
        false => alluvium::Value::Map(alluvium_document::bson::decode_document(bytes).ok()?),
    };
    value.as_map().cloned()
}
