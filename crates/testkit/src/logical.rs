//! Logical databases among the operations: their names, now and at snapshots, their collections, and dropping them whole.

use crate::state::State;
use crate::{Phase, Runner};
use alluvium::Durability;
use std::collections::BTreeSet;

/// The logical databases of the names that operations choose from.
const LOGICAL: [&str; 4] = ["main", "other", "third", "nothing"];

impl Runner {
    /// Drops a logical database, one collection after the other. The one that has most is rarely dropped.
    pub(crate) fn logical(&mut self) {
        let logical = match self.rng.u8(0..6) {
            0 => LOGICAL[0],
            _ => LOGICAL[self.rng.usize(1..LOGICAL.len())],
        };
        self.note(format!("drop logical {logical}"));
        let mut state = self.state.clone();
        let mut steps: Vec<State> = Vec::new();
        for name in collections_of(&self.state, logical) {
            state.collections.remove(&format!("{logical}.{name}"));
            steps.push(state.clone());
        }
        let any = !steps.is_empty();
        self.dropped |= any;
        self.effect("drop logical", any);
        let durable = self.options.durability == Durability::Sync && any;
        self.write(Phase::Schema, &steps, durable, |db| db.logical(logical).drop())
            .expect("drop of a logical database");
    }

    /// Compares names: of logical databases, of their collections, and of all that there were at a kept snapshot.
    pub(crate) fn names(&mut self) {
        let logical: BTreeSet<&str> = self.state.collections.keys().filter_map(|name| name.split('.').next()).collect();
        assert_eq!(self.db().list_logical_names(), logical.into_iter().collect::<Vec<_>>());
        for logical in LOGICAL {
            let handle = self.db().logical(logical);
            assert_eq!(handle.list_collection_names(), collections_of(&self.state, logical), "{logical}");
            for name in handle.list_collection_names() {
                let count = handle.collection(&name).count().expect("count");
                let expected =
                    self.state.documents(&format!("{logical}.{name}")).map(|documents| documents.len() as u64);
                assert_eq!(Some(count), expected, "{logical}.{name}");
            }
        }
        if self.snapshots.is_empty() {
            return;
        }
        let at = self.rng.usize(0..self.snapshots.len());
        let kept = &self.snapshots[at];
        let found: BTreeSet<String> = match self.db().collections_at(&kept.snapshot) {
            Ok(found) => found.iter().map(alluvium::CollectionInfo::full_name).collect(),
            Err(error) => panic!("collections at {:?}: {error}", kept.snapshot),
        };
        let expected: BTreeSet<String> = kept.state.collections.keys().cloned().collect();
        self.effect(
            "collections at",
            !expected.is_empty() && expected != self.state.collections.keys().cloned().collect(),
        );
        assert_eq!(found, expected, "collections at {:?}", kept.snapshot);
    }
}

/// The names of a logical database's collections, in their order.
fn collections_of(state: &State, logical: &str) -> Vec<String> {
    let begins = format!("{logical}.");
    state.collections.keys().filter_map(|name| name.strip_prefix(&begins)).map(str::to_owned).collect()
}
