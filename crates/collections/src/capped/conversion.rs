//! Makes a collection capped.

use super::{order, trim};
use crate::engine::EngineHandle;
use crate::error::Result;
use crate::limits::{CappedLimits, Limits};
use crate::names::FullName;
use alluvium_env::sync::atomic::Ordering;
use alluvium_store::Durability;

/// Makes a collection capped, or gives a capped one other limits, and deletes its oldest documents until it is within
/// them. The documents keep their order if it was capped, and are in the order of their last full writes otherwise.
/// Nothing is copied. Writers wait for it. If `limits` end it before the order is made, the collection is unchanged.
///
/// # Errors
/// [`crate::error::Error::NoSuchCollection`], [`crate::error::Error::Stopped`],
/// [`crate::error::Error::MaxTimeExpired`]; as for any write.
pub fn convert(
    engine: &EngineHandle,
    name: &FullName,
    capped: CappedLimits,
    durability: Durability,
    mut limits: Limits,
) -> Result<()> {
    limits.begin(&engine.env);
    limits.check(&engine.env)?;
    let catalog = &engine.catalog;
    let mut former = None;
    let set = catalog.change_options(name, |options| former = options.capped.replace(capped))?;
    let state = catalog.require(name)?;
    let check_stop = || Ok(limits.check(&engine.env)?);
    if let Err(error) = order::ensure_ordered_unless(engine.store(), &state, name, &check_stop) {
        // The order of a collection that was capped before need not be made.
        if former.is_some() || check_stop().is_ok() {
            return Err(error);
        }
        // No document is deleted before the order is complete. If another writer has made it, the collection is capped.
        let is_unordered = || !state.is_ordered.load(Ordering::Acquire);
        if catalog.undo_options(name, &set, is_unordered, |options| options.capped = None)? {
            order::forget(engine.store(), &state)?;
            return Err(error);
        }
    }
    trim(engine.store(), &state, name, durability)
}
