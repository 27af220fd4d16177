//! Replaces names of a header that cannot be the fields of one document.

use alluvium_document::path::FieldPath;
use std::collections::HashSet;

/// The names of the fields for the names of a header. An empty name becomes `column_3`, with the number of its column;
/// a repeated name becomes `name_2`. In a name that cannot be a path, dots become `_`: `a..b`, or `a.b` if there is
/// also a column `a`.
pub(super) fn made(header: &[String]) -> Vec<String> {
    let given: HashSet<&str> = header.iter().map(String::as_str).collect();
    let mut names: Vec<String> = Vec::with_capacity(header.len());
    let mut taken: HashSet<String> = HashSet::new();
    for (at, name) in header.iter().enumerate() {
        let mut name = match name.parse::<FieldPath>() {
            _ if name.is_empty() => format!("column_{}", at + 1),
            Ok(path) if !is_inside_a_value(&path, &given) => name.clone(),
            _ => name.replace(['.', '\0'], "_"),
        };
        if taken.contains(&name) || header.get(at) != Some(&name) && given.contains(name.as_str()) {
            let free = |n: &usize| {
                let other = format!("{name}_{n}");
                !taken.contains(&other) && !given.contains(other.as_str())
            };
            name = format!("{name}_{}", (2..).find(free).unwrap_or_default());
        }
        taken.insert(name.clone());
        names.push(name);
    }
    names
}

/// True if a proper prefix of the path is the name of another column, so that the prefix would be both a value and a
/// map.
fn is_inside_a_value(path: &FieldPath, given: &HashSet<&str>) -> bool {
    let text = path.as_str();
    text.match_indices('.').any(|(at, _)| given.contains(&text[..at]))
}

#[cfg(test)]
mod tests;
