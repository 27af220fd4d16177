//! Stages of figures.

use super::super::error::{PipelineError, refuse};
use super::super::options::Options;
use super::super::stage::{Stage, Statistics};
use super::Context;
use crate::code::ErrorCode;
use alluvium_document::Value;

type Result<T> = std::result::Result<T, PipelineError>;

/// `$collStats`.
pub(super) fn of_collection(name: &'static str, operand: &Value, _: &Context<'_>, out: &mut Vec<Stage>) -> Result<()> {
    let options = Options::new(name, operand, ErrorCode::Location5447000)?;
    options.only(&["count", "latencyStats", "queryExecStats", "storageStats"], ErrorCode::IDLUnknownField)?;
    for missing in ["latencyStats", "queryExecStats"] {
        if options.get(missing).is_some() {
            return refuse(
                ErrorCode::NotImplemented,
                format!("{missing} of {name} is not supported: it is for servers"),
            );
        }
    }
    let storage_scale = match options.get("storageStats") {
        None => None,
        Some(storage) => {
            let storage = Options::new("storageStats of $collStats", storage, ErrorCode::TypeMismatch)?;
            storage.only(&["scale"], ErrorCode::IDLUnknownField)?;
            match storage.get("scale") {
                None => Some(1.0),
                Some(scale) => match scale.as_f64().map(f64::trunc) {
                    Some(scale) if scale >= 1.0 => Some(scale),
                    _ => {
                        return refuse(
                            ErrorCode::BadValue,
                            format!("the scale of {name} is a number of at least 1, not {scale}"),
                        );
                    }
                },
            }
        }
    };
    out.push(Stage::Statistics(Statistics::Collection { count: options.get("count").is_some(), storage_scale }));
    Ok(())
}

/// `$indexStats`.
pub(super) fn of_indexes(name: &'static str, operand: &Value, _: &Context<'_>, out: &mut Vec<Stage>) -> Result<()> {
    Options::new(name, operand, ErrorCode::Location28803)?.only(&[], ErrorCode::Location28803)?;
    out.push(Stage::Statistics(Statistics::Indexes));
    Ok(())
}
