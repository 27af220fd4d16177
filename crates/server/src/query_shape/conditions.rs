//! Filters as trees of conditions.

use crate::fields::Fields;
use alluvium::{Map, Value};
use std::collections::BTreeSet;

/// A condition of a filter, or an operator with several conditions below it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Condition {
    /// The operator.
    operator: String,
    /// The path of the field; empty if the condition has no field.
    path: String,
    /// The part of the operand that belongs to both shapes.
    kept: String,
    below: Vec<Condition>,
    /// The types of the operand, which belong only to the shape of the query.
    types: String,
    /// True for a list of one value, which is planned like a comparison with this value.
    is_single: bool,
}

impl Condition {
    fn new(operator: &str, path: &str, types: String) -> Self {
        let (operator, path) = (operator.to_owned(), path.to_owned());
        Self { operator, path, kept: String::new(), below: Vec::new(), types, is_single: false }
    }

    fn group(operator: &str, path: &str, below: Vec<Self>) -> Self {
        Self { below, ..Self::new(operator, path, String::new()) }
    }

    fn not(self) -> Self {
        Self::group("$not", "", vec![self])
    }

    /// The condition in the form that plans depend on: logical operators with one operand are removed, and the
    /// conditions are sorted.
    pub(super) fn planned(mut self) -> Self {
        if self.is_single {
            self.operator = "$eq".to_owned();
        }
        // Plans depend neither on the types in a condition nor on expressions.
        self.types = String::new();
        let mut below: Vec<Self> = std::mem::take(&mut self.below).into_iter().map(Self::planned).collect();
        if ["$and", "$or"].contains(&self.operator.as_str()) && self.path.is_empty() {
            let is_same = |other: &Self| other.operator == self.operator && other.path.is_empty();
            below = below.into_iter().flat_map(|it| if is_same(&it) { it.below } else { vec![it] }).collect();
            if below.len() == 1 {
                return below.remove(0);
            }
        }
        below.sort();
        self.below = below;
        self
    }

    /// The form of the condition in the shape of the plan.
    pub(super) fn of_plan(&self) -> String {
        let below: Vec<String> = self.below.iter().map(Self::of_plan).collect();
        format!("{}({:?} {:?})[{}]", self.operator, self.path, self.kept, below.join(" "))
    }

    /// The form of the condition in the shape of the query.
    pub(super) fn of_query(&self) -> String {
        let below: Vec<String> = self.below.iter().map(Self::of_query).collect();
        format!("{}({:?} {:?} {})[{}]", self.operator, self.path, self.kept, self.types, below.join(" "))
    }
}

/// All conditions of a filter.
pub(super) fn all_of(filter: &Map) -> Condition {
    joined(filter.iter().flat_map(|(name, value)| of_field(name.as_str().unwrap_or_default(), value)).collect())
}

fn joined(mut conditions: Vec<Condition>) -> Condition {
    match conditions.len() {
        1 => conditions.remove(0),
        _ => Condition::group("$and", "", conditions),
    }
}

fn of_field(name: &str, value: &Value) -> Vec<Condition> {
    match (name, value) {
        ("$and" | "$or" | "$nor", Value::Array(filters)) => {
            let below = filters.iter().filter_map(Value::as_map).map(all_of).collect();
            vec![Condition::group(name, "", below)]
        }
        ("$comment", _) => Vec::new(),
        ("$expr", expression_of) => vec![Condition::new(name, "", expression(expression_of))],
        ("$jsonSchema", schema) => vec![Condition { kept: words(schema), ..Condition::new(name, "", String::new()) }],
        (name, value) if name.starts_with('$') => vec![Condition::new(name, "", expression(value))],
        (path, Value::Map(operators)) if has_operators(operators) => on_path(path, operators),
        (path, value) => vec![compared("$eq", path, value)],
    }
}

fn has_operators(map: &Map) -> bool {
    map.iter().any(|(name, _)| name.as_str().is_some_and(|name| name.starts_with('$')))
}

/// The conditions of one field.
fn on_path(path: &str, operators: &Map) -> Vec<Condition> {
    let each = operators.iter().filter_map(|(operator, operand)| {
        let operator = operator.as_str()?;
        let condition = match (operator, operand) {
            ("$options", _) => return None,
            ("$ne", operand) => compared("$eq", path, operand).not(),
            ("$in", Value::Array(values)) => listed(path, values),
            ("$nin", Value::Array(values)) => listed(path, values).not(),
            ("$all", Value::Array(values)) => {
                let each = values.iter().map(|value| match value {
                    Value::Map(map) if map.contains("$elemMatch") => joined(on_path(path, map)),
                    value => compared("$eq", path, value),
                });
                Condition::group("$and", "", each.collect())
            }
            ("$not", Value::Map(inner)) => joined(on_path(path, inner)).not(),
            ("$not", operand) => compared("$eq", path, operand).not(),
            ("$elemMatch", Value::Map(inner)) if has_operators(inner) && !is_filter(inner) => {
                Condition::group("$elemMatch of values", path, on_path("", inner))
            }
            ("$elemMatch", Value::Map(inner)) => Condition::group("$elemMatch", path, vec![all_of(inner)]),
            ("$exists", operand) => {
                let exists = Condition::new("$exists", path, "?bool".to_owned());
                if operand.as_f64() == Some(0.0) || *operand == Value::Bool(false) { exists.not() } else { exists }
            }
            ("$type", operand) => Condition::new("$type", path, types(operand)),
            ("$regex", operand) => {
                let options = operators.text("$options").map_or_else(|| options_of(operand), str::to_owned);
                Condition { kept: sorted(&options), ..Condition::new("$regex", path, "?string".to_owned()) }
            }
            (operator, operand) => compared(operator, path, operand),
        };
        Some(condition)
    });
    each.collect()
}

/// True if an operand of `$elemMatch` is a filter, although it begins with an operator.
fn is_filter(inner: &Map) -> bool {
    inner.iter().any(|(name, _)| matches!(name.as_str(), Some("$and" | "$or" | "$nor" | "$expr")))
}

/// A comparison with a value. A comparison with a regular expression is a match.
fn compared(operator: &str, path: &str, value: &Value) -> Condition {
    match value {
        Value::Regex(_) if operator == "$eq" => {
            let kept = sorted(&options_of(value));
            Condition { kept, ..Condition::new("$regex", path, "?string".to_owned()) }
        }
        value => Condition::new(operator, path, kind(value)),
    }
}

/// The condition that a value is in a list. The number of listed values does not matter.
fn listed(path: &str, values: &[Value]) -> Condition {
    let is_single = values.len() == 1;
    Condition { is_single, ..Condition::new("$in", path, of_elements(values)) }
}

fn options_of(value: &Value) -> String {
    match value {
        Value::Regex(regex) => regex.options.to_string(),
        _ => String::new(),
    }
}

fn sorted(options: &str) -> String {
    options.chars().collect::<BTreeSet<char>>().into_iter().collect()
}

/// The types in the operand of `$type`.
fn types(operand: &Value) -> String {
    let one = std::slice::from_ref(operand);
    let named: BTreeSet<String> = operand.as_array().unwrap_or(one).iter().map(Value::to_string).collect();
    named.into_iter().collect::<Vec<_>>().join(",")
}

/// The type of a value, as a placeholder.
pub(super) fn kind(value: &Value) -> String {
    match value {
        value if value.is_number() => "?number".to_owned(),
        Value::Array(values) => of_elements(values),
        Value::Map(_) => "?object".to_owned(),
        value => format!("?{}", value.type_name()),
    }
}

/// The types of the elements of an array.
fn of_elements(values: &[Value]) -> String {
    let kinds: BTreeSet<String> = values.iter().map(kind).collect();
    match kinds.len() {
        1 => format!("?array<{}>", kinds.into_iter().collect::<String>()),
        _ => "?array<>".to_owned(),
    }
}

/// The shape of an expression: its operators and fields, and the types of its constants.
pub(super) fn expression(value: &Value) -> String {
    match value {
        Value::Map(map) if map.contains("$literal") => map.get("$literal").map(kind).unwrap_or_default(),
        Value::Map(map) => {
            let each = map.iter().map(|(name, value)| format!("{name}: {}", expression(value)));
            format!("{{{}}}", each.collect::<Vec<_>>().join(", "))
        }
        Value::Array(values) => {
            format!("[{}]", values.iter().map(expression).collect::<Vec<_>>().join(", "))
        }
        Value::String(text) if text.starts_with('$') => text.to_string(),
        value => kind(value),
    }
}

/// The shape of a schema: its names, without its numbers.
fn words(schema: &Value) -> String {
    match schema {
        Value::Map(map) => {
            let each = map.iter().map(|(name, value)| format!("{name}: {}", words(value)));
            format!("{{{}}}", each.collect::<Vec<_>>().join(", "))
        }
        Value::Array(values) => format!("[{}]", values.iter().map(words).collect::<Vec<_>>().join(", ")),
        Value::String(text) => text.to_string(),
        value => kind(value),
    }
}
