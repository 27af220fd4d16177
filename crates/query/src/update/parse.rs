//! Parses MongoDB's update documents.

use alluvium_document::path::FieldPath;
use alluvium_document::{Map, Value};

use super::action::{Action, Clock};
use super::array::{Direction, End, Push, Sort};
use super::bit::Bit;
use super::pull::Pull;
use super::{Change, UpdateError, place};
use crate::pattern::Patterns;
use crate::suggest::suggestion;

/// Operators of MongoDB that are not supported. An operator that is in none of the lists is unknown in MongoDB, too.
const UNSUPPORTED: [&str; 1] = ["$pushAll"];

const KNOWN: [&str; 15] = [
    "$set",
    "$setOnInsert",
    "$unset",
    "$inc",
    "$mul",
    "$min",
    "$max",
    "$push",
    "$addToSet",
    "$pull",
    "$pullAll",
    "$bit",
    "$pop",
    "$rename",
    "$currentDate",
];

/// The work counted for parsing the change of a field.
const FIELD_UNITS: usize = 64;

/// The changes of an update, in the order in which they were written.
pub(super) fn changes(update: &Map, patterns: &Patterns) -> Result<Vec<Change>, UpdateError> {
    if !update.entries.first().is_some_and(|(name, _)| name.as_str().is_some_and(|name| name.starts_with('$'))) {
        return Err(parse(
            "this is a document, not an update with operators such as $set: \
                          to replace a document, use replace",
        ));
    }
    let mut changes = Vec::new();
    for (operator, fields) in &update.entries {
        let operator = operator.as_str().ok_or_else(|| parse("an update operator's name is a string"))?;
        if !KNOWN.contains(&operator) {
            return Err(unknown(operator));
        }
        let Value::Map(fields) = fields else {
            let found = fields.type_name();
            return Err(parse(&format!(
                "{operator} takes a map of fields, as in {{{operator}: {{field: value}}}}, this is of type {found}"
            )));
        };
        for (path, operand) in &fields.entries {
            patterns.work(FIELD_UNITS)?;
            let path = path.as_str().ok_or_else(|| parse(&format!("a field's name in {operator} is a string")))?;
            changes.push(change(operator, self::path(path)?, operand, patterns)?);
        }
    }
    Ok(changes)
}

/// Parses the path of a change, which must not have empty names. A first name that begins with a dollar sign is allowed
/// only for inserts.
pub(super) fn path(text: &str) -> Result<FieldPath, UpdateError> {
    let path: FieldPath = text.parse().map_err(|error| UpdateError::of_path(text, error))?;
    if !text.contains('$') {
        return Ok(path);
    }
    let is_place = |name: &&str| *name == place::MATCHED || place::is_several(name);
    if is_place(&path.first()) {
        let name = path.first();
        return Err(bad(&format!("the positional operator {name} in the path '{text}' has no array before it")));
    }
    if path.names().filter(|name| *name == place::MATCHED).count() > 1 {
        return Err(bad(&format!(
            "the path '{text}' has the positional operator $ twice: use $[name] and array filters"
        )));
    }
    Ok(path)
}

/// Parses a path to a single value, without positional operators.
pub(super) fn plain_path(text: &str) -> Result<FieldPath, UpdateError> {
    let path = path(text)?;
    if let Some(name) = path.names().find(|name| *name == place::MATCHED || place::is_several(name)) {
        return Err(bad(&format!("$rename takes no path with a positional operator, such as {name} in '{text}'")));
    }
    Ok(path)
}

fn change(operator: &str, path: FieldPath, operand: &Value, patterns: &Patterns) -> Result<Change, UpdateError> {
    if operator == "$rename" {
        let Value::String(to) = operand else {
            let found = operand.type_name();
            return Err(bad(&format!("$rename of '{path}' takes the new name as a string, this is of type {found}")));
        };
        return Change::new(plain_path(to)?, Action::RenameFrom(plain_path(path.as_str())?));
    }
    let action = match operator {
        "$set" => Action::Set(operand.clone()),
        "$setOnInsert" => Action::SetOnInsert(operand.clone()),
        "$unset" => Action::Unset,
        "$inc" => Action::Inc(operand.clone()),
        "$mul" => Action::Mul(operand.clone()),
        "$min" => Action::Min(operand.clone()),
        "$max" => Action::Max(operand.clone()),
        "$push" => Action::Push(push(operand)?),
        "$addToSet" => Action::AddToSet(add_to_set(operand)?),
        "$pull" => Action::Pull(Pull::parse(operand, patterns)?),
        "$pullAll" => Action::PullAll(pull_all(operand)?),
        "$bit" => Action::Bit(Bit::parse(operand)?),
        "$pop" => Action::Pop(pop(operand)?),
        "$currentDate" => Action::CurrentDate(clock(operand)?),
        other => return Err(unknown(other)),
    };
    Change::new(path, action)
}

fn unknown(operator: &str) -> UpdateError {
    if UNSUPPORTED.contains(&operator) {
        return parse(&format!("the update operator {operator} is not supported"));
    }
    if !operator.starts_with('$') {
        return parse(&format!(
            "'{operator}' is among the update operators, but is not one: write {{$set: …}} around fields"
        ));
    }
    parse(&format!("unknown update operator {operator}{}", suggestion(operator, &KNOWN)))
}

fn push(operand: &Value) -> Result<Push, UpdateError> {
    let Value::Map(map) = operand else { return Ok(Push::one(operand.clone())) };
    if !map.contains("$each") {
        return Ok(Push::one(operand.clone()));
    }
    let mut push = Push { values: Vec::new(), position: None, slice: None, sort: None };
    for (index, (name, value)) in map.entries.iter().enumerate() {
        let name = name.as_str().unwrap_or("a name that is not a string");
        if map.entries[..index].iter().any(|(earlier, _)| earlier.as_str() == Some(name)) {
            return Err(bad(&format!("$push has {name} twice")));
        }
        match name {
            "$each" => push.values = each("$push", value).map_err(|message| bad(&message))?,
            "$position" => push.position = Some(integer("$push: $position", value)?),
            "$slice" => push.slice = Some(integer("$push: $slice", value)?),
            "$sort" => push.sort = Some(sort(value)?),
            other => return Err(bad(&format!("$push has no modifier {other}"))),
        }
    }
    Ok(push)
}

fn add_to_set(operand: &Value) -> Result<Vec<Value>, UpdateError> {
    match operand {
        Value::Map(map) if map.entries.first().is_some_and(|(name, _)| name.as_str() == Some("$each")) => {
            if map.len() > 1 {
                return Err(bad("$addToSet has no modifier but $each"));
            }
            let values = map.get("$each").unwrap_or(&Value::Null);
            each("$addToSet", values).map_err(UpdateError::TypeMismatch)
        }
        value => Ok(vec![value.clone()]),
    }
}

fn pull_all(operand: &Value) -> Result<Vec<Value>, UpdateError> {
    match operand {
        Value::Array(values) => Ok(values.clone()),
        other => Err(bad(&format!("$pullAll takes an array of values, this is of type {}", other.type_name()))),
    }
}

fn each(operator: &str, values: &Value) -> Result<Vec<Value>, String> {
    match values {
        Value::Array(values) => Ok(values.clone()),
        other => Err(format!("$each in {operator} takes an array, this is of type {}", other.type_name())),
    }
}

fn integer(what: &str, value: &Value) -> Result<i64, UpdateError> {
    let found = value.type_name();
    value
        .as_i64()
        .ok_or_else(|| bad(&format!("{what} takes a whole number of 64 bits, not this value of type {found}")))
}

/// Parses the operand of `$sort` in `$push`: 1 or -1, or a map from paths to 1 or -1.
pub(super) fn sort(value: &Value) -> Result<Sort, UpdateError> {
    let Value::Map(fields) = value else { return direction(value).map(Sort::Whole) };
    if fields.is_empty() {
        return Err(bad("$sort in $push has no fields"));
    }
    let field = |(name, value): &(Value, Value)| {
        let name = name.as_str().ok_or_else(|| bad("$sort in $push has a name that is not a string"))?;
        let path = name.parse().map_err(|error| bad(&format!("'{name}' in $sort of $push: {error}")))?;
        Ok((path, direction(value)?))
    };
    fields.entries.iter().map(field).collect::<Result<_, _>>().map(Sort::Fields)
}

fn direction(value: &Value) -> Result<Direction, UpdateError> {
    match value.as_i64() {
        Some(1) => Ok(Direction::Ascending),
        Some(-1) => Ok(Direction::Descending),
        _ => Err(bad("$sort in $push takes 1 or -1 for whole elements, or {field: 1 or -1} for their fields")),
    }
}

fn pop(operand: &Value) -> Result<End, UpdateError> {
    match operand.as_i64() {
        Some(1) => Ok(End::Last),
        Some(-1) => Ok(End::First),
        _ => Err(parse("$pop takes 1 for the last element or -1 for the first")),
    }
}

fn clock(operand: &Value) -> Result<Clock, UpdateError> {
    let map = match operand {
        Value::Bool(_) => return Ok(Clock::Date),
        Value::Map(map) => map,
        other => {
            let found = other.type_name();
            return Err(bad(&format!("$currentDate takes true or {{$type: …}}, this is of type {found}")));
        }
    };
    if let Some((name, _)) = map.entries.iter().find(|(name, _)| name.as_str() != Some("$type")) {
        return Err(bad(&format!(
            "$currentDate does not know {}",
            name.as_str().unwrap_or("a name that is not a string")
        )));
    }
    match map.get("$type").and_then(Value::as_str) {
        Some("date") => Ok(Clock::Date),
        Some("timestamp") => Ok(Clock::Timestamp),
        _ => Err(bad("$type in $currentDate is 'date' or 'timestamp'")),
    }
}

fn parse(message: &str) -> UpdateError {
    UpdateError::FailedToParse(message.to_owned())
}

fn bad(message: &str) -> UpdateError {
    UpdateError::BadValue(message.to_owned())
}
