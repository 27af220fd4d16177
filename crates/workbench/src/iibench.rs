//! iibench, after the insert benchmark of Tokutek: rows in the order of their `_id`, with secondary
//! indexes on random values, inserted in batches by several loaders; then range queries.
//!
//! [`run`] is the harness, which is the same for every [`Engine`]. It measures rates, processor
//! time, context switches, bytes and calls in each interval, separately for the threads of the
//! loaders (the *foreground*), for the other threads of the process, and for the harness itself.

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
pub use report::{Cost, Figures, Interval, Per200k, Query, Report, Sample, State};
pub use row::{Field, INDEXES, MAX_INDEXES, Pairs, Row, row_key};
pub use run::run;
pub use settings::Settings;
