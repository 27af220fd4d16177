//! The statements of a command that writes.
//!
//! The statements of a long command are decoded one by one, because all of them decoded would take many times the
//! memory of their bytes.

use crate::call::Call;
use crate::error::{CommandError, CommandResult};
use crate::funds::Funds;
use crate::memory::{Charge, Until};
use alluvium::Map;
use alluvium_document::bson::{decode_document, tree_bytes};
use alluvium_wire::{Sequence, WireError};
use std::borrow::Cow;

/// If statements have more bytes than this, they are decoded one by one.
const LONG: usize = 64 << 10;
/// The memory of a document of at most this number of bytes is not charged.
const UNCHARGED: usize = 4 << 10;

/// The statements of a command.
pub(crate) enum Statements {
    /// Decoded statements.
    Decoded(Vec<Map>),
    /// The bytes of the statements, and the number of statements.
    Long(Sequence, usize),
}

/// A statement to be executed.
pub(crate) struct Statement<'a> {
    /// The fields of the statement.
    pub fields: Cow<'a, Map>,
    _memory: Option<Charge>,
}

impl Statements {
    /// Takes the statements in a field.
    ///
    /// # Errors
    /// The errors of [`Call::take_documents`].
    pub(crate) fn take(call: &mut Call<'_>, field: &str) -> CommandResult<Self> {
        let is_long = |sequence: &Sequence| sequence.name == field && sequence.documents.len() > LONG;
        if !call.sequences.iter().any(is_long) {
            return call.take_documents(field).map(Self::Decoded);
        }
        let sequence =
            call.take_sequence(field).unwrap_or_else(|| Sequence { name: String::new(), documents: Vec::new() });
        let count = sequence.iter().try_fold(0, |count, raw| raw.map(|_| count + 1)).map_err(invalid)?;
        Ok(Self::Long(sequence, count))
    }

    /// The number of statements.
    pub(crate) fn len(&self) -> usize {
        match self {
            Self::Decoded(all) => all.len(),
            Self::Long(_, count) => *count,
        }
    }

    /// Iterates over the statements.
    pub(crate) fn each<'s, 'c>(
        &'s self,
        call: &Call<'c>,
    ) -> impl Iterator<Item = CommandResult<Statement<'s>>> + use<'s, 'c> {
        let (decoded, long) = match self {
            Self::Decoded(all) => (Some(all), None),
            Self::Long(sequence, _) => (None, Some(sequence)),
        };
        let decoded = decoded.into_iter().flatten();
        let decoded = decoded.map(|fields| Ok(Statement { fields: Cow::Borrowed(fields), _memory: None }));
        decoded.chain(decode_all(long, call.funds()))
    }

    /// As [`Statements::each`], and releases the statements.
    pub(crate) fn drain<'s, 'c>(
        &'s mut self,
        call: &Call<'c>,
    ) -> impl Iterator<Item = CommandResult<Statement<'s>>> + use<'s, 'c> {
        let (decoded, long) = match self {
            Self::Decoded(all) => (std::mem::take(all), None),
            Self::Long(sequence, _) => (Vec::new(), Some(&*sequence)),
        };
        let decoded = decoded.into_iter().map(|fields| Ok(Statement { fields: Cow::Owned(fields), _memory: None }));
        decoded.chain(decode_all(long, call.funds()))
    }
}

fn decode_all<'s, 'c>(
    sequence: Option<&'s Sequence>,
    funds: Funds<'c>,
) -> impl Iterator<Item = CommandResult<Statement<'s>>> + use<'s, 'c> {
    sequence.into_iter().flat_map(Sequence::iter).map(move |raw| {
        let raw = raw.map_err(invalid)?;
        let memory = if raw.len() > UNCHARGED { Some(funds.charge(tree_bytes(raw), Until::Ended)?) } else { None };
        Ok(Statement { fields: Cow::Owned(decode_document(raw)?), _memory: memory })
    })
}

fn invalid(error: WireError) -> CommandError {
    CommandError::invalid_bson(error.to_string())
}

#[cfg(test)]
mod tests;
