//! Explains why a value does not obey a `$jsonSchema`.

use super::type_of;
use crate::filter::Schema;
use crate::interrupt::Interrupt;
use crate::pattern::Patterns;
use crate::work::Work;
use alluvium_document::{Map, Value, key};
use std::cell::{Cell, RefCell};
use std::collections::HashSet;

/// Adds the title and the description of a schema.
pub(super) fn notes(schema: &Map, details: &mut Map) {
    for name in ["title", "description"] {
        if let Some(note) = schema.get(name) {
            details.push(name, note.clone());
        }
    }
}

/// The rules that a document violates.
pub(super) fn rules(schema: &Map, document: &Map, interrupt: Option<&Interrupt>) -> Value {
    let checks = &Checks { interrupt, work: RefCell::new(Work::asking(interrupt)), is_over: Cell::new(false) };
    Value::Array(broken(checks, schema, &Value::Map(document.clone())))
}

/// The state that the checks of one document share. After an interruption, no further violations are found.
struct Checks<'i> {
    interrupt: Option<&'i Interrupt>,
    work: RefCell<Work<'i>>,
    is_over: Cell<bool>,
}

impl Checks<'_> {
    /// Counts work. Returns false if the checks have ended.
    fn may_do(&self, units: usize) -> bool {
        if !self.is_over.get() && self.work.borrow_mut().add(units).is_err() {
            self.is_over.set(true);
        }
        !self.is_over.get()
    }
}

/// The work counted for checking a value by a rule. The rule is parsed again for each check.
const RULE_UNITS: usize = 1024;

/// The work counted for compiling a pattern for a name.
const PATTERN_UNITS: usize = 16 << 10;

/// True if a value obeys a schema.
fn obeys(checks: &Checks<'_>, schema: &Map, value: &Value) -> bool {
    if !checks.may_do(RULE_UNITS) {
        return true;
    }
    let around = Map::from([("properties", Value::Map(Map::from([("value", Value::Map(schema.clone()))])))]);
    let document = Map::from([("value", value.clone())]);
    let patterns = Patterns::interrupted_by(checks.interrupt);
    Schema::parse_with(&around, &patterns).is_ok_and(|schema| schema.allows(&document).unwrap_or(false))
}

fn broken(checks: &Checks<'_>, schema: &Map, value: &Value) -> Vec<Value> {
    let mut rules = Vec::new();
    for keyword in KEYWORDS {
        let Some(operand) = schema.get(keyword) else { continue };
        let mut rule = Map::from([(keyword, operand.clone())]);
        for beside in beside(keyword) {
            if let Some(operand) = schema.get(beside) {
                rule.push(*beside, operand.clone());
            }
        }
        if !obeys(checks, &rule, value) {
            let alone = |name: &str| !["properties", "patternProperties", "items"].contains(&name);
            let specified =
                rule.iter().filter(|(name, _)| name.as_str().is_some_and(|name| name == keyword || alone(name)));
            let specified = specified.map(|(name, value)| (name.clone(), value.clone())).collect();
            rules.push(Value::Map(explained(checks, keyword, operand, Map { entries: specified }, schema, value)));
        }
    }
    rules
}

/// Keywords in the order in which violated rules are listed.
const KEYWORDS: [&str; 25] = [
    "type",
    "bsonType",
    "enum",
    "minimum",
    "maximum",
    "multipleOf",
    "minLength",
    "maxLength",
    "pattern",
    "minItems",
    "maxItems",
    "uniqueItems",
    "items",
    "additionalItems",
    "properties",
    "required",
    "patternProperties",
    "additionalProperties",
    "minProperties",
    "maxProperties",
    "dependencies",
    "allOf",
    "anyOf",
    "oneOf",
    "not",
];

/// Other keywords that determine the meaning of a keyword.
fn beside(keyword: &str) -> &'static [&'static str] {
    match keyword {
        "minimum" => &["exclusiveMinimum"],
        "maximum" => &["exclusiveMaximum"],
        "additionalItems" => &["items"],
        "additionalProperties" => &["properties", "patternProperties"],
        _ => &[],
    }
}

/// The description of a violated rule.
fn explained(checks: &Checks<'_>, keyword: &str, operand: &Value, specified: Map, schema: &Map, value: &Value) -> Map {
    let mut details = Map::from([("operatorName", keyword)]);
    match keyword {
        "items" => items(checks, operand, value, &mut details),
        "additionalItems" => additional_items(checks, operand, specified, schema, value, &mut details),
        "uniqueItems" => {
            reason("found a duplicate item", specified, value, &mut details);
            if let Some(twice) = first_duplicate(checks, elements(value)) {
                details.push("duplicatedValue", twice.clone());
            }
        }
        "properties" | "patternProperties" => properties(checks, keyword, operand, value, &mut details),
        "required" => {
            let missing = elements(operand).iter().filter(|name| !has(value, name)).cloned().collect();
            details.push("specifiedAs", Value::Map(specified));
            details.push("missingProperties", Value::Array(missing));
        }
        "additionalProperties" => additional(checks, operand, specified, schema, value, &mut details),
        "minProperties" | "maxProperties" => {
            details.push("specifiedAs", Value::Map(specified));
            details.push("reason", "specified number of properties was not satisfied");
            details.push("numberOfProperties", i32::try_from(pairs(value).count()).unwrap_or(i32::MAX));
        }
        "dependencies" => {
            let failing = pairs(operand).filter(|(name, _)| has(value, &Value::from(*name)));
            let failing = failing.filter_map(|(name, needed)| dependency(checks, name, needed, value));
            details.push("failingDependencies", Value::Array(failing.collect()));
        }
        "allOf" | "anyOf" => details.push("schemasNotSatisfied", not_satisfied(checks, operand, value)),
        "oneOf" => one_of(checks, operand, value, &mut details),
        _ => {
            reason(of_values(keyword), specified, value, &mut details);
            if matches!(keyword, "type" | "bsonType") {
                details.push("consideredType", type_of(value));
            }
        }
    }
    details
}

/// The first element that is equal to an earlier one.
fn first_duplicate<'v>(checks: &Checks<'_>, elements: &'v [Value]) -> Option<&'v Value> {
    let mut seen = HashSet::new();
    elements.iter().find(|element| {
        let mut bytes = Vec::new();
        key::encode(element, &mut bytes);
        checks.may_do(bytes.len()) && !seen.insert(bytes)
    })
}

/// The reason that is given if a value violates a keyword that concerns only the value itself.
fn of_values(keyword: &str) -> &'static str {
    match keyword {
        "type" | "bsonType" => "type did not match",
        "enum" => "value was not found in enum",
        "minimum" | "maximum" => "comparison failed",
        "multipleOf" => "considered value is not a multiple of the specified value",
        "minLength" | "maxLength" => "specified string length was not satisfied",
        "pattern" => "regular expression did not match",
        "minItems" | "maxItems" => "array did not match specified length",
        _ => "child expression matched",
    }
}

fn reason(reason: &str, specified: Map, value: &Value, details: &mut Map) {
    details.push("specifiedAs", Value::Map(specified));
    details.push("reason", reason);
    details.push("consideredValue", value.clone());
}

fn additional_items(
    checks: &Checks<'_>,
    operand: &Value,
    specified: Map,
    schema: &Map,
    value: &Value,
    details: &mut Map,
) {
    let listed = schema.get("items").map_or(0, |items| elements(items).len());
    let rest = elements(value).get(listed..).unwrap_or_default();
    details.push("specifiedAs", Value::Map(specified));
    match operand {
        Value::Map(each) => first_item(checks, each, rest, listed, details),
        _ => {
            details.push("reason", "found additional items");
            details.push("additionalItems", Value::Array(rest.to_vec()));
        }
    }
}

fn properties(checks: &Checks<'_>, keyword: &str, operand: &Value, value: &Value, details: &mut Map) {
    let mut not_satisfied = Vec::new();
    for (name, schema) in pairs(operand) {
        let Some(schema) = schema.as_map() else { continue };
        if keyword == "properties" {
            let value = value.as_map().and_then(|map| map.get(name));
            not_satisfied.extend(value.and_then(|value| property(checks, name, schema, value, None)));
        } else {
            let matching = pairs(value).filter(|(field, _)| is_match(checks, name, field));
            not_satisfied
                .extend(matching.filter_map(|(field, value)| property(checks, field, schema, value, Some(name))));
        }
    }
    let key = if keyword == "properties" { "propertiesNotSatisfied" } else { "details" };
    details.push(key, Value::Array(not_satisfied));
}

fn one_of(checks: &Checks<'_>, operand: &Value, value: &Value, details: &mut Map) {
    let obeyed = |one: &Value| one.as_map().is_some_and(|one| obeys(checks, one, value));
    let matching = elements(operand).iter().enumerate().filter(|(_, one)| obeyed(one));
    let matching: Vec<Value> = matching.map(|(at, _)| place(at)).collect();
    if matching.is_empty() {
        details.push("schemasNotSatisfied", not_satisfied(checks, operand, value));
    } else {
        details.push("reason", "more than one subschema matched");
        details.push("matchingSchemaIndexes", Value::Array(matching));
    }
}

fn place(at: usize) -> Value {
    Value::Int32(i32::try_from(at).unwrap_or(i32::MAX))
}

fn elements(value: &Value) -> &[Value] {
    match value {
        Value::Array(elements) => elements,
        _ => &[],
    }
}

fn pairs(value: &Value) -> impl Iterator<Item = (&str, &Value)> {
    value.as_map().into_iter().flat_map(Map::iter).filter_map(|(name, value)| Some((name.as_str()?, value)))
}

fn has(value: &Value, name: &Value) -> bool {
    value.as_map().zip(name.as_str()).is_some_and(|(map, name)| map.contains(name))
}

fn is_match(checks: &Checks<'_>, pattern: &str, name: &str) -> bool {
    checks.may_do(PATTERN_UNITS)
        && Patterns::default().compile(pattern, "").is_ok_and(|pattern| pattern.is_match(name).unwrap_or(false))
}

/// Describes how a field violates its schema; `None` if it does not.
fn property(checks: &Checks<'_>, name: &str, schema: &Map, value: &Value, pattern: Option<&str>) -> Option<Value> {
    let rules = broken(checks, schema, value);
    if rules.is_empty() {
        return None;
    }
    let mut details = Map::from([("propertyName", name)]);
    if let Some(pattern) = pattern {
        details.push("regexMatched", pattern);
    }
    notes(schema, &mut details);
    details.push("details", Value::Array(rules));
    Some(Value::Map(details))
}

fn items(checks: &Checks<'_>, operand: &Value, value: &Value, details: &mut Map) {
    match operand {
        Value::Map(each) => first_item(checks, each, elements(value), 0, details),
        listed => {
            let pairs = elements(listed).iter().zip(elements(value)).enumerate();
            let wrong = pairs.filter_map(|(at, (schema, value))| Some((at, broken(checks, schema.as_map()?, value))));
            for (at, rules) in wrong.filter(|(_, rules)| !rules.is_empty()).take(1) {
                details.push("reason", "At least one item did not match the sub-schema");
                details.push("itemIndex", place(at));
                details.push("details", Value::Array(rules));
            }
        }
    }
}

/// Describes the violation of the first of `elements` that does not obey a schema.
fn first_item(checks: &Checks<'_>, schema: &Map, elements: &[Value], from: usize, details: &mut Map) {
    let wrong = elements.iter().map(|element| broken(checks, schema, element)).enumerate();
    for (at, rules) in wrong.filter(|(_, rules)| !rules.is_empty()).take(1) {
        details.push("reason", "At least one item did not match the sub-schema");
        details.push("itemIndex", place(from + at));
        details.push("details", Value::Array(rules));
    }
}

fn additional(checks: &Checks<'_>, operand: &Value, specified: Map, schema: &Map, value: &Value, details: &mut Map) {
    let is_known = |name: &str| {
        let named = schema.get("properties").and_then(Value::as_map).is_some_and(|known| known.contains(name));
        named
            || schema
                .get("patternProperties")
                .is_some_and(|all| pairs(all).any(|(pattern, _)| is_match(checks, pattern, name)))
    };
    details.push("specifiedAs", Value::Map(specified));
    let mut others = pairs(value).filter(|(name, _)| !is_known(name));
    match operand {
        Value::Map(each) => {
            let wrong = others.find_map(|(name, value)| {
                Some((name, broken(checks, each, value))).filter(|(_, rules)| !rules.is_empty())
            });
            if let Some((name, rules)) = wrong {
                details.push("reason", "at least one additional property did not match the subschema");
                details.push("failingProperty", name);
                details.push("details", Value::Array(rules));
            }
        }
        _ => details.push("additionalProperties", Value::Array(others.map(|(name, _)| Value::from(name)).collect())),
    }
}

fn dependency(checks: &Checks<'_>, name: &str, needed: &Value, value: &Value) -> Option<Value> {
    let mut failing = Map::from([("conditionalProperty", name)]);
    match needed {
        Value::Map(schema) => {
            let rules = broken(checks, schema, value);
            if rules.is_empty() {
                return None;
            }
            failing.push("details", Value::Array(rules));
        }
        names => {
            let missing: Vec<Value> = elements(names).iter().filter(|name| !has(value, name)).cloned().collect();
            if missing.is_empty() {
                return None;
            }
            failing.push("missingProperties", Value::Array(missing));
        }
    }
    Some(Value::Map(failing))
}

/// The schemas, among several, that a value does not obey.
fn not_satisfied(checks: &Checks<'_>, schemas: &Value, value: &Value) -> Value {
    let each = elements(schemas).iter().enumerate().filter_map(|(at, schema)| {
        let rules = broken(checks, schema.as_map()?, value);
        let details = Map::from([("index", place(at)), ("details", Value::Array(rules))]);
        let is_wrong = details.get("details").is_some_and(|rules| !elements(rules).is_empty());
        is_wrong.then_some(Value::Map(details))
    });
    Value::Array(each.collect())
}
