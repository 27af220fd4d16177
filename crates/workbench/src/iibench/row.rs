//! The rows of iibench: sales at cash registers, in the order of time.

use super::failure::Failure;
use crate::comments::random::{Random, mix};
use alluvium_document::{Map, Value, key};

/// The numbers of customers, cash registers and products.
const CUSTOMERS: u64 = 100_000;
const CASH_REGISTERS: u64 = 1_000;
const PRODUCTS: u64 = 10_000;
/// The time of the first row in milliseconds since 1970, and the number of rows with the same time.
const FIRST_DATE_MS: i64 = 1_417_392_000_000;
const ROWS_PER_MS: u64 = 20;

/// The maximum number of secondary indexes.
pub const MAX_INDEXES: usize = 3;

/// The fields of each secondary index, in order.
pub const INDEXES: [&[Field]; MAX_INDEXES] = [
    &[Field::Price, Field::CustomerId],
    &[Field::CashRegisterId, Field::Price, Field::CustomerId],
    &[Field::Price, Field::DateAndTime, Field::CustomerId],
];

/// A field that an index may have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Field {
    /// `price`
    Price,
    /// `customerid`
    CustomerId,
    /// `cashregisterid`
    CashRegisterId,
    /// `dateandtime`
    DateAndTime,
}

impl Field {
    /// The name of the field in the documents.
    pub fn name(self) -> &'static str {
        match self {
            Self::Price => "price",
            Self::CustomerId => "customerid",
            Self::CashRegisterId => "cashregisterid",
            Self::DateAndTime => "dateandtime",
        }
    }
}

/// One row. It is determined by the seed and the `_id`, so that every engine gets the same rows, independent of the
/// schedule of its threads.
#[derive(Debug, Clone, PartialEq)]
pub struct Row {
    /// `_id`: consecutive numbers from 0.
    pub id: i64,
    /// `price`
    pub price: f64,
    /// `customerid`
    pub customer: i32,
    /// `cashregisterid`
    pub cash_register: i32,
    /// `productid`
    pub product: i32,
    /// `dateandtime`, milliseconds since 1970.
    pub date_ms: i64,
    /// `data`: random letters, which do not compress well.
    pub data: String,
}

impl Row {
    /// The row with this `_id`, with `padding` letters of padding.
    pub fn new(seed: u64, id: u64, padding: usize) -> Self {
        let mut random = Random::new(mix(seed) ^ id);
        let customer = random.below(CUSTOMERS);
        let cents = (random.below(500_000) as f64) / 1000.0 + customer as f64;
        Self {
            id: id as i64,
            price: cents / 100.0,
            customer: customer as i32,
            cash_register: random.below(CASH_REGISTERS) as i32,
            product: random.below(PRODUCTS) as i32,
            date_ms: FIRST_DATE_MS + (id / ROWS_PER_MS) as i64,
            data: (0..padding).map(|_| char::from(b'a' + random.below(26) as u8)).collect(),
        }
    }

    /// The row as a document.
    pub fn document(&self) -> Map {
        let mut map = Map::with_capacity(7);
        map.push("_id", self.id);
        map.push("dateandtime", Value::DateTime(self.date_ms));
        map.push("cashregisterid", self.cash_register);
        map.push("customerid", self.customer);
        map.push("productid", self.product);
        map.push("price", self.price);
        map.push("data", self.data.as_str());
        map
    }

    /// The value of a field that an index may have.
    pub fn value(&self, field: Field) -> Value {
        match field {
            Field::Price => self.price.into(),
            Field::CustomerId => self.customer.into(),
            Field::CashRegisterId => self.cash_register.into(),
            Field::DateAndTime => Value::DateTime(self.date_ms),
        }
    }

    /// Appends the key of the row: the order-preserving encoding of its `_id`.
    pub fn put_key(&self, out: &mut Vec<u8>) {
        key::encode(&Value::from(self.id), out);
    }

    /// Appends the key of the row's entry in a secondary index: the encoded fields of the index, followed by the
    /// encoded `_id`.
    pub fn put_index_key(&self, index: usize, out: &mut Vec<u8>) {
        for field in INDEXES[index] {
            key::encode(&self.value(*field), out);
        }
        self.put_key(out);
    }
}

/// The key of the row to which an entry in a secondary index refers; `entry` is the key of the entry.
///
/// # Errors
/// [`Failure`] if `entry` is not such a key.
pub fn row_key(index: usize, entry: &[u8]) -> Result<&[u8], Failure> {
    let mut rest = entry;
    INDEXES[index].iter().try_for_each(|_| key::skip(&mut rest, false))?;
    Ok(rest)
}

/// A batch of rows as bytes, for key/value engines.
#[derive(Debug, Default)]
pub struct Pairs {
    /// The bytes of all keys and values, concatenated.
    pub bytes: Vec<u8>,
    /// For each pair: its tree (0 for the rows, then the indexes), the start of the key, the start of the value, and
    /// the end of the value.
    pub pairs: Vec<(usize, usize, usize, usize)>,
}

impl Pairs {
    /// Encodes these rows, and their entries in the first `indexes` indexes. The value of a row is BSON; index entries
    /// have a key without a value.
    pub fn fill(&mut self, rows: &[Row], indexes: usize) {
        self.bytes.clear();
        self.pairs.clear();
        for row in rows {
            let at = self.bytes.len();
            row.put_key(&mut self.bytes);
            let value_at = self.bytes.len();
            // These documents can always be encoded as BSON.
            let _encoded = alluvium_document::bson::encode_document(&row.document(), &mut self.bytes);
            self.pairs.push((0, at, value_at, self.bytes.len()));
            for index in 0..indexes {
                let at = self.bytes.len();
                row.put_index_key(index, &mut self.bytes);
                self.pairs.push((index + 1, at, self.bytes.len(), self.bytes.len()));
            }
        }
    }

    /// The pairs: tree, key, value.
    pub fn iter(&self) -> impl Iterator<Item = (usize, &[u8], &[u8])> {
        self.pairs.iter().map(|(tree, key, value, end)| (*tree, &self.bytes[*key..*value], &self.bytes[*value..*end]))
    }
}

#[cfg(test)]
mod tests;
