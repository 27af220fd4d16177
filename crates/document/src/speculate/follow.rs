//! Reads a line along a template, or field by field along the tree of names.

use std::sync::Arc;

use alluvium_codec::varint;

use super::names::{DOCUMENT, NodeId, Place};
use super::scan::{common_prefix, skip_space};
use super::template::{Field, Template};
use super::value::Values;
use super::{Encoder, LineError, NewId};
use crate::key;
use crate::row::{is_natural_id, note_shape};
use crate::shape::Shape;
use crate::value::MAX_DEPTH;

/// The maximum nesting of the values of a document.
const LEVELS: usize = MAX_DEPTH - 1;

/// The state of reading a line.
struct Job<'a> {
    line: &'a [u8],
    row: &'a mut Vec<u8>,
    key: &'a mut Vec<u8>,
    key_start: usize,
}

/// The position at which reading continues.
enum Next {
    /// Continue field by field, after the value of the field that the node names.
    Walk { node: NodeId, at: usize },
    /// Continue along a template, at the name of this field.
    Follow { place: Place, at: usize },
    /// The document has ended after the field that the node names.
    EndOfWalk { node: NodeId, at: usize },
    /// The document has ended together with the template.
    EndOfTemplate { template: usize, at: usize },
}

impl Encoder {
    /// Encodes the line without the full parser. Returns false if the line is unexpected; `row` and `key` then contain
    /// partial data.
    #[inline]
    pub(super) fn speculate(
        &mut self,
        line: &[u8],
        new_id: &mut NewId<'_>,
        row: &mut Vec<u8>,
        key: &mut Vec<u8>,
    ) -> Result<bool, LineError> {
        self.values.new_shapes.clear();
        let (row_start, key_start) = (row.len(), key.len());
        let Some(template) = self.templates.get(self.current) else { return Ok(false) };
        let guess = template.shape.number();
        varint::put_u64(row, u64::from(guess));
        let mut job = Job { line, row, key, key_start };
        let Some((shape, ended)) = self.read(&mut job) else { return Ok(false) };
        if job.key.len() == key_start {
            let id = new_id.get()?;
            if !is_natural_id(&id) {
                return Ok(false);
            }
            job.key.extend_from_slice(&key::id_key(&id)?);
        }
        if shape.number() != guess {
            let mut number = Vec::with_capacity(varint::MAX_LEN);
            varint::put_u64(&mut number, u64::from(shape.number()));
            let old_len = varint::len_u64(u64::from(guess));
            job.row.splice(row_start..row_start + old_len, number);
        }
        note_shape(&shape, &mut self.values.new_shapes);
        match ended {
            Some(template) => self.ended_with(template, line),
            None => self.learn(line, &shape),
        }
        Ok(true)
    }

    /// Reads the line. Returns its shape, and the template that matched its end, if one did.
    #[inline]
    fn read(&mut self, job: &mut Job<'_>) -> Option<(Arc<Shape>, Option<usize>)> {
        let mut next = follow(&self.templates, Place { template: self.current, field: 0 }, &mut self.values, job, 0)?;
        let mut walked = None;
        loop {
            next = match next {
                Next::EndOfTemplate { template, at } => {
                    if let Some(node) = walked {
                        self.counts.walked += 1;
                        self.note_place(node, template);
                    }
                    return (skip_space(job.line, at) == job.line.len())
                        .then(|| (Arc::clone(&self.templates[template].shape), Some(template)));
                }
                Next::EndOfWalk { node, at } => {
                    self.counts.walked += 1;
                    let shape = self.values.names.node(node).shape.clone()?;
                    return (skip_space(job.line, at) == job.line.len()).then_some((shape, None));
                }
                Next::Walk { node, at } => self.walk(job, node, at)?,
                Next::Follow { place, at } => {
                    walked = Some(place);
                    follow(&self.templates, place, &mut self.values, job, at)?
                }
            }
        }
    }

    /// Records that `template` matched the end of a line that had diverged from its template at the field before
    /// `place`.
    fn note_place(&mut self, place: Place, template: usize) {
        let field = place.field - 1;
        let node = self.templates[place.template].fields[field].node;
        if place.template != template {
            self.values.names.node_mut(node).place = Some(Place { template, field });
        }
    }

    /// Reads field by field until a template continues at the next field.
    fn walk(&mut self, job: &mut Job<'_>, mut node: NodeId, at: usize) -> Option<Next> {
        let line = job.line;
        let mut at = skip_space(line, at);
        loop {
            if node == DOCUMENT {
                if line.get(at) != Some(&b'{') {
                    return None;
                }
                at = skip_space(line, at + 1);
                if line.get(at) == Some(&b'}') {
                    return Some(Next::EndOfWalk { node, at: at + 1 });
                }
            } else {
                match line.get(at)? {
                    b',' => at = skip_space(line, at + 1),
                    b'}' => return Some(Next::EndOfWalk { node, at: at + 1 }),
                    _ => return None,
                }
            }
            (node, at) = self.values.name(line, at, node)?;
            let known = self.values.names.node(node);
            let (is_id, place) = (known.is_id, known.place);
            at = put_field(&mut self.values, job, at, is_id)?;
            if let Some(place) = place
                && let Some(template) = self.templates.get(place.template)
                && template.fields.get(place.field).is_some_and(|field| field.node == node)
            {
                return Some(Next::Follow { place: Place { field: place.field + 1, ..place }, at });
            }
            at = skip_space(line, at);
        }
    }
}

/// Reads along a template, beginning at the name of a field.
#[inline]
fn follow(templates: &[Template], place: Place, values: &mut Values, job: &mut Job<'_>, mut at: usize) -> Option<Next> {
    let template = &templates[place.template];
    let first = template.fields.get(place.field)?;
    let (mut text_at, mut row_at) = (first.name, first.row);
    let mut steps = &template.steps[first.step..];
    while let Some((step, after)) = steps.split_first() {
        let text = &template.text[text_at..step.text_end];
        if job.line[at..].starts_with(text) {
            at += text.len();
            job.row.extend_from_slice(&template.row[row_at..step.row_end]);
            (text_at, row_at) = (step.text_end, step.row_end);
            if after.is_empty() {
                break;
            }
            at = put_field(values, job, at, template.fields[step.field].is_id)?;
            steps = after;
            continue;
        }
        let (position, is_value) = diverges(template, text_at, step.text_end, &job.line[at..]);
        let field = &template.fields[position];
        job.row.extend_from_slice(&template.row[row_at..field.row]);
        if !is_value {
            let node = match position.checked_sub(1) {
                Some(before) => template.fields[before].node,
                None => DOCUMENT,
            };
            return Some(Next::Walk { node, at: at + field.name - text_at });
        }
        at = put_field(values, job, at + field.value - text_at, field.is_id)?;
        (text_at, row_at) = (field.value_end, field.row_end);
    }
    Some(Next::EndOfTemplate { template: place.template, at })
}

/// The field at which `line` diverges from the text of the template between `text_at` and `text_end`. True if it
/// diverges in the value, false if in the name.
fn diverges(template: &Template, text_at: usize, text_end: usize, line: &[u8]) -> (usize, bool) {
    let text = &template.text[text_at..text_end];
    let place = text_at + common_prefix(text, line);
    let fields = &template.fields;
    let position = fields.partition_point(|field| field.name <= place).saturating_sub(1);
    let is_in_text = |field: &Field| field.is_constant() && field.value >= text_at;
    let field = &fields[position];
    // If the number in the line is longer than the number of the template, the texts diverge only after the template's
    // value. The divergence is attributed to that value.
    if place == field.name && position > 0 && is_in_text(&fields[position - 1]) {
        return (position - 1, true);
    }
    (position, place >= field.value)
}

/// Encodes the value of a field of the document.
#[inline]
fn put_field(values: &mut Values, job: &mut Job<'_>, at: usize, is_id: bool) -> Option<usize> {
    if !is_id {
        return values.put(job.line, at, job.row, LEVELS);
    }
    // The row contains no value for `_id` and for its copy. Both must be equal.
    let before = job.key.len();
    let end = values.put_id(job.line, at, job.key)?;
    if before > job.key_start {
        if job.key[job.key_start..before] != job.key[before..] {
            return None;
        }
        job.key.truncate(before);
    }
    Some(end)
}
