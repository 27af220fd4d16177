//! Pairs in the order of their keys.

use crate::error::Result;
use crate::layout;
use alluvium_codec::bounds::Bounds;
use alluvium_codec::entry::{EntryIter, MAX_SEQ};
use alluvium_sst::{Reader, SstIter};
use std::ops::Bound;
use std::sync::Arc;

/// An iterator over the pairs of a range of keys.
pub struct Scan {
    iter: Option<SstIter>,
    /// The first internal key of the range, and the first key after the range; `None` if there is
    /// no upper bound.
    low: Vec<u8>,
    high: Option<Vec<u8>>,
    reverse: bool,
    started: bool,
}

fn internal(key: &[u8], above: bool) -> Vec<u8> {
    let mut out = Vec::new();
    layout::internal_key(&mut out, key);
    if above {
        out.push(0);
    }
    out
}

impl Scan {
    pub(crate) fn new(data: Option<&Arc<Reader>>, bounds: &Bounds) -> Self {
        let low = match &bounds.lower {
            Bound::Included(key) => internal(key, false),
            Bound::Excluded(key) => internal(key, true),
            Bound::Unbounded => internal(&[], false),
        };
        let high = match &bounds.upper {
            Bound::Included(key) => Some(internal(key, true)),
            Bound::Excluded(key) => Some(internal(key, false)),
            Bound::Unbounded => None,
        };
        // A scan of the whole store would evict the blocks that point reads have cached, so it does
        // not fill the cache.
        let narrow = bounds.lower != Bound::Unbounded || bounds.upper != Bound::Unbounded;
        Self { iter: data.map(|data| data.iter(narrow)), low, high, reverse: bounds.reverse, started: false }
    }

    /// Moves to the next key; `None` at the end of the range. The slices are valid until the next
    /// call.
    ///
    /// ```
    /// # use alluvium_readonly::{BuildOptions, ReadOnly};
    /// # let env = alluvium_env::Env::in_memory(1);
    /// # let mut build = ReadOnly::build_in(env.clone(), "capitals.ro", BuildOptions::default())?;
    /// # build.add(b"peru", b"lima")?;
    /// # build.add(b"chile", b"santiago")?;
    /// # build.finish(b"2026".to_vec())?;
    /// # let store = ReadOnly::open_in(env, "capitals.ro", &alluvium_readonly::ReadOnlyOptions::default())?;
    /// let mut scan = store.scan(&alluvium_readonly::Bounds::all());
    /// assert_eq!(scan.next()?, Some((&b"chile"[..], &b"santiago"[..])));
    /// assert_eq!(scan.next()?, Some((&b"peru"[..], &b"lima"[..])));
    /// assert_eq!(scan.next()?, None);
    /// # alluvium_readonly::Result::Ok(())
    /// ```
    ///
    /// # Errors
    /// [`alluvium_env::Error::Corrupt`] or [`alluvium_env::Error::Io`]; an error ends the scan.
    #[allow(clippy::should_implement_trait)]
    pub fn next(&mut self) -> Result<Option<(&[u8], &[u8])>> {
        let Some(iter) = &mut self.iter else { return Ok(None) };
        match (self.started, self.reverse, &self.high) {
            (true, false, _) => iter.next()?,
            (true, true, _) => iter.prev()?,
            (false, false, _) => iter.seek(&self.low, MAX_SEQ)?,
            (false, true, Some(high)) => iter.seek_before(high)?,
            (false, true, None) => iter.seek_last()?,
        }
        self.started = true;
        let inside = iter.valid()
            && match self.reverse {
                false => self.high.as_deref().is_none_or(|high| iter.key() < high),
                true => iter.key() >= self.low.as_slice(),
            };
        if !inside {
            self.iter = None;
            return Ok(None);
        }
        Ok(self.iter.as_ref().map(|iter| (layout::user_key(iter.key()), iter.value())))
    }
}
