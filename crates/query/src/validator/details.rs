//! Explains why a document does not match a filter, in the form of MongoDB's `errInfo.details`.
//!
//! Each part of the filter is evaluated separately. The evaluation of the whole filter decides the result; this module
//! only describes it.

mod schema;

use crate::expression::Variables;
use crate::filter::Filter;
use alluvium_document::path::FieldPath;
use alluvium_document::{Map, Value};

/// A document, and the variables that the expressions of the rules share.
#[derive(Clone, Copy)]
pub(super) struct Checked<'c> {
    pub fields: &'c Map,
    pub variables: &'c Variables,
}

/// Explains why the document does not match the rules. An empty map if it matches.
pub(super) fn of(rules: &Map, document: Checked<'_>) -> Map {
    let clauses = clauses_of(rules);
    match &clauses[..] {
        [only] => clause(only, document, true).unwrap_or_default(),
        several => listed("$and", "clausesNotSatisfied", several.iter().map(|one| clause(one, document, true))),
    }
}

/// Splits a filter into one filter for each condition.
fn clauses_of(rules: &Map) -> Vec<Map> {
    let mut clauses = Vec::new();
    for (name, operand) in rules.iter() {
        let name = name.as_str().unwrap_or_default();
        match operand {
            Value::Map(operators) if !name.starts_with('$') && has_operators(operators) => {
                for (operator, operand) in pairs(operators) {
                    clauses.push(Map::from([(name, Value::Map(operator_of(operator, operand, operators)))]));
                }
            }
            operand => clauses.push(Map::from([(name, operand.clone())])),
        }
    }
    clauses
}

fn pairs(map: &Map) -> impl Iterator<Item = (&str, &Value)> {
    // `$options` belongs to `$regex`.
    map.iter().filter_map(|(name, value)| Some((name.as_str()?, value))).filter(|(name, _)| *name != "$options")
}

fn has_operators(map: &Map) -> bool {
    map.iter().next().and_then(|(name, _)| name.as_str()).is_some_and(|name| name.starts_with('$') && name != "$ref")
}

/// A map with a single operator; for `$regex` also with its options.
fn operator_of(operator: &str, operand: &Value, beside: &Map) -> Map {
    let mut map = Map::from([(operator, operand.clone())]);
    if let Some(options) = beside.get("$options").filter(|_| operator == "$regex") {
        map.push("$options", options.clone());
    }
    map
}

fn matches(rule: &Map, document: Checked<'_>) -> bool {
    Filter::parse_in(rule, document.variables).is_ok_and(|filter| filter.matches_map(document.fields).unwrap_or(false))
}

/// Explains why a document does not meet a condition (if `wanted`), or meets a condition that it must not meet. `None`
/// if the result is as wanted.
fn clause(rule: &Map, document: Checked<'_>, wanted: bool) -> Option<Map> {
    if matches(rule, document) == wanted {
        return None;
    }
    let (name, operand) = rule.iter().next().and_then(|(name, operand)| Some((name.as_str()?, operand)))?;
    let branches = || match operand {
        Value::Array(branches) => branches.iter().filter_map(Value::as_map).collect(),
        _ => Vec::new(),
    };
    Some(match (name, operand) {
        ("$jsonSchema", Value::Map(schema)) if wanted => {
            let mut details = Map::from([("operatorName", "$jsonSchema")]);
            schema::notes(schema, &mut details);
            details.push(
                "schemaRulesNotSatisfied",
                schema::rules(schema, document.fields, document.variables.interrupt()),
            );
            details
        }
        ("$jsonSchema", _) => Map::from([
            ("operatorName", Value::from("$jsonSchema")),
            ("specifiedAs", Value::Map(rule.clone())),
            ("reason", Value::from("schema matched")),
        ]),
        ("$and", _) if wanted => {
            listed(name, "clausesNotSatisfied", branches().into_iter().map(|one| whole(one, document, true)))
        }
        ("$or", _) if wanted => {
            listed(name, "clausesNotSatisfied", branches().into_iter().map(|one| whole(one, document, true)))
        }
        ("$nor", _) if wanted => {
            listed(name, "clausesSatisfied", branches().into_iter().map(|one| whole(one, document, false)))
        }
        ("$and" | "$or" | "$nor", _) => {
            let key = if name == "$nor" { "clausesNotSatisfied" } else { "clausesSatisfied" };
            let each = branches().into_iter().map(|one| whole(one, document, name == "$nor"));
            listed(name, key, each)
        }
        ("$expr", _) => Map::from([
            ("operatorName", Value::from("$expr")),
            ("specifiedAs", Value::Map(rule.clone())),
            ("reason", Value::from(if wanted { "expression did not match" } else { "expression did match" })),
            ("expressionResult", Value::Bool(!wanted)),
        ]),
        (path, Value::Map(operators)) if has_operators(operators) => {
            let (operator, operand) = pairs(operators).next()?;
            field(rule, path, operator, operand, document, wanted)
        }
        (path, operand) => {
            let operator = if matches!(operand, Value::Regex(_)) { "$regex" } else { "$eq" };
            field(rule, path, operator, operand, document, wanted)
        }
    })
}

/// As [`clause`], for a filter that may have several conditions.
fn whole(rules: &Map, document: Checked<'_>, wanted: bool) -> Option<Map> {
    if matches(rules, document) == wanted {
        return None;
    }
    let clauses = clauses_of(rules);
    match &clauses[..] {
        [only] => clause(only, document, wanted),
        several => {
            let key = if wanted { "clausesNotSatisfied" } else { "clausesSatisfied" };
            Some(listed("$and", key, several.iter().map(|one| clause(one, document, wanted))))
        }
    }
}

/// The conditions that are not met, each with its position.
fn listed(operator: &str, key: &str, broken: impl Iterator<Item = Option<Map>>) -> Map {
    let broken = broken.enumerate().filter_map(|(at, details)| {
        let index = i32::try_from(at).unwrap_or(i32::MAX);
        Some(Value::Map(Map::from([("index", Value::Int32(index)), ("details", Value::Map(details?))])))
    });
    Map::from([("operatorName", Value::from(operator)), (key, Value::Array(broken.collect()))])
}

/// Explains why the values at a path do not meet a condition.
fn field(rule: &Map, path: &str, operator: &str, operand: &Value, document: Checked<'_>, wanted: bool) -> Map {
    if operator == "$not" {
        let inner = match operand {
            Value::Map(operators) => Map::from([(path, Value::Map(operators.clone()))]),
            other => Map::from([(path, other.clone())]),
        };
        let details = whole(&inner, document, !wanted).unwrap_or_default();
        return Map::from([("operatorName", Value::from("$not")), ("details", Value::Map(details))]);
    }
    let mut details = Map::from([("operatorName", Value::from(operator)), ("specifiedAs", Value::Map(rule.clone()))]);
    let values = values_at(path, document.fields);
    if values.is_empty() && !matches!(operator, "$exists") {
        details.push("reason", "field was missing");
        return details;
    }
    details.push("reason", reason(operator, operand, &values, wanted));
    if operator == "$exists" {
        return details;
    }
    let is_typed = matches!(operator, "$type");
    match &values[..] {
        [one] => {
            details.push("consideredValue", one.clone());
            if is_typed {
                details.push("consideredType", type_of(one));
            }
        }
        several => {
            if is_typed {
                let types = several.iter().map(|value| Value::from(type_of(value))).collect();
                details.push("consideredValues", Value::Array(several.to_vec()));
                details.push("consideredTypes", Value::Array(types));
            } else {
                details.push("consideredValues", Value::Array(several.to_vec()));
            }
        }
    }
    details
}

fn reason(operator: &str, operand: &Value, values: &[Value], wanted: bool) -> &'static str {
    let is_array = matches!(values, [Value::Array(_)]);
    let pair = match operator {
        "$exists" => {
            let demanded = !matches!(operand, Value::Bool(false) | Value::Int32(0) | Value::Int64(0) | Value::Null);
            return if demanded == wanted { "path does not exist" } else { "path does exist" };
        }
        "$type" => ("type did not match", "type did match"),
        "$in" => ("no matching value found in array", "matching value found in array"),
        "$nin" => ("matching value found in array", "no matching value found in array"),
        "$all" => ("array did not contain all specified values", "array did contain all specified values"),
        "$size" if !is_array => ("type did not match", "type did match"),
        "$size" => ("array length was not equal to given size", "array length was equal to given size"),
        "$elemMatch" if !is_array => ("type did not match", "type did match"),
        "$elemMatch" => ("array did not satisfy the child predicate", "array did satisfy the child predicate"),
        "$regex" => ("regular expression did not match", "regular expression did match"),
        "$mod" => ("$mod did not evaluate to expected remainder", "$mod did evaluate to expected remainder"),
        "$bitsAllSet" | "$bitsAllClear" | "$bitsAnySet" | "$bitsAnyClear" => {
            ("bitwise operator failed to match", "bitwise operator matched successfully")
        }
        _ => ("comparison failed", "comparison succeeded"),
    };
    if wanted { pair.0 } else { pair.1 }
}

/// The values at a path that filters examine.
fn values_at(path: &str, document: &Map) -> Vec<Value> {
    let Ok(path) = path.parse::<FieldPath>() else { return Vec::new() };
    let document = Value::Map(document.clone());
    let mut values = Vec::new();
    path.visit(&document, &mut |value| values.push(value.clone()));
    values
}

/// MongoDB's name for the type of a value.
fn type_of(value: &Value) -> &'static str {
    value.type_name()
}
