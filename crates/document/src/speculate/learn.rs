//! Learns templates and names from lines that are known to be valid.

use std::sync::Arc;

use alluvium_codec::varint;

use super::names::{DOCUMENT, NESTED, NodeId, Place};
use super::template::{Template, find_spans};
use super::value::string;
use super::{Encoder, LEARN_EVERY, MAX_TEMPLATES};
use crate::row::{Context, ID, MapRef, ValueRef};
use crate::shape::{FieldKind, Shape};

impl Encoder {
    /// Records that this template matched the end of the line.
    #[inline]
    pub(super) fn ended_with(&mut self, template: usize, line: &[u8]) {
        self.current = template;
        let template = &mut self.templates[template];
        template.last_use = self.counts.speculated;
        if template.is_sample() && find_spans(line, &mut self.spans).is_some() {
            template.sample(line, &self.spans, &mut self.values);
        }
    }

    /// Learns from a line that the full parser has read, and from its row.
    pub(super) fn learn_from_row(&mut self, line: &[u8], row: &[u8]) {
        if self.credit < LEARN_EVERY {
            return;
        }
        let table = Arc::clone(&self.values.table);
        let mut rest = row;
        let Ok(number @ 1..) = varint::get_u64(&mut rest) else { return };
        let Some(shape) = u32::try_from(number).ok().and_then(|number| table.get(number)) else { return };
        if self.values.names.is_full() {
            self.values.names.clear();
            self.templates.clear();
        }
        // The value of the `_id` is irrelevant here.
        if let Ok(map) = MapRef::of_row(row, Context { table: &table, id: b"\x01" }) {
            for (_, value) in map.iter().flatten() {
                self.learn_nested(&value);
            }
        }
        self.learn(line, shape);
    }

    /// Adds the shapes of maps inside a value to the tree of names.
    fn learn_nested(&mut self, value: &ValueRef<'_>) {
        match value {
            ValueRef::Array(array) => array.iter().flatten().for_each(|element| self.learn_nested(&element)),
            ValueRef::Map(map) => {
                if let Some(shape) = map.shape().and_then(|shape| self.values.table.get(shape.number()).cloned()) {
                    self.enter_nested(shape);
                }
                for (key, value) in map.iter().flatten() {
                    self.learn_nested(&key);
                    self.learn_nested(&value);
                }
            }
            _ => {}
        }
    }

    fn enter_nested(&mut self, shape: Arc<Shape>) {
        if has_operators(&shape) {
            return;
        }
        let mut node = NESTED;
        for position in 0..shape.fields().len() {
            let name = shape.json_name(position);
            // Removes the comma, the quotes and the colon.
            let start = if position == 0 { 1 } else { 2 };
            match self.values.names.child_or_new(node, &name[start..name.len() - 2], false) {
                Some(child) => node = child,
                None => return,
            }
        }
        self.values.names.node_mut(node).shape = Some(shape);
    }

    /// Creates a template from a line of this shape, unless too many were created recently.
    pub(super) fn learn(&mut self, line: &[u8], shape: &Arc<Shape>) {
        if self.credit < LEARN_EVERY || has_operators(shape) || find_spans(line, &mut self.spans).is_none() {
            return;
        }
        self.credit -= LEARN_EVERY;
        let Some(nodes) = self.enter_document(line, shape) else { return };
        let oldest = (0..self.templates.len()).min_by_key(|&at| self.templates[at].last_use);
        let slot = oldest.filter(|_| self.templates.len() >= MAX_TEMPLATES).unwrap_or(self.templates.len());
        let mut template = Template::new(line, &self.spans, &nodes, Arc::clone(shape));
        template.last_use = self.counts.speculated;
        template.sample(line, &self.spans, &mut self.values);
        match self.templates.get_mut(slot) {
            Some(old) => *old = template,
            None => self.templates.push(template),
        }
        for (field, &(node, _)) in nodes.iter().enumerate() {
            self.values.names.node_mut(node).place = Some(Place { template: slot, field });
        }
        self.current = slot;
        self.counts.learnt += 1;
    }

    /// Adds the names of the line to the tree, and returns their nodes. `None` if lines with these names may have
    /// different shapes.
    fn enter_document(&mut self, line: &[u8], shape: &Arc<Shape>) -> Option<Vec<(NodeId, bool)>> {
        let is_id_name = |name: &str| name == ID || Some(name) == self.id_copy.as_deref();
        // If `_id` cannot be restored exactly from the key, the row contains it, and the shape depends on the value of
        // `_id`.
        if shape.fields().iter().any(|field| is_id_name(&field.name) != (field.kind == FieldKind::IsId)) {
            return None;
        }
        let mut node = DOCUMENT;
        let mut nodes = Vec::with_capacity(self.spans.len());
        let mut scratch = Vec::new();
        for span in &self.spans {
            let (name, _) = string(line, span.name.0, &mut scratch)?;
            let is_id = std::str::from_utf8(name).is_ok_and(is_id_name);
            node = self.values.names.child_or_new(node, &line[span.name.0..span.name.1], is_id)?;
            nodes.push((node, is_id));
        }
        self.values.names.node_mut(node).shape = Some(Arc::clone(shape));
        Some(nodes)
    }
}

/// True if a name begins with `$`. Such names have a meaning in Extended JSON, so lines with them need the full parser.
fn has_operators(shape: &Shape) -> bool {
    shape.fields().iter().any(|field| field.name.starts_with('$'))
}
