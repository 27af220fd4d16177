//! The text of a plan file.

use super::error::{PlanError, nearest};
use super::{Chart, Size};
use serde::Deserialize;
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::Path;
use toml::Spanned;

/// A plan file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct PlanFile {
    pub title: String,
    #[serde(default)]
    pub include: Vec<Spanned<String>>,
    #[serde(default)]
    pub values: BTreeMap<String, Spanned<toml::Value>>,
    #[serde(default, rename = "experiment")]
    pub experiments: Vec<Spanned<ExperimentFile>>,
}

/// An experiment of a plan file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ExperimentFile {
    pub name: Spanned<String>,
    pub title: String,
    #[serde(default = "this_program")]
    pub program: String,
    pub prepare: Option<Spanned<Vec<String>>>,
    pub command: Spanned<Vec<String>>,
    pub warm_up: Option<Spanned<Vec<String>>>,
    #[serde(default)]
    pub fresh: bool,
    #[serde(default)]
    pub cold: bool,
    pub repeats: Option<Spanned<toml::Value>>,
    #[serde(default)]
    pub grid: BTreeMap<String, Spanned<toml::Value>>,
    #[serde(default, rename = "chart")]
    pub charts: Vec<Spanned<Chart>>,
}

fn this_program() -> String {
    super::THIS_PROGRAM.to_owned()
}

/// The text of a plan file, with its path for errors.
pub(super) struct Source<'a> {
    pub path: &'a Path,
    pub text: &'a str,
}

impl Source<'_> {
    /// Parses the text.
    pub fn parse(&self) -> Result<PlanFile, PlanError> {
        toml::from_str(self.text).map_err(|error| {
            let at = error.span().map_or(0, |span| span.start);
            self.wrong(at, explained(error.message()))
        })
    }

    /// An error at an offset of the text.
    pub fn wrong(&self, at: usize, what: impl Into<String>) -> PlanError {
        let line = self.text.as_bytes().iter().take(at).filter(|byte| **byte == b'\n').count() + 1;
        PlanError { path: self.path.to_owned(), line: Some(line), what: what.into() }
    }

    /// The value for a size: the value itself, or the entry for the size if the value is a table by
    /// size.
    pub fn by_size<'v>(
        &self,
        name: &str,
        value: &'v Spanned<toml::Value>,
        size: Size,
    ) -> Result<&'v toml::Value, PlanError> {
        let at = value.span().start;
        let toml::Value::Table(table) = value.get_ref() else { return Ok(value.get_ref()) };
        if let Some(other) = table.keys().find(|key| Size::ALL.iter().all(|size| size.name() != key.as_str())) {
            let what = format!("{name}: there is no size {other}: the sizes are small, machine and published");
            return Err(self.wrong(at, what));
        }
        table
            .get(size.name())
            .ok_or_else(|| self.wrong(at, format!("{name} has no value for the size {}", size.name())))
    }

    /// A scalar as JSON.
    pub fn scalar(&self, name: &str, value: &toml::Value, at: usize) -> Result<Value, PlanError> {
        match value {
            toml::Value::String(text) => Ok(text.as_str().into()),
            toml::Value::Integer(number) => Ok((*number).into()),
            toml::Value::Float(number) if number.is_finite() => Ok((*number).into()),
            toml::Value::Boolean(is) => Ok((*is).into()),
            _ => Err(self.wrong(at, format!("{name}: write a number, a string in quotes, true or false"))),
        }
    }
}

/// The message of the parser. For an unknown key, the most similar known key is added.
fn explained(message: &str) -> String {
    let message = message.trim_end();
    let mut quoted = message.split('`').skip(1).step_by(2);
    let Some(name) = message.strip_prefix("unknown field `").and_then(|_| quoted.next()) else {
        return message.to_owned();
    };
    let known: Vec<&str> = quoted.collect();
    match nearest(name, known.iter().copied()) {
        Some(near) => format!("there is no key {name} here: did you mean {near}?"),
        None => format!("there is no key {name} here: there are {}", known.join(", ")),
    }
}
