//! Updates by operators: drawn, and what each makes of a document.

use crate::Runner;
use crate::state::State;
use alluvium::{Map, Value};

/// An update by operators.
#[derive(Debug, Clone)]
pub(crate) struct Change {
    /// The fields that it is about, which mostly only updates write.
    fields: &'static [&'static str],
    /// As the database reads it.
    pub update: String,
    k: i32,
    change: fn(&mut Map, i32),
}

impl Change {
    /// What it does to a document.
    pub fn apply(&self, map: &mut Map) {
        (self.change)(map, self.k);
    }

    /// True if an index of the collection has to do with what it changes.
    pub fn is_read_by_index(&self, state: &State, name: &str) -> bool {
        self.fields.iter().any(|field| state.is_read_by_index(name, field))
    }
}

impl Runner {
    /// An update that applies to any document.
    pub(crate) fn any_change(&mut self) -> Change {
        let k = self.any_number();
        any_update(self.rng.usize(0..9), k)
    }

    /// An update that may not apply, too, which a checked one would say.
    pub(crate) fn any_blind_change(&mut self) -> Change {
        let k = self.any_number();
        any_update(self.rng.usize(0..10), k)
    }

    /// Mostly one of few, so that documents come back to what they were.
    fn any_number(&mut self) -> i32 {
        if self.rng.bool() { self.rng.i32(0..3) } else { self.rng.i32(0..1000) }
    }
}

const FIELDS: [&[&str]; 10] =
    [&["set"], &["inc"], &["k"], &["k"], &["list"], &["inc"], &["list"], &["list"], &["inc", "set"], &["body"]];

fn any_update(which: usize, k: i32) -> Change {
    let (update, change): (String, fn(&mut Map, i32)) = match which {
        0 => (format!(r#"{{"$set":{{"set":{k}}}}}"#), |map, k| drop(map.insert("set", k))),
        1 => (format!(r#"{{"$inc":{{"inc":{k}}}}}"#), add),
        2 => (format!(r#"{{"$set":{{"k":{k}}}}}"#), |map, k| drop(map.insert("k", k))),
        3 => (r#"{"$unset":{"k":1}}"#.to_owned(), |map, _| drop(map.remove("k"))),
        4 => (format!(r#"{{"$push":{{"list":{k}}}}}"#), |map, k| list(map, "list", |list| list.push(Value::from(k)))),
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
        7 => (format!(r#"{{"$addToSet":{{"list":{k}}}}}"#), |map, k| {
            list(map, "list", |list| {
                if !list.contains(&Value::from(k)) {
                    list.push(Value::from(k));
                }
            });
        }),
        8 => (format!(r#"{{"$set":{{"set":{k}}},"$inc":{{"inc":{k}}}}}"#), |map, k| {
            // New fields come in the order of their names, not in that of the operators.
            add(map, k);
            map.insert("set", k);
        }),
        // Of what is mostly a text, where it is at all: then it does nothing.
        _ => (format!(r#"{{"$push":{{"body":{k}}}}}"#), |map, k| list(map, "body", |list| list.push(Value::from(k)))),
    };
    Change { fields: FIELDS[which], update, k, change }
}

fn add(map: &mut Map, k: i32) {
    match map.get_mut("inc") {
        Some(Value::Int64(n)) => *n += i64::from(k),
        Some(Value::Int32(n)) => *n += k,
        Some(other) => panic!("{other:?} is no number that is made"),
        None => map.push("inc", k),
    }
}

/// Changes the array in a field, a new one if there is none; what is no array stays.
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
