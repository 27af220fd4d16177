//! Recorded changes, and their bytes (`docs/format/changes.md`).

use crate::ids::ID;
use crate::names::FullName;
use alluvium_codec::varint;
use alluvium_document::diff::Difference;
use alluvium_document::{Map, Text, Value, encoding};
use alluvium_store::{Seq, TreeId};

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
    /// The time of the change by the clock, in milliseconds since 1970. May be set back.
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
    /// The event of a document that an update has changed. A change without a difference is a replacement.
    pub(crate) fn of_update(before: &Map, after: Map) -> Self {
        match Difference::between(before, &after) {
            Some(difference) => Self::Update { id: after.get(ID).cloned().unwrap_or(Value::Null), difference },
            None => Self::Replace { document: after },
        }
    }

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
            Self::Insert { .. } => 1,
            Self::Update { .. } => 2,
            Self::Replace { .. } => 3,
            Self::Delete { .. } => 4,
            Self::Drop => 5,
            Self::Rename { .. } => 6,
            Self::Create { .. } => 7,
            Self::CreateIndexes { .. } => 8,
            Self::DropIndexes { .. } => 9,
            Self::Modify { .. } => 10,
            Self::DropDatabase => 11,
        }
    }
}

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
/// The field before a rename: the UUID of the collection that had the new name, and was dropped.
pub(crate) const DROP_TARGET: &str = "dropTarget";

/// An event to be recorded.
pub(crate) struct NewEvent<'a> {
    pub event: &'a Event,
    pub documents: TreeId,
    pub name: &'a FullName,
    pub time_ms: i64,
    pub transaction: Option<&'a Map>,
    pub before: Option<&'a Map>,
}

impl NewEvent<'_> {
    /// The value of its entry.
    pub fn encode(&self) -> Vec<u8> {
        let flag = |is_set: bool, flag: u8| if is_set { flag } else { 0 };
        let (in_transaction, with_before) = (self.transaction.is_some(), self.before.is_some());
        let mut out = vec![self.event.kind() | flag(in_transaction, IN_TRANSACTION) | flag(with_before, WITH_BEFORE)];
        varint::put_u64(&mut out, u64::from(self.documents.0));
        put_name(self.name, &mut out);
        varint::put_u64(&mut out, self.time_ms.max(0).cast_unsigned());
        self.transaction.iter().chain(&self.before).for_each(|map| encoding::encode_map(map, &mut out));
        match self.event {
            Event::Insert { document: map }
            | Event::Replace { document: map }
            | Event::Create { description: map }
            | Event::CreateIndexes { description: map }
            | Event::DropIndexes { description: map }
            | Event::Modify { description: map } => encoding::encode_map(map, &mut out),
            Event::Update { id, difference } => {
                encoding::encode(id, &mut out);
                encoding::encode_map(&difference.clone().into_map(), &mut out);
            }
            Event::Delete { id } => encoding::encode(id, &mut out),
            Event::Drop | Event::DropDatabase => {}
            Event::Rename { to } => put_name(to, &mut out),
        }
        out
    }
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

    /// The last number of the batch of the change with this key.
    pub(crate) fn batch_of(key: &[u8]) -> Option<Seq> {
        Some(Seq::from_be_bytes(key.get(size_of::<Seq>()..)?.try_into().ok()?))
    }

    /// The batch and the time of an entry of the history, without its event; `None` if it is damaged.
    pub(crate) fn decode_head(key: &[u8], value: &[u8]) -> Option<Head> {
        let batch = Self::batch_of(key)?;
        let (_, mut input) = value.split_first()?;
        let input = &mut input;
        varint::get_u64(input).ok()?;
        name(input)?;
        Some(Head { batch, time_ms: varint::get_u64(input).ok()?.cast_signed() })
    }

    /// Decodes an entry of the history; `None` if it is damaged.
    pub(crate) fn decode(key: &[u8], value: &[u8]) -> Option<Self> {
        let (number, batch) = key.split_first_chunk()?;
        let (number, batch) = (Seq::from_be_bytes(*number), Seq::from_be_bytes(batch.try_into().ok()?));
        let (&kind, mut input) = value.split_first()?;
        let input = &mut input;
        let collection = varint::get_u64(input).ok()?;
        let of = name(input)?;
        let time_ms = varint::get_u64(input).ok()?.cast_signed();
        let map = |input: &mut &[u8]| match encoding::decode(input).ok()? {
            Value::Map(map) => Some(map),
            _ => None,
        };
        let transaction = if kind & IN_TRANSACTION != 0 { Some(map(input)?) } else { None };
        let before = if kind & WITH_BEFORE != 0 { Some(map(input)?) } else { None };
        let event = match kind & !(IN_TRANSACTION | WITH_BEFORE) {
            1 => Event::Insert { document: map(input)? },
            2 => {
                let id = encoding::decode(input).ok()?;
                Event::Update { id, difference: Difference::from_map(map(input)?).ok()? }
            }
            3 => Event::Replace { document: map(input)? },
            4 => Event::Delete { id: encoding::decode(input).ok()? },
            5 => Event::Drop,
            6 => Event::Rename { to: name(input)? },
            7 => Event::Create { description: map(input)? },
            8 => Event::CreateIndexes { description: map(input)? },
            9 => Event::DropIndexes { description: map(input)? },
            10 => Event::Modify { description: map(input)? },
            11 => Event::DropDatabase,
            _ => return None,
        };
        let is_whole = input.is_empty() && number <= batch;
        is_whole.then_some(Self { number, batch, collection, name: of, time_ms, transaction, before, event })
    }
}
