//! Validators: conditions that the documents of a collection must meet.

mod details;

use crate::code::ErrorCode;
use crate::collation::Collation;
use crate::expression::{ExpressionError, Interrupt, Memory, Variables};
use crate::filter::{Filter, FilterError, MatchError};
use alluvium_document::{Document, Map, Value};

/// Selects the writes that a validator checks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ValidationLevel {
    /// No writes are checked.
    Off,
    /// All writes are checked.
    #[default]
    Strict,
    /// All writes are checked, except changes of documents that did not match the validator before.
    Moderate,
}

/// The action for a document that a validator refuses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ValidationAction {
    /// The write fails.
    #[default]
    Error,
    /// The document is written, and a warning is logged.
    Warn,
    /// The write fails, and a warning is logged.
    ErrorAndLog,
}

/// The check of a document whose row has fewer bytes than this is fast.
const LARGE_BYTES: usize = 64 << 10;

/// Errors that do not mean that a document violates the rules.
const ENDS: [ErrorCode; 3] = [ErrorCode::ExceededMemoryLimit, ErrorCode::Interrupted, ErrorCode::MaxTimeMSExpired];

/// A filter that the documents of a collection must match.
///
/// The options are those of MongoDB's collections: `validator`, a filter; `validationLevel`, one of
/// `off`, `strict` and `moderate`; `validationAction`, one of `error` and `warn`.
#[derive(Debug, Clone, PartialEq)]
pub struct Validator {
    filter: Filter,
    /// The variables with which the filter was parsed.
    variables: Variables,
    rules: Map,
    level: ValidationLevel,
    action: ValidationAction,
}

impl Validator {
    /// A validator with these rules. Rules without conditions allow all documents.
    ///
    /// # Errors
    /// As [`Filter::parse`].
    pub fn new(rules: Map, level: ValidationLevel, action: ValidationAction) -> Result<Self, FilterError> {
        let filter = Filter::parse(&rules)?;
        Ok(Self { filter, variables: Variables::NONE, rules, level, action })
    }

    /// Returns the validator with a collation for comparing strings.
    ///
    /// # Errors
    /// As [`Filter::parse`].
    pub fn collated(self, collation: Option<&Collation>) -> Result<Self, FilterError> {
        let variables = self.variables.collated(collation.cloned());
        let filter = Filter::parse_in(&self.rules, &variables)?;
        Ok(Self { filter, variables, ..self })
    }

    /// Returns the validator with an account that is charged with the memory of its expressions.
    #[must_use]
    pub fn counted_in(mut self, memory: &Memory) -> Self {
        self.variables = self.variables.counted_in(memory.clone());
        // The rules were parsed before, so this cannot fail.
        if let Ok(filter) = Filter::parse_in(&self.rules, &self.variables) {
            self.filter = filter;
        }
        self
    }

    /// A copy of the validator for one write. The interrupt can end its checks.
    #[must_use]
    pub fn interrupted_by(&self, interrupt: &Interrupt) -> Self {
        let mut own = self.clone();
        own.variables = own.variables.interrupted_by(interrupt.clone());
        // The rules were parsed before, so this cannot fail.
        if let Ok(filter) = Filter::parse_in(&own.rules, &own.variables) {
            own.filter = filter;
        }
        own
    }

    /// True if the check of the document may take long, because the document is large or the filter has an expression.
    pub fn may_take_long(&self, document: &Document) -> bool {
        document.row_len() >= LARGE_BYTES || self.filter.has_expression()
    }

    /// The rules in their original form: a filter.
    pub fn rules(&self) -> &Map {
        &self.rules
    }

    /// Selects the writes that are checked.
    pub fn level(&self) -> ValidationLevel {
        self.level
    }

    /// The action for a document that the validator refuses.
    pub fn action(&self) -> ValidationAction {
        self.action
    }

    /// Reads a validator from the options of a collection. `None` if the collection has no validator. Other options are
    /// ignored.
    ///
    /// # Errors
    /// An option has the wrong type, a level or action is unknown, or an error of [`Filter::parse`].
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

    /// The options in the form that [`Validator::from_options`] reads.
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

    /// True if the validator checks any writes.
    pub fn is_active(&self) -> bool {
        self.level != ValidationLevel::Off && !self.filter.is_empty()
    }

    /// Checks a document that is written and replaces `before` if that is given. Returns `None` if
    /// the document may be written. Otherwise returns the details of MongoDB's error 121, with the
    /// `_id` of the document.
    ///
    /// # Errors
    /// The document or `before` is damaged, the memory is exhausted, or the write must end.
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
        // If the computation of the details was interrupted, they are incomplete.
        if let Some(interrupt) = self.variables.interrupt() {
            interrupt.check().map_err(ExpressionError::from)?;
        }
        Ok(Some(refusal))
    }

    /// True if the document matches the rules. If an expression cannot be evaluated, the document does not match. If
    /// the memory is exhausted or the write must end, that is returned as an error.
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
