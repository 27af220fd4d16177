//! The fields of a request.

use crate::fields::Fields;
use alluvium::{Map, Value};
use std::ops::Deref;
use std::sync::Arc;

/// The fields of a request. Clones share them.
///
/// Each command is asked for dozens of fields, of which most are missing. A set of their names, which may contain more
/// names, answers nearly all these questions without a search.
#[derive(Clone)]
pub(crate) struct Body {
    fields: Arc<Map>,
    /// The bits of the names.
    names: u64,
}

/// The bit of a name. Names that are frequent in one request have different bits.
#[inline]
fn bit(name: &str) -> u64 {
    let name = name.as_bytes();
    let end = |byte: Option<&u8>| byte.map_or(0, |byte| usize::from(*byte));
    1 << ((2 * end(name.first()) + 17 * end(name.last()) + 7 * name.len()) % 64)
}

impl Body {
    pub(crate) fn new(fields: Map) -> Self {
        let names = fields.entries.iter().filter_map(|(name, _)| name.as_str());
        Self { names: names.fold(0, |names, name| names | bit(name)), fields: Arc::new(fields) }
    }

    /// The fields, which are shared.
    pub(crate) fn shared(&self) -> &Arc<Map> {
        &self.fields
    }

    /// The fields, without a copy if nothing shares them.
    pub(crate) fn into_fields(self) -> Map {
        Arc::unwrap_or_clone(self.fields)
    }

    /// As [`Map::get`].
    #[inline]
    pub(crate) fn get(&self, name: &str) -> Option<&Value> {
        if self.names & bit(name) == 0 { None } else { self.fields.get(name) }
    }

    /// As [`Map::contains`].
    #[inline]
    pub(crate) fn contains(&self, name: &str) -> bool {
        self.get(name).is_some()
    }
}

impl Deref for Body {
    type Target = Map;

    fn deref(&self) -> &Map {
        &self.fields
    }
}

impl Fields for Body {
    #[inline]
    fn field(&self, name: &str) -> Option<&Value> {
        self.get(name)
    }
}

#[cfg(test)]
mod tests;
