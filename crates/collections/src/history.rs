//! The recorded changes of documents: which are recorded, and their bytes.
//!
//! The changes of the documents in a *scope* are recorded, each in the batch of its write. A recorded change is a stamped
//! entry of one tree, the *history*: its key begins with the sequence number of the write, so the changes of all collections are in
//! the order of the commits. [`crate::changes`] reads them; `docs/decisions/0110-changes-in-the-batch.md` has the reasons.

mod event;
mod retention;
mod scopes;
mod shapes;

pub use event::{Change, Event};
pub(crate) use event::{Content, DROP_TARGET, DocumentChange, NewEvent};
pub use retention::ChangeRetention;
pub(crate) use scopes::{History, Recording};
pub use scopes::{RecordedScope, Scope};
pub(crate) use shapes::{NewCopies, RecordedShapes, remove_dropped};

#[cfg(test)]
mod tests;
