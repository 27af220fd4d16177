//! Trained dictionaries for zstd, and the registry that holds each dictionary once.

mod train;

use crate::context::new_context;
use alluvium_env::sync::Mutex;
use std::collections::HashMap;
use std::sync::{Arc, OnceLock, Weak};
use zstd_safe::{CCtx, DDict};

/// The most bytes of samples that training reads; if there are more samples, they are thinned out
/// evenly. Training takes some 0.1 s per MiB, and more samples gain nothing (rows of comments,
/// share of the raw bytes in 4 KB blocks: 1 MiB 0.352, 2 MiB 0.349, 4 MiB and 8 MiB 0.349).
const MAX_SAMPLE_BYTES: usize = 2 << 20;

/// Samples are joined until they have this many bytes, because strings that repeat within a block
/// need no place in the dictionary. Gains 0.7%, and a third of the time.
const JOINED_BYTES: usize = 4 << 10;

/// The fewest samples that are worth training on.
const MIN_SAMPLES: usize = 16;

/// A dictionary is useful if samples compressed with it shrink to at most this percentage. A
/// dictionary trained on random bytes contains only parts of a few samples.
const USEFUL_PERCENT: usize = 90;
/// One in this many joined samples is tried.
const TRY_EVERY: usize = 8;
/// The level of these trials.
const TRY_LEVEL: i32 = 3;

/// The level at which a dictionary itself is compressed in a file.
pub(crate) const OWN_LEVEL: i32 = 3;

/// Encoders of one dictionary that are kept while no writer uses them.
const KEPT_ENCODERS: usize = 4;

/// A dictionary, ready for compressing and decompressing. Shared as `Arc<Dictionary>`.
pub struct Dictionary {
    id: u64,
    bytes: Box<[u8]>,
    decoder: OnceLock<Option<DDict<'static>>>,
    /// Idle contexts with this dictionary, each with its level, for later writers.
    encoders: Mutex<Vec<(i32, CCtx<'static>)>>,
}

impl std::fmt::Debug for Dictionary {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Dictionary({:016x}, {} bytes)", self.id, self.bytes.len())
    }
}

impl Dictionary {
    /// Trains a dictionary of at most `max_bytes` from samples. Returns `None` if the samples are
    /// too few or too similar, or do not compress with the dictionary. Samples of
    /// [`crate::Sampler`] are better than bare values.
    ///
    /// The trainer is part of zstd: COVER with a hash table (Liao, Petri, Moffat, Wirth, "Effective
    /// Construction of Relative Lempel-Ziv Dictionaries", WWW 2016).
    pub fn train<S: AsRef<[u8]>>(samples: &[S], max_bytes: usize) -> Option<Self> {
        let total: usize = samples.iter().map(|sample| sample.as_ref().len()).sum();
        // If there are few samples, fewer are joined, so that enough remain.
        let joined_bytes = JOINED_BYTES.min(total / (4 * MIN_SAMPLES));
        let every = total.div_ceil(MAX_SAMPLE_BYTES).max(1);
        let taken = samples.iter().step_by(every).map(AsRef::as_ref).filter(|sample| !sample.is_empty());
        let mut content = Vec::with_capacity(total.min(MAX_SAMPLE_BYTES) + (64 << 10));
        let mut sizes = Vec::new();
        for sample in taken {
            if content.len() + sample.len() > MAX_SAMPLE_BYTES {
                break;
            }
            content.extend_from_slice(sample);
            match sizes.last_mut() {
                Some(joined) if *joined + sample.len() <= joined_bytes => *joined += sample.len(),
                _ => sizes.push(sample.len()),
            }
        }
        if sizes.len() < MIN_SAMPLES || max_bytes < 256 {
            return None;
        }
        let dictionary = Self::from_bytes(train::train(&content, &sizes, max_bytes)?);
        dictionary.is_useful(&content, &sizes).then_some(dictionary)
    }

    /// True if some of the samples compress with this dictionary.
    fn is_useful(&self, content: &[u8], sizes: &[usize]) -> bool {
        let Some(mut encoder) = new_context(TRY_LEVEL, Some(&self.bytes)) else { return false };
        let (mut raw, mut compressed, mut rest) = (0, 0, content);
        let mut target = Vec::new();
        for (at, &size) in sizes.iter().enumerate() {
            let (sample, after) = rest.split_at(size.min(rest.len()));
            rest = after;
            if at.is_multiple_of(TRY_EVERY) {
                target.resize(zstd_safe::compress_bound(sample.len()), 0);
                raw += sample.len();
                compressed += encoder.compress2(&mut target[..], sample).unwrap_or(sample.len());
            }
        }
        compressed * 100 <= raw * USEFUL_PERCENT
    }

    /// A dictionary with this content, which may be a trained dictionary or any bytes.
    pub fn from_bytes(bytes: Vec<u8>) -> Self {
        Self {
            id: alluvium_codec::hash64(&bytes).max(1),
            bytes: bytes.into(),
            decoder: OnceLock::new(),
            encoders: Mutex::new(Vec::new()),
        }
    }

    /// The most memory that a training takes while it runs, in bytes: zstd's tables, and the
    /// samples.
    pub const TRAINING_BYTES: usize = train::TABLE_BYTES + MAX_SAMPLE_BYTES + (64 << 10);

    /// The content id: never 0, equal for equal content.
    pub fn id(&self) -> u64 {
        self.id
    }

    /// The content.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The memory that the dictionary takes now, in bytes: content, decoder, idle encoders.
    pub fn memory_bytes(&self) -> usize {
        let decoder = self.decoder.get().and_then(Option::as_ref).map_or(0, DDict::sizeof);
        let encoders: usize = self.encoders.lock().iter().map(|(_, context)| context.sizeof()).sum();
        self.bytes.len() + decoder + encoders
    }

    /// Returns the form prepared for decompression; `None` if zstd refuses the content.
    pub(crate) fn decoder(&self) -> Option<&DDict<'static>> {
        self.decoder.get_or_init(|| DDict::try_create(&self.bytes)).as_ref()
    }

    /// Takes a context for this dictionary and level; `None` if zstd refuses. Return the context
    /// after use with [`Dictionary::give_encoder`].
    pub(crate) fn take_encoder(&self, level: i32) -> Option<CCtx<'static>> {
        let mut idle = self.encoders.lock();
        if let Some(at) = idle.iter().position(|(of, _)| *of == level) {
            return Some(idle.swap_remove(at).1);
        }
        drop(idle);
        new_context(level, Some(&self.bytes))
    }

    /// Keeps a context for the next writer.
    pub(crate) fn give_encoder(&self, level: i32, context: CCtx<'static>) {
        let mut idle = self.encoders.lock();
        if idle.len() >= KEPT_ENCODERS {
            idle.remove(0);
        }
        idle.push((level, context));
    }
}

/// Holds each dictionary once, by its content id, as long as it is in use.
#[derive(Default)]
pub struct DictionaryRegistry {
    held: Mutex<HashMap<u64, Weak<Dictionary>>>,
}

impl DictionaryRegistry {
    /// An empty registry.
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns the registered dictionary with the same content as `dictionary`. Registers
    /// `dictionary` if its content is new.
    pub fn intern(&self, dictionary: Dictionary) -> Arc<Dictionary> {
        let mut held = self.held.lock();
        if let Some(known) = held.get(&dictionary.id).and_then(Weak::upgrade) {
            return known;
        }
        held.retain(|_, dictionary| dictionary.strong_count() > 0);
        let dictionary = Arc::new(dictionary);
        held.insert(dictionary.id, Arc::downgrade(&dictionary));
        dictionary
    }

    /// The dictionary with this content id, if it is in use.
    pub fn get(&self, id: u64) -> Option<Arc<Dictionary>> {
        self.held.lock().get(&id).and_then(Weak::upgrade)
    }

    /// The memory of all dictionaries in use, in bytes.
    pub fn bytes(&self) -> usize {
        // This may be the last reference to a dictionary, so dictionaries are freed after the lock
        // is released.
        let used: Vec<_> = self.held.lock().values().filter_map(Weak::upgrade).collect();
        used.iter().map(|dictionary| dictionary.memory_bytes()).sum()
    }
}

#[cfg(test)]
mod tests;
