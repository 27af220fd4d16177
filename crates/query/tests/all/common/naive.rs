//! A second, independent implementation of filters that is as simple as possible. The filter is interpreted as it is
//! written, over copies of decoded values, and values are compared by the bytes of their keys.

use alluvium_document::value::Double;
use alluvium_document::{Map, Value, key};

/// The values that a path finds.
#[derive(Clone)]
enum Found {
    Nothing,
    /// A value. If it is an array and the flag is true, its elements are also tested.
    Value(Value, bool),
}

/// True if the document matches. The filter must be one that can be parsed.
pub fn matches(filter: &Map, document: &Value) -> bool {
    filter.entries.iter().all(|(name, operand)| match name.as_str().unwrap() {
        "$comment" => true,
        "$and" => filters(operand).all(|inner| matches(inner, document)),
        "$or" => filters(operand).any(|inner| matches(inner, document)),
        "$nor" => !filters(operand).any(|inner| matches(inner, document)),
        path => {
            let names: Vec<&str> = path.split('.').collect();
            let mut found = Vec::new();
            walk(document, &names, &mut found);
            holds(operand, &found)
        }
    })
}

fn filters(operand: &Value) -> impl Iterator<Item = &Map> {
    operand.as_array().unwrap().iter().map(|inner| inner.as_map().unwrap())
}

/// The field of a map, or the element of an array at the position that the name states.
fn field(value: &Value, name: &str) -> Option<Value> {
    match value {
        Value::Map(map) => map.get(name).cloned(),
        Value::Array(all) => (0..all.len()).find(|at| at.to_string() == name).map(|at| all[at].clone()),
        _ => None,
    }
}

fn walk(value: &Value, names: &[&str], found: &mut Vec<Found>) {
    let Some(next) = field(value, names[0]) else {
        found.push(Found::Nothing);
        return;
    };
    match (&next, &names[1..]) {
        (_, []) => found.push(Found::Value(next, true)),
        (Value::Array(elements), rest) => through(elements, rest, found),
        (Value::Map(_), rest) => walk(&next, rest, found),
        _ => found.push(Found::Nothing),
    }
}

fn through(elements: &[Value], names: &[&str], found: &mut Vec<Found>) {
    for element in elements {
        if element.as_map().is_some() {
            walk(element, names, found);
        }
    }
    let Some(element) = elements.iter().enumerate().find(|(at, _)| at.to_string() == names[0]).map(|(_, e)| e) else {
        return;
    };
    match (element, &names[1..]) {
        (_, []) => found.push(Found::Value(element.clone(), false)),
        (Value::Map(_), rest) => walk(element, rest, found),
        (Value::Array(inner), rest) => through(inner, rest, found),
        _ => {}
    }
}

fn is_operators(map: &Map) -> bool {
    map.entries.first().is_some_and(|(name, _)| name.as_str().unwrap().starts_with('$'))
}

fn holds(operand: &Value, found: &[Found]) -> bool {
    match operand {
        Value::Map(map) if is_operators(map) => map.entries.iter().all(|(name, operand)| {
            let name = name.as_str().unwrap();
            name == "$options" || operator(name, operand, map, found)
        }),
        Value::Regex(_) => some("$regex", operand, &Map::new(), found),
        value => some("$eq", value, &Map::new(), found),
    }
}

fn operator(name: &str, operand: &Value, all: &Map, found: &[Found]) -> bool {
    match name {
        "$ne" => !some("$eq", operand, all, found),
        "$nin" => !some("$in", operand, all, found),
        "$not" => !holds(operand, found),
        "$exists" if matches!(operand, Value::Bool(false)) => !some("$exists", operand, all, found),
        "$all" => {
            let list = operand.as_array().unwrap();
            !list.is_empty() && list.iter().all(|value| holds(value, found))
        }
        name => some(name, operand, all, found),
    }
}

/// True if one of the found values passes, or an element of one of them.
fn some(name: &str, operand: &Value, all: &Map, found: &[Found]) -> bool {
    found.iter().any(|found| match found {
        Found::Nothing => {
            let by_value = ["$eq", "$gt", "$gte", "$lt", "$lte", "$in"].contains(&name);
            let ends = |value: &Value| *value == Value::MinKey || *value == Value::MaxKey;
            by_value
                && (name == "$eq" || name == "$in" || *operand == Value::Null || ends(operand))
                && one(name, operand, all, &Value::Null)
        }
        Found::Value(value, expand) => {
            let elements = value.as_array().filter(|_| *expand && !["$size", "$elemMatch"].contains(&name));
            one(name, operand, all, value)
                || elements.is_some_and(|elements| elements.iter().any(|element| one(name, operand, all, element)))
        }
    })
}

fn bytes(value: &Value) -> Vec<u8> {
    let mut bytes = Vec::new();
    key::encode(value, &mut bytes);
    bytes
}

fn is_nan(value: &Value) -> bool {
    bytes(value) == bytes(&Value::Double(Double(f64::NAN)))
}

/// True if a single value passes; its elements are not tested.
fn one(name: &str, operand: &Value, all: &Map, value: &Value) -> bool {
    let (left, right) = (bytes(value), bytes(operand));
    let beside = left[0] == right[0] && (left == right || !(is_nan(value) || is_nan(operand)))
        || *operand == Value::MinKey
        || *operand == Value::MaxKey;
    match name {
        "$eq" => left == right,
        "$gt" => beside && left > right,
        "$gte" => beside && left >= right,
        "$lt" => beside && left < right,
        "$lte" => beside && left <= right,
        "$in" => operand.as_array().unwrap().iter().any(|wanted| match wanted {
            Value::Regex(_) => one("$regex", wanted, &Map::new(), value),
            wanted => one("$eq", wanted, &Map::new(), value),
        }),
        "$exists" => true,
        "$type" => match operand {
            Value::String(wanted) if wanted == "number" => value.is_number(),
            Value::String(wanted) => value.type_name() == wanted,
            _ => unreachable!("only names are made"),
        },
        "$size" => value.as_array().is_some_and(|all| operand.as_i64() == Some(all.len() as i64)),
        "$mod" => {
            let both: Vec<i64> = operand.as_array().unwrap().iter().map(|n| n.as_i64().unwrap()).collect();
            value.is_number() && whole(value).is_some_and(|n| n.checked_rem(both[0]).unwrap_or(0) == both[1])
        }
        "$bitsAllSet" | "$bitsAnySet" | "$bitsAllClear" | "$bitsAnyClear" => bits(name, operand, value),
        "$regex" => {
            let (pattern, options) = match operand {
                Value::Regex(regex) => (regex.pattern.clone(), regex.options.clone()),
                operand => (operand.as_str().unwrap().to_owned(), options_of(all)),
            };
            match value {
                Value::Regex(stored) => stored.pattern == pattern && stored.options == options,
                Value::String(text) | Value::Symbol(text) if options == "i" => {
                    text.to_lowercase().starts_with(&pattern.trim_start_matches('^').to_lowercase())
                }
                Value::String(text) | Value::Symbol(text) => text.starts_with(pattern.trim_start_matches('^')),
                _ => false,
            }
        }
        "$elemMatch" => {
            let filter = operand.as_map().unwrap();
            let of_itself = is_operators(filter) && !["$or", "$nor"].contains(&filter.entries[0].0.as_str().unwrap());
            value.as_array().is_some_and(|elements| {
                elements.iter().any(|element| match element {
                    element if of_itself => holds(operand, &[Found::Value(element.clone(), false)]),
                    Value::Map(_) | Value::Array(_) => matches(filter, element),
                    _ => false,
                })
            })
        }
        other => panic!("{other}"),
    }
}

fn bits(name: &str, operand: &Value, value: &Value) -> bool {
    let wanted: Vec<u32> = (0..64).filter(|at| operand.as_i64().unwrap() >> at & 1 == 1).collect();
    let is_set = |at: &u32| match value {
        Value::Binary(binary) => binary.bytes.get(*at as usize / 8).is_some_and(|byte| byte >> (at % 8) & 1 == 1),
        value => value.as_i64().unwrap() >> at & 1 == 1,
    };
    let has_bits = matches!(value, Value::Binary(_)) || value.is_number() && value.as_i64().is_some();
    if !has_bits {
        return false;
    }
    match name {
        "$bitsAllSet" => wanted.iter().all(is_set),
        "$bitsAnySet" => wanted.iter().any(is_set),
        "$bitsAllClear" => !wanted.iter().any(is_set),
        _ => !wanted.iter().all(is_set),
    }
}

fn options_of(all: &Map) -> String {
    all.get("$options").and_then(Value::as_str).unwrap_or_default().to_owned()
}

/// The digits before the decimal point, from the text of the number.
fn whole(value: &Value) -> Option<i64> {
    match value {
        Value::Double(Double(x)) if x.is_finite() => format!("{:.0}", x.trunc()).parse().ok(),
        Value::Decimal(decimal) if decimal.is_finite() => {
            let (negative, digits, exponent) = decimal.parts()?;
            let exponent = i32::try_from(exponent).ok().filter(|exponent| exponent.abs() < 100)?;
            let shifted = match exponent {
                0.. => format!("{digits}{}", "0".repeat(exponent as usize)),
                less => digits[..digits.len().saturating_sub(less.unsigned_abs() as usize)].to_owned(),
            };
            let text = if shifted.is_empty() { "0".to_owned() } else { shifted };
            format!("{}{text}", if negative { "-" } else { "" }).parse().ok()
        }
        Value::Int32(_) | Value::Int64(_) => value.as_i64(),
        _ => None,
    }
}

/// A condition that may select an element: a path, an operator and its operand, or the branches of an `$or`.
#[derive(PartialEq)]
enum Leaf {
    Field(String, String, Value),
    Or(Vec<Map>),
    /// A negation, which selects nothing.
    Negation,
}

/// The conditions in the order in which they are written. Groups of several different conditions come last.
fn leaves(filter: &Map) -> Vec<Leaf> {
    let groups = filter.entries.iter().flat_map(|(name, operand)| match (name.as_str().unwrap(), operand) {
        ("$and", operand) => vec![ungrouped(filters(operand).map(leaves).collect())],
        ("$or", operand) => match &filters(operand).collect::<Vec<_>>()[..] {
            [only] => vec![leaves(only)],
            several => vec![vec![Leaf::Or(several.iter().map(|map| (*map).clone()).collect())]],
        },
        ("$nor", _) => vec![vec![Leaf::Negation]],
        (path, Value::Map(map)) if is_operators(map) => {
            let leaf = |name: &str, operand: &Value| Leaf::Field(path.to_owned(), name.to_owned(), operand.clone());
            let of = |(name, operand): &(Value, Value)| match (name.as_str().unwrap(), operand) {
                ("$all", Value::Array(list)) => list.iter().map(|value| leaf("$eq", value)).collect(),
                ("$ne" | "$nin" | "$not", _) => vec![Leaf::Negation],
                (name, operand) => vec![leaf(name, operand)],
            };
            map.entries.iter().map(of).collect()
        }
        (path, value) => vec![vec![Leaf::Field(path.to_owned(), "$eq".to_owned(), value.clone())]],
    });
    ungrouped(groups.collect())
}

fn ungrouped(groups: Vec<Vec<Leaf>>) -> Vec<Leaf> {
    let is_single = |group: &Vec<Leaf>| !group.is_empty() && group.windows(2).all(|two| two[0] == two[1]);
    let (single, several): (Vec<_>, Vec<_>) = groups.into_iter().partition(is_single);
    single.into_iter().chain(several).flatten().collect()
}

impl Leaf {
    /// A field and the values for it. The branches of an `$or` may also be values of one field.
    fn values(&self) -> Option<(&str, Value)> {
        let Self::Or(branches) = self else { return None };
        let mut path = None;
        let mut values = Vec::new();
        for branch in branches {
            let [(name, value)] = &branch.entries[..] else { return None };
            let value = match value {
                Value::Map(map) if is_operators(map) => map.get("$eq").filter(|_| map.len() == 1)?.clone(),
                value => value.clone(),
            };
            let name = name.as_str().unwrap();
            if name.starts_with('$') || *path.get_or_insert(name) != name {
                return None;
            }
            values.push(value);
        }
        Some((path?, Value::Array(values)))
    }

    /// The key by which an update sorts the conditions.
    fn key(&self) -> (usize, String) {
        const ORDER: [&str; 9] = ["$elemMatch", "$size", "$eq", "$lte", "$lt", "$gt", "$gte", "$exists", "$in"];
        let place = |name: &str| ORDER.iter().position(|known| *known == name).unwrap_or(ORDER.len());
        match self {
            Self::Field(path, name, operand) if name == "$in" && is_single(operand) => {
                (place("$eq") + 10, path.clone())
            }
            Self::Field(path, name, operand) if name == "$elemMatch" => {
                // Filters on fields come before operators on the element itself.
                (usize::from(is_operators(operand.as_map().unwrap())), path.clone())
            }
            Self::Field(path, name, _) => (place(name) + 10, path.clone()),
            Self::Negation => (usize::MAX, String::new()),
            Self::Or(_) => match self.values() {
                Some((path, _)) => (place("$in") + 10, path.to_owned()),
                None => (5, String::new()),
            },
        }
    }

    /// The position that the condition selects.
    fn selects(&self, document: &Value) -> Option<usize> {
        let (path, name, operand) = match self {
            Self::Field(path, name, operand) => (path.as_str(), name.as_str(), operand.clone()),
            Self::Or(_) => self.values().map(|(path, values)| (path, "$in", values))?,
            Self::Negation => return None,
        };
        let names: Vec<&str> = path.split('.').collect();
        let mut seen = Vec::new();
        contexts(document, &names, &mut seen);
        seen.into_iter().find_map(|(value, place)| {
            let only_arrays = name == "$size" || name == "$elemMatch";
            if only_arrays && matches!(place, Place::Element(_)) {
                return None;
            }
            let found = [value.clone().map_or(Found::Nothing, |value| Found::Value(value, false))];
            if !some(name, &operand, &Map::new(), &found) {
                return None;
            }
            let elements = value.as_ref().and_then(Value::as_array).filter(|_| name == "$elemMatch");
            let inner = elements.map(|elements| {
                let one = |element: &Value| {
                    some(name, &operand, &Map::new(), &[Found::Value(Value::Array(vec![element.clone()]), false)])
                };
                elements.iter().position(one).unwrap()
            });
            Some(match place {
                Place::Element(at) | Place::Within(at) => Some(at),
                Place::Outside => inner,
            })
        })?
    }
}

/// The position of a value that a path finds.
#[derive(Clone, Copy)]
enum Place {
    Outside,
    /// The value is an element of the array at the end of the path.
    Element(usize),
    /// The value is inside of an element of the first array on the path.
    Within(usize),
}

/// All values that a path finds, in order. An array comes after its elements.
fn contexts(value: &Value, names: &[&str], seen: &mut Vec<(Option<Value>, Place)>) {
    match (field(value, names[0]), &names[1..]) {
        (None, _) => seen.push((None, Place::Outside)),
        (Some(Value::Array(elements)), []) => {
            seen.extend(elements.iter().enumerate().map(|(at, element)| (Some(element.clone()), Place::Element(at))));
            seen.push((Some(Value::Array(elements)), Place::Outside));
        }
        (next, []) => seen.push((next, Place::Outside)),
        (Some(Value::Array(elements)), rest) => contexts_within(&elements, rest, seen),
        (Some(next @ Value::Map(_)), rest) => contexts(&next, rest, seen),
        _ => seen.push((None, Place::Outside)),
    }
}

fn contexts_within(elements: &[Value], names: &[&str], seen: &mut Vec<(Option<Value>, Place)>) {
    for (at, element) in elements.iter().enumerate() {
        if element.as_map().is_some() {
            let mut inner = Vec::new();
            contexts(element, names, &mut inner);
            // The element and the array itself are distinguished, because operators on arrays test only the array.
            let place = |place| if matches!(place, Place::Element(_)) { Place::Element(at) } else { Place::Within(at) };
            seen.extend(inner.into_iter().map(|(value, found)| (value, place(found))));
        }
        if at.to_string() == names[0] {
            match (element, &names[1..]) {
                (_, []) => seen.push((Some(element.clone()), Place::Within(at))),
                (Value::Map(_), rest) => contexts(element, rest, seen),
                (Value::Array(inner), rest) => contexts_within(inner, rest, seen),
                _ => {}
            }
        }
    }
}

/// The position that a filter selects in a document that matches. The last condition that selects a position decides.
pub fn selected(filter: &Map, document: &Map, is_update: bool) -> Option<usize> {
    let mut leaves = leaves(filter);
    if is_update {
        leaves.sort_by_key(Leaf::key);
    }
    let document = Value::Map(document.clone());
    leaves.iter().filter_map(|leaf| leaf.selects(&document)).next_back()
}

/// True for a list that consists of one value, perhaps repeated.
fn is_single(list: &Value) -> bool {
    list.as_array().unwrap().windows(2).all(|two| two[0] == two[1])
}
