//! The shapes of one collection, shared by all threads that encode or decode its documents.

use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use super::{Field, FieldKind, MAX_FIELDS, MAX_NAME_BYTES, MAX_NUMBER, Shape, ShapeError, ShapeHash};

/// When shapes are made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ShapeOptions {
    /// A document's fields get a shape at this sighting (1: at once). At most 255.
    pub document_sightings: u32,
    /// A nested map's fields get a shape at this sighting (1: at once). At most 255.
    pub nested_sightings: u32,
    /// The most shapes of a collection; further maps stay self-describing.
    pub max_in_use: u32,
}

impl ShapeOptions {
    /// The second sighting for both, 4096 shapes.
    pub const DEFAULT: Self = Self { document_sightings: 2, nested_sightings: 2, max_in_use: 4096 };
}

impl Default for ShapeOptions {
    fn default() -> Self {
        Self::DEFAULT
    }
}

/// Numbers to 2^20 in chunks of 1, 2, 4, … shapes.
const CHUNKS: usize = 20;
/// The index by hash starts with 2^6 slots and doubles.
const FIRST_INDEX_BITS: usize = 6;
const INDEXES: usize = 17;
/// Maps without a shape whose sightings are remembered; older ones give way.
const SIGHTINGS: usize = 1024;
/// The same, as long as that suffices.
const FEW_SIGHTINGS: usize = 8;

type Chunk = OnceLock<Box<[OnceLock<Arc<Shape>>]>>;

/// The shapes of one collection. All look-ups are without locks.
///
/// Shapes are only ever added. A shape is published by number first and in the index by hash after that, so that
/// a shape that is found by hash is found by number, too. One thread at a time adds: a map that is
/// seen by another thread concurrently stays self-describing, as if it had been seen once less.
#[derive(Debug)]
pub struct ShapeTable {
    options: ShapeOptions,
    by_number: [Chunk; CHUNKS],
    /// Open addressing over [`Shape::hash`]: shape numbers, 0 is empty. `index` names the one in use; the smaller ones
    /// before it stay for readers that still hold them.
    indexes: [OnceLock<Box<[AtomicU32]>>; INDEXES],
    index: AtomicUsize,
    /// Sightings, while no two shapes meet here: most collections have few.
    few_sightings: [AtomicU64; FEW_SIGHTINGS],
    sightings: OnceLock<Box<[AtomicU64]>>,
    adding: AtomicBool,
    next_number: AtomicU32,
    len: AtomicU32,
    longest_name: AtomicUsize,
}

impl ShapeTable {
    /// An empty table whose first shape gets number 1.
    pub const fn new(options: ShapeOptions) -> Self {
        Self {
            options,
            by_number: [const { OnceLock::new() }; CHUNKS],
            indexes: [const { OnceLock::new() }; INDEXES],
            index: AtomicUsize::new(0),
            few_sightings: [const { AtomicU64::new(0) }; FEW_SIGHTINGS],
            sightings: OnceLock::new(),
            adding: AtomicBool::new(false),
            next_number: AtomicU32::new(1),
            len: AtomicU32::new(0),
            longest_name: AtomicUsize::new(0),
        }
    }

    /// A table of the shapes that were found when a collection was opened. New shapes get numbers
    /// from `next_number`, or above the highest of `shapes` if that is greater.
    ///
    /// # Errors
    /// [`ShapeError::Conflict`] if two different shapes have one number.
    pub fn open(
        options: ShapeOptions,
        shapes: impl IntoIterator<Item = Shape>,
        next_number: u32,
    ) -> Result<Self, ShapeError> {
        let table = Self::new(options);
        table.next_number.store(next_number.max(1), Ordering::Relaxed);
        for shape in shapes {
            let number = shape.number;
            match table.get(number) {
                Some(known) if **known == shape => continue,
                Some(_) => return Err(ShapeError::Conflict(number)),
                None => {}
            }
            shape.committed.store(true, Ordering::Release);
            table.publish(Arc::new(shape));
            table.next_number.fetch_max(number.saturating_add(1), Ordering::Relaxed);
        }
        Ok(table)
    }

    /// The most bytes of a name in any of the shapes.
    pub(crate) fn longest_name(&self) -> usize {
        self.longest_name.load(Ordering::Relaxed)
    }

    /// The shape with this number.
    #[inline]
    pub fn get(&self, number: u32) -> Option<&Arc<Shape>> {
        let (chunk, at) = place(number)?;
        self.by_number[chunk].get()?.get(at)?.get()
    }

    /// How many shapes there are.
    pub fn len(&self) -> usize {
        self.len.load(Ordering::Relaxed) as usize
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// True if no more shapes are made: rows of other fields are larger from now on.
    pub fn is_full(&self) -> bool {
        self.len.load(Ordering::Relaxed) >= self.options.max_in_use
    }

    /// The number that the next shape gets.
    pub fn next_number(&self) -> u32 {
        self.next_number.load(Ordering::Relaxed)
    }

    /// All shapes, by number.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<Shape>> {
        self.by_number.iter().filter_map(OnceLock::get).flat_map(|chunk| chunk.iter().filter_map(OnceLock::get))
    }

    /// Notes that the definition of this shape is visible in the system tree.
    pub fn mark_committed(&self, number: u32) {
        if let Some(shape) = self.get(number) {
            shape.committed.store(true, Ordering::Release);
        }
    }

    /// The shape with these fields, made if this is the sighting for it.
    ///
    /// `hash` is that of the fields ([`ShapeHash`]).
    pub(crate) fn find_or_make<'a>(
        &self,
        hash: u64,
        is_document: bool,
        fields: impl Iterator<Item = (&'a str, FieldKind)> + Clone,
    ) -> Option<&Arc<Shape>> {
        if let Some(shape) = self.find(hash, fields.clone()) {
            return Some(shape);
        }
        let sightings = if is_document { self.options.document_sightings } else { self.options.nested_sightings };
        if !self.is_time(hash, sightings) || self.adding.swap(true, Ordering::Acquire) {
            return None;
        }
        let number = self.make(hash, fields);
        self.adding.store(false, Ordering::Release);
        self.get(number?)
    }

    /// The shape with these fields, if there is one.
    pub(crate) fn find<'a>(
        &self,
        hash: u64,
        fields: impl Iterator<Item = (&'a str, FieldKind)> + Clone,
    ) -> Option<&Arc<Shape>> {
        let index = self.indexes[self.index.load(Ordering::Acquire)].get()?;
        let mask = index.len() - 1;
        let mut slot = hash as usize & mask;
        loop {
            let number = index[slot].load(Ordering::Acquire);
            if number == 0 {
                return None;
            }
            let shape = self.get(number)?;
            if shape.hash == hash && shape.has_fields(fields.clone()) {
                return Some(shape);
            }
            slot = (slot + 1) & mask;
        }
    }

    /// Counts a sighting; whether it is the one that makes the shape.
    fn is_time(&self, hash: u64, sightings: u32) -> bool {
        if sightings <= 1 {
            return true;
        }
        // The slot comes from the low bits, which the tag in the high 56 bits leaves out in part: both together tell
        // hashes apart well enough, and a wrong count only makes a shape early.
        let tag = hash & !0xff;
        let few = &self.few_sightings[hash as usize % FEW_SIGHTINGS];
        let seen = few.load(Ordering::Relaxed);
        let slot = match self.sightings.get() {
            None if seen == 0 || seen & !0xff == tag => few,
            // Two shapes meet in a slot: in the larger table, all begin again.
            _ => {
                let slots = self.sightings.get_or_init(|| (0..SIGHTINGS).map(|_| AtomicU64::new(0)).collect());
                &slots[hash as usize % SIGHTINGS]
            }
        };
        let seen = slot.load(Ordering::Relaxed);
        let count = if seen & !0xff == tag { (seen & 0xff) as u32 + 1 } else { 1 };
        slot.store(tag | u64::from(count.min(0xff)), Ordering::Relaxed);
        count >= sightings.min(0xff)
    }

    /// Makes a shape. Only for the thread that holds `adding`.
    fn make<'a>(&self, hash: u64, fields: impl Iterator<Item = (&'a str, FieldKind)> + Clone) -> Option<u32> {
        // Another thread may have made it between the look-up and `adding`.
        if let Some(shape) = self.find(hash, fields.clone()) {
            return Some(shape.number);
        }
        let number = self.next_number.load(Ordering::Relaxed);
        if self.is_full() || number > MAX_NUMBER {
            return None;
        }
        let (mut count, mut bytes) = (0, 0);
        for (name, _) in fields.clone() {
            count += 1;
            bytes += name.len();
            if count > MAX_FIELDS || bytes > MAX_NAME_BYTES {
                return None;
            }
        }
        let fields = fields.map(|(name, kind)| Field { name: name.into(), kind }).collect();
        let shape = Shape::new(number, fields).ok()?;
        debug_assert_eq!(shape.hash, hash);
        self.next_number.store(number + 1, Ordering::Relaxed);
        self.publish(Arc::new(shape));
        Some(number)
    }

    /// Adds a shape whose number is free. Only for the thread that holds `adding`, or the table.
    fn publish(&self, shape: Arc<Shape>) {
        let Some((chunk, at)) = place(shape.number) else { return };
        let chunk = self.by_number[chunk].get_or_init(|| (0..1usize << chunk).map(|_| OnceLock::new()).collect());
        let (number, hash) = (shape.number, shape.hash);
        // Before any thread can find it: see `Draft::bson_size_max`.
        let longest = shape.fields.iter().map(|field| field.name.len()).max();
        self.longest_name.fetch_max(longest.unwrap_or(0), Ordering::Relaxed);
        self.len.fetch_add(1, Ordering::Relaxed);
        if chunk[at].set(shape).is_err() {
            return;
        }
        let current = self.index.load(Ordering::Relaxed);
        let index = self.indexes[current].get_or_init(|| new_index(current));
        if self.len() * 2 <= index.len() {
            enter(index, hash, number);
        } else if current + 1 < INDEXES {
            let larger = self.indexes[current + 1].get_or_init(|| new_index(current + 1));
            for shape in self.iter() {
                enter(larger, shape.hash, shape.number);
            }
            self.index.store(current + 1, Ordering::Release);
        }
    }
}

/// The chunk of a number and its place in there.
#[inline]
fn place(number: u32) -> Option<(usize, usize)> {
    if number == 0 || number > MAX_NUMBER {
        return None;
    }
    let chunk = number.ilog2() as usize;
    Some((chunk, number as usize - (1 << chunk)))
}

fn new_index(at: usize) -> Box<[AtomicU32]> {
    (0..1usize << (FIRST_INDEX_BITS + at)).map(|_| AtomicU32::new(0)).collect()
}

/// Enters a number into the first free slot. The index is never more than half full.
fn enter(index: &[AtomicU32], hash: u64, number: u32) {
    let mask = index.len() - 1;
    let mut slot = hash as usize & mask;
    while index[slot].load(Ordering::Relaxed) != 0 {
        slot = (slot + 1) & mask;
    }
    index[slot].store(number, Ordering::Release);
}

/// Builds the hash of `fields`.
pub(crate) fn hash_fields<'a>(fields: impl Iterator<Item = (&'a str, FieldKind)>) -> u64 {
    let mut hash = ShapeHash::new();
    for (name, kind) in fields {
        hash.add(name.as_bytes(), kind);
    }
    hash.finish()
}
