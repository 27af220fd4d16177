//! Which paths an update may change, for indexes.

use alluvium_document::path::{FieldPath, array_index};

use super::action::Action;
use super::place::{MATCHED, is_several};
use super::{Change, Update};

impl Update {
    /// True if there is a document of which the update changes what an index or a filter sees at this path: the values
    /// there, in arrays on the way too, or whether there are any.
    ///
    /// `$setOnInsert` changes no document that is there. So it is true if another change is made at
    /// the path, at one that leads to it, or in what lies there. A number and a
    /// positional operator in a change represent elements of arrays, which a path enters by itself.
    /// A change at a position may append elements, where all paths through the array see them.
    pub fn touches(&self, path: &FieldPath) -> bool {
        let names: Vec<&str> = path.names().collect();
        self.changes.iter().any(|change| change.touches(&names))
    }
}

/// How the value was come to, that a change and a path are at.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Entered {
    /// By a name, or by a position that both have.
    ByBoth,
    /// As an element of an array that the path entered by itself: if that is an array, the path ends there.
    AsElement,
}

impl Change {
    fn touches(&self, names: &[&str]) -> bool {
        match &self.action {
            // A document that is being inserted has no readers yet.
            Action::SetOnInsert(_) => false,
            // What is renamed is in no array.
            Action::RenameFrom(from) => {
                let meets = |path: &FieldPath| path.names().zip(names).all(|(a, b)| a == *b);
                meets(from) || meets(&self.path)
            }
            action => meets(&self.path, action, names),
        }
    }
}

impl Action {
    /// True if it makes something where nothing is.
    fn appends(&self) -> bool {
        !matches!(self, Self::Unset | Self::Pull(_) | Self::PullAll(_) | Self::Pop(_) | Self::RenameFrom(_))
    }
}

/// True if a change at `path` may change what `names` see. All ways through arrays are followed at once, since a number
/// in both has several.
fn meets(path: &FieldPath, action: &Action, names: &[&str]) -> bool {
    // Where in the names the ways are that are left.
    let mut ways: Vec<(usize, Entered)> = vec![(0, Entered::ByBoth)];
    for (depth, name) in path.names().enumerate() {
        let is_place = depth > 0 && (name == MATCHED || is_several(name) || array_index(name).is_some());
        // A position may be behind the end.
        let grows = action.appends() && is_place && !is_several(name);
        let mut next = Vec::with_capacity(ways.len());
        for (at, entered) in ways {
            let Some(wanted) = names.get(at) else { return true };
            if is_place {
                let position = array_index(wanted);
                let same = match (position, array_index(name)) {
                    (Some(wanted), Some(at)) => wanted == at || (grows && wanted < at),
                    (Some(_), None) => true,
                    (None, _) => false,
                };
                if same && position != array_index(name) && array_index(name).is_some() {
                    // Nulls fill up the array as far as that.
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
    // Numbers, and what is missing, have nothing in them, before and after.
    let is_of_number = matches!(action, Action::Inc(_) | Action::Mul(_) | Action::Bit(_));
    ways.iter().any(|(at, _)| !is_of_number || *at == names.len())
}

#[cfg(test)]
mod tests;
