//! What stands in a single file of a database: without its lock, and without changing anything.
//!
//! ```
//! use alluvium::inspect::{self, Item};
//! # fn main() -> alluvium::Result<()> {
//! # let dir = tempfile::tempdir().expect("a directory");
//! # let db = alluvium::Database::builder().partitions(2).open(dir.path().join("db"))?;
//! # let path = dir.path().join("db/ALLUVIUM");
//! let mut partitions = None;
//! inspect::file(&env::Env::os(), &path, inspect::InspectOptions::default(), &mut |item| {
//!     if let Item::Fact(("partitions", value)) = item {
//!         partitions = Some(value);
//!     }
//! })?;
//! assert_eq!(partitions, Some(inspect::FactValue::Number(2)));
//! # Ok(())
//! # }
//! ```

use crate::Result;
use codec::entry;
use document::Document;
use document::json::Format;
use document::shape::{Shape, ShapeOptions, ShapeTable};
use env::Env;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

pub use store::{Fact, FactValue, FileKind, InspectOptions, Item};

/// Reads a sorted file, a segment of the log, a manifest, a superblock or the listing of a checkpoint, and tells
/// `visit` what stands in it, also where it is damaged. Documents in a sorted file are told of as JSON, where the file
/// has their shapes.
///
/// ```
/// # let dir = tempfile::tempdir().expect("a directory");
/// # let path = dir.path().join("db");
/// use alluvium::inspect::{self, FileKind, InspectOptions};
///
/// alluvium::Database::open(&path)?.close()?;
/// let file = path.join("ALLUVIUM");
/// let kind = inspect::file(&env::Env::os(), &file, InspectOptions::default(), &mut |item| println!("{item:?}"))?;
/// assert_eq!(kind, FileKind::Superblock);
/// # alluvium::Result::Ok(())
/// ```
///
/// # Errors
/// [`crate::ErrorKind::Open`] if it is no such file or of a newer format; [`crate::ErrorKind::Io`].
pub fn file(env: &Env, path: &Path, options: InspectOptions, visit: &mut dyn FnMut(Item)) -> Result<FileKind> {
    let mut rows = Rows::default();
    Ok(store::inspect(env, path, options, &mut |item| {
        match item {
            Item::Definitions(tree, definitions) => rows.learn(tree, &definitions),
            Item::Row("entry", facts) => visit(Item::Row("entry", rows.decoded(facts))),
            item => visit(item),
        }
        Ok(())
    })?)
}

/// Decodes the rows of a file.
#[derive(Default)]
struct Rows {
    /// The shapes of each tree of documents.
    tables: BTreeMap<u32, Arc<ShapeTable>>,
}

impl Rows {
    fn learn(&mut self, tree: u32, definitions: &BTreeMap<u32, Vec<u8>>) {
        // What is damaged is missed by the rows that use it.
        let shapes = definitions.values().filter_map(|bytes| Shape::decode(&mut bytes.as_slice()).ok());
        if let Ok(table) = ShapeTable::open(ShapeOptions::default(), shapes, 1) {
            self.tables.insert(tree, Arc::new(table));
        }
    }

    /// What is told of an entry, with the document in place of its row if it is one.
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
