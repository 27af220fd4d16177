//! Maps of named options, the operands of stages and accumulators.

use super::error::{PipelineError, refuse};
use crate::code::ErrorCode;
use crate::suggest::suggestion;
use alluvium_document::{Map, Value};

/// The options of a stage or accumulator. Error messages name the stage or accumulator.
#[derive(Debug, Clone, Copy)]
pub(super) struct Options<'v> {
    of: &'v str,
    map: &'v Map,
    /// True if an option that is null counts as missing.
    without_nulls: bool,
}

impl<'v> Options<'v> {
    /// Reads the options from a value, which must be a map.
    pub fn new(of: &'v str, value: &'v Value, not_a_map: ErrorCode) -> Result<Self, PipelineError> {
        match value {
            Value::Map(map) => Ok(Self { of, map, without_nulls: false }),
            other => refuse(not_a_map, format!("{of} takes a map, this is of type {}", other.type_name())),
        }
    }

    /// Refuses options with other names.
    pub fn only(&self, names: &[&str], unknown: ErrorCode) -> Result<(), PipelineError> {
        match self.map.iter().find(|(name, _)| !name.as_str().is_some_and(|name| names.contains(&name))) {
            Some((name, _)) => {
                let near = name.as_str().map_or_else(String::new, |name| suggestion(name, names));
                refuse(unknown, format!("{} has no option {name}{near}", self.of))
            }
            None => Ok(()),
        }
    }

    /// The same options, but an option that is null counts as missing.
    pub fn without_nulls(self) -> Self {
        Self { without_nulls: true, ..self }
    }

    /// Refuses options with other names, and options that occur more than once.
    pub fn only_once(&self, names: &[&str]) -> Result<(), PipelineError> {
        self.only(names, ErrorCode::IDLUnknownField)?;
        let name = |at: usize| self.map.entries.get(at).and_then(|(name, _)| name.as_str());
        match (0..self.map.len()).find(|at| (0..*at).any(|before| name(before) == name(*at))) {
            Some(at) => {
                let twice = name(at).unwrap_or_default();
                refuse(ErrorCode::Location40413, format!("{} has the option '{twice}' twice", self.of))
            }
            None => Ok(()),
        }
    }

    /// An option.
    pub fn get(&self, name: &str) -> Option<&'v Value> {
        self.map.get(name).filter(|value| !self.without_nulls || !matches!(value, Value::Null))
    }

    /// An option that is required.
    pub fn required(&self, name: &str, missing: ErrorCode) -> Result<&'v Value, PipelineError> {
        match self.get(name) {
            Some(value) => Ok(value),
            None => refuse(missing, format!("{} needs the option '{name}'", self.of)),
        }
    }

    /// A text option.
    pub fn text(&self, name: &str, code: ErrorCode) -> Result<Option<&'v str>, PipelineError> {
        match self.get(name) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(other) => refuse(
                code,
                format!("the option '{name}' of {} must be text, this is of type {}", self.of, other.type_name()),
            ),
        }
    }

    /// A text option that is required.
    pub fn required_text(&self, name: &str, code: ErrorCode) -> Result<&'v str, PipelineError> {
        self.required(name, code)?;
        Ok(self.text(name, code)?.unwrap_or_default())
    }

    /// A text option that is required. The errors have the codes that MongoDB uses for commands.
    pub fn required_text_or_missing(&self, name: &str) -> Result<&'v str, PipelineError> {
        self.required(name, ErrorCode::IDLFailedToParse)?;
        Ok(self.text(name, ErrorCode::TypeMismatch)?.unwrap_or_default())
    }

    /// An option that is true or false.
    pub fn flag(&self, name: &str, code: ErrorCode) -> Result<bool, PipelineError> {
        match self.get(name) {
            None => Ok(false),
            Some(Value::Bool(flag)) => Ok(*flag),
            Some(other) => refuse(
                code,
                format!("the option '{name}' of {} must be true or false, not of type {}", self.of, other.type_name()),
            ),
        }
    }
}
