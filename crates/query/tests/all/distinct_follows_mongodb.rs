//! Distinct values: the cases in `cases/distinct.txt`, each with documents stored under a shape and with
//! self-describing documents.

use crate::common::{golden, map_of, stored_document};
use alluvium_document::json::{self, Format};
use alluvium_document::{Document, Map, Value};
use alluvium_query::distinct::{Distinct, DistinctError};

fn values(path: &str, documents: &[Map], form: fn(&Map) -> Document) -> Result<Vec<Value>, DistinctError> {
    let mut distinct = Distinct::new(path)?;
    documents.iter().try_for_each(|map| distinct.add(&form(map)))?;
    Ok(distinct.into_values().collect())
}

#[test]
fn cases() {
    golden::check("distinct.txt", |inputs| {
        let documents: Vec<Map> = inputs[1..].iter().map(|text| map_of(text)).collect();
        let found = values(inputs[0], &documents, stored_document);
        assert_eq!(values(inputs[0], &documents, |map| Document::from_map(map).unwrap()), found, "{inputs:?}");
        match found {
            Ok(values) => json::to_string(&Value::Array(values), Format::RELAXED).unwrap(),
            Err(error) => format!("{} {}: {error}", error.code().number(), error.code().name()),
        }
    });
}
