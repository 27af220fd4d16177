//! A note about a file of one JSON object, which was loaded as one document.

use crate::text;
use alluvium::{Map, Value};
use alluvium_document::json;
use std::io::Read;

/// A larger object is not examined.
const MOST_BYTES: u64 = 64 << 20;
/// An object with fewer fields that are maps is taken to be one document.
const FEW: usize = 3;

/// The note about the file `name` with this content, if it seems to hold more than one document.
pub(super) fn note(name: &str, content: impl Read) -> Option<String> {
    let mut bytes = Vec::new();
    content.take(MOST_BYTES).read_to_end(&mut bytes).ok()?;
    let Ok(Value::Map(map)) = json::parse(bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&bytes)) else { return None };
    let mut options = Vec::new();
    if let Some((path, count)) = longest_array(&map) {
        options.push(format!(
            "--array {} loads the {} of the array there",
            text::plain(&path),
            text::counted(count, "element")
        ));
    }
    let maps = map.iter().filter(|(_, value)| matches!(value, Value::Map(_))).count();
    if maps >= FEW && maps * 2 >= map.len() {
        options.push(format!("--split-object loads each of its {}", text::counted(map.len() as u64, "field")));
    }
    if options.is_empty() {
        return None;
    }
    Some(format!("{} is one JSON object, and was loaded as one document: {}", text::plain(name), options.join("; ")))
}

/// The longest array of documents among the fields of a map and the fields of its fields, with the number of elements.
fn longest_array(map: &Map) -> Option<(String, u64)> {
    let mut longest: Option<(String, u64)> = None;
    let mut consider = |path: String, value: &Value| {
        let Value::Array(elements) = value else { return };
        let is_of_maps = elements.len() > 1 && elements.iter().all(|element| matches!(element, Value::Map(_)));
        let count = elements.len() as u64;
        if is_of_maps && longest.as_ref().is_none_or(|(_, most)| *most < count) {
            longest = Some((path, count));
        }
    };
    let plain = |name: &&str| !name.is_empty() && !name.contains('.');
    for (name, value) in map.iter() {
        let Some(name) = name.as_str().filter(plain) else { continue };
        consider(name.to_owned(), value);
        for (inner, value) in value.as_map().into_iter().flat_map(Map::iter) {
            if let Some(inner) = inner.as_str().filter(plain) {
                consider(format!("{name}.{inner}"), value);
            }
        }
    }
    longest
}

#[cfg(test)]
mod tests;
