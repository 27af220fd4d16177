//! Collations: comparison of strings by the rules of a language, as in MongoDB.
//!
//! A [`Collation`] is written as MongoDB's map of options, such as `{locale: "de", strength: 2}`.
//! The rules and their data come from ICU4X and CLDR. They are compiled into the binary, so that
//! equal options have equal results on every machine.
//!
//! - `locale`: a language, optionally with a script, a region and a type: `"sv"`, `"fr_CA"`,
//!   `"de@collation=phonebook"`. The locale `"simple"` compares bytes, like no collation at all.
//! - `strength`: 1 compares letters, 2 also accents, 3 (the default) also case, 4 also the
//!   characters that `alternate` shifts, 5 also code points.
//! - `caseLevel`: an additional level that compares case, for strengths 1 and 2; `caseFirst`:
//!   `"upper"`, `"lower"` or `"off"`.
//! - `numericOrdering`: digits compare as numbers.
//! - `alternate`: `"shifted"` ignores punctuation and spaces up to strength 3, or only spaces if
//!   `maxVariable` is `"space"`.
//! - `normalization`: has no effect, because strings are always compared in their normalized form.
//! - `backwards`: accents compare from the end of the string. The locale determines this option: it
//!   is true for `fr_CA` and false for every other locale. A different value is refused.
//!
//! The locale determines the options that are left out; [`Collation::to_map`] returns all of them.
//!
//! # Collation keys
//! [`Collation::keyed`] replaces each string in a value by its *collation key*. To make a collation
//! key, each byte of the sort key of ICU4X becomes the code point of the same number. Collation
//! keys compare, byte by byte, like the strings. Therefore the order of all values
//! ([`alluvium_document::compare`]) and the encoding of keys ([`alluvium_document::key`]) apply to
//! keyed values. Names of fields are not replaced.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::fmt;
use std::sync::Arc;

use alluvium_document::compare::{compare, type_rank};
use alluvium_document::row::{RowError, ValueRef};
use alluvium_document::{Map, Value, key};

#[cfg(not(feature = "collation"))]
mod absent;
mod error;
#[cfg(feature = "collation")]
mod locale;
#[cfg(feature = "collation")]
mod parse;

pub use error::CollationError;

#[cfg(not(feature = "collation"))]
use absent as parse;
use parse::{Collator, Options};

/// The version of the rules and of the format of sort keys. Indexes store it, because collation
/// keys of different versions cannot be compared with each other.
pub const VERSION: &str = "icu4x 2.4, cldr 49";

/// The order of strings by the rules of a language. Clones share the rules.
///
/// Two collations are equal if their options are equal, including the options that follow from the
/// locale. Equal collations compare all strings alike.
///
/// ```
/// use alluvium_document::json;
/// use alluvium_query::collation::Collation;
///
/// let options = json::parse(br#"{"locale": "de", "strength": 1}"#)?;
/// let german = Collation::parse(options.as_map().ok_or("no map")?)?.ok_or("simple")?;
/// assert!(german.compare("Äpfel", "apfel").is_eq());
/// assert!(german.compare("Äpfel", "Birnen").is_lt());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct Collation(Arc<Inner>);

struct Inner {
    options: Options,
    collator: Collator,
}

impl PartialEq for Collation {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0) || self.0.options == other.0.options
    }
}

impl Eq for Collation {}

impl fmt::Debug for Collation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.options.fmt(f)
    }
}

/// The options as JSON.
impl fmt::Display for Collation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.to_map().fmt(f)
    }
}

impl Collation {
    /// Parses MongoDB's options. `None` for the locale `simple`, which compares bytes.
    ///
    /// # Errors
    /// [`CollationError`]: an option that is unknown, of the wrong type or out of its range; a
    /// locale that is missing or unknown; options that exclude each other; a value of `backwards`
    /// that the locale does not have. The `version` may be any text.
    pub fn parse(options: &Map) -> Result<Option<Self>, CollationError> {
        let Some((options, collator)) = parse::collation(options)? else { return Ok(None) };
        Ok(Some(Self(Arc::new(Inner { options, collator }))))
    }

    /// Checks that stored collation keys were made by the rules of this build. `options` must be
    /// the result of [`Collation::to_map`].
    ///
    /// # Errors
    /// [`CollationError`] with the code `IncompatibleCollationVersion`: the `version` is not
    /// [`VERSION`].
    pub fn check_version(options: &Map) -> Result<(), CollationError> {
        parse::check_version(options)
    }

    /// All options, including those that follow from the locale, and the version of the rules.
    /// [`Collation::parse`] of the result gives an equal collation.
    pub fn to_map(&self) -> Map {
        self.0.options.to_map()
    }

    /// Compares two strings.
    pub fn compare(&self, a: &str, b: &str) -> Ordering {
        self.0.collator.compare(a, b)
    }

    /// Appends the sort key of a string. Sort keys, compared as bytes, have the order of the strings.
    pub fn put_sort_key(&self, text: &str, out: &mut Vec<u8>) {
        let Ok(()) = self.0.collator.write_sort_key_to(text, out);
    }

    /// The collation key of a string. Collation keys, compared as strings, have the order of the strings.
    pub fn text_key(&self, text: &str) -> String {
        let mut bytes = Vec::with_capacity(2 * text.len() + 8);
        self.put_sort_key(text, &mut bytes);
        match String::from_utf8(bytes) {
            Ok(ascii) if ascii.is_ascii() => ascii,
            Ok(text) => text.bytes().map(char::from).collect(),
            Err(error) => error.as_bytes().iter().copied().map(char::from).collect(),
        }
    }

    /// The value with each string and symbol replaced by its collation key, including those in
    /// arrays and in the values of maps.
    pub fn keyed<'v>(&self, value: &'v Value) -> Cow<'v, Value> {
        if !has_text(value) {
            return Cow::Borrowed(value);
        }
        Cow::Owned(match value {
            Value::String(text) | Value::Symbol(text) => Value::String(self.text_key(text).into()),
            Value::Array(elements) => {
                Value::Array(elements.iter().map(|element| self.keyed(element).into_owned()).collect())
            }
            Value::Map(map) => {
                let entries = map.entries.iter();
                Value::Map(Map {
                    entries: entries.map(|(name, value)| (name.clone(), self.keyed(value).into_owned())).collect(),
                })
            }
            other => other.clone(),
        })
    }

    /// Compares two values in the order of all values, but compares strings by the collation.
    pub fn compare_values(&self, a: &Value, b: &Value) -> Ordering {
        match (a, b) {
            (Value::String(a) | Value::Symbol(a), Value::String(b) | Value::Symbol(b)) => self.compare(a, b),
            (Value::Array(a), Value::Array(b)) => {
                let first = a.iter().zip(b).map(|(a, b)| self.compare_values(a, b)).find(|order| order.is_ne());
                first.unwrap_or_else(|| a.len().cmp(&b.len()))
            }
            (Value::Map(a), Value::Map(b)) => self.compare_maps(a, b),
            _ => compare(a, b),
        }
    }

    /// As [`Collation::compare_values`], of two maps.
    pub fn compare_maps(&self, a: &Map, b: &Map) -> Ordering {
        for ((a_name, a), (b_name, b)) in a.entries.iter().zip(&b.entries) {
            let order = type_rank(a).cmp(&type_rank(b));
            let order = order.then_with(|| compare(a_name, b_name)).then_with(|| self.compare_values(a, b));
            if order.is_ne() {
                return order;
            }
        }
        a.entries.len().cmp(&b.entries.len())
    }

    /// Appends the [key](mod@alluvium_document::key) of the keyed value. The keys have the order of
    /// [`Collation::compare_values`].
    pub fn encode_key(&self, value: &Value, out: &mut Vec<u8>) {
        key::encode(&self.keyed(value), out);
    }

    /// As [`Collation::encode_key`], of a value in a row.
    ///
    /// # Errors
    /// The value is damaged.
    pub fn encode_key_of(&self, value: &ValueRef<'_>, out: &mut Vec<u8>) -> Result<(), RowError> {
        match value {
            ValueRef::String(text) => {
                let keyed = self.text_key(text);
                ValueRef::String(&keyed).encode_key(out)
            }
            ValueRef::Array(_) | ValueRef::Map(_) | ValueRef::Other(_) => {
                self.encode_key(&value.to_value()?, out);
                Ok(())
            }
            value => value.encode_key(out),
        }
    }
}

/// Compares two values: by the collation if there is one, otherwise in the order of all values.
#[inline]
pub(crate) fn compare_by(collation: Option<&Collation>, a: &Value, b: &Value) -> Ordering {
    match collation {
        None => compare(a, b),
        Some(collation) => collation.compare_values(a, b),
    }
}

/// Appends the key of a value, or of the keyed value if there is a collation.
#[inline]
pub(crate) fn encode_by(collation: Option<&Collation>, value: &Value, out: &mut Vec<u8>) {
    match collation {
        None => key::encode(value, out),
        Some(collation) => collation.encode_key(value, out),
    }
}

/// True if comparisons with the value depend on the collation, because it is or contains a string
/// or symbol.
pub(crate) fn has_text(value: &Value) -> bool {
    match value {
        Value::String(_) | Value::Symbol(_) => true,
        Value::Array(elements) => elements.iter().any(has_text),
        Value::Map(map) => map.entries.iter().any(|(_, value)| has_text(value)),
        _ => false,
    }
}

#[cfg(test)]
mod tests;
