//! Repairs of records that cannot be stored as they are.

use super::super::framed::records_of;
use super::{Load, OnBad, Parsed, Progress, RecordPlace};
use alluvium_document::bson::{self, BsonError};
use alluvium_document::row::ID;
use alluvium_document::{Map, Value, json};

impl<'a> Load<'a> {
    /// Counts a repaired record.
    pub(super) fn note_repaired(&self, place: RecordPlace, parsed: &mut Parsed<'a>) {
        if parsed.repaired != Some(place.offset) {
            Progress::add(&self.progress.repaired, 1);
        }
        parsed.repaired = Some(place.offset);
    }

    /// Repairs a text that is not JSON or has values that BSON cannot hold, and adds its documents. Returns false, and
    /// adds nothing, if the text cannot be repaired.
    pub(super) fn repair_text(
        &self,
        text: &[u8],
        place: RecordPlace,
        row: &mut Vec<u8>,
        parsed: &mut Parsed<'a>,
    ) -> bool {
        let lossy = String::from_utf8_lossy(text);
        let Some(records) = records_of(lossy.as_bytes()) else { return false };
        let mut maps = Vec::with_capacity(records.len());
        for record in records {
            match json::parse_repaired(record) {
                Ok(Value::Map(map)) => maps.push(map),
                _ => return false,
            }
        }
        self.note_repaired(place, parsed);
        for (at, map) in maps.into_iter().enumerate() {
            // Each document has its own offset, because generated `_id`s are derived from offsets.
            let place = RecordPlace { offset: place.offset + at as u64, ..place };
            parsed.repaired = Some(place.offset);
            row.clear();
            let start = parsed.keys.len();
            let encoded = self.encode(map, false, place, row, parsed);
            self.take(encoded, start, place, row, text, parsed);
            if parsed.fatal {
                break;
            }
        }
        true
    }

    /// The document of a field of one large object, repaired; `None` if it is not to be repaired, or cannot be.
    pub(super) fn repaired_field(&self, text: &[u8]) -> Option<Map> {
        if self.settings.on_bad != OnBad::Repair {
            return None;
        }
        let whole = [b"{", text, b"}"].concat();
        let Ok(Value::Map(fields)) = json::parse_repaired(&whole) else { return None };
        let (name, value) = fields.entries.into_iter().next()?;
        let mut map = match value {
            Value::Map(map) => map,
            other => [(Value::from("value"), other)].into_iter().collect(),
        };
        match map.get(ID) {
            Some(own) if *own != name => return None,
            Some(_) => {}
            None => map.entries.insert(0, (Value::from(ID), name)),
        }
        Some(map)
    }

    /// Decodes a BSON document, and repairs it if that is allowed.
    pub(super) fn decode(&self, bytes: &[u8]) -> std::result::Result<Map, BsonError> {
        match bson::decode_document(bytes) {
            Err(error) if self.settings.on_bad == OnBad::Repair => {
                let map = bson::decode_document_lossy(bytes).map_err(|_| error)?;
                Progress::add(&self.progress.repaired, 1);
                Ok(map)
            }
            decoded => decoded,
        }
    }
}
