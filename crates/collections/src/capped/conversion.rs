//! Makes a collection capped.

use super::{order, trim};
use crate::engine::EngineHandle;
use crate::error::Result;
use crate::limits::{CappedLimits, Limits};
use crate::names::FullName;
use alluvium_env::sync::atomic::Ordering;
use alluvium_store::Durability;

/// Makes a collection capped, or changes the limits of a capped collection, and deletes the oldest documents until the
/// collection is within its limits. The documents of a capped collection keep their order; those of another collection
/// are ordered by their last full writes. Nothing is copied. Writers wait until the conversion ends. If `limits` stop
/// the conversion before the order is complete, the collection is unchanged.
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
        // A collection that was capped before has its order already.
        if former.is_some() || check_stop().is_ok() {
            return Err(error);
        }
        // No document is deleted before the order is complete. If another writer has completed the order, the
        // conversion has succeeded.
        let is_unordered = || !state.is_ordered.load(Ordering::Acquire);
        if catalog.undo_options(name, &set, is_unordered, |options| options.capped = None)? {
            order::forget(engine.store(), &state)?;
            return Err(error);
        }
    }
    trim(engine.store(), &state, name, durability)
}
