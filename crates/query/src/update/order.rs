//! The order in which the changes of an update are applied.

use std::cmp::Ordering;

use alluvium_document::path::FieldPath;

/// Compares paths name by name with [`compare_names`]. A path precedes the paths that lead into it.
pub(super) fn compare_paths(a: &FieldPath, b: &FieldPath) -> Ordering {
    let order = a.names().zip(b.names()).map(|(a, b)| compare_names(a, b)).find(|order| order.is_ne());
    order.unwrap_or_else(|| a.depth().cmp(&b.depth()))
}

/// Compares names by their bytes. However, of two names that begin with a digit and have no leading
/// zero, the shorter one is less. Therefore numbers are in numeric order, as in MongoDB from 5.0
/// on.
pub(super) fn compare_names(a: &str, b: &str) -> Ordering {
    let by_length = if is_like_a_number(a) && is_like_a_number(b) { a.len().cmp(&b.len()) } else { Ordering::Equal };
    by_length.then_with(|| a.cmp(b))
}

fn is_like_a_number(name: &str) -> bool {
    match name.as_bytes() {
        [b'0', _, ..] => false,
        [first, ..] => first.is_ascii_digit(),
        [] => false,
    }
}

#[cfg(test)]
mod tests;
