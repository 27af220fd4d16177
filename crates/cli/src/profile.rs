//! The content of documents: their fields, the types of the values, the number of different values,
//! and the smallest and the largest value.

mod distinct;

pub(crate) use distinct::{Certainty, Estimate};

use alluvium::{Map, Text, Value};
use alluvium_document::compare::compare;
use alluvium_document::key;
use distinct::Distinct;
use std::cmp::Ordering;
use std::collections::HashMap;

/// The maximum number of fields in a profile. Documents that use data as field names have any number of fields.
const MOST_FIELDS: usize = 2000;
/// The maximum number of examples of a field.
const MOST_EXAMPLES: usize = 3;
/// The number of bytes of a text, or of binary data, that are kept as an example.
const KEPT_BYTES: usize = 1000;

/// A profile of documents.
pub(crate) struct Profile {
    /// The first node is the document itself; each of the others is a child of an earlier one.
    nodes: Vec<Node>,
    documents: u64,
    /// The number of levels of fields in the profile; a top-level field is on level 1.
    levels: usize,
    /// True if the documents have more than [`MOST_FIELDS`] fields.
    is_cut: bool,
    /// True if the documents have fields on deeper levels.
    is_deeper: bool,
}

/// A field, or the elements of an array.
#[derive(Default)]
struct Node {
    /// The name; `None` for the elements of an array.
    name: Option<String>,
    /// The number of names in the path.
    level: usize,
    children: Vec<usize>,
    by_name: HashMap<Text, usize>,
    elements: Option<usize>,
    figures: Figures,
}

/// The statistics of the values of a field.
#[derive(Default)]
struct Figures {
    documents: u64,
    /// The last document with the field.
    last_document: u64,
    values: u64,
    /// The number of values of each type.
    types: Vec<(&'static str, u64)>,
    distinct: Distinct,
    smallest: Option<Value>,
    largest: Option<Value>,
    examples: Vec<Value>,
}

/// A field of a profile.
pub(crate) struct Field<'p> {
    /// `a.b` is the field `b` of the map `a`; `a[]` is each element of the array `a`.
    pub path: String,
    figures: &'p Figures,
}

impl Profile {
    /// A profile of no documents, for the fields on the first `levels` levels.
    pub(crate) fn new(levels: usize) -> Self {
        Self { nodes: vec![Node::default()], documents: 0, levels, is_cut: false, is_deeper: false }
    }

    /// Adds a document.
    pub(crate) fn add(&mut self, document: &Map) {
        self.documents += 1;
        self.add_fields(0, document);
    }

    /// The number of documents.
    pub(crate) fn documents(&self) -> u64 {
        self.documents
    }

    /// True if some fields were left out because they are on deeper levels.
    pub(crate) fn is_deeper(&self) -> bool {
        self.is_deeper
    }

    /// True if some fields were left out because there are too many.
    pub(crate) fn is_cut(&self) -> bool {
        self.is_cut
    }

    fn add_fields(&mut self, parent: usize, map: &Map) {
        for (name, value) in map.iter() {
            if let Value::String(name) = name
                && let Some(at) = self.child(parent, Some(name))
            {
                self.add_value(at, value);
            }
        }
    }

    fn add_value(&mut self, at: usize, value: &Value) {
        self.nodes[at].figures.add(value, self.documents);
        match value {
            Value::Map(map) => self.add_fields(at, map),
            Value::Array(elements) => {
                for element in elements {
                    if let Some(at) = self.child(at, None) {
                        self.add_value(at, element);
                    }
                }
            }
            _ => {}
        }
    }

    /// The node of a field, or of the elements of an array.
    fn child(&mut self, parent: usize, name: Option<&Text>) -> Option<usize> {
        let known = match name {
            Some(name) => self.nodes[parent].by_name.get(name).copied(),
            None => self.nodes[parent].elements,
        };
        if known.is_some() {
            return known;
        }
        let level = self.nodes[parent].level + usize::from(name.is_some());
        if level > self.levels {
            self.is_deeper = true;
            return None;
        }
        if self.nodes.len() > MOST_FIELDS {
            self.is_cut = true;
            return None;
        }
        let at = self.nodes.len();
        self.nodes.push(Node { name: name.map(ToString::to_string), level, ..Node::default() });
        let parent = &mut self.nodes[parent];
        parent.children.push(at);
        match name {
            Some(name) => {
                parent.by_name.insert(name.clone(), at);
            }
            None => parent.elements = Some(at),
        }
        Some(at)
    }

    /// The fields in the order of their first appearance. The fields of a map follow the map.
    pub(crate) fn fields(&self) -> Vec<Field<'_>> {
        let mut fields = Vec::with_capacity(self.nodes.len());
        self.list(0, "", &mut fields);
        fields
    }

    fn list<'p>(&'p self, parent: usize, above: &str, fields: &mut Vec<Field<'p>>) {
        for at in &self.nodes[parent].children {
            let node = &self.nodes[*at];
            let path = match &node.name {
                None => format!("{above}[]"),
                Some(name) if above.is_empty() => name.clone(),
                Some(name) => format!("{above}.{name}"),
            };
            fields.push(Field { path: path.clone(), figures: &node.figures });
            self.list(*at, &path, fields);
        }
    }
}

impl Figures {
    fn add(&mut self, value: &Value, document: u64) {
        self.values += 1;
        if self.last_document != document {
            self.last_document = document;
            self.documents += 1;
        }
        let name = value.type_name();
        match self.types.iter_mut().find(|(known, _)| *known == name) {
            Some((_, count)) => *count += 1,
            None => self.types.push((name, 1)),
        }
        // Maps and arrays are described by their fields and elements.
        if !matches!(value, Value::Map(_) | Value::Array(_) | Value::Null) {
            self.distinct.add(key::hash(value));
            self.add_example(value);
        }
    }

    fn add_example(&mut self, value: &Value) {
        let is_beyond =
            |known: &Option<Value>, beyond| known.as_ref().is_none_or(|known| compare(value, known) == beyond);
        if is_beyond(&self.smallest, Ordering::Less) {
            self.smallest = Some(shortened(value));
        }
        if is_beyond(&self.largest, Ordering::Greater) {
            self.largest = Some(shortened(value));
        }
        if self.examples.len() < MOST_EXAMPLES {
            let value = shortened(value);
            if !self.examples.contains(&value) {
                self.examples.push(value);
            }
        }
    }
}

/// A value of which only the first [`KEPT_BYTES`] are kept.
fn shortened(value: &Value) -> Value {
    match value {
        Value::String(text) if text.len() > KEPT_BYTES => {
            let end = (0..=KEPT_BYTES).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
            Value::from(&text[..end])
        }
        Value::Binary(binary) if binary.bytes.len() > KEPT_BYTES => {
            Value::from(alluvium::Binary { subtype: binary.subtype, bytes: binary.bytes[..KEPT_BYTES].to_vec() })
        }
        value => value.clone(),
    }
}

impl Field<'_> {
    /// The share of documents that have the field.
    pub(crate) fn presence(&self, profile: &Profile) -> f64 {
        self.figures.documents as f64 / profile.documents.max(1) as f64
    }

    /// The types with their shares of the values, the most frequent first.
    pub(crate) fn types(&self) -> Vec<(&'static str, f64)> {
        let share = |(name, count): &(&'static str, u64)| (*name, *count as f64 / self.figures.values.max(1) as f64);
        let mut types: Vec<(&'static str, f64)> = self.figures.types.iter().map(share).collect();
        types.sort_by(|(name, share), (other_name, other)| other.total_cmp(share).then(name.cmp(other_name)));
        types
    }

    /// The number of different values in a collection of `documents`, not counting null, maps and arrays. `None` if
    /// there are no such values.
    pub(crate) fn distinct(&self, profile: &Profile, documents: u64) -> Option<Estimate> {
        self.figures.distinct.estimate(documents as f64 / profile.documents.max(1) as f64)
    }

    /// The smallest and the largest value, in the order of all values.
    pub(crate) fn range(&self) -> Option<(&Value, &Value)> {
        self.figures.smallest.as_ref().zip(self.figures.largest.as_ref())
    }

    /// A few different values.
    pub(crate) fn examples(&self) -> &[Value] {
        &self.figures.examples
    }
}

#[cfg(test)]
mod tests;
