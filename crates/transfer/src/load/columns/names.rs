//! Names of fields in place of those of a header that make no document.

use alluvium_document::path::FieldPath;
use std::collections::HashSet;

/// The names of the fields for those of a header: a name that is empty becomes `column_3` by its place, one that occurs
/// again `name_2`, and a dot becomes `_` where a name cannot be a path: `a.b` beside `a`, or `a..b`.
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

/// True if a part of the path before its end is the name of another column, which has values.
fn is_inside_a_value(path: &FieldPath, given: &HashSet<&str>) -> bool {
    let text = path.as_str();
    text.match_indices('.').any(|(at, _)| given.contains(&text[..at]))
}

#[cfg(test)]
mod tests;
