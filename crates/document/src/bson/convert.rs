//! Conversions from and to the values of the crate `bson`.

use super::{BsonError, decode_document, encode_document};
use crate::decimal::Decimal;
use crate::value::{Binary, Code, Double, MAX_DEPTH, Map, Regex, Timestamp, Value};
use ::bson::{Bson, Document};

impl From<Bson> for Value {
    fn from(bson: Bson) -> Self {
        match bson {
            Bson::Double(x) => Value::Double(Double(x)),
            Bson::String(text) => Value::String(text.into()),
            Bson::Array(elements) => Value::Array(elements.into_iter().map(Value::from).collect()),
            Bson::Document(document) => Value::Map(Map::from(document)),
            Bson::Boolean(flag) => Value::Bool(flag),
            Bson::Null => Value::Null,
            Bson::RegularExpression(regex) => {
                let (pattern, options) = (regex.pattern.as_str().to_owned(), regex.options.as_str().to_owned());
                Value::Regex(Box::new(Regex { pattern, options }))
            }
            Bson::JavaScriptCode(code) => Value::Code(Box::new(Code { code, scope: None })),
            Bson::JavaScriptCodeWithScope(both) => {
                Value::Code(Box::new(Code { code: both.code, scope: Some(Map::from(both.scope)) }))
            }
            Bson::Int32(n) => Value::Int32(n),
            Bson::Int64(n) => Value::Int64(n),
            Bson::Timestamp(t) => Value::Timestamp(Timestamp { time: t.time, increment: t.increment }),
            Bson::Binary(binary) => Value::Binary(Binary { subtype: u8::from(binary.subtype), bytes: binary.bytes }),
            Bson::ObjectId(id) => Value::ObjectId(id.bytes()),
            Bson::DateTime(date) => Value::DateTime(date.timestamp_millis()),
            Bson::Symbol(text) => Value::Symbol(text.into()),
            Bson::Decimal128(decimal) => Value::Decimal(Decimal::from_decimal128(decimal.bytes())),
            Bson::Undefined => Value::Undefined,
            Bson::MaxKey => Value::MaxKey,
            Bson::MinKey => Value::MinKey,
            // The crate exposes the fields of a pointer only as bytes.
            Bson::DbPointer(_) => through_bytes(bson),
        }
    }
}

fn through_bytes(bson: Bson) -> Value {
    let bytes = Document::from_iter([(String::new(), bson)]).to_vec().unwrap_or_default();
    let map = decode_document(&bytes).unwrap_or_default();
    map.entries.into_iter().next().map_or(Value::Undefined, |(_, value)| value)
}

impl From<Document> for Map {
    fn from(document: Document) -> Self {
        document.into_iter().collect()
    }
}

impl From<Document> for Value {
    fn from(document: Document) -> Self {
        Value::Map(Map::from(document))
    }
}

/// Fails for values that [`encode_document`] refuses, and if a field occurs twice.
impl TryFrom<Value> for Bson {
    type Error = BsonError;

    fn try_from(value: Value) -> Result<Self, BsonError> {
        to_bson(value, MAX_DEPTH)
    }
}

/// Fails for values that [`encode_document`] refuses, and if a field occurs twice.
impl TryFrom<Map> for Document {
    type Error = BsonError;

    fn try_from(map: Map) -> Result<Self, BsonError> {
        to_document(map, MAX_DEPTH)
    }
}

fn to_document(map: Map, depth: usize) -> Result<Document, BsonError> {
    let depth = depth.checked_sub(1).ok_or(BsonError::TooDeep)?;
    let mut document = Document::new();
    for (key, value) in map.entries {
        let Value::String(name) = key else { return Err(BsonError::Key(key.type_name())) };
        if name.contains('\0') {
            return Err(BsonError::Nul);
        }
        if document.insert(name, to_bson(value, depth)?).is_some() {
            return Err(BsonError::DuplicateField);
        }
    }
    Ok(document)
}

fn to_bson(value: Value, depth: usize) -> Result<Bson, BsonError> {
    Ok(match value {
        Value::Null => Bson::Null,
        Value::Bool(flag) => Bson::Boolean(flag),
        Value::Int32(n) => Bson::Int32(n),
        Value::Int64(n) => Bson::Int64(n),
        Value::Double(Double(x)) => Bson::Double(x),
        Value::Decimal(decimal) => {
            let bytes = decimal.to_decimal128().map_err(|_| BsonError::Decimal)?;
            Bson::Decimal128(::bson::Decimal128::from_bytes(bytes))
        }
        Value::String(text) => Bson::String(text.into()),
        Value::Binary(Binary { subtype, bytes }) => Bson::Binary(::bson::Binary { subtype: subtype.into(), bytes }),
        Value::Array(elements) => {
            let depth = depth.checked_sub(1).ok_or(BsonError::TooDeep)?;
            let elements: Result<_, _> = elements.into_iter().map(|element| to_bson(element, depth)).collect();
            Bson::Array(elements?)
        }
        Value::Map(map) => Bson::Document(to_document(map, depth)?),
        Value::ObjectId(id) => Bson::ObjectId(::bson::oid::ObjectId::from_bytes(id)),
        Value::DateTime(millis) => Bson::DateTime(::bson::DateTime::from_millis(millis)),
        Value::Timestamp(Timestamp { time, increment }) => Bson::Timestamp(::bson::Timestamp { time, increment }),
        Value::MinKey => Bson::MinKey,
        Value::MaxKey => Bson::MaxKey,
        Value::Undefined => Bson::Undefined,
        Value::Code(both) => match both.scope {
            None => Bson::JavaScriptCode(both.code),
            Some(scope) => {
                let scope = to_document(scope, depth)?;
                Bson::JavaScriptCodeWithScope(::bson::JavaScriptCodeWithScope { code: both.code, scope })
            }
        },
        Value::Symbol(text) => Bson::Symbol(text.into()),
        Value::DbPointer(_) | Value::Regex(_) => {
            // The crate accepts the fields of a pointer only as bytes.
            let mut bytes = Vec::new();
            encode_document(&Map { entries: vec![(Value::from(""), value)] }, &mut bytes)?;
            let mut document = Document::from_reader(&bytes[..]).map_err(|_| BsonError::Truncated)?;
            document.remove("").ok_or(BsonError::Truncated)?
        }
    })
}
