//! Finds fields of rows in one pass.

use super::RowError;
use super::view::{Form, MapRef, NESTED_ID, ValueRef};
use crate::encoding;
use crate::shape::{FieldKind, Shape};

/// Finds the top-level fields with certain names in rows. Each row is read once, up to the last of these fields, and
/// nothing is copied.
///
/// ```
/// use alluvium_document::Document;
/// use alluvium_document::row::FieldFinder;
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let pet = Document::from_json(r#"{"_id": 1, "name": "Ada", "age": 3}"#)?;
/// let mut finder = FieldFinder::new(["age", "kind", "name"]);
/// finder.find(pet.map()?)?;
/// assert_eq!(finder.value(pet.map()?, 0)?.and_then(|age| age.as_i64()), Some(3));
/// assert!(finder.value(pet.map()?, 1)?.is_none());
/// assert_eq!(finder.value(pet.map()?, 2)?.and_then(|name| name.as_str()), Some("Ada"));
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct FieldFinder {
    names: Vec<Box<str>>,
    /// The identity of the shape of the last row. Consecutive rows usually have the same shape.
    shape: Option<u64>,
    /// The stored fields of this shape that are searched, in the order of the row: the number of values before the
    /// field, and its position in `names`.
    stored: Vec<(usize, usize)>,
    /// The places of the fields in the last row, in the order of `names`.
    places: Vec<Place>,
}

#[derive(Debug, Clone, Copy)]
enum Place {
    Missing,
    /// The number of bytes before the value.
    At(usize),
    /// The value is the `_id` of the key.
    Id,
}

impl FieldFinder {
    /// A finder of the first fields with these names.
    pub fn new<N: Into<Box<str>>>(names: impl IntoIterator<Item = N>) -> Self {
        let names: Vec<Box<str>> = names.into_iter().map(N::into).collect();
        let places = vec![Place::Missing; names.len()];
        Self { names, shape: None, stored: Vec::new(), places }
    }

    /// Finds the fields of a row.
    ///
    /// # Errors
    /// [`RowError`] if the row is damaged. Afterwards the finder has no fields.
    pub fn find(&mut self, row: MapRef<'_>) -> Result<(), RowError> {
        match row.form {
            Form::Shaped { shape, .. } => self.find_shaped(shape, row.bytes),
            Form::Plain { count } => self.find_plain(row, count),
        }
    }

    /// The value of the field whose name is at `position` in the list of names. `row` is the row that was last passed
    /// to [`FieldFinder::find`].
    ///
    /// # Errors
    /// [`RowError`] if the value is damaged.
    #[inline]
    pub fn value<'a>(&self, row: MapRef<'a>, position: usize) -> Result<Option<ValueRef<'a>>, RowError> {
        let mut bytes = match (self.places.get(position), row.form) {
            (Some(Place::At(before)), _) => row.bytes.get(*before..).unwrap_or_default(),
            (Some(Place::Id), Form::Shaped { id, .. }) => id.ok_or(NESTED_ID)?,
            _ => return Ok(None),
        };
        ValueRef::take(&mut bytes, row.table).map(Some)
    }

    fn find_shaped(&mut self, shape: &Shape, row: &[u8]) -> Result<(), RowError> {
        if self.shape != Some(shape.identity()) {
            self.begin_shape(shape);
        }
        let (mut rest, mut passed) = (row, 0);
        for &(before, name) in &self.stored {
            for _ in passed..before {
                encoding::skip(&mut rest)?;
            }
            // The value is not consumed, because a name may occur twice in `names`.
            passed = before;
            self.places[name] = Place::At(row.len() - rest.len());
        }
        Ok(())
    }

    /// Looks up the fields in a shape. Called when the shape differs from the shape of the previous row.
    fn begin_shape(&mut self, shape: &Shape) {
        self.shape = Some(shape.identity());
        self.stored.clear();
        for (at, name) in self.names.iter().enumerate() {
            self.places[at] = Place::Missing;
            let Some(position) = shape.position(name) else { continue };
            match shape.fields()[position].kind {
                FieldKind::Stored => self.stored.push((shape.stored_before(position), at)),
                FieldKind::IsId => self.places[at] = Place::Id,
            }
        }
        self.stored.sort_unstable();
    }

    fn find_plain(&mut self, row: MapRef<'_>, count: usize) -> Result<(), RowError> {
        self.shape = None;
        self.places.fill(Place::Missing);
        let mut missing = self.names.len();
        let mut rest = row.bytes;
        for _ in 0..count {
            if missing == 0 {
                break;
            }
            let key = ValueRef::take(&mut rest, row.table)?;
            let before = row.bytes.len() - rest.len();
            for (name, place) in self.names.iter().zip(&mut self.places) {
                if matches!(place, Place::Missing) && key.as_str() == Some(name) {
                    *place = Place::At(before);
                    missing -= 1;
                }
            }
            encoding::skip(&mut rest)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
