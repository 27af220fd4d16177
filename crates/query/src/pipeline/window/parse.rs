//! Parsing of `$setWindowFields`.

use super::super::accumulator;
use super::super::error::{PipelineError, refuse};
use super::super::options::Options;
use super::{Bound, Function, Window, WindowFields};
use crate::code::ErrorCode;
use crate::expression::{Expression, Variables};
use crate::sort::Sort;
use crate::suggest::suggestion;
use alluvium_document::path::FieldPath;
use alluvium_document::{Map, Value};

type Result<T> = std::result::Result<T, PipelineError>;

const CODE: ErrorCode = ErrorCode::FailedToParse;

/// Window functions that are not accumulators.
const FUNCTIONS: [&str; 12] = [
    "$covariancePop",
    "$covarianceSamp",
    "$denseRank",
    "$derivative",
    "$documentNumber",
    "$expMovingAvg",
    "$integral",
    "$linearFill",
    "$locf",
    "$rank",
    "$shift",
    "$count",
];

/// Accumulators of one argument, for which an array of expressions is also allowed.
const PLAIN: [&str; 10] =
    ["$addToSet", "$avg", "$first", "$last", "$max", "$min", "$push", "$stdDevPop", "$stdDevSamp", "$sum"];

/// The names of window functions that are not also accumulators of groups.
pub fn window_function_names() -> impl Iterator<Item = &'static str> {
    FUNCTIONS.into_iter()
}

/// Parses the operand of `$setWindowFields`.
pub(in crate::pipeline) fn set_window_fields(operand: &Value, variables: &Variables) -> Result<WindowFields> {
    let options = Options::new("$setWindowFields", operand, CODE)?;
    options.only(&["partitionBy", "sortBy", "output"], ErrorCode::IDLUnknownField)?;
    let partition = options.get("partitionBy").map(|by| Expression::parse_in(by, variables)).transpose()?;
    let sort = match options.get("sortBy") {
        None | Some(Value::Null) => Sort::default(),
        Some(Value::Map(map)) => Sort::parse(map)?.collated(variables.collation()),
        Some(_) => return refuse(ErrorCode::TypeMismatch, "the sortBy of $setWindowFields must be a map"),
    };
    let Value::Map(output) = options.required("output", ErrorCode::IDLFailedToParse)? else {
        return refuse(ErrorCode::TypeMismatch, "the output of $setWindowFields must be a map of fields");
    };
    let mut outputs: Vec<(FieldPath, Function)> = Vec::with_capacity(output.len());
    for (field, value) in output.iter() {
        let field = field.as_str().unwrap_or_default();
        let Ok(path) = field.parse::<FieldPath>() else {
            return refuse(ErrorCode::of_path(field), format!("{field:?} is not a path of $setWindowFields"));
        };
        let has_sort = matches!(options.get("sortBy"), Some(Value::Map(_)));
        let function = Parser { field, sort: &sort, has_sort, variables }.function(value)?;
        if let Some((other, _)) = outputs.iter().find(|(other, _)| other.starts_with(&path) || path.starts_with(other))
        {
            let message = format!("$setWindowFields sets '{path}' and '{other}', of which one contains the other");
            return refuse(ErrorCode::Location6307900, message);
        }
        outputs.push((path, function));
    }
    Ok(WindowFields { partition, sort, outputs, collation: variables.collation().cloned() })
}

struct Parser<'p> {
    field: &'p str,
    sort: &'p Sort,
    /// True if there is a `sortBy`, even an empty one.
    has_sort: bool,
    variables: &'p Variables,
}

impl Parser<'_> {
    fn function(&self, value: &Value) -> Result<Function> {
        let Value::Map(map) = value else {
            return refuse(CODE, format!("the field '{}' of $setWindowFields must be a function", self.field));
        };
        let mut named = map.iter().filter(|(name, _)| name.as_str() != Some("window"));
        let (Some((Value::String(name), argument)), None) = (named.next(), named.next()) else {
            let is_rank = |name: &Value| matches!(name.as_str(), Some("$rank" | "$denseRank" | "$documentNumber"));
            let code = if map.iter().any(|(name, _)| is_rank(name)) { ErrorCode::Location5371601 } else { CODE };
            return refuse(code, format!("the field '{}' must have exactly one function, beside 'window'", self.field));
        };
        let window = map.get("window");
        let is_rank = matches!(name.as_str(), "$rank" | "$denseRank" | "$documentNumber");
        let code = if is_rank { ErrorCode::Location5371601 } else { CODE };
        let only_without = |window: Option<&Value>| match window {
            None => Ok(()),
            Some(_) => refuse(code, format!("{name} takes no window; it is for the field '{}'", self.field)),
        };
        match name.as_str() {
            "$rank" | "$denseRank" => {
                only_without(window)?;
                self.empty(name, argument, ErrorCode::Location5371603)?;
                self.sorted_by_one(name, ErrorCode::Location5371602)?;
                Ok(Function::Rank { dense: name.as_str() == "$denseRank" })
            }
            "$documentNumber" => {
                only_without(window)?;
                self.empty(name, argument, ErrorCode::Location5371603)?;
                self.sorted_by_one(name, ErrorCode::Location5371602)?;
                Ok(Function::DocumentNumber)
            }
            "$shift" => only_without(window).and_then(|()| self.shift(argument)),
            "$expMovingAvg" => only_without(window).and_then(|()| self.moving_average(argument)),
            "$linearFill" => {
                only_without(window)?;
                self.sorted_by_one(name, ErrorCode::Location605001)?;
                Ok(Function::LinearFill(self.expression(argument)?))
            }
            "$locf" => only_without(window).and_then(|()| Ok(Function::LastValue(self.expression(argument)?))),
            "$derivative" | "$integral" => self.change(name, argument, window),
            "$covariancePop" | "$covarianceSamp" => self.covariance(name, argument, window),
            _ => self.accumulated(name, map, window),
        }
    }

    fn expression(&self, value: &Value) -> Result<Expression> {
        Ok(Expression::parse_in(value, self.variables)?)
    }

    fn empty(&self, name: &str, argument: &Value, code: ErrorCode) -> Result<()> {
        match argument {
            Value::Map(map) if map.is_empty() => Ok(()),
            _ => refuse(code, format!("{name} takes an empty map: {{{name}: {{}}}}")),
        }
    }

    fn sorted(&self, name: &str, code: ErrorCode) -> Result<()> {
        if self.sort.is_empty() {
            return refuse(code, format!("{name} needs a sortBy"));
        }
        Ok(())
    }

    fn sorted_by_one(&self, name: &str, code: ErrorCode) -> Result<()> {
        if self.sort.parts().len() != 1 {
            return refuse(code, format!("{name} needs a sortBy of exactly one field"));
        }
        Ok(())
    }

    fn shift(&self, argument: &Value) -> Result<Function> {
        let options = Options::new("$shift", argument, CODE)?;
        options.only(&["output", "by", "default"], CODE)?;
        self.sorted("$shift", CODE)?;
        let output = self.expression(options.required("output", CODE)?)?;
        let by = options.required("by", CODE)?;
        let Some(by) = by.as_i64().filter(|_| by.is_number()).filter(|by| i32::try_from(*by).is_ok()) else {
            return refuse(CODE, format!("the by of $shift must be an integer of 32 bits, this is {by}"));
        };
        let default = match options.get("default") {
            None => Value::Null,
            Some(value) => match self.expression(value)?.as_constant() {
                Some(value) => value.clone(),
                None => return refuse(CODE, "the default of $shift must be a constant"),
            },
        };
        Ok(Function::Shift { output, by, default })
    }

    fn moving_average(&self, argument: &Value) -> Result<Function> {
        let options = Options::new("$expMovingAvg", argument, CODE)?;
        options.only(&["input", "N", "alpha"], CODE)?;
        self.sorted("$expMovingAvg", CODE)?;
        let input = self.expression(options.required("input", CODE)?)?;
        let weight = match (options.get("N"), options.get("alpha")) {
            (Some(n), None) => match n.as_i64() {
                Some(n @ 1..) if n <= i64::from(i32::MAX) => 2.0 / (n as f64 + 1.0),
                _ => return refuse(CODE, "the N of $expMovingAvg must be a whole number above 0"),
            },
            (None, Some(alpha)) => match alpha.as_f64() {
                Some(alpha) if alpha > 0.0 && alpha < 1.0 => alpha,
                _ => return refuse(CODE, "the alpha of $expMovingAvg must be between 0 and 1"),
            },
            _ => return refuse(CODE, "$expMovingAvg needs either N or alpha"),
        };
        Ok(Function::MovingAverage { input, weight: weight.to_bits() })
    }

    fn change(&self, name: &str, argument: &Value, window: Option<&Value>) -> Result<Function> {
        let options = Options::new(name, argument, CODE)?;
        options.only(&["input", "unit"], CODE)?;
        self.sorted_by_one(name, CODE)?;
        let input = self.expression(options.required("input", CODE)?)?;
        let unit_ms = match options.text("unit", CODE)? {
            None => None,
            Some(unit) => match milliseconds(unit) {
                Some(ms) => Some(ms),
                None => {
                    let known = "week, day, hour, minute, second or millisecond";
                    return refuse(ErrorCode::Location5490710, format!("the unit of {name} is {known}, not '{unit}'"));
                }
            },
        };
        let integral = name == "$integral";
        let window = match window {
            None if !integral => return refuse(CODE, "$derivative needs a window"),
            window => self.window(window)?,
        };
        Ok(Function::Change { input, integral, unit_ms, window })
    }

    fn covariance(&self, name: &str, argument: &Value, window: Option<&Value>) -> Result<Function> {
        let none = || Expression::constant(Value::Null);
        let both = match argument {
            Value::Array(both) if both.len() == 2 => [self.expression(&both[0])?, self.expression(&both[1])?],
            // As in MongoDB, an argument that is not an array of two numbers is ignored.
            other => {
                self.expression(other)?;
                [none(), none()]
            }
        };
        let both = Box::new(both);
        Ok(Function::Covariance { both, sample: name == "$covarianceSamp", window: self.window(window)? })
    }

    fn accumulated(&self, name: &str, map: &Map, window: Option<&Value>) -> Result<Function> {
        if name == "$mergeObjects" {
            return refuse(CODE, format!("$mergeObjects is not a window function; it is for '{}'", self.field));
        }
        let mut alone = map.clone();
        alone.remove("window");
        // In a window, an array is one argument.
        if let Some(argument @ Value::Array(_)) = alone.get(name).cloned()
            && PLAIN.contains(&name)
        {
            alone.insert(name, Map::from([("$concatArrays", Value::Array(vec![argument]))]));
        }
        let accumulator = match accumulator::accumulator(self.name_for_errors(), &Value::Map(alone), self.variables) {
            Ok(accumulator) => accumulator,
            Err(error) if error.code() == ErrorCode::Location15952 => {
                let near = suggestion(name, &FUNCTIONS);
                return refuse(CODE, format!("there is no window function {name}{near}; it is for '{}'", self.field));
            }
            Err(error) => return Err(error),
        };
        Ok(Function::Accumulated(accumulator, self.window(window)?))
    }

    /// The first name of the field, because groups refuse fields with dots.
    fn name_for_errors(&self) -> &str {
        self.field.split('.').next().unwrap_or_default()
    }

    fn window(&self, value: Option<&Value>) -> Result<Window> {
        let Some(value) = value else { return Ok(Window::all()) };
        let options = Options::new("window", value, CODE)?;
        options.only(&["documents", "range", "unit"], CODE)?;
        match (options.get("documents"), options.get("range")) {
            (Some(documents), None) => {
                if options.get("unit").is_some() {
                    return refuse(CODE, "a window of documents takes no unit");
                }
                let (low, high) = self.bounds("documents", documents)?;
                let whole = |bound: &Bound| !matches!(bound, Bound::At(n) if n.as_i64().is_none());
                if !whole(&low) || !whole(&high) {
                    return refuse(CODE, "the bounds of a window of documents must be whole numbers");
                }
                let is_default = low == Bound::Unbounded && high == Bound::Unbounded;
                if !is_default && !self.has_sort {
                    return refuse(ErrorCode::Location5339901, "a window of documents needs a sortBy");
                }
                Ok(Window::Documents(low, high))
            }
            (None, Some(range)) => {
                let (low, high) = self.bounds("range", range)?;
                self.sorted_by_one("a window of a range", ErrorCode::Location5339902)?;
                if self.sort.parts()[0].is_descending() {
                    return refuse(ErrorCode::Location8947401, "a window of a range needs an ascending sortBy");
                }
                Ok(Window::Range(low, high, options.text("unit", CODE)?.map(Into::into)))
            }
            (None, None) => Ok(Window::all()),
            (Some(_), Some(_)) => refuse(CODE, "a window has either documents or range"),
        }
    }

    fn bounds(&self, name: &str, value: &Value) -> Result<(Bound, Bound)> {
        let Some([low, high]) = value.as_array() else {
            return refuse(CODE, format!("the {name} of a window must be an array of two bounds"));
        };
        let bound = |value: &Value| match value {
            Value::String(text) if text.as_str() == "unbounded" => Ok(Bound::Unbounded),
            Value::String(text) if text.as_str() == "current" => Ok(Bound::Current),
            number if number.is_number() => Ok(Bound::At(number.clone())),
            other => refuse(CODE, format!("a bound of a window is a number, 'current' or 'unbounded', not {other}")),
        };
        let (low, high) = (bound(low)?, bound(high)?);
        let number = |bound: &Bound| match bound {
            Bound::Unbounded => None,
            Bound::Current => Some(0.0),
            Bound::At(n) => n.as_f64(),
        };
        if let (Some(low), Some(high)) = (number(&low), number(&high))
            && low > high
        {
            return refuse(ErrorCode::Location5339900, "the lower bound of a window must not be above the upper bound");
        }
        Ok((low, high))
    }
}

/// The length in milliseconds of a unit of fixed length; `None` for other units.
pub(super) fn milliseconds(unit: &str) -> Option<i64> {
    Some(match unit {
        "week" => 7 * 86_400_000,
        "day" => 86_400_000,
        "hour" => 3_600_000,
        "minute" => 60_000,
        "second" => 1000,
        "millisecond" => 1,
        _ => return None,
    })
}
