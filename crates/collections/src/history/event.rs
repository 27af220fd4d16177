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
    /// Identifies the collection during its lifetime, also if it is renamed.
    pub collection: u64,
    /// The name of the collection at the time of the change.
    pub name: FullName,
    /// The time of the change by the clock, in milliseconds since 1970. May be set back.
    pub time_ms: i64,
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
    /// The collection was dropped with all its documents.
    Drop,
    /// The collection was renamed, and the collection that had the new name was dropped.
    ///
    /// The documents of a collection that was not recorded under its old name have no events: a reader that keeps a copy
    /// reads the collection again. `$out` fills a collection and then renames it.
    Rename {
        /// The new name.
        to: FullName,
    },
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
            Self::Drop | Self::Rename { .. } => None,
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
        }
    }
}

/// The value of the entry of an event.
pub(crate) fn encode_event(event: &Event, documents: TreeId, name: &FullName, time_ms: i64) -> Vec<u8> {
    let mut out = vec![event.kind()];
    varint::put_u64(&mut out, u64::from(documents.0));
    put_name(name, &mut out);
    varint::put_u64(&mut out, time_ms.max(0).cast_unsigned());
    match event {
        Event::Insert { document } | Event::Replace { document } => encoding::encode_map(document, &mut out),
        Event::Update { id, difference } => {
            encoding::encode(id, &mut out);
            encoding::encode_map(&difference.clone().into_map(), &mut out);
        }
        Event::Delete { id } => encoding::encode(id, &mut out),
        Event::Drop => {}
        Event::Rename { to } => put_name(to, &mut out),
    }
    out
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
    /// Decodes an entry of the history; `None` if it is damaged.
    pub(crate) fn decode(key: &[u8], value: &[u8]) -> Option<Self> {
        let number = Seq::from_be_bytes(key.try_into().ok()?);
        let (&kind, mut input) = value.split_first()?;
        let input = &mut input;
        let collection = varint::get_u64(input).ok()?;
        let of = name(input)?;
        let time_ms = varint::get_u64(input).ok()?.cast_signed();
        let document = |input: &mut &[u8]| match encoding::decode(input).ok()? {
            Value::Map(map) => Some(map),
            _ => None,
        };
        let event = match kind {
            1 => Event::Insert { document: document(input)? },
            2 => {
                let id = encoding::decode(input).ok()?;
                Event::Update { id, difference: Difference::from_map(document(input)?).ok()? }
            }
            3 => Event::Replace { document: document(input)? },
            4 => Event::Delete { id: encoding::decode(input).ok()? },
            5 => Event::Drop,
            6 => Event::Rename { to: name(input)? },
            _ => return None,
        };
        input.is_empty().then_some(Self { number, collection, name: of, time_ms, event })
    }
}
