//! Rebuilds indexes.

use crate::background;
use crate::engine::EngineHandle;
use crate::error::{Error, Result};
use crate::find::Hint;
use crate::indexes::{Build, finish, index_name};
use crate::names::FullName;
use crate::options::ID_INDEX;
use alluvium_exec::Limits;

/// Rebuilds the index with a name or with keys. First replaces it by an empty index with the same definition. If the
/// limits end the build, it continues in the background; after an interruption, it continues when the database is
/// opened again.
///
/// # Errors
/// As [`crate::indexes::drop_index`] and [`crate::indexes::DeclaredIndex::build`].
pub fn rebuild_index(engine: &EngineHandle, name: &FullName, index: Hint, limits: &Limits) -> Result<()> {
    let index = index_name(engine, name, index)?;
    if index == ID_INDEX || engine.catalog.require(name)?.indexes().unbuilt(&index).is_some() {
        return Ok(());
    }
    let index = engine.catalog.renew_index(name, &index)?;
    let built = finish(&Build { engine, name, index: &index, limits, drops: false });
    if let Err(Error::Stopped | Error::MaxTimeExpired { .. }) = &built {
        background::resume_build(engine, name, index);
    }
    built.map(drop)
}
