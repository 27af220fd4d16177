//! Parsing of expressions.

use super::error::{ExpressionError, fail};
use super::names;
use super::node::Node;
use super::operators::prepared::Codes;
use super::operators::{self, Operator, Parameters};
use super::random::Random;
use super::scope::{self, Scope};
use super::variables::{Binding, Variables};
use crate::code::ErrorCode;
use crate::dollar::is_reference_name;
use crate::pattern::Patterns;
use crate::suggest::suggestion;
use alluvium_document::path::{FieldPath, PathError};
use alluvium_document::value::Text;
use alluvium_document::{MAX_DEPTH, Map, Value, bson};
use std::sync::Arc;

mod prepared;

type Result<T> = std::result::Result<T, ExpressionError>;

/// The operators that are not calls of a function, in the order of their names.
const SPECIAL: [&str; 13] = [
    "$and", "$cond", "$const", "$expr", "$filter", "$ifNull", "$let", "$literal", "$map", "$or", "$rand", "$reduce",
    "$switch",
];

/// MongoDB's operators that cannot be supported, and why.
const NOT_SUPPORTED: [(&str, &str); 5] = [
    ("$accumulator", "it runs JavaScript"),
    ("$function", "it runs JavaScript"),
    ("$meta", "there is no text search"),
    ("$toHashedIndexKey", "hashed indexes have another hash here than in MongoDB"),
    ("$where", "it runs JavaScript"),
];

/// The maximum size of a value that is computed when an expression is parsed, in bytes as BSON.
const FOLDED_BYTES_MAX: usize = 4096;

/// Parses an expression that may use these variables.
pub(super) fn expression(expression: &Value, variables: &Variables, patterns: &Patterns) -> Result<Node> {
    if expression.is_too_deep() {
        return fail(ErrorCode::Overflow, format!("the expression nests deeper than {MAX_DEPTH} levels"));
    }
    let unknown = vec![String::new(); variables.slots()];
    Parser { around: variables, variables: unknown, patterns }.node(expression)
}

struct Parser<'p> {
    /// The variables around the expression.
    around: &'p Variables,
    /// The names of the variables of operators, those of outer ones first. Those around the expression
    /// have no names here.
    variables: Vec<String>,
    /// The budget for patterns that are kept.
    patterns: &'p Patterns,
}

impl Parser<'_> {
    fn node(&mut self, expression: &Value) -> Result<Node> {
        match expression {
            Value::String(text) => self.text(text),
            Value::Array(elements) => {
                let nodes: Vec<Node> = elements.iter().map(|element| self.node(element)).collect::<Result<_>>()?;
                Ok(folded(Node::Array(nodes)))
            }
            Value::Map(map) => self.map(map),
            other => Ok(Node::Constant(other.clone())),
        }
    }

    fn text(&self, text: &Text) -> Result<Node> {
        let Some(rest) = text.strip_prefix('$') else { return Ok(Node::Constant(Value::String(text.clone()))) };
        match rest.strip_prefix('$') {
            Some(variable) => self.variable(variable),
            None => Ok(Node::Field(path(rest)?)),
        }
    }

    /// A variable without its dollar signs, with a path perhaps.
    fn variable(&self, text: &str) -> Result<Node> {
        let (name, rest) = text.split_once('.').map_or((text, None), |(name, rest)| (name, Some(rest)));
        let inner = rest.map(path).transpose()?;
        if let Some(slot) = self.variables.iter().rposition(|known| known == name) {
            return Ok(Node::Variable { slot, path: inner });
        }
        match (self.around.get(name), inner) {
            (Some(Binding::Slot(slot)), path) => Ok(Node::Variable { slot: *slot, path }),
            (Some(Binding::Value(value)), path) => {
                let value = match (value, path) {
                    (Some(value), Some(path)) => scope::in_value(value, &path, 0),
                    (value, _) => value.clone(),
                };
                Ok(value.map_or(Node::Missing, Node::Constant))
            }
            (None, path) => self.always(name, path),
        }
    }

    /// One of the variables that are always there.
    fn always(&self, name: &str, path: Option<FieldPath>) -> Result<Node> {
        match (name, path) {
            ("ROOT" | "CURRENT", None) => Ok(Node::Root),
            ("ROOT" | "CURRENT", Some(path)) => Ok(Node::Field(path)),
            ("REMOVE", _) => Ok(Node::Missing),
            ("NOW", None) => match self.around.now() {
                Some(now) => Ok(Node::Constant(Value::DateTime(now))),
                None => fail(ErrorCode::NotImplemented, "there is no current time here for $$NOW"),
            },
            ("NOW", Some(_)) => Ok(Node::Missing),
            _ => {
                let always = ["ROOT", "CURRENT", "REMOVE", "NOW"].into_iter();
                let inner = self.variables.iter().map(String::as_str).filter(|name| !name.is_empty());
                let known: Vec<String> =
                    always.chain(inner).chain(self.around.names()).map(|name| format!("$${name}")).collect();
                let near = suggestion(&format!("$${name}"), &known.iter().map(String::as_str).collect::<Vec<_>>());
                fail(ErrorCode::Location17276, format!("there is no variable $${name}{near}"))
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
        if let Some(name) = map.iter().filter_map(|(name, _)| name.as_str()).find(|name| is_operator(name)) {
            return fail(
                ErrorCode::Location15983,
                format!(
                    "an expression is one operator, and {name} has other fields beside it: give each a map of its own"
                ),
            );
        }
        let mut fields = Vec::with_capacity(map.len());
        for (name, value) in map.iter() {
            let Some(name) = name.as_str() else {
                return fail(ErrorCode::TypeMismatch, "the names of a map in an expression must be text");
            };
            if name.contains('.') {
                return fail(
                    ErrorCode::Location16412,
                    format!("the field name '{name}' of an expression has a dot: write a map inside a map"),
                );
            }
            fields.push((Text::from(name), self.node(value)?));
        }
        Ok(folded(Node::Map(fields)))
    }

    fn operator(&mut self, name: &str, operand: &Value) -> Result<Node> {
        match name {
            "$literal" | "$const" => Ok(Node::Constant(operand.clone())),
            "$expr" => self.node(operand),
            "$and" => Ok(Node::And(self.list(operand)?)),
            "$or" => Ok(Node::Or(self.list(operand)?)),
            "$ifNull" => {
                let nodes = self.list(operand)?;
                if nodes.len() < 2 {
                    return fail(
                        ErrorCode::Location1257300,
                        format!("$ifNull needs at least two arguments, it has {}", nodes.len()),
                    );
                }
                Ok(folded(Node::IfNull(nodes)))
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
        let arguments = match operator.parameters {
            Parameters::Count(least, most) => {
                let nodes = self.list(operand)?;
                if nodes.len() < least || nodes.len() > most {
                    return wrong_count(operator.name, least, most, nodes.len());
                }
                nodes.into_iter().map(Some).collect()
            }
            // One argument, which may be a list that is written down.
            Parameters::One => match operand {
                Value::Array(elements) if elements.len() == 1 => vec![Some(self.node(&elements[0])?)],
                other => vec![Some(self.node(other)?)],
            },
            Parameters::Named(names, codes) => self.named(operator.name, operand, names, codes)?,
            // Either way of writing the arguments. What follows the first is the document unless it is given.
            Parameters::NamedOrOne(names) => match operand {
                Value::Map(map)
                    if map.iter().all(|(name, _)| name.as_str().is_some_and(|name| !name.starts_with('$'))) =>
                {
                    let mut arguments = self.named(operator.name, operand, names, Codes::PLAIN)?;
                    if let Some(input @ None) = arguments.get_mut(1) {
                        *input = Some(Node::Root);
                    }
                    arguments
                }
                Value::Array(elements) if elements.len() == 1 => vec![Some(self.node(&elements[0])?), Some(Node::Root)],
                other => vec![Some(self.node(other)?), Some(Node::Root)],
            },
        };
        let collation = self.around.collation().filter(|_| operator.compares()).cloned();
        Ok(folded(Node::Call { operator, arguments, collation }))
    }

    /// The arguments with these names, in this order. A name that ends with an exclamation mark is required; a missing
    /// value of one with a question mark is null.
    fn named(&mut self, operator: &str, operand: &Value, names: &[&str], codes: Codes) -> Result<Vec<Option<Node>>> {
        let plain: Vec<&str> = names.iter().map(|name| name.trim_end_matches(['!', '?', '~'])).collect();
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
        let mut nodes = Vec::with_capacity(names.len());
        let mut required = 0;
        for (name, plain) in names.iter().zip(plain) {
            nodes.push(match map.get(plain) {
                Some(value) if name.ends_with('?') => Some(or_null(self.node(value)?)),
                Some(value) => Some(self.node(value)?),
                None if name.ends_with('!') => {
                    return fail(codes.missing(required), format!("{operator} needs the argument '{plain}'"));
                }
                None => None,
            });
            required += usize::from(name.ends_with('!'));
        }
        Ok(nodes)
    }

    fn cond(&mut self, operand: &Value) -> Result<Node> {
        let [when, then, otherwise] = match operand {
            Value::Map(map) => {
                for (name, _) in map.iter() {
                    let name = name.as_str().unwrap_or_default();
                    if !["if", "then", "else"].contains(&name) {
                        return fail(
                            ErrorCode::Location17083,
                            format!("$cond has no argument '{name}'; there are if, then, else"),
                        );
                    }
                }
                let missing =
                    |name: &str, code| ExpressionError::new(code, format!("$cond needs the argument '{name}'"));
                [
                    map.get("if").ok_or_else(|| missing("if", ErrorCode::Location17080))?,
                    map.get("then").ok_or_else(|| missing("then", ErrorCode::Location17081))?,
                    map.get("else").ok_or_else(|| missing("else", ErrorCode::Location17082))?,
                ]
            }
            Value::Array(elements) => match &elements[..] {
                [when, then, otherwise] => [when, then, otherwise],
                _ => return wrong_count("$cond", 3, 3, elements.len()),
            },
            _ => return wrong_count("$cond", 3, 3, 1),
        };
        let (when, then, otherwise) = (self.node(when)?, self.node(then)?, self.node(otherwise)?);
        Ok(folded(Node::Switch { branches: vec![(when, then)], default: Some(Box::new(otherwise)) }))
    }

    fn switch(&mut self, operand: &Value) -> Result<Node> {
        let Value::Map(map) = operand else {
            return fail(ErrorCode::Location40060, "$switch takes a map of branches and default");
        };
        let (mut branches, mut default) = (Vec::new(), None);
        for (name, value) in map.iter() {
            match (name.as_str(), value) {
                (Some("branches"), Value::Array(list)) => {
                    for branch in list {
                        branches.push(self.branch(branch)?);
                    }
                }
                (Some("branches"), _) => {
                    return fail(ErrorCode::Location40061, "the branches of $switch must be an array");
                }
                (Some("default"), value) => default = Some(Box::new(self.node(value)?)),
                _ => {
                    let name = name.as_str().unwrap_or_default();
                    return fail(
                        ErrorCode::Location40067,
                        format!("$switch has no argument '{name}'; there are branches, default"),
                    );
                }
            }
        }
        if branches.is_empty() {
            return fail(ErrorCode::Location40068, "$switch needs at least one branch");
        }
        Ok(Node::Switch { branches, default })
    }

    fn branch(&mut self, branch: &Value) -> Result<(Node, Node)> {
        let Value::Map(map) = branch else {
            return fail(ErrorCode::Location40062, "each branch of $switch must be a map of case and then");
        };
        for (name, _) in map.iter() {
            let name = name.as_str().unwrap_or_default();
            if !["case", "then"].contains(&name) {
                return fail(
                    ErrorCode::Location40063,
                    format!("a branch of $switch has no argument '{name}'; there are case, then"),
                );
            }
        }
        let case = map
            .get("case")
            .ok_or_else(|| ExpressionError::new(ErrorCode::Location40064, "a branch of $switch needs a case"))?;
        let then = map
            .get("then")
            .ok_or_else(|| ExpressionError::new(ErrorCode::Location40065, "a branch of $switch needs a then"))?;
        Ok((self.node(case)?, self.node(then)?))
    }

    fn let_(&mut self, operand: &Value) -> Result<Node> {
        let Value::Map(map) = operand else {
            return fail(ErrorCode::Location16874, "$let takes a map of vars and in");
        };
        for (name, _) in map.iter() {
            let name = name.as_str().unwrap_or_default();
            if !["vars", "in"].contains(&name) {
                return fail(ErrorCode::Location16875, format!("$let has no argument '{name}'; there are vars, in"));
            }
        }
        let Some(Value::Map(vars)) = map.get("vars") else {
            return fail(ErrorCode::Location16876, "$let needs a map of variables, 'vars'");
        };
        let Some(body) = map.get("in") else {
            return fail(ErrorCode::Location16877, "$let needs the argument 'in'");
        };
        let slot = self.variables.len();
        let (mut names, mut values) = (Vec::new(), Vec::new());
        for (name, value) in vars.iter() {
            names.push(variable_name(name.as_str().unwrap_or_default())?.to_owned());
            values.push(self.node(value)?);
        }
        let body = self.within(names, body)?;
        Ok(Node::Let { slot, values, body: Box::new(body) })
    }

    fn map_over(&mut self, operand: &Value) -> Result<Node> {
        let (operator, code) = ("$map", ErrorCode::Location16879);
        let map = arguments(operator, operand, &["input", "as", "in"], ErrorCode::Location16878, code)?;
        let input = self.node(required(operator, map, "input", ErrorCode::Location16880)?)?;
        let body = required(operator, map, "in", ErrorCode::Location16882)?;
        let slot = self.variables.len();
        let body = self.within(vec![element_name(map)?.to_owned()], body)?;
        Ok(Node::MapOver { input: Box::new(input), slot, body: Box::new(body) })
    }

    fn filter(&mut self, operand: &Value) -> Result<Node> {
        let (operator, code) = ("$filter", ErrorCode::Location28647);
        let map = arguments(operator, operand, &["input", "as", "cond", "limit"], ErrorCode::Location28646, code)?;
        let input = self.node(required(operator, map, "input", ErrorCode::Location28648)?)?;
        let condition = required(operator, map, "cond", ErrorCode::Location28650)?;
        let limit = map.get("limit").map(|limit| self.node(limit)).transpose()?.map(Box::new);
        let slot = self.variables.len();
        let condition = self.within(vec![element_name(map)?.to_owned()], condition)?;
        Ok(Node::Filter { input: Box::new(input), slot, condition: Box::new(condition), limit })
    }

    fn reduce(&mut self, operand: &Value) -> Result<Node> {
        let (operator, code) = ("$reduce", ErrorCode::Location40076);
        let map = arguments(operator, operand, &["input", "initialValue", "in"], ErrorCode::Location40075, code)?;
        let input = self.node(required(operator, map, "input", ErrorCode::Location40077)?)?;
        let initial = self.node(required(operator, map, "initialValue", ErrorCode::Location40078)?)?;
        let body = required(operator, map, "in", ErrorCode::Location40079)?;
        let slot = self.variables.len();
        let body = self.within(vec!["this".to_owned(), "value".to_owned()], body)?;
        Ok(Node::Reduce { input: Box::new(input), initial: Box::new(initial), slot, body: Box::new(body) })
    }

    /// An expression that may use further variables.
    fn within(&mut self, names: Vec<String>, expression: &Value) -> Result<Node> {
        let before = self.variables.len();
        self.variables.extend(names);
        let node = self.node(expression);
        self.variables.truncate(before);
        node
    }
}

/// `$rand` takes nothing: an empty map or array.
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

/// An expression that is null instead of missing.
fn or_null(node: Node) -> Node {
    match node {
        constant @ Node::Constant(_) => constant,
        other => Node::IfNull(vec![other, Node::Constant(Value::Null)]),
    }
}

/// The operand of an operator, which must be a map of these arguments.
fn arguments<'v>(
    operator: &str,
    operand: &'v Value,
    known: &[&str],
    no_map: ErrorCode,
    unknown: ErrorCode,
) -> Result<&'v Map> {
    let Value::Map(map) = operand else {
        return fail(no_map, format!("{operator} takes a map of {}", known.join(", ")));
    };
    match map.iter().filter_map(|(name, _)| name.as_str()).find(|name| !known.contains(name)) {
        None => Ok(map),
        Some(name) => {
            let near = suggestion(name, known);
            fail(unknown, format!("{operator} has no argument '{name}'{near}; there are {}", known.join(", ")))
        }
    }
}

fn required<'v>(operator: &str, map: &'v Map, name: &str, code: ErrorCode) -> Result<&'v Value> {
    map.get(name).ok_or_else(|| ExpressionError::new(code, format!("{operator} needs the argument '{name}'")))
}

/// The name of the variable for elements: `as`, or `this`.
fn element_name(map: &Map) -> Result<&str> {
    match map.get("as") {
        None => Ok("this"),
        Some(Value::String(name)) => variable_name(name),
        Some(other) => fail(
            ErrorCode::Location16866,
            format!("the name of a variable must be text, this is of type {}", other.type_name()),
        ),
    }
}

/// Checks the name of a variable that an expression defines.
pub(super) fn variable_name(name: &str) -> Result<&str> {
    let begins = |c: char| c.is_ascii_lowercase() || !c.is_ascii();
    let goes_on = |c: char| c.is_ascii_alphanumeric() || c == '_' || !c.is_ascii();
    if name.is_empty() {
        return fail(ErrorCode::Location16866, "the name of a variable is empty");
    }
    if name == "CURRENT" {
        return Ok(name);
    }
    if !name.starts_with(begins) {
        return fail(ErrorCode::Location16867, format!("the variable '{name}' must begin with a small letter"));
    }
    match name.chars().find(|c| !goes_on(*c)) {
        None => Ok(name),
        Some(c) => fail(
            ErrorCode::Location16868,
            format!("the name of the variable '{name}' has the character {c:?}: use letters, digits and _"),
        ),
    }
}

fn path(text: &str) -> Result<FieldPath> {
    if text.is_empty() {
        return fail(ErrorCode::Location16872, "'$' alone is not a field path: write \"$name\", or {$literal: \"$\"}");
    }
    if let Some(name) = text.split('.').find(|name| name.starts_with('$')) {
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
        (least, most) if least == most => {
            let s = if least == 1 { "" } else { "s" };
            fail(ErrorCode::Location16020, format!("{operator} takes {least} argument{s}, it has {count}"))
        }
        (least, usize::MAX) => {
            fail(ErrorCode::Location28667, format!("{operator} takes at least {least} arguments, it has {count}"))
        }
        (least, most) => {
            fail(ErrorCode::Location28667, format!("{operator} takes {least} to {most} arguments, it has {count}"))
        }
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
    fail(ErrorCode::InvalidPipelineOperator, format!("there is no expression {name}{near}"))
}

/// The value of an expression of constants, which is computed once. If that fails, the error is that of the first
/// document.
fn folded(node: Node) -> Node {
    let constant = |node: &Node| matches!(node, Node::Constant(_));
    let all = match &node {
        Node::Map(fields) => fields.iter().all(|(_, node)| constant(node)),
        Node::Array(nodes) | Node::IfNull(nodes) => nodes.iter().all(constant),
        Node::Switch { branches, default } => {
            branches.iter().all(|(when, then)| constant(when) && constant(then))
                && default.iter().all(|node| constant(node))
        }
        Node::Call { operator, arguments, .. } => operator.is_constant && arguments.iter().flatten().all(constant),
        Node::Prepared(call) => call.nodes().all(constant),
        _ => false,
    };
    if !all {
        return node;
    }
    let nothing = Map::new();
    let value = node.evaluate(&mut Scope::of_map(&nothing)).map(|value| value.map(std::borrow::Cow::into_owned));
    match value {
        // A large one is made again for each document: many of them could take any amount of memory.
        Ok(Some(value)) if bson::bson_size(&value) <= FOLDED_BYTES_MAX => Node::Constant(value),
        _ => node,
    }
}
