//! All keys of a document: one for each combination of array elements at the paths of the parts.

use super::{IndexKey, Keys, is_natural};
use crate::index::{Definition, IndexError, MAX_KEYS, MAX_KEYS_BYTES, MAX_PART_BYTES, Order, put_index_part};
use alluvium_codec::varint;
use alluvium_document::path::{FieldPath, array_index};
use alluvium_document::{Map, Value, encoding};

static UNDEFINED: Value = Value::Undefined;

/// The progress of a part along its path.
#[derive(Clone, Copy)]
enum At<'a> {
    /// The value of the part is determined; `None` if it is missing.
    Fixed(Option<&'a Value>),
    /// The names of the path from this index on remain to be followed in the current map.
    Open(usize),
    /// A position in the path selected this element of the array, whichever element is current.
    Placed {
        found: Found<'a>,
        /// True if the selected element is an array. The array counts as a whole if the path ends there.
        nested: bool,
    },
}

impl<'a> At<'a> {
    fn value(&self) -> Option<&'a Value> {
        if let At::Fixed(value) = *self { value } else { None }
    }
}

/// The value at the end of a path, or the first array in the middle of a path. Includes the index
/// of the first name that was not followed.
#[derive(Clone, Copy)]
struct Found<'a> {
    value: &'a Value,
    next: usize,
}

/// Follows the names from index `next` on through maps, as far as possible.
fn follow<'a>(mut map: &'a Map, path: &FieldPath, mut next: usize) -> Option<Found<'a>> {
    while let Some(name) = path.name(next) {
        next += 1;
        match map.get(name)? {
            Value::Map(inner) if next < path.depth() => map = inner,
            value @ Value::Array(_) => return Some(Found { value, next }),
            value => return (next == path.depth()).then_some(Found { value, next }),
        }
    }
    None
}

/// An array to which the paths of some parts have led.
struct Meeting<'a> {
    value: &'a Value,
    elements: &'a [Value],
    /// The first part whose path led to the array.
    first: usize,
    /// Bit n is set if the path of part n led to the array.
    parts: u32,
    /// Bit n is set if part n takes the array as a whole, because its path ends there.
    whole: u32,
}

pub(super) struct Expansion<'d> {
    index: &'d Definition,
    found: Keys,
    /// The total bytes of the keys found so far, including duplicates.
    bytes: usize,
    most: Most,
    /// If the number of keys or of their bytes exceeds this, duplicates are removed.
    room: Most,
}

/// The maximum number of keys of a document, and of their bytes.
#[derive(Clone, Copy)]
pub(super) struct Most {
    keys: usize,
    bytes: usize,
}

impl Most {
    /// The limits for new documents.
    pub const NEW: Self = Self { keys: MAX_KEYS, bytes: MAX_KEYS_BYTES };
    /// The limits for stored documents. Earlier versions accepted any number of bytes, and up to
    /// one and a half times as many keys. A document with more keys was never indexed by any
    /// version, so its keys need not be collected.
    pub const STORED: Self = Self { keys: 2 * MAX_KEYS, bytes: usize::MAX };
}

impl<'d> Expansion<'d> {
    /// The keys of a document, sorted and unique.
    pub(super) fn of(index: &'d Definition, document: &Map, most: Most) -> Result<Keys, IndexError> {
        let mut expansion = Self { index, found: Keys::default(), bytes: 0, most, room: most };
        expansion.expand(&vec![At::Open(0); index.parts().len()], Some(document))?;
        expansion.distinct();
        expansion.check()?;
        Ok(expansion.found)
    }

    /// Sorts the keys and removes duplicates.
    fn distinct(&mut self) {
        let keys = &mut self.found.keys;
        if keys.len() > 1 {
            keys.sort_unstable();
            keys.dedup_by(|a, b| a.bytes == b.bytes);
            self.bytes = keys.iter().map(|key| key.bytes.len() + key.values.len()).sum();
        }
    }

    /// Removes duplicates to make room. Returns an error if too many keys remain. Afterwards `room`
    /// is at least one and a half times the remaining keys, so that the total time stays linear.
    fn make_room(&mut self) -> Result<(), IndexError> {
        self.distinct();
        self.check()?;
        let (keys, bytes) = (self.found.keys.len(), self.bytes);
        let Most { keys: keys_max, bytes: bytes_max } = self.most;
        self.room = Most { keys: keys_max.max(keys + keys / 2), bytes: bytes_max.max(bytes + bytes / 2) };
        Ok(())
    }

    /// Checks the limits; the keys must be unique.
    fn check(&self) -> Result<(), IndexError> {
        let Most { keys, bytes } = self.most;
        let limit = match self.found.keys.len() > keys {
            true => format!("{keys} keys"),
            false if self.bytes > bytes => format!("{bytes} bytes of keys"),
            false => return Ok(()),
        };
        let name = self.index.name();
        Err(IndexError::KeyTooLong(format!("a document has more than {limit} in the index {name}")))
    }

    fn path(&self, part: usize) -> &'d FieldPath {
        &self.index.parts()[part].path
    }

    /// Yields the keys for the values in `map`, in which the open parts follow the remaining names of their paths.
    fn expand<'a>(&mut self, at: &[At<'a>], map: Option<&'a Map>) -> Result<(), IndexError> {
        let mut at = at.to_vec();
        let mut meeting: Option<Meeting<'a>> = None;
        for (part, at) in at.iter_mut().enumerate() {
            let (found, nested) = match *at {
                At::Fixed(_) => continue,
                At::Open(next) => (map.and_then(|map| follow(map, self.path(part), next)), false),
                At::Placed { found, nested } => (Some(found), nested),
            };
            let Some(Found { value, next }) = found else {
                *at = At::Fixed(None);
                continue;
            };
            let Value::Array(elements) = value else {
                *at = At::Fixed(Some(value));
                continue;
            };
            *at = At::Open(next);
            let met = meeting.get_or_insert(Meeting { value, elements, first: part, parts: 0, whole: 0 });
            if !std::ptr::eq(met.value, value) {
                let (a, b) = (self.path(met.first), self.path(part));
                return Err(IndexError::ParallelArrays(format!("cannot index parallel arrays: {a} and {b}")));
            }
            met.parts |= 1 << part;
            met.whole |= u32::from(nested) << part;
            if self.index.parts()[part].order == Order::Hashed {
                let path = self.path(part);
                let what = format!("a hashed index cannot be over arrays, and {path} has one");
                return Err(IndexError::HashedArray(what));
            }
        }
        match meeting {
            None => self.emit(&at),
            Some(meeting) => self.elements(at, &meeting),
        }
    }

    /// Yields the keys of each element of an array.
    fn elements<'a>(&mut self, mut at: Vec<At<'a>>, meeting: &Meeting<'a>) -> Result<(), IndexError> {
        let Meeting { value, elements, .. } = *meeting;
        // The parts whose value depends on the element, and those among them whose path ends at the array.
        let (mut open, mut ended) = (0u32, 0u32);
        for (part, at) in at.iter_mut().enumerate().filter(|(part, _)| meeting.parts >> part & 1 == 1) {
            let At::Open(next) = *at else { continue };
            let ends = next == self.path(part).depth();
            let placed = match ends {
                true if meeting.whole >> part & 1 == 0 => None,
                true if elements.is_empty() => Some(At::Fixed(Some(&UNDEFINED))),
                true => Some(At::Fixed(Some(value))),
                false => self.place(part, next, elements)?,
            };
            match placed {
                Some(placed) => *at = placed,
                None => {
                    open |= 1 << part;
                    ended |= u32::from(ends) << part;
                }
            }
        }
        self.found.multikey |= open;
        if open == 0 {
            return self.expand(&at, None);
        }
        let none = elements.is_empty().then_some(&UNDEFINED);
        for element in elements.iter().chain(none) {
            for (_, at) in at.iter_mut().enumerate().filter(|(part, _)| ended >> part & 1 == 1) {
                *at = At::Fixed(Some(element));
            }
            self.expand(&at, element.as_map())?;
        }
        Ok(())
    }

    /// The element that the next name of a part's path selects by its position; `None` if the name
    /// selects no element.
    fn place<'a>(&self, part: usize, next: usize, elements: &'a [Value]) -> Result<Option<At<'a>>, IndexError> {
        let path = self.path(part);
        let Some(name) = path.name(next) else { return Ok(None) };
        let Some(position) = array_index(name) else { return Ok(None) };
        let in_maps = elements.iter().any(|element| element.as_map().is_some_and(|map| map.contains(name)));
        let next = next + 1;
        Ok(match elements.get(position) {
            Some(_) if in_maps => {
                let what = format!("{name} in {path} is a position in an array and a field in its elements");
                return Err(IndexError::AmbiguousPath(what));
            }
            None if in_maps => None,
            None => Some(At::Fixed(None)),
            Some(value @ Value::Array(_)) => Some(At::Placed { found: Found { value, next }, nested: true }),
            Some(value) if next == path.depth() => Some(At::Fixed(Some(value))),
            Some(value) => {
                let found = value.as_map().and_then(|map| follow(map, path, next));
                Some(found.map_or(At::Fixed(None), |found| At::Placed { found, nested: false }))
            }
        })
    }

    fn emit(&mut self, at: &[At<'_>]) -> Result<(), IndexError> {
        if self.index.is_sparse() && at.iter().all(|at| at.value().is_none()) {
            return Ok(());
        }
        let mut bytes = Vec::with_capacity(16 * at.len() + 16);
        let (mut missing, mut natural, mut cut) = (0u64, true, 0u32);
        let mut longest = (0, 0);
        let collation = self.index.collation();
        for (n, (part, at)) in self.index.parts().iter().zip(at).enumerate() {
            let value = at.value();
            missing |= u64::from(value.is_none()) << n;
            let before = bytes.len();
            let value = value.unwrap_or(&Value::Null);
            let is_cut = match collation {
                None => put_index_part(value, part.order, &mut bytes),
                Some(collation) => put_index_part(&collation.keyed(value), part.order, &mut bytes),
            };
            cut |= u32::from(is_cut) << n;
            // Values are never decoded from the keys of an index with a collation.
            natural &= is_cut || part.order == Order::Hashed || collation.is_some() || is_natural(value);
            longest = longest.max((bytes.len() - before, n));
        }
        if bytes.len() > MAX_PART_BYTES {
            self.found.cut |= if cut == 0 { 1 << longest.1 } else { cut };
        }
        let mut values = Vec::new();
        if missing != 0 || !natural {
            varint::put_u64(&mut values, missing);
        }
        if !natural {
            // The value of the entry is the values of the parts as an array.
            let parts = self.index.parts().iter().zip(at);
            let exact = parts.enumerate().map(|(n, (part, at))| match at.value() {
                Some(value) if part.order != Order::Hashed && cut >> n & 1 == 0 => value.clone(),
                _ => Value::Null,
            });
            encoding::encode(&Value::Array(exact.collect()), &mut values);
        }
        self.bytes += bytes.len() + values.len();
        self.found.keys.push(IndexKey { bytes, values });
        match self.found.keys.len() > self.room.keys || self.bytes > self.room.bytes {
            true => self.make_room(),
            false => Ok(()),
        }
    }
}
