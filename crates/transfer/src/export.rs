//! Exports of documents as JSON, CSV or BSON.
//!
//! An export can be loaded again ([`crate::load`]). BSON and canonical JSON preserve every type and the order of
//! fields; relaxed JSON does not distinguish a 64-bit integer that fits 32 bits from one of 32 bits. A document that a
//! load would change is refused with an error that names its `_id`.

mod separated;

pub use separated::{Separated, write_row};

use alluvium_collections::cursor::Cursor;
use alluvium_collections::error::id_text;
use alluvium_collections::error::{Error, Result};
use alluvium_collections::read::fields_of;
use alluvium_document::json::{self, Format as JsonFormat};
use alluvium_document::{Document, DocumentError, Value};

/// The format of an export.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Format {
    /// One JSON object per line.
    JsonLines,
    /// One JSON array, one element per line.
    JsonArray,
    /// CSV, with a first row of names; the [fields](Encoder::fields) must be given.
    Csv {
        /// The byte between two fields: a comma, or a tab for TSV.
        separator: u8,
    },
    /// BSON documents one after the other.
    Bson,
}

/// Writes documents in one format, one after the other.
///
/// ```
/// use alluvium::export::{Encoder, Format};
/// # let db = alluvium::Database::in_memory()?;
/// let pets = db.collection("pets");
/// pets.insert_one(r#"{"_id": "rex", "kind": "dog", "of": {"name": "Ann"}}"#)?;
/// let mut encoder = Encoder::new(Format::Csv { separator: b',' }).fields(["_id", "of.name"]);
/// let mut out = Vec::new();
/// encoder.begin(&mut out)?;
/// let mut cursor = pets.scan().run()?;
/// while encoder.write_next(&mut cursor, &mut out)? {}
/// encoder.end(&mut out);
/// assert_eq!(out, b"_id,of.name\nrex,Ann\n");
/// # alluvium::Result::Ok(())
/// ```
#[derive(Debug, Clone)]
pub struct Encoder {
    format: Format,
    json: JsonFormat,
    fields: Option<Vec<String>>,
    null: String,
    documents: u64,
}

impl Encoder {
    /// An encoder of whole documents; JSON is relaxed.
    ///
    /// ```
    /// # let db = alluvium::Database::in_memory()?;
    /// # let pets = db.collection("pets");
    /// # pets.insert_many([r#"{"_id": "ada", "age": 12}"#, r#"{"_id": "rex", "age": 3}"#, r#"{"_id": "tom", "age": 7}"#])?;
    /// # use alluvium::export::{Encoder, Format};
    /// let mut out = Vec::new();
    /// Encoder::new(Format::JsonLines).write_next(&mut pets.scan().limit(1).run()?, &mut out)?;
    /// assert_eq!(out, b"{\"_id\":\"ada\",\"age\":12}\n");
    /// # alluvium::Result::Ok(())
    /// ```
    pub fn new(format: Format) -> Self {
        Self { format, json: JsonFormat::RELAXED, fields: None, null: String::new(), documents: 0 }
    }

    /// Writes canonical extended JSON, which keeps every type, instead of relaxed JSON.
    ///
    /// ```
    /// # let db = alluvium::Database::in_memory()?;
    /// # let pets = db.collection("pets");
    /// # pets.insert_many([r#"{"_id": "ada", "age": 12}"#, r#"{"_id": "rex", "age": 3}"#, r#"{"_id": "tom", "age": 7}"#])?;
    /// # use alluvium::export::{Encoder, Format};
    /// let (mut encoder, mut out) = (Encoder::new(Format::JsonLines).canonical(true), Vec::new());
    /// encoder.write_next(&mut pets.scan().limit(1).run()?, &mut out)?;
    /// assert_eq!(out, b"{\"_id\":\"ada\",\"age\":{\"$numberInt\":\"12\"}}\n");
    /// # alluvium::Result::Ok(())
    /// ```
    #[must_use]
    pub fn canonical(mut self, canonical: bool) -> Self {
        self.json = JsonFormat { canonical, pretty: false };
        self
    }

    /// The text of null in CSV. A string with the same text is quoted. Default: empty, like a missing field.
    ///
    /// ```
    /// # let db = alluvium::Database::in_memory()?;
    /// # let pets = db.collection("pets");
    /// # use alluvium::export::{Encoder, Format};
    /// pets.insert_one(r#"{"_id": 1, "name": null}"#)?;
    /// let mut out = Vec::new();
    /// let mut encoder = Encoder::new(Format::Csv { separator: b',' }).fields(["_id", "name", "age"]).null("NA");
    /// encoder.write_next(&mut pets.scan().run()?, &mut out)?;
    /// assert_eq!(out, b"1,NA,\n");
    /// # alluvium::Result::Ok(())
    /// ```
    #[must_use]
    pub fn null(mut self, text: impl Into<String>) -> Self {
        self.null = text.into();
        self
    }

    /// Writes only these fields: in CSV they are the columns; in other formats each field has its path as its name and
    /// follows the `_id`, as in the documents of [`crate::Collection::get_fields`].
    ///
    /// ```
    /// # let db = alluvium::Database::in_memory()?;
    /// # let pets = db.collection("pets");
    /// # pets.insert_many([r#"{"_id": "ada", "age": 12}"#, r#"{"_id": "rex", "age": 3}"#, r#"{"_id": "tom", "age": 7}"#])?;
    /// # use alluvium::export::{Encoder, Format};
    /// let (mut encoder, mut out) = (Encoder::new(Format::Csv { separator: b'\t' }).fields(["age"]), Vec::new());
    /// encoder.begin(&mut out)?;
    /// encoder.write_next(&mut pets.scan().limit(1).run()?, &mut out)?;
    /// assert_eq!(out, b"age\n12\n");
    /// # alluvium::Result::Ok(())
    /// ```
    #[must_use]
    pub fn fields<P: Into<String>>(mut self, paths: impl IntoIterator<Item = P>) -> Self {
        self.fields = Some(paths.into_iter().map(Into::into).collect());
        self
    }

    /// Documents written so far.
    ///
    /// ```
    /// # let db = alluvium::Database::in_memory()?;
    /// # let pets = db.collection("pets");
    /// # pets.insert_many([r#"{"_id": "ada", "age": 12}"#, r#"{"_id": "rex", "age": 3}"#, r#"{"_id": "tom", "age": 7}"#])?;
    /// # use alluvium::export::{Encoder, Format};
    /// let (mut encoder, mut out) = (Encoder::new(Format::Bson), Vec::new());
    /// let mut cursor = pets.scan().run()?;
    /// while encoder.write_next(&mut cursor, &mut out)? {}
    /// assert_eq!(encoder.documents(), 3);
    /// # alluvium::Result::Ok(())
    /// ```
    pub fn documents(&self) -> u64 {
        self.documents
    }

    /// Appends the text that precedes the first document.
    ///
    /// ```
    /// # let db = alluvium::Database::in_memory()?;
    /// # let pets = db.collection("pets");
    /// # pets.insert_many([r#"{"_id": "ada", "age": 12}"#, r#"{"_id": "rex", "age": 3}"#, r#"{"_id": "tom", "age": 7}"#])?;
    /// # use alluvium::export::{Encoder, Format};
    /// let (mut encoder, mut out) = (Encoder::new(Format::JsonArray), Vec::new());
    /// encoder.begin(&mut out)?;
    /// assert_eq!(out, b"[");
    /// # alluvium::Result::Ok(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Export`] if the format is CSV and no fields are given.
    pub fn begin(&mut self, out: &mut Vec<u8>) -> Result<()> {
        match &self.format {
            Format::JsonArray => out.push(b'['),
            Format::Csv { separator } => match &self.fields {
                Some(names) if !names.is_empty() => {
                    write_row(*separator, "", names.iter().map(|name| Separated::Text(name)), out);
                }
                _ => return Err(Error::Export("CSV needs the names of its fields".to_owned())),
            },
            Format::JsonLines | Format::Bson => {}
        }
        Ok(())
    }

    /// Appends the text that follows the last document.
    ///
    /// ```
    /// # let db = alluvium::Database::in_memory()?;
    /// # let pets = db.collection("pets");
    /// # pets.insert_many([r#"{"_id": "ada", "age": 12}"#, r#"{"_id": "rex", "age": 3}"#, r#"{"_id": "tom", "age": 7}"#])?;
    /// # use alluvium::export::{Encoder, Format};
    /// let (mut encoder, mut out) = (Encoder::new(Format::JsonArray), Vec::new());
    /// encoder.begin(&mut out)?;
    /// encoder.end(&mut out);
    /// assert_eq!(out, b"[\n]\n");
    /// # alluvium::Result::Ok(())
    /// ```
    pub fn end(&mut self, out: &mut Vec<u8>) {
        if self.format == Format::JsonArray {
            out.extend_from_slice(b"\n]\n");
        }
    }

    fn document(
        &mut self,
        document: &Document,
        name: &alluvium_collections::names::FullName,
        out: &mut Vec<u8>,
    ) -> Result<()> {
        let before = out.len();
        if self.format == Format::JsonArray {
            out.extend_from_slice(if self.documents == 0 { b"\n" } else { b",\n" });
        }
        let written = match (&self.format, &self.fields) {
            (Format::Csv { separator }, Some(paths)) => {
                let row: Result<Vec<Cell>> = paths.iter().map(|path| cell(document, path, name)).collect();
                write_row(*separator, &self.null, row?.iter().map(Cell::field), out);
                self.documents += 1;
                return Ok(());
            }
            (_, Some(paths)) => {
                let paths: Vec<&str> = paths.iter().map(String::as_str).collect();
                let fields = fields_of(document, &paths, name)?;
                Document::from_map(&fields).map_err(DocumentError::from).and_then(|part| self.whole(&part, out))
            }
            _ => self.whole(document, out),
        };
        if let Err(error) = written {
            out.truncate(before);
            return Err(refused(document, name, error));
        }
        if self.format == Format::JsonLines {
            out.push(b'\n');
        }
        self.documents += 1;
        Ok(())
    }

    fn whole(&self, document: &Document, out: &mut Vec<u8>) -> std::result::Result<(), DocumentError> {
        if self.format == Format::Bson {
            return document.write_bson_exact(out);
        }
        document.check_json()?;
        if self.json.canonical {
            return Ok(json::print_map(&document.to_map()?, self.json, out)?);
        }
        document.write_json(out)
    }
}

/// The error for a document that cannot be written.
pub(crate) fn refused(
    document: &Document,
    name: &alluvium_collections::names::FullName,
    error: DocumentError,
) -> Error {
    let (collection, id) = (name.to_string(), id_text(document.id()));
    match error {
        DocumentError::Row(error) => Error::DamagedDocument { collection, id, reason: error.to_string() },
        DocumentError::Bson(_) => {
            let unfit = document.to_map().ok().and_then(|map| alluvium_document::bson::unfit(&map));
            let what = unfit.map_or_else(|| error.to_string(), |(path, error)| format!("{path}: {error}"));
            Error::Export(format!("document {id} of {collection} cannot be written: {what}"))
        }
        other => Error::Export(format!("document {id} of {collection} cannot be written: {other}")),
    }
}

/// The text of a field.
enum Cell {
    Missing,
    Null,
    Text(String),
}

impl Cell {
    fn field(&self) -> Separated<'_> {
        match self {
            Self::Missing => Separated::Missing,
            Self::Null => Separated::Null,
            Self::Text(text) => Separated::Text(text),
        }
    }
}

/// A field as text. Values that have no plain text become extended JSON.
fn cell(document: &Document, path: &str, name: &alluvium_collections::names::FullName) -> Result<Cell> {
    let damaged = |error: alluvium_document::row::RowError| refused(document, name, error.into());
    let Some(value) = document.get_path(path).map_err(damaged)? else { return Ok(Cell::Missing) };
    let value = value.to_value().map_err(damaged)?;
    Ok(Cell::Text(match value {
        Value::Null => return Ok(Cell::Null),
        Value::String(text) => text.into(),
        Value::Double(x) if !x.0.is_finite() => special(x.0).to_owned(),
        Value::Decimal(decimal) => decimal.to_string(),
        Value::ObjectId(id) => id.iter().map(|byte| format!("{byte:02x}")).collect(),
        Value::DateTime(millis) => json::date_to_iso(millis),
        other => json::to_string(&other, JsonFormat::RELAXED).map_err(|error| refused(document, name, error.into()))?,
    }))
}

fn special(x: f64) -> &'static str {
    match x {
        f64::INFINITY => "Infinity",
        f64::NEG_INFINITY => "-Infinity",
        _ => "NaN",
    }
}

impl Encoder {
    /// Appends the next document in the encoder's format; false if there is none.
    ///
    /// ```
    /// # let db = alluvium::Database::in_memory()?;
    /// # let pets = db.collection("pets");
    /// # pets.insert_many([r#"{"_id": "ada", "age": 12}"#, r#"{"_id": "rex", "age": 3}"#, r#"{"_id": "tom", "age": 7}"#])?;
    /// # use alluvium::export::{Encoder, Format};
    /// let (mut encoder, mut out) = (Encoder::new(Format::JsonLines), Vec::new());
    /// let mut cursor = pets.find(r#"{"age": {"$lt": 5}}"#).run()?;
    /// while encoder.write_next(&mut cursor, &mut out)? {}
    /// assert_eq!(out, b"{\"_id\":\"rex\",\"age\":3}\n");
    /// # alluvium::Result::Ok(())
    /// ```
    ///
    /// # Errors
    /// As the iterator's items; [`Error::Export`] naming a document that cannot be written, or that a load would
    /// change.
    pub fn write_next<T>(&mut self, cursor: &mut Cursor<T>, out: &mut Vec<u8>) -> Result<bool> {
        match cursor.next_document() {
            Some(document) => self.document(&document?, cursor.name(), out).map(|()| true),
            None => Ok(false),
        }
    }
}

#[cfg(test)]
mod tests;
