//! iibench, after the insert benchmark of Tokutek: rows in the order of their `_id`, with
//! secondary indexes on random values, from several loaders in batches; then range queries.
//!
//! An [`Engine`] is measured; [`run`] is the harness, the same for all. It takes figures at every interval: rates,
//! processor time, switches, bytes and calls. It counts the loaders' threads (the *foreground*), the other threads of the
//! process, and its own cost apart.

mod engine;
mod failure;
mod meter;
pub mod ours;
mod report;
mod row;
mod run;
mod settings;

pub use engine::{Engine, Session, Sizes};
pub use failure::Failure;
pub use report::{Cost, Interval, Query, Report};
pub use row::{Field, INDEXES, MAX_INDEXES, Pairs, Row, row_key};
pub use run::run;
pub use settings::Settings;
