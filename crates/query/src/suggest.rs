//! Suggestions for unknown names.

use std::cmp::Reverse;

/// The end of an error message about an unknown name, such as `: did you mean $gt?`. Empty if no
/// known name is similar. Case is ignored.
pub(crate) fn suggestion(name: &str, known: &[&str]) -> String {
    nearest(name, known).map_or_else(String::new, |name| format!(": did you mean {name}?"))
}

/// The most similar known name. Among equally similar names it is the one with the longest common prefix.
fn nearest<'k>(name: &str, known: &[&'k str]) -> Option<&'k str> {
    let wanted = name.to_lowercase();
    // At most a third of the letters may differ, but at least one letter. The dollar sign does not count as a letter.
    let most = (name.trim_start_matches('$').chars().count() / 3).max(1);
    // No known name is similar to such a long name, and computing the distance would be slow.
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
