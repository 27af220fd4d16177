//! Determines whether an update can affect an index or filter on a path.

use alluvium_document::path::{FieldPath, array_index, update_index};

use super::action::Action;
use super::place::{MATCHED, is_several};
use super::{Change, Update};

impl Update {
    /// True if the update may change the values that an index or a filter examines at this path.
    /// They include values inside of arrays, and whether values exist at all.
    ///
    /// The update touches the path if a change is at the path, at a prefix of it, or inside its
    /// value. `$setOnInsert` changes no existing document. A number or a positional operator in a
    /// change may represent an element of an array, whereas a path enters elements without a name.
    /// A change at a position may append elements, which affects all paths through the array.
    pub fn touches(&self, path: &FieldPath) -> bool {
        let names: Vec<&str> = path.names().collect();
        self.changes.iter().any(|change| change.touches(&names))
    }
}

/// How a change and a path reached the same value.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Entered {
    /// Both have the same name or position.
    ByBoth,
    /// The path entered an element of an array without a name. If the element is an array, the path
    /// ends there.
    AsElement,
}

impl Change {
    fn touches(&self, names: &[&str]) -> bool {
        match &self.action {
            // A document that is being inserted has not been read by anyone yet.
            Action::SetOnInsert(_) => false,
            // `$rename` never moves values in arrays.
            Action::RenameFrom(from) => {
                let meets = |path: &FieldPath| path.names().zip(names).all(|(a, b)| a == *b);
                meets(from) || meets(&self.path)
            }
            action => meets(&self.path, action, names),
        }
    }
}

impl Action {
    /// True if the action creates a missing value.
    fn appends(&self) -> bool {
        !matches!(self, Self::Unset | Self::Pull(_) | Self::PullAll(_) | Self::Pop(_) | Self::RenameFrom(_))
    }
}

/// True if a change at `path` may change a value that `names` lead to. All routes through arrays
/// are followed at once, because a number in both paths has several meanings.
fn meets(path: &FieldPath, action: &Action, names: &[&str]) -> bool {
    // The indexes in `names` from which routes continue.
    let mut ways: Vec<(usize, Entered)> = vec![(0, Entered::ByBoth)];
    for (depth, name) in path.names().enumerate() {
        let own = update_index(name);
        let is_place = depth > 0 && (name == MATCHED || is_several(name) || own.is_some());
        // The position may be beyond the end.
        let grows = action.appends() && is_place && !is_several(name);
        let mut next = Vec::with_capacity(ways.len());
        for (at, entered) in ways {
            let Some(wanted) = names.get(at) else { return true };
            if is_place {
                let position = array_index(wanted);
                let same = match (position, own) {
                    (Some(wanted), Some(at)) => wanted == at || (grows && wanted < at),
                    (Some(_), None) => true,
                    (None, _) => false,
                };
                if same && position != own && own.is_some() {
                    // The array is padded with nulls up to the position.
                    return true;
                }
                if same {
                    next.push((at + 1, Entered::ByBoth));
                }
                if entered == Entered::ByBoth {
                    if grows {
                        return true;
                    }
                    next.push((at, Entered::AsElement));
                }
            }
            if name == *wanted {
                next.push((at + 1, Entered::ByBoth));
            }
        }
        next.sort_unstable_by_key(|(at, entered)| (*at, *entered == Entered::AsElement));
        next.dedup();
        ways = next;
    }
    // Numbers and missing values contain no other values, either before or after the change.
    let is_of_number = matches!(action, Action::Inc(_) | Action::Mul(_) | Action::Bit(_));
    ways.iter().any(|(at, _)| !is_of_number || *at == names.len())
}

#[cfg(test)]
mod tests;
