//! Random `_id`s of a collection, of a large one without reading all of it.

use alluvium::{Collection, Error, Result, Value};
use alluvium_collections::engine::EngineHandle;
use alluvium_collections::names::FullName;
use alluvium_document::key;
use alluvium_store::{Bounds, Scan, Store, TreeId};
use std::ops::Bound;

/// A collection of at most this number of documents, by the estimate, is read as a whole.
const WHOLE_MAX: u64 = 1 << 20;
/// The number of `_id`s that are drawn from a larger one.
const DRAWN: u64 = 1 << 20;
/// The maximum number of times that the range of all `_id`s is halved. A part with few documents is not halved.
const HALVINGS: u32 = 12;
/// A part of fewer documents, by the estimate, is not halved.
const PART_MIN: u64 = 256;
/// The most estimates that are made to halve a part.
const ESTIMATES_MAX: u32 = 16;
/// The number of documents after a random place from which a draw picks one. With several, a
/// document after a gap is not drawn much more often than others.
const FOLLOWING: u64 = 16;

/// A random sample of a collection's `_id`s: all of them if there are about [`WHOLE_MAX`] or fewer,
/// otherwise [`DRAWN`] of them, in ascending order and perhaps some twice.
///
/// A large collection is divided by estimates into up to 4,096 ranges of about the same number of
/// documents. From each range as many `_id`s are drawn: one of the [`FOLLOWING`] documents at a
/// place that is uniform among the keys of the range. The sample is about as uniform as the keys
/// are within each range.
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
    /// The least key.
    first: Vec<u8>,
    /// The key after it.
    end: Vec<u8>,
    /// About how many documents one partition has in it.
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
        // Rounded so that the sum is what is to be drawn.
        let share = |until: u64| (u128::from(drawn) * u128::from(until) / u128::from(documents.max(1))) as u64;
        let (low, high) = part.numbers();
        let draws = share(before + part.documents) - share(before);
        let mut places: Vec<u64> = (0..draws).map(|_| random.u64(low..=high)).collect();
        // Neighbours are often in the same block.
        places.sort_unstable();
        for place in places {
            ids.extend(drawn_at(&mut scan, part.key(place), random.u64(0..FOLLOWING))?);
        }
        before += part.documents;
    }
    Ok(ids)
}

/// The `_id` that follows a key, after skipping some; `None` at the end.
fn drawn_at(scan: &mut Scan, place: Vec<u8>, skipped: u64) -> Result<Option<Value>> {
    scan.restart(&Bounds { lower: Bound::Included(place), ..Bounds::all() });
    for _ in 0..skipped {
        scan.next()?;
    }
    let Some((mut key, _)) = scan.next()? else { return Ok(None) };
    key::decode(&mut key).map(Some).map_err(|error| Error::Load(format!("a key is not an _id: {error}")))
}

impl Keys<'_> {
    /// The range of all keys in parts of about the same number of documents.
    fn parts(&self) -> Result<Vec<Part>> {
        let (Some(first), Some(last)) = (self.end(false)?, self.end(true)?) else { return Ok(Vec::new()) };
        // The last key is the end of the range, which is exclusive, so there is one document less.
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

    /// The least or the greatest key.
    fn end(&self, reverse: bool) -> Result<Option<Vec<u8>>> {
        let mut scan = self.store.scan(self.tree, Bounds { reverse, ..Bounds::all() }, None)?;
        Ok(scan.next()?.map(|(key, _)| key.to_vec()))
    }

    /// About how many documents are in one partition. Documents are spread over the partitions at
    /// random, so one has the shape of all.
    fn count(&self, first: &[u8], end: &[u8]) -> Result<u64> {
        let (lower, upper) = (Bound::Included(first.to_vec()), Bound::Excluded(end.to_vec()));
        Ok(self.store.estimate(self.tree, 0, &Bounds { lower, upper, reverse: false })?)
    }

    /// A key that divides a part about evenly; `None` if there is no key between its ends.
    fn middle(&self, part: &Part) -> Result<Option<Vec<u8>>> {
        let (mut low, mut high) = part.numbers();
        let wanted = part.documents / 2;
        let mut middle = None;
        // Estimates are rough where documents were changed in memory: more steps do not make them finer.
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
