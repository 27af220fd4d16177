//! Operations on logical databases: their names, now and at snapshots, their collections, and dropping them.

use crate::model::{Phase, State};
use crate::runner::session::Session;
use alluvium::Durability;
use std::collections::BTreeSet;

/// The logical databases of the collections that operations choose from, and one that does not exist.
const LOGICAL: [&str; 4] = ["main", "other", "third", "nothing"];

/// Drops a logical database, one collection after the other. The largest one is rarely dropped.
pub(crate) fn drop_logical(session: &mut Session) {
    let logical = match session.rng.u8(0..6) {
        0 => LOGICAL[0],
        _ => LOGICAL[session.rng.usize(1..LOGICAL.len())],
    };
    session.note(format!("drop logical {logical}"));
    let mut state = session.state.clone();
    let mut steps: Vec<State> = Vec::new();
    for name in collections_of(&session.state, logical) {
        state.collections.remove(&format!("{logical}.{name}"));
        steps.push(state.clone());
    }
    let any = !steps.is_empty();
    session.dropped |= any;
    session.effect("drop logical", any);
    let durable = session.options.durability == Durability::Sync && any;
    session
        .write(Phase::Schema, &steps, durable, |db| db.logical_database(logical).drop())
        .expect("drop of a logical database");
}

/// Compares the names of logical databases, of their collections, and of all collections at a kept snapshot.
pub(crate) fn check_names(session: &mut Session) {
    let logical: BTreeSet<&str> = session.state.collections.keys().filter_map(|name| name.split('.').next()).collect();
    assert_eq!(session.db().logical_database_names(), logical.into_iter().collect::<Vec<_>>());
    for logical in LOGICAL {
        let handle = session.db().logical_database(logical);
        assert_eq!(handle.collection_names(), collections_of(&session.state, logical), "{logical}");
        for name in handle.collection_names() {
            let count = handle.collection(&name).count().expect("count");
            let expected =
                session.state.documents(&format!("{logical}.{name}")).map(|documents| documents.len() as u64);
            assert_eq!(Some(count), expected, "{logical}.{name}");
        }
    }
    if session.snapshots.is_empty() {
        return;
    }
    let at = session.rng.usize(0..session.snapshots.len());
    let kept = &session.snapshots[at];
    let found: BTreeSet<String> = match session.db().collections_at(&kept.snapshot) {
        Ok(found) => found.iter().map(alluvium::CollectionInfo::full_name).collect(),
        Err(error) => panic!("collections at {:?}: {error}", kept.snapshot),
    };
    let expected: BTreeSet<String> = kept.state.collections.keys().cloned().collect();
    session.effect(
        "collections at",
        !expected.is_empty() && expected != session.state.collections.keys().cloned().collect(),
    );
    assert_eq!(found, expected, "collections at {:?}", kept.snapshot);
}

/// The names of the collections of a logical database, in order.
fn collections_of(state: &State, logical: &str) -> Vec<String> {
    let begins = format!("{logical}.");
    state.collections.keys().filter_map(|name| name.strip_prefix(&begins)).map(str::to_owned).collect()
}
