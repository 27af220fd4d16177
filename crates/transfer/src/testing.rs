//! A database in memory, for the unit tests of this crate: filled by loads, read by cursors.

use crate::load::{Input, Load};
use alluvium_collections::cursor::Cursor;
use alluvium_collections::engine::EngineHandle;
use alluvium_collections::names::FullName;
use alluvium_collections::open::open;
use alluvium_document::Map;
use alluvium_env::Env;
use alluvium_store::Options;
use std::path::Path;

/// A new database in memory.
pub fn database() -> EngineHandle {
    database_in(Env::in_memory(1), "db")
}

/// A database in an environment.
pub fn database_in(env: Env, path: &str) -> EngineHandle {
    open(env, Path::new(path), Options::default()).unwrap()
}

/// A load into a collection.
pub fn load<'a>(engine: &EngineHandle, name: &str, input: Input) -> Load<'a> {
    Load::new(engine.clone(), FullName::parse(name).map_err(Into::into), input)
}

/// A text as the input of a load.
pub fn text(text: impl Into<String>) -> Input {
    Input::stream("lines", std::io::Cursor::new(text.into()))
}

/// A cursor over all documents, in the order of `_id`.
pub fn cursor(engine: &EngineHandle, name: &str) -> Cursor {
    Cursor::natural(engine, &FullName::parse(name).unwrap(), &engine.snapshot()).unwrap()
}

/// All documents as text.
pub fn all(engine: &EngineHandle, name: &str) -> Vec<String> {
    cursor(engine, name).map(|document| document.unwrap().to_string()).collect()
}

/// All documents with the types of their values.
pub fn maps(engine: &EngineHandle, name: &str) -> Vec<Map> {
    cursor(engine, name).map(|document| document.unwrap().to_map().unwrap()).collect()
}
