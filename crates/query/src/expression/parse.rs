//! Parsing of expressions.

use super::TEXT_BYTES_MAX;
use super::error::{ExpressionError, fail};
use super::names;
use super::node::Node;
use super::operators::prepared::Codes;
use super::operators::{self, Operator, Parameters};
use super::random::Random;
use super::scope;
use super::variables::{Binding, Variables};
use crate::code::ErrorCode;
use crate::dollar::{is_dollar_name, is_reference_name};
use crate::pattern::Patterns;
use crate::suggest::suggestion;
use alluvium_document::path::{FieldPath, PathError};
use alluvium_document::value::Text;
use alluvium_document::{MAX_DEPTH, Map, Value};
use std::sync::Arc;

mod conditions;
mod constants;
mod loops;
mod prepared;

pub(super) use loops::variable_name;

type Result<T> = std::result::Result<T, ExpressionError>;

/// A variable's value that takes more memory than this is shared, not copied into each expression that uses it.
const SHARED_BYTES: usize = 512;

/// The work counted for parsing a part of an expression.
const NODE_UNITS: usize = 64;

/// The operators that are not calls of a function, in alphabetical order.
const SPECIAL: [&str; 13] = [
    "$and", "$cond", "$const", "$expr", "$filter", "$ifNull", "$let", "$literal", "$map", "$or", "$rand", "$reduce",
    "$switch",
];

/// Operators of MongoDB that cannot be supported, with the reasons.
const NOT_SUPPORTED: [(&str, &str); 5] = [
    ("$accumulator", "it runs JavaScript"),
    ("$function", "it runs JavaScript"),
    ("$meta", "there is no text search"),
    ("$toHashedIndexKey", "hashed indexes have another hash here than in MongoDB"),
    ("$where", "it runs JavaScript"),
];

/// Parses an expression that may use these variables.
pub(super) fn expression(expression: &Value, variables: &Variables, patterns: &Patterns) -> Result<Node> {
    if expression.is_too_deep() {
        return fail(ErrorCode::Overflow, format!("the expression nests deeper than {MAX_DEPTH} levels"));
    }
    let unknown = vec![String::new(); variables.slots()];
    let mut parser = Parser { around: variables, variables: unknown, patterns, failures: Vec::new() };
    let node = parser.node(expression)?;
    match parser.failures.into_iter().next() {
        Some(failure) if !variables.defers() => Err(failure),
        Some(_) => Ok(node),
        None => Ok(node),
    }
}

struct Parser<'p> {
    /// The variables defined outside of the expression.
    around: &'p Variables,
    /// The names of the variables that operators in the expression define, outer ones first. Variables defined outside
    /// of the expression are not in this list.
    variables: Vec<String>,
    /// The budget for patterns that are kept.
    patterns: &'p Patterns,
    /// The errors of constant parts. Errors of parts that are never evaluated are left out.
    failures: Vec<ExpressionError>,
}

impl Parser<'_> {
    fn node(&mut self, expression: &Value) -> Result<Node> {
        self.patterns.work(NODE_UNITS)?;
        match expression {
            Value::String(text) => self.text(text),
            Value::Array(elements) => {
                let nodes: Vec<Node> = elements.iter().map(|element| self.node(element)).collect::<Result<_>>()?;
                Ok(self.folded(Node::Array(nodes)))
            }
            Value::Map(map) => self.map(map),
            other => Ok(Node::Constant(other.clone())),
        }
    }

    /// A value that is not an expression.
    fn literal(value: &Value) -> Result<Node> {
        match value {
            Value::String(text) => Self::checked(text),
            other => Ok(Node::Constant(other.clone())),
        }
    }

    fn checked(text: &Text) -> Result<Node> {
        if text.len() > TEXT_BYTES_MAX {
            return fail(ErrorCode::Location16493, "a text in an expression has 16 MiB or more");
        }
        Ok(Node::Constant(Value::String(text.clone())))
    }

    fn text(&self, text: &Text) -> Result<Node> {
        let Some(rest) = text.strip_prefix('$') else { return Self::checked(text) };
        match (rest.strip_prefix('$'), self.variables.iter().rposition(|known| known == "CURRENT")) {
            (Some(variable), _) => self.variable(variable),
            // Paths begin at the variable `CURRENT`, which is the document unless an operator redefines it.
            (None, Some(slot)) => Ok(Node::Variable { slot, path: Some(path(rest)?) }),
            (None, None) => Ok(Node::Field(path(rest)?)),
        }
    }

    /// A variable without its dollar signs, optionally followed by a path.
    fn variable(&self, text: &str) -> Result<Node> {
        let (name, rest) = text.split_once('.').map_or((text, None), |(name, rest)| (name, Some(rest)));
        loops::readable_name(name)?;
        let inner = match rest {
            Some("") => return fail(ErrorCode::Location40353, format!("the path '$${text}' ends with a dot")),
            rest => rest.map(path).transpose()?,
        };
        if let Some(slot) = self.variables.iter().rposition(|known| known == name) {
            return Ok(Node::Variable { slot, path: inner });
        }
        match (self.around.get(name), inner) {
            (Some(Binding::Slot(slot)), path) => Ok(Node::Variable { slot: *slot, path }),
            (Some(Binding::Value(None)), _) => Ok(Node::Missing),
            (Some(Binding::Value(Some(value))), None) => Ok(match value.memory() <= SHARED_BYTES {
                true => Node::Constant(Value::clone(value)),
                false => Node::Known(value.clone()),
            }),
            (Some(Binding::Value(Some(value))), Some(path)) => Ok(match scope::in_value(value, &path, 0) {
                None => Node::Missing,
                Some(part) if part.memory() <= SHARED_BYTES => Node::Constant(part),
                Some(_) => Node::KnownPart(value.clone(), path),
            }),
            (None, path) => self.always(name, path),
        }
    }

    /// One of the predefined variables.
    fn always(&self, name: &str, path: Option<FieldPath>) -> Result<Node> {
        match (name, path) {
            ("ROOT" | "CURRENT", None) => Ok(Node::Root),
            ("ROOT" | "CURRENT", Some(path)) => Ok(Node::Field(path)),
            ("REMOVE", _) => Ok(Node::Missing),
            ("NOW", None) => match self.around.now() {
                Some(now) => Ok(Node::Constant(Value::DateTime(now))),
                None => fail(ErrorCode::Location51144, "there is no current time here for $$NOW"),
            },
            ("NOW", Some(_)) => Ok(Node::Missing),
            ("CLUSTER_TIME", path) => match self.around.cluster_time() {
                Some(_) if path.is_some() => Ok(Node::Missing),
                Some(time) => Ok(Node::Constant(Value::Timestamp(time))),
                None => fail(ErrorCode::Location10071200, "there is no $$CLUSTER_TIME without a cluster"),
            },
            _ => {
                let always = ["ROOT", "CURRENT", "REMOVE", "NOW"].into_iter();
                let inner = self.variables.iter().map(String::as_str).filter(|name| !name.is_empty());
                let known: Vec<String> =
                    always.chain(inner).chain(self.around.names()).map(|name| format!("$${name}")).collect();
                let near = suggestion(&format!("$${name}"), &known.iter().map(String::as_str).collect::<Vec<_>>());
                fail(ErrorCode::Location17276, format!("Use of undefined variable: {name}{near}"))
            }
        }
    }

    fn map(&mut self, map: &Map) -> Result<Node> {
        let is_operator = |name: &str| name.starts_with('$') && !is_reference_name(name);
        if let [(Value::String(name), operand)] = &map.entries[..]
            && is_operator(name)
        {
            return self.operator(name, operand);
        }
        let mut names = map.iter().filter_map(|(name, _)| name.as_str());
        if let Some(name) = names.next().filter(|name| is_operator(name)) {
            return fail(
                ErrorCode::Location15983,
                format!(
                    "an object representing an expression must have exactly one field: {name} has others beside it, give \
                     each a map of its own"
                ),
            );
        }
        if let Some(name) = names.find(|name| is_operator(name)) {
            return fail(
                ErrorCode::DOLLAR,
                format!(
                    "FieldPath field names may not start with '$'. Consider using $getField or $setField. ('{name}')"
                ),
            );
        }
        let mut fields = Vec::with_capacity(map.len());
        for (name, value) in map.iter() {
            let Some(name) = name.as_str() else {
                return fail(ErrorCode::TypeMismatch, "the names of a map in an expression must be text");
            };
            if name.is_empty() {
                return fail(ErrorCode::Location15998, "FieldPath field names may not be empty strings: use $setField");
            }
            if name.contains('.') {
                return fail(
                    ErrorCode::Location16412,
                    format!("the field name '{name}' of an expression has a dot: write a map inside a map"),
                );
            }
            fields.push((Text::from(name), self.node(value)?));
        }
        Ok(self.folded(Node::Map(fields)))
    }

    fn operator(&mut self, name: &str, operand: &Value) -> Result<Node> {
        match name {
            "$literal" | "$const" => Self::literal(operand),
            "$expr" => self.node(operand),
            "$and" => Ok(Self::decided(self.list(operand)?, false)),
            "$or" => Ok(Self::decided(self.list(operand)?, true)),
            "$ifNull" => {
                let nodes = self.list(operand)?;
                if nodes.len() < 2 {
                    return fail(
                        ErrorCode::Location1257300,
                        format!("$ifNull needs at least two arguments, it has {}", nodes.len()),
                    );
                }
                Ok(self.folded(Node::IfNull(nodes)))
            }
            "$cond" => self.cond(operand),
            "$switch" => self.switch(operand),
            "$let" => self.let_(operand),
            "$map" => self.map_over(operand),
            "$filter" => self.filter(operand),
            "$reduce" => self.reduce(operand),
            "$rand" => random(operand, self.around.random()),
            _ => match (operators::find(name), operators::find_prepared(name)) {
                (Some(operator), _) => self.call(operator, operand),
                (None, Some(operator)) => self.prepared(operator, operand),
                (None, None) => unknown(name),
            },
        }
    }

    /// The operand of an operator that takes any number of arguments.
    fn list(&mut self, operand: &Value) -> Result<Vec<Node>> {
        match operand {
            Value::Array(elements) => elements.iter().map(|element| self.node(element)).collect(),
            other => Ok(vec![self.node(other)?]),
        }
    }

    fn call(&mut self, operator: &'static Operator, operand: &Value) -> Result<Node> {
        let mut arguments: Vec<Option<Node>> = match operator.parameters {
            Parameters::Count(least, most) => {
                let nodes = self.list(operand)?;
                if nodes.len() < least || nodes.len() > most {
                    return wrong_count(operator.name, least, most, nodes.len());
                }
                nodes.into_iter().map(Some).collect()
            }
            Parameters::One => vec![Some(self.node(operand)?)],
            Parameters::Only(code) => match <[Node; 1]>::try_from(self.list(operand)?) {
                Ok([only]) => vec![Some(only)],
                Err(nodes) => {
                    let problem = format!("{} takes one argument, it has {}", operator.name, nodes.len());
                    return fail(code, problem);
                }
            },
            Parameters::Named(names, codes) => self.named(operator.name, operand, names, codes)?,
            // Both notations of the arguments are allowed. If there is a single argument, the document is the second.
            Parameters::NamedOrOne(names, codes) => match operand {
                Value::Map(map)
                    if map.iter().all(|(name, _)| name.as_str().is_some_and(|name| !name.starts_with('$'))) =>
                {
                    self.named(operator.name, operand, names, codes)?
                }
                Value::Array(elements) if elements.len() == 1 => vec![Some(self.node(&elements[0])?), Some(Node::Root)],
                other => vec![Some(self.node(other)?), Some(Node::Root)],
            },
        };
        // As in MongoDB, constants come last if the order of arguments does not matter. Then a null argument decides
        // before a constant is examined.
        if let "$setUnion" | "$setIntersection" = operator.name {
            arguments.sort_by_key(|argument| matches!(argument, Some(Node::Constant(_) | Node::Known(_))));
        }
        if operator.name == "$setEquals" {
            self.failures.extend(constants::no_array(&arguments));
        }
        let collation = self.around.collation().filter(|_| operator.compares()).cloned();
        Ok(self.folded(Node::Call { operator, arguments, collation }))
    }

    /// The arguments with these names, in this order. A name that ends with an exclamation mark is required. If the
    /// value of a name with a question mark is missing, it is null. The value of a name with an equals sign is not an
    /// expression.
    fn named(&mut self, operator: &str, operand: &Value, names: &[&str], codes: Codes) -> Result<Vec<Option<Node>>> {
        let plain: Vec<&str> = names.iter().map(|name| name.trim_end_matches(['!', '?', '~', '='])).collect();
        let Value::Map(map) = operand else {
            return fail(codes.no_map, format!("{operator} takes a map of {}", plain.join(", ")));
        };
        for (name, _) in map.iter() {
            let name = name.as_str().unwrap_or_default();
            if !plain.contains(&name) {
                let near = suggestion(name, &plain);
                let problem = format!("{operator} has no argument '{name}'{near}; there are {}", plain.join(", "));
                return fail(codes.unknown, problem);
            }
        }
        let required = names.iter().zip(&plain).filter(|(name, _)| name.ends_with('!'));
        if let Some((at, (_, missing))) = required.enumerate().find(|(_, (_, plain))| !map.contains(plain)) {
            return fail(codes.missing(at), format!("{operator} needs the argument '{missing}'"));
        }
        let is_literal = |name: &str| name.contains('=');
        let mut nodes = Vec::with_capacity(names.len());
        for (name, plain) in names.iter().zip(&plain) {
            nodes.push(match map.get(plain) {
                Some(value) if name.ends_with('?') => Some(or_null(self.node(value)?)),
                Some(value) if !is_literal(name) => Some(self.node(value)?),
                _ => None,
            });
        }
        for (node, (name, plain)) in nodes.iter_mut().zip(names.iter().zip(plain)) {
            if let Some(value) = map.get(plain).filter(|_| is_literal(name)) {
                *node = Some(constants::argument(operator, value)?);
            }
        }
        Ok(nodes)
    }
}

/// `$rand` has no arguments: its operand is an empty map or array.
fn random(operand: &Value, source: Option<Arc<Random>>) -> Result<Node> {
    let is_empty = match operand {
        Value::Map(map) => map.is_empty(),
        Value::Array(elements) => elements.is_empty(),
        other => {
            let found = other.type_name();
            return fail(ErrorCode::Location10065, format!("$rand takes an empty map, this is of type {found}"));
        }
    };
    if !is_empty {
        return fail(ErrorCode::Location3040501, "$rand takes no arguments: write {}");
    }
    match source {
        Some(source) => Ok(Node::Random(source)),
        None => fail(ErrorCode::NotImplemented, "there are no random numbers here for $rand"),
    }
}

/// An expression whose value is null if it would be missing.
fn or_null(node: Node) -> Node {
    match node {
        constant @ (Node::Constant(_) | Node::Known(_)) => constant,
        other => Node::IfNull(vec![other, Node::Constant(Value::Null)]),
    }
}

fn path(text: &str) -> Result<FieldPath> {
    if text.is_empty() {
        return fail(
            ErrorCode::Location16872,
            "'$' by itself is not a valid FieldPath: write \"$name\", or {$literal: \"$\"}",
        );
    }
    if let Some(name) = text.split('.').find(|name| is_dollar_name(name)) {
        return fail(
            ErrorCode::Location16410,
            format!("the name '{name}' in the field path '${text}' begins with a dollar sign: use $getField"),
        );
    }
    text.parse().map_err(|error: PathError| {
        let code = match error {
            PathError::Nul => ErrorCode::Location16411,
            PathError::TooLong => ErrorCode::Overflow,
            PathError::EmptyName if text.ends_with('.') => ErrorCode::Location40353,
            PathError::EmptyName => ErrorCode::Location15998,
        };
        ExpressionError::new(code, format!("'${text}': {error}"))
    })
}

fn wrong_count<T>(operator: &str, least: usize, most: usize, count: usize) -> Result<T> {
    match (least, most) {
        (least, usize::MAX) if operator == "$setEquals" => {
            fail(ErrorCode::Location17045, format!("{operator} takes at least {least} arguments, it has {count}"))
        }
        (least, most) if least == most => {
            let s = if least == 1 { "" } else { "s" };
            fail(
                ErrorCode::Location16020,
                format!("Expression {operator} takes exactly {least} argument{s}. {count} were passed in."),
            )
        }
        (least, usize::MAX) => {
            fail(ErrorCode::Location28667, format!("{operator} takes at least {least} arguments, it has {count}"))
        }
        (least, most) => fail(
            ErrorCode::Location28667,
            format!(
                "Expression {operator} takes at least {least} arguments, and at most {most}, but {count} were passed in."
            ),
        ),
    }
}

fn unknown<T>(name: &str) -> Result<T> {
    if let Some((_, why)) = NOT_SUPPORTED.iter().find(|(known, _)| *known == name) {
        return fail(ErrorCode::NotImplemented, format!("{name} is not supported: {why}"));
    }
    if names::is_known(name) {
        return fail(ErrorCode::NotImplemented, format!("the expression {name} is not supported"));
    }
    let known: Vec<&str> = operators::names().chain(SPECIAL).collect();
    let near = suggestion(name, &known);
    fail(ErrorCode::InvalidPipelineOperator, format!("Unrecognized expression '{name}'{near}"))
}
