//! Capped collections: keeps the order of their documents, and deletes the oldest documents of a collection that
//! exceeds its limits.
//!
//! Three kinds of entries of the system tree hold the order (`docs/format/store.md`): the *position* of each document,
//! the *order* from numbers to documents, and the *totals*. A write puts these entries into the batch of the document,
//! and holds the lock of the totals' key. Therefore the writes to one collection are serialized, and a document with a
//! higher number never becomes visible before a document with a lower number.
//! `docs/decisions/0074-capped-collections.md` has the reasons.

mod accounting;
mod check;
mod conversion;
mod entries;
mod natural;
mod order;

pub(crate) use accounting::{Accounting, overhead_bytes, trim};
pub(crate) use check::check;
pub use conversion::convert;
pub(crate) use entries::documents;
pub(crate) use natural::{NaturalScan, has_position, is_ordered_at};
pub(crate) use order::{Placement, copy_position, ensure_ordered, has_order};
