//! Parsing of accumulators.

use super::super::error::{PipelineError, refuse};
use super::super::options::Options;
use super::{Accumulator, Kind, Of};
use crate::code::ErrorCode;
use crate::expression::{Expression, Variables};
use crate::sort::Sort;
use crate::suggest::suggestion;
use alluvium_document::{Map, Value};

type Result<T> = std::result::Result<T, PipelineError>;

const NAMES: [&str; 25] = [
    "$addToSet",
    "$avg",
    "$bottom",
    "$bottomN",
    "$concatArrays",
    "$count",
    "$first",
    "$firstN",
    "$last",
    "$lastN",
    "$max",
    "$maxN",
    "$median",
    "$mergeObjects",
    "$min",
    "$minN",
    "$percentile",
    "$push",
    "$setUnion",
    "$stdDevPop",
    "$stdDevSamp",
    "$sum",
    "$top",
    "$topN",
    "$accumulator",
];

/// The names of all accumulators.
pub fn accumulator_names() -> impl Iterator<Item = &'static str> {
    NAMES.into_iter()
}

/// Parses the accumulator of a field: `{$sum: "$a"}`.
pub(in crate::pipeline) fn accumulator(field: &str, value: &Value, variables: &Variables) -> Result<Accumulator> {
    if field.contains('.') {
        return refuse(
            ErrorCode::Location40235,
            format!("the field name '{field}' of a group has a dot: write it with $project after the group"),
        );
    }
    if field.starts_with('$') {
        return refuse(
            ErrorCode::Location40236,
            format!("the field name '{field}' of a group begins with a dollar sign"),
        );
    }
    let Value::Map(map) = value else {
        return refuse(
            ErrorCode::Location40234,
            format!("the field '{field}' of a group must be an accumulator, such as {{$sum: 1}}"),
        );
    };
    if !map.iter().next().is_some_and(|(name, _)| name.as_str().is_some_and(|name| name.starts_with('$'))) {
        return refuse(
            ErrorCode::Location40234,
            format!("the field '{field}' of a group must be an accumulator, such as {{$sum: 1}}"),
        );
    }
    let [(Value::String(name), argument)] = &map.entries[..] else {
        return refuse(
            ErrorCode::Location40238,
            format!("the field '{field}' of a group must have exactly one accumulator, it has {}", map.len()),
        );
    };
    named(field, name, argument, variables)
}

fn named(field: &str, name: &str, argument: &Value, variables: &Variables) -> Result<Accumulator> {
    let Some(name) = NAMES.into_iter().find(|known| *known == name) else {
        let near = suggestion(name, &NAMES);
        return refuse(
            ErrorCode::Location15952,
            format!("there is no accumulator {name}{near}; it is for the field '{field}'"),
        );
    };
    let kind = match name {
        "$accumulator" => {
            return refuse(ErrorCode::NotImplemented, "$accumulator is not supported: it runs JavaScript");
        }
        "$count" => return count(argument),
        "$sum" => Kind::Sum,
        "$avg" => Kind::Avg,
        "$min" => Kind::Min,
        "$max" => Kind::Max,
        "$first" => Kind::First,
        "$last" => Kind::Last,
        "$push" => Kind::Push,
        "$addToSet" => Kind::AddToSet,
        "$concatArrays" => Kind::ConcatArrays,
        "$setUnion" => Kind::SetUnion,
        "$stdDevPop" => Kind::Deviation { sample: false },
        "$stdDevSamp" => Kind::Deviation { sample: true },
        "$mergeObjects" => Kind::MergeObjects,
        "$median" | "$percentile" => return percentile(name, argument, variables),
        "$firstN" | "$lastN" | "$minN" | "$maxN" => return some(name, argument, variables),
        _ => return sorted(name, argument, variables),
    };
    if let Value::Array(_) = argument {
        return refuse(ErrorCode::Location40237, format!("{name} takes one argument, not an array of arguments"));
    }
    let collation = variables.collation().cloned();
    Ok(Accumulator { name, kind, argument: Expression::parse_in(argument, variables)?, collation })
}

fn count(argument: &Value) -> Result<Accumulator> {
    if let Value::Array(_) = argument {
        return refuse(ErrorCode::Location40237, "$count takes an empty map, not an array of arguments");
    }
    if argument.as_map().is_none_or(|map| !map.is_empty()) {
        return refuse(ErrorCode::TypeMismatch, "$count of a group takes an empty map: {$count: {}}");
    }
    let argument = Expression::constant(Value::Int32(1));
    Ok(Accumulator { name: "$count", kind: Kind::Sum, argument, collation: None })
}

/// The argument as a map with exactly these names.
fn options<'v>(name: &'v str, argument: &'v Value, names: &[&str], codes: [ErrorCode; 2]) -> Result<Options<'v>> {
    let [not_a_map, unknown] = codes;
    let options = Options::new(name, argument, not_a_map)?;
    options.only(names, unknown)?;
    Ok(options)
}

fn some(name: &'static str, argument: &Value, variables: &Variables) -> Result<Accumulator> {
    let codes = [ErrorCode::Location5787801, ErrorCode::Location5787901];
    let options = options(name, argument, &["input", "n"], codes)?;
    let n = Expression::parse_in(options.required("n", ErrorCode::Location5787906)?, variables)?;
    let input = Expression::parse_in(options.required("input", ErrorCode::Location5787907)?, variables)?;
    let of = match name {
        "$firstN" => Of::First,
        "$lastN" => Of::Last,
        "$minN" => Of::Least,
        _ => Of::Greatest,
    };
    let collation = variables.collation().cloned();
    let accumulator = Accumulator { name, kind: Kind::Some { of, n }, argument: input, collation };
    accumulator.check_constants()?;
    Ok(accumulator)
}

fn sorted(name: &'static str, argument: &Value, variables: &Variables) -> Result<Accumulator> {
    let codes = [ErrorCode::Location5788001, ErrorCode::Location5788002];
    let has_n = name.ends_with('N');
    let names: &[&str] = if has_n { &["n", "sortBy", "output"] } else { &["sortBy", "output"] };
    let options = options(name, argument, names, codes)?;
    let n = match has_n {
        true => Some(Expression::parse_in(options.required("n", ErrorCode::Location5788003)?, variables)?),
        false => None,
    };
    let output = Expression::parse_in(options.required("output", ErrorCode::Location5788004)?, variables)?;
    let sort = match options.required("sortBy", ErrorCode::Location5788005)? {
        Value::Map(map) => Sort::parse(map)?.collated(variables.collation()),
        other => {
            return refuse(
                ErrorCode::Location5788604,
                format!("the sortBy of {name} must be a map, this is of type {}", other.type_name()),
            );
        }
    };
    let kind = Kind::Sorted { last: name.starts_with("$bottom"), sort, n };
    let accumulator = Accumulator { name, kind, argument: output, collation: None };
    accumulator.check_constants()?;
    Ok(accumulator)
}

fn percentile(name: &'static str, argument: &Value, variables: &Variables) -> Result<Accumulator> {
    let codes = [ErrorCode::Location7436100, ErrorCode::IDLUnknownField];
    let names: &[&str] = if name == "$median" { &["input", "method"] } else { &["input", "p", "method"] };
    let options = options(name, argument, names, codes)?;
    let input = Expression::parse_in(options.required("input", ErrorCode::IDLFailedToParse)?, variables)?;
    if options.required("method", ErrorCode::IDLFailedToParse)?.as_str() != Some("approximate") {
        return refuse(ErrorCode::BadValue, format!("the method of {name} must be 'approximate'; the result is exact"));
    }
    if name == "$median" {
        return Ok(Accumulator { name, kind: Kind::Median, argument: input, collation: None });
    }
    let shares = Expression::parse_in(options.required("p", ErrorCode::IDLFailedToParse)?, variables)?;
    let shares = match shares.as_constant() {
        Some(Value::Array(shares)) if !shares.is_empty() => shares,
        None => {
            return refuse(ErrorCode::Location7750300, "the p of $percentile must be a constant");
        }
        Some(_) => {
            return refuse(
                ErrorCode::Location7750301,
                "the p of $percentile must be an array of constants from 0 to 1, such as [0.5, 0.9]",
            );
        }
    };
    let share = |value: &Value| match value.as_f64() {
        Some(share) if (0.0..=1.0).contains(&share) => Ok(share.to_bits()),
        None => refuse(ErrorCode::Location7750302, format!("a p of $percentile is a number, not {value}")),
        Some(_) => {
            refuse(ErrorCode::Location7750303, format!("a p of $percentile must be from 0 to 1, this is {value}"))
        }
    };
    let shares = shares.iter().map(share).collect::<Result<_>>()?;
    Ok(Accumulator { name, kind: Kind::Percentile(shares), argument: input, collation: None })
}

impl Accumulator {
    /// Refuses a constant number of values that is not allowed, before any document is read.
    fn check_constants(&self) -> Result<()> {
        match &self.kind {
            Kind::Some { n, .. } | Kind::Sorted { n: Some(n), .. } if n.as_constant().is_some() => {
                self.start(&Value::Map(Map::new())).map(drop)
            }
            _ => Ok(()),
        }
    }
}
