//! Applying a difference.

use std::collections::BTreeSet;

use super::{Component, DifferenceError, Element, Elements, Fields, Inside, Path};
use crate::value::{Map, Text, Value};

impl Fields {
    /// Makes the changes inside a document at `path`, in one pass over its fields.
    pub(super) fn apply(&self, document: &mut Map, path: &mut Path) -> Result<(), DifferenceError> {
        let appended: BTreeSet<&str> = self.appended.iter().map(|(name, _)| name.as_str()).collect();
        let mut removed = self.removed.iter().peekable();
        let mut updated = self.updated.iter().peekable();
        let mut inside = self.inside.iter().peekable();
        let mut result = Ok(());
        document.entries.retain_mut(|(key, value)| {
            let Some(key) = key.as_str() else { return true };
            if removed.next_if(|name| *name == key).is_some() || appended.contains(key) {
                return false;
            }
            if let Some((_, new)) = updated.next_if(|(name, _)| name == key) {
                *value = new.clone();
            } else if let Some((name, inside)) = inside.next_if(|(name, _)| name == key)
                && result.is_ok()
            {
                result = path.within(Component::Field(name.clone()), |path| inside.apply(value, path));
            }
            true
        });
        result?;
        // The lists have the order of the document: what is left was not found.
        let left = removed.next().or(updated.next().map(|(name, _)| name)).or(inside.next().map(|(name, _)| name));
        if let Some(name) = left {
            return path.within(Component::Field(Text::clone(name)), |path| misfit(path));
        }
        document.entries.extend(self.appended.iter().map(|(name, value)| (Value::String(name.clone()), value.clone())));
        Ok(())
    }
}

impl Elements {
    /// Makes the changes inside an array at `path`.
    fn apply(&self, array: &mut Vec<Value>, path: &mut Path) -> Result<(), DifferenceError> {
        if let Some(size) = self.truncated {
            let size = size as usize;
            if size >= array.len() {
                return misfit(path);
            }
            array.truncate(size);
        }
        for (at, element) in &self.changes {
            path.within(Component::Position(*at), |path| {
                let len = array.len();
                match (element, array.get_mut(*at as usize)) {
                    (Element::Inside(inside), Some(value)) => return inside.apply(value, path),
                    (Element::Set(new), Some(value)) => *value = new.clone(),
                    (Element::Set(new), None) if *at as usize == len => array.push(new.clone()),
                    (_, None) => return misfit(path),
                }
                Ok(())
            })?;
        }
        Ok(())
    }
}

impl Inside {
    fn apply(&self, value: &mut Value, path: &mut Path) -> Result<(), DifferenceError> {
        match (self, value) {
            (Inside::Document(fields), Value::Map(map)) => fields.apply(map, path),
            (Inside::Array(elements), Value::Array(array)) => elements.apply(array, path),
            _ => misfit(path),
        }
    }
}

fn misfit(path: &Path) -> Result<(), DifferenceError> {
    Err(DifferenceError::Misfit { path: path.dotted() })
}
