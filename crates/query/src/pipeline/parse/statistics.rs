//! Parsing of stages that return statistics.

use super::super::error::{PipelineError, refuse};
use super::super::options::Options;
use super::super::stage::{Stage, Statistics};
use super::Context;
use crate::code::ErrorCode;
use alluvium_document::{Map, Value};
use std::cmp::Ordering;

type Result<T> = std::result::Result<T, PipelineError>;

/// `$collStats`. An option that is null counts as missing.
pub(super) fn of_collection(name: &'static str, operand: &Value, _: &Context<'_>, out: &mut Vec<Stage>) -> Result<()> {
    let options = Options::new(name, operand, ErrorCode::Location5447000)?;
    options.only(&["count", "latencyStats", "queryExecStats", "storageStats"], ErrorCode::IDLUnknownField)?;
    let (mut count, mut storage_scale, mut of_server) = (false, None, None);
    for (option, value) in operand.as_map().into_iter().flat_map(Map::iter) {
        let option = option.as_str().unwrap_or_default();
        if matches!(value, Value::Null | Value::Undefined) {
            continue;
        }
        let Value::Map(map) = value else {
            let found = value.type_name();
            return refuse(ErrorCode::TypeMismatch, format!("{option} of {name} takes a map, this is of type {found}"));
        };
        match option {
            "storageStats" => storage_scale = Some(scale(name, map.get("scale"))?),
            "latencyStats" => {
                check_latencies(name, value)?;
                of_server = of_server.or(Some(option));
            }
            _ if !map.is_empty() => {
                return refuse(ErrorCode::Location31170, format!("{option} of {name} has no options"));
            }
            "count" => count = true,
            _ => of_server = of_server.or(Some(option)),
        }
    }
    if let Some(option) = of_server {
        return refuse(ErrorCode::NotImplemented, format!("{option} of {name} is not supported: it is for servers"));
    }
    out.push(Stage::Statistics(Statistics::Collection { count, storage_scale }));
    Ok(())
}

fn check_latencies(name: &'static str, value: &Value) -> Result<()> {
    let options = Options::new("latencyStats of $collStats", value, ErrorCode::TypeMismatch)?;
    options.only(&["histograms"], ErrorCode::IDLUnknownField)?;
    match options.get("histograms") {
        None | Some(Value::Bool(_)) => Ok(()),
        Some(other) => {
            let message = format!("histograms of {name} is true or false, not {}", other.type_name());
            refuse(ErrorCode::TypeMismatch, message)
        }
    }
}

/// The number of bytes by which sizes are divided. Fractions are dropped; a decimal is rounded half to even.
fn scale(name: &'static str, value: Option<&Value>) -> Result<f64> {
    let scale = match value {
        None | Some(Value::Null | Value::Undefined) => 1.0,
        Some(Value::Decimal(decimal)) => {
            let floor = decimal.floor_f64().0.floor();
            match decimal.compare_f64(floor + 0.5) {
                Ordering::Less => floor,
                Ordering::Equal => (floor + 0.5).round_ties_even(),
                Ordering::Greater => floor + 1.0,
            }
        }
        Some(value) => match value.as_f64() {
            Some(number) => number.trunc(),
            None => {
                let message = format!("the scale of {name} is a number, not {}", value.type_name());
                return refuse(ErrorCode::TypeMismatch, message);
            }
        },
    };
    match scale >= 1.0 {
        true => Ok(scale.min(f64::from(i32::MAX))),
        false => refuse(ErrorCode::BadValue, format!("the scale of {name} is a number of at least 1, not {scale}")),
    }
}

/// `$indexStats`.
pub(super) fn of_indexes(name: &'static str, operand: &Value, _: &Context<'_>, out: &mut Vec<Stage>) -> Result<()> {
    Options::new(name, operand, ErrorCode::Location28803)?.only(&[], ErrorCode::Location28803)?;
    out.push(Stage::Statistics(Statistics::Indexes));
    Ok(())
}
