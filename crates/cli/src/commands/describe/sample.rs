//! A sample of a collection: some documents after each of many places, which are spread evenly between the smallest and
//! the largest `_id`. If a place is followed by more documents than were read, the rest of the sample is taken from the
//! range after that place, in the same way.

use crate::exit::{Failure, Outcome};
use crate::settings::database::Readable;
use crate::settings::ids;
use crate::signals::Stop;
use alluvium::{Cursor, Document, Map, Scan, Value};
use alluvium_document::compare::compare;
use std::cmp::Ordering;

/// The number of places in a pass over the collection.
const PLACES: u64 = 200;
/// The minimum number of places into which a later pass divides a range.
const PLACES_LEAST: u64 = 4;
/// The maximum number of passes. Each pass divides the dense parts of the collection further.
const MOST_PASSES: usize = 8;

/// The documents that a sample contains.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Extent {
    All,
    /// Documents spread over the whole collection.
    Spread,
    /// The first documents, because `_id`s of these types cannot be spaced evenly.
    First,
}

/// Visits all documents.
pub(super) fn all(collection: &Readable, stop: &Stop, visit: &mut dyn FnMut(&Map)) -> Outcome<Extent> {
    let mut cursor = collection.scan().run()?;
    while let Some(document) = next(&mut cursor, stop)? {
        visit(&map_of(&document)?);
    }
    Ok(Extent::All)
}

/// Visits at most `documents` documents, none of them twice.
pub(super) fn some(collection: &Readable, documents: u64, stop: &Stop, visit: &mut dyn FnMut(&Map)) -> Outcome<Extent> {
    let mut sample = Sample { collection, stop, visit };
    let (mut left, mut extent) = (documents, Extent::First);
    let mut ranges = vec![Range::default()];
    for _ in 0..MOST_PASSES {
        let mut dense = Vec::new();
        let places = (PLACES / ranges.len().max(1) as u64).max(PLACES_LEAST);
        // If a range has fewer documents than its share, the next pass makes up for it, instead of the ranges after it.
        let share = left.div_ceil(ranges.len().max(1) as u64);
        for range in ranges {
            let taken = sample.take(&range, share.min(left), places, &mut dense)?;
            left = left.saturating_sub(taken.documents);
            if taken.places > 1 {
                extent = Extent::Spread;
            }
        }
        if left == 0 || dense.is_empty() {
            break;
        }
        ranges = dense;
    }
    Ok(extent)
}

/// The `_id`s after `after` and before `to`.
#[derive(Debug, Clone, Default)]
struct Range {
    after: Option<Value>,
    to: Option<Value>,
}

/// The documents that were taken from a range.
#[derive(Default)]
struct Taken {
    documents: u64,
    places: usize,
}

struct Sample<'a> {
    collection: &'a Readable,
    stop: &'a Stop,
    visit: &'a mut dyn FnMut(&Map),
}

impl Sample<'_> {
    fn scan(&self, range: &Range) -> Scan {
        let mut scan = self.collection.scan();
        if let Some(after) = &range.after {
            scan = scan.from(after.clone());
        }
        if let Some(to) = &range.to {
            scan = scan.to(to.clone());
        }
        scan
    }

    /// Visits some documents of a range. Parts of the range that have more documents are added to `dense`.
    fn take(&mut self, range: &Range, documents: u64, places: u64, dense: &mut Vec<Range>) -> Outcome<Taken> {
        let mut taken = Taken::default();
        let mut first = self.scan(range).limit(2).run()?;
        let first = loop {
            match next(&mut first, self.stop)? {
                Some(document) if range.after.as_ref() == Some(document.id()) => {}
                Some(document) if documents > 0 => break document.id().clone(),
                _ => return Ok(taken),
            }
        };
        let last = next(&mut self.scan(range).reverse().limit(1).run()?, self.stop)?;
        let last = last.map_or_else(|| first.clone(), |document| document.id().clone());
        let places = between(&first, &last, places.clamp(1, documents));
        taken.places = places.len();
        let share = documents.div_ceil(places.len() as u64);
        for (at, place) in places.iter().enumerate() {
            let to = places.get(at + 1).or(range.to.as_ref()).cloned();
            let share = share.min(documents - taken.documents);
            // A limit of 0 means no limit.
            if share == 0 {
                break;
            }
            let part = Range { after: Some(place.clone()), to };
            let mut cursor = self.scan(&part).limit(share).run()?;
            let (mut read, mut end) = (0, None);
            while let Some(document) = next(&mut cursor, self.stop)? {
                (self.visit)(&map_of(&document)?);
                read += 1;
                end = Some(document.id().clone());
            }
            taken.documents += read;
            if read == share && end.is_some() {
                dense.push(Range { after: end, to: part.to });
            }
        }
        Ok(taken)
    }
}

fn next(cursor: &mut Cursor, stop: &Stop) -> Outcome<Option<Document>> {
    stop.check()?;
    Ok(cursor.next().transpose()?)
}

fn map_of(document: &Document) -> Outcome<Map> {
    document.to_map().map_err(|error| {
        let id = ids::show(document.id());
        Failure::Damaged(format!("document {id} is damaged: {error}"))
    })
}

/// Different values, evenly spread from `first` to `last`, in order; only `first` if the types cannot be spaced evenly.
fn between(first: &Value, last: &Value, places: u64) -> Vec<Value> {
    let places = u128::from(places);
    let steps = |low: u128, high: u128| (0..places).map(move |at| low + high.saturating_sub(low) * at / places);
    let signed = |n: i64| (i128::from(n) - i128::from(i64::MIN)) as u128;
    let plain = |n: u128| (n as i128 + i128::from(i64::MIN)) as i64;
    let mut found: Vec<Value> = match (first, last) {
        (Value::String(first), Value::String(last)) => {
            let range = Texts::of(first, last);
            steps(range.low, range.high).map(|n| range.text(n).into()).collect()
        }
        (Value::ObjectId(first), Value::ObjectId(last)) => {
            let number = |id: &[u8; 12]| id.iter().fold(0_u128, |number, byte| number << 8 | u128::from(*byte));
            let id = |number: u128| -> [u8; 12] { std::array::from_fn(|at| (number >> (8 * (11 - at))) as u8) };
            steps(number(first), number(last)).map(|number| Value::ObjectId(id(number))).collect()
        }
        (Value::DateTime(first), Value::DateTime(last)) => {
            steps(signed(*first), signed(*last)).map(|n| Value::DateTime(plain(n))).collect()
        }
        (first, last) if first.is_number() && last.is_number() => match (whole(first), whole(last)) {
            (Some(low), Some(high)) => steps(signed(low), signed(high)).map(|n| Value::Int64(plain(n))).collect(),
            _ => Vec::new(),
        },
        _ => Vec::new(),
    };
    // Converting a text or a fraction to a number loses a part of it, so some results may not be above `first`.
    found.retain(|value| compare(value, first) == Ordering::Greater);
    found.insert(0, first.clone());
    found.dedup();
    found
}

/// A number without its fraction, if it fits 64 bits.
fn whole(number: &Value) -> Option<i64> {
    number.as_i64().or_else(|| Value::from(number.as_f64()?.floor()).as_i64())
}

/// A range of texts as numbers: some characters after the common prefix are taken as digits.
struct Texts<'t> {
    common: &'t str,
    base: u128,
    digits: u32,
    low: u128,
    high: u128,
}

impl<'t> Texts<'t> {
    fn of(first: &'t str, last: &str) -> Self {
        let same = first.chars().zip(last.chars()).take_while(|(a, b)| a == b);
        let common = &first[..same.map(|(c, _)| c.len_utf8()).sum()];
        // All characters between ASCII characters are ASCII, too, so a smaller base is enough, and more digits fit.
        let (base, digits) = if first.is_ascii() && last.is_ascii() { (0x80, 12) } else { (0x11_0000, 4) };
        let number = |text: &str| {
            let chars = text[common.len()..].chars().map(|c| u128::from(u32::from(c))).chain(std::iter::repeat(0));
            chars.take(digits as usize).fold(0, |number, digit| number * base + digit)
        };
        Self { common, base, digits, low: number(first), high: number(last) }
    }

    fn text(&self, number: u128) -> String {
        let digit = |at: u32| number / self.base.pow(self.digits - 1 - at) % self.base;
        // A number that is no character is a surrogate; the character before the surrogates replaces it.
        let char_of = |digit: u128| char::from_u32(digit as u32).unwrap_or('\u{d7ff}');
        let rest: String = (0..self.digits).map(|at| char_of(digit(at))).collect();
        self.common.to_owned() + rest.trim_end_matches('\0')
    }
}

#[cfg(test)]
mod tests;
