//! Writes by `_id` that look first: upserts, replacements, compare-and-set by version, updates that return the document.

use crate::operations::expect_refused;
use crate::state::{State, brief};
use crate::{Id, Phase, Runner};
use alluvium::{ErrorKind, Map, ReturnDocument, Value, Version};
use std::sync::Arc;

/// So many versions are remembered.
const MOST: usize = 6;

/// A version that was read, and the document that it was of.
pub(crate) struct Versioned {
    name: String,
    id: Id,
    version: Version,
    /// The same allocation as long as nobody has written the document.
    was: Arc<Map>,
}

impl Runner {
    pub(crate) fn writing_by_id(&mut self) {
        match self.rng.u8(0..9) {
            0..=2 => self.upsert(),
            3 => self.replace(),
            4..=5 => self.get_and_update(),
            6 => self.read_version(),
            _ => self.replace_if(),
        }
    }

    fn upsert(&mut self) {
        let name = self.any_name();
        let id = self.any_id(&name);
        let (collection, durable) = self.handle(&name);
        let (value, change) = (id.value(&mut self.rng), self.any_change());
        let on_insert = self.rng.bool().then(|| self.rng.i32(0..9));
        let mut update = change.update.clone();
        if let Some(score) = on_insert {
            update.insert_str(update.len() - 1, &format!(r#","$setOnInsert":{{"a":{score}}}"#));
        }
        self.note(format!("upsert {name} {value:?} {update}"));
        let old = self.state.get(&name, &id).cloned();
        let mut steps = if old.is_none() { self.created(&[&name]) } else { Vec::new() };
        let mut state = self.after(&steps);
        let mut map = match &old {
            Some(old) => Map::clone(old),
            None => Map::from([("_id", value.clone())]),
        };
        if let (None, Some(score)) = (&old, on_insert) {
            // It comes before all others by its name.
            map.push("a", score);
        }
        change.apply(&mut map);
        let changed = old.as_ref().is_none_or(|old| **old != map);
        if changed {
            state.put(&name, id.clone(), map);
        }
        let why = if changed { state.refusals(&name, std::slice::from_ref(&id)) } else { Vec::new() };
        let refused = !why.is_empty();
        if !refused {
            steps.push(state);
        }
        self.effect("upsert", old.is_some() && changed && !refused);
        self.effect("upsert inserts", old.is_none() && !refused);
        let durable = durable && changed && !refused;
        let result = self.write(Phase::Write, &steps, durable, |_| collection.upsert(value.clone(), update.as_str()));
        if expect_refused(result.clone(), &why) {
            return;
        }
        let result = result.expect("upsert");
        let expected = (u64::from(old.is_some()), u64::from(old.is_some() && changed));
        assert_eq!((result.matched_count, result.modified_count), expected);
        assert_eq!(result.upserted_id, old.is_none().then_some(value));
    }

    /// A document in the place of the one that is there, under the `_id` as it is stored.
    fn replaced(&mut self, old: &Map) -> (Map, Map) {
        let body = self.documents.body(&mut self.rng);
        let mut stored = body.clone();
        stored.entries.insert(0, (Value::from("_id"), old.get("_id").cloned().expect("an _id")));
        (body, stored)
    }

    fn replace(&mut self) {
        let name = self.any_name();
        let id = self.any_id(&name);
        let (collection, durable) = self.handle(&name);
        let value = id.value(&mut self.rng);
        let old = self.state.get(&name, &id).cloned();
        let nothing = Map::from([("_id", Value::Null)]);
        let (given, stored) = self.replaced(old.as_deref().unwrap_or(&nothing));
        self.note(format!("replace {name} {value:?} {}", brief(&given)));
        let (states, why) = self.put_in_place(&name, &id, old.is_some().then_some(stored));
        let writes = !states.is_empty();
        let result = self.write(Phase::Write, &states, durable && writes, |_| collection.replace(value, given));
        self.effect("replace", writes);
        if !self.missing(&name, &result) && !expect_refused(result.clone(), &why) {
            assert_eq!(result.expect("replace").matched_count, u64::from(old.is_some()));
        }
    }

    /// The state after a document is put in the place of another, if there is one and no index refuses it; or why one does.
    fn put_in_place(&self, name: &str, id: &Id, stored: Option<Map>) -> (Vec<State>, Vec<ErrorKind>) {
        let Some(stored) = stored else { return (Vec::new(), Vec::new()) };
        let mut state = self.state.clone();
        state.put(name, id.clone(), stored);
        let why = state.refusals(name, std::slice::from_ref(id));
        (if why.is_empty() { vec![state] } else { Vec::new() }, why)
    }

    fn get_and_update(&mut self) {
        let name = self.any_name();
        let id = self.any_id(&name);
        let (collection, durable) = self.handle(&name);
        let (value, change) = (id.value(&mut self.rng), self.any_change());
        let which = if self.rng.bool() { ReturnDocument::Before } else { ReturnDocument::After };
        self.note(format!("get and update {name} {value:?} {} {which:?}", change.update));
        let old = self.state.get(&name, &id).cloned();
        let new = old.as_ref().map(|old| {
            let mut map = Map::clone(old);
            change.apply(&mut map);
            map
        });
        let changed = new.as_ref() != old.as_deref();
        let (states, why) = self.put_in_place(&name, &id, new.clone().filter(|_| changed));
        let writes = !states.is_empty();
        let result = self.write(Phase::Write, &states, durable && writes, |_| {
            collection.get_and_update(value, change.update.as_str(), which)
        });
        self.effect("get and update", writes);
        if !self.missing(&name, &result) && !expect_refused(result.clone(), &why) {
            let found = result.expect("get and update").map(|document| document.to_map().expect("it can be read"));
            let expected = match which {
                ReturnDocument::Before => old.as_deref().cloned(),
                ReturnDocument::After => new,
            };
            assert_eq!(found, expected, "{which:?}");
        }
    }

    /// Reads a document with its version, and remembers that.
    fn read_version(&mut self) {
        let name = self.any_name();
        let id = self.any_id(&name);
        self.note(format!("get versioned {name} {id:?}"));
        let value = id.value(&mut self.rng);
        let result = self.db().collection(&name).get_versioned(value);
        if self.missing(&name, &result) {
            return;
        }
        let found = result.expect("get versioned");
        let expected = self.state.get(&name, &id).cloned();
        let shown = found.as_ref().map(|(document, _)| document.to_map().expect("it can be read"));
        assert_eq!(shown.as_ref(), expected.as_deref());
        let (Some((_, version)), Some(was)) = (found, expected) else { return };
        let same = |known: &&Versioned| known.name == name && known.id == id && Arc::ptr_eq(&known.was, &was);
        if let Some(known) = self.versions.iter().find(same) {
            assert_eq!(known.version, version, "nobody has written the document");
        }
        if self.versions.len() == MOST {
            self.versions.remove(0);
        }
        self.versions.push(Versioned { name, id, version, was });
    }

    /// Replaces a document if it still has the version that was read.
    fn replace_if(&mut self) {
        if self.versions.is_empty() {
            return self.read_version();
        }
        let known = self.versions.swap_remove(self.rng.usize(0..self.versions.len()));
        let Versioned { name, id, version, was } = known;
        let (collection, durable) = self.handle(&name);
        let value = id.value(&mut self.rng);
        let now = self.state.get(&name, &id).cloned();
        let same = now.as_ref().is_some_and(|now| Arc::ptr_eq(now, &was));
        // One that was written without a change of its content may have another version, or have been written by nobody.
        let doubtful = !same && now.as_ref().is_some_and(|now| *now == was);
        let (given, stored) = self.replaced(&was);
        self.note(format!("replace {name} {value:?} if it is {version:?} by {} (same: {same})", brief(&given)));
        let (states, why) = self.put_in_place(&name, &id, same.then_some(stored));
        if doubtful {
            return;
        }
        let writes = !states.is_empty();
        let result =
            self.write(Phase::Write, &states, durable && writes, |_| collection.replace_if(value, version, given));
        self.effect("replace if", writes);
        self.effect("replace if, too late", now.is_some() && !same);
        if !self.missing(&name, &result) && !expect_refused(result.clone(), &why) {
            assert_eq!(result.expect("replace if"), same, "whether the document was replaced");
        }
    }
}
