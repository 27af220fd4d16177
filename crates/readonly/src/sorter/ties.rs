//! Orders pairs whose keys have the same beginning, which is all that runs contain of these keys.
//!
//! The tails of the keys are read in parts: first the first parts of all tails, then the second
//! parts of tails whose first parts are equal, and so on. Therefore each byte is read at most once,
//! and the memory depends on the number of pairs.

use super::stored::{Stored, Tie};
use crate::error::Error;
use std::ops::Range;

/// The least and the most bytes of a part.
const PART_BYTES: Range<usize> = 64..1 << 20;
/// The number of parts between two checks whether the sort may continue.
const CHECK_EVERY: usize = 64;

struct Group {
    ties: Vec<Tie>,
    /// The tails are equal up to this offset; `None` if they are equal as a whole.
    offset: Option<u64>,
}

/// Returns the pairs in the order of their tails. Pairs with equal tails stay in the given order.
/// The parts take about `memory_bytes` together. `proceed` is called now and then.
pub(super) fn sort<E: From<Error>>(
    ties: Vec<Tie>,
    stored: &Stored,
    memory_bytes: usize,
    proceed: &mut dyn FnMut() -> Result<(), E>,
) -> Result<Vec<Tie>, E> {
    if ties.len() > 1 {
        for tie in &ties {
            proceed()?;
            stored.check(tie.tail)?;
        }
    }
    let mut sorted = Vec::with_capacity(ties.len());
    let mut groups = vec![Group { ties, offset: Some(0) }];
    while let Some(Group { ties, offset }) = groups.pop() {
        let Some(offset) = offset.filter(|_| ties.len() > 1) else {
            sorted.extend(ties);
            continue;
        };
        let part_bytes = (memory_bytes / ties.len()).clamp(PART_BYTES.start, PART_BYTES.end);
        let (mut parts, mut ends) = (Vec::new(), Vec::with_capacity(ties.len()));
        for (at, tie) in ties.iter().enumerate() {
            if at.is_multiple_of(CHECK_EVERY) {
                proceed()?;
            }
            stored.read_part(tie.tail, offset, part_bytes, &mut parts)?;
            ends.push(parts.len());
        }
        let part = |at: usize| &parts[if at == 0 { 0 } else { ends[at - 1] }..ends[at]];
        let mut order: Vec<usize> = (0..ties.len()).collect();
        order.sort_by_key(|&at| part(at));
        let first_group = groups.len();
        for alike in order.chunk_by(|&a, &b| part(a) == part(b)) {
            let goes_on = alike.first().is_some_and(|&at| part(at).len() == part_bytes);
            let offset = goes_on.then_some(offset + part_bytes as u64);
            groups.push(Group { ties: alike.iter().map(|&at| ties[at]).collect(), offset });
        }
        // The lowest group is taken next, so it must be last.
        groups[first_group..].reverse();
    }
    Ok(sorted)
}
