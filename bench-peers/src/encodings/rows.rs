//! Documents as Alluvium's rows under the key of their `_id`, with the shapes under a key of their own.

use alluvium_document::row::{decode_row, encode_known_row};
use alluvium_document::shape::{Shape, ShapeOptions, ShapeTable};
use alluvium_document::speculate::Encoder;
use alluvium_document::{Document, Value, key};
use alluvium_env::sync::Mutex;
use alluvium_workbench::peer::{DocumentSession, Documents, Failure, Found, KeyValueSession, KeyValues, ours};
use std::sync::Arc;

/// The key of the shapes, before those of all `_id`s.
const SHAPES: &[u8] = b"\0shapes";

struct RowDocuments {
    store: Box<dyn KeyValues>,
    shapes: Arc<ShapeTable>,
    /// Held while the shapes are written.
    writing: Mutex<()>,
}

/// Documents in a store.
pub(crate) fn open(store: Box<dyn KeyValues>) -> Result<Box<dyn Documents>, Failure> {
    let mut bytes = Vec::new();
    store.session()?.get(SHAPES, &mut bytes)?;
    let (mut rest, mut shapes) = (bytes.as_slice(), Vec::new());
    while !rest.is_empty() {
        shapes.push(Shape::decode(&mut rest)?);
    }
    let shapes = Arc::new(ShapeTable::open(ShapeOptions::default(), shapes, 1)?);
    Ok(Box::new(RowDocuments { store, shapes, writing: Mutex::new(()) }))
}

impl Documents for RowDocuments {
    fn session(&self) -> Result<Box<dyn DocumentSession + '_>, Failure> {
        let encoder = Encoder::new(self.shapes.clone(), "_id");
        let (key, row) = (Vec::new(), Vec::new());
        Ok(Box::new(Session { documents: self, pairs: self.store.session()?, encoder, key, row }))
    }

    fn settle(&self) -> Result<(), Failure> {
        self.store.settle()
    }

    fn close(self: Box<Self>) -> Result<(), Failure> {
        self.store.close()
    }
}

struct Session<'a> {
    documents: &'a RowDocuments,
    pairs: Box<dyn KeyValueSession + 'a>,
    encoder: Encoder,
    key: Vec<u8>,
    row: Vec<u8>,
}

impl Session<'_> {
    /// Writes all shapes, before the row that needs a new one.
    fn write_shapes(&mut self) -> Result<(), Failure> {
        let _writing = self.documents.writing.lock();
        let mut bytes = Vec::new();
        let numbers: Vec<u32> = self.documents.shapes.iter().map(|shape| shape.number()).collect();
        for shape in numbers.iter().filter_map(|number| self.documents.shapes.get(*number)) {
            shape.encode(&mut bytes);
        }
        self.pairs.put(SHAPES, &bytes)?;
        numbers.iter().for_each(|number| self.documents.shapes.mark_committed(*number));
        Ok(())
    }

    fn read(&mut self, id: &str) -> Result<Option<Document>, Failure> {
        let key = key::id_key(&Value::from(id))?;
        if !self.pairs.get(&key, &mut self.row)? {
            return Ok(None);
        }
        let mut row = Document::row_buffer(self.row.len(), &key);
        row.extend_from_slice(&self.row);
        Ok(Some(Document::from_row(&self.documents.shapes, &key, row)?))
    }
}

impl DocumentSession for Session<'_> {
    fn put(&mut self, _id: &str, json: &str) -> Result<(), Failure> {
        self.key.clear();
        self.row.clear();
        let encoded = self.encoder.encode_json_line(json.as_bytes(), &mut self.row, &mut self.key)?;
        if !encoded.new_shapes.is_empty() {
            self.write_shapes()?;
        }
        self.pairs.put(&self.key, &self.row)
    }

    fn get(&mut self, id: &str) -> Result<Option<Found>, Failure> {
        let Some(document) = self.read(id)? else { return Ok(None) };
        ours::found(&document.to_map()?).map(Some)
    }

    fn score(&mut self, id: &str) -> Result<Option<i64>, Failure> {
        let Some(document) = self.read(id)? else { return Ok(None) };
        let score = document.get("score")?.ok_or("a document has no score")?.to_value()?;
        Ok(Some(score.as_i64().ok_or("the score of a document is not an integer")?))
    }

    fn increment(&mut self, id: &str) -> Result<bool, Failure> {
        let (id, shapes) = (Value::from(id), &self.documents.shapes);
        self.pairs.update(&key::id_key(&id)?, &mut |old, new| {
            let mut map = decode_row(old, shapes, &id)?;
            let score = ours::found(&map)?.score + 1;
            map.insert("score", score);
            // The fields are the same, so the shape is known.
            Ok(encode_known_row(&map, shapes, None, new)?)
        })
    }
}
