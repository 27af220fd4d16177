//! The state of an accumulator, computed from the documents so far. States of parts of a group can be written to files
//! and merged.

use super::super::error::{PipelineError, refuse};
use crate::code::ErrorCode;
use crate::collation::{Collation, compare_by, encode_by};
use crate::expression::Sum;
use alluvium_document::value::Binary;
use alluvium_document::{Decimal, Map, Value};
use std::collections::{BTreeMap, VecDeque};

/// The maximum memory of one state: MongoDB's limit.
const STATE_BYTES_MAX: usize = 100 << 20;

/// The memory of a key in a set, in addition to its bytes.
const KEY_BYTES: usize = 48;

/// The state of an accumulator.
#[derive(Debug, Clone)]
pub(in crate::pipeline) enum State {
    Sum(Sum),
    Average {
        sum: Sum,
        count: u64,
    },
    Least(Option<Value>),
    Greatest(Option<Value>),
    First(Option<Value>),
    Last(Option<Value>),
    List {
        values: Vec<Value>,
        bytes: usize,
    },
    /// The values, by their keys.
    Set {
        values: BTreeMap<Box<[u8]>, Value>,
        bytes: usize,
    },
    /// The method is the updating formula of B. P. Welford, "Note on a Method for Calculating
    /// Corrected Sums of Squares and Products", Technometrics 4 (1962).
    Deviation {
        count: f64,
        mean: f64,
        squares: f64,
    },
    Merged(Map),
    /// The first or last values.
    Some {
        values: VecDeque<Value>,
        most: usize,
        last: bool,
    },
    /// The values with the least or greatest keys, in ascending order of keys.
    Ranked {
        items: Vec<(Box<[u8]>, Value)>,
        most: usize,
        last: bool,
    },
    Numbers(Vec<f64>),
}

/// The approximate memory of a value in a list, which includes the unused capacity of the list.
fn weight(value: &Value) -> usize {
    value.memory() + size_of::<Value>()
}

/// The approximate memory of a value on the heap, without its slot.
fn heap(value: &Value) -> usize {
    value.memory() - size_of::<Value>()
}

/// Replaces the value that is kept. Returns the number of bytes by which the memory grows.
fn replace(kept: &mut Option<Value>, value: Value) -> usize {
    let before = kept.as_ref().map_or(0, heap);
    let grown = heap(&value).saturating_sub(before);
    *kept = Some(value);
    grown
}

impl State {
    pub fn sum() -> Self {
        Self::Sum(Sum::default())
    }

    pub fn average() -> Self {
        Self::Average { sum: Sum::default(), count: 0 }
    }

    pub fn list() -> Self {
        Self::List { values: Vec::new(), bytes: 0 }
    }

    pub fn set() -> Self {
        Self::Set { values: BTreeMap::new(), bytes: 0 }
    }

    pub fn deviation() -> Self {
        Self::Deviation { count: 0.0, mean: 0.0, squares: 0.0 }
    }

    pub fn some(most: usize, last: bool) -> Self {
        Self::Some { values: VecDeque::new(), most, last }
    }

    pub fn ranked(most: usize, last: bool) -> Self {
        Self::Ranked { items: Vec::new(), most, last }
    }

    /// True if values that are not numbers have the same effect as missing ones.
    pub fn takes_numbers(&self) -> bool {
        matches!(self, Self::Sum(_) | Self::Average { .. } | Self::Deviation { .. } | Self::Numbers(_))
    }

    /// Adds the value of one document; `None` if it is missing. Strings are compared by the collation.
    /// Returns the bytes by which the state grows.
    pub fn add(
        &mut self,
        name: &str,
        collation: Option<&Collation>,
        value: Option<Value>,
    ) -> Result<usize, PipelineError> {
        let is_nullish = matches!(value, None | Some(Value::Null | Value::Undefined));
        match self {
            Self::Sum(sum) => value.iter().for_each(|value| sum.add(value)),
            Self::Average { sum, count } => {
                for value in value.iter().filter(|value| value.is_number()) {
                    sum.add(value);
                    *count += 1;
                }
            }
            Self::Least(_) | Self::Greatest(_) if is_nullish => {}
            Self::Least(kept) => {
                let value = value.unwrap_or_default();
                if kept.as_ref().is_none_or(|kept| compare_by(collation, &value, kept).is_lt()) {
                    return Ok(replace(kept, value));
                }
            }
            Self::Greatest(kept) => {
                let value = value.unwrap_or_default();
                if kept.as_ref().is_none_or(|kept| compare_by(collation, &value, kept).is_gt()) {
                    return Ok(replace(kept, value));
                }
            }
            Self::First(Some(_)) => {}
            Self::First(kept) | Self::Last(kept) => return Ok(replace(kept, value.unwrap_or_default())),
            Self::List { .. } | Self::Set { .. } => {
                return value.map_or(Ok(0), |value| self.keep(name, collation, value));
            }
            Self::Deviation { count, mean, squares } => {
                if let Some(x) = value.as_ref().and_then(Value::as_f64) {
                    *count += 1.0;
                    let delta = x - *mean;
                    *mean += delta / *count;
                    *squares += delta * (x - *mean);
                }
            }
            Self::Merged(_) if is_nullish => {}
            Self::Merged(merged) => return merge_maps(merged, value.unwrap_or_default()),
            Self::Some { values, most, last } => return Ok(keep_some(values, *most, *last, value.unwrap_or_default())),
            Self::Ranked { .. } if is_nullish => {}
            Self::Ranked { last, .. } => {
                let (mut bytes, value, last) = (Vec::new(), value.unwrap_or_default(), *last);
                encode_by(collation, &value, &mut bytes);
                return Ok(self.rank(bytes, value, last));
            }
            Self::Numbers(numbers) => {
                let number = value.filter(Value::is_number).and_then(|value| value.as_f64());
                let grown = if number.is_some() { 2 * size_of::<f64>() } else { 0 };
                numbers.extend(number);
                if numbers.len() * size_of::<f64>() > STATE_BYTES_MAX {
                    return too_much(name);
                }
                return Ok(grown);
            }
        }
        Ok(0)
    }

    /// As [`State::add`] this number of times.
    pub fn add_times(
        &mut self,
        name: &str,
        collation: Option<&Collation>,
        value: Option<Value>,
        times: u64,
    ) -> Result<usize, PipelineError> {
        let mut grown = 0;
        match self {
            _ if times == 1 => return self.add(name, collation, value),
            Self::Sum(sum) => value.iter().for_each(|value| sum.add_times(value, times)),
            Self::Average { sum, count } => {
                for value in value.iter().filter(|value| value.is_number()) {
                    sum.add_times(value, times);
                    *count += times;
                }
            }
            // A value that is there already changes nothing.
            Self::Least(_) | Self::Greatest(_) | Self::First(_) | Self::Last(_) | Self::Set { .. } if times > 0 => {
                return self.add(name, collation, value);
            }
            _ => {
                for _ in 0..times {
                    grown += self.add(name, collation, value.clone())?;
                }
            }
        }
        Ok(grown)
    }

    /// Adds a value to a list or set.
    fn keep(&mut self, name: &str, collation: Option<&Collation>, value: Value) -> Result<usize, PipelineError> {
        let grown = match self {
            Self::List { values, bytes } => {
                let grown = weight(&value);
                *bytes += grown;
                if *bytes > STATE_BYTES_MAX {
                    return too_much(name);
                }
                values.push(value);
                grown
            }
            Self::Set { values, bytes } => {
                let mut key = Vec::new();
                encode_by(collation, &value, &mut key);
                if values.contains_key(&key[..]) {
                    return Ok(0);
                }
                let grown = weight(&value) + key.len() + KEY_BYTES;
                *bytes += grown;
                if *bytes > STATE_BYTES_MAX {
                    return too_much(name);
                }
                values.insert(key.into(), value);
                grown
            }
            _ => 0,
        };
        Ok(grown)
    }

    /// Keeps a value if its key is among the least (or greatest) keys. Of values with equal keys, the first ones are
    /// kept.
    pub fn rank(&mut self, key: Vec<u8>, value: Value, last: bool) -> usize {
        let Self::Ranked { items, most, .. } = self else { return 0 };
        let grown = weight(&value) + key.len();
        let at = items.partition_point(|(known, _)| known[..] <= key[..]);
        match (last, items.len() < *most) {
            (_, true) => {
                items.insert(at, (key.into(), value));
                grown
            }
            (false, false) if at < *most => {
                let before = items.pop().map_or(0, |(key, value)| weight(&value) + key.len());
                items.insert(at, (key.into(), value));
                grown.saturating_sub(before)
            }
            // Of values with equal keys, the first ones are kept.
            (true, false) if items.first().is_some_and(|(least, _)| key[..] > least[..]) => {
                let (least, before) = items.remove(0);
                items.insert(at - 1, (key.into(), value));
                grown.saturating_sub(weight(&before) + least.len())
            }
            _ => 0,
        }
    }

    /// The result of an accumulator whose result is the same as its state.
    pub fn value(self) -> Value {
        match self {
            Self::Sum(sum) => sum.value(),
            Self::Average { count: 0, .. } => Value::Null,
            Self::Average { sum, count } if sum.is_decimal() => {
                let count = Decimal::from(i64::try_from(count).unwrap_or(i64::MAX));
                let quotient = sum.decimal().divide(&count);
                Value::Decimal(quotient.map_or(Decimal::NAN, |quotient| quotient.rounded_to_decimal128()))
            }
            Self::Average { sum, count } => Value::from(sum.to_f64() / count as f64),
            Self::Least(kept) | Self::Greatest(kept) | Self::First(kept) | Self::Last(kept) => kept.unwrap_or_default(),
            Self::List { values, .. } => Value::Array(values),
            Self::Set { values, .. } => Value::Array(values.into_values().collect()),
            Self::Deviation { .. } => self.deviation_of(false),
            Self::Merged(map) => Value::Map(map),
            Self::Some { values, .. } => Value::Array(values.into()),
            Self::Ranked { items, .. } => Value::Array(items.into_iter().map(|(_, value)| value).collect()),
            Self::Numbers(numbers) => Value::Array(numbers.into_iter().map(Value::from).collect()),
        }
    }

    /// The standard deviation; null if there are too few numbers.
    pub fn deviation_of(&self, sample: bool) -> Value {
        let Self::Deviation { count, squares, .. } = self else { return Value::Null };
        let degrees = if sample { count - 1.0 } else { *count };
        if degrees <= 0.0 { Value::Null } else { Value::from((squares / degrees).sqrt()) }
    }

    /// Encodes the state as a value, to be written to files.
    pub fn into_value(self) -> Value {
        let optional = |kept: Option<Value>| Value::Array(kept.into_iter().collect());
        match self {
            Self::Sum(sum) => sum.to_value(),
            Self::Average { sum, count } => {
                Value::Array(vec![sum.to_value(), Value::Int64(i64::try_from(count).unwrap_or(i64::MAX))])
            }
            Self::Least(kept) | Self::Greatest(kept) | Self::First(kept) | Self::Last(kept) => optional(kept),
            Self::List { values, .. } => Value::Array(values),
            Self::Set { values, .. } => Value::Array(values.into_values().collect()),
            Self::Deviation { count, mean, squares } => Value::Array([count, mean, squares].map(Value::from).into()),
            Self::Merged(map) => Value::Map(map),
            Self::Some { values, .. } => Value::Array(values.into()),
            Self::Ranked { items, .. } => {
                let pair = |(key, value): (Box<[u8]>, Value)| {
                    let key = Value::Binary(Binary { subtype: 0, bytes: key.into() });
                    [key, value]
                };
                Value::Array(items.into_iter().flat_map(pair).collect())
            }
            Self::Numbers(numbers) => Value::Array(numbers.into_iter().map(Value::from).collect()),
        }
    }

    /// Merges the state of later documents into this one.
    pub fn absorb(&mut self, name: &str, collation: Option<&Collation>, later: Self) -> Result<(), PipelineError> {
        match (&mut *self, later) {
            (Self::Sum(sum), Self::Sum(other)) => sum.absorb(&other),
            (Self::Average { sum, count }, Self::Average { sum: other, count: more }) => {
                sum.absorb(&other);
                *count += more;
            }
            (_, later) => {
                if self.merge(name, collation, later.into_value())?.is_none() {
                    return Err(PipelineError::damaged_file());
                }
            }
        }
        Ok(())
    }

    /// Merges the state of later documents, encoded by [`State::into_value`], into this one. `None` if the value is not
    /// an encoded state.
    pub fn merge(
        &mut self,
        name: &str,
        collation: Option<&Collation>,
        later: Value,
    ) -> Result<Option<()>, PipelineError> {
        let values = match (&mut *self, later) {
            (Self::Sum(sum), later) => return Ok(sum.merge(&later)),
            (Self::Merged(merged), later) => return merge_maps(merged, later).map(|_| Some(())),
            (_, Value::Array(values)) => values,
            _ => return Ok(None),
        };
        match self {
            Self::Average { sum, count } => {
                let (Some(later), Some(more)) = (values.first(), values.get(1).and_then(Value::as_i64)) else {
                    return Ok(None);
                };
                *count += more.unsigned_abs();
                return Ok(sum.merge(later));
            }
            Self::Deviation { count, mean, squares } => {
                let numbers: Vec<f64> = values.iter().filter_map(Value::as_f64).collect();
                let [n, other, more] = numbers[..] else { return Ok(None) };
                if n > 0.0 {
                    let (sum, delta) = (*count + n, other - *mean);
                    *squares += more + delta * delta * *count * n / sum;
                    *mean += delta * n / sum;
                    *count = sum;
                }
            }
            Self::Ranked { last, .. } => {
                let last = *last;
                let mut values = values.into_iter();
                while let (Some(Value::Binary(key)), Some(value)) = (values.next(), values.next()) {
                    self.rank(key.bytes, value, last);
                }
            }
            _ => {
                for value in values {
                    self.add(name, collation, Some(value))?;
                }
            }
        }
        Ok(Some(()))
    }
}

/// The error of a state that would take too much memory.
fn too_much<T>(name: &str) -> Result<T, PipelineError> {
    refuse(
        ErrorCode::ExceededMemoryLimit,
        format!("{name} holds more than 100 MiB for one group: filter before, or keep fewer values"),
    )
}

/// Sets the fields of a map in another one.
fn merge_maps(merged: &mut Map, value: Value) -> Result<usize, PipelineError> {
    let Value::Map(map) = value else {
        let found = value.type_name();
        return refuse(
            ErrorCode::Location5911200,
            format!("$mergeObjects requires object inputs, but an input is of type {found}"),
        );
    };
    let mut grown = 0;
    for (name, value) in map.entries {
        let before = name.as_str().and_then(|name| merged.get(name)).map(weight);
        grown += before.map_or_else(|| name.memory() + weight(&value), |before| weight(&value).saturating_sub(before));
        merged.insert(name, value);
    }
    Ok(grown)
}

/// Keeps the first or last values.
fn keep_some(values: &mut VecDeque<Value>, most: usize, last: bool, value: Value) -> usize {
    let grown = weight(&value);
    if values.len() < most {
        values.push_back(value);
        return grown;
    }
    if !last {
        return 0;
    }
    let before = values.pop_front().map_or(0, |value| weight(&value));
    values.push_back(value);
    grown.saturating_sub(before)
}
