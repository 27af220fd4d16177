//! The execution of a pipeline.

use super::bucket::AutoBucketing;
use super::facet::Facets;
use super::graph::Graph;
use super::group::Grouping;
use super::host::{Host, Records, WritingStage};
use super::lookup::Lookups;
use super::run::{Run, Settings, StageReport};
use super::sort::Sorting;
use super::stream::{
    Counted, Filtering, Limiting, Listed, Misplaced, Skipping, Source, Stream, Treating, Union, Unwinding, Writing,
};
use super::window::{Densifying, Windows};
use alluvium_query::pipeline::{Each, Record, Stage};

/// A pipeline under way.
pub struct PipelineExecution<H: Host> {
    run: Run<H>,
    root: Box<dyn Stream<H>>,
}

impl<H: Host + 'static> PipelineExecution<H> {
    /// Begins to execute stages over documents. Nothing is read yet.
    pub fn new(host: H, source: Box<dyn Records<H::Error>>, stages: Vec<Stage>, settings: Settings) -> Self {
        let reports = stages.iter().map(|stage| StageReport { name: stage.name(), ..StageReport::default() }).collect();
        let root = stages_over(Box::new(Source(source)), stages, true);
        Self { run: Run::new(host, settings, reports), root }
    }

    /// The next document; `None` at the end.
    ///
    /// # Errors
    /// Errors of the source and of the stages; [`crate::Interrupted`]. The pipeline has ended then.
    pub fn next_record(&mut self) -> Result<Option<Record>, H::Error> {
        self.root.next(&mut self.run)
    }

    /// The host.
    pub fn host(&self) -> &H {
        &self.run.host
    }

    /// The counters of the stages.
    pub fn reports(&self) -> &[StageReport] {
        &self.run.reports
    }
}

impl<H: Host + 'static> Records<H::Error> for PipelineExecution<H> {
    fn next_record(&mut self) -> Result<Option<Record>, H::Error> {
        PipelineExecution::next_record(self)
    }
}

/// Builds the chain of stages, each of which reads the previous one, and returns the last stage. With `reports`, the
/// report of a stage has the position of the stage.
fn stages_over<H: Host + 'static>(input: Box<dyn Stream<H>>, stages: Vec<Stage>, reports: bool) -> Box<dyn Stream<H>> {
    let mut last = input;
    for (at, stage) in stages.into_iter().enumerate() {
        let at = reports.then_some(at);
        last = over(last, stage, at);
        if let Some(at) = at {
            last = Box::new(Counted::new(last, at));
        }
    }
    last
}

fn over<H: Host + 'static>(input: Box<dyn Stream<H>>, stage: Stage, at: Option<usize>) -> Box<dyn Stream<H>> {
    match stage {
        Stage::Match(filter) => Box::new(Filtering::new(input, filter)),
        Stage::Each(Each::Unwind(unwind)) => Box::new(Unwinding::new(input, unwind)),
        Stage::Each(each) => Box::new(Treating::new(input, each)),
        Stage::Group(group) => Box::new(Grouping::new(input, group, at)),
        Stage::Sort { sort, limit } => Box::new(Sorting::new(input, sort, limit, at)),
        Stage::Skip(n) => Box::new(Skipping::new(input, n)),
        Stage::Limit(n) => Box::new(Limiting::new(input, n)),
        Stage::BucketAuto(stage) => Box::new(AutoBucketing::new(input, stage, at)),
        Stage::Window(stage) => Box::new(Windows::new(input, stage, at)),
        Stage::Densify(stage) => Box::new(Densifying::new(input, stage, at)),
        Stage::Facet(facets) => {
            Box::new(Facets::new(input, facets, at, |input, stages| stages_over(input, stages, false)))
        }
        Stage::Lookup(lookup) => Box::new(Lookups::new(input, lookup, at)),
        Stage::GraphLookup(lookup) => Box::new(Graph::new(input, lookup, at)),
        Stage::Union(union) => Box::new(Union::new(input, union)),
        Stage::Sample(n) => Box::new(Sorting::sample(input, n, at)),
        Stage::Documents(documents) => Box::new(Listed::new(documents)),
        // If this is the first stage, the host has replaced it by documents.
        Stage::Statistics(_) => Box::new(Misplaced(stage.name())),
        Stage::Out(output) => Box::new(Writing::new(input, WritingStage::Out(output))),
        Stage::Merge(merge) => Box::new(Writing::new(input, WritingStage::Merge(merge))),
    }
}
