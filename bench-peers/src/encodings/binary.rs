//! Documents as BSON under the text of their `_id`, by the crate `bson`.

use alluvium_workbench::peer::{DocumentSession, Documents, Failure, Found, KeyValueSession, KeyValues};
use bson::{Bson, Document, RawDocument};

struct BsonDocuments(Box<dyn KeyValues>);

/// Documents in a store.
pub(crate) fn open(store: Box<dyn KeyValues>) -> Box<dyn Documents> {
    Box::new(BsonDocuments(store))
}

impl Documents for BsonDocuments {
    fn session(&self) -> Result<Box<dyn DocumentSession + '_>, Failure> {
        Ok(Box::new(Session { pairs: self.0.session()?, value: Vec::new() }))
    }

    fn settle(&self) -> Result<(), Failure> {
        self.0.settle()
    }

    fn close(self: Box<Self>) -> Result<(), Failure> {
        self.0.close()
    }
}

struct Session<'a> {
    pairs: Box<dyn KeyValueSession + 'a>,
    value: Vec<u8>,
}

/// The BSON of JSON text.
pub(super) fn encode(json: &str) -> Result<Vec<u8>, Failure> {
    Ok(serde_json::from_str::<Document>(json)?.to_vec()?)
}

fn decode(bytes: &[u8]) -> Result<Document, Failure> {
    Ok(RawDocument::from_bytes(bytes)?.try_into()?)
}

fn number(score: &Bson) -> Result<i64, Failure> {
    match score {
        Bson::Int32(number) => Ok(i64::from(*number)),
        Bson::Int64(number) => Ok(*number),
        _ => Err("the score of a document is not an integer".into()),
    }
}

fn score(document: &Document) -> Result<i64, Failure> {
    number(document.get("score").ok_or("a document has no score")?)
}

impl DocumentSession for Session<'_> {
    fn put(&mut self, id: &str, json: &str) -> Result<(), Failure> {
        self.pairs.put(id.as_bytes(), &encode(json)?)
    }

    fn get(&mut self, id: &str) -> Result<Option<Found>, Failure> {
        if !self.pairs.get(id.as_bytes(), &mut self.value)? {
            return Ok(None);
        }
        let document = decode(&self.value)?;
        let id = document.get_str("_id")?.to_owned();
        Ok(Some(Found { id, score: score(&document)?, fields: document.len() }))
    }

    fn score(&mut self, id: &str) -> Result<Option<i64>, Failure> {
        if !self.pairs.get(id.as_bytes(), &mut self.value)? {
            return Ok(None);
        }
        let document = RawDocument::from_bytes(&self.value)?;
        let score = document.get("score")?.ok_or("a document has no score")?;
        number(&score.try_into()?).map(Some)
    }

    fn increment(&mut self, id: &str) -> Result<bool, Failure> {
        self.pairs.update(id.as_bytes(), &mut add_one)
    }

    fn increment_all(&mut self, ids: &[&str]) -> Result<Option<bool>, Failure> {
        let keys: Vec<&[u8]> = ids.iter().map(|id| id.as_bytes()).collect();
        self.pairs.update_all(&keys, &mut add_one)
    }
}

/// Appends a document with a score that is higher by 1.
fn add_one(old: &[u8], new: &mut Vec<u8>) -> Result<(), Failure> {
    let mut document = decode(old)?;
    let score = score(&document)? + 1;
    document.insert("score", score);
    new.extend_from_slice(&document.to_vec()?);
    Ok(())
}
