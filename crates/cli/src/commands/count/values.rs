//! Counts of documents by the values of fields: the pipeline that counts, and the output.

use crate::exit::{Failure, Outcome};
use crate::notes;
use crate::output::format::FormatName;
use crate::output::rows::{self, Heading};
use crate::signals::Stop;
use crate::tally::{self, Counted, TooMany};
use crate::text;
use alluvium::{Cursor, Document, Map, Value, doc};

/// The stages that count documents by the values of fields, the most frequent first. A missing field
/// counts as null.
pub(super) fn pipeline(filter: Option<Map>, paths: &[&str]) -> Vec<Map> {
    let value = |path: &&str| Value::from(format!("${path}"));
    let group: Value = match paths {
        [path] => value(path),
        _ => {
            let or_null = |path| Value::Map(doc! { "$ifNull": Value::Array(vec![value(path), Value::Null]) });
            let named = paths.iter().enumerate().map(|(at, path)| (at.to_string(), or_null(path)));
            Value::Map(named.collect())
        }
    };
    let matching = filter.map(|filter| doc! { "$match": filter });
    let counting =
        [doc! { "$group": { "_id": group, "count": { "$sum": 1 } } }, doc! { "$sort": { "count": -1, "_id": 1 } }];
    matching.into_iter().chain(counting).collect()
}

/// The results of [`pipeline`].
pub(super) fn of_groups(cursor: Cursor, paths: &[&str], stop: &Stop) -> impl Iterator<Item = Outcome<Counted>> {
    cursor.map(move |group| {
        stop.check()?;
        counted(&group?, paths.len())
    })
}

fn counted(group: &Document, parts: usize) -> Outcome<Counted> {
    let map = group.to_map().map_err(|error| Failure::Damaged(format!("a group is damaged: {error}")))?;
    let values = match map.get("_id").cloned().unwrap_or_default() {
        Value::Map(id) if parts > 1 => id.entries.into_iter().map(|(_, value)| value).collect(),
        id => vec![id],
    };
    let count = map.get("count").and_then(Value::as_i64).and_then(|count| u64::try_from(count).ok());
    Ok(Counted { values, count: count.unwrap_or_default() })
}

/// The failure for values that do not fit the memory of a tally.
pub(in crate::commands) fn too_many(error: &TooMany) -> Failure {
    Failure::Other(format!(
        "there are more than {}, which take more than the {} that counting may use: count by a field with fewer values, or \
         only the documents that match a filter",
        text::counted(error.values, "different value"),
        text::bytes(tally::MOST_BYTES as u64),
    ))
}

/// How counts are printed.
pub(in crate::commands) struct Counts<'a> {
    pub paths: &'a [&'a str],
    /// The most values that are printed; `None` or 0 means all.
    pub limit: Option<u64>,
    pub as_json: bool,
    pub format: Option<FormatName>,
}

/// The printed counts.
pub(in crate::commands) struct Printed<'a> {
    pub is_empty: bool,
    /// The paths that have no value except null.
    pub only_null: Vec<&'a str>,
}

impl<'a> Counts<'a> {
    /// Prints values with their counts. If there is a limit, also prints a note about the other values.
    pub(in crate::commands) fn print(
        &self,
        mut counted: impl Iterator<Item = Outcome<Counted>>,
    ) -> Outcome<Printed<'a>> {
        let paths = self.paths;
        // A field may itself be called `count`.
        let count = if paths.contains(&"count") { "documents" } else { "count" };
        let columns: Vec<Heading> = paths.iter().copied().chain([count]).map(Heading::from).collect();
        let mut printed = Printed { is_empty: true, only_null: paths.to_vec() };
        let limit = self.limit.filter(|limit| *limit > 0).and_then(|limit| usize::try_from(limit).ok());
        let rows = counted.by_ref().take(limit.unwrap_or(usize::MAX)).map(|counted| {
            let counted = counted?;
            printed.see(&counted, paths);
            let mut row: Map = paths.iter().copied().zip(counted.values).collect();
            row.push(count, counted.count);
            Ok(row)
        });
        rows::print_figures(rows, &columns, self.as_json, self.format.unwrap_or(FormatName::Table))?;
        let (mut values, mut documents) = (0, 0);
        for counted in counted {
            let counted = counted?;
            printed.see(&counted, paths);
            values += 1;
            documents += counted.count;
        }
        if values > 0 {
            let (values, documents) = (text::counted(values, "more value"), text::counted(documents, "document"));
            notes::say(&format!("{values}, with {documents}"));
        }
        Ok(printed)
    }
}

impl Printed<'_> {
    fn see(&mut self, counted: &Counted, paths: &[&str]) {
        self.is_empty = false;
        if self.only_null.is_empty() {
            return;
        }
        for (path, value) in paths.iter().zip(&counted.values) {
            if *value != Value::Null {
                self.only_null.retain(|known| known != path);
            }
        }
    }
}
