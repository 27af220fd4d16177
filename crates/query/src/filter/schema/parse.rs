//! Parsing of schemas.

use super::super::error::FilterError;
use super::super::types::TypeSet;
use super::{Arrays, Dependency, Items, Maps, Numbers, Others, Schema, Texts};
use crate::pattern::Patterns;
use crate::suggest::suggestion;
use alluvium_document::{Map, Value};

type Result<T> = std::result::Result<T, FilterError>;

const KEYWORDS: [&str; 29] = [
    "additionalItems",
    "additionalProperties",
    "allOf",
    "anyOf",
    "bsonType",
    "dependencies",
    "description",
    "enum",
    "exclusiveMaximum",
    "exclusiveMinimum",
    "items",
    "maxItems",
    "maxLength",
    "maxProperties",
    "maximum",
    "minItems",
    "minLength",
    "minProperties",
    "minimum",
    "multipleOf",
    "not",
    "oneOf",
    "pattern",
    "patternProperties",
    "properties",
    "required",
    "title",
    "type",
    "uniqueItems",
];

/// Keywords of JSON Schema that MongoDB does not support either.
const NOT_SUPPORTED: [&str; 6] = ["$ref", "$schema", "default", "definitions", "format", "id"];

/// The names of types in JSON, and MongoDB's names for them.
const JSON_TYPES: [(&str, &str); 6] = [
    ("array", "array"),
    ("boolean", "bool"),
    ("null", "null"),
    ("number", "number"),
    ("object", "object"),
    ("string", "string"),
];

/// Parses a schema. The limit for the nesting of the filter also limits the nesting of the schema.
pub(super) fn schema(map: &Map, patterns: &Patterns) -> Result<Schema> {
    for (name, _) in map.iter() {
        let name = name.as_str().unwrap_or_default();
        if NOT_SUPPORTED.contains(&name) {
            return Err(FilterError::FailedToParse(format!("the keyword {name} of $jsonSchema is not supported")));
        }
        if !KEYWORDS.contains(&name) {
            let near = suggestion(name, &KEYWORDS);
            return Err(FilterError::FailedToParse(format!("$jsonSchema has no keyword {name}{near}")));
        }
    }
    for ignored in ["title", "description"] {
        text(map, ignored)?;
    }
    Ok(Schema {
        types: types(map)?,
        values: values(map)?,
        all_of: list(map, "allOf", patterns)?,
        any_of: list(map, "anyOf", patterns)?,
        one_of: list(map, "oneOf", patterns)?,
        not: match map.get("not") {
            None => None,
            Some(value) => Some(Box::new(nested("not", value, patterns)?)),
        },
        numbers: numbers(map)?,
        texts: texts(map, patterns)?,
        arrays: arrays(map, patterns)?,
        maps: maps(map, patterns)?,
        interrupt: None,
    })
}

fn wrong<T>(name: &str, what: &str) -> Result<T> {
    Err(FilterError::TypeMismatch(format!("{name} of $jsonSchema takes {what}")))
}

fn refused<T>(message: String) -> Result<T> {
    Err(FilterError::FailedToParse(message))
}

fn nested(name: &str, value: &Value, patterns: &Patterns) -> Result<Schema> {
    match value {
        Value::Map(map) => schema(map, patterns),
        _ => wrong(name, "a schema, which is a map"),
    }
}

fn text<'v>(map: &'v Map, name: &str) -> Result<Option<&'v str>> {
    match map.get(name) {
        None => Ok(None),
        Some(Value::String(text)) => Ok(Some(text)),
        Some(_) => wrong(name, "text"),
    }
}

fn flag(map: &Map, name: &str) -> Result<Option<bool>> {
    match map.get(name) {
        None => Ok(None),
        Some(Value::Bool(flag)) => Ok(Some(*flag)),
        Some(_) => wrong(name, "true or false"),
    }
}

fn count(map: &Map, name: &str) -> Result<Option<u64>> {
    let Some(value) = map.get(name) else { return Ok(None) };
    if !value.is_number() {
        return refused(format!("{name} of $jsonSchema takes a number, not {}", value.type_name()));
    }
    match value.as_i64().map(u64::try_from) {
        Some(Ok(count)) => Ok(Some(count)),
        _ => refused(format!("{name} of $jsonSchema must be a whole number that is not negative, not {value}")),
    }
}

fn names(name: &str, value: &Value) -> Result<Vec<Box<str>>> {
    let Value::Array(elements) = value else { return wrong(name, "an array of names") };
    if elements.is_empty() {
        return refused(format!("{name} of $jsonSchema cannot be empty"));
    }
    let mut names: Vec<Box<str>> = Vec::with_capacity(elements.len());
    for element in elements {
        let Some(element) = element.as_str() else { return wrong(name, "an array of names") };
        if names.iter().any(|known| **known == *element) {
            return refused(format!("{name} of $jsonSchema has '{element}' twice"));
        }
        names.push(element.into());
    }
    Ok(names)
}

fn list(map: &Map, name: &str, patterns: &Patterns) -> Result<Vec<Schema>> {
    match map.get(name) {
        None => Ok(Vec::new()),
        Some(Value::Array(schemas)) if schemas.is_empty() => {
            Err(FilterError::BadValue(format!("{name} of $jsonSchema cannot be empty")))
        }
        Some(Value::Array(schemas)) => schemas.iter().map(|schema| nested(name, schema, patterns)).collect(),
        Some(_) => wrong(name, "an array of schemas"),
    }
}

fn types(map: &Map) -> Result<Option<TypeSet>> {
    match (map.get("type"), map.get("bsonType")) {
        (None, None) => Ok(None),
        (Some(_), Some(_)) => refused("$jsonSchema has either type or bsonType, not both".to_owned()),
        (Some(given), None) => {
            let named = |value: &Value| match value.as_str() {
                Some("integer") => {
                    refused("the type integer of $jsonSchema is not supported: use bsonType int or long".to_owned())
                }
                Some(name) => match JSON_TYPES.iter().find(|(known, _)| *known == name) {
                    Some((_, bson)) => Ok(Value::from(*bson)),
                    None => Err(FilterError::BadValue(format!("$jsonSchema has no type '{name}'"))),
                },
                None => wrong("type", "a name of a type, or an array of them"),
            };
            let bson = match given {
                Value::Array(several) => Value::Array(several.iter().map(named).collect::<Result<_>>()?),
                one => named(one)?,
            };
            TypeSet::parse(&bson).map(Some)
        }
        (None, Some(given)) => {
            let is_text = |value: &Value| value.as_str().is_some();
            match given {
                Value::Array(several) if several.iter().all(is_text) => {}
                one if is_text(one) => {}
                _ => return wrong("bsonType", "a name of a type, or an array of them"),
            }
            TypeSet::parse(given).map(Some)
        }
    }
}

fn values(map: &Map) -> Result<Option<Vec<Value>>> {
    match map.get("enum") {
        None => Ok(None),
        Some(Value::Array(values)) if values.is_empty() => refused("enum of $jsonSchema cannot be empty".to_owned()),
        Some(Value::Array(values)) => Ok(Some(values.clone())),
        Some(_) => wrong("enum", "an array of values"),
    }
}

fn numbers(map: &Map) -> Result<Numbers> {
    let bound = |name: &str, exclusive: &str| {
        let excluded = flag(map, exclusive)?;
        match map.get(name) {
            None if excluded.is_some() => refused(format!("{exclusive} of $jsonSchema needs {name} beside it")),
            None => Ok(None),
            Some(value) if value.is_number() => Ok(Some((value.clone(), excluded.unwrap_or(false)))),
            Some(_) => wrong(name, "a number"),
        }
    };
    let multiple_of = match map.get("multipleOf") {
        None => None,
        Some(value) if !value.is_number() => return wrong("multipleOf", "a number"),
        Some(value) if value.as_f64().is_none_or(|x| x <= 0.0) => {
            return refused(format!("multipleOf of $jsonSchema must be above 0, not {value}"));
        }
        Some(value) => Some(value.clone()),
    };
    let minimum = bound("minimum", "exclusiveMinimum")?;
    Ok(Numbers { minimum, maximum: bound("maximum", "exclusiveMaximum")?, multiple_of })
}

fn texts(map: &Map, patterns: &Patterns) -> Result<Texts> {
    let pattern = match text(map, "pattern")? {
        None => None,
        Some(pattern) => Some(patterns.compile(pattern, "")?),
    };
    Ok(Texts { min_length: count(map, "minLength")?, max_length: count(map, "maxLength")?, pattern })
}

fn others(map: &Map, name: &str, patterns: &Patterns) -> Result<Others> {
    match map.get(name) {
        None | Some(Value::Bool(true)) => Ok(Others::Allowed),
        Some(Value::Bool(false)) => Ok(Others::Refused),
        Some(Value::Map(inner)) => Ok(Others::Obey(Box::new(schema(inner, patterns)?))),
        Some(_) => wrong(name, "true, false or a schema"),
    }
}

fn arrays(map: &Map, patterns: &Patterns) -> Result<Arrays> {
    let items = match map.get("items") {
        None => Items::Any,
        Some(Value::Map(each)) => Items::Each(Box::new(schema(each, patterns)?)),
        Some(Value::Array(listed)) => {
            Items::Listed(listed.iter().map(|one| nested("items", one, patterns)).collect::<Result<_>>()?)
        }
        Some(_) => return wrong("items", "a schema, or an array of schemas"),
    };
    Ok(Arrays {
        min_items: count(map, "minItems")?,
        max_items: count(map, "maxItems")?,
        unique: flag(map, "uniqueItems")?.unwrap_or(false),
        items,
        additional: others(map, "additionalItems", patterns)?,
    })
}

fn maps(map: &Map, shared: &Patterns) -> Result<Maps> {
    let required = map.get("required").map_or(Ok(Vec::new()), |value| names("required", value))?;
    let by_name = |name: &str| match map.get(name) {
        None => Ok(Vec::new()),
        Some(Value::Map(inner)) => {
            let one = |(field, value): (&Value, &Value)| {
                let field = field.as_str().unwrap_or_default();
                Ok((Box::<str>::from(field), nested(name, value, shared)?))
            };
            inner.iter().map(one).collect::<Result<Vec<_>>>()
        }
        Some(_) => wrong(name, "a map of schemas"),
    };
    let mut patterns = Vec::new();
    for (pattern, schema) in by_name("patternProperties")? {
        patterns.push((shared.compile(&pattern, "")?, schema));
    }
    let mut dependencies = Vec::new();
    match map.get("dependencies") {
        None => {}
        Some(Value::Map(inner)) => {
            for (field, value) in inner.iter() {
                let dependency = match value {
                    Value::Map(inner) => Dependency::Schema(Box::new(schema(inner, shared)?)),
                    other => Dependency::Fields(names("dependencies", other)?),
                };
                dependencies.push((field.as_str().unwrap_or_default().into(), dependency));
            }
        }
        Some(_) => return wrong("dependencies", "a map of names or schemas"),
    }
    Ok(Maps {
        required,
        properties: by_name("properties")?,
        patterns,
        additional: others(map, "additionalProperties", shared)?,
        min_properties: count(map, "minProperties")?,
        max_properties: count(map, "maxProperties")?,
        dependencies,
    })
}
