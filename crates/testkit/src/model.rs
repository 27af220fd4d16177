//! The model: computes the expected content and the expected results of the database from plain maps of documents.
//!
//! | module | contents |
//! |---|---|
//! | `state` | collections, documents and indexes of a database; reading them from one |
//! | `id`, `values` | the model's own order of `_id`s and of values, and paths into documents |
//! | `documents` | random documents |
//! | `filters`, `updates` | filters, sort orders, projections and updates, evaluated by the model |
//! | `indexes`, `index_entries` | entries of indexes, derived twice: with `query`'s keys, and without |
//! | `timeline` | the states that a power cut may leave |
//! | `changes` | recorded changes, applied to a state |

pub(crate) mod changes;
pub(crate) mod documents;
pub(crate) mod filters;
pub(crate) mod id;
pub(crate) mod index_entries;
pub mod indexes;
pub(crate) mod state;
pub(crate) mod timeline;
pub(crate) mod updates;
pub(crate) mod values;

pub use changes::recorded_changes;
pub use documents::{Documents, map_of};
pub use id::Id;
pub(crate) use state::{Contents, brief};
pub use state::{State, read_state};
pub use timeline::{Allowed, Phase, Timeline};
