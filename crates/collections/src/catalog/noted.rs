//! The events of collections and their indexes: which there are, and their descriptions. Each is noted in the history in
//! the batch that makes the change.

use super::Catalog;
use crate::history::{Content, DROP_TARGET, Event, NewEvent};
use crate::ids::collection_uuid;
use crate::index::Index;
use crate::names::FullName;
use crate::options::{CollectionOptions, IMAGES};
use alluvium_document::{Map, Text, Value};
use alluvium_query::index::{Definition, Unbuilt};
use alluvium_query::validator::Validator;
use alluvium_store::{Result, TreeChanges, TreeId};

/// Entries of the history, as [`TreeChanges::stamped`].
pub(super) type Notes = Vec<(TreeId, Vec<u8>)>;

/// The tree in the events of logical databases.
const NO_TREE: TreeId = TreeId(0);

impl Catalog {
    /// The entries that note events of a collection, if its changes are recorded. `events` is called only then.
    pub(super) fn noted(&self, documents: TreeId, name: &FullName, events: impl FnOnce() -> Vec<Event>) -> Notes {
        self.noted_in(None, documents, name, events)
    }

    /// As [`Catalog::noted`], for a transaction with these fields.
    pub(super) fn noted_in(
        &self,
        transaction: Option<&Map>,
        documents: TreeId,
        name: &FullName,
        events: impl FnOnce() -> Vec<Event>,
    ) -> Notes {
        let history = self.history.read();
        let Some(history) = history.as_ref().filter(|history| history.covers(name)) else { return Notes::new() };
        let entry = |event: &Event| {
            let content = Content::Event { event, before: None };
            NewEvent { documents, name, transaction, content }.encode()
        };
        events().iter().map(|event| (history.tree, entry(event))).collect()
    }

    /// As [`Catalog::noted`], for a rename, which is recorded under either name. `dropped` is the collection that had the
    /// new name.
    pub(super) fn noted_rename(
        &self,
        documents: TreeId,
        from: &FullName,
        to: &FullName,
        dropped: Option<TreeId>,
    ) -> Notes {
        let history = self.history.read();
        let covers = |history: &&crate::history::History| history.covers(from) || history.covers(to);
        let Some(history) = history.as_ref().filter(covers) else { return Notes::new() };
        let event = &Event::Rename { to: to.clone() };
        let dropped = dropped.map(|tree| Map::from([(DROP_TARGET, collection_uuid(u64::from(tree.0)))]));
        let before = dropped.as_ref();
        let content = Content::Event { event, before };
        vec![(history.tree, NewEvent { documents, name: from, transaction: None, content }.encode())]
    }

    /// The entries that note an event of a view.
    pub(super) fn noted_view(&self, name: &FullName, event: impl FnOnce() -> Event) -> Notes {
        self.noted(NO_TREE, name, || vec![event()])
    }

    /// Notes a change of a collection's options that changes nothing: MongoDB has an event of each `collMod`.
    ///
    /// # Errors
    /// [`crate::error::Error::NoSuchCollection`]; as for any write.
    pub fn note_modified(&self, name: &FullName) -> crate::error::Result<()> {
        let _change = self.begin_name_change();
        let Some(entry) = self.names.read().get(name).cloned() else { return Err(self.missing(name)) };
        let stamped = self.noted(entry.documents, name, || vec![Event::Modify { description: Map::new() }]);
        if !stamped.is_empty() {
            self.store.check_writable()?;
            self.change_trees(0, |_| TreeChanges { stamped, ..TreeChanges::default() })?;
        }
        Ok(())
    }

    /// The entry that notes the drop of a logical database.
    pub(super) fn noted_drop_of(&self, logical: &Text) -> Notes {
        let name = FullName { logical: logical.clone(), collection: Text::default() };
        self.noted(NO_TREE, &name, || vec![Event::DropDatabase])
    }

    /// Changes trees, and wakes the readers of recorded changes.
    pub(super) fn change_trees(
        &self,
        indexes: u32,
        plan: impl FnOnce(&[TreeId]) -> TreeChanges,
    ) -> Result<Vec<TreeId>> {
        let changed = self.store.change_trees(indexes, plan);
        self.recorded_writes.note();
        changed
    }
}

impl Event {
    /// The event of a new collection.
    pub(super) fn created(options: &CollectionOptions) -> Self {
        let mut description = options.to_map();
        description.push("idIndex", options.id_index());
        Self::Create { description }
    }

    /// The event of a new index with this definition.
    pub(super) fn index_created(definition: Map) -> Self {
        Self::CreateIndexes { description: indexes(definition) }
    }

    /// The event of the drop of an index with this definition.
    pub(super) fn index_dropped(definition: Map) -> Self {
        Self::DropIndexes { description: indexes(definition) }
    }

    /// The events of a change of an index: the end of its build creates it, and later changes are those of the command
    /// `collMod`.
    pub(super) fn of_index(before: &Index, after: &Index) -> Vec<Self> {
        let (then, now): (&Definition, &Definition) = (&before.definition, &after.definition);
        match (before.ready, after.ready) {
            (_, None) => Vec::new(),
            (None, Some(_)) => vec![Self::index_created(now.to_map())],
            (Some(_), Some(_)) => {
                let mut index = Map::from([("name", now.name())]);
                if then.is_hidden() != now.is_hidden() {
                    index.push("hidden", now.is_hidden());
                }
                if let Some(seconds) = now.expire_after_s().filter(|now| then.expire_after_s() != Some(*now)) {
                    index.push("expireAfterSeconds", i64::from(seconds));
                }
                let modify = Self::Modify { description: Map::from([("index", index.clone())]) };
                Some(modify).filter(|_| index.len() > 1).into_iter().collect()
            }
        }
    }

    /// The events of a change of options: the indexes that are not built are among them.
    pub(super) fn of_options(before: &CollectionOptions, after: &CollectionOptions) -> Vec<Self> {
        let missing = |index: &&Unbuilt, from: &CollectionOptions| from.unbuilt.iter().all(|known| known != *index);
        let dropped = before.unbuilt.iter().filter(|index| missing(index, after));
        let created = after.unbuilt.iter().filter(|index| missing(index, before));
        let description = changed_options(before, after);
        let modify = Some(Self::Modify { description: description.clone() }).filter(|_| !description.is_empty());
        let dropped = dropped.map(|index| Self::index_dropped(index.to_map()));
        dropped.chain(created.map(|index| Self::index_created(index.to_map()))).chain(modify).collect()
    }
}

/// The description of the event of an index.
fn indexes(definition: Map) -> Map {
    Map::from([("indexes", Value::Array(vec![Value::Map(definition)]))])
}

/// The options that differ, in the form of the command `collMod`.
fn changed_options(before: &CollectionOptions, after: &CollectionOptions) -> Map {
    let mut changed = Map::new();
    let (then, now) = (validation(before.validator.as_ref()), validation(after.validator.as_ref()));
    changed
        .entries
        .extend(now.entries.into_iter().zip(then.entries).filter(|(now, then)| now != then).map(|(now, _)| now));
    if before.keeps_before != after.keeps_before {
        changed.push(IMAGES, Map::from([("enabled", after.keeps_before)]));
    }
    match after.capped {
        Some(limits) if before.capped != after.capped => {
            if before.capped.is_none() {
                changed.push("capped", true);
            }
            changed.push("cappedSize", limits.size_bytes.cast_signed());
            changed.push("cappedMax", limits.documents.unwrap_or_default().cast_signed());
        }
        None if before.capped.is_some() => changed.push("capped", false),
        _ => {}
    }
    changed
}

/// The three options of validation; those of a collection without a validator are the defaults.
fn validation(validator: Option<&Validator>) -> Map {
    let options = validator.map(Validator::to_options);
    options.unwrap_or_else(|| {
        let (rules, level, action) = (Value::Map(Map::new()), Value::from("strict"), Value::from("error"));
        Map::from([("validator", rules), ("validationLevel", level), ("validationAction", action)])
    })
}
