//! Documents in stores of keys and values, and the floors.

mod binary;
mod floor;
mod rows;

use alluvium_workbench::peer::{Failure, Found};

pub(crate) use binary::open as bson;
pub(crate) use floor::Floor;
pub(crate) use rows::open as rows;

/// The fields that the harness checks of a document that was parsed from JSON.
pub(crate) fn json_found(document: serde_json::Value) -> Result<Found, Failure> {
    let id = document["_id"].as_str().ok_or("a document has no _id")?.to_owned();
    let score = document["score"].as_i64().ok_or("a document has no score")?;
    Ok(Found { id, score, fields: document.as_object().map_or(0, serde_json::Map::len) })
}
