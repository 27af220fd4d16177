//! Accumulators, which compute a value from all documents of a group.

mod parse;
mod state;

use super::error::{PipelineError, refuse};
use super::record::RecordRef;
use crate::code::ErrorCode;
use crate::collation::Collation;
use crate::expression::{Expression, Scope};
use crate::sort::Sort;
use alluvium_document::row::ValueRef;
use alluvium_document::value::Binary;
use alluvium_document::{Map, Value};
pub(super) use parse::accumulator;
pub use parse::accumulator_names;
pub(super) use state::State;

/// An accumulator with its arguments.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Accumulator {
    /// The name, with its dollar sign.
    pub name: &'static str,
    pub kind: Kind,
    /// The expression for the value that the accumulator takes from each document.
    pub argument: Expression,
    /// The collation of strings; `None` to compare their bytes.
    pub collation: Option<Collation>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Kind {
    Sum,
    Avg,
    Min,
    Max,
    First,
    Last,
    Push,
    AddToSet,
    /// The elements of arrays.
    ConcatArrays,
    /// The distinct elements of arrays.
    SetUnion,
    /// `$stdDevPop`, or `$stdDevSamp` if true.
    Deviation {
        sample: bool,
    },
    MergeObjects,
    /// `$firstN`, `$lastN`, `$minN`, `$maxN`: this number of values.
    Some {
        of: Of,
        n: Expression,
    },
    /// `$top`, `$bottom` and, with `n`, `$topN`, `$bottomN`: the values of the first or last documents in an order.
    Sorted {
        last: bool,
        sort: Sort,
        n: Option<Expression>,
    },
    Median,
    /// The fractions of `$percentile`, as the bits of doubles.
    Percentile(Vec<u64>),
}

/// The rule for which values are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Of {
    First,
    Last,
    Least,
    Greatest,
}

impl Accumulator {
    /// The state before the first document of a group with this `_id`.
    pub fn start(&self, id: &Value) -> Result<State, PipelineError> {
        Ok(match &self.kind {
            Kind::Sum => State::sum(),
            Kind::Avg => State::average(),
            Kind::Min => State::Least(None),
            Kind::Max => State::Greatest(None),
            Kind::First => State::First(None),
            Kind::Last => State::Last(None),
            Kind::Push | Kind::ConcatArrays => State::list(),
            Kind::AddToSet | Kind::SetUnion => State::set(),
            Kind::Deviation { .. } => State::deviation(),
            Kind::MergeObjects => State::Merged(Map::new()),
            Kind::Some { of, n } => {
                let most = self.count(n, id)?;
                match of {
                    Of::First => State::some(most, false),
                    Of::Last => State::some(most, true),
                    Of::Least => State::ranked(most, false),
                    Of::Greatest => State::ranked(most, true),
                }
            }
            Kind::Sorted { last, n, .. } => {
                let most = n.as_ref().map_or(Ok(1), |n| self.count(n, id))?;
                State::ranked(most, *last)
            }
            Kind::Median | Kind::Percentile(_) => State::Numbers(Vec::new()),
        })
    }

    /// True if the result does not depend on the order of the documents, except for the types of equal numbers.
    pub fn ignores_order(&self) -> bool {
        match &self.kind {
            Kind::Sum
            | Kind::Avg
            | Kind::Min
            | Kind::Max
            | Kind::AddToSet
            | Kind::SetUnion
            | Kind::Median
            | Kind::Percentile(_)
            | Kind::Some { of: Of::Least | Of::Greatest, .. } => true,
            Kind::First
            | Kind::Last
            | Kind::Push
            | Kind::ConcatArrays
            | Kind::MergeObjects
            // The last digits of a deviation depend on the order.
            | Kind::Deviation { .. }
            | Kind::Some { of: Of::First | Of::Last, .. }
            | Kind::Sorted { .. } => false,
        }
    }

    /// The number of values that are kept: a constant, or computed from the group's `_id`.
    fn count(&self, n: &Expression, id: &Value) -> Result<usize, PipelineError> {
        let empty = Map::new();
        let value = n.evaluate(&mut Scope::of_map(id.as_map().unwrap_or(&empty)))?;
        let whole = value.as_ref().filter(|value| value.is_number()).and_then(Value::as_i64);
        match whole {
            Some(n @ 1..) => Ok(usize::try_from(n).unwrap_or(usize::MAX)),
            Some(_) => refuse(ErrorCode::Location7548606, format!("the n of {} must be greater than 0", self.name)),
            None if value.as_ref().is_some_and(Value::is_number) => {
                refuse(ErrorCode::Location7548606, format!("the n of {} must be a whole number", self.name))
            }
            None => refuse(
                ErrorCode::Location7548606,
                format!(
                    "the n of {} must be an integer, this is {}",
                    self.name,
                    value.as_ref().map_or("missing", Value::type_name)
                ),
            ),
        }
    }

    /// Adds a document to the state this number of times. Returns the bytes by which the state grows.
    pub fn add(
        &self,
        state: &mut State,
        record: RecordRef<'_>,
        scope: &mut Scope<'_>,
        times: u64,
    ) -> Result<usize, PipelineError> {
        let (value, key) = self.taken(record, scope)?;
        if self.takes_values() {
            return state.add_times(self.name, self.collation.as_ref(), value, times);
        }
        let mut grown = 0;
        for _ in 1..times {
            grown += self.add_taken(state, value.clone(), key.clone())?;
        }
        Ok(grown + self.add_taken(state, value, key)?)
    }

    /// True if [`Accumulator::add_value`] does the same as [`Accumulator::add`].
    pub fn takes_values(&self) -> bool {
        !matches!(self.kind, Kind::Sorted { .. } | Kind::ConcatArrays | Kind::SetUnion)
    }

    /// Adds the value of the argument in a document to the state this number of times; `None` if it is missing. Returns
    /// the bytes by which the state grows.
    #[inline]
    pub fn add_value(
        &self,
        state: &mut State,
        value: Option<ValueRef<'_>>,
        times: u64,
    ) -> Result<usize, PipelineError> {
        // A value that the state ignores is not decoded.
        let value = value.filter(|value| !state.takes_numbers() || value.is_number());
        let value = value.map(|value| value.to_value()).transpose()?;
        state.add_times(self.name, self.collation.as_ref(), value, times)
    }

    /// The value taken from a document. If the accumulator has an order, also the sort key of the document.
    fn taken(
        &self,
        record: RecordRef<'_>,
        scope: &mut Scope<'_>,
    ) -> Result<(Option<Value>, Option<Vec<u8>>), PipelineError> {
        let value = self.argument.evaluate(scope).map_err(|error| record.failed(error))?;
        let Kind::Sorted { sort, .. } = &self.kind else { return Ok((value, None)) };
        let mut key = Vec::new();
        record.put_sort_key(sort, &mut key)?;
        Ok((value, Some(key)))
    }

    fn add_taken(&self, state: &mut State, value: Option<Value>, key: Option<Vec<u8>>) -> Result<usize, PipelineError> {
        match (&self.kind, key) {
            (Kind::Sorted { last, .. }, Some(key)) => Ok(state.rank(key, value.unwrap_or_default(), *last)),
            (Kind::ConcatArrays | Kind::SetUnion, _) => self.add_elements(state, value),
            _ => state.add(self.name, self.collation.as_ref(), value),
        }
    }

    /// The part of a document that the accumulator uses, as a value that can be stored. It is an array. If the
    /// accumulator has an order, the array begins with the sort key of the document. The value follows, if there is
    /// one.
    pub fn input(&self, record: RecordRef<'_>, scope: &mut Scope<'_>) -> Result<Value, PipelineError> {
        let (value, key) = self.taken(record, scope)?;
        let key = key.map(|bytes| Value::Binary(Binary { subtype: 0, bytes }));
        Ok(Value::Array(key.into_iter().chain(value).collect()))
    }

    /// Adds an input that [`Accumulator::input`] returned. Returns the bytes by which the state grows.
    pub fn add_input(&self, state: &mut State, input: Value) -> Result<usize, PipelineError> {
        let Value::Array(parts) = input else { return Err(PipelineError::damaged_file()) };
        let mut parts = parts.into_iter();
        let key = match &self.kind {
            Kind::Sorted { .. } => match parts.next() {
                Some(Value::Binary(key)) => Some(key.bytes),
                _ => return Err(PipelineError::damaged_file()),
            },
            _ => None,
        };
        self.add_taken(state, parts.next(), key)
    }

    /// True if the state depends on the `_id` of the group.
    pub fn needs_id(&self) -> bool {
        match &self.kind {
            Kind::Some { n, .. } | Kind::Sorted { n: Some(n), .. } => n.as_constant().is_none(),
            _ => false,
        }
    }

    /// Adds each element of an array as a value.
    fn add_elements(&self, state: &mut State, value: Option<Value>) -> Result<usize, PipelineError> {
        let elements = match value {
            None => return Ok(0),
            Some(Value::Array(elements)) => elements,
            Some(other) => {
                let (name, found) = (self.name, other.type_name());
                return refuse(ErrorCode::TypeMismatch, format!("{name} takes arrays, this is of type {found}"));
            }
        };
        let mut grown = 0;
        for element in elements {
            grown += state.add(self.name, self.collation.as_ref(), Some(element))?;
        }
        Ok(grown)
    }

    /// Computes the result from the final state.
    pub fn finish(&self, state: State) -> Value {
        match (&self.kind, state) {
            (Kind::Deviation { sample }, state) => state.deviation_of(*sample),
            (Kind::Sorted { n: None, .. }, State::Ranked { items, .. }) => {
                items.into_iter().next().map_or(Value::Null, |(_, value)| value)
            }
            (Kind::Some { of: Of::Greatest, .. }, State::Ranked { items, .. }) => {
                Value::Array(items.into_iter().rev().map(|(_, value)| value).collect())
            }
            (Kind::Median, State::Numbers(numbers)) => percentiles(numbers, &[0.5]).pop().unwrap_or_default(),
            (Kind::Percentile(shares), State::Numbers(numbers)) => {
                let shares: Vec<f64> = shares.iter().map(|bits| f64::from_bits(*bits)).collect();
                Value::Array(percentiles(numbers, &shares))
            }
            (_, state) => state.value(),
        }
    }
}

/// For each fraction `p`, the least number such that at least the fraction `p` of all numbers are
/// not above it. Null if there are no numbers.
pub(super) fn percentiles(mut numbers: Vec<f64>, shares: &[f64]) -> Vec<Value> {
    numbers.sort_unstable_by(f64::total_cmp);
    let of = |share: f64| {
        let at = ((share * numbers.len() as f64).ceil() as usize).saturating_sub(1);
        numbers.get(at.min(numbers.len().saturating_sub(1))).map_or(Value::Null, |x| Value::from(*x))
    };
    shares.iter().map(|share| of(*share)).collect()
}
