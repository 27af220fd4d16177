//! The definitions that values refer to. Every sorted file with such values keeps a copy, so that a damaged store can
//! be read even if the tree with the definitions is lost.

use crate::trees::TreeId;
use alluvium_codec::varint;
use alluvium_lsm::Used;
use std::collections::BTreeMap;

/// Finds the definitions that values use, for a store: [`crate::Options::definitions`].
///
/// Called by flushes and compactions, on any thread, even while the store is being opened.
pub trait Definitions: Send + Sync + std::fmt::Debug {
    /// The tree with the definitions that the values of a tree use, given the description of that tree; `None` if the
    /// values use no definitions.
    fn kept_in(&self, description: &[u8]) -> Option<TreeId>;

    /// The key of a definition in the tree of definitions.
    fn key(&self, number: u32) -> Vec<u8>;

    /// Calls `note` with the number of each definition that a value uses. For a damaged value, passes only the
    /// definitions before the damage. Numbers are below 2^20.
    fn used(&self, value: &[u8], note: &mut dyn FnMut(u32));

    /// A definition for the values of `tree`, if the layer above has it in memory. The layer must have every definition
    /// in memory that is not visible yet.
    fn at_hand(&self, tree: TreeId, number: u32) -> Option<Vec<u8>>;
}

/// Definitions by the tree whose values use them, and by number. A tree may have an empty map.
pub(crate) type Defined = BTreeMap<u32, BTreeMap<u32, Vec<u8>>>;

/// Finds the definitions that the values of a file use, and packs them. A definition is searched in memory, then among
/// the visible values (`visible` returns the value of a key), then in `older` files. A definition that is in none of
/// these is omitted.
pub(crate) fn gather(
    definitions: &dyn Definitions,
    visible: impl Fn(TreeId, &[u8]) -> Option<Vec<u8>>,
    used: &[(u32, Used)],
    describe: &dyn Fn(TreeId) -> Option<Vec<u8>>,
    older: &dyn Fn() -> Vec<Vec<u8>>,
) -> Vec<u8> {
    let (mut found, mut missing) = (Defined::new(), Vec::new());
    for (tree, numbers) in used {
        let kept_in = describe(TreeId(*tree)).and_then(|description| definitions.kept_in(&description));
        let of_tree = found.entry(*tree).or_default();
        for number in numbers.iter() {
            let visible = || visible(kept_in?, &definitions.key(number));
            match definitions.at_hand(TreeId(*tree), number).or_else(visible) {
                Some(definition) => drop(of_tree.insert(number, definition)),
                None => missing.push((*tree, number)),
            }
        }
    }
    if !missing.is_empty() {
        let older: Vec<Defined> = older().iter().filter_map(|aux| unpack(aux)).collect();
        for (tree, number) in missing {
            if let Some(definition) = older.iter().find_map(|older| older.get(&tree)?.get(&number)) {
                found.entry(tree).or_default().insert(number, definition.clone());
            }
        }
    }
    pack(&found)
}

fn pack(defined: &Defined) -> Vec<u8> {
    let mut out = Vec::new();
    for (tree, definitions) in defined {
        varint::put_u64(&mut out, u64::from(*tree));
        varint::put_u64(&mut out, definitions.len() as u64);
        for (number, definition) in definitions {
            varint::put_u64(&mut out, u64::from(*number));
            varint::put_bytes(&mut out, definition);
        }
    }
    out
}

/// Unpacks the result of [`gather`]; `None` if the bytes are anything else.
pub(crate) fn unpack(mut input: &[u8]) -> Option<Defined> {
    let input = &mut input;
    let number = |input: &mut &[u8]| u32::try_from(varint::get_u64(input).ok()?).ok();
    let mut defined = Defined::new();
    while !input.is_empty() {
        let of_tree = defined.entry(number(input)?).or_default();
        for _ in 0..varint::get_u64(input).ok()? {
            of_tree.insert(number(input)?, varint::get_bytes(input).ok()?.to_vec());
        }
    }
    Some(defined)
}

#[cfg(test)]
mod tests;
