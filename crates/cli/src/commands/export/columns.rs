//! The columns of a CSV file: the fields that the documents have.

use crate::exit::{Failure, Outcome};
use crate::signals::Stop;
use alluvium::{Cursor, Map, Value};
use alluvium_document::path::FieldPath;
use std::collections::HashMap;

/// A file with more columns is not useful as a table.
const MOST_COLUMNS: usize = 10_000;

/// The fields of a map, in the order in which they first occurred.
#[derive(Default)]
struct Fields {
    names: Vec<String>,
    by_name: HashMap<String, Field>,
}

#[derive(Default)]
struct Field {
    /// True if some document has a value here that is not a map. The field is then a column, and
    /// maps in it are written as JSON.
    is_value: bool,
    below: Fields,
}

impl Fields {
    fn add(&mut self, map: &Map, columns: &mut usize) {
        for (name, value) in map.iter() {
            // A name that is not a valid path cannot become a column.
            let Some(name) = name.as_str().filter(|name| is_path(name)) else { continue };
            if !self.by_name.contains_key(name) {
                self.names.push(name.to_owned());
                *columns += 1;
            }
            let field = self.by_name.entry(name.to_owned()).or_default();
            match value {
                Value::Map(map) if is_tree(map) => field.below.add(map, columns),
                Value::Null => {}
                _ => field.is_value = true,
            }
        }
    }

    fn paths(&self, above: &str, paths: &mut Vec<String>) {
        for name in &self.names {
            let path = if above.is_empty() { name.clone() } else { format!("{above}.{name}") };
            match self.by_name.get(name) {
                Some(field) if !field.is_value && !field.below.names.is_empty() => field.below.paths(&path, paths),
                _ => paths.push(path),
            }
        }
    }
}

fn is_path(name: &str) -> bool {
    !name.contains('.') && !name.starts_with('$') && name.parse::<FieldPath>().is_ok()
}

/// True for a map whose fields can be columns. A map with a name that is a number cannot, because in a path such a name
/// would select an element of an array.
fn is_tree(map: &Map) -> bool {
    let name = |name: &str| is_path(name) && !name.bytes().all(|byte| byte.is_ascii_digit());
    !map.is_empty() && map.iter().all(|(key, _)| key.as_str().is_some_and(name))
}

/// The paths of all fields of the documents.
pub(super) fn of(cursor: Cursor, stop: &Stop) -> Outcome<Vec<String>> {
    let (mut fields, mut columns) = (Fields::default(), 0);
    for document in cursor {
        stop.check()?;
        let document = document?;
        let map = document.to_map().map_err(|error| {
            let id = crate::settings::ids::show(document.id());
            Failure::Damaged(format!("document {id} is damaged: {error}"))
        })?;
        fields.add(&map, &mut columns);
        if columns > MOST_COLUMNS {
            let what = format!("the documents have more than {MOST_COLUMNS} fields: name the columns with --fields");
            return Err(Failure::Other(what));
        }
    }
    let mut paths = Vec::new();
    fields.paths("", &mut paths);
    if paths.is_empty() {
        paths.push("_id".to_owned());
    }
    Ok(paths)
}
