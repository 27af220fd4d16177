//! The operations that read: drawn, done to both, compared.

use crate::{Id, Runner};
use alluvium::{Document, Error, ErrorKind, Map, Value};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;
use std::sync::Arc;

/// Paths that some documents have.
const PATHS: [&str; 10] = ["_id", "n", "score", "by.name", "by.flair", "tags.0", "tags.1", "deep.x.y", "a", "missing"];

type Documents = BTreeMap<Id, Arc<Map>>;

impl Runner {
    pub(crate) fn reading(&mut self) {
        self.forget_ended();
        match self.rng.u32(0..20) {
            0..=6 => self.get(),
            7..=8 => self.get_many(),
            9..=10 => self.get_fields(),
            11..=15 => self.scan(),
            16 => self.count(),
            _ if self.snapshots.is_empty() => self.get(),
            _ => {
                let at = self.rng.usize(0..self.snapshots.len());
                self.check_snapshot(at);
            }
        }
    }

    fn get(&mut self) {
        let name = self.any_name();
        let id = self.any_id(&name);
        let value = id.value(&mut self.rng);
        let found = self.db().collection(&name).get(value);
        if !self.missing(&name, &found) {
            same(&name, &id, self.state.get(&name, &id), found.expect("get").as_ref());
        }
    }

    fn get_many(&mut self) {
        let name = self.any_name();
        let ids: Vec<Id> = (0..self.rng.usize(0..8)).map(|_| self.any_id(&name)).collect();
        let values: Vec<Value> = ids.iter().map(|id| id.value(&mut self.rng)).collect();
        let found = self.db().collection(&name).get_many(values);
        if !self.missing(&name, &found) {
            let found = found.expect("get_many");
            assert_eq!(found.len(), ids.len());
            for (id, document) in ids.iter().zip(&found) {
                same(&name, id, self.state.get(&name, id), document.as_ref());
            }
        }
    }

    fn get_fields(&mut self) {
        let name = self.any_name();
        let id = self.any_id(&name);
        let paths: Vec<&str> = (0..self.rng.usize(0..4)).map(|_| PATHS[self.rng.usize(0..PATHS.len())]).collect();
        let value = id.value(&mut self.rng);
        let found = self.db().collection(&name).get_fields(value, &paths);
        if !self.missing(&name, &found) {
            let expected = self.state.get(&name, &id).map(|map| fields(map, &paths));
            assert_eq!(found.expect("get_fields"), expected, "{name} {id:?} {paths:?}");
        }
    }

    fn count(&mut self) {
        let name = self.any_name();
        let found = self.db().collection(&name).count();
        if !self.missing(&name, &found) {
            assert_eq!(found.expect("count"), self.state.documents(&name).map_or(0, Documents::len) as u64);
        }
    }

    fn scan(&mut self) {
        let name = self.any_name();
        let mut scan = self.db().collection(&name).scan();
        let from = self.rng.bool().then(|| self.any_id(&name));
        let to = (self.rng.u8(0..3) == 0).then(|| self.any_id(&name));
        let limit = (self.rng.u8(0..3) == 0).then(|| self.rng.u64(0..6));
        let reverse = self.rng.bool();
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
        let found = scan.run().and_then(Iterator::collect::<alluvium::Result<Vec<Document>>>);
        if self.missing(&name, &found) {
            return;
        }
        let nothing = Documents::new();
        let documents = self.state.documents(&name).unwrap_or(&nothing);
        let mut expected: Vec<(&Id, &Arc<Map>)> = match (&from, &to) {
            (Some(from), Some(to)) if from >= to => Vec::new(),
            _ => {
                let from = from.as_ref().map_or(Bound::Unbounded, Bound::Included);
                documents.range((from, to.as_ref().map_or(Bound::Unbounded, Bound::Excluded))).collect()
            }
        };
        if reverse {
            expected.reverse();
        }
        // 0 is no limit.
        expected.truncate(limit.filter(|limit| *limit > 0).map_or(usize::MAX, |limit| limit as usize));
        let words = format!("scan of {name} from {from:?} to {to:?} limit {limit:?} reverse {reverse}");
        let found = found.unwrap_or_else(|e| panic!("{words}: {e}"));
        let ids: Vec<Option<Id>> = found.iter().map(|d| Id::of(d.id())).collect();
        let wanted: Vec<Option<Id>> = expected.iter().map(|(id, _)| Some((*id).clone())).collect();
        assert_eq!(ids, wanted, "{words}");
        for ((id, map), document) in expected.iter().zip(&found) {
            same(&name, id, Some(*map), Some(document));
        }
    }

    /// True if snapshots are ended under the options at hand, for their age or for what they keep.
    pub(crate) fn snapshots_may_end(&self) -> bool {
        let usual = alluvium_store::Options::default();
        self.options.snapshot_max_age < usual.snapshot_max_age || self.options.snapshot_max_debt_bytes.is_some()
    }

    /// Lets go of kept snapshots that were ended, as they may have been under the options at hand.
    pub(crate) fn forget_ended(&mut self) {
        let mut kept = std::mem::take(&mut self.snapshots);
        if self.snapshots_may_end() {
            kept.retain(|kept| {
                // One that was not there yet says so, if the snapshot has not ended.
                let name = kept.state.collections.keys().next().map_or("main.a", String::as_str);
                let read = self.db().collection(name).at(&kept.snapshot).scan().run();
                let first = read.and_then(|mut cursor| cursor.next().transpose());
                let error = first.err().filter(|error| {
                    let missing = error.kind() == ErrorKind::Namespace;
                    !(missing && kept.state.collections.is_empty())
                });
                let ended = error.map(|error| error.kind());
                assert!(ended.is_none_or(|kind| kind == ErrorKind::SnapshotTooOld), "{name} at a snapshot: {ended:?}");
                ended.is_none()
            });
        }
        self.snapshots = kept;
    }

    /// Reads all collections at a kept snapshot, under the names that they had then; those that came
    /// later are not there.
    pub(crate) fn check_snapshot(&mut self, at: usize) {
        let kept = &self.snapshots[at];
        let names: BTreeSet<&String> = kept.state.collections.keys().chain(self.state.collections.keys()).collect();
        for name in names {
            let collection = self.db().collection(name).at(&kept.snapshot);
            let found = collection.scan().run().and_then(Iterator::collect::<alluvium::Result<Vec<Document>>>);
            let Some(expected) = kept.state.documents(name) else {
                assert!(matches!(found, Err(Error::NoSuchCollection { .. })), "{name} at a snapshot: {found:?}");
                continue;
            };
            let found = found.unwrap_or_else(|e| panic!("{name} at a snapshot: {e}"));
            let ids: Vec<Option<Id>> = found.iter().map(|d| Id::of(d.id())).collect();
            let wanted: Vec<Option<Id>> = expected.keys().cloned().map(Some).collect();
            assert_eq!(ids, wanted, "{name} at snapshot {:?}", kept.snapshot);
            for ((id, map), document) in expected.iter().zip(&found) {
                same(name, id, Some(map), Some(document));
            }
            let now = self.state.documents(name).into_iter().flat_map(BTreeMap::keys);
            if let Some(id) = now.chain(expected.keys()).next() {
                let mut rng = fastrand::Rng::with_seed(at as u64);
                let found = collection.get(id.value(&mut rng)).expect("get at a snapshot");
                same(name, id, expected.get(id), found.as_ref());
            }
        }
    }
}

fn same(name: &str, id: &Id, expected: Option<&Arc<Map>>, found: Option<&Document>) {
    let found = found.map(|d| d.to_map().unwrap_or_else(|e| panic!("{name} {id:?}: {e}")));
    assert_eq!(found.as_ref(), expected.map(|m| &**m), "{name} {id:?}");
}

/// `_id` and the values at the paths, as `get_fields` promises them.
pub(crate) fn fields(map: &Map, paths: &[&str]) -> Map {
    let mut fields = Map::new();
    if !paths.contains(&"_id") {
        fields.push("_id", map.get("_id").cloned());
    }
    for path in paths {
        let whole = Value::Map(map.clone());
        let mut at = Some(&whole);
        for part in path.split('.') {
            at = match at {
                Some(Value::Map(map)) => map.get(part),
                Some(Value::Array(elements)) => part.parse::<usize>().ok().and_then(|n| elements.get(n)),
                _ => None,
            };
        }
        if let Some(value) = at {
            fields.push(*path, value.clone());
        }
    }
    fields
}
