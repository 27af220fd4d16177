//! The canonical form of filters: filters with the same conditions have the same text.

use alluvium_document::{Map, Value, key};

use super::tree::{Clause, Comparison, Condition, In, Test, Written};
use super::{ElementFilter, Filter, Form};
use crate::interrupt::Interruption;
use crate::sorting;
use crate::work::Work;

/// Sorts conditions that must all hold, and removes duplicates. Returns their original order, in
/// which a duplicate has its last position. After an interruption the list of conditions is empty.
pub(super) fn sort(clauses: &mut Vec<Clause>, work: &mut Work<'_>) -> Result<Written, Interruption> {
    if clauses.len() < 2 {
        return Ok(Written::default());
    }
    let key = |clause: &Clause| {
        let mut rest = Vec::new();
        let (kind, name, operator, operand) = match clause {
            Clause::Field { path, condition } => {
                let (operator, operand) = condition_entry(condition);
                (0, path.text.to_string(), operator, operand)
            }
            Clause::Or(branches) => (1, String::new(), "$or", filters(branches)),
            Clause::Nor(branches) => (2, String::new(), "$nor", filters(branches)),
            Clause::Expression(computed) => (3, String::new(), "$expr", computed.written.clone()),
            Clause::Schema(shaped) => (4, String::new(), "$jsonSchema", shaped.written.clone()),
        };
        key::encode(&operand, &mut rest);
        (kind, name, operator, rest)
    };
    let keyed: Vec<_> = clauses.drain(..).zip(0u32..).map(|(clause, at)| (key(&clause), at, clause)).collect();
    let sorted = sorting::sorted(keyed, |a, b| a.0.cmp(&b.0), work)?;
    let mut former: Vec<(u32, u32)> = Vec::with_capacity(sorted.len());
    for (_, at, clause) in sorted {
        match former.last_mut() {
            Some((known, _)) if clauses.last() == Some(&clause) => *known = at,
            _ => {
                former.push((at, former.len() as u32));
                clauses.push(clause);
            }
        }
    }
    former.sort_unstable();
    Ok(Written(former.into_iter().map(|(_, position)| position).collect()))
}

/// As [`sort`], for conditions on one value.
pub(super) fn sort_conditions(conditions: &mut Vec<Condition>) {
    if conditions.len() < 2 {
        return;
    }
    conditions.sort_by_cached_key(|condition| {
        let (operator, operand) = condition_entry(condition);
        let mut rest = Vec::new();
        key::encode(&operand, &mut rest);
        (operator, rest)
    });
    conditions.dedup();
}

/// The filter as a document.
pub(super) fn to_map(filter: &Filter) -> Map {
    let (mut map, mut others) = (Map::new(), Vec::new());
    for clause in &filter.clauses {
        let entry = match clause {
            Clause::Field { path, condition } => {
                let (operator, operand) = condition_entry(condition);
                let operators = map.get_mut(&path.text);
                match operators {
                    Some(Value::Map(operators)) if !operators.contains(operator) => operators.push(operator, operand),
                    Some(_) => others.push(Map::from([(&*path.text, Map::from([(operator, operand)]))])),
                    None => map.push(&*path.text, Map::from([(operator, operand)])),
                }
                continue;
            }
            Clause::Or(branches) => ("$or", filters(branches)),
            Clause::Nor(branches) => ("$nor", filters(branches)),
            Clause::Expression(computed) => ("$expr", computed.written.clone()),
            Clause::Schema(shaped) => ("$jsonSchema", shaped.written.clone()),
        };
        if map.contains(entry.0) { others.push(Map::from([entry])) } else { map.push(entry.0, entry.1) }
    }
    if !others.is_empty() {
        map.push("$and", Value::Array(others.into_iter().map(Value::Map).collect()));
    }
    map
}

fn filters(filters: &[Filter]) -> Value {
    Value::Array(filters.iter().map(|filter| Value::Map(to_map(filter))).collect())
}

/// The operator and operand of a condition.
fn condition_entry(condition: &Condition) -> (&'static str, Value) {
    let conditions = match condition {
        Condition::Test(test) => return (test.name(), operand(test)),
        Condition::Not(conditions) => conditions,
    };
    match &conditions[..] {
        [Condition::Test(Test::Compare(Comparison::Equal, operand))] => ("$ne", operand.value.clone()),
        [Condition::Test(test @ Test::In(_))] => ("$nin", operand(test)),
        [Condition::Test(Test::Exists)] => ("$exists", Value::Bool(false)),
        conditions => ("$not", Value::Map(operators(conditions))),
    }
}

/// The operators on one value as a map. Several equalities become `$all`. If any other operator
/// occurs twice, the map contains its name twice.
fn operators(conditions: &[Condition]) -> Map {
    let equal: Vec<Value> = conditions.iter().filter_map(listed_by_all).cloned().collect();
    let is_all = equal.len() > 1;
    let others = conditions.iter().filter(|condition| !is_all || listed_by_all(condition).is_none());
    let mut map: Map = others.map(condition_entry).collect();
    if is_all {
        map.push("$all", Value::Array(equal));
    }
    map
}

/// The value of an equality, if it is an equality within `$all` too.
fn listed_by_all(condition: &Condition) -> Option<&Value> {
    match condition {
        Condition::Test(Test::Compare(Comparison::Equal, operand)) => {
            Some(&operand.value).filter(|value| !matches!(value, Value::Map(_) | Value::Regex(_)))
        }
        _ => None,
    }
}

fn operand(test: &Test) -> Value {
    match test {
        Test::Compare(_, operand) => operand.value.clone(),
        Test::In(list) => in_list(list),
        Test::Exists => Value::Bool(true),
        Test::Type(types) => types.to_value(),
        Test::Mod { divisor, remainder } => Value::Array(vec![Value::from(*divisor), Value::from(*remainder)]),
        Test::Regex(pattern) => pattern.to_value(),
        Test::Bits(bits) => bits.to_value(),
        Test::Size(size) => Value::from(*size),
        Test::ElemMatch(filter) => Value::Map(element(filter)),
    }
}

fn in_list(list: &In) -> Value {
    let patterns = list.patterns.iter().map(crate::pattern::Pattern::to_value);
    Value::Array(list.values.iter().cloned().chain(patterns).collect())
}

fn element(filter: &ElementFilter) -> Map {
    match &filter.form {
        Form::Element(conditions) => operators(conditions),
        Form::Fields(filter) => to_map(filter),
    }
}
