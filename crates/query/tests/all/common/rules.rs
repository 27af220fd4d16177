//! Collations, and strings that some of them make equal.

use super::map_of;
use alluvium_document::{Map, Value};
use alluvium_query::collation::Collation;
use alluvium_query::index::Definition;

/// Collations, including the simple one, which has no rules.
pub const RULES: [&str; 4] = [
    r#"{"locale":"simple"}"#,
    r#"{"locale":"en","strength":2}"#,
    r#"{"locale":"en","strength":1}"#,
    r#"{"locale":"sv"}"#,
];

/// The collation with this number.
pub fn rules(at: usize) -> Option<Collation> {
    Collation::parse(&map_of(RULES[at])).unwrap()
}

/// The same index, but with another collation.
pub fn with_rules(index: &Definition, at: usize) -> Definition {
    let mut map = index.to_map();
    map.insert("collation", map_of(RULES[at]));
    Definition::from_map(&map).unwrap()
}

fn respelled_value(value: &Value, bits: &mut u64) -> Value {
    match value {
        Value::String(text) => {
            *bits = bits.rotate_left(3) ^ 0x9e37_79b9;
            Value::from(match *bits % 4 {
                0 => text.as_str().to_uppercase(),
                1 => text.replace('a', "á"),
                2 => format!("{text}\u{301}"),
                _ => text.as_str().to_owned(),
            })
        }
        Value::Array(all) => Value::Array(all.iter().map(|value| respelled_value(value, bits)).collect()),
        Value::Map(map) => Value::Map(respelled(map, bits)),
        other => other.clone(),
    }
}

/// The map with the case and accents of its strings changed as given by the bits. Operands that are words are not
/// changed.
pub fn respelled(map: &Map, bits: &mut u64) -> Map {
    let mut made = Map::new();
    for (name, value) in map.iter() {
        let is_word =
            matches!(name.as_str(), Some("$type" | "$regex" | "$options" | "$expr" | "$jsonSchema" | "$comment"));
        made.push(name.clone(), if is_word { value.clone() } else { respelled_value(value, bits) });
    }
    made
}
