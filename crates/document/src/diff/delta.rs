//! The form of a difference in MongoDB's operation log; [`super::Difference::delta`] describes it.

use super::{Element, Elements, Fields, Inside, position};
use crate::value::{Map, Text, Value};

impl Fields {
    /// The sections, in MongoDB's order: removed, updated and new fields, then the changes inside of fields.
    pub(super) fn delta(&self) -> Map {
        let mut delta = Map::new();
        let removed = self.removed.iter().map(|name| (Value::String(name.clone()), Value::Bool(false)));
        push_section(&mut delta, "d", removed.collect());
        push_section(&mut delta, "u", set(&self.updated));
        push_section(&mut delta, "i", set(&self.appended));
        for (name, inside) in &self.inside {
            delta.push(prefixed('s', name), inside.delta());
        }
        delta
    }
}

impl Elements {
    fn delta(&self) -> Map {
        let mut delta = Map::from([("a", Value::Bool(true))]);
        if let Some(size) = self.truncated {
            delta.push("l", position(size));
        }
        for (at, element) in &self.changes {
            let at = at.to_string();
            match element {
                Element::Set(value) => delta.push(prefixed('u', &at), value.clone()),
                Element::Inside(inside) => delta.push(prefixed('s', &at), inside.delta()),
            }
        }
        delta
    }
}

impl Inside {
    fn delta(&self) -> Map {
        match self {
            Self::Document(fields) => fields.delta(),
            Self::Array(elements) => elements.delta(),
        }
    }
}

fn set(fields: &[(Text, Value)]) -> Vec<(Value, Value)> {
    fields.iter().map(|(name, value)| (Value::String(name.clone()), value.clone())).collect()
}

fn push_section(delta: &mut Map, name: &'static str, entries: Vec<(Value, Value)>) {
    if !entries.is_empty() {
        delta.push(name, Map { entries });
    }
}

/// The name of a field or the position of an element, after the letter of its change.
fn prefixed(letter: char, name: &str) -> Value {
    let mut key = Text::with_capacity(1 + name.len());
    key.push(letter);
    key.push_str(name);
    Value::String(key)
}
