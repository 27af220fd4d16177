//! Walks pipelines before they are parsed.

use super::{Collections, Pipelines, StageRow, find};
use alluvium_document::{Map, Value};
use std::slice;

/// A field of an unparsed stage. A stage that can be parsed has one field.
#[derive(Debug, Clone, Copy)]
pub struct RawStage<'a> {
    /// The name; empty if it is no text.
    pub name: &'a str,
    /// The row of a stage of that name.
    pub row: Option<&'static StageRow>,
    /// The operand.
    pub operand: &'a Value,
    /// The collection that the pipeline is over; `None` if that is not given as text.
    pub collection: Option<&'a str>,
    /// The same collection; if it is `None`, that of the nearest enclosing pipeline with one.
    pub nearest_collection: Option<&'a str>,
    /// The position of the stage in its pipeline.
    pub at: usize,
    /// The position of the field in its stage.
    pub field: usize,
    /// The number of fields of the stage.
    pub fields: usize,
    /// The number of pipelines that this one is within.
    pub depth: usize,
    /// True in a `$facet`, or in a pipeline within one.
    pub in_facet: bool,
}

/// The stages of a pipeline and of those within it: each stage, then the pipelines in its operand.
///
/// Any value may be walked: values that cannot be a stage are skipped, and values that may be one are visited. Memory
/// grows with the number of pipelines, and the stack does not, however deep they are.
#[derive(Debug)]
pub struct Walk<'a> {
    /// The pipelines to be walked, the next one last.
    rest: Vec<Level<'a>>,
}

/// The rest of a pipeline.
#[derive(Debug)]
struct Level<'a> {
    stages: slice::Iter<'a, Value>,
    at: usize,
    /// The fields of the stage before those.
    fields: &'a [(Value, Value)],
    field: usize,
    collection: Option<&'a str>,
    nearest_collection: Option<&'a str>,
    depth: usize,
    in_facet: bool,
}

/// Walks the stages of a pipeline over a collection, or, without one, over a database.
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
        // If an option is there several times, all of them are walked: the parser chooses one.
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

/// The name and the operand of a stage, which are those of its first field.
pub fn parts(stage: &Value) -> Option<(&str, &Value)> {
    let (name, operand) = stage.as_map()?.entries.first()?;
    Some((name.as_str()?, operand))
}

/// The row of the first stage of a pipeline.
pub fn first(stages: &[Value]) -> Option<&'static StageRow> {
    find(parts(stages.first()?)?.0)
}

/// True if a stage writes a collection: in a pipeline that can be parsed, the last one alone does.
pub fn writes(stage: &Map) -> bool {
    stage.iter().any(|(name, _)| name.as_str().and_then(find).is_some_and(|row| row.writes))
}
