//! The marks of earlier loads.

use super::super::place::PlaceMark;
use super::super::progress::Mark;
use super::super::{Input, LoadOptions};
use alluvium_collections::engine::EngineHandle;
use alluvium_collections::error::Result;
use alluvium_collections::names::FullName;
use alluvium_collections::state::CollectionState;
use alluvium_store::Store;

/// The key of the mark for loads of this input with these options.
pub(super) fn mark_key(input: &Input, options: &LoadOptions) -> Option<Vec<u8>> {
    let key = input.identity.map(|id| Mark::key(id.number(), &options.id_field))?;
    Some([key, options.format.mark()].concat())
}

/// The key of the mark for loads of the file at the path of this input.
pub(super) fn place_key(input: &Input, options: &LoadOptions) -> Option<Vec<u8>> {
    let distinguished = [options.id_field.as_bytes(), &options.format.mark()].concat();
    input.place.as_ref().map(|place| place.key(&distinguished))
}

/// The mark of the last load of the file at the path of this input, if any.
pub(crate) fn place_before(
    engine: &EngineHandle,
    name: &FullName,
    input: &Input,
    options: &LoadOptions,
) -> Result<Option<PlaceMark>> {
    let (Some(key), Some(state)) = (place_key(input, options), engine.catalog.find(name)?) else { return Ok(None) };
    let mut value = Vec::new();
    let is_there = engine.store().get(state.system, &key, &mut value)?;
    Ok(if is_there { PlaceMark::decode(&value) } else { None })
}

/// The mark of earlier loads of this input, if any.
pub(crate) fn loaded_before(
    engine: &EngineHandle,
    name: &FullName,
    input: &Input,
    options: &LoadOptions,
) -> Result<Option<Mark>> {
    let store = engine.store();
    let (Some(key), Some(state)) = (mark_key(input, options), engine.catalog.find(name)?) else { return Ok(None) };
    Ok(Some(read_mark(store, &state, &key)?).filter(|mark| mark.offset > 0 || mark.finished))
}

pub(super) fn read_mark(store: &Store, state: &CollectionState, key: &[u8]) -> Result<Mark> {
    let mut value = Vec::new();
    if !store.get(state.system, key, &mut value)? {
        return Ok(Mark::default());
    }
    Ok(Mark::decode(&value).unwrap_or_default())
}
