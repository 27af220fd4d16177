//! Views: pipelines with a name.

use super::refuse;
use crate::engine::EngineHandle;
use crate::error::Result;
use crate::find::{limited, moment_in};
use crate::names::FullName;
use crate::options::View;
use alluvium_document::Value;
use alluvium_exec::Limits;
use alluvium_query::ErrorCode;
use alluvium_query::collation::Collation;
use alluvium_query::pipeline::{Pipeline, Stage, Statistics};

/// Creates a view, a name for a pipeline over a collection or another view. That collection or view need not exist yet.
///
/// # Errors
/// [`crate::error::Error::Pipeline`] for the stages; the name is taken or not allowed; as for any write.
pub fn create_view(engine: &EngineHandle, name: &FullName, view: View) -> Result<()> {
    check(engine, &view)?;
    engine.catalog.create_view(name, view)
}

/// Replaces the view with this name atomically.
///
/// # Errors
/// [`crate::error::Error::NoSuchCollection`]; as [`create_view`].
pub fn change_view(engine: &EngineHandle, name: &FullName, view: View) -> Result<()> {
    check(engine, &view)?;
    engine.catalog.change_view(name, view)
}

fn check(engine: &EngineHandle, view: &View) -> Result<()> {
    if !parsed(engine, &view.pipeline, view.collation.as_ref(), &Limits::default())?.is_for_views() {
        let message = "the pipeline of a view cannot have $out, $merge, $collStats or $indexStats";
        return refuse(ErrorCode::OptionNotSupportedOnView, message.to_owned());
    }
    Ok(())
}

/// Parses the stages. The limits of the query also end the parser.
fn parsed(engine: &EngineHandle, stages: &[Value], collation: Option<&Collation>, limits: &Limits) -> Result<Pipeline> {
    let moment = limited(moment_in(engine), limits, &engine.env).collated(collation.cloned());
    Ok(Pipeline::parse(&Value::Array(stages.to_vec()), &moment)?)
}

/// The collection that a name reads, directly or by views, and all stages over it: the stages of the views, then
/// `stages`.
pub(super) fn resolved(
    engine: &EngineHandle,
    name: &FullName,
    stages: Vec<Stage>,
    collation: Option<&Collation>,
    limits: &Limits,
) -> Result<(FullName, Vec<Stage>)> {
    let Some(view) = engine.catalog.view(name) else { return Ok((name.clone(), stages)) };
    match stages.first() {
        // Statistics of the view itself, if the stage requests nothing about documents.
        Some(Stage::Statistics(Statistics::Collection { count: false, storage_scale: None })) => {
            return Ok((name.clone(), stages));
        }
        Some(Stage::Statistics(Statistics::Collection { .. })) => {
            return Err(crate::error::Error::IsView(name.to_string()));
        }
        // Statistics of the indexes of the underlying collection.
        Some(Stage::Statistics(Statistics::Indexes)) => return Ok((engine.catalog.under(name)?.0, stages)),
        _ => {}
    }
    if collation != view.collation.as_ref() {
        // A query can use an index only if its collation is the same for all stages.
        let shown = view.collation.as_ref().map_or("simple".to_owned(), ToString::to_string);
        let message = format!("the view {name} compares by the collation {shown}, and no other one");
        return refuse(ErrorCode::OptionNotSupportedOnView, message);
    }
    let (name, before) = engine.catalog.under(name)?;
    Ok((name, parsed(engine, &before, collation, limits)?.then(stages).into_stages()))
}
