//! Removes recorded changes that are older than the retention, and the oldest beyond its bytes.
//!
//! First the numbers from which on the changes are complete are raised durably, and then the changes below are deleted. A
//! crash between both leaves changes that are never read; the next pass removes them.

use crate::engine::EngineHandle;
use crate::error::Result;
use crate::history::{Change, remove_dropped};
use alluvium_store::{Bounds, Durability, Error as StoreError, Scan, Seq, Store, TreeId};
use std::ops::Bound;

/// With less free disk space than this multiple of the store's reserve, only the newest part of the changes is kept.
const SHORT_RESERVES: u64 = 2;
/// The part of the changes that is kept then: one of these.
const SHORT_PART: u64 = 4;
/// The changes are not shortened for less disk space than this.
const LEAST_GAIN: u64 = 1 << 20;
/// The average size of a change is that of this number of the newest ones, while the history has no sorted files.
const SAMPLED: u64 = 128;
/// The number of changes between two checks whether background work must stop.
const CHECKED_EVERY: u64 = 1024;

/// Ends the recordings that no change stream reads any more, and removes the changes beyond the retention. Returns the
/// number of the last change that was removed, or of a later one; `None` if none was.
///
/// # Errors
/// Errors of reading and writing.
pub fn trim_changes(engine: &EngineHandle) -> Result<Option<Seq>> {
    let (catalog, store) = (&engine.catalog, engine.store());
    if store.options().read_only {
        return Ok(None);
    }
    let retention = catalog.change_retention();
    let oldest_ms = engine.env.clock.unix_millis().saturating_sub(retention.time_ms());
    catalog.stop_unused(oldest_ms)?;
    let Some(tree) = catalog.history() else { return Ok(None) };
    match trim(engine, tree, oldest_ms, retention.bytes) {
        // The recording was stopped during the pass.
        Err(crate::error::Error::Store(StoreError::NoSuchTree(_))) => Ok(None),
        trimmed => trimmed,
    }
}

/// The recorded changes after a number, of all scopes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct KeptChanges {
    /// The time of the first one by the clock, in milliseconds since 1970; `None` without changes.
    pub first_ms: Option<i64>,
    /// About their number.
    pub changes: u64,
    /// About their bytes: those in sorted files are compressed, and those in memory are not.
    pub bytes: u64,
}

/// Describes the recorded changes after a number. Reads a few of them.
///
/// # Errors
/// Errors of reading.
pub fn kept_changes(engine: &EngineHandle, since: Seq) -> Result<KeptChanges> {
    let Some(tree) = engine.catalog.history() else { return Ok(KeptChanges::default()) };
    let kept = Kept::read(engine.store(), tree, since)?;
    let mut first = kept.after(since)?;
    let first_ms = first.next()?.and_then(|(key, value)| Change::decode_head(key, value)).map(|head| head.time_ms);
    Ok(KeptChanges { first_ms, changes: kept.count_after(since)?, bytes: kept.total_bytes()? })
}

fn trim(engine: &EngineHandle, tree: TreeId, oldest_ms: i64, bytes: u64) -> Result<Option<Seq>> {
    let (Some(since), store) = (first_since(engine), engine.store()) else { return Ok(None) };
    let kept = Kept::read(store, tree, since)?;
    // By size first, because that reads few changes, any of which may be damaged.
    let beyond = kept.last_beyond(allowed_bytes(engine, &kept, bytes)?)?;
    let last = last_before(engine, &kept, beyond.unwrap_or(since).max(since), oldest_ms)?;
    if last > since {
        engine.catalog.end_history(tree, last)?;
    }
    remove_ended(engine, tree)
}

/// The lowest number from which on the changes of a scope are complete.
fn first_since(engine: &EngineHandle) -> Option<Seq> {
    engine.catalog.recorded_scopes().iter().map(|recorded| recorded.since).min()
}

/// The bytes that the changes may have now. When the disk is short of space, they are a part of those that they have.
fn allowed_bytes(engine: &EngineHandle, kept: &Kept<'_>, bytes: u64) -> Result<u64> {
    let (store, total) = (engine.store(), kept.total_bytes()?);
    let part = total / SHORT_PART;
    let reserve = store.disk_reserve_bytes();
    // Where the free space is not known, no change is removed for it.
    let free = engine.env.fs.available_bytes(store.path()).unwrap_or(u64::MAX);
    if free >= reserve.saturating_mul(SHORT_RESERVES) || total - part < LEAST_GAIN || part >= bytes {
        return Ok(bytes);
    }
    log::warn!(
        target: "alluvium::changes",
        "the disk has {free} bytes left, and {reserve} must stay free: of about {total} bytes of recorded changes, only \
         the newest {part} are kept; streams that have not read the others end"
    );
    Ok(part)
}

/// The last number of the batches whose changes are all older than a time, or `since`. A batch after one that is not older
/// stays, also if it seems older because the clock was set back.
fn last_before(engine: &EngineHandle, kept: &Kept<'_>, since: Seq, oldest_ms: i64) -> Result<Seq> {
    let mut scan = kept.after(since)?;
    // The batch that is being read, and the last number of the one before it.
    let (mut batch, mut ended, mut count) = (since, since, 0u64);
    while let Some((key, value)) = scan.next()? {
        count += 1;
        if count.is_multiple_of(CHECKED_EVERY) {
            engine.tasks.check()?;
        }
        // A damaged change is as old as its neighbours.
        let Some(head) = Change::decode_head(key, value) else { continue };
        if head.batch != batch {
            (ended, batch) = (batch, head.batch);
        }
        if head.time_ms >= oldest_ms {
            return Ok(ended);
        }
    }
    Ok(batch)
}

/// Deletes the changes that are below the numbers of all scopes.
fn remove_ended(engine: &EngineHandle, tree: TreeId) -> Result<Option<Seq>> {
    let (Some(since), store, catalog) = (first_since(engine), engine.store(), &engine.catalog) else {
        return Ok(None);
    };
    if catalog.removed_changes() >= since {
        return Ok(None);
    }
    let (from, to) = (Change::key(1), Change::key(since + 1));
    let any_left = store.scan(tree, Change::before(since + 1), None)?.next()?.is_some();
    if any_left {
        let mut batch = store.batch();
        batch.delete_range(tree, &from, &to);
        remove_dropped(store, tree, since, &mut batch, || catalog.documents())?;
        store.write(batch, Durability::Periodic)?;
    }
    catalog.set_removed_changes(since);
    Ok(any_left.then_some(since))
}

/// The changes that are kept, with an estimate of their average size.
struct Kept<'a> {
    store: &'a Store,
    tree: TreeId,
    /// All changes have higher numbers.
    since: Seq,
    /// The bytes of a number of entries.
    bytes: u64,
    entries: u64,
}

impl<'a> Kept<'a> {
    fn read(store: &'a Store, tree: TreeId, since: Seq) -> Result<Self> {
        let stats = store.tree_stats(tree)?;
        let mut kept = Self { store, tree, since, bytes: stats.bytes, entries: stats.entries };
        if kept.entries == 0 {
            let mut scan = store.scan(tree, Change::before(Seq::MAX), None)?;
            while kept.entries < SAMPLED
                && let Some((key, value)) = scan.next()?
            {
                kept.bytes += (key.len() + value.len()) as u64;
                kept.entries += 1;
            }
        }
        Ok(kept)
    }

    /// The changes after a number.
    fn after(&self, number: Seq) -> Result<Scan> {
        Ok(self.store.scan(self.tree, Change::after(number), None)?)
    }

    /// About the bytes of all changes.
    fn total_bytes(&self) -> Result<u64> {
        let bytes = u128::from(self.count_after(self.since)?) * u128::from(self.bytes);
        Ok(u64::try_from(bytes / u128::from(self.entries.max(1))).unwrap_or(u64::MAX))
    }

    /// About the number of changes after a number.
    fn count_after(&self, number: Seq) -> Result<u64> {
        let bounds = Change::after(number);
        let mut count = 0;
        for partition in 0..self.store.partitions() {
            count += self.store.estimate(self.tree, partition, &bounds)?;
        }
        Ok(count)
    }

    /// The last number of the batches that must go so that the others have at most these bytes; `None` if they have them.
    fn last_beyond(&self, bytes: u64) -> Result<Option<Seq>> {
        if self.total_bytes()? <= bytes {
            return Ok(None);
        }
        let most = u128::from(bytes) * u128::from(self.entries) / u128::from(self.bytes.max(1));
        let (mut low, mut high) = (self.since, self.store.visible());
        while low < high {
            let middle = low + (high - low) / 2;
            match u128::from(self.count_after(middle)?) <= most {
                true => high = middle,
                false => low = middle + 1,
            }
        }
        let (lower, upper) = (Change::key(self.since + 1), Change::key(low + 1));
        let bounds = Bounds { lower: Bound::Included(lower), upper: Bound::Excluded(upper), reverse: true };
        let mut scan = self.store.scan(self.tree, bounds, None)?;
        let Some((key, _)) = scan.next()? else { return Ok(None) };
        // A batch is never cut, so it goes as a whole.
        Ok(Change::batch_of(key))
    }
}

#[cfg(test)]
mod tests;
