//! Random `_id`s of a collection. Large collections are not read completely.

use alluvium::{Collection, Error, Result, Value};
use alluvium_collections::engine::EngineHandle;
use alluvium_collections::names::FullName;
use alluvium_document::key;
use alluvium_store::{Bounds, Scan, Store, TreeId};
use std::ops::Bound;

/// A collection with at most this estimated number of documents is read completely.
const WHOLE_MAX: u64 = 1 << 20;
/// The number of `_id`s that are drawn from a larger collection.
const DRAWN: u64 = 1 << 20;
/// The maximum number of times that the range of all `_id`s is halved. A part with few documents is not halved.
const HALVINGS: u32 = 12;
/// A part with an estimated number of documents below this is not halved.
const PART_MIN: u64 = 256;
/// The maximum number of estimates to halve a part.
const ESTIMATES_MAX: u32 = 16;
/// A draw picks one of this many documents after a random place. If it always picked the first one, a document after a
/// gap would be drawn much more often than others.
const FOLLOWING: u64 = 16;

/// A random sample of the `_id`s of a collection. If the collection has about [`WHOLE_MAX`] documents or fewer, these
/// are all `_id`s. Otherwise these are [`DRAWN`] `_id`s in ascending order, and some may occur twice.
///
/// A large collection is divided by estimates into up to 4,096 ranges of about the same number of documents. From each
/// range, `_id`s are drawn in proportion to its estimated number of documents. A draw chooses a uniformly random place
/// in the range, and picks one of the [`FOLLOWING`] documents after this place. The more evenly the keys are
/// distributed within each range, the more uniform is the sample.
///
/// # Errors
/// [`Error::Load`] if the collection is empty; errors of reads.
pub fn sample_ids(collection: &Collection, seed: u64) -> Result<Vec<Value>> {
    sample(collection, seed, WHOLE_MAX, DRAWN)
}

/// As [`sample_ids`], with other bounds.
pub(super) fn sample(collection: &Collection, seed: u64, whole_max: u64, drawn: u64) -> Result<Vec<Value>> {
    let ids = match collection.stats()?.keys {
        estimate if estimate <= whole_max => {
            collection.scan().run()?.map(|document| Ok(document?.id().clone())).collect::<Result<_>>()?
        }
        _ => draw(collection, seed, drawn)?,
    };
    if ids.is_empty() {
        return Err(Error::Load("the collection is empty: load something first".to_owned()));
    }
    Ok(ids)
}

/// A part of the range of keys.
struct Part {
    /// The smallest key.
    first: Vec<u8>,
    /// The end of the part, exclusive.
    end: Vec<u8>,
    /// The estimated number of documents that one partition has in this part.
    documents: u64,
}

/// The keys of a collection's documents.
struct Keys<'a> {
    store: &'a Store,
    tree: TreeId,
}

fn draw(collection: &Collection, seed: u64, drawn: u64) -> Result<Vec<Value>> {
    let engine: &EngineHandle = collection.as_ref();
    let name = FullName::parse(&collection.full_name()?)?;
    let keys = Keys { store: engine.store(), tree: engine.catalog.require(&name)?.documents };
    let parts = keys.parts()?;
    let documents: u64 = parts.iter().map(|part| part.documents).sum();
    let mut random = fastrand::Rng::with_seed(seed);
    let mut scan = keys.store.scan(keys.tree, Bounds::all(), None)?;
    let (mut ids, mut before) = (Vec::new(), 0);
    for part in &parts {
        // The shares are rounded so that their sum is exactly `drawn`.
        let share = |until: u64| (u128::from(drawn) * u128::from(until) / u128::from(documents.max(1))) as u64;
        let (low, high) = part.numbers();
        let draws = share(before + part.documents) - share(before);
        let mut places: Vec<u64> = (0..draws).map(|_| random.u64(low..=high)).collect();
        // The places are sorted because neighbours are often in the same block.
        places.sort_unstable();
        for place in places {
            ids.extend(drawn_at(&mut scan, part.key(place), random.u64(0..FOLLOWING))?);
        }
        before += part.documents;
    }
    Ok(ids)
}

/// The `_id` of the document after `place`, with `skipped` documents skipped; `None` at the end.
fn drawn_at(scan: &mut Scan, place: Vec<u8>, skipped: u64) -> Result<Option<Value>> {
    scan.restart(&Bounds { lower: Bound::Included(place), ..Bounds::all() });
    for _ in 0..skipped {
        scan.next()?;
    }
    let Some((mut key, _)) = scan.next()? else { return Ok(None) };
    key::decode(&mut key).map(Some).map_err(|error| Error::Load(format!("a key is not an _id: {error}")))
}

impl Keys<'_> {
    /// Divides the range of all keys into parts with about the same number of documents.
    fn parts(&self) -> Result<Vec<Part>> {
        let (Some(first), Some(last)) = (self.end(false)?, self.end(true)?) else { return Ok(Vec::new()) };
        // The last key is the exclusive end of the range, so the last document is left out.
        let mut parts = vec![self.part(first, last)?];
        for _ in 0..HALVINGS {
            let mut finer = Vec::with_capacity(parts.len() * 2);
            for part in parts {
                match if part.documents < PART_MIN { None } else { self.middle(&part)? } {
                    Some(middle) => {
                        finer.push(self.part(part.first, middle.clone())?);
                        finer.push(self.part(middle, part.end)?);
                    }
                    None => finer.push(part),
                }
            }
            parts = finer;
        }
        Ok(parts)
    }

    fn part(&self, first: Vec<u8>, end: Vec<u8>) -> Result<Part> {
        let documents = self.count(&first, &end)?;
        Ok(Part { first, end, documents })
    }

    /// The smallest or the largest key.
    fn end(&self, reverse: bool) -> Result<Option<Vec<u8>>> {
        let mut scan = self.store.scan(self.tree, Bounds { reverse, ..Bounds::all() }, None)?;
        Ok(scan.next()?.map(|(key, _)| key.to_vec()))
    }

    /// The estimated number of documents in one partition. Documents are distributed over the partitions at random, so
    /// one partition represents all.
    fn count(&self, first: &[u8], end: &[u8]) -> Result<u64> {
        let (lower, upper) = (Bound::Included(first.to_vec()), Bound::Excluded(end.to_vec()));
        Ok(self.store.estimate(self.tree, 0, &Bounds { lower, upper, reverse: false })?)
    }

    /// A key that divides a part into halves of about equal size; `None` if there is no key between its ends.
    fn middle(&self, part: &Part) -> Result<Option<Vec<u8>>> {
        let (mut low, mut high) = part.numbers();
        let wanted = part.documents / 2;
        let mut middle = None;
        // Estimates are rough if documents were changed in memory, and more steps do not improve them.
        for _ in 0..ESTIMATES_MAX {
            if high.saturating_sub(low) <= 1 {
                break;
            }
            let half = low + (high - low) / 2;
            let key = part.key(half);
            let found = self.count(&part.first, &key)?;
            middle = Some(key);
            if found.abs_diff(wanted) <= wanted / 8 {
                break;
            }
            if found < wanted { low = half } else { high = half }
        }
        Ok(middle)
    }
}

impl Part {
    /// The length of the prefix that the keys of both ends share.
    fn common(&self) -> usize {
        self.first.iter().zip(&self.end).take_while(|(a, b)| a == b).count()
    }

    /// The eight bytes after the common prefix of both ends, as numbers.
    fn numbers(&self) -> (u64, u64) {
        let number = |key: &[u8]| {
            let mut bytes = [0; 8];
            bytes.iter_mut().zip(&key[self.common()..]).for_each(|(to, from)| *to = *from);
            u64::from_be_bytes(bytes)
        };
        (number(&self.first), number(&self.end))
    }

    /// The key with this number after the common prefix.
    fn key(&self, number: u64) -> Vec<u8> {
        [&self.first[..self.common()], &number.to_be_bytes()].concat()
    }
}
