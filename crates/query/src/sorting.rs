//! Sorting that counts its work.

use crate::interrupt::Interruption;
use crate::work::Work;
use std::cmp::Ordering;

/// The number of elements that are sorted without counting work in between.
const CHUNK: usize = 4096;

/// The work counted for a comparison and the move that follows it.
pub(crate) const COMPARISON_UNITS: usize = 32;

/// Sorts the elements. The sort is stable.
pub(crate) fn sort_by<T: Copy>(
    elements: &mut Vec<T>,
    compare: impl Fn(&T, &T) -> Ordering,
    work: &mut Work<'_>,
) -> Result<(), Interruption> {
    for chunk in elements.chunks_mut(CHUNK) {
        work.add(chunk.len() * COMPARISON_UNITS * (chunk.len().ilog2() as usize + 1))?;
        chunk.sort_by(&compare);
    }
    let mut sorted = CHUNK;
    while sorted < elements.len() {
        let mut merged = Vec::with_capacity(elements.len());
        for pair in elements.chunks(2 * sorted) {
            let (mut low, mut high) = pair.split_at(sorted.min(pair.len()));
            while let (Some((a, low_rest)), Some((b, high_rest))) = (low.split_first(), high.split_first()) {
                work.add(COMPARISON_UNITS)?;
                if compare(a, b).is_gt() {
                    merged.push(*b);
                    high = high_rest;
                } else {
                    merged.push(*a);
                    low = low_rest;
                }
            }
            merged.extend_from_slice(low);
            merged.extend_from_slice(high);
        }
        *elements = merged;
        sorted *= 2;
    }
    Ok(())
}

/// Sorts values that cannot be copied, as [`sort_by`] does.
pub(crate) fn sorted<T>(
    mut values: Vec<T>,
    compare: impl Fn(&T, &T) -> Ordering,
    work: &mut Work<'_>,
) -> Result<Vec<T>, Interruption> {
    if values.len() <= CHUNK || !work.is_counted() {
        values.sort_by(compare);
        return Ok(values);
    }
    let mut order: Vec<usize> = (0..values.len()).collect();
    sort_by(&mut order, |a, b| compare(&values[*a], &values[*b]), work)?;
    let mut values: Vec<Option<T>> = values.into_iter().map(Some).collect();
    Ok(order.into_iter().filter_map(|at| values[at].take()).collect())
}

#[cfg(test)]
mod tests;
