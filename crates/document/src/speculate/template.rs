//! The text of a document with a known shape, with holes for varying values.
//!
//! The text between two holes (names, punctuation, values that rarely change) is compared as a whole, and the encoded
//! values in it are appended to the row as a whole. Samples of lines determine which values rarely change.

use std::sync::Arc;

use super::names::NodeId;
use super::scan::{skip_space, string_end, value_end};
use super::value::Values;
use crate::shape::Shape;

/// The position of a field in a line: its name (with all text after the previous value) and its
/// value.
#[derive(Debug, Clone, Copy)]
pub(super) struct Span {
    /// Start and end of the name, without its quotes.
    pub(super) name: (usize, usize),
    /// Start and end of the value.
    pub(super) value: (usize, usize),
}

/// A field in the template's text and row.
#[derive(Debug, Clone, Copy)]
pub(super) struct Field {
    /// The node in the tree of names. Unused in the last entry, which represents the closing brace.
    pub(super) node: NodeId,
    pub(super) is_id: bool,
    /// The end of the text from the previous value to this value.
    pub(super) name: usize,
    /// The end of the value, if it is part of the text.
    pub(super) value: usize,
    pub(super) value_end: usize,
    /// The end of the encoded value.
    pub(super) row: usize,
    pub(super) row_end: usize,
    /// The step that compares the name.
    pub(super) step: usize,
}

impl Field {
    pub(super) fn is_constant(&self) -> bool {
        self.value_end > self.value
    }
}

/// A step: compare the text up to `text_end`, append the row up to `row_end`, then parse the value
/// of `field`.
#[derive(Debug, Clone, Copy)]
pub(super) struct Step {
    pub(super) text_end: usize,
    pub(super) row_end: usize,
    pub(super) field: usize,
}

/// Statistics of the values of a field.
#[derive(Debug, Default)]
struct Learnt {
    /// The text from the previous value to this value.
    name: Box<[u8]>,
    /// The candidate for a constant value.
    value: Vec<u8>,
    score: u32,
    is_constant: bool,
}

/// The maximum length of a constant value.
const MAX_CONSTANT: usize = 64;
const MAX_SCORE: u32 = 12;
/// A sample with another value reduces the score by this number; a sample with the same value adds 1. So a value counts
/// as constant if it occurs in at least four of five cases.
const PENALTY: u32 = 4;
const BECOMES_CONSTANT: u32 = 6;
const STAYS_CONSTANT: u32 = 2;

/// Each of the first documents is a sample. Afterwards every 64th document is a sample.
const FIRST_SAMPLES: u32 = 10;
const SAMPLE_EVERY: u32 = 64;

#[derive(Debug)]
pub(super) struct Template {
    pub(super) text: Vec<u8>,
    pub(super) row: Vec<u8>,
    /// The fields. The last entry represents the closing brace.
    pub(super) fields: Vec<Field>,
    pub(super) steps: Vec<Step>,
    pub(super) shape: Arc<Shape>,
    learnt: Vec<Learnt>,
    uses: u32,
    /// The time of the last match, as a count of lines.
    pub(super) last_use: u64,
}

impl Template {
    /// The bytes of memory of the template.
    pub(super) fn memory_bytes(&self) -> usize {
        let learnt = self.learnt.iter().map(|learnt| size_of::<Learnt>() + learnt.name.len() + learnt.value.capacity());
        let lists = self.fields.capacity() * size_of::<Field>() + self.steps.capacity() * size_of::<Step>();
        size_of::<Self>() + self.text.capacity() + self.row.capacity() + lists + learnt.sum::<usize>()
    }

    /// A template of this line. `spans` are its fields. `nodes` are its names in the tree, each with a flag that is
    /// true for the `_id` and its copy.
    pub(super) fn new(line: &[u8], spans: &[Span], nodes: &[(NodeId, bool)], shape: Arc<Shape>) -> Self {
        let mut learnt = Vec::with_capacity(spans.len() + 1);
        let mut end = 0;
        for span in spans {
            learnt.push(Learnt { name: line[end..span.value.0].into(), ..Learnt::default() });
            end = span.value.1;
        }
        let close = line[end..].iter().position(|&byte| byte == b'}').map_or(line.len(), |at| end + at + 1);
        learnt.push(Learnt { name: line[end..close].into(), ..Learnt::default() });
        let no_field = Field { node: 0, is_id: false, name: 0, value: 0, value_end: 0, row: 0, row_end: 0, step: 0 };
        let mut fields: Vec<_> = nodes.iter().map(|&(node, is_id)| Field { node, is_id, ..no_field }).collect();
        fields.push(no_field);
        Self { text: Vec::new(), row: Vec::new(), fields, steps: Vec::new(), shape, learnt, uses: 0, last_use: 0 }
    }

    /// Counts a use. Returns true if the line should be [sampled](Self::sample).
    #[inline]
    pub(super) fn is_sample(&mut self) -> bool {
        self.uses = self.uses.wrapping_add(1);
        self.uses <= FIRST_SAMPLES || self.uses.is_multiple_of(SAMPLE_EVERY)
    }

    /// Learns from a line of this shape, and rebuilds the text if something changed.
    pub(super) fn sample(&mut self, line: &[u8], spans: &[Span], values: &mut Values) {
        let mut changed = self.steps.is_empty();
        for ((learnt, field), span) in self.learnt.iter_mut().zip(&self.fields).zip(spans) {
            if field.is_id {
                continue;
            }
            learnt.see(&line[span.value.0..span.value.1]);
            let enough = if learnt.is_constant { STAYS_CONSTANT } else { BECOMES_CONSTANT };
            let is_constant = learnt.score >= enough && !learnt.value.is_empty();
            changed |= is_constant != learnt.is_constant;
            learnt.is_constant = is_constant;
        }
        if changed {
            self.build(values);
        }
    }

    fn build(&mut self, values: &mut Values) {
        self.text.clear();
        self.row.clear();
        self.steps.clear();
        let last = self.fields.len() - 1;
        for (at, (field, learnt)) in self.fields.iter_mut().zip(&mut self.learnt).enumerate() {
            field.step = self.steps.len();
            field.name = self.text.len();
            self.text.extend_from_slice(&learnt.name);
            (field.value, field.row) = (self.text.len(), self.row.len());
            if learnt.is_constant {
                if values.put(&learnt.value, 0, &mut self.row, 1) == Some(learnt.value.len()) {
                    self.text.extend_from_slice(&learnt.value);
                } else {
                    self.row.truncate(field.row);
                    learnt.is_constant = false;
                }
            }
            (field.value_end, field.row_end) = (self.text.len(), self.row.len());
            if !learnt.is_constant || at == last {
                self.steps.push(Step { text_end: field.value_end, row_end: field.row_end, field: at });
            }
        }
    }
}

impl Learnt {
    fn see(&mut self, value: &[u8]) {
        if *self.value == *value {
            self.score = (self.score + 1).min(MAX_SCORE);
            return;
        }
        self.score = self.score.saturating_sub(PENALTY);
        if self.score == 0 {
            self.value.clear();
            // The value of a map uses shapes, which must be recorded for every line, so it is never constant.
            let may_be_constant = match value.first() {
                Some(b'[') => value == b"[]",
                Some(b'{') => value == b"{}",
                _ => value.len() <= MAX_CONSTANT,
            };
            if may_be_constant {
                self.value.extend_from_slice(value);
                self.score = 1;
            }
        }
    }
}

/// Finds the fields of a document in text that was already validated.
pub(super) fn find_spans(line: &[u8], spans: &mut Vec<Span>) -> Option<()> {
    spans.clear();
    let mut at = skip_space(line, 0);
    if line.get(at) != Some(&b'{') {
        return None;
    }
    at = skip_space(line, at + 1);
    while line.get(at) == Some(&b'"') {
        let name_end = string_end(line, at + 1)?;
        let colon = skip_space(line, name_end);
        let value = skip_space(line, colon + 1);
        let value_end = value_end(line, value)?;
        spans.push(Span { name: (at + 1, name_end - 1), value: (value, value_end) });
        at = skip_space(line, value_end);
        if line.get(at) == Some(&b',') {
            at = skip_space(line, at + 1);
        }
    }
    (line.get(at) == Some(&b'}')).then_some(())
}
