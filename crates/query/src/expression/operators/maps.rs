//! Operators on maps and their fields.

use super::prepared::Codes;
use super::{
    NULL, Operand, Operator, Outcome, Parameters, any_number, exactly, given, is_nullish, making, operator, some,
    type_of,
};
use crate::code::ErrorCode;
use crate::expression::error::fail;
use crate::work::Work;
use alluvium_document::value::Text;
use alluvium_document::{Map, Value};
use hashbrown::HashMap;

pub(super) const OPERATORS: &[Operator] = &[
    exactly("$arrayToObject", 1, from_array).copying(),
    operator("$getField", Parameters::NamedOrOne(&["field!", "input!"], GET_FIELD), get_field),
    any_number("$mergeObjects", merge).copying(),
    making("$objectToArray", Parameters::Count(1, 1), to_array),
    operator("$setField", Parameters::Named(&["field=!", "value!", "input!"], SET_FIELD), set_field).copying(),
    operator("$unsetField", Parameters::Named(&["field=!", "input!"], UNSET_FIELD), set_field),
];

const SET_FIELD: Codes = Codes::new(
    ErrorCode::Location4161100,
    ErrorCode::Location4161101,
    &[ErrorCode::Location4161102, ErrorCode::Location4161103, ErrorCode::Location4161109],
);

const UNSET_FIELD: Codes = Codes::new(
    ErrorCode::Location4161100,
    ErrorCode::Location4161101,
    &[ErrorCode::Location4161102, ErrorCode::Location4161109],
);

const GET_FIELD: Codes = Codes::new(
    ErrorCode::FailedToParse,
    ErrorCode::Location3041701,
    &[ErrorCode::Location3041702, ErrorCode::Location3041703],
);

fn to_array(_: &Operator, values: &[Operand<'_>], work: &mut Work<'_>) -> Outcome {
    let Some(value) = given(values, 0) else { return NULL };
    let Value::Map(map) = value else {
        let found = value.type_name();
        return fail(ErrorCode::Location40390, format!("$objectToArray requires a document input, found: {found}"));
    };
    // The memory of a map with two fields for each field.
    work.make(map.memory() + map.len() * 5 * size_of::<Value>())?;
    let pair = |(name, value): (&Value, &Value)| Value::Map(Map::from([("k", name.clone()), ("v", value.clone())]));
    Ok(Some(Value::Array(map.iter().map(pair).collect())))
}

fn from_array(_: &Operator, values: &[Operand<'_>]) -> Outcome {
    let Some(value) = given(values, 0) else { return NULL };
    let Value::Array(elements) = value else {
        let found = value.type_name();
        return fail(ErrorCode::Location40386, format!("$arrayToObject requires an array input, found: {found}"));
    };
    let mut map = Fields::default();
    let by_pairs = matches!(elements.first(), Some(Value::Array(_)));
    for element in elements {
        let (name, value) = match element {
            Value::Array(pair) if by_pairs => match &pair[..] {
                [name, value] => (name, value),
                _ => {
                    return fail(
                        ErrorCode::Location40397,
                        "$arrayToObject takes arrays of two elements, a name and a value",
                    );
                }
            },
            Value::Map(pair) if !by_pairs => match (pair.get("k"), pair.get("v"), pair.len()) {
                (Some(name), Some(value), 2) => (name, value),
                (_, _, 2) => return fail(ErrorCode::Location40393, "$arrayToObject takes maps of k and v"),
                _ => return fail(ErrorCode::Location40392, "$arrayToObject takes maps of two fields, k and v"),
            },
            other if by_pairs => {
                let found = other.type_name();
                let problem =
                    format!("$arrayToObject takes arrays of two elements after the first, this is of type {found}");
                return fail(ErrorCode::Location40396, problem);
            }
            Value::Array(_) => {
                return fail(
                    ErrorCode::Location40391,
                    "$arrayToObject takes arrays of two elements or maps of k and v, not both",
                );
            }
            other => {
                let found = other.type_name();
                return fail(
                    ErrorCode::Location40398,
                    format!("$arrayToObject takes arrays or maps in an array, this is of type {found}"),
                );
            }
        };
        let Value::String(text) = name else {
            let code = if by_pairs { ErrorCode::Location40395 } else { ErrorCode::Location40394 };
            return fail(
                code,
                format!("the names of $arrayToObject must be text, this is of type {}", name.type_name()),
            );
        };
        if text.contains('\0') {
            let code = if by_pairs { ErrorCode::Location4940400 } else { ErrorCode::Location4940401 };
            return fail(code, "a name of $arrayToObject has a zero character");
        }
        map.insert(text, value.clone());
    }
    Ok(Some(Value::Map(map.map)))
}

/// A map to which any number of fields can be added.
#[derive(Default)]
struct Fields {
    map: Map,
    places: HashMap<Text, usize>,
}

impl Fields {
    /// Sets a field. An existing field keeps its position.
    fn insert(&mut self, name: &Text, value: Value) {
        match self.places.get(name.as_str()).and_then(|at| self.map.entries.get_mut(*at)) {
            Some((_, known)) => *known = value,
            None => {
                self.places.insert(name.clone(), self.map.len());
                self.map.push(name.clone(), value);
            }
        }
    }
}

fn merge(_: &Operator, values: &[Operand<'_>]) -> Outcome {
    let mut merged = Fields::default();
    // A single argument that is an array represents its elements.
    let elements: Vec<&Value> = match (values.len(), given(values, 0)) {
        (1, Some(Value::Array(elements))) => elements.iter().filter(|value| !is_nullish(Some(value))).collect(),
        _ => (0..values.len()).filter_map(|at| given(values, at)).collect(),
    };
    for value in elements {
        let Value::Map(map) = value else {
            let found = value.type_name();
            return fail(
                ErrorCode::Location40400,
                format!("$mergeObjects requires object inputs, but an input is of type {found}"),
            );
        };
        for (name, value) in map.iter() {
            match name {
                Value::String(name) => merged.insert(name, value.clone()),
                other => drop(merged.map.insert(other.clone(), value.clone())),
            }
        }
    }
    Ok(Some(Value::Map(merged.map)))
}

/// If no input is given, it is the document, which the parser adds as an argument.
fn get_field(_: &Operator, values: &[Operand<'_>]) -> Outcome {
    let Some(Value::String(name)) = values.first().and_then(Option::as_deref) else {
        let found = type_of(values.first().and_then(Option::as_deref));
        return fail(
            ErrorCode::Location3041704,
            format!("the field of $getField must be text, this is of type {found}"),
        );
    };
    match values.get(1).and_then(Option::as_deref) {
        Some(Value::Map(map)) => Ok(map.get(name).cloned()),
        Some(Value::Null | Value::Undefined) => NULL,
        _ => Ok(None),
    }
}

/// `$setField` has a field, a value and an input; `$unsetField` has a field and an input. A missing value removes the
/// field.
fn set_field(operator: &Operator, values: &[Operand<'_>]) -> Outcome {
    let input = values.len() - 1;
    let Some(Value::String(name)) = values.first().and_then(Option::as_deref) else {
        let found = type_of(values.first().and_then(Option::as_deref));
        return fail(
            ErrorCode::Location4161107,
            format!("the field of {} must be text, this is of type {found}", operator.name),
        );
    };
    let mut map = match given(values, input) {
        None => return NULL,
        Some(Value::Map(map)) => map.clone(),
        Some(other) => {
            let found = other.type_name();
            return fail(
                ErrorCode::Location4161105,
                format!("the input of {} must be a map, this is of type {found}", operator.name),
            );
        }
    };
    match values.get(1).filter(|_| input > 1).and_then(Option::as_deref) {
        Some(value) => {
            map.insert(Value::String(name.clone()), value.clone());
        }
        None => {
            map.remove(name);
        }
    }
    some(map)
}
