//! Steps that grow a database: many documents are loaded or inserted at once.

use super::loads::document_in;
use crate::model::{Contents, Id, Phase};
use crate::replay::sequence;
use crate::runner::session::Session;
use alluvium::load::{Format, Input};

/// The collection that is created if no collection is suitable.
const NAME: &str = "main.a";

/// The way in which documents are added.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum By {
    /// By a load, which consists of several batches. Therefore the power is not cut during it.
    Load,
    /// By one batch.
    Insert,
}

/// Adds new documents to the largest collection without a unique index; creates a collection if none exists. `number`
/// distinguishes the calls in a sequence.
pub(crate) fn grow(session: &mut Session, number: u32, count: u32, by: By) {
    // These numbers are far from the numbers of steps.
    session.rng = sequence::rng_of(session.seed, u32::MAX - number);
    let plain = |contents: &Contents| !contents.indexes.values().any(|i| i.definition.is_unique());
    let takes = session.state.collections.iter().filter(|(_, contents)| plain(contents));
    let name = takes.max_by_key(|(_, contents)| contents.documents.len()).map_or(NAME, |(name, _)| name).to_owned();
    if session.state.collections.get(&name).is_some_and(|contents| !plain(contents)) {
        return;
    }
    let mut steps = session.created(&[&name]);
    let mut state = session.after(&steps);
    let (mut bytes, mut maps) = (Vec::new(), Vec::new());
    let mut ids = Vec::new();
    for _ in 0..count {
        let id = Id::whole(session.rng.i64(1000..1 << 29));
        if state.get(&name, &id).is_some() {
            continue;
        }
        let map = document_in(session, &Format::JsonLines, &id, &mut bytes);
        state.put(&name, id.clone(), map.clone());
        ids.push(id);
        maps.push(map);
    }
    if state.unindexable(&name, &ids) {
        return;
    }
    steps.push(state);
    let (collection, durable) = session.handle(&name);
    session.note(format!("grow {name} by {} documents, {by:?}", maps.len()));
    match by {
        By::Load => {
            let input = Input::stream("input", std::io::Cursor::new(bytes));
            let loaded = session
                .write(Phase::Load, &steps, true, |_| collection.load(input).readers(1).alluvium_types(true).run());
            assert_eq!(loaded.expect("a load").documents, maps.len() as u64);
        }
        By::Insert => {
            let inserted = session.write(Phase::Write, &steps, durable, |_| collection.insert_many(&maps));
            assert_eq!(inserted.expect("an insert").inserted_ids.len(), maps.len());
        }
    }
}
