//! The shapes of one collection, shared by all threads that encode or decode its documents.

use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use super::{Field, FieldKind, MAX_FIELDS, MAX_NAME_BYTES, MAX_NUMBER, Shape, ShapeError, ShapeHash};

/// Options for the creation of shapes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ShapeOptions {
    /// The number of occurrences after which the fields of a document get a shape (1: immediately). At most 255.
    pub document_sightings: u32,
    /// The number of occurrences after which the fields of a nested map get a shape (1: immediately). At most 255.
    pub nested_sightings: u32,
    /// The maximum number of shapes in a collection; further maps stay self-describing.
    pub max_shapes: u32,
}

impl ShapeOptions {
    /// Documents and nested maps get a shape at the second occurrence; at most 4096 shapes.
    pub const DEFAULT: Self = Self { document_sightings: 2, nested_sightings: 2, max_shapes: 4096 };
}

impl Default for ShapeOptions {
    fn default() -> Self {
        Self::DEFAULT
    }
}

/// The number of chunks. Shapes with numbers up to 2^20 are in chunks of 1, 2, 4, … shapes.
const CHUNKS: usize = 20;
/// The hash index starts with 2^6 slots, and doubles when it is half full.
const FIRST_INDEX_BITS: usize = 6;
const INDEXES: usize = 17;
/// The number of maps without a shape whose occurrences are counted. Newer maps replace older ones.
const SIGHTINGS: usize = 1024;
/// The initial number of slots, which is used until two maps collide.
const FEW_SIGHTINGS: usize = 8;

type Chunk = OnceLock<Box<[OnceLock<Arc<Shape>>]>>;

/// The shapes of one collection. Look-ups take no locks.
///
/// Shapes are only added. A shape is published by number before it is published in the hash index, so a shape that is
/// found by hash is also found by number. One thread at a time adds shapes. If another thread encounters a new map at
/// the same time, it leaves the map self-describing and does not count the occurrence.
#[derive(Debug)]
pub struct ShapeTable {
    options: ShapeOptions,
    by_number: [Chunk; CHUNKS],
    /// Hash tables with open addressing over [`Shape::hash`]. A slot holds a shape number; 0 is empty. `index` is the
    /// position of the current table. The smaller tables before it remain for readers that still use them.
    indexes: [OnceLock<Box<[AtomicU32]>>; INDEXES],
    index: AtomicUsize,
    /// Counts of occurrences, until two shapes collide here. Most collections have few shapes.
    few_sightings: [AtomicU64; FEW_SIGHTINGS],
    sightings: OnceLock<Box<[AtomicU64]>>,
    adding: AtomicBool,
    next_number: AtomicU32,
    len: AtomicU32,
    longest_name: AtomicUsize,
}

impl ShapeTable {
    /// An empty table; the first shape gets number 1.
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

    /// A table of the shapes that were read when a collection was opened. New shapes get numbers from `next_number`
    /// upwards, and above the highest number in `shapes`.
    ///
    /// # Errors
    /// [`ShapeError::Conflict`] if two different shapes have the same number.
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

    /// The length of the longest name of all shapes in bytes.
    pub(crate) fn longest_name(&self) -> usize {
        self.longest_name.load(Ordering::Relaxed)
    }

    /// The shape with this number.
    #[inline]
    pub fn get(&self, number: u32) -> Option<&Arc<Shape>> {
        let (chunk, at) = place(number)?;
        self.by_number[chunk].get()?.get(at)?.get()
    }

    /// The number of shapes.
    pub fn len(&self) -> usize {
        self.len.load(Ordering::Relaxed) as usize
    }

    /// True if there are no shapes.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// True if no more shapes are created. Rows with other fields are larger in that case.
    pub fn is_full(&self) -> bool {
        self.len.load(Ordering::Relaxed) >= self.options.max_shapes
    }

    /// The number of the next shape.
    pub fn next_number(&self) -> u32 {
        self.next_number.load(Ordering::Relaxed)
    }

    /// All shapes, by number.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<Shape>> {
        self.by_number.iter().filter_map(OnceLock::get).flat_map(|chunk| chunk.iter().filter_map(OnceLock::get))
    }

    /// Marks the definition of this shape as visible in the system tree.
    pub fn mark_committed(&self, number: u32) {
        if let Some(shape) = self.get(number) {
            shape.committed.store(true, Ordering::Release);
        }
    }

    /// The shape with these fields. Creates it if the fields have occurred often enough.
    ///
    /// `hash` is the hash of the fields ([`ShapeHash`]).
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

    /// The shape with these fields, if it exists.
    pub(crate) fn find<N: AsRef<[u8]>>(
        &self,
        hash: u64,
        fields: impl Iterator<Item = (N, FieldKind)> + Clone,
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

    /// Counts an occurrence. Returns true if the shape is to be created now.
    fn is_time(&self, hash: u64, sightings: u32) -> bool {
        if sightings <= 1 {
            return true;
        }
        // The slot is chosen by the low bits of the hash, and the tag consists of the high 56 bits. Together they
        // distinguish hashes well enough; a wrong count only creates a shape early.
        let tag = hash & !0xff;
        let few = &self.few_sightings[hash as usize % FEW_SIGHTINGS];
        let seen = few.load(Ordering::Relaxed);
        let slot = match self.sightings.get() {
            None if seen == 0 || seen & !0xff == tag => few,
            // Two shapes collide in a slot: all counts start again in the larger table.
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

    /// Creates a shape. Only for the thread that holds `adding`.
    fn make<'a>(&self, hash: u64, fields: impl Iterator<Item = (&'a str, FieldKind)> + Clone) -> Option<u32> {
        // Another thread may have created the shape between the look-up and the acquisition of `adding`.
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

    /// Adds a shape with an unused number. Only for the thread that holds `adding`, or owns the
    /// table.
    fn publish(&self, shape: Arc<Shape>) {
        let Some((chunk, at)) = place(shape.number) else { return };
        let chunk = self.by_number[chunk].get_or_init(|| (0..1usize << chunk).map(|_| OnceLock::new()).collect());
        let (number, hash) = (shape.number, shape.hash);
        // Updated before any thread can find the shape: see `Draft::bson_size_max`.
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

/// The chunk of a number, and the position in the chunk.
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

/// Stores a number in the first free slot. The index is never more than half full.
fn enter(index: &[AtomicU32], hash: u64, number: u32) {
    let mask = index.len() - 1;
    let mut slot = hash as usize & mask;
    while index[slot].load(Ordering::Relaxed) != 0 {
        slot = (slot + 1) & mask;
    }
    index[slot].store(number, Ordering::Release);
}

/// The hash of `fields`.
pub(crate) fn hash_fields<N: AsRef<[u8]>>(fields: impl Iterator<Item = (N, FieldKind)>) -> u64 {
    let mut hash = ShapeHash::new();
    for (name, kind) in fields {
        hash.add(name.as_ref(), kind);
    }
    hash.finish()
}
