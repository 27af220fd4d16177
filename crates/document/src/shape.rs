//! Shapes: the field names that documents (and maps inside them) share, so that rows contain only
//! values.
//!
//! A shape is an ordered list of names, each with a kind, under a number in its collection. A shape never changes, and
//! its number is never reused.

use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};

use alluvium_codec::varint;

mod table;

pub(crate) use table::hash_fields;
pub use table::{ShapeOptions, ShapeTable};

/// The maximum number of fields of a shape. A map with more fields stays self-describing.
pub const MAX_FIELDS: usize = 2048;

/// The maximum total number of bytes of the names of a shape. A map with longer names stays self-describing.
pub const MAX_NAME_BYTES: usize = 64 * 1024;

/// The highest number of a shape. When it is reached, no more shapes are created, and maps stay self-describing.
pub const MAX_NUMBER: u32 = (1 << 20) - 1;

/// The reason why a shape was refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ShapeError {
    /// The bytes of a definition cannot be decoded.
    #[error("a shape's definition is damaged: {0}")]
    Decode(#[from] alluvium_codec::DecodeError),
    /// A definition that no encoder writes.
    #[error("a shape's definition is damaged: {0}")]
    Invalid(&'static str),
    /// Two different definitions have the same number.
    #[error("shape {0} is defined twice, differently")]
    Conflict(u32),
}

/// The content of a row for a field.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum FieldKind {
    /// The row holds the field's value.
    Stored,
    /// The field equals the document's `_id`, which is restored from the key. The row contains nothing for it.
    IsId,
}

/// A field of a shape.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Field {
    /// The name.
    pub name: Box<str>,
    /// The content of a row for it.
    pub kind: FieldKind,
}

/// An ordered list of field names, with a number.
#[derive(Debug)]
pub struct Shape {
    number: u32,
    /// A number that no other shape of this process has, whatever its table.
    identity: u64,
    hash: u64,
    fields: Box<[Field]>,
    /// A hash table with open addressing over the names. A slot holds position + 1; 0 is empty. `None` for few fields.
    lookup: Option<Box<[u16]>>,
    /// `,"name":` for every field, escaped as JSON.
    json: Pieces,
    /// The beginning of every field in BSON: a byte for the type, the name, and a zero.
    bson: Pieces,
    /// For each field, the number of stored fields before it.
    stored_before: Box<[u16]>,
    /// True if a name contains a zero, which BSON does not allow.
    has_zero_in_name: bool,
    /// True if the definition is visible in the system tree, so that batches need not include it.
    committed: AtomicBool,
    /// The place that has a copy of the definition; see [`Shape::note_copy`].
    copied_to: AtomicU32,
}

impl PartialEq for Shape {
    /// True if number and fields are equal.
    fn eq(&self, other: &Self) -> bool {
        self.number == other.number && self.fields == other.fields
    }
}

impl Eq for Shape {}

/// Byte strings, one for each field, in one allocation.
#[derive(Debug, Default)]
struct Pieces {
    bytes: Vec<u8>,
    ends: Vec<u32>,
}

impl Pieces {
    /// Adds the piece that a function appends.
    fn add(&mut self, append: impl FnOnce(&mut Vec<u8>)) -> Result<(), ShapeError> {
        append(&mut self.bytes);
        self.ends.push(u32::try_from(self.bytes.len()).map_err(|_| ShapeError::Invalid("names too long"))?);
        Ok(())
    }

    fn shrunk(mut self) -> Self {
        self.bytes.shrink_to_fit();
        self.ends.shrink_to_fit();
        self
    }

    #[inline]
    fn get(&self, at: usize) -> &[u8] {
        let start = at.checked_sub(1).map_or(0, |before| self.ends[before] as usize);
        &self.bytes[start..self.ends[at] as usize]
    }

    fn iter(&self) -> impl Iterator<Item = &[u8]> {
        let mut start = 0;
        self.ends.iter().map(move |end| {
            let end = *end as usize;
            &self.bytes[std::mem::replace(&mut start, end)..end]
        })
    }
}

/// The next [`Shape::identity`].
static IDENTITIES: AtomicU64 = AtomicU64::new(0);

/// If a shape has fewer fields than this, a look-up compares the names one by one.
const LINEAR_FIELDS: usize = 6;

impl Shape {
    /// A shape with these fields, not committed.
    ///
    /// # Errors
    /// [`ShapeError::Invalid`] if the number is 0 or above [`MAX_NUMBER`], a name occurs twice, or
    /// the names exceed their limits.
    pub fn new(number: u32, fields: Vec<Field>) -> Result<Self, ShapeError> {
        if number == 0 || number > MAX_NUMBER {
            return Err(ShapeError::Invalid("a number out of range"));
        }
        if fields.len() > MAX_FIELDS {
            return Err(ShapeError::Invalid("too many fields"));
        }
        if fields.iter().map(|field| field.name.len()).sum::<usize>() > MAX_NAME_BYTES {
            return Err(ShapeError::Invalid("names too long"));
        }
        let lookup = lookup_table(&fields).ok_or(ShapeError::Invalid("a name that occurs twice"))?;
        let mut hash = ShapeHash::new();
        let (mut json, mut bson) = (Pieces::default(), Pieces::default());
        let mut stored = 0;
        let mut stored_before = Vec::with_capacity(fields.len());
        for field in &fields {
            hash.add(field.name.as_bytes(), field.kind);
            stored_before.push(stored);
            stored += u16::from(field.kind == FieldKind::Stored);
            json.add(|out| {
                out.push(b',');
                crate::json::write_string(&field.name, out);
                out.push(b':');
            })?;
            bson.add(|out| {
                out.push(0);
                out.extend_from_slice(field.name.as_bytes());
                out.push(0);
            })?;
        }
        Ok(Self {
            number,
            identity: IDENTITIES.fetch_add(1, Ordering::Relaxed),
            hash: hash.finish(),
            has_zero_in_name: fields.iter().any(|field| field.name.contains('\0')),
            lookup: (fields.len() >= LINEAR_FIELDS).then_some(lookup),
            fields: fields.into(),
            json: json.shrunk(),
            bson: bson.shrunk(),
            stored_before: stored_before.into(),
            committed: AtomicBool::new(false),
            copied_to: AtomicU32::new(0),
        })
    }

    /// The number, from 1.
    pub fn number(&self) -> u32 {
        self.number
    }

    /// A number that no other shape of this process has, also in other tables.
    pub(crate) fn identity(&self) -> u64 {
        self.identity
    }

    /// The fields in order.
    pub fn fields(&self) -> &[Field] {
        &self.fields
    }

    /// The position of the field with this name.
    pub fn position(&self, name: &str) -> Option<usize> {
        let Some(lookup) = &self.lookup else {
            return self.fields.iter().position(|field| &*field.name == name);
        };
        let mask = lookup.len() - 1;
        let mut slot = hash_name(name.as_bytes()) as usize & mask;
        loop {
            let position = usize::from(lookup[slot]).checked_sub(1)?;
            if &*self.fields[position].name == name {
                return Some(position);
            }
            slot = (slot + 1) & mask;
        }
    }

    /// True if the definition is visible, so that batches need not include it.
    pub fn is_committed(&self) -> bool {
        self.committed.load(Ordering::Acquire)
    }

    /// True if the last place that was noted by [`Shape::note_copy`] is this one.
    pub fn is_copied_to(&self, place: u32) -> bool {
        self.copied_to.load(Ordering::Acquire) == place
    }

    /// Notes that a place besides the system tree has a visible copy of the definition. Places are numbers other than 0,
    /// which the caller chooses; one is remembered.
    pub fn note_copy(&self, place: u32) {
        self.copied_to.store(place, Ordering::Release);
    }

    /// The number of values in a row before the value of the field at `position`.
    pub(crate) fn stored_before(&self, position: usize) -> usize {
        usize::from(self.stored_before[position])
    }

    /// `"name":` for the field at `position`, escaped as JSON, preceded by a comma except for the
    /// first field.
    #[inline]
    pub fn json_name(&self, position: usize) -> &[u8] {
        let name = self.json.get(position);
        if position == 0 { &name[1..] } else { name }
    }

    /// The fields in order, each with its beginning in BSON: a byte for the type, the name, and a zero.
    #[inline]
    pub(crate) fn bson_fields(&self) -> impl Iterator<Item = (&Field, &[u8])> {
        self.fields.iter().zip(self.bson.iter())
    }

    /// True if a name contains a zero, which BSON does not allow.
    pub(crate) fn has_zero_in_name(&self) -> bool {
        self.has_zero_in_name
    }

    fn has_fields<N: AsRef<[u8]>>(&self, mut fields: impl Iterator<Item = (N, FieldKind)>) -> bool {
        let is =
            |field: &Field, (name, kind): (N, FieldKind)| field.name.as_bytes() == name.as_ref() && field.kind == kind;
        self.fields.iter().all(|field| fields.next().is_some_and(|other| is(field, other))) && fields.next().is_none()
    }

    /// Appends the definition: number, field count, then per field `length * 2 + is-id` and the name.
    pub fn encode(&self, out: &mut Vec<u8>) {
        varint::put_u64(out, u64::from(self.number));
        varint::put_u64(out, self.fields.len() as u64);
        for field in &*self.fields {
            let is_id = u64::from(field.kind == FieldKind::IsId);
            varint::put_u64(out, (field.name.len() as u64) << 1 | is_id);
            out.extend_from_slice(field.name.as_bytes());
        }
    }

    /// Decodes a definition from the start of `input`. The shape counts as committed.
    ///
    /// # Errors
    /// [`ShapeError`] if the bytes are not a definition.
    pub fn decode(input: &mut &[u8]) -> Result<Self, ShapeError> {
        let number = varint::get_u64(input)?;
        let number = u32::try_from(number).map_err(|_| ShapeError::Invalid("a number out of range"))?;
        let count = varint::get_u64(input)?;
        if count > MAX_FIELDS as u64 {
            return Err(ShapeError::Invalid("too many fields"));
        }
        let mut fields = Vec::new();
        for _ in 0..count {
            let head = varint::get_u64(input)?;
            let len = usize::try_from(head >> 1).map_err(|_| alluvium_codec::DecodeError::Truncated)?;
            let (name, rest) = input.split_at_checked(len).ok_or(alluvium_codec::DecodeError::Truncated)?;
            let name = std::str::from_utf8(name).map_err(|_| ShapeError::Invalid("a name that is not UTF-8"))?;
            *input = rest;
            let kind = if head & 1 == 1 { FieldKind::IsId } else { FieldKind::Stored };
            fields.push(Field { name: name.into(), kind });
        }
        let shape = Self::new(number, fields)?;
        shape.committed.store(true, Ordering::Release);
        Ok(shape)
    }
}

/// The hash table of `fields`; `None` if a name occurs twice.
fn lookup_table(fields: &[Field]) -> Option<Box<[u16]>> {
    let mut table = vec![0u16; (fields.len() * 2).next_power_of_two().max(2)].into_boxed_slice();
    let mask = table.len() - 1;
    for (position, field) in fields.iter().enumerate() {
        let mut slot = hash_name(field.name.as_bytes()) as usize & mask;
        while let Some(other) = usize::from(table[slot]).checked_sub(1) {
            if fields[other].name == field.name {
                return None;
            }
            slot = (slot + 1) & mask;
        }
        table[slot] = u16::try_from(position + 1).ok()?;
    }
    Some(table)
}

/// Multiplies to 128 bits and folds the halves: the mixing step of wyhash.
fn fold(a: u64, b: u64) -> u64 {
    let product = u128::from(a) * u128::from(b);
    product as u64 ^ (product >> 64) as u64
}

const K0: u64 = 0xa076_1d64_78bd_642f;
const K1: u64 = 0xe703_7ed1_a0b4_28db;

/// A hash of one name. It is used in memory only, so it may change between builds.
fn hash_name(name: &[u8]) -> u64 {
    let mut hash = name.len() as u64 ^ K0;
    let (words, tail) = name.as_chunks::<8>();
    for word in words {
        hash = fold(hash ^ u64::from_le_bytes(*word), K1);
    }
    let tail = tail.iter().fold(0u64, |bits, &byte| bits << 8 | u64::from(byte));
    fold(hash ^ tail, K1)
}

/// The hash of a sequence of names and kinds, updated name by name.
pub(crate) struct ShapeHash(u64);

impl ShapeHash {
    pub(crate) fn new() -> Self {
        Self(K0)
    }

    pub(crate) fn add(&mut self, name: &[u8], kind: FieldKind) {
        let kind = if kind == FieldKind::IsId { K0 } else { 0 };
        self.0 = fold(self.0 ^ kind ^ hash_name(name), K1).wrapping_add(K0);
    }

    pub(crate) fn finish(self) -> u64 {
        self.0
    }
}

#[cfg(test)]
mod tests;
