//! Capped collections: the order of their documents, and what keeps them within their limits.
//!
//! Three kinds of entries of the system tree hold the order (`docs/format/store.md`): the *position*
//! of each document, the *order* from numbers to documents, and the *totals*. They are written in the
//! batch of the document, by a writer that holds the lock of the totals' key; so all writes to one
//! collection are one after the other, and a document with a higher number never becomes visible
//! before one with a lower number. `docs/decisions/0074-capped-collections.md` has the reasons.

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
