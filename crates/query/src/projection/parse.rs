//! Parses projections.

use alluvium_document::path::FieldPath;
use alluvium_document::row::ID;
use alluvium_document::{Map, Value};

use super::tree::{Child, Collision, Node, Slice};
use super::{ElemMatch, Kind, Projection, ProjectionError};
use crate::code::ErrorCode;
use crate::dollar::is_dollar_name;
use crate::expression::{Expression, ExpressionError, Variables};
use crate::filter::ElementFilter;
use crate::pattern::Patterns;
use crate::suggest::suggestion;

type Result<T> = std::result::Result<T, ProjectionError>;

struct Parser<'v> {
    /// The variables that expressions may use.
    variables: &'v Variables,
    /// True if the projection is a stage of a pipeline rather than part of a query.
    is_stage: bool,
    root: Node,
    elem_matches: Vec<ElemMatch>,
    patterns: Patterns,
    /// Whether the fields other than `_id` are included or excluded.
    kind: Option<Kind>,
    position: Option<FieldPath>,
    slices: bool,
    computed: Vec<(FieldPath, Expression)>,
    /// Whether `_id` itself is included.
    id: Option<bool>,
    /// True if `_id`, or a path in it, occurs in the projection.
    id_specified: bool,
}

/// Parses the projection of a query.
pub(super) fn projection(projection: &Map, variables: &Variables) -> Result<Projection> {
    parsed(projection, variables, false)
}

/// The work counted for parsing a field.
const FIELD_UNITS: usize = 64;

/// Parses the projection of a stage.
pub(super) fn stage(projection: &Map, variables: &Variables) -> Result<Projection> {
    parsed(projection, variables, true)
}

fn parsed(projection: &Map, variables: &Variables, is_stage: bool) -> Result<Projection> {
    let mut parser = Parser {
        variables,
        is_stage,
        root: Node::default(),
        elem_matches: Vec::new(),
        patterns: Patterns::interrupted_by(variables.interrupt()),
        kind: None,
        position: None,
        slices: false,
        computed: Vec::new(),
        id: None,
        id_specified: false,
    };
    for (name, value) in &projection.entries {
        parser.patterns.work(FIELD_UNITS).map_err(ExpressionError::from)?;
        let name = name_of(name)?;
        parser.id_specified |= name == ID || name.strip_prefix(ID).is_some_and(|rest| rest.starts_with('.'));
        parser.element("", name, value)?;
    }
    Ok(parser.finish())
}

fn name_of(name: &Value) -> Result<&str> {
    name.as_str().ok_or_else(|| invalid(ErrorCode::DOLLAR, "a path in a projection is a string"))
}

fn invalid(code: ErrorCode, message: impl Into<String>) -> ProjectionError {
    ProjectionError::Invalid(message.into(), code)
}

/// Parses a path of a projection.
fn path(text: &str) -> Result<FieldPath> {
    let path: FieldPath = text
        .parse()
        .map_err(|error| invalid(ErrorCode::of_path(text), format!("{text:?} cannot be in a projection: {error}")))?;
    if let Some(name) = path.names().find(|name| is_dollar_name(name)) {
        let message = format!("the name '{name}' in the projection '{text}' begins with a dollar sign");
        return Err(invalid(ErrorCode::DOLLAR, message));
    }
    Ok(path)
}

fn join(parent: &str, name: &str) -> String {
    if parent.is_empty() { name.to_owned() } else { format!("{parent}.{name}") }
}

impl Parser<'_> {
    /// Parses one field of a projection; `parent` is the path of the map that it is in.
    fn element(&mut self, parent: &str, name: &str, value: &Value) -> Result<()> {
        let full = join(parent, name);
        let is_position = !self.is_stage && (name.ends_with(".$") || name.contains(".$."));
        let is_true = match value {
            Value::Bool(flag) => Some(*flag),
            value => value.as_f64().map(|number| number != 0.0),
        };
        match (value, is_true) {
            (Value::Map(_), _) if is_position => Err(invalid(
                ErrorCode::Location31271,
                format!("the positional projection '{full}' takes true, not an expression"),
            )),
            (Value::Map(map), _) => self.map(parent, &full, map),
            (_, Some(true)) if is_position => self.position(&full),
            (_, Some(false)) if is_position => Err(invalid(
                ErrorCode::Location31395,
                format!("the positional projection '{full}' cannot exclude: leave '.$' out"),
            )),
            (_, Some(included)) => self.field(&full, included),
            (_, None) if is_position => Err(invalid(
                ErrorCode::Location31308,
                format!("the positional projection '{full}' takes true, not a constant"),
            )),
            (_, None) => self.computed(path(&full)?, value),
        }
    }

    fn add(&mut self, path: &FieldPath, child: Child) -> Result<()> {
        if self.elem_matches.iter().any(|known| &*known.name == path.first()) {
            return Err(collision(path, &if path.depth() == 1 { Collision::AtEnd } else { rest_of(path) }));
        }
        self.root.add(path.as_str(), child).map_err(|found| collision(path, &found))
    }

    fn field(&mut self, full: &str, included: bool) -> Result<()> {
        let path = path(full)?;
        self.add(&path, Child::Whole)?;
        if full == ID {
            self.id = Some(included);
            return Ok(());
        }
        match (self.kind, included) {
            (Some(Kind::Exclusion), true) => Err(invalid(
                ErrorCode::Location31253,
                format!("the projection includes '{full}' and excludes other fields: do only one of the two"),
            )),
            (Some(Kind::Inclusion), false) => Err(invalid(
                ErrorCode::Location31254,
                format!("the projection excludes '{full}' and includes other fields: do only one of the two"),
            )),
            (_, included) => {
                self.kind = Some(if included { Kind::Inclusion } else { Kind::Exclusion });
                Ok(())
            }
        }
    }

    fn position(&mut self, full: &str) -> Result<()> {
        if self.position.is_some() {
            return Err(invalid(ErrorCode::Location31276, "a projection has one positional operator '.$' at most"));
        }
        if !self.elem_matches.is_empty() {
            return Err(invalid(
                ErrorCode::Location31256,
                "a projection cannot have a positional operator and $elemMatch",
            ));
        }
        if full.contains(".$.") {
            let message =
                format!("the positional operator in the projection '{full}' must be at the end, as in 'a.b.$'");
            return Err(invalid(ErrorCode::Location31394, message));
        }
        let path = path(full.strip_suffix('$').and_then(|path| path.strip_suffix('.')).unwrap_or_default())?;
        self.add(&path, Child::Position)?;
        if self.kind == Some(Kind::Exclusion) {
            return Err(invalid(
                ErrorCode::Location31253,
                format!("the projection includes '{full}' and excludes other fields: do only one of the two"),
            ));
        }
        self.kind = Some(Kind::Inclusion);
        self.position = Some(path);
        Ok(())
    }

    /// Parses an operator, or the fields below a field.
    fn map(&mut self, parent: &str, full: &str, map: &Map) -> Result<()> {
        let path = path(full)?;
        match map.entries.as_slice() {
            [] => {
                return Err(invalid(
                    ErrorCode::Location51270,
                    format!("the projection of '{full}' is an empty map: write 1 for all of it"),
                ));
            }
            [(operator, operand)] => match operator.as_str() {
                Some(operator) if self.is_stage && is_dollar_name(operator) => {
                    return self.computed(path, &Value::Map(map.clone()));
                }
                // If the operand begins with text, `$slice` is an expression.
                Some("$slice") if !begins_with_text(operand) => {
                    self.slices = true;
                    return self.add(&path, Child::Slice(slice(full, operand)?));
                }
                Some("$elemMatch") => return self.elem_match(parent, path, operand),
                Some(operator)
                    if operator.eq_ignore_ascii_case("$elemMatch")
                        || operator.eq_ignore_ascii_case("$slice") && operator != "$slice" =>
                {
                    let near = suggestion(operator, &["$slice", "$elemMatch"]);
                    let message = format!("Unrecognized expression '{operator}'{near}; it is for '{full}'");
                    return Err(invalid(ErrorCode::Location31325, message));
                }
                Some(operator) if is_dollar_name(operator) => return self.computed(path, &Value::Map(map.clone())),
                _ => {}
            },
            _ => {}
        }
        // An empty map must also conflict with other uses of its path.
        self.add(&path, Child::Fields(Node::default()))?;
        map.entries.iter().try_for_each(|(name, value)| self.element(full, name_of(name)?, value))
    }

    /// A field that is computed.
    fn computed(&mut self, path: FieldPath, value: &Value) -> Result<()> {
        self.add(&path, Child::Computed)?;
        if self.kind == Some(Kind::Exclusion) {
            let is_operator = matches!(value, Value::Map(_));
            return Err(invalid(
                if is_operator { ErrorCode::Location31252 } else { ErrorCode::Location31310 },
                format!("the projection computes '{path}' and excludes other fields: do only one of the two"),
            ));
        }
        self.kind = Some(Kind::Inclusion);
        let expression = Expression::parse_sharing(value, self.variables, &self.patterns);
        let expression = expression.map_err(|error| unknown(&path, error))?;
        if path.as_str() == ID {
            self.id = Some(true);
        }
        self.computed.push((path, expression));
        Ok(())
    }

    fn elem_match(&mut self, parent: &str, path: FieldPath, operand: &Value) -> Result<()> {
        if !matches!(operand, Value::Map(_)) {
            let found = operand.type_name();
            return Err(invalid(
                ErrorCode::Location31274,
                format!("$elemMatch of '{path}' takes a map, this is of type {found}"),
            ));
        }
        if self.position.is_some() {
            return Err(invalid(
                ErrorCode::Location31255,
                "a projection cannot have a positional operator and $elemMatch",
            ));
        }
        if !parent.is_empty() || path.depth() > 1 {
            let message = format!("$elemMatch of '{path}' is not on a field of the document itself");
            return Err(invalid(ErrorCode::Location31275, message));
        }
        let mut filter = ElementFilter::parse_with(operand, &self.patterns)?;
        if let Some(collation) = self.variables.collation() {
            filter.collate(collation);
        }
        self.add(&path, Child::Whole)?;
        self.root.remove(path.first());
        self.elem_matches.push(ElemMatch { name: path.first().into(), filter });
        Ok(())
    }

    fn finish(mut self) -> Projection {
        let kind = self.kind.unwrap_or({
            // As in MongoDB, this is the default if the projection does not decide.
            let included = if self.slices {
                self.id == Some(true)
            } else {
                !self.elem_matches.is_empty() || self.id == Some(true)
            };
            if included { Kind::Inclusion } else { Kind::Exclusion }
        });
        match kind {
            Kind::Inclusion if self.id == Some(false) => self.root.remove(ID),
            // `_id` is added only if the projection does not name it.
            Kind::Inclusion if !self.id_specified => drop(self.root.add(ID, Child::Whole)),
            Kind::Exclusion if self.id == Some(true) => self.root.remove(ID),
            _ => {}
        }
        let Self { root, elem_matches, position, computed, .. } = self;
        Projection { kind, root, elem_matches, position, computed }
    }
}

fn begins_with_text(operand: &Value) -> bool {
    operand.as_array().and_then(|list| list.first()).is_some_and(|first| !first.is_number())
}

/// The error of an expression. An unknown expression has a different code in a projection.
fn unknown(path: &FieldPath, error: ExpressionError) -> ProjectionError {
    match error.code {
        ErrorCode::InvalidPipelineOperator => {
            invalid(ErrorCode::Location31325, format!("{}; it is for '{path}'", error.message))
        }
        _ => error.into(),
    }
}

fn rest_of(path: &FieldPath) -> Collision {
    Collision::At(path.as_str()[path.first().len() + 1..].to_owned())
}

fn collision(path: &FieldPath, collision: &Collision) -> ProjectionError {
    match collision {
        Collision::AtEnd => {
            invalid(ErrorCode::Location31250, format!("the projection has '{path}', or a path in it, twice"))
        }
        Collision::At(rest) => {
            let text = path.as_str();
            let around = text[..text.len() - rest.len()].trim_end_matches('.');
            let message = format!("the projection of '{path}' collides with that of '{around}', which contains it");
            invalid(ErrorCode::Location31249, message)
        }
    }
}

fn slice(full: &str, operand: &Value) -> Result<Slice> {
    /// The number as an integer, clamped to 32 bits.
    fn integer(value: &Value) -> Option<i32> {
        value.as_f64().map(|number| number as i32)
    }
    let wanted = "a number of elements, or [skip, limit] with a limit above 0";
    match operand {
        Value::Array(both) => match both.as_slice() {
            [skip, limit] => match (integer(skip), integer(limit)) {
                (Some(skip), Some(limit)) if limit > 0 => Ok(Slice { skip: Some(skip), limit }),
                _ => Err(invalid(ErrorCode::Location28724, format!("$slice of '{full}' takes {wanted}"))),
            },
            // MongoDB treats it as an expression, whose first operand would have to be an array.
            [_, _, _] => Err(invalid(ErrorCode::Location28724, format!("$slice of '{full}' takes {wanted}"))),
            _ => Err(invalid(ErrorCode::Location28667, format!("$slice of '{full}' takes {wanted}"))),
        },
        number => match integer(number) {
            Some(limit) => Ok(Slice { skip: None, limit }),
            None => Err(invalid(ErrorCode::Location28667, format!("$slice of '{full}' takes {wanted}"))),
        },
    }
}
