//! Definitions of indexes of kinds that are never built: text, geographic and wildcard indexes.
//!
//! The definitions are kept as MongoDB lists them, for dumps and for applications that declare such indexes. Queries do
//! not use them; a query with an operator that needs such an index is refused.

use super::definition::{bad, truth};
use super::{IndexError, MAX_NAME_BYTES, MAX_PARTS};
use crate::filter::Filter;
use alluvium_document::compare::equal;
use alluvium_document::{Map, Value};

/// The definition of an index that is not built.
#[derive(Debug, Clone, PartialEq)]
pub struct Unbuilt {
    name: String,
    /// `v`, `key`, `name` and the options.
    definition: Map,
}

/// The kinds of index parts that are not built.
const KINDS: [&str; 3] = ["text", "2d", "2dsphere"];

/// The allowed options, in addition to `key` and `name`.
const OPTIONS: [&str; 19] = [
    "2dsphereIndexVersion",
    "background",
    "bits",
    "coarsestIndexedLevel",
    "collation",
    "default_language",
    "expireAfterSeconds",
    "finestIndexedLevel",
    "hidden",
    "language_override",
    "max",
    "min",
    "partialFilterExpression",
    "sparse",
    "storageEngine",
    "textIndexVersion",
    "unique",
    "weights",
    "wildcardProjection",
];

/// The fields that replace the indexed fields in the keys of a text index.
const TEXT: [&str; 2] = ["_fts", "_ftsx"];

impl Unbuilt {
    /// True if indexes with such keys are not built.
    pub fn is_kind_of(keys: &Map) -> bool {
        keys.iter().any(|(path, kind)| is_wildcard(path) || kind.as_str().is_some_and(|kind| KINDS.contains(&kind)))
    }

    /// Parses a definition as [`super::Definition::parse`] does.
    ///
    /// # Errors
    /// As [`super::Definition::parse`]. A unique index is refused, too, because nothing would check that its keys are
    /// unique.
    pub fn parse(keys: &Map, options: &Map) -> Result<Self, IndexError> {
        if keys.len() > MAX_PARTS {
            return bad(format!("an index has at most {MAX_PARTS} parts"));
        }
        let mut text = Vec::new();
        let (mut parts, mut usual_name) = (Map::new(), Vec::new());
        for (path, kind) in keys.iter() {
            let Some(path) = path.as_str().filter(|path| !path.is_empty()) else {
                return bad("the paths of an index are strings that are not empty");
            };
            let is_known = match kind {
                Value::String(kind) => KINDS.contains(&&**kind),
                number => number.as_f64().is_some_and(|order| order != 0.0 && !order.is_nan()),
            };
            if !is_known {
                return bad(format!("the order of {path} in an index is 1, -1 or a kind of index, not {kind}"));
            }
            let shown =
                kind.as_f64().map_or_else(|| kind.as_str().unwrap_or_default().to_owned(), |order| order.to_string());
            usual_name.push(format!("{path}_{shown}"));
            if kind.as_str() != Some("text") {
                parts.push(path, kind.clone());
                continue;
            }
            if text.is_empty() && !parts.contains(TEXT[0]) {
                parts.push(TEXT[0], "text");
                parts.push(TEXT[1], 1);
            }
            if path != TEXT[0] {
                text.push(path);
            }
        }
        // If the definition was listed by a server, its keys already have both fields.
        let mut seen_second = false;
        parts.entries.retain(|(path, _)| {
            let is_second = path.as_str() == Some(TEXT[1]);
            let keeps = !(is_second && seen_second);
            seen_second |= is_second;
            keeps
        });
        let mut index = Self { name: usual_name.join("_"), definition: Map::from([("v", 2)]) };
        let mut kept = Map::new();
        for (name, value) in options.iter() {
            index.option(name.as_str().unwrap_or_default(), value, &mut kept)?;
        }
        if index.name.is_empty() || index.name.contains('\0') || index.name.len() > MAX_NAME_BYTES {
            return bad(format!("the name of an index has 1 to {MAX_NAME_BYTES} bytes, and no zero character"));
        }
        if parts.contains(TEXT[0]) {
            complete_text(&text, &mut kept)?;
        }
        if parts.iter().any(|(_, kind)| kind.as_str() == Some("2dsphere")) && !kept.contains("2dsphereIndexVersion") {
            kept.push("2dsphereIndexVersion", 3);
        }
        index.definition.push("key", parts);
        index.definition.push("name", index.name.as_str());
        index.definition.entries.extend(kept.entries);
        Ok(index)
    }

    /// Parses a definition in one map, as [`Unbuilt::to_map`] writes it.
    ///
    /// # Errors
    /// As [`Unbuilt::parse`].
    pub fn from_map(map: &Map) -> Result<Self, IndexError> {
        match map.get("key") {
            Some(Value::Map(keys)) => Self::parse(keys, map),
            _ => bad("an index needs keys: {key: {field: 1}}"),
        }
    }

    fn option(&mut self, name: &str, value: &Value, kept: &mut Map) -> Result<(), IndexError> {
        match (name, value) {
            ("name", Value::String(text)) => self.name = text.to_string(),
            ("name", _) => return Err(IndexError::TypeMismatch("the index option name must be a string".to_owned())),
            ("v" | "key" | "ns", _) => {}
            ("unique", _) => match truth(value) {
                Some(false) => {}
                Some(true) => {
                    return bad("text, geographic and wildcard indexes are not built, so they cannot be unique");
                }
                None => return Err(IndexError::TypeMismatch("the index option unique must be a boolean".to_owned())),
            },
            ("partialFilterExpression", Value::Map(filter)) => {
                Filter::parse(filter).map_err(IndexError::Filter)?;
                kept.push(name, value.clone());
            }
            ("partialFilterExpression" | "collation" | "weights" | "wildcardProjection" | "storageEngine", other)
                if other.as_map().is_none() =>
            {
                let what = format!("the index option {name} must be a map, not {}", other.type_name());
                return Err(IndexError::TypeMismatch(what));
            }
            (name, _) if OPTIONS.contains(&name) => kept.push(name, value.clone()),
            _ => return Err(IndexError::InvalidOption(format!("there is no index option {name}"))),
        }
        Ok(())
    }

    /// The name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The keys.
    pub fn keys_map(&self) -> Map {
        self.definition.get("key").and_then(Value::as_map).cloned().unwrap_or_default()
    }

    /// The definition in one map, as MongoDB's `listIndexes` shows it.
    pub fn to_map(&self) -> Map {
        self.definition.clone()
    }

    /// True if both have the same keys, filter and collation and, for text indexes, the same fields. MongoDB
    /// distinguishes indexes of one kind by these properties.
    pub fn has_keys_of(&self, other: &Self) -> bool {
        ["key", "weights", "partialFilterExpression", "collation", "wildcardProjection"].iter().all(|name| {
            match (self.definition.get(name), other.definition.get(name)) {
                (None, None) => true,
                (Some(own), Some(other)) => equal(own, other),
                _ => false,
            }
        })
    }

    /// True for a text index.
    pub fn is_text(&self) -> bool {
        self.keys_map().contains(TEXT[0])
    }

    /// True if both define the same index. The option `background` is ignored.
    pub fn is_same(&self, other: &Self) -> bool {
        let of = |index: &Self| {
            let mut definition = index.definition.clone();
            definition.remove("background");
            definition
        };
        let (a, b) = (of(self), of(other));
        a.len() == b.len()
            && a.iter().all(|(name, value)| {
                name.as_str().and_then(|name| b.get(name)).is_some_and(|other| equal(value, other))
            })
    }
}

fn is_wildcard(path: &Value) -> bool {
    path.as_str().is_some_and(|path| path == "$**" || path.ends_with(".$**"))
}

/// Adds the options that MongoDB lists for a text index.
fn complete_text(fields: &[&str], options: &mut Map) -> Result<(), IndexError> {
    let mut weights = match options.remove("weights") {
        Some(Value::Map(weights)) => weights,
        _ => Map::new(),
    };
    for field in fields {
        if !weights.contains(field) {
            weights.push(*field, 1);
        }
    }
    if weights.is_empty() {
        return bad("a text index needs a field: {title: \"text\"}");
    }
    weights.entries.sort_by(|(a, _), (b, _)| a.as_str().cmp(&b.as_str()));
    options.push("weights", weights);
    for (name, value) in [("default_language", "english"), ("language_override", "language")] {
        if !options.contains(name) {
            options.push(name, value);
        }
    }
    if !options.contains("textIndexVersion") {
        options.push("textIndexVersion", 3);
    }
    Ok(())
}

#[cfg(test)]
mod tests;
