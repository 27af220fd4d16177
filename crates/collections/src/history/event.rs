//! Recorded changes, and their bytes (`docs/format/changes.md`).

use crate::ids::ID;
use crate::names::FullName;
use alluvium_codec::varint;
use alluvium_document::bson::document_size;
use alluvium_document::diff::Difference;
use alluvium_document::shape::ShapeTable;
use alluvium_document::{Document, Map, Text, Value, encoding};
use alluvium_store::{Bounds, Seq, TreeId};
use std::ops::Bound;

/// A recorded change.
#[derive(Debug, Clone, PartialEq)]
pub struct Change {
    /// The number of the write. Changes with higher numbers are later.
    pub number: Seq,
    /// The last number of its batch. The changes of a batch, such as those of a transaction, become visible together.
    pub batch: Seq,
    /// Identifies the collection during its lifetime, also if it is renamed.
    pub collection: u64,
    /// The name of the collection at the time of the change.
    pub name: FullName,
    /// The time of the commit by the clock, in milliseconds since 1970. May be set back.
    pub time_ms: i64,
    /// The fields that the transaction of the change was given ([`crate::write::Transaction::note_in_changes`]).
    pub transaction: Option<Map>,
    /// The document before the change, if the collection keeps it.
    pub before: Option<Map>,
    /// The change.
    pub event: Event,
}

/// The kind of a change, with the document.
#[derive(Debug, Clone, PartialEq)]
pub enum Event {
    /// A document was added.
    Insert {
        /// The document.
        document: Map,
    },
    /// Fields of a document were changed.
    Update {
        /// Its `_id`.
        id: Value,
        /// The change, which leads from the document before to the one after.
        difference: Difference,
    },
    /// A document was replaced as a whole.
    Replace {
        /// The document after the change.
        document: Map,
    },
    /// A document was removed.
    Delete {
        /// Its `_id`.
        id: Value,
    },
    /// The collection was dropped with all its documents, or the view.
    Drop,
    /// The collection was renamed, and the collection that had the new name was dropped.
    ///
    /// The documents of a collection that was not recorded under its old name have no events: a reader that keeps a copy
    /// reads the collection again. `$out` fills a collection and then renames it.
    Rename {
        /// The new name.
        to: FullName,
    },
    /// The collection was created, by itself or by its first write. The description has the options of the command
    /// `create`, with the definition of the index on `_id` as `idIndex`; of a view, its `viewOn` and its `pipeline`.
    Create {
        /// The description.
        description: Map,
    },
    /// Indexes were created, and their builds have ended. The description has their definitions in the array `indexes`.
    /// An index that is rebuilt is dropped and created.
    CreateIndexes {
        /// The description.
        description: Map,
    },
    /// Indexes were dropped. The description has their definitions in the array `indexes`.
    DropIndexes {
        /// The description.
        description: Map,
    },
    /// Options of the collection, or of an index, were changed. The description has the changed ones, in the form of the
    /// command `collMod`; it may be empty. That of a view has its `viewOn` and its `pipeline`.
    Modify {
        /// The description.
        description: Map,
    },
    /// The logical database was dropped, after all its collections. The name of the collection is empty.
    DropDatabase,
}

impl Event {
    /// The `_id` of the document.
    pub fn id(&self) -> Option<&Value> {
        match self {
            Self::Insert { document } | Self::Replace { document } => document.get(ID),
            Self::Update { id, .. } | Self::Delete { id } => Some(id),
            Self::Drop
            | Self::Rename { .. }
            | Self::Create { .. }
            | Self::CreateIndexes { .. }
            | Self::DropIndexes { .. }
            | Self::Modify { .. }
            | Self::DropDatabase => None,
        }
    }

    fn kind(&self) -> u8 {
        match self {
            Self::Insert { .. } => INSERT,
            Self::Update { .. } => UPDATE,
            Self::Replace { .. } => REPLACE,
            Self::Delete { .. } => DELETE,
            Self::Drop => 5,
            Self::Rename { .. } => RENAME,
            Self::Create { .. } => 7,
            Self::CreateIndexes { .. } => 8,
            Self::DropIndexes { .. } => 9,
            Self::Modify { .. } => 10,
            Self::DropDatabase => 11,
        }
    }

    /// Appends it, with self-describing documents.
    fn put(&self, out: &mut Vec<u8>) {
        match self {
            Self::Insert { document: map }
            | Self::Replace { document: map }
            | Self::Create { description: map }
            | Self::CreateIndexes { description: map }
            | Self::DropIndexes { description: map }
            | Self::Modify { description: map } => encoding::encode_map(map, out),
            Self::Update { id, difference } => put_update(id, difference, out),
            Self::Delete { id } => encoding::encode(id, out),
            Self::Drop | Self::DropDatabase => {}
            Self::Rename { to } => put_name(to, out),
        }
    }
}

/// The kinds of events that are changes of documents.
const INSERT: u8 = 1;
const UPDATE: u8 = 2;
const REPLACE: u8 = 3;
const DELETE: u8 = 4;
const RENAME: u8 = 6;
/// The bits of the kind itself.
const KIND: u8 = !(IN_TRANSACTION | WITH_BEFORE | WITH_ROWS);

/// The batch and the time of a recorded change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Head {
    /// As [`Change::batch`].
    pub batch: Seq,
    /// As [`Change::time_ms`].
    pub time_ms: i64,
}

/// Set in the kind of an event with the fields of its transaction.
const IN_TRANSACTION: u8 = 0x80;
/// Set in the kind of an event with the document before it.
const WITH_BEFORE: u8 = 0x40;
/// Set in the kind of an event whose documents are rows, under the shapes of the collection ([`super::shapes`]).
const WITH_ROWS: u8 = 0x20;
/// The field before a rename: the UUID of the collection that had the new name, and was dropped.
pub(crate) const DROP_TARGET: &str = "dropTarget";

/// An event to be recorded.
pub(crate) struct NewEvent<'a> {
    pub documents: TreeId,
    pub name: &'a FullName,
    pub transaction: Option<&'a Map>,
    pub content: Content<'a>,
}

/// The recorded part of an event.
pub(crate) enum Content<'a> {
    /// The event as a whole, and the map before it.
    Event { event: &'a Event, before: Option<&'a Map> },
    /// The change of a document with this key, and the row before it if the collection keeps it.
    Document { key: &'a [u8], before: Option<&'a [u8]>, change: DocumentChange<'a> },
}

/// The change of a document.
pub(crate) enum DocumentChange<'a> {
    /// As [`Event::Insert`], with the row.
    Insert(&'a [u8]),
    /// As [`Event::Update`].
    Update(&'a Value, Difference),
    /// As [`Event::Replace`], with the row.
    Replace(&'a [u8]),
    /// As [`Event::Delete`].
    Delete(&'a Value),
}

impl NewEvent<'_> {
    /// The value of its entry.
    pub fn encode(self) -> Vec<u8> {
        let flag = |is_set: bool, flag: u8| if is_set { flag } else { 0 };
        let with_before = match &self.content {
            Content::Event { before, .. } => before.is_some(),
            Content::Document { before, .. } => before.is_some(),
        };
        let flags = flag(self.transaction.is_some(), IN_TRANSACTION) | flag(with_before, WITH_BEFORE);
        let mut out = Vec::with_capacity(self.size_hint());
        out.push(flags | self.content.kind());
        varint::put_u64(&mut out, u64::from(self.documents.0));
        put_name(self.name, &mut out);
        if let Some(fields) = self.transaction {
            encoding::encode_map(fields, &mut out);
        }
        self.content.put(&mut out);
        out
    }

    /// About the bytes of the entry if it has rows.
    fn size_hint(&self) -> usize {
        /// The kind, the tree, and the lengths.
        const HEAD_BYTES: usize = 16;
        let names = self.name.logical.len() + self.name.collection.len();
        let rows = match &self.content {
            Content::Document { key, change: DocumentChange::Insert(row) | DocumentChange::Replace(row), .. } => {
                key.len() + row.len()
            }
            _ => 0,
        };
        HEAD_BYTES + names + rows
    }
}

impl Content<'_> {
    fn kind(&self) -> u8 {
        match self {
            Self::Event { event, .. } => event.kind(),
            Self::Document { change: DocumentChange::Insert(_), .. } => INSERT | WITH_ROWS,
            Self::Document { change: DocumentChange::Replace(_), .. } => REPLACE | WITH_ROWS,
            Self::Document { change: DocumentChange::Update(..), before, .. } => UPDATE | rows_if(before.is_some()),
            Self::Document { change: DocumentChange::Delete(_), before, .. } => DELETE | rows_if(before.is_some()),
        }
    }

    fn put(self, out: &mut Vec<u8>) {
        let (key, before, change) = match self {
            Self::Event { event, before } => {
                before.iter().for_each(|map| encoding::encode_map(map, out));
                return event.put(out);
            }
            Self::Document { key, before, change } => (key, before, change),
        };
        if before.is_some() || matches!(change, DocumentChange::Insert(_) | DocumentChange::Replace(_)) {
            varint::put_bytes(out, key);
        }
        if let Some(row) = before {
            varint::put_bytes(out, row);
        }
        match change {
            DocumentChange::Insert(row) | DocumentChange::Replace(row) => out.extend_from_slice(row),
            DocumentChange::Update(id, difference) => put_update(id, &difference, out),
            DocumentChange::Delete(id) => encoding::encode(id, out),
        }
    }
}

fn rows_if(any: bool) -> u8 {
    if any { WITH_ROWS } else { 0 }
}

fn put_update(id: &Value, difference: &Difference, out: &mut Vec<u8>) {
    encoding::encode(id, out);
    difference.encode(out);
}

fn put_name(name: &FullName, out: &mut Vec<u8>) {
    varint::put_bytes(out, name.logical.as_bytes());
    varint::put_bytes(out, name.collection.as_bytes());
}

fn name(input: &mut &[u8]) -> Option<FullName> {
    let logical = Text::from_utf8(varint::get_bytes(input).ok()?).ok()?;
    let collection = Text::from_utf8(varint::get_bytes(input).ok()?).ok()?;
    Some(FullName { logical, collection })
}

impl Change {
    /// True for an event of a view.
    pub(crate) fn is_of_view(&self) -> bool {
        self.collection == 0 && self.event != Event::DropDatabase
    }

    /// True for an event that only streams with expanded events return.
    pub(crate) fn is_expanded(&self) -> bool {
        let is_expanded_kind = matches!(
            self.event,
            Event::Create { .. } | Event::CreateIndexes { .. } | Event::DropIndexes { .. } | Event::Modify { .. }
        );
        is_expanded_kind || self.is_of_view()
    }

    /// The key of the change with this number, or the place of the first one after it.
    pub(crate) fn key(number: Seq) -> Vec<u8> {
        number.to_be_bytes().to_vec()
    }

    /// The bounds of the changes after a number.
    pub(crate) fn after(number: Seq) -> Bounds {
        Bounds { lower: Bound::Included(Self::key(number.saturating_add(1))), ..Bounds::all() }
    }

    /// The bounds of the changes before a number, the last one first.
    pub(crate) fn before(number: Seq) -> Bounds {
        Bounds { upper: Bound::Excluded(Self::key(number)), reverse: true, ..Self::after(0) }
    }

    /// The number of the change with this key, and the last one of its batch.
    pub(crate) fn numbers_of(key: &[u8]) -> Option<(Seq, Seq)> {
        Some((Seq::from_be_bytes(*key.first_chunk()?), Self::batch_of(key)?))
    }

    /// The last number of the batch of the change with this key.
    pub(crate) fn batch_of(key: &[u8]) -> Option<Seq> {
        Some(Seq::from_be_bytes(*key.get(size_of::<Seq>()..)?.first_chunk()?))
    }

    /// The batch and the time of an entry of the history, without its event; `None` if it is damaged.
    pub(crate) fn decode_head(key: &[u8], value: &[u8]) -> Option<Head> {
        let batch = Self::batch_of(key)?;
        if let Some(time_ms) = time_in(key)? {
            return Some(Head { batch, time_ms });
        }
        let (_, mut input) = value.split_first()?;
        let input = &mut input;
        varint::get_u64(input).ok()?;
        name(input)?;
        Some(Head { batch, time_ms: varint::get_u64(input).ok()?.cast_signed() })
    }

    /// The number of an entry, and the name of its collection; `None` if it is damaged.
    pub(crate) fn name_of(key: &[u8], value: &[u8]) -> Option<(Seq, FullName)> {
        let (_, mut input) = value.split_first()?;
        varint::get_u64(&mut input).ok()?;
        Some((Self::numbers_of(key)?.0, name(&mut input)?))
    }

    /// True if an entry may be a rename, which is a change of two names.
    pub(crate) fn may_rename(value: &[u8]) -> bool {
        value.first().is_none_or(|kind| kind & KIND == RENAME)
    }

    /// About the memory of the documents of the change, in bytes.
    pub(crate) fn bytes(&self) -> usize {
        let document = match &self.event {
            Event::Insert { document } | Event::Replace { document } => Some(document),
            _ => None,
        };
        document.into_iter().chain(&self.before).map(document_size).sum()
    }

    /// The collection of an entry whose documents are rows; `None` for another entry.
    pub(crate) fn collection_of_rows(value: &[u8]) -> Option<u64> {
        let (kind, mut input) = value.split_first()?;
        varint::get_u64(&mut input).ok().filter(|_| kind & WITH_ROWS != 0)
    }

    /// Decodes an entry of the history, whose collection has these shapes; `None` if it is damaged.
    pub(crate) fn decode(key: &[u8], value: &[u8], shapes: &ShapeTable) -> Option<Self> {
        let (number, batch) = Self::numbers_of(key)?;
        let (&kind, mut input) = value.split_first()?;
        let input = &mut input;
        let collection = varint::get_u64(input).ok()?;
        let of = name(input)?;
        let time_ms = match time_in(key)? {
            Some(time_ms) => time_ms,
            None => varint::get_u64(input).ok()?.cast_signed(),
        };
        let transaction = if kind & IN_TRANSACTION != 0 { Some(map(input)?) } else { None };
        let with_before = kind & WITH_BEFORE != 0;
        let (before, event) = match kind & !(IN_TRANSACTION | WITH_BEFORE) {
            kind if kind & WITH_ROWS != 0 => {
                let rows = Rows { key: varint::get_bytes(input).ok()?, shapes };
                let before = if with_before { Some(rows.document(varint::get_bytes(input).ok()?)?) } else { None };
                (before, rows.event(kind & !WITH_ROWS, input)?)
            }
            kind => {
                let before = if with_before { Some(map(input)?) } else { None };
                (before, event(kind, input)?)
            }
        };
        let is_whole = input.is_empty() && number <= batch;
        is_whole.then_some(Self { number, batch, collection, name: of, time_ms, transaction, before, event })
    }
}

/// The time in the key of an entry: `Some(None)` if the value has it, as in those of older builds; `None` for another key.
fn time_in(key: &[u8]) -> Option<Option<i64>> {
    match key.get(2 * size_of::<Seq>()..)? {
        [] => Some(None),
        time => Some(Some(i64::from_be_bytes(time.try_into().ok()?))),
    }
}

fn map(input: &mut &[u8]) -> Option<Map> {
    match encoding::decode(input).ok()? {
        Value::Map(map) => Some(map),
        _ => None,
    }
}

/// Decodes an event whose documents are self-describing.
fn event(kind: u8, input: &mut &[u8]) -> Option<Event> {
    Some(match kind {
        INSERT => Event::Insert { document: map(input)? },
        UPDATE => {
            let id = encoding::decode(input).ok()?;
            Event::Update { id, difference: Difference::from_map(map(input)?).ok()? }
        }
        REPLACE => Event::Replace { document: map(input)? },
        DELETE => Event::Delete { id: encoding::decode(input).ok()? },
        5 => Event::Drop,
        RENAME => Event::Rename { to: name(input)? },
        7 => Event::Create { description: map(input)? },
        8 => Event::CreateIndexes { description: map(input)? },
        9 => Event::DropIndexes { description: map(input)? },
        10 => Event::Modify { description: map(input)? },
        11 => Event::DropDatabase,
        _ => return None,
    })
}

/// Decodes the rows of an event.
struct Rows<'a> {
    key: &'a [u8],
    shapes: &'a ShapeTable,
}

impl Rows<'_> {
    fn document(&self, row: &[u8]) -> Option<Map> {
        Document::view(self.shapes, self.key, row, &mut Vec::new()).ok()?.to_map().ok()
    }

    fn event(&self, kind: u8, input: &mut &[u8]) -> Option<Event> {
        let event = match kind {
            INSERT => Event::Insert { document: self.document(input)? },
            REPLACE => Event::Replace { document: self.document(input)? },
            UPDATE | DELETE => return event(kind, input),
            _ => return None,
        };
        *input = &[];
        Some(event)
    }
}
