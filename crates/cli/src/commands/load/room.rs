//! Checks that the disk has space for a load.

use super::input::Source;
use super::settings::Settings;
use crate::exit::{self, Outcome};
use crate::signals::Stop;
use alluvium::Database;
use alluvium_env::Env;
use std::path::Path;

/// Refuses a load that does not fit the disk. Inputs of unknown size, and parts that were loaded
/// before, are ignored.
pub(super) fn check(database: &Database, settings: &Settings, env: &Env, stop: &Stop) -> Outcome {
    let (mut plain, mut packed) = (0_u64, 0_u64);
    for source in &settings.sources {
        let Some(bytes) = source.bytes() else { continue };
        let (before, finished) = loaded_before(database, settings, source, env, stop)?;
        match (finished, source.is_packed()) {
            (true, _) => {}
            // The position in the compressed file is unknown, so the whole file counts.
            (false, true) => packed = packed.saturating_add(bytes),
            (false, false) => plain = plain.saturating_add(bytes.saturating_sub(before)),
        }
    }
    match plain.saturating_add(packed) {
        0 => Ok(()),
        _ => exit::enough_space_over_reserve(database.load_space(plain, packed), |memory| {
            settings.builder.clone().memory(memory).new_load_space(database.path(), plain, packed)
        }),
    }
}

/// Like [`check`], before a database is created.
pub(super) fn check_new(settings: &Settings, path: &Path) -> Outcome {
    let (mut plain, mut packed) = (0_u64, 0_u64);
    for source in &settings.sources {
        let bytes = if source.is_packed() { &mut packed } else { &mut plain };
        *bytes = bytes.saturating_add(source.bytes().unwrap_or(0));
    }
    match plain.saturating_add(packed) {
        0 => Ok(()),
        _ => exit::enough_space_over_reserve(settings.builder.new_load_space(path, plain, packed), |memory| {
            settings.builder.clone().memory(memory).new_load_space(path, plain, packed)
        }),
    }
}

fn loaded_before(
    database: &Database,
    settings: &Settings,
    source: &Source,
    env: &Env,
    stop: &Stop,
) -> Outcome<(u64, bool)> {
    if settings.again {
        return Ok((0, false));
    }
    let (input, ..) = source.open(env, stop)?;
    let collection = database.collection(&settings.collection);
    let before = collection.load(input).format(source.format().clone()).id_field(&settings.id_field).loaded_before()?;
    Ok(before.map_or((0, false), |before| (before.bytes, before.finished)))
}
