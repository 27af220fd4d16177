//! The scenarios that `bench-peers` runs over any store: documents, opening after a kill, and mixes of
//! keys and values.
//!
//! The harness is the same for every store, checks what it reads, and separates its own processor
//! time from the processor time of the store.

mod documents;
mod figures;
mod kv;
mod load;
mod opening;
mod phases;
mod rest;
mod settings;
mod source;

pub use documents::{Open, documents};
pub use figures::{DocumentFigures, Loaded, MixFigures, Phase};
pub use kv::kv;
pub use opening::{Opened, OpeningFigures, opening, put_before_kill};
pub use settings::Settings;
