//! The part of the log that a filter allows.

use crate::watch::ClusterTimes;
use alluvium_document::{Map, Timestamp, Value};
use alluvium_store::Seq;

/// The field with the time of an entry.
const TIME: &str = "ts";

/// The times that the entries of a query may have. The filter decides about each entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Times {
    /// No entry is before this time.
    pub from: Option<Timestamp>,
    /// No entry is after this time.
    pub to: Option<Timestamp>,
}

/// The numbers that the entries of a query may have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Numbers {
    /// No entry is of a batch that ends before this number.
    pub from: Option<Seq>,
    /// No entry is of a change with this number or a higher one, except of a transaction.
    pub below: Option<Seq>,
}

impl Times {
    /// The times that a filter allows.
    pub fn of(filter: &Map) -> Self {
        let mut times = Self::default();
        for (name, condition) in &filter.entries {
            match (name.as_str(), condition) {
                (Some(TIME), Value::Timestamp(time)) => times.restrict("$eq", *time),
                (Some(TIME), Value::Map(operators)) => {
                    for (operator, operand) in &operators.entries {
                        if let (Some(operator), Value::Timestamp(time)) = (operator.as_str(), operand) {
                            times.restrict(operator, *time);
                        }
                    }
                }
                (Some("$and"), Value::Array(filters)) => {
                    filters.iter().filter_map(Value::as_map).for_each(|filter| times.restrict_to(Self::of(filter)));
                }
                _ => {}
            }
        }
        times
    }

    /// The times that the filters at the begin of a pipeline allow.
    pub fn of_stages(stages: &Value) -> Self {
        let mut times = Self::default();
        for stage in stages.as_array().into_iter().flatten() {
            match stage.as_map().and_then(|stage| stage.get("$match")).and_then(Value::as_map) {
                Some(filter) => times.restrict_to(Self::of(filter)),
                None => break,
            }
        }
        times
    }

    fn restrict(&mut self, operator: &str, time: Timestamp) {
        match operator {
            "$eq" => self.restrict_to(Self { from: Some(time), to: Some(time) }),
            "$gt" | "$gte" => self.restrict_to(Self { from: Some(time), to: None }),
            "$lt" | "$lte" => self.restrict_to(Self { from: None, to: Some(time) }),
            _ => {}
        }
    }

    fn restrict_to(&mut self, other: Self) {
        self.from = self.from.max(other.from);
        self.to = match (self.to, other.to) {
            (Some(one), Some(other)) => Some(one.min(other)),
            (one, other) => one.or(other),
        };
    }

    /// The numbers that have these times.
    pub fn numbers(self, times: &dyn ClusterTimes) -> Numbers {
        let after = |time: Timestamp| match time.increment.checked_add(1) {
            Some(increment) => Timestamp { increment, ..time },
            None => Timestamp { time: time.time.saturating_add(1), increment: 0 },
        };
        let from = self.from.and_then(|time| times.number_at(time));
        Numbers { from, below: self.to.and_then(|time| times.number_at(after(time))) }
    }
}
