//! Sets of characters.

use regex_syntax::hir::{ClassUnicode, ClassUnicodeRange};
use std::fmt;

/// A set of characters.
#[derive(Clone)]
pub(super) struct Set {
    /// The characters below 128, one bit for each.
    ascii: [u64; 2],
    /// All ranges, in order.
    ranges: Box<[(char, char)]>,
}

impl Set {
    pub fn new(class: &ClassUnicode) -> Self {
        let ranges: Box<[(char, char)]> = class.iter().map(|range| (range.start(), range.end())).collect();
        let mut ascii = [0; 2];
        for c in 0..128u8 {
            if ranges.iter().any(|(low, high)| (*low..=*high).contains(&char::from(c))) {
                ascii[usize::from(c >> 6)] |= 1 << (c & 63);
            }
        }
        Self { ascii, ranges }
    }

    #[inline]
    pub fn contains(&self, c: char) -> bool {
        match u8::try_from(c) {
            Ok(c @ ..128) => self.ascii[usize::from(c >> 6)] >> (c & 63) & 1 == 1,
            _ => {
                let after = self.ranges.partition_point(|(low, _)| *low <= c);
                after.checked_sub(1).and_then(|at| self.ranges.get(at)).is_some_and(|(_, high)| c <= *high)
            }
        }
    }

    pub fn memory(&self) -> usize {
        size_of_val(&*self.ranges)
    }
}

/// Shows only the first ranges, because some sets have hundreds of ranges.
impl fmt::Debug for Set {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.ranges.iter().take(4)).finish()
    }
}

/// The set of one character and, if `folds`, of the characters that differ from it only in case.
pub(super) fn single(c: char, folds: bool) -> ClassUnicode {
    let mut class = ClassUnicode::new([ClassUnicodeRange::new(c, c)]);
    if folds {
        // This fails only without the Unicode tables, which are always compiled in.
        let _folded = class.try_case_fold_simple();
    }
    class
}

/// True if two characters are equal or differ only in case.
pub(super) fn equal_folded(a: char, b: char) -> bool {
    a == b || Set::new(&single(a, true)).contains(b)
}
