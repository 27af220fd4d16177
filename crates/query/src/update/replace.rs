//! Replacement of whole documents.

use alluvium_document::compare::equal;
use alluvium_document::row::ID;
use alluvium_document::{Draft, Map, Value};

use super::upsert::{demanded_id, finish};
use super::{Applied, UpdateError};
use crate::filter::Filter;

/// A document that replaces another one. The `_id` of the replaced document is kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Replacement {
    document: Map,
    /// True if the document was computed. In that case top-level names may begin with a dollar sign.
    is_computed: bool,
}

impl Replacement {
    /// Parses a replacement. As in MongoDB, a document with top-level names that begin with a dollar sign can be
    /// inserted but cannot replace a document.
    ///
    /// # Errors
    /// [`UpdateError::FailedToParse`] if it begins with an operator, [`UpdateError::TooLarge`],
    /// [`UpdateError::Overflow`].
    pub fn parse(document: &Map) -> Result<Self, UpdateError> {
        if is_update(document) {
            let message = "this is an update with operators, not a replacement document: use update";
            return Err(UpdateError::FailedToParse(message.to_owned()));
        }
        Ok(Self { document: finish(document.clone())?, is_computed: false })
    }

    /// The replacement of a document by the result of a pipeline. As in MongoDB, the result may have names that begin
    /// with a dollar sign.
    ///
    /// # Errors
    /// [`UpdateError::TooLarge`], [`UpdateError::Overflow`].
    pub(super) fn computed(document: Map) -> Result<Self, UpdateError> {
        Ok(Self { document: finish(document)?, is_computed: true })
    }

    /// Replaces the document. [`Applied::changed`] is false if both are identical.
    ///
    /// # Errors
    /// [`UpdateError::ImmutableField`] if the replacement has a different `_id`;
    /// [`UpdateError::DollarPrefixedFieldName`]; or the document is damaged.
    pub fn apply(&self, document: &mut Draft) -> Result<Applied, UpdateError> {
        let mut names = self.document.entries.iter().filter_map(|(name, _)| name.as_str());
        if let Some(name) = names.find(|name| !self.is_computed && name.starts_with('$')) {
            return Err(UpdateError::of_dollar(name, name));
        }
        let old = document.clone().into_map()?;
        let new = self.with_id(old.get(ID))?;
        let changed = new != old;
        match changed {
            // The result of a pipeline is an update of the document, not another document.
            true if self.is_computed => *document.map()? = new,
            true => document.replace(new),
            false => {}
        }
        Ok(Applied { changed })
    }

    /// The document that an upsert by a filter inserts: the replacement, with the `_id` that the
    /// filter demands. It has no `_id` if neither the replacement nor the filter has one.
    ///
    /// # Errors
    /// [`UpdateError::ImmutableField`] if the replacement and the filter have different `_id`s;
    /// [`UpdateError::NotSingleValueField`] if the filter demands two `_id`s;
    /// [`UpdateError::NotExactValueField`] if the filter demands a field of `_id`.
    pub fn for_upsert_by(&self, filter: &Filter) -> Result<Map, UpdateError> {
        self.with_id(demanded_id(filter)?.as_ref())
    }

    /// The document with this `_id`, if one is given. An equal `_id` of another type is replaced.
    fn with_id(&self, id: Option<&Value>) -> Result<Map, UpdateError> {
        let Some(id) = id else { return Ok(self.document.clone()) };
        let mut document = self.document.clone();
        match document.get_mut(ID) {
            Some(own) if !equal(own, id) => {
                let message = "the replacement has another _id than the document, whose _id never changes";
                return Err(UpdateError::ImmutableField(message.to_owned()));
            }
            Some(own) => *own = id.clone(),
            None => document.entries.insert(0, (ID.into(), id.clone())),
        }
        finish(document)
    }
}

/// True if the document has operators.
pub(super) fn is_update(update: &Map) -> bool {
    update.entries.first().is_some_and(|(name, _)| name.as_str().is_some_and(|name| name.starts_with('$')))
}
