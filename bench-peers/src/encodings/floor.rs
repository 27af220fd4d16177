//! The floors: what it takes to parse the text of a document, and to encode it as BSON, before any store has it.

use super::{binary, json_found};
use alluvium_workbench::peer::{DocumentSession, Documents, Failure, Found};
use std::hint::black_box;

/// A part of the work of a put.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Floor {
    /// The text is parsed into a map.
    Parse,
    /// The text is parsed into a map, which is encoded as BSON.
    Bson,
}

impl Documents for Floor {
    fn session(&self) -> Result<Box<dyn DocumentSession + '_>, Failure> {
        Ok(Box::new(Session(*self)))
    }

    fn keeps(&self) -> bool {
        false
    }

    fn settle(&self) -> Result<(), Failure> {
        Ok(())
    }

    fn close(self: Box<Self>) -> Result<(), Failure> {
        Ok(())
    }
}

struct Session(Floor);

impl DocumentSession for Session {
    fn put(&mut self, id: &str, json: &str) -> Result<(), Failure> {
        match self.0 {
            Floor::Parse => {
                let found = json_found(black_box(serde_json::from_str(json)?))?;
                if found.id == id { Ok(()) } else { Err(format!("{id} was parsed as {}", found.id).into()) }
            }
            Floor::Bson => binary::encode(json).map(|bytes| drop(black_box(bytes))),
        }
    }

    fn get(&mut self, _id: &str) -> Result<Option<Found>, Failure> {
        Ok(None)
    }

    fn score(&mut self, _id: &str) -> Result<Option<i64>, Failure> {
        Ok(None)
    }

    fn increment(&mut self, _id: &str) -> Result<bool, Failure> {
        Ok(false)
    }
}
