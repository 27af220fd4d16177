//! Notes on standard error about names that look mistyped: a field that occurs in no known document, or an operator
//! without its dollar sign.

mod types;

use crate::operators::{self, without_dollar};
use crate::streams;
use crate::text;
use alluvium::{Collection, Error, Map, ReadOnly, Scan, Value};
use std::collections::BTreeSet;
use std::io::Write;

/// The number of documents that are read to collect names of rare fields.
const SAMPLE: u64 = 100;
/// The maximum number of known fields that a note lists.
const MOST_LISTED: usize = 12;

/// The documents that notes are about.
pub(crate) trait Noted {
    /// The full name of the collection.
    fn name(&self) -> String;
    /// The names that many documents share.
    fn shared_names(&self) -> Vec<String>;
    /// All documents.
    fn documents(&self) -> Scan;
}

impl Noted for Collection {
    fn name(&self) -> String {
        self.full_name().map(|name| name.to_string()).unwrap_or_default()
    }

    fn shared_names(&self) -> Vec<String> {
        self.field_names().unwrap_or_default()
    }

    fn documents(&self) -> Scan {
        self.scan()
    }
}

impl Noted for ReadOnly {
    fn name(&self) -> String {
        self.collection()
    }

    fn shared_names(&self) -> Vec<String> {
        self.field_names()
    }

    fn documents(&self) -> Scan {
        self.scan()
    }
}

/// The known fields of a collection.
pub(crate) struct Fields {
    collection: String,
    names: Vec<String>,
}

impl Fields {
    /// The known fields of a collection; empty if they cannot be read.
    pub(crate) fn of(collection: &impl Noted) -> Self {
        Self { collection: collection.name(), names: names(collection) }
    }

    /// A note about a path, if one of the names in it is unknown.
    pub(crate) fn note(&self, path: &str) -> Option<String> {
        let unknown = path.split('.').find(|name| !self.is_known(name))?;
        let (shown, collection) = (text::plain(unknown), text::plain(&self.collection));
        Some(match nearest(unknown, self.names.iter().map(String::as_str)) {
            Some(name) => format!("no field {shown} is known in {collection}: did you mean {}?", text::plain(name)),
            None => {
                let mut listed: Vec<String> =
                    self.names.iter().take(MOST_LISTED).map(|name| text::plain(name)).collect();
                if self.names.len() > MOST_LISTED {
                    listed.push("…".to_owned());
                }
                format!("no field {shown} is known in {collection}, which has {}", listed.join(", "))
            }
        })
    }

    /// True for a known name, and for positions in arrays and `$`, which are not field names. If no fields are known,
    /// all names are accepted.
    fn is_known(&self, name: &str) -> bool {
        self.names.is_empty()
            || name.is_empty()
            || name.starts_with('$')
            || name.bytes().all(|byte| byte.is_ascii_digit())
            || self.names.iter().any(|known| known == name)
    }

    /// Notes about a filter that matched no documents.
    pub(crate) fn of_filter(&self, filter: &Map) -> Vec<String> {
        let mut notes = Vec::new();
        self.walk(filter, &mut notes);
        notes.dedup();
        notes
    }

    fn walk(&self, filter: &Map, notes: &mut Vec<String>) {
        for (name, value) in filter.iter() {
            let Some(name) = name.as_str() else { continue };
            if name.starts_with('$') {
                self.walk_value(value, notes);
            } else if let Some(operator) = without_dollar(operators::FILTER, name)
                && !self.names.iter().any(|known| known == name)
            {
                notes.push(format!("{name} is the name of a field here: did you mean {operator}?"));
            } else {
                notes.extend(self.note(name));
                if let Value::Map(map) = value {
                    self.walk(map, notes);
                }
            }
        }
    }

    /// Examines the operand of an operator, which may be a filter or contain one.
    fn walk_value(&self, value: &Value, notes: &mut Vec<String>) {
        match value {
            Value::Map(map) => self.walk(map, notes),
            Value::Array(values) => values.iter().for_each(|value| self.walk_value(value, notes)),
            _ => {}
        }
    }

    /// Prints notes about a filter that matched no documents.
    pub(crate) fn print_of_filter(collection: &impl Noted, filter: &Map) {
        if !filter.is_empty() {
            let mut notes = Self::of(collection).of_filter(filter);
            if notes.is_empty() {
                notes = types::notes(collection, filter);
            }
            print(&notes);
        }
    }

    /// The paths that contain unknown names.
    pub(crate) fn unknown<'p>(&self, paths: impl IntoIterator<Item = &'p str>) -> Vec<&'p str> {
        paths.into_iter().filter(|path| self.note(path).is_some()).collect()
    }

    /// Prints notes about paths.
    pub(crate) fn print_of_paths<'p>(&self, paths: impl IntoIterator<Item = &'p str>) {
        let notes: Vec<String> = paths.into_iter().filter_map(|path| self.note(path)).collect();
        print(&notes);
    }
}

/// The field names of a collection, at any depth, sorted: names that many documents share, and names in the first
/// documents.
pub(crate) fn names(collection: &impl Noted) -> Vec<String> {
    let mut names: BTreeSet<String> = collection.shared_names().into_iter().collect();
    if let Ok(cursor) = collection.documents().limit(SAMPLE).run() {
        for map in cursor.filter_map(|document| document.ok()?.to_map().ok()) {
            add_names(&map, &mut names);
        }
    }
    names.into_iter().collect()
}

fn add_names(map: &Map, names: &mut BTreeSet<String>) {
    for (name, value) in map.iter() {
        if let Some(name) = name.as_str().filter(|name| !names.contains(*name)) {
            names.insert(name.to_owned());
        }
        match value {
            Value::Map(map) => add_names(map, names),
            Value::Array(values) => {
                let maps = values.iter().filter_map(|value| if let Value::Map(map) = value { Some(map) } else { None });
                maps.for_each(|map| add_names(map, names));
            }
            _ => {}
        }
    }
}

/// The names of a sort or a projection.
pub(crate) fn names_of(map: &Map) -> impl Iterator<Item = &str> {
    map.iter().filter_map(|(name, _)| name.as_str())
}

/// The name of an update operator without its dollar sign, if the update has one.
pub(crate) fn update_without_dollar(update: &Map) -> Option<String> {
    let mut names = names_of(update).filter_map(|name| Some((name, without_dollar(operators::UPDATE, name)?)));
    names.next().map(|(name, operator)| format!("{name} is the name of a field here: did you mean {operator}?"))
}

/// The most similar name, if one is similar enough.
pub(crate) fn nearest<'n>(name: &str, names: impl IntoIterator<Item = &'n str>) -> Option<&'n str> {
    let lower = name.to_lowercase();
    let distance = |other: &str| strsim::damerau_levenshtein(&lower, &other.to_lowercase());
    // Of equally similar names, one of the same length is preferred, because letters are exchanged more often than left
    // out.
    let longer = |other: &str| other.chars().count().abs_diff(name.chars().count());
    let found = names.into_iter().map(|other| ((distance(other), longer(other)), other)).min()?;
    (found.0.0 <= (name.chars().count() / 3).clamp(1, 3)).then_some(found.1)
}

/// If a collection does not exist, prints a note with the most similar name, because a read of a missing collection
/// returns nothing.
pub(crate) fn print_if_missing(collection: &Collection) {
    if let Err(error @ Error::NoSuchCollection { .. }) = collection.require_existing() {
        print(&[error.to_string()]);
    }
}

fn print(notes: &[String]) {
    notes.iter().for_each(|note| say(note));
}

/// Prints a note, on one line.
pub(crate) fn say(note: &str) {
    // If standard error is closed, there is nowhere to report it.
    let _closed = writeln!(streams::error(), "note: {}", text::plain(note));
}

#[cfg(test)]
mod tests;
