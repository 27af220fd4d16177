//! Recorded changes, replayed into the model.

use super::{Id, State};
use alluvium::{Change, ChangeEvent, ChangeScope, Database, Map, Value};

fn id_of(value: Option<&Value>) -> Id {
    let id = value.unwrap_or_else(|| panic!("a change of a document without its _id"));
    Id::of(id).unwrap_or_else(|| panic!("no test writes the _id {id:?}"))
}

impl State {
    /// Applies a recorded change. Changes of indexes and options have no effect.
    ///
    /// # Panics
    /// If the change does not fit the state.
    pub fn apply(&mut self, change: &Change) {
        let name = change.name.to_string();
        let id = || id_of(change.event.id());
        if let Some(before) = &change.before {
            assert_eq!(self.get(&name, &id()).map(|map| &**map), Some(before), "{change:?}");
        }
        let is_new = |document: &Map| self.get(&name, &id_of(document.get("_id"))).is_none();
        match &change.event {
            ChangeEvent::Create { .. } => assert!(self.create(&name), "{change:?}"),
            ChangeEvent::Drop => assert!(self.collections.remove(&name).is_some(), "{change:?}"),
            ChangeEvent::Rename { to } => {
                let contents = self.collections.remove(&name);
                self.collections.insert(to.to_string(), contents.unwrap_or_else(|| panic!("{change:?}")));
            }
            ChangeEvent::Insert { document } | ChangeEvent::Replace { document } => {
                let is_insert = matches!(change.event, ChangeEvent::Insert { .. });
                assert_eq!(is_new(document), is_insert, "{change:?}");
                self.put(&name, id(), document.clone());
            }
            ChangeEvent::Update { difference, .. } => {
                let found = self.get(&name, &id()).unwrap_or_else(|| panic!("no document: {change:?}"));
                let mut document = Map::clone(found);
                difference.apply(&mut document).unwrap_or_else(|error| panic!("{error}: {change:?}"));
                self.put(&name, id(), document);
            }
            ChangeEvent::Delete { .. } => assert!(self.delete(&name, &id()), "{change:?}"),
            ChangeEvent::CreateIndexes { .. }
            | ChangeEvent::DropIndexes { .. }
            | ChangeEvent::Modify { .. }
            | ChangeEvent::DropDatabase => {}
        }
    }
}

/// Reads all recorded changes of a database. Their numbers must ascend, and a batch be whole.
///
/// # Errors
/// As for [`Database::changes`].
///
/// # Panics
/// If a number is wrong.
pub fn recorded_changes(db: &Database) -> alluvium::Result<Vec<Change>> {
    let mut changes: Vec<Change> = Vec::new();
    for change in db.changes(&ChangeScope::Everything, None)? {
        let change = change?;
        if let Some(last) = changes.last() {
            let follows = last.number < change.number && (last.batch == change.batch || last.batch < change.number);
            assert!(follows, "{change:?} after {last:?}");
        }
        changes.push(change);
    }
    Ok(changes)
}
