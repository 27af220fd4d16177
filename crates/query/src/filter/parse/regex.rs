//! Parses `$regex` with its `$options`.

use super::{REGEX, Result, bad};
use crate::code::ErrorCode;
use crate::filter::FilterError;
use crate::filter::tree::Test;
use crate::pattern::Patterns;
use alluvium_document::{Map, Value};

/// The test of a field by `$regex`. Its options are in `map`.
pub(super) fn test(operand: &Value, map: &Map, patterns: &Patterns) -> Result<Test> {
    let options = match map.get("$options") {
        None => None,
        Some(Value::String(options)) => Some(options.as_str()),
        Some(other) => return Err(bad(format!("$options takes a string, this is of type {}", other.type_name()))),
    };
    // As in MongoDB, the options of a `$regex` value take precedence over `$options` that follow
    // it, even if these are empty.
    let first = map.entries.iter().find_map(|(name, _)| name.as_str().filter(|name| REGEX.contains(name)));
    let twice = match (operand, options) {
        (Value::Regex(regex), Some(_)) if !regex.options.is_empty() && first == Some(REGEX[0]) => {
            Some(ErrorCode::Location51075)
        }
        (Value::Regex(regex), Some(others)) if !regex.options.is_empty() && !others.is_empty() => {
            Some(ErrorCode::Location51074)
        }
        _ => None,
    };
    if let Some(code) = twice {
        let what = "a regular expression has its own options: remove $options";
        return Err(FilterError::OptionsTwice(what.to_owned(), code));
    }
    let pattern = match (operand, options) {
        (Value::String(pattern), options) => patterns.compile(pattern, options.unwrap_or_default()),
        (Value::Regex(regex), Some("")) => patterns.compile(&regex.pattern, &regex.options),
        (Value::Regex(regex), options) => patterns.compile(&regex.pattern, options.unwrap_or(&regex.options)),
        (other, _) => {
            let found = other.type_name();
            return Err(bad(format!("$regex takes a string or a regular expression, this is of type {found}")));
        }
    };
    Ok(Test::Regex(pattern?))
}
