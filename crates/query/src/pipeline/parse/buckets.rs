//! `$bucket` and `$bucketAuto`.

use super::super::bucket::{BucketAuto, Granularity};
use super::super::error::refuse;
use super::super::group::Group;
use super::super::options::Options;
use super::super::stage::Stage;
use super::groups::{accumulators, starts_with_dollar};
use super::{Context, Result};
use crate::code::ErrorCode;
use crate::collation::{Collation, compare_by};
use crate::expression::Expression;
use crate::sort::Sort;
use alluvium_document::compare::type_rank;
use alluvium_document::{Map, Value};
use std::sync::{Arc, LazyLock};

/// The fields of a bucket. By default the number of documents.
fn output<'v>(options: &Options<'v>, counted: &'v Map, code: ErrorCode) -> Result<&'v Map> {
    match options.get("output") {
        None => Ok(counted),
        Some(Value::Map(fields)) => Ok(fields),
        Some(other) => refuse(code, format!("the output of a bucket must be a map, not of type {}", other.type_name())),
    }
}

fn counted() -> Map {
    Map::from([("count", Map::from([("$sum", 1)]))])
}

/// The expression to group by, which must be a path or an operator.
fn by(
    options: &Options<'_>,
    missing: ErrorCode,
    wrong: ErrorCode,
    context: &Context<'_>,
) -> Result<(Value, Expression)> {
    let value = options.required("groupBy", missing)?;
    let is_expression = match value {
        Value::String(text) => text.starts_with('$'),
        Value::Map(map) => map.iter().all(|(name, _)| starts_with_dollar(name)) && map.len() == 1,
        _ => false,
    };
    if !is_expression {
        return refuse(wrong, "the groupBy of a bucket must be a path with a dollar sign, or an operator");
    }
    Ok((value.clone(), Expression::parse_in(value, context.variables)?))
}

/// A constant of a bucket.
fn constant(value: &Value, code: ErrorCode, context: &Context<'_>) -> Result<Value> {
    match Expression::parse_in(value, context.variables)?.as_constant() {
        Some(value) => Ok(value.clone()),
        None => refuse(code, "the boundaries and the default of $bucket must be constants"),
    }
}

pub(super) fn bucket(name: &'static str, operand: &Value, context: &Context<'_>, out: &mut Vec<Stage>) -> Result<()> {
    let options = Options::new(name, operand, ErrorCode::Location40201)?;
    options.only(&["groupBy", "boundaries", "default", "output"], ErrorCode::Location40197)?;
    let (value, _) = by(&options, ErrorCode::Location40198, ErrorCode::Location40202, context)?;
    let Value::Array(given) = options.required("boundaries", ErrorCode::Location40198)? else {
        return refuse(ErrorCode::Location40200, "the boundaries of $bucket must be an array");
    };
    let bounds: Vec<Value> =
        given.iter().map(|bound| constant(bound, ErrorCode::Location40191, context)).collect::<Result<_>>()?;
    let collation = context.variables.collation();
    check_bounds(&bounds, collation)?;
    let (first, last) = (&bounds[0], &bounds[bounds.len() - 1]);
    let literal = |value: &Value| Value::Map(Map::from([("$literal", value.clone())]));
    let mut switch = Map::new();
    let both = |low: &Value, high: &Value| {
        let compared = |name: &str, bound: &Value| {
            Value::Map(Map::from([(name, Value::Array(vec![value.clone(), literal(bound)]))]))
        };
        Value::Map(Map::from([("$and", Value::Array(vec![compared("$gte", low), compared("$lt", high)]))]))
    };
    let branch =
        |pair: &[Value]| Value::Map(Map::from([("case", both(&pair[0], &pair[1])), ("then", literal(&pair[0]))]));
    switch.push("branches", Value::Array(bounds.windows(2).map(branch).collect()));
    if let Some(default) = options.get("default") {
        let default = constant(default, ErrorCode::Location40195, context)?;
        let inside = compare_by(collation, &default, first).is_ge() && compare_by(collation, &default, last).is_lt();
        if inside && type_rank(&default) == type_rank(first) {
            return refuse(
                ErrorCode::Location40199,
                "the default of $bucket must be below the first boundary, or not below the last",
            );
        }
        switch.push("default", literal(&default));
    }
    let id = Expression::parse_in(&Value::Map(Map::from([("$switch", switch)])), context.variables)?;
    let counted = counted();
    let fields = accumulators(output(&options, &counted, ErrorCode::Location40196)?, context.variables)?;
    out.push(Stage::Group(Arc::new(Group { id, fields, only_field: None, collation: collation.cloned() })));
    let sort = Sort::parse(&Map::from([("_id", 1)]))?.collated(collation);
    out.push(Stage::Sort { sort, limit: None });
    Ok(())
}

fn check_bounds(bounds: &[Value], collation: Option<&Collation>) -> Result<()> {
    if bounds.len() < 2 {
        return refuse(ErrorCode::Location40192, "$bucket needs at least two boundaries");
    }
    for pair in bounds.windows(2) {
        if type_rank(&pair[0]) != type_rank(&pair[1]) {
            return refuse(
                ErrorCode::Location40193,
                format!("the boundaries of $bucket must be of one type, these are {} and {}", pair[0], pair[1]),
            );
        }
        if compare_by(collation, &pair[0], &pair[1]).is_ge() {
            return refuse(
                ErrorCode::Location40194,
                format!("the boundaries of $bucket must ascend, and {} comes before {}", pair[0], pair[1]),
            );
        }
    }
    Ok(())
}

pub(super) fn bucket_auto(
    name: &'static str,
    operand: &Value,
    context: &Context<'_>,
    out: &mut Vec<Stage>,
) -> Result<()> {
    let options = Options::new(name, operand, ErrorCode::Location40240)?;
    options.only(&["groupBy", "buckets", "output", "granularity"], ErrorCode::Location40245)?;
    let (_, by) = by(&options, ErrorCode::Location40246, ErrorCode::Location40239, context)?;
    let buckets = options.required("buckets", ErrorCode::Location40246)?;
    if !buckets.is_number() {
        return refuse(ErrorCode::Location40241, "the buckets of $bucketAuto must be a number");
    }
    let buckets = match buckets.as_i64().and_then(|n| i32::try_from(n).ok()) {
        None => return refuse(ErrorCode::Location40242, "the buckets of $bucketAuto must be an integer of 32 bits"),
        Some(n) => match usize::try_from(n) {
            Ok(n @ 1..) => n,
            _ => return refuse(ErrorCode::Location40243, "the buckets of $bucketAuto must be above 0"),
        },
    };
    let granularity = options.text("granularity", ErrorCode::Location40261)?.map(granularity).transpose()?;
    let counted = counted();
    let fields = match output(&options, &counted, ErrorCode::Location40244)? {
        fields if fields.is_empty() => &counted,
        fields => fields,
    };
    let fields = accumulators(fields, context.variables)?;
    let collation = context.variables.collation().cloned();
    out.push(Stage::BucketAuto(Arc::new(BucketAuto { by, buckets, fields, granularity, collation })));
    Ok(())
}

static E48: LazyLock<Vec<f64>> = LazyLock::new(|| series(48));
static E96: LazyLock<Vec<f64>> = LazyLock::new(|| series(96));
static E192: LazyLock<Vec<f64>> = LazyLock::new(|| series(192));

/// A series of `numbers` numbers from 1 up to but not including 10, evenly spaced by their logarithms and rounded to
/// two decimal places. The standard for E192 has one number that differs from this rule.
fn series(numbers: u32) -> Vec<f64> {
    let number = |at: u32| (10f64.powf(f64::from(at) / f64::from(numbers)) * 100.0).round() / 100.0;
    (0..numbers).map(number).map(|x| if x == 9.19 { 9.2 } else { x }).collect()
}

/// Renard series, after ISO 3, and E series, after IEC 60063. `1-2-5` is the series used for coins.
fn granularity(name: &str) -> Result<Granularity> {
    const R5: [f64; 5] = [1.0, 1.6, 2.5, 4.0, 6.3];
    const R10: [f64; 10] = [1.0, 1.25, 1.6, 2.0, 2.5, 3.15, 4.0, 5.0, 6.3, 8.0];
    const R20: [f64; 20] =
        [1.0, 1.12, 1.25, 1.4, 1.6, 1.8, 2.0, 2.24, 2.5, 2.8, 3.15, 3.55, 4.0, 4.5, 5.0, 5.6, 6.3, 7.1, 8.0, 9.0];
    const R40: [f64; 40] = [
        1.0, 1.06, 1.12, 1.18, 1.25, 1.32, 1.4, 1.5, 1.6, 1.7, 1.8, 1.9, 2.0, 2.12, 2.24, 2.36, 2.5, 2.65, 2.8, 3.0,
        3.15, 3.35, 3.55, 3.75, 4.0, 4.25, 4.5, 4.75, 5.0, 5.3, 5.6, 6.0, 6.3, 6.7, 7.1, 7.5, 8.0, 8.5, 9.0, 9.5,
    ];
    const R80: [f64; 80] = [
        1.03, 1.06, 1.09, 1.12, 1.15, 1.18, 1.22, 1.25, 1.28, 1.32, 1.36, 1.4, 1.45, 1.5, 1.55, 1.6, 1.65, 1.7, 1.75,
        1.8, 1.85, 1.9, 1.95, 2.0, 2.06, 2.12, 2.18, 2.24, 2.3, 2.36, 2.43, 2.5, 2.58, 2.65, 2.72, 2.8, 2.9, 3.0, 3.07,
        3.15, 3.25, 3.35, 3.45, 3.55, 3.65, 3.75, 3.87, 4.0, 4.12, 4.25, 4.37, 4.5, 4.62, 4.75, 4.87, 5.0, 5.15, 5.3,
        5.45, 5.6, 5.8, 6.0, 6.15, 6.3, 6.5, 6.7, 6.9, 7.1, 7.3, 7.5, 7.75, 8.0, 8.25, 8.5, 8.75, 9.0, 9.25, 9.5, 9.75,
        10.0,
    ];
    const E6: [f64; 6] = [1.0, 1.5, 2.2, 3.3, 4.7, 6.8];
    const E12: [f64; 12] = [1.0, 1.2, 1.5, 1.8, 2.2, 2.7, 3.3, 3.9, 4.7, 5.6, 6.8, 8.2];
    const E24: [f64; 24] = [
        1.0, 1.1, 1.2, 1.3, 1.5, 1.6, 1.8, 2.0, 2.2, 2.4, 2.7, 3.0, 3.3, 3.6, 3.9, 4.3, 4.7, 5.1, 5.6, 6.2, 6.8, 7.5,
        8.2, 9.1,
    ];
    const COINS: [f64; 3] = [1.0, 2.0, 5.0];
    Ok(match name {
        "R5" => Granularity::Series(&R5),
        "R10" => Granularity::Series(&R10),
        "R20" => Granularity::Series(&R20),
        "R40" => Granularity::Series(&R40),
        "R80" => Granularity::Series(&R80),
        "E6" => Granularity::Series(&E6),
        "E12" => Granularity::Series(&E12),
        "E24" => Granularity::Series(&E24),
        "E48" => Granularity::Series(&E48),
        "E96" => Granularity::Series(&E96),
        "E192" => Granularity::Series(&E192),
        "1-2-5" => Granularity::Series(&COINS),
        "POWERSOF2" => Granularity::PowersOfTwo,
        name => {
            return refuse(
                ErrorCode::Location40257,
                format!(
                    "there is no granularity '{name}': use R5, R10, R20, R40, R80, E6, E12, E24, E48, E96, E192, 1-2-5 or POWERSOF2"
                ),
            );
        }
    })
}
