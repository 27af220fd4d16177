//! Operations on snapshots: they are taken, kept, read and dropped.

use super::reads::same;
use crate::model::Id;
use crate::runner::kept::KeptSnapshot;
use crate::runner::session::Session;
use alluvium::{Document, ErrorKind};
use std::collections::{BTreeMap, BTreeSet};

pub(crate) fn step(session: &mut Session) {
    match session.rng.u32(0..3) {
        0 if !session.snapshots.is_empty() => {
            let at = session.rng.usize(0..session.snapshots.len());
            session.note(format!("drop snapshot {at}"));
            session.snapshots.swap_remove(at);
        }
        _ if session.snapshots.len() < 4 => {
            session.note("take a snapshot".to_owned());
            session.snapshots.push(KeptSnapshot { snapshot: session.db().snapshot(), state: session.state.clone() });
            session.effect("snapshot", !session.state.collections.is_empty());
        }
        _ => {}
    }
}

/// Drops the kept snapshots that the database has ended, if the current options allow that.
pub(crate) fn forget_ended(session: &mut Session) {
    let mut kept = std::mem::take(&mut session.snapshots);
    if session.snapshots_may_end() {
        kept.retain(|kept| {
            let name = kept.state.collections.keys().next().map_or("main.a", String::as_str);
            let read = session.db().collection(name).at(&kept.snapshot).scan().run();
            let first = read.and_then(|mut cursor| cursor.next().transpose());
            let ended = first.err().map(|error| error.kind());
            assert!(ended.is_none_or(|kind| kind == ErrorKind::SnapshotTooOld), "{name} at a snapshot: {ended:?}");
            ended.is_none()
        });
    }
    session.snapshots = kept;
}

/// Reads all collections at a kept snapshot, by their names at that time. Collections that were created later do not
/// exist at the snapshot.
pub(crate) fn check_snapshot(session: &mut Session, at: usize) {
    let kept = &session.snapshots[at];
    let names: BTreeSet<&String> = kept.state.collections.keys().chain(session.state.collections.keys()).collect();
    for name in names {
        let collection = session.db().collection(name).at(&kept.snapshot);
        let found = collection.scan().run().and_then(Iterator::collect::<alluvium::Result<Vec<Document>>>);
        // A collection that did not exist at that time reads as an empty one.
        let nothing = BTreeMap::new();
        let expected = kept.state.documents(name).unwrap_or(&nothing);
        let found = found.unwrap_or_else(|e| panic!("{name} at a snapshot: {e}"));
        let ids: Vec<Option<Id>> = found.iter().map(|d| Id::of(d.id())).collect();
        let wanted: Vec<Option<Id>> = expected.keys().cloned().map(Some).collect();
        assert_eq!(ids, wanted, "{name} at snapshot {:?}", kept.snapshot);
        for ((id, map), document) in expected.iter().zip(&found) {
            same(name, id, Some(map), Some(document));
        }
        let now = session.state.documents(name).into_iter().flat_map(BTreeMap::keys);
        if let Some(id) = now.chain(expected.keys()).next() {
            let mut rng = fastrand::Rng::with_seed(at as u64);
            let found = collection.get(id.value(&mut rng)).expect("get at a snapshot");
            same(name, id, expected.get(id), found.as_ref());
        }
    }
}
