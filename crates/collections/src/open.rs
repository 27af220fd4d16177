//! Opening a database, and compaction of the whole database.

use crate::background;
use crate::capped;
use crate::catalog::Catalog;
use crate::engine::{Engine, EngineHandle};
use crate::error::{Error, Result};
use crate::folding::Folds;
use crate::history::ChangeRetention;
use crate::sweep::sweep_all;
use alluvium_env::Env;
use alluvium_store::{Options, Store};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// Opens the database in a directory, and starts its background work.
///
/// # Errors
/// Errors of opening the store; damage of the catalogue; [`Error::NeverChanges`] for a
/// read-only store.
pub fn open(env: Env, path: &Path, options: Options) -> Result<EngineHandle> {
    open_with(env, path, options, ChangeRetention::default())
}

/// As [`open`], with a retention of recorded changes.
///
/// # Errors
/// As [`open`]; a retention that keeps nothing.
pub fn open_with(env: Env, path: &Path, options: Options, retention: ChangeRetention) -> Result<EngineHandle> {
    retention.check()?;
    if alluvium_readonly::is_read_only(&env, path).map_err(alluvium_store::Error::from)? {
        return Err(Error::NeverChanges(path.to_owned()));
    }
    let folds = Arc::new(Folds::default());
    let options = Options { fold: Some(folds.clone()), definitions: Some(folds.clone()), ..options };
    let store = Store::open(env, path, options)?;
    let catalog = Catalog::load(store, folds, retention)?;
    if !catalog.store().options().read_only {
        // If this fails, a later flush repeats it.
        let _later = catalog.store().discard_damage();
        // If this fails, the next open repeats it.
        let _later = catalog.drop_temporary();
        // If this fails, the next write to the collection repeats it.
        let _later = make_orders(&catalog);
    }
    let env = catalog.store().env().clone();
    let engine = EngineHandle::new(Engine::new(catalog, env));
    background::start(&engine);
    Ok(engine)
}

/// Builds the order of each capped collection that has lost its order, or whose conversion was interrupted, so that
/// already the first query reads the documents in that order.
fn make_orders(catalog: &Catalog) -> Result<()> {
    let store = catalog.store();
    for (name, system) in catalog.ordered() {
        if !capped::has_order(store, system, &name)?
            && let Some(state) = catalog.find(&name)?
        {
            capped::ensure_ordered(store, &state, &name)?;
        }
    }
    Ok(())
}

/// Merges all files of each partition into its base, and removes stale index entries, until `stop`
/// is set.
///
/// # Errors
/// [`Error::Stopped`]; errors of reading and writing files.
pub fn compact(engine: &Engine, stop: &AtomicBool) -> Result<()> {
    let mut swept = Ok(0);
    if !engine.catalog.ready_indexes().is_empty() {
        engine.store().flush()?;
        swept = sweep_all(engine, stop);
    }
    engine.catalog.learn_all();
    if !engine.store().compact_unless(stop)? {
        return Err(Error::Stopped);
    }
    // An error of the sweep is returned after all files were merged.
    swept.map(drop)
}
