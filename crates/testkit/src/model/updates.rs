//! Random updates by operators, and the effect of each on a document.

use super::State;
use super::documents::long;
use alluvium::{Map, Value};
use alluvium_document::value::Double;

/// An update by operators.
#[derive(Debug, Clone)]
pub(crate) struct Change {
    /// The fields that the update changes. Usually only updates write these fields.
    fields: &'static [&'static str],
    /// The form that the database parses.
    pub update: String,
    k: i32,
    change: fn(&mut Map, i32),
}

impl Change {
    /// Applies the update to a document.
    pub fn apply(&self, map: &mut Map) {
        (self.change)(map, self.k);
    }

    /// True if an index of the collection depends on a field that the update changes.
    pub fn is_read_by_index(&self, state: &State, name: &str) -> bool {
        self.fields.iter().any(|field| state.is_read_by_index(name, field))
    }
}

/// The paths that each update changes. The updates that apply to any document come first.
const FIELDS: [&[&str]; 20] = [
    &["set"],
    &["inc"],
    &["k"],
    &["k"],
    &["list"],
    &["inc"],
    &["list"],
    &["list"],
    &["inc", "set"],
    &["by.name"],
    &["by.name"],
    &["by.age"],
    &["deep.x"],
    &["inc"],
    &["inc"],
    &["list"],
    &["set", "moved"],
    &["zero"],
    &["body"],
    &["deep.x"],
];

/// The number of updates that apply to any document.
const ALWAYS: usize = 18;

type Apply = fn(&mut Map, i32);

/// An update that applies to any document.
pub(crate) fn any_update(rng: &mut fastrand::Rng, k: i32) -> Change {
    numbered(rng.usize(0..ALWAYS), k)
}

/// An update that may not apply; as a checked update it would be an error.
pub(crate) fn any_blind_update(rng: &mut fastrand::Rng, k: i32) -> Change {
    let which = match rng.u8(0..6) {
        0 => rng.usize(ALWAYS..FIELDS.len()),
        _ => rng.usize(0..ALWAYS),
    };
    numbered(which, k)
}

fn numbered(which: usize, k: i32) -> Change {
    let (update, change): (String, Apply) = match which {
        0 => (format!(r#"{{"$set":{{"set":{k}}}}}"#), |map, k| drop(map.insert("set", k))),
        1 => (format!(r#"{{"$inc":{{"inc":{k}}}}}"#), add),
        2 => (format!(r#"{{"$set":{{"k":{}}}}}"#, value_of(k)), |map, k| drop(map.insert("k", value_of(k)))),
        3 => (r#"{"$unset":{"k":1}}"#.to_owned(), |map, _| drop(map.remove("k"))),
        4 => (format!(r#"{{"$push":{{"list":{}}}}}"#, value_of(k)), |map, k| {
            list(map, "list", |list| list.push(value_of(k)));
        }),
        5 => (format!(r#"{{"$max":{{"inc":{k}}}}}"#), |map, k| {
            if map.get("inc").and_then(Value::as_i64).is_none_or(|before| before < i64::from(k)) {
                map.insert("inc", k);
            }
        }),
        6 => (r#"{"$pop":{"list":-1}}"#.to_owned(), |map, _| {
            if let Some(Value::Array(list)) = map.get_mut("list")
                && !list.is_empty()
            {
                list.remove(0);
            }
        }),
        7 => (format!(r#"{{"$addToSet":{{"list":{}}}}}"#, value_of(k)), |map, k| {
            list(map, "list", |list| {
                if !list.contains(&value_of(k)) {
                    list.push(value_of(k));
                }
            });
        }),
        8 => (format!(r#"{{"$set":{{"set":{k}}},"$inc":{{"inc":{k}}}}}"#), |map, k| {
            // New fields are added in the order of their names, not in the order of the operators.
            add(map, k);
            map.insert("set", k);
        }),
        9..=12 => below(which, k),
        13 => (format!(r#"{{"$min":{{"inc":{k}}}}}"#), |map, k| {
            if map.get("inc").and_then(Value::as_i64).is_none_or(|before| before > i64::from(k)) {
                map.insert("inc", k);
            }
        }),
        14 => {
            (format!(r#"{{"$mul":{{"inc":{}}}}}"#, k % 3), |map, k| calculate(map, "inc", 0, k % 3, i64::wrapping_mul))
        }
        15 => (format!(r#"{{"$pull":{{"list":{}}}}}"#, value_of(k)), |map, k| {
            if let Some(Value::Array(list)) = map.get_mut("list") {
                list.retain(|element| *element != value_of(k));
            }
        }),
        // An existing field with the new name is replaced.
        16 => (r#"{"$rename":{"set":"moved"}}"#.to_owned(), |map, _| {
            if let Some(value) = map.get("set").cloned() {
                map.remove("set");
                map.insert("moved", value);
            }
        }),
        17 => (zero_update(k), zero),
        // The field is a string in most documents that have it, and then the update has no effect.
        18 => (format!(r#"{{"$push":{{"body":{k}}}}}"#), |map, k| list(map, "body", |list| list.push(Value::from(k)))),
        // The update has no effect below a value that is not a map.
        _ => (format!(r#"{{"$set":{{"deep.x":{k}}}}}"#), |map, k| {
            within(map, "deep", true, |deep| drop(deep.insert("x", k)))
        }),
    };
    Change { fields: FIELDS[which], update, k, change }
}

/// The number itself, or for some numbers a long text.
fn value_of(k: i32) -> Value {
    if k % 16 == 2 { long(k.unsigned_abs() / 16) } else { Value::from(k) }
}

/// An update of a field within a map; the map may be missing.
fn below(which: usize, k: i32) -> (String, Apply) {
    match which {
        9 => (format!(r#"{{"$set":{{"by.name":{k}}}}}"#), |map, k| {
            within(map, "by", true, |by| drop(by.insert("name", k)))
        }),
        10 => {
            (r#"{"$unset":{"by.name":1}}"#.to_owned(), |map, _| within(map, "by", false, |by| drop(by.remove("name"))))
        }
        11 => (format!(r#"{{"$inc":{{"by.age":{k}}}}}"#), |map, k| {
            within(map, "by", true, |by| calculate(by, "age", k, k, i64::wrapping_add));
        }),
        _ => (r#"{"$unset":{"deep.x":1}}"#.to_owned(), |map, _| {
            within(map, "deep", false, |deep| drop(deep.remove("x")))
        }),
    }
}

/// Changes the map in a field. If the field is missing, creates the map if `makes` is set. Other values are not
/// changed.
fn within(map: &mut Map, name: &str, makes: bool, change: impl FnOnce(&mut Map)) {
    match map.get_mut(name) {
        Some(Value::Map(inner)) => change(inner),
        Some(_) => {}
        None if makes => {
            let mut inner = Map::new();
            change(&mut inner);
            map.push(name, Value::Map(inner));
        }
        None => {}
    }
}

fn add(map: &mut Map, k: i32) {
    calculate(map, "inc", k, k, i64::wrapping_add);
}

/// Changes an integer by a calculation, or sets a missing field to `missing`. A 32-bit integer keeps its width if the
/// result fits.
fn calculate(map: &mut Map, name: &str, missing: i32, k: i32, of: fn(i64, i64) -> i64) {
    match map.get_mut(name) {
        Some(Value::Int64(n)) => *n = of(*n, i64::from(k)),
        Some(number @ Value::Int32(_)) => {
            let result = of(number.as_i64().expect("an integer"), i64::from(k));
            *number = i32::try_from(result).map_or(Value::Int64(result), Value::Int32);
        }
        Some(other) => panic!("{other:?} is no number that is made"),
        None => map.push(name, missing),
    }
}

/// An update of a field that is always zero: adds a zero of either sign, or multiplies by a factor of either sign.
fn zero_update(k: i32) -> String {
    let (operator, operand) = zero_operand(k);
    format!(r#"{{"{operator}":{{"zero":{{"$numberDouble":"{operand:?}"}}}}}}"#)
}

fn zero_operand(k: i32) -> (&'static str, f64) {
    match k.rem_euclid(4) {
        0 => ("$inc", 0.0),
        1 => ("$inc", -0.0),
        2 => ("$mul", 2.5),
        _ => ("$mul", -1.0),
    }
}

/// Sets the field to a zero if it is missing. The zero is the summand, or has the sign of the factor. Later updates do
/// not change it, because every result equals it.
fn zero(map: &mut Map, k: i32) {
    if map.get("zero").is_none() {
        let (operator, operand) = zero_operand(k);
        let first = if operator == "$inc" { operand } else { 0.0_f64.copysign(operand) };
        map.push("zero", Value::Double(Double(first)));
    }
}

/// Changes the array in a field. If the field is missing, creates the array. Other values are not changed.
fn list(map: &mut Map, name: &str, change: impl FnOnce(&mut Vec<Value>)) {
    match map.get_mut(name) {
        Some(Value::Array(list)) => change(list),
        Some(_) => {}
        None => {
            let mut list = Vec::new();
            change(&mut list);
            map.push(name, Value::Array(list));
        }
    }
}
