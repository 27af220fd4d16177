//! Comparing two documents.

use std::collections::BTreeSet;

use super::{Difference, Element, Elements, Fields, Inside, PATHS_BYTES_MAX, POSITION_MAX};
use crate::bson::{bson_size, decimal_digits};
use crate::row::ID;
use crate::value::{Double, MAX_DEPTH, Map, Text, Value};

/// [`Difference::between`].
pub(super) fn between(before: &Map, after: &Map) -> Option<Difference> {
    // The recursion below is as deep as the documents.
    if is_too_deep(before) || is_too_deep(after) {
        return None;
    }
    let mut comparison = Comparison { prefix: 0, cost: Cost::default() };
    let root = comparison.fields(before, after)?;
    let set = root.updated.iter().chain(&root.appended).map(|(name, _)| name);
    let mut names = root.removed.iter().chain(set).chain(root.inside.iter().map(|(name, _)| name));
    let fits = comparison.cost.paths <= PATHS_BYTES_MAX && names.all(|name| name != ID);
    fits.then_some(Difference { root })
}

/// [`Difference::of_values`].
pub(super) fn of_values(fields: &[(&str, Value, &Value)]) -> Option<Difference> {
    let is_plain = |value: &Value| !matches!(value, Value::Array(_) | Value::Map(_) | Value::Code(_));
    if !fields.iter().all(|(_, old, new)| is_plain(old) && is_plain(new)) {
        let map = |value: fn(&(&str, Value, &Value)) -> Value| Map {
            entries: fields.iter().map(|field| (Value::from(field.0), value(field))).collect(),
        };
        return between(&map(|field| field.1.clone()), &map(|field| field.2.clone()));
    }
    let changed = fields.iter().filter(|(_, old, new)| !is_identical(old, new));
    let updated: Vec<(Text, Value)> = changed.map(|(name, _, new)| (Text::from(*name), (*new).clone())).collect();
    let paths: usize = updated.iter().map(|(name, _)| name.len()).sum();
    let fits = paths <= PATHS_BYTES_MAX && updated.iter().all(|(name, _)| name != ID);
    fits.then(|| Difference { root: Fields { updated, ..Fields::default() } })
}

fn is_too_deep(map: &Map) -> bool {
    map.iter().any(|(key, value)| key.is_deeper_than(MAX_DEPTH - 1) || value.is_deeper_than(MAX_DEPTH - 1))
}

/// A comparison in progress.
struct Comparison {
    /// The length of the dotted path of the current document or array, with a dot after it.
    prefix: usize,
    /// The cost of all changes found so far.
    cost: Cost,
}

/// The cost of changes.
#[derive(Debug, Clone, Copy, Default)]
struct Cost {
    changes: usize,
    /// The lengths of the dotted paths.
    paths: usize,
    /// The sizes of the values and of the new lengths of arrays as BSON.
    values: usize,
}

/// The cost of a truncation beside its path: an integer of 32 bits.
const TRUNCATION_BYTES: usize = 4;

/// The difference between two values.
enum Outcome {
    Same,
    Inside(Inside),
    /// The new value must be set as a whole. It is not counted in the cost yet.
    Whole,
}

impl Comparison {
    /// The changes inside a document; `None` if they cannot be expressed by paths.
    ///
    /// The loop matches the fields of `after`, one after the other, with the next field of `before` of the same name.
    /// The `kept` matched ones are the longest beginning of `after` whose names occur in this order in `before`: taking
    /// the first occurrence each time leaves the most for the rest. Every other field of `before` is removed or
    /// appended, so that the result is the kept fields and then the appended ones: `after`.
    fn fields(&mut self, before: &Map, after: &Map) -> Option<Fields> {
        let mut fields = Fields::default();
        let (mut kept, mut skipped) = (0, Vec::new());
        for (key, old) in &before.entries {
            let Some((_, new)) = after.entries.get(kept).filter(|(next, _)| is_identical(key, next)) else {
                skipped.push(key.as_str()?);
                continue;
            };
            kept += 1;
            let Some(name) = key.as_str() else {
                if is_identical(old, new) {
                    continue;
                }
                return None;
            };
            match self.value(name.len(), old, new) {
                Outcome::Same => {}
                Outcome::Inside(inside) => fields.inside.push((Text::from(name), inside)),
                Outcome::Whole => {
                    self.count(name.len(), Some(new));
                    fields.updated.push((Text::from(name), new.clone()));
                }
            }
        }
        for (key, value) in &after.entries[kept..] {
            let name = key.as_str()?;
            self.count(name.len(), Some(value));
            fields.appended.push((Text::from(name), value.clone()));
        }
        if !skipped.is_empty() {
            let appended: BTreeSet<&str> = fields.appended.iter().map(|(name, _)| name.as_str()).collect();
            for name in skipped.into_iter().filter(|name| !appended.contains(name)) {
                self.count(name.len(), None);
                fields.removed.push(Text::from(name));
            }
        }
        (fields.is_empty() || (has_paths(before) && has_paths(after))).then_some(fields)
    }

    /// The changes inside an array; `None` if they cannot be expressed by positions, or would take at least as much
    /// space as the array.
    fn elements(&mut self, before: &[Value], after: &[Value]) -> Option<Elements> {
        if !u32::try_from(before.len().max(after.len())).is_ok_and(|len| len <= POSITION_MAX) {
            return None;
        }
        let (start, path) = (self.cost, self.prefix - 1);
        let mut elements = Elements::default();
        if after.len() < before.len() {
            elements.truncated = Some(u32::try_from(after.len()).ok()?);
            self.cost.changes += 1;
            self.cost.paths += path;
            self.cost.values += TRUNCATION_BYTES;
        }
        for (at, new) in after.iter().enumerate() {
            let digits = decimal_digits(at);
            let outcome = before.get(at).map_or(Outcome::Whole, |old| self.value(digits, old, new));
            let element = match outcome {
                Outcome::Same => continue,
                Outcome::Inside(inside) => Element::Inside(inside),
                Outcome::Whole => {
                    self.count(digits, Some(new));
                    Element::Set(new.clone())
                }
            };
            elements.changes.push((u32::try_from(at).ok()?, element));
        }
        let changes = self.cost.changes - start.changes;
        if changes > 1 {
            // In BSON, a type and the end of the path are stored beside each path and value.
            let inside = 2 * changes + self.cost.paths - start.paths + self.cost.values - start.values;
            let array = after.iter().enumerate().map(|(at, value)| 2 + decimal_digits(at) + bson_size(value));
            if inside >= 2 + path + 5 + array.sum::<usize>() {
                return None;
            }
        }
        Some(elements)
    }

    /// The difference between two values of a field or element whose name has this length.
    fn value(&mut self, name: usize, old: &Value, new: &Value) -> Outcome {
        let (prefix, cost) = (self.prefix, self.cost);
        self.prefix += name + 1;
        let inside = match (old, new) {
            (Value::Map(old), Value::Map(new)) => self.fields(old, new).map(Inside::Document),
            (Value::Array(old), Value::Array(new)) => self.elements(old, new).map(Inside::Array),
            _ => {
                self.prefix = prefix;
                return if is_identical(old, new) { Outcome::Same } else { Outcome::Whole };
            }
        };
        self.prefix = prefix;
        match inside {
            Some(inside) if inside.is_empty() => Outcome::Same,
            Some(inside) => Outcome::Inside(inside),
            None => {
                self.cost = cost;
                Outcome::Whole
            }
        }
    }

    /// Counts a change of the field or element whose name has this length.
    fn count(&mut self, name: usize, value: Option<&Value>) {
        self.cost.changes += 1;
        self.cost.paths += self.prefix + name;
        self.cost.values += value.map_or(0, bson_size);
    }
}

/// True if paths lead to all fields: the keys are strings, and no name occurs twice.
fn has_paths(map: &Map) -> bool {
    let mut names: Vec<&str> = map.iter().filter_map(|(key, _)| key.as_str()).collect();
    names.sort_unstable();
    names.len() == map.len() && names.windows(2).all(|pair| pair[0] != pair[1])
}

/// As `==`, but NaNs with different bits differ.
fn is_identical(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Double(Double(a)), Value::Double(Double(b))) => a.to_bits() == b.to_bits(),
        (Value::Array(a), Value::Array(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| is_identical(a, b)),
        (Value::Map(a), Value::Map(b)) => are_maps_identical(a, b),
        (Value::Code(a), Value::Code(b)) => {
            let scopes = match (&a.scope, &b.scope) {
                (Some(a), Some(b)) => are_maps_identical(a, b),
                (a, b) => a.is_none() && b.is_none(),
            };
            scopes && a.code == b.code
        }
        _ => a == b,
    }
}

fn are_maps_identical(a: &Map, b: &Map) -> bool {
    let mut entries = a.entries.iter().zip(&b.entries);
    a.len() == b.len() && entries.all(|(a, b)| is_identical(&a.0, &b.0) && is_identical(&a.1, &b.1))
}
