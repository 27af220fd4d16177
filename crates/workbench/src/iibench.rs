//! iibench (`seeds/002`): rows in the order of their `_id`, with secondary indexes on values at random, from several
//! loaders in batches; then range queries.
//!
//! A [`Engine`] is what is measured; [`run`] is the harness, the same for all. It takes figures at every interval: rates,
//! processor time, switches, bytes and calls, and tells apart what the loaders' threads did (the *foreground*) and what
//! the others did, and what the harness itself cost.

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
