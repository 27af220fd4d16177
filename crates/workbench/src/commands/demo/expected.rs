//! The documents that a collection must have: the lines of the generator, with the changes made by
//! the demo.

use crate::comments::Generator;
use alluvium::{Collection, Document, Draft, Map, Value};
use alluvium_cli::exit::{Failure, Outcome};
use alluvium_cli::settings::ids;
use alluvium_document::json::{self, Format};
use std::collections::HashSet;

/// The changes after loading.
#[derive(Default)]
pub(super) struct Changes {
    /// Ids of documents whose score was increased by one.
    pub updated: HashSet<String>,
    /// Ids of documents that were deleted.
    pub deleted: HashSet<String>,
}

impl Changes {
    /// Returns an error if a document still has its loaded content although the demo changed it.
    fn refuse_unchanged(&self, id: &Value) -> Outcome {
        let is_changed = id.as_str().is_some_and(|id| self.updated.contains(id) || self.deleted.contains(id));
        match is_changed {
            true => Err(Failure::Damaged(format!("the last change of document {} is lost", ids::show(id)))),
            false => Ok(()),
        }
    }
}

/// Compares every document of a collection with the generator's lines. The first `least` lines must
/// exist. No line may exist after a missing line. Returns the number of documents.
pub(super) fn check(collection: &Collection, seed: u64, least: u64, changes: &Changes) -> Outcome<u64> {
    let mut lines = Lines { comments: Generator::new(seed), line: Vec::new(), taken: 0 };
    let mut documents = 0;
    for document in collection.scan().run()? {
        lines.advance_to(&document?, changes)?;
        documents += 1;
    }
    let behind = lines.deleted_next(least, changes)?;
    if behind < least {
        let text = format!("only the first {behind} lines are in the collection, not all of the {least} acknowledged");
        return Err(Failure::Damaged(text));
    }
    Ok(documents)
}

struct Lines {
    comments: Generator,
    line: Vec<u8>,
    taken: u64,
}

impl Lines {
    fn advance(&mut self) {
        self.line.clear();
        self.comments.write_line(&mut self.line);
        self.line.pop();
        self.taken += 1;
    }

    /// Advances to the line of this document, and skips lines of deleted documents.
    fn advance_to(&mut self, document: &Document, changes: &Changes) -> Outcome {
        let stored = document.to_map().map_err(|error| {
            Failure::Damaged(format!("document {} cannot be decoded: {error}", ids::show(document.id())))
        })?;
        let mut printed = Vec::with_capacity(2048);
        json::print_map(&stored, Format::RELAXED, &mut printed).map_err(|e| Failure::Other(e.to_string()))?;
        loop {
            self.advance();
            if is_as_loaded(&printed, document.id(), &self.line) {
                return changes.refuse_unchanged(document.id());
            }
            // The texts differ: the document was changed by the demo, deleted, or damaged.
            let mut map = parse(&self.line)?;
            let id = map.get("id").and_then(Value::as_str).unwrap_or_default().to_owned();
            if changes.deleted.contains(&id) {
                continue;
            }
            if changes.updated.contains(&id) {
                raise_score(&mut map);
            }
            map.entries.insert(0, (Value::from("_id"), Value::from(id)));
            return match map == stored {
                true => Ok(()),
                false => Err(Failure::Damaged(format!(
                    "document {} is not the one of line {}",
                    ids::show(document.id()),
                    self.taken
                ))),
            };
        }
    }

    /// The number of lines from the start that are accounted for, including directly following
    /// lines of deleted documents.
    fn deleted_next(&mut self, least: u64, changes: &Changes) -> Outcome<u64> {
        let mut accounted = self.taken;
        while accounted < least {
            self.advance();
            let map = parse(&self.line)?;
            let id = map.get("id").and_then(Value::as_str).unwrap_or_default();
            if !changes.deleted.contains(id) {
                break;
            }
            accounted += 1;
        }
        Ok(accounted)
    }
}

/// True if the printed document is `{"_id":…,` followed by the line without its opening brace.
fn is_as_loaded(printed: &[u8], id: &Value, line: &[u8]) -> bool {
    let Some(id) = id.as_str() else { return false };
    let mut rest = printed;
    let parts: [&[u8]; 4] = [b"{\"_id\":\"", id.as_bytes(), b"\",", line.get(1..).unwrap_or(b"")];
    for part in parts {
        match rest.strip_prefix(part) {
            Some(behind) => rest = behind,
            None => return false,
        }
    }
    rest.is_empty()
}

fn parse(line: &[u8]) -> Outcome<Map> {
    match json::parse(line) {
        Ok(Value::Map(map)) => Ok(map),
        _ => Err(Failure::Other("a generated line is not a document".to_owned())),
    }
}

/// Applies the update to a parsed line.
fn raise_score(map: &mut Map) {
    let raised = raised(map.get("score"));
    map.insert("score", raised);
}

/// Applies the update to a document in the database.
pub(super) fn raise_score_of(draft: &mut Draft) -> alluvium::Result<()> {
    let raised = raised(draft.get("score")?.as_ref());
    Ok(draft.set("score", raised)?)
}

fn raised(score: Option<&Value>) -> Value {
    let raised = score.and_then(Value::as_i64).unwrap_or(0).saturating_add(1);
    // The parser of JSON also chooses the smallest integer type that can represent a number.
    i32::try_from(raised).map_or_else(|_| Value::from(raised), Value::from)
}

#[cfg(test)]
mod tests;
