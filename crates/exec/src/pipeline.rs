//! Execution of pipelines: the stages of [`alluvium_query::pipeline`], one after the other.
//!
//! | module | contents |
//! |---|---|
//! | `host` | the services of a database that a pipeline needs: other collections, memory, sorting in files |
//! | `run` | the settings of a pipeline, and the state that its stages share |
//! | `execution` | stages, each over the previous one |
//! | `stream` | the trait of a stage under way, and the stages that hold no documents |
//! | `gather` | documents in memory, or in files if they exceed their limit |
//! | `ordered` | all documents of a stage in an order |
//! | `sort`, `group`, `facet` | stages that read all documents before they return any |
//! | `parallel` | groups by several threads |
//! | `bucket` | `$bucketAuto` |
//! | `window` | `$setWindowFields`, `$densify` |
//! | `partition` | the documents of a partition, by their positions |
//! | `lookup`, `graph` | stages that read other collections |
//! | `search`, `known` | the documents that a `$graphLookup` reaches from one document; the keys that it has seen |
//! | `equality` | the code that these share |
//! | `batches` | `$lookup` by an index: many documents at a time |
//!
//! Each stage pulls documents from the stage before it. A stage that holds documents counts their memory. Beyond the
//! limit it continues in files, or the pipeline ends with MongoDB's error 292.

mod batches;
mod bucket;
mod equality;
mod execution;
mod facet;
mod gather;
mod graph;
mod group;
mod host;
mod known;
mod lookup;
mod ordered;
mod parallel;
mod partition;
mod run;
mod search;
mod sort;
mod stream;
#[cfg(test)]
mod tests;
mod window;

pub use execution::PipelineExecution;
pub use host::{BoxedFinder, Finder, Host, Records, WritingStage};
pub use run::{LookupReport, Settings, StageReport};
