//! Makes a collection capped.

use super::{ensure_ordered, trim};
use crate::engine::EngineHandle;
use crate::error::Result;
use crate::limits::CappedLimits;
use crate::names::FullName;
use alluvium_store::Durability;

/// Makes a collection capped, or gives a capped one other limits, and deletes its oldest documents until it is within
/// them. The documents keep their order if it was capped, and are in the order of their last full writes otherwise.
/// Nothing is copied. Writers wait for it.
///
/// # Errors
/// [`crate::error::Error::NoSuchCollection`]; as for any write.
pub fn convert(engine: &EngineHandle, name: &FullName, limits: CappedLimits, durability: Durability) -> Result<()> {
    engine.catalog.change_options(name, |options| options.capped = Some(limits))?;
    let state = engine.catalog.require(name)?;
    ensure_ordered(engine.store(), &state, name)?;
    trim(engine.store(), &state, name, durability)
}
