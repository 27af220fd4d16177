//! Reads a single file of a database, without the lock, and without changes.
//!
//! ```
//! use alluvium::inspect::{self, Item};
//! # let dir = tempfile::tempdir().expect("a directory");
//! # let db = alluvium::Database::builder().partitions(2).open(dir.path().join("db"))?;
//! # let path = dir.path().join("db/ALLUVIUM");
//! let mut partitions = None;
//! inspect::file(&path).run(|item| {
//!     if let Item::Fact(("partitions", value)) = item {
//!         partitions = Some(value);
//!     }
//! })?;
//! assert_eq!(partitions, Some(inspect::FactValue::Number(2)));
//! # alluvium::Result::Ok(())
//! ```

use crate::error::Result;
use crate::read_only::read_label;
use alluvium_codec::entry;
use alluvium_document::Document;
use alluvium_document::json::Format;
use alluvium_document::shape::{Shape, ShapeOptions, ShapeTable};
use alluvium_env::{Env, OpenMode};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

pub use alluvium_store::{Fact, FactValue, FileKind, InspectOptions, Item};

/// Reads a sorted file, a segment of the log, a manifest, a superblock, the listing of a checkpoint, or a file of a
/// read-only store. Calls `visit` for each item in the file, and for each damaged place. Documents in a sorted file are
/// reported as JSON if the file has their shapes.
///
/// ```
/// # let dir = tempfile::tempdir().expect("a directory");
/// # let path = dir.path().join("db");
/// use alluvium::inspect::{self, FileKind};
///
/// alluvium::Database::open(&path)?.close()?;
/// let file = path.join("ALLUVIUM");
/// let kind = inspect::file(&file).run(|item| println!("{item:?}"))?;
/// assert_eq!(kind, FileKind::Superblock);
/// # alluvium::Result::Ok(())
/// ```
///
/// # Errors
/// [`crate::error::ErrorKind::Open`] if the file is of another kind or of a newer format;
/// [`crate::ErrorKind::Io`].
pub fn file(env: &Env, path: &Path, options: InspectOptions, visit: &mut dyn FnMut(Item)) -> Result<FileKind> {
    if alluvium_readonly::is_superblock(env, path).map_err(alluvium_store::Error::from)? {
        return of_read_only(env, path, visit);
    }
    let mut rows = Rows::default();
    Ok(alluvium_store::inspect(env, path, options, &mut |item| {
        match item {
            Item::Definitions(tree, definitions) => rows.learn(tree, &definitions),
            Item::Row("entry", facts) => visit(Item::Row("entry", rows.decoded(facts))),
            item => visit(item),
        }
        Ok(())
    })?)
}

/// Reads the superblock of a read-only store.
fn of_read_only(env: &Env, path: &Path, visit: &mut dyn FnMut(Item)) -> Result<FileKind> {
    let (kind, number) = (FileKind::ReadOnly, |name, value| (name, FactValue::Number(value)));
    let text = |name, value: &str| (name, FactValue::Text(value.to_owned()));
    let bytes = env.fs.open(path, OpenMode::Read).and_then(|file| file.len()).map_err(alluvium_store::Error::from)?;
    visit(Item::Fact(text("file", &path.display().to_string())));
    visit(Item::Fact(text("kind", kind.name())));
    visit(Item::Fact(number("bytes", bytes)));
    let found = match alluvium_readonly::read_superblock(env, path) {
        Ok(Some(found)) => found,
        Ok(None) => {
            visit(Item::Fact(text("state", "a build goes on, or was cut short: it is written at the end")));
            return Ok(kind);
        }
        Err(alluvium_readonly::Error::Storage(alluvium_env::Error::Corrupt { offset, what, .. })) => {
            visit(Item::Damage(offset, what));
            return Ok(kind);
        }
        Err(error) => return Err(error.into()),
    };
    visit(Item::Fact(("id", FactValue::Id(found.id))));
    match read_label(&found.label) {
        Some((content, name)) => {
            visit(Item::Fact(text("content", content.name())));
            visit(Item::Fact(text("collection", &name.to_string())));
        }
        None => visit(Item::Fact(("label", FactValue::Bytes(found.label)))),
    }
    visit(Item::Fact(number("duplicates", found.duplicates)));
    for file in found.files {
        let mut facts = vec![text("name", &file.name), number("bytes", file.bytes)];
        facts.extend(file.interval.map(|interval| number("interval", interval)));
        let entries = if file.interval.is_some() { "index_entries" } else { "entries" };
        facts.push(number(entries, file.entries));
        facts.push(("footer", FactValue::Id(file.footer_checksum)));
        visit(Item::Row("file", facts));
    }
    Ok(kind)
}

/// Decodes the rows of a file.
#[derive(Default)]
struct Rows {
    /// The shapes of each tree of documents.
    tables: BTreeMap<u32, Arc<ShapeTable>>,
}

impl Rows {
    fn learn(&mut self, tree: u32, definitions: &BTreeMap<u32, Vec<u8>>) {
        // A damaged shape is skipped, so the rows that use it are not decoded.
        let shapes = definitions.values().filter_map(|bytes| Shape::decode(&mut bytes.as_slice()).ok());
        if let Ok(table) = ShapeTable::open(ShapeOptions::default(), shapes, 1) {
            self.tables.insert(tree, Arc::new(table));
        }
    }

    /// The facts about an entry, with the decoded document instead of the row.
    fn decoded(&self, mut facts: Vec<Fact>) -> Vec<Fact> {
        if let Some(json) = self.document(&facts) {
            for (_, value) in facts.iter_mut().filter(|(name, _)| *name == "value") {
                *value = FactValue::Json(json.clone());
            }
        }
        facts
    }

    fn document(&self, facts: &[Fact]) -> Option<String> {
        let fact = |wanted: &str| facts.iter().find(|(name, _)| *name == wanted).map(|(_, value)| value);
        let (Some(FactValue::Number(tree)), Some(FactValue::Number(seq))) = (fact("tree"), fact("sequence")) else {
            return None;
        };
        let (Some(FactValue::Key(key)), Some(FactValue::Bytes(value))) = (fact("key"), fact("value")) else {
            return None;
        };
        let row = match fact("kind") {
            Some(FactValue::Text(kind)) if kind == "put" => value.as_slice(),
            Some(FactValue::Text(kind)) if kind == "folded" => entry::split_folded(*seq, value).ok()?.1,
            _ => return None,
        };
        let table = self.tables.get(&u32::try_from(*tree).ok()?)?;
        let document = Document::from_row(table, key, row.to_vec()).ok()?;
        document.to_json(Format::RELAXED).ok()
    }
}
