//! Walks through pipelines before they are parsed.

use super::{Collections, Pipelines, StageRow, find};
use alluvium_document::{Map, Value};
use std::slice;

/// A field of an unparsed stage. A stage that can be parsed has one field.
#[derive(Debug, Clone, Copy)]
pub struct RawStage<'a> {
    /// The name; empty if it is not text.
    pub name: &'a str,
    /// The row of the stage with that name.
    pub row: Option<&'static StageRow>,
    /// The operand.
    pub operand: &'a Value,
    /// The source collection of the pipeline; `None` if it is not given as text.
    pub collection: Option<&'a str>,
    /// The source collection of the pipeline. If it is `None`, the source collection of the nearest enclosing pipeline
    /// that has one.
    pub nearest_collection: Option<&'a str>,
    /// The position of the stage in its pipeline.
    pub at: usize,
    /// The position of the field in its stage.
    pub field: usize,
    /// The number of fields of the stage.
    pub fields: usize,
    /// The number of pipelines that enclose this one.
    pub depth: usize,
    /// True in a `$facet`, or in a pipeline inside of one.
    pub in_facet: bool,
}

/// The stages of a pipeline and of the pipelines inside of it. Each stage is followed by the pipelines in its operand.
///
/// Any value may be walked: values that cannot be stages are skipped, and values that may be stages are visited. Memory
/// use grows with the number of pipelines. The stack does not grow with the nesting.
#[derive(Debug)]
pub struct Walk<'a> {
    /// The remaining pipelines in reverse order: the next one is last.
    rest: Vec<Level<'a>>,
}

/// The remaining stages of a pipeline.
#[derive(Debug)]
struct Level<'a> {
    stages: slice::Iter<'a, Value>,
    at: usize,
    /// The remaining fields of the current stage.
    fields: &'a [(Value, Value)],
    field: usize,
    collection: Option<&'a str>,
    nearest_collection: Option<&'a str>,
    depth: usize,
    in_facet: bool,
}

/// Walks through the stages of a pipeline over a collection, or over a database if there is no collection.
pub fn walk<'a>(collection: Option<&'a str>, stages: &'a [Value]) -> Walk<'a> {
    let nearest_collection = collection;
    Walk { rest: vec![Level::new(stages, collection, nearest_collection, 0, false)] }
}

impl<'a> Level<'a> {
    fn new(
        stages: &'a [Value],
        collection: Option<&'a str>,
        nearest_collection: Option<&'a str>,
        depth: usize,
        in_facet: bool,
    ) -> Self {
        let stages = stages.iter();
        Self { stages, at: 0, fields: &[], field: 0, collection, nearest_collection, depth, in_facet }
    }

    fn next(&mut self) -> Option<RawStage<'a>> {
        while self.field == self.fields.len() {
            let stage = self.stages.next()?;
            self.at += 1;
            (self.fields, self.field) = (stage.as_map().map_or(&[][..], |map| &map.entries), 0);
        }
        let (name, operand) = &self.fields[self.field];
        self.field += 1;
        let name = name.as_str().unwrap_or_default();
        Some(RawStage {
            name,
            row: find(name),
            operand,
            collection: self.collection,
            nearest_collection: self.nearest_collection,
            at: self.at - 1,
            field: self.field - 1,
            fields: self.fields.len(),
            depth: self.depth,
            in_facet: self.in_facet,
        })
    }
}

impl<'a> RawStage<'a> {
    /// The pipelines in the operand.
    fn pipelines(&self) -> Vec<Level<'a>> {
        let Some((row, operand)) = self.row.zip(self.operand.as_map()) else { return Vec::new() };
        let (collection, nearest) = match (row.pipelines, row.collections) {
            (Pipelines::None, _) => return Vec::new(),
            (Pipelines::EachOption, _) => (self.collection, self.nearest_collection),
            (Pipelines::Option(_), Collections::None | Collections::Operand) => (None, self.nearest_collection),
            (
                Pipelines::Option(_),
                Collections::Option(name) | Collections::OptionOrOperand(name) | Collections::OptionOrText(name),
            ) => {
                let collection = operand.get(name).and_then(Value::as_str);
                (collection, collection.or(self.nearest_collection))
            }
        };
        let in_facet = self.in_facet || row.pipelines == Pipelines::EachOption;
        let level = |stages: &'a Value| {
            let stages = stages.as_array()?;
            Some(Level::new(stages, collection, nearest, self.depth + 1, in_facet))
        };
        // If an option occurs several times, all of its values are walked, because the parser uses one of them.
        let options = operand.iter().filter(|(name, _)| row.has_pipeline_in(name.as_str().unwrap_or_default()));
        options.filter_map(|(_, stages)| level(stages)).collect()
    }
}

impl<'a> Iterator for Walk<'a> {
    type Item = RawStage<'a>;

    fn next(&mut self) -> Option<RawStage<'a>> {
        loop {
            match self.rest.last_mut()?.next() {
                Some(stage) => {
                    self.rest.extend(stage.pipelines().into_iter().rev());
                    return Some(stage);
                }
                None => drop(self.rest.pop()),
            }
        }
    }
}

/// The name and the operand of a stage, taken from its first field.
pub fn parts(stage: &Value) -> Option<(&str, &Value)> {
    let (name, operand) = stage.as_map()?.entries.first()?;
    Some((name.as_str()?, operand))
}

/// The entry of the table of stages for the first stage of a pipeline.
pub fn first(stages: &[Value]) -> Option<&'static StageRow> {
    find(parts(stages.first()?)?.0)
}

/// True if a stage writes to a collection. In a valid pipeline, only the last stage can.
pub fn writes(stage: &Map) -> bool {
    stage.iter().any(|(name, _)| name.as_str().and_then(find).is_some_and(|row| row.writes))
}
