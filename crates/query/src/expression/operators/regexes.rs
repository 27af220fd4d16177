//! `$regexMatch`, `$regexFind`, `$regexFindAll`.

use super::prepared::{Argument, Codes, Form, Prepared, PreparedOperator};
use super::{NULL, Operand, Outcome, given, is_nullish, some};
use crate::code::ErrorCode;
use crate::expression::MAX_VALUE_BYTES;
use crate::expression::error::{ExpressionError, fail};
use crate::pattern::{Pattern, PatternError, Patterns, Span};
use crate::work::Work;
use alluvium_document::{Map, Value, bson};
use std::borrow::Cow;

pub(super) const OPERATORS: &[PreparedOperator] =
    &[operator("$regexFind"), operator("$regexFindAll"), operator("$regexMatch")];

const fn operator(name: &'static str) -> PreparedOperator {
    PreparedOperator {
        name,
        form: Form::Named,
        names: &["input!", "regex!", "options"],
        codes: Codes::new(
            ErrorCode::Location51103,
            ErrorCode::Location31024,
            &[ErrorCode::Location31022, ErrorCode::Location31023],
        ),
        prepare,
        function: regex,
    }
}

/// Compiles a constant pattern. If the budget does not suffice for the pattern, it is compiled at each evaluation
/// instead.
fn prepare(
    operator: &PreparedOperator,
    arguments: &[Argument<'_>],
    patterns: &Patterns,
) -> Result<Option<Prepared>, ExpressionError> {
    let options = match arguments.get(2) {
        Some(Argument::Constant(options)) => Some(*options),
        Some(Argument::Computed) => return Ok(None),
        None | Some(Argument::Absent) => None,
    };
    let Some(Argument::Constant(regex)) = arguments.get(1) else { return Ok(None) };
    let Some(source) = source(operator, Some(regex), options)? else { return Ok(None) };
    // If all arguments are constants, the evaluation checks them: the input before the pattern.
    if !arguments.iter().any(|argument| matches!(argument, Argument::Computed)) {
        return Ok(None);
    }
    match source.compile(patterns) {
        Ok(pattern) => Ok(Some(Prepared::Pattern(pattern))),
        Err(_) => {
            source.compile(&Patterns::default())?;
            Ok(None)
        }
    }
}

/// A pattern that has not been compiled yet.
struct Source<'v> {
    pattern: &'v str,
    options: &'v str,
}

impl Source<'_> {
    fn compile(&self, patterns: &Patterns) -> Result<Pattern, ExpressionError> {
        if self.pattern.contains('\0') {
            return fail(ErrorCode::Location51109, "a regular expression has a zero character");
        }
        if self.options.contains('\0') {
            return fail(ErrorCode::Location51110, "the options of a regular expression have a zero character");
        }
        patterns.compile_with_groups(self.pattern, self.options).map_err(|error| match &error {
            PatternError::Invalid(message) => ExpressionError::new(ErrorCode::Location51111, message),
            _ => error.into(),
        })
    }
}

/// The pattern and options of the arguments; `None` if the pattern is null.
fn source<'v>(
    operator: &PreparedOperator,
    regex: Option<&'v Value>,
    options: Option<&'v Value>,
) -> Result<Option<Source<'v>>, ExpressionError> {
    let name = operator.name;
    let beside = match options {
        value if is_nullish(value) => None,
        Some(Value::String(options)) => Some(options.as_str()),
        Some(_) | None => {
            return fail(ErrorCode::Location51106, format!("{name} needs 'options' to be of type string"));
        }
    };
    let (pattern, own) = match regex {
        value if is_nullish(value) => return Ok(None),
        Some(Value::String(pattern)) => (pattern.as_str(), ""),
        Some(Value::Regex(regex)) => (regex.pattern.as_str(), regex.options.as_str()),
        Some(_) | None => {
            return fail(ErrorCode::Location51105, format!("{name} needs 'regex' to be of type string or regex"));
        }
    };
    if beside.is_some() && !own.is_empty() {
        let problem = format!("{name}: found regex option(s) specified in both 'regex' and 'option' fields");
        return fail(ErrorCode::Location51107, problem);
    }
    Ok(Some(Source { pattern, options: beside.unwrap_or(own) }))
}

fn regex(
    operator: &PreparedOperator,
    values: &[Operand<'_>],
    prepared: Option<&Prepared>,
    work: &mut Work<'_>,
) -> Outcome {
    let none = || match operator.name {
        "$regexMatch" => some(false),
        "$regexFindAll" => Ok(Some(Value::Array(Vec::new()))),
        _ => NULL,
    };
    let source = match prepared {
        Some(Prepared::Pattern(_)) => None,
        _ => source(operator, given(values, 1), given(values, 2))?,
    };
    let input = match given(values, 0) {
        None => None,
        Some(Value::String(text)) => Some(text),
        Some(_) => {
            return fail(ErrorCode::Location51104, format!("{} needs 'input' to be of type string", operator.name));
        }
    };
    let pattern: Cow<'_, Pattern> = match (prepared, source) {
        (Some(Prepared::Pattern(pattern)), _) => Cow::Borrowed(pattern),
        (_, Some(source)) => Cow::Owned(source.compile(&Patterns::interrupted_by(work.interrupt()))?),
        (_, None) => return none(),
    };
    let Some(input) = input else { return none() };
    match operator.name {
        "$regexMatch" => some(pattern.is_match(input)?),
        _ => found(operator, &pattern, input, work),
    }
}

/// Finds the first match, or all matches.
fn found(operator: &PreparedOperator, pattern: &Pattern, input: &str, work: &mut Work<'_>) -> Outcome {
    let (mut found, mut bytes, mut memory) = (Vec::new(), 0, 0);
    let mut at = 0;
    let mut place = Place { bytes: 0, characters: 0 };
    // A search starts at the end of the text only if the text is empty.
    while found.is_empty() || at < input.len() {
        // The search may read the whole rest of the text, even for a match that begins soon.
        work.add(input.len() - at)?;
        let Some(groups) = pattern.groups(input, at)? else { break };
        let Some(Some((start, end))) = groups.first().copied() else { break };
        place.advance(input, start);
        let described = described(input, &groups, (start, end), &place);
        bytes += bson::bson_size(&described);
        if bytes > MAX_VALUE_BYTES {
            let problem = format!("{} finds more than fits a document", operator.name);
            return fail(ErrorCode::BSONObjectTooLarge, problem);
        }
        // The memory includes two slots for each match, because the vector may double its capacity.
        memory += described.memory() + 2 * size_of::<Value>();
        work.make(memory)?;
        found.push(described);
        if operator.name == "$regexFind" {
            break;
        }
        // After an empty match, the search continues behind the next character.
        at = if end > start { end } else { end + input[end..].chars().next().map_or(1, char::len_utf8) };
    }
    match operator.name {
        "$regexFindAll" => Ok(Some(Value::Array(found))),
        _ => Ok(Some(found.into_iter().next().unwrap_or_default())),
    }
}

/// A place in a text.
struct Place {
    bytes: usize,
    characters: usize,
}

impl Place {
    /// Moves to a later byte. Each character is counted once, even if there are several matches.
    fn advance(&mut self, input: &str, bytes: usize) {
        self.characters += input.get(self.bytes..bytes).map_or(0, |passed| passed.chars().count());
        self.bytes = bytes;
    }
}

/// A match as a map: the matching text, its position in characters, and its groups.
fn described(input: &str, groups: &[Option<Span>], span: Span, place: &Place) -> Value {
    let group = |place: &Option<Span>| place.map_or(Value::Null, |(start, end)| Value::from(&input[start..end]));
    let captures: Vec<Value> = groups.iter().skip(1).map(group).collect();
    Value::Map(Map::from([
        ("match", Value::from(&input[span.0..span.1])),
        ("idx", Value::Int32(i32::try_from(place.characters).unwrap_or(i32::MAX))),
        ("captures", Value::Array(captures)),
    ]))
}
