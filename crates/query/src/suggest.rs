//! Suggestions for names that are unknown.

use std::cmp::Reverse;

/// The question that ends an error message about an unknown name, such as `: did you mean $gt?`;
/// empty if no known name is near. Upper and lower case count as the same.
pub(crate) fn suggestion(name: &str, known: &[&str]) -> String {
    nearest(name, known).map_or_else(String::new, |name| format!(": did you mean {name}?"))
}

/// The nearest known name; of several the one whose beginning agrees the longest.
fn nearest<'k>(name: &str, known: &[&'k str]) -> Option<&'k str> {
    let wanted = name.to_lowercase();
    // A third of the letters may be wrong, at least one; the dollar sign is no letter.
    let most = (name.trim_start_matches('$').chars().count() / 3).max(1);
    // Nothing that long is near, and the distance would take long.
    if wanted.len() > 64 {
        return None;
    }
    let near = known.iter().filter_map(|known| {
        let lower = known.to_lowercase();
        let distance = strsim::damerau_levenshtein(&wanted, &lower);
        let in_common = wanted.bytes().zip(lower.bytes()).take_while(|(a, b)| a == b).count();
        (distance <= most).then_some((distance, Reverse(in_common), *known))
    });
    near.min_by_key(|(distance, in_common, _)| (*distance, *in_common)).map(|(_, _, known)| known)
}

#[cfg(test)]
mod tests;
