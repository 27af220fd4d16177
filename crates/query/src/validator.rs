//! Validators: what the documents of a collection must be.

mod details;

use crate::code::ErrorCode;
use crate::collation::Collation;
use crate::expression::{ExpressionError, Interrupt, Memory, Variables};
use crate::filter::{Filter, FilterError, MatchError};
use alluvium_document::{Document, Map, Value};

/// Which writes a validator checks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ValidationLevel {
    /// None.
    Off,
    /// All.
    #[default]
    Strict,
    /// All but changes of documents that the validator refuses already.
    Moderate,
}

/// The action for a document that a validator refuses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ValidationAction {
    /// The write is an error.
    #[default]
    Error,
    /// The document is written, and the log has a warning.
    Warn,
    /// The write is an error, and the log has a warning.
    ErrorAndLog,
}

/// A document whose row has fewer bytes is checked soon.
const LARGE_BYTES: usize = 64 << 10;

/// Errors that do not mean that a document is wrong.
const ENDS: [ErrorCode; 3] = [ErrorCode::ExceededMemoryLimit, ErrorCode::Interrupted, ErrorCode::MaxTimeMSExpired];

/// A filter that the documents of a collection must match.
///
/// Its options are those of MongoDB's collections: `validator`, a filter; `validationLevel`, one of
/// `off`, `strict` and `moderate`; `validationAction`, one of `error` and `warn`.
#[derive(Debug, Clone, PartialEq)]
pub struct Validator {
    filter: Filter,
    /// With which it was parsed.
    variables: Variables,
    rules: Map,
    level: ValidationLevel,
    action: ValidationAction,
}

impl Validator {
    /// A validator by these rules. Rules without conditions allow all documents.
    ///
    /// # Errors
    /// As [`Filter::parse`].
    pub fn new(rules: Map, level: ValidationLevel, action: ValidationAction) -> Result<Self, FilterError> {
        let filter = Filter::parse(&rules)?;
        Ok(Self { filter, variables: Variables::NONE, rules, level, action })
    }

    /// The same validator, which compares strings by a collation.
    ///
    /// # Errors
    /// As [`Filter::parse`].
    pub fn collated(self, collation: Option<&Collation>) -> Result<Self, FilterError> {
        let variables = self.variables.collated(collation.cloned());
        let filter = Filter::parse_in(&self.rules, &variables)?;
        Ok(Self { filter, variables, ..self })
    }

    /// The same validator, with the memory of its expressions charged.
    #[must_use]
    pub fn counted_in(mut self, memory: &Memory) -> Self {
        self.variables = self.variables.counted_in(memory.clone());
        // It was parsed before.
        if let Ok(filter) = Filter::parse_in(&self.rules, &self.variables) {
            self.filter = filter;
        }
        self
    }

    /// The same validator for one write, which this interrupt ends.
    #[must_use]
    pub fn interrupted_by(&self, interrupt: &Interrupt) -> Self {
        let mut own = self.clone();
        own.variables = own.variables.interrupted_by(interrupt.clone());
        // It was parsed before.
        if let Ok(filter) = Filter::parse_in(&own.rules, &own.variables) {
            own.filter = filter;
        }
        own
    }

    /// True if the check of the document may take long: it is a large one, or an expression may do anything.
    pub fn may_take_long(&self, document: &Document) -> bool {
        document.row_len() >= LARGE_BYTES || self.filter.has_expression()
    }

    /// The rules as given: a filter.
    pub fn rules(&self) -> &Map {
        &self.rules
    }

    /// Which writes are checked.
    pub fn level(&self) -> ValidationLevel {
        self.level
    }

    /// The action for a document that is refused.
    pub fn action(&self) -> ValidationAction {
        self.action
    }

    /// Reads a validator from the options of a collection; `None` if they have none. Other options are
    /// ignored.
    ///
    /// # Errors
    /// An option of the wrong type, an unknown level or action, or as [`Filter::parse`].
    pub fn from_options(options: &Map) -> Result<Option<Self>, FilterError> {
        let rules = match options.get("validator") {
            None => None,
            Some(Value::Map(rules)) => Some(rules.clone()),
            Some(other) => return Err(wrong_type("validator", "a map", other)),
        };
        let level = match word(options, "validationLevel")? {
            None | Some("strict") => ValidationLevel::Strict,
            Some("moderate") => ValidationLevel::Moderate,
            Some("off") => ValidationLevel::Off,
            Some(other) => return Err(unknown("validationLevel", "off, strict and moderate", other)),
        };
        let action = match word(options, "validationAction")? {
            None | Some("error") => ValidationAction::Error,
            Some("warn") => ValidationAction::Warn,
            Some("errorAndLog") => ValidationAction::ErrorAndLog,
            Some(other) => return Err(unknown("validationAction", "error, warn and errorAndLog", other)),
        };
        rules.map(|rules| Self::new(rules, level, action)).transpose()
    }

    /// The options, as [`Validator::from_options`] reads them.
    pub fn to_options(&self) -> Map {
        let level = match self.level {
            ValidationLevel::Off => "off",
            ValidationLevel::Strict => "strict",
            ValidationLevel::Moderate => "moderate",
        };
        let action = match self.action {
            ValidationAction::Error => "error",
            ValidationAction::Warn => "warn",
            ValidationAction::ErrorAndLog => "errorAndLog",
        };
        let mut options = Map::from([("validator", Value::Map(self.rules.clone()))]);
        options.push("validationLevel", level);
        options.push("validationAction", action);
        options
    }

    /// True if the documents that are written are checked at all.
    pub fn is_active(&self) -> bool {
        self.level != ValidationLevel::Off && !self.filter.is_empty()
    }

    /// Why a document must not be written, in place of `before` if there is one: the details that
    /// MongoDB's error 121 has, with the `_id` of the document. `None` if it may be written.
    ///
    /// # Errors
    /// The document or `before` is damaged; memory lacks; the write must end.
    pub fn refusal(&self, document: &Document, before: Option<&Document>) -> Result<Option<Map>, FilterError> {
        if !self.is_active() || self.allows(document)? {
            return Ok(None);
        }
        if self.level == ValidationLevel::Moderate
            && let Some(before) = before
            && !self.allows(before)?
        {
            return Ok(None);
        }
        let map = document.to_map().map_err(|error| FilterError::BadValue(error.to_string()))?;
        let mut refusal = Map::from([("failingDocumentId", document.id().clone())]);
        let checked = details::Checked { fields: &map, variables: &self.variables };
        refusal.push("details", details::of(&self.rules, checked));
        // Details that were interrupted are not those of the document.
        if let Some(interrupt) = self.variables.interrupt() {
            interrupt.check().map_err(ExpressionError::from)?;
        }
        Ok(Some(refusal))
    }

    /// True if the document matches the rules. Where an expression has no result, it does not, unless memory lacks or the
    /// write must end.
    fn allows(&self, document: &Document) -> Result<bool, FilterError> {
        match self.filter.matches(document) {
            Err(MatchError::Filter(error)) if ENDS.contains(&error.code()) => Err(error),
            matched => Ok(matched.unwrap_or(false)),
        }
    }
}

fn word<'o>(options: &'o Map, name: &str) -> Result<Option<&'o str>, FilterError> {
    match options.get(name) {
        None => Ok(None),
        Some(Value::String(word)) => Ok(Some(word)),
        Some(other) => Err(wrong_type(name, "a string", other)),
    }
}

fn wrong_type(name: &str, wanted: &str, found: &Value) -> FilterError {
    FilterError::TypeMismatch(format!("{name} must be {wanted}, not of type {}", found.type_name()))
}

fn unknown(name: &str, known: &str, found: &str) -> FilterError {
    FilterError::BadValue(format!("{name} is one of {known}, not '{found}'"))
}

#[cfg(test)]
mod tests;
