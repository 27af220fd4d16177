//! A build without the feature `collation`: every locale except `simple` is refused.

use super::error::{CollationError, refuse};
use crate::code::ErrorCode;
use alluvium_document::{Map, Value};
use std::cmp::Ordering;
use std::convert::Infallible;

/// An uninhabited type: this build has no options.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Options {}

impl Options {
    pub fn to_map(&self) -> Map {
        match *self {}
    }
}

/// An uninhabited type: this build has no rules for comparing strings.
pub(super) enum Collator {}

impl Collator {
    pub fn compare(&self, _: &str, _: &str) -> Ordering {
        match *self {}
    }

    pub fn write_sort_key_to(&self, _: &str, _: &mut Vec<u8>) -> Result<(), Infallible> {
        match *self {}
    }
}

fn refused<T>() -> Result<T, CollationError> {
    let what = "this program was built without collations: build it with the feature `collation` of the crate alluvium";
    refuse(ErrorCode::NotImplemented, what)
}

/// As [`super::Collation::check_version`].
pub(super) fn check_version(_: &Map) -> Result<(), CollationError> {
    refused()
}

/// Accepts the locale `simple`.
pub(super) fn collation(map: &Map) -> Result<Option<(Options, Collator)>, CollationError> {
    match map.get("locale").and_then(Value::as_str) {
        Some("simple") => Ok(None),
        _ => refused(),
    }
}
