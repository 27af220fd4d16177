//! Parses MongoDB's filter documents.

mod regex;

use alluvium_document::bson::document_size;
use alluvium_document::compare::compare;
use alluvium_document::{MAX_DEPTH, Map, Value};

use std::collections::BTreeMap;

use super::bits::{Bits, Wanted, truncated};
use super::operators::{AT_TOP, OF_DOCUMENTS, OF_FIELDS, UNSUPPORTED};
use super::schema::Schema;
use super::tree::{Clause, Comparison, Computed, Condition, Demands, In, Operand, Ordered, Path, Shaped, Test};
use super::types::TypeSet;
use super::{ElementFilter, Filter, FilterError, Form};
use crate::dollar::is_reference_name;
use crate::expression::{Expression, ExpressionError, Variables};
use crate::pattern::{Pattern, Patterns};
use crate::sorting;
use crate::suggest::suggestion;
use crate::work::Work;

/// For a condition of at least this size, the interrupt is checked at each element of an array.
const LONG_BYTES: usize = 256;

/// The work counted for parsing a condition or a value.
const STEP_UNITS: usize = 64;

/// The order of `$regex` and `$options` does not matter.
const REGEX: [&str; 2] = ["$regex", "$options"];

/// The maximum number of names in a path that are numbers. Each such name may be a field of a map
/// or a position in an array, so the cost of a match grows with their number.
const POSITIONS_MAX: usize = 16;

type Result<T> = std::result::Result<T, FilterError>;

/// The kind of value that a filter document applies to.
#[derive(Debug, Clone, Copy)]
pub(super) enum Level<'v> {
    /// A whole document. Expressions may use these variables.
    Document(&'v Variables),
    /// A map in an array. It may be a reference to a document of another collection.
    Element,
}

/// Parses a document of conditions that must all hold. Nesting is at most [`MAX_DEPTH`], which
/// bounds the recursion.
pub(super) fn filter(map: &Map, level: Level<'_>, patterns: &Patterns) -> Result<Filter> {
    let (mut all, mut demands) = (Conjunction::with_capacity(map.len()), Demands::default());
    for (name, operand) in &map.entries {
        count_work(patterns, STEP_UNITS)?;
        let name = name.as_str().ok_or_else(|| bad("a filter has a name that is not a string"))?;
        match name {
            "$and" => {
                let mut inner = Conjunction::default();
                for filter in list(name, operand, level, patterns)? {
                    inner.add_filter(filter, &mut demands);
                }
                all.add_group(inner.into_clauses());
            }
            "$or" => all.add_filter(or(list(name, operand, level, patterns)?), &mut demands),
            "$nor" => all.own.extend(nor(list(name, operand, level, patterns)?)),
            "$comment" => {}
            "$expr" => all.own.extend(computed(operand, level)?),
            "$sampleRate" => all.own.extend(sampled(operand, level)?),
            "$jsonSchema" => match operand {
                Value::Map(_) if matches!(level, Level::Element) => {
                    return Err(bad(
                        "$jsonSchema is a condition on whole documents: it cannot be inside of $elemMatch",
                    ));
                }
                Value::Map(map) => {
                    let (schema, written) = (Schema::parse_with(map, patterns)?, operand.clone());
                    all.own.push(Clause::Schema(Box::new(Shaped { schema, written })));
                }
                _ => return Err(FilterError::TypeMismatch("$jsonSchema takes a schema, which is a map".to_owned())),
            },
            name if matches!(level, Level::Element) && is_reference_name(name) => {
                field(name, operand, patterns, &mut all, &mut demands)?;
            }
            name if name.starts_with('$') => return Err(unknown_at_top(name)),
            name => field(name, operand, patterns, &mut all, &mut demands)?,
        }
    }
    let mut work = Work::asking(patterns.interrupt());
    let all = Filter::of_counted(all.into_clauses(), &mut work).map_err(ExpressionError::from)?;
    Ok(Filter { demands, ..all })
}

/// Counts work of the parser, and checks its interrupt.
fn count_work(patterns: &Patterns, units: usize) -> Result<()> {
    Ok(patterns.work(units).map_err(ExpressionError::from)?)
}

/// Conditions that must all hold, in MongoDB's order. The conditions of a group, such as `$all` or
/// `$and`, come after all conditions that are not in a group.
#[derive(Default)]
struct Conjunction {
    own: Vec<Clause>,
    grouped: Vec<Clause>,
}

impl Conjunction {
    fn with_capacity(capacity: usize) -> Self {
        Self { own: Vec::with_capacity(capacity), grouped: Vec::new() }
    }

    /// Adds conditions that belong together. Copies of a single condition do not form a group.
    fn add_group(&mut self, mut clauses: Vec<Clause>) {
        let is_single = !clauses.is_empty() && clauses.windows(2).all(|two| two[0] == two[1]);
        let conditions = if is_single { &mut self.own } else { &mut self.grouped };
        conditions.append(&mut clauses);
    }

    /// Adds the conditions of a filter, and the values that it demands.
    fn add_filter(&mut self, mut filter: Filter, demands: &mut Demands) {
        demands.0.append(&mut filter.demands.0);
        let mut clauses: Vec<Option<Clause>> = filter.clauses.into_iter().map(Some).collect();
        let order = filter.written.order(clauses.len());
        self.add_group(order.filter_map(|at| clauses.get_mut(at)?.take()).collect());
    }

    fn into_clauses(mut self) -> Vec<Clause> {
        self.own.append(&mut self.grouped);
        self.own
    }
}

fn list(name: &str, operand: &Value, level: Level<'_>, patterns: &Patterns) -> Result<Vec<Filter>> {
    let wrong = || bad(format!("{name} takes an array of one or more maps"));
    let Value::Array(filters) = operand else { return Err(wrong()) };
    if filters.is_empty() {
        return Err(wrong());
    }
    let read = |operand: &Value| filter(operand.as_map().ok_or_else(wrong)?, level, patterns);
    filters.iter().map(read).collect()
}

/// Builds a `$sampleRate`: a fraction of the documents, chosen at random.
fn sampled(operand: &Value, level: Level<'_>) -> Result<Vec<Clause>> {
    let is_share = operand.as_f64().is_some_and(|share| (0.0..=1.0).contains(&share));
    if !is_share {
        return Err(bad(format!("$sampleRate takes a number from 0 to 1, not {operand}")));
    }
    let random = Value::Map(Map::from([("$rand", Value::Map(Map::new()))]));
    let less = Map::from([("$lt", Value::Array(vec![random, operand.clone()]))]);
    computed(&Value::Map(less), level)
}

/// Builds an `$expr`, and the conditions on fields that follow from it. Indexes can be used for these conditions.
fn computed(operand: &Value, level: Level<'_>) -> Result<Vec<Clause>> {
    let Level::Document(variables) = level else {
        return Err(bad("$expr is a condition on whole documents: it cannot be inside of $elemMatch"));
    };
    let expression = Expression::parse_in(operand, variables)?;
    let (mut clauses, mut orders) = (Vec::new(), Vec::new());
    for found in expression.comparisons() {
        let Some(comparison) = Comparison::of_name(found.operator) else { continue };
        let comparison = if found.is_reversed { comparison.reversed() } else { comparison };
        let Ok(path) = self::path(found.path.as_str()) else { continue };
        if path.steps.iter().any(|step| step.position.is_some())
            || matches!(found.constant, Value::Array(_) | Value::Regex(_) | Value::Undefined)
        {
            continue;
        }
        let operand = Operand::new(found.constant.clone());
        match comparison {
            // If the expression is true, the filter condition on the field holds too. The reverse is not true, because
            // the filter also compares elements of arrays.
            Comparison::Equal => {
                clauses.push(Clause::Field { path, condition: Condition::Test(Test::Compare(comparison, operand)) });
            }
            // A filter's range operators compare only values of one type, and they compare elements of arrays.
            // Therefore no condition on a field follows from this comparison.
            _ => orders.push(Ordered { path, comparison, operand }),
        }
    }
    clauses.push(Clause::Expression(Box::new(Computed { expression, written: operand.clone(), orders })));
    Ok(clauses)
}

/// Builds an `$or`. Nested `$or`s are flattened. If there is only one branch, that branch is returned.
fn or(filters: Vec<Filter>) -> Filter {
    let mut branches = Vec::with_capacity(filters.len());
    for mut filter in filters {
        match &mut filter.clauses[..] {
            [Clause::Or(inner)] => branches.append(inner),
            _ => branches.push(filter),
        }
    }
    if branches.len() > FEW_BRANCHES {
        branches = lists(branches);
    }
    match <[Filter; 1]>::try_from(branches) {
        Ok([only]) => only,
        Err(mut branches) => {
            // A branch demands no value, because another branch may match instead.
            branches.iter_mut().for_each(|branch| branch.demands = Demands::default());
            Filter { clauses: vec![Clause::Or(branches)], ..Filter::default() }
        }
    }
}

/// The planner looks up each branch separately if there are at most this many. That may save a sort.
const FEW_BRANCHES: usize = 64;

/// Merges branches that demand single values of one field into an `$in`. A value that is not
/// allowed in an `$in`, or would be a pattern there, stays a branch.
fn lists(branches: Vec<Filter>) -> Vec<Filter> {
    let mut rest: Vec<Filter> = Vec::with_capacity(branches.len());
    let mut listed: BTreeMap<Box<str>, (usize, Vec<Value>, Vec<Pattern>)> = BTreeMap::new();
    for branch in branches {
        let (path, values, patterns) = match &branch.clauses[..] {
            [Clause::Field { path, condition: Condition::Test(Test::Compare(Comparison::Equal, operand)) }]
                if is_listable(&operand.value) =>
            {
                (&path.text, std::slice::from_ref(&operand.value), &[][..])
            }
            [Clause::Field { path, condition: Condition::Test(Test::In(list)) }] => {
                (&path.text, &list.values[..], &list.patterns[..])
            }
            _ => {
                rest.push(branch);
                continue;
            }
        };
        match listed.get_mut(path) {
            Some((_, all_values, all_patterns)) => {
                all_values.extend_from_slice(values);
                all_patterns.extend_from_slice(patterns);
            }
            None => {
                listed.insert(path.clone(), (rest.len(), values.to_vec(), patterns.to_vec()));
                rest.push(branch);
            }
        }
    }
    for (path, (at, values, patterns)) in listed {
        if values.len() + patterns.len() > 1 {
            let condition = Condition::Test(Test::In(In::new(values, patterns)));
            rest[at] =
                Filter { clauses: vec![Clause::Field { path: Path::new(&path), condition }], ..Filter::default() };
        }
    }
    rest
}

/// True if the value has the same meaning in an `$in`.
fn is_listable(value: &Value) -> bool {
    match value {
        Value::Regex(_) => false,
        Value::Map(map) => !is_operators(map),
        _ => true,
    }
}

/// Builds a `$nor`. A branch with a single condition on a field becomes a negated condition.
fn nor(filters: Vec<Filter>) -> Vec<Clause> {
    let (mut clauses, mut branches) = (Vec::new(), Vec::new());
    for mut filter in filters {
        filter.demands = Demands::default();
        match filter.clauses.pop() {
            Some(Clause::Field { path, condition }) if filter.clauses.is_empty() => {
                let conditions = match condition {
                    Condition::Not(inner) => inner,
                    test => vec![Condition::Not(vec![test])],
                };
                let field = |condition| Clause::Field { path: path.clone(), condition };
                clauses.extend(conditions.into_iter().map(field));
            }
            last => {
                filter.clauses.extend(last);
                branches.push(filter);
            }
        }
    }
    if !branches.is_empty() {
        clauses.push(Clause::Nor(branches));
    }
    clauses
}

fn field(name: &str, operand: &Value, patterns: &Patterns, all: &mut Conjunction, demands: &mut Demands) -> Result<()> {
    let path = Path { interrupt: patterns.interrupt().cloned(), ..path(name)? };
    let operators_of = match operand {
        Value::Map(map) if is_operators(map) => map,
        value => {
            let test = equality(name, value, patterns)?;
            demands.0.extend(test.only_value().map(|value| (path.text.clone(), value.clone())));
            all.own.push(Clause::Field { path, condition: Condition::Test(test) });
            return Ok(());
        }
    };
    let mut values = Vec::new();
    let groups = operators(name, operators_of, patterns, &mut values)?;
    demands.0.extend(values.into_iter().map(|value| (path.text.clone(), value)));
    for conditions in groups {
        let field = |condition| Clause::Field { path: path.clone(), condition };
        all.add_group(conditions.into_iter().map(field).collect());
    }
    Ok(())
}

/// Parses the path of a field. Names in a path may be empty, because field names may be empty.
pub(super) fn path(text: &str) -> Result<Path> {
    let path = Path::new(text);
    if path.steps.len() > MAX_DEPTH {
        return Err(FilterError::TooDeep(format!("a path in a filter has more than {MAX_DEPTH} names")));
    }
    if path.steps.iter().filter(|step| step.position.is_some()).count() > POSITIONS_MAX {
        return Err(FilterError::TooDeep(format!("a path in a filter has more than {POSITIONS_MAX} positions")));
    }
    Ok(path)
}

/// True if a map holds operators on a value: its first name begins with a dollar sign, and it is
/// not a reference to a document of another collection.
fn is_operators(map: &Map) -> bool {
    let first = map.entries.first().and_then(|(name, _)| name.as_str());
    let is_reference = || first.is_some_and(is_reference_name) && map.contains("$ref") && map.contains("$id");
    first.is_some_and(|name| name.starts_with('$')) && !is_reference()
}

/// The condition for a value without operators: equality with the value, or a match if it is a regular expression.
fn equality(field: &str, value: &Value, patterns: &Patterns) -> Result<Test> {
    match value {
        Value::Regex(regex) => Ok(Test::Regex(patterns.compile(&regex.pattern, &regex.options)?)),
        value => comparison(field, "$eq", Comparison::Equal, value),
    }
}

fn comparison(field: &str, name: &str, comparison: Comparison, value: &Value) -> Result<Test> {
    match value {
        Value::Regex(_) if comparison != Comparison::Equal => {
            Err(bad(format!("{name} of '{field}' cannot compare with a regular expression")))
        }
        value => Ok(Test::Compare(comparison, operand(field, name, value)?)),
    }
}

fn operand(field: &str, name: &str, value: &Value) -> Result<Operand> {
    if *value == Value::Undefined {
        return Err(bad(format!("{name} of '{field}' cannot compare with undefined: use null, or $exists")));
    }
    Ok(Operand::new(value.clone()))
}

/// Parses the operators on one value into sorted conditions.
fn conditions(field: &str, map: &Map, patterns: &Patterns) -> Result<Vec<Condition>> {
    let mut all: Vec<Condition> = operators(field, map, patterns, &mut Vec::new())?.into_iter().flatten().collect();
    super::print::sort_conditions(&mut all);
    Ok(all)
}

/// Parses the operators on one value into a list of conditions for each operator, and collects the
/// values that they demand. A double negation demands no value.
fn operators(field: &str, map: &Map, patterns: &Patterns, demands: &mut Vec<Value>) -> Result<Vec<Vec<Condition>>> {
    let mut all = Vec::with_capacity(map.len());
    for (name, operand) in &map.entries {
        count_work(patterns, STEP_UNITS)?;
        let name =
            name.as_str().ok_or_else(|| bad(format!("an operator for '{field}' has a name that is not a string")))?;
        let conditions = match name {
            "$all" => self::all(field, operand, patterns)?,
            "$ne" | "$nin" | "$not" => match <[Condition; 1]>::try_from(negated(field, name, operand, patterns)?) {
                // A double negation cancels out.
                Ok([Condition::Not(inner)]) => inner,
                Ok(one) => vec![Condition::Not(one.into())],
                Err(several) => vec![Condition::Not(several)],
            },
            "$exists" if !is_true(operand) => vec![Condition::Not(vec![Condition::Test(Test::Exists)])],
            "$regex" => vec![Condition::Test(regex::test(operand, map, patterns)?)],
            "$options" if map.contains("$regex") => {
                count_work(patterns, map.len())?;
                continue;
            }
            name => vec![Condition::Test(test(field, name, operand, patterns)?)],
        };
        demands.extend(conditions.iter().filter(|_| name != "$not").filter_map(demanded).cloned());
        all.push(conditions);
    }
    Ok(all)
}

/// The value that a condition demands.
fn demanded(condition: &Condition) -> Option<&Value> {
    match condition {
        Condition::Test(test) => test.only_value(),
        Condition::Not(_) => None,
    }
}

/// Parses the operand of a negation.
fn negated(field: &str, name: &str, operand: &Value, patterns: &Patterns) -> Result<Vec<Condition>> {
    let test = match (name, operand) {
        ("$ne", Value::Regex(_)) => {
            return Err(bad(format!("$ne of '{field}' cannot take a regular expression: write {{$not: …}}")));
        }
        ("$ne", value) => comparison(field, name, Comparison::Equal, value)?,
        ("$nin", list) => Test::In(self::list_of(field, name, list, patterns)?),
        (_, Value::Regex(_)) => equality(field, operand, patterns)?,
        (_, Value::Map(map)) if is_operators(map) => return conditions(field, map, patterns),
        _ => return Err(bad(format!("$not of '{field}' takes a map of operators or a regular expression"))),
    };
    Ok(vec![Condition::Test(test)])
}

fn test(field: &str, name: &str, operand: &Value, patterns: &Patterns) -> Result<Test> {
    if let Some(comparison) = Comparison::of_name(name) {
        return self::comparison(field, name, comparison, operand);
    }
    if let Some(wanted) = Wanted::of_name(name) {
        return Bits::parse(wanted, operand).map(Test::Bits);
    }
    match name {
        "$in" => list_of(field, name, operand, patterns).map(Test::In),
        "$exists" => Ok(Test::Exists),
        "$type" => TypeSet::parse(operand).map(Test::Type),
        "$mod" => modulo(field, operand),
        "$size" => size(field, operand),
        "$elemMatch" => elem_match(field, operand, patterns),
        "$options" => Err(bad(format!("$options of '{field}' needs $regex beside it"))),
        name if UNSUPPORTED.contains(&name) => Err(unsupported(name)),
        name if name.starts_with('$') => Err(bad(match AT_TOP.contains(&name) {
            true => {
                format!("{name} is an operator for whole filters, not for '{field}': write it in the place of a field")
            }
            false => format!("unknown operator {name} for '{field}'{}", suggestion(name, &OF_FIELDS)),
        })),
        name => Err(bad(format!(
            "'{name}' is among the operators for '{field}' but is not an operator: to compare maps, write $eq"
        ))),
    }
}

fn list_of(field: &str, name: &str, operand: &Value, budget: &Patterns) -> Result<In> {
    let Value::Array(list) = operand else {
        let found = operand.type_name();
        return Err(bad(format!("{name} of '{field}' takes an array, this is of type {found}")));
    };
    let (mut values, mut patterns) = (Vec::with_capacity(list.len()), Vec::new());
    for value in list {
        count_work(budget, STEP_UNITS)?;
        match value {
            Value::Regex(regex) => patterns.push(budget.compile(&regex.pattern, &regex.options)?),
            Value::Map(map) if is_operators(map) => {
                return Err(bad(format!("{name} of '{field}' holds operators: it takes values")));
            }
            value => values.push(self::operand(field, name, value)?.value),
        }
    }
    let values = sorting::sorted(values, compare, &mut Work::asking(budget.interrupt()));
    Ok(In::of_sorted(values.map_err(ExpressionError::from)?, patterns))
}

/// `$all`: each of the values must be present. An empty list matches nothing.
fn all(field: &str, operand: &Value, patterns: &Patterns) -> Result<Vec<Condition>> {
    let Value::Array(list) = operand else {
        let found = operand.type_name();
        return Err(bad(format!("$all of '{field}' takes an array, this is of type {found}")));
    };
    if list.is_empty() {
        return Ok(vec![Condition::Test(Test::In(In::new(Vec::new(), Vec::new())))]);
    }
    let elem_match = |map: &Map| map.entries.first().is_some_and(|(name, _)| name.as_str() == Some("$elemMatch"));
    let elem_matches = list.iter().filter(|value| value.as_map().is_some_and(elem_match)).count();
    if elem_matches > 0 && elem_matches < list.len() {
        return Err(bad(format!("$all of '{field}' takes $elemMatch for all of its elements or for none")));
    }
    let one = |value: &Value| {
        count_work(patterns, STEP_UNITS)?;
        match value {
            Value::Map(map) if elem_match(map) && map.len() == 1 => conditions(field, map, patterns),
            Value::Map(map) if is_operators(map) && begins_with_known(map) => {
                let wanted = "takes values, or {$elemMatch: …} alone";
                Err(bad(format!("no $ expressions in $all: that of '{field}' {wanted}")))
            }
            value => Ok(vec![Condition::Test(equality(field, value, patterns)?)]),
        }
    };
    Ok(list.iter().map(one).collect::<Result<Vec<_>>>()?.into_iter().flatten().collect())
}

/// True if the first name of a map is an operator for fields, supported or not.
fn begins_with_known(map: &Map) -> bool {
    let first = map.entries.first().and_then(|(name, _)| name.as_str());
    let others = ["$all", "$not", "$options"];
    first.is_some_and(|name| [&OF_FIELDS[..], &UNSUPPORTED[..], &others[..]].iter().any(|known| known.contains(&name)))
}

/// The truth value of the operand of `$exists`.
fn is_true(value: &Value) -> bool {
    match value {
        Value::Null | Value::Undefined => false,
        Value::Bool(flag) => *flag,
        number if number.is_number() => number.as_f64() != Some(0.0),
        _ => true,
    }
}

fn modulo(field: &str, operand: &Value) -> Result<Test> {
    let wrong = |what: &str| bad(format!("$mod of '{field}' {what}: it takes [divisor, remainder]"));
    let Value::Array(both) = operand else { return Err(wrong("is not an array")) };
    let [divisor, remainder] = &both[..] else { return Err(wrong("does not have two elements")) };
    match (truncated(divisor), truncated(remainder)) {
        (Some(0), _) => Err(wrong("cannot divide by 0")),
        (Some(divisor), Some(remainder)) => Ok(Test::Mod { divisor, remainder }),
        _ => Err(wrong("has a value that is not a number of 64 bits")),
    }
}

fn size(field: &str, operand: &Value) -> Result<Test> {
    match operand.as_i64().map(u64::try_from) {
        Some(Ok(size)) => Ok(Test::Size(size)),
        _ => Err(bad(format!("$size of '{field}' takes a whole number that is not negative"))),
    }
}

fn elem_match(field: &str, operand: &Value, patterns: &Patterns) -> Result<Test> {
    match operand {
        Value::Map(map) => element(field, map, patterns).map(Test::ElemMatch),
        other => {
            let found = other.type_name();
            Err(bad(format!("$elemMatch of '{field}' takes a map of conditions, this is of type {found}")))
        }
    }
}

/// Parses a condition on an element: operators on the element itself, or conditions on its fields.
pub(super) fn element(field: &str, map: &Map, patterns: &Patterns) -> Result<ElementFilter> {
    let of_document = |(name, _): &(Value, Value)| {
        name.as_str().is_some_and(|name| OF_DOCUMENTS.contains(&name) || is_reference_name(name))
    };
    let form = if is_operators(map) && !map.entries.first().is_some_and(of_document) {
        Form::Element(conditions(field, map, patterns)?)
    } else {
        Form::Fields(filter(map, Level::Element, patterns)?)
    };
    let is_long = document_size(map) >= LONG_BYTES;
    Ok(ElementFilter { form, interrupt: patterns.interrupt().filter(|_| is_long).cloned() })
}

/// The condition for elements that equal a value, or match a regular expression.
pub(super) fn equal_element(value: &Value, patterns: &Patterns) -> Result<ElementFilter> {
    let form = Form::Element(vec![Condition::Test(equality("an element", value, patterns)?)]);
    Ok(ElementFilter { form, interrupt: None })
}

fn unknown_at_top(name: &str) -> FilterError {
    if UNSUPPORTED.contains(&name) {
        return unsupported(name);
    }
    bad(match name {
        "$not" => "$not is an operator for a field: to negate a whole filter, write {$nor: [filter]}".to_owned(),
        name if OF_FIELDS.contains(&name) => {
            format!(
                "{name} is an operator for a field: write it after the field's name, as in {{field: {{{name}: …}}}}"
            )
        }
        name => format!("unknown operator {name}{}", suggestion(name, &[&AT_TOP[..], &OF_FIELDS].concat())),
    })
}

fn unsupported(name: &str) -> FilterError {
    FilterError::NotSupported(format!("the operator {name} is not supported in filters"))
}

fn bad(message: impl Into<String>) -> FilterError {
    FilterError::bad(message)
}
