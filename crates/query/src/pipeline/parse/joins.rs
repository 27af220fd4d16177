//! Stages that read or write other collections, and pipelines inside of pipelines.

use super::super::changes::Changes;
use super::super::error::{PipelineError, refuse};
use super::super::options::Options;
use super::super::record::Record;
use super::super::rewrite;
use super::super::stage::{GraphLookup, Lookup, MergeInto, Pipeline, Stage, UnionWith, WhenMatched, WhenNotMatched};
use super::simple::path;
use super::{Context, Place, Result, pipeline};
use crate::code::ErrorCode;
use crate::expression::{Expression, Variables};
use crate::filter::Filter;
use alluvium_document::path::FieldPath;
use alluvium_document::value::Text;
use alluvium_document::{Map, Value};
use std::cell::Cell;
use std::sync::Arc;

/// Parses the pipeline of a stage.
fn inner(stages: &Value, variables: &Variables, place: Place, count: &Cell<usize>) -> Result<Pipeline> {
    Ok(Pipeline { stages: rewrite::merged(pipeline(stages, variables, place, count)?) })
}

/// The variables around a stage, and those of its `let` for one document.
fn bound(around: &Variables, given: &[(Text, Expression)], record: &Record) -> Result<Variables> {
    let mut variables = around.clone();
    let mut scope = record.scope();
    for (name, expression) in given {
        variables = variables.with(name, expression.evaluate(&mut scope)?);
    }
    Ok(variables)
}

impl Lookup {
    /// The stages for one document: with the values of the variables, so that indexes are used for
    /// comparisons with them.
    ///
    /// # Errors
    /// [`PipelineError`]: an expression of `let` does not accept a value, or a stage does not accept
    /// the value of a variable.
    pub fn stages_for(&self, record: &Record) -> Result<Vec<Stage>> {
        let variables = bound(&self.around, &self.variables, record)?;
        Ok(inner(&self.stages, &variables, Place::Inner(1), &Cell::new(0))?.stages)
    }
}

impl MergeInto {
    /// What changes a document of the collection where a document of the pipeline meets it, if stages do.
    ///
    /// # Errors
    /// As [`Lookup::stages_for`].
    pub fn changes_for(&self, record: &Record) -> Result<Changes> {
        match &self.matched {
            WhenMatched::Pipeline { stages, variables } => {
                let variables = bound(&self.around, variables, record)?;
                Changes::of(inner(stages, &variables, Place::Inner(1), &Cell::new(0))?.stages)
            }
            _ => Ok(Changes::default()),
        }
    }
}

pub(super) fn facet(name: &'static str, operand: &Value, context: &Context<'_>, out: &mut Vec<Stage>) -> Result<()> {
    let level = context.inner()?;
    let map = match operand {
        Value::Map(map) if !map.is_empty() => map,
        _ => return refuse(ErrorCode::Location40169, format!("{name} takes a map of pipelines that is not empty")),
    };
    let mut facets: Vec<(Box<str>, Pipeline)> = Vec::with_capacity(map.len());
    for (field, stages) in map.iter() {
        let field = field.as_str().unwrap_or_default();
        path(name, field)?;
        if field.contains('.') {
            return refuse(ErrorCode::Location16412, format!("the field '{field}' of $facet cannot have a dot"));
        }
        if stages.as_array().is_some_and(|stages| stages.iter().any(|stage| stage.as_map().is_none())) {
            return refuse(
                ErrorCode::Location40171,
                format!("the field '{field}' of $facet must have stages, which are maps"),
            );
        }
        if !matches!(stages, Value::Array(_)) {
            return refuse(
                ErrorCode::Location40170,
                format!("the field '{field}' of $facet must be an array of stages"),
            );
        }
        facets.push((field.into(), inner(stages, context.variables, Place::Facet(level), context.stages)?));
    }
    out.push(Stage::Facet(facets));
    Ok(())
}

pub(super) fn documents(_: &'static str, operand: &Value, context: &Context<'_>, out: &mut Vec<Stage>) -> Result<()> {
    let documents = Expression::parse_in(operand, context.variables)?;
    if context.variables.has_unknown() && documents.as_constant().is_none() {
        // It is parsed again when the variables are known.
        out.push(Stage::Documents(Vec::new()));
        return Ok(());
    }
    let empty = Map::new();
    let documents = documents.evaluate(&mut crate::expression::Scope::of_map(&empty)).map_err(PipelineError::from)?;
    let Some(Value::Array(documents)) = documents else {
        return refuse(ErrorCode::Location5858203, "$documents needs an array of documents");
    };
    let map = |value| match value {
        Value::Map(map) => Ok(map),
        other => {
            let found = other.type_name();
            refuse(ErrorCode::Location40228, format!("$documents needs maps, and one element is of type {found}"))
        }
    };
    out.push(Stage::Documents(documents.into_iter().map(map).collect::<Result<_>>()?));
    Ok(())
}

/// The name of a collection in the database of the pipeline.
fn collection<'v>(of: &str, value: &'v Value) -> Result<&'v str> {
    match value {
        Value::String(name) => Ok(name),
        Value::Map(_) => refuse(
            ErrorCode::FailedToParse,
            format!("{of} reads collections of the same database: write its name as text"),
        ),
        other => refuse(
            ErrorCode::FailedToParse,
            format!("the collection of {of} must be text, this is of type {}", other.type_name()),
        ),
    }
}

/// The variables of a `let`, and the variables that are known with them.
fn variables(of: &str, given: Option<&Value>, around: &Variables) -> Result<(Vec<(Text, Expression)>, Variables)> {
    let (mut parsed, mut known) = (Vec::new(), around.clone());
    match given {
        None => {}
        Some(Value::Map(map)) => {
            for (name, value) in map.iter() {
                let name = name.as_str().unwrap_or_default();
                crate::expression::check_variable(name)?;
                parsed.push((Text::from(name), Expression::parse_in(value, around)?));
                known = known.unknown(name);
            }
        }
        Some(other) => {
            return refuse(
                ErrorCode::FailedToParse,
                format!("the let of {of} must be a map, this is of type {}", other.type_name()),
            );
        }
    }
    Ok((parsed, known))
}

pub(super) fn lookup(name: &'static str, operand: &Value, context: &Context<'_>, out: &mut Vec<Stage>) -> Result<()> {
    let level = context.inner()?;
    let code = ErrorCode::FailedToParse;
    let options = Options::new(name, operand, code)?;
    options.only(&["from", "as", "localField", "foreignField", "let", "pipeline"], code)?;
    let into = path(name, options.required_text("as", code)?)?;
    let equality = match (options.text("localField", code)?, options.text("foreignField", code)?) {
        (Some(local), Some(foreign)) => Some((path(name, local)?, path(name, foreign)?)),
        (None, None) if options.get("pipeline").is_some() => None,
        (None, None) => {
            return refuse(code, "$lookup needs localField and foreignField, or a pipeline");
        }
        _ => return refuse(code, "$lookup needs both of localField and foreignField, or neither"),
    };
    if options.get("let").is_some() && options.get("pipeline").is_none() {
        return refuse(code, "the let of $lookup is for its pipeline, and there is no pipeline");
    }
    let (parsed, known) = variables(name, options.get("let"), context.variables)?;
    let stages = options.get("pipeline").cloned().unwrap_or_else(|| Value::Array(Vec::new()));
    let checked = inner(&stages, &known, Place::Inner(level), context.stages)?;
    let from = match options.get("from") {
        Some(from) => Some(collection(name, from)?.into()),
        None if checked.has_own_documents() => None,
        None => return refuse(code, "$lookup needs 'from', the collection to read"),
    };
    let around = context.variables.clone();
    out.push(Stage::Lookup(Arc::new(Lookup { from, into, equality, variables: parsed, stages, around })));
    Ok(())
}

pub(super) fn graph_lookup(
    name: &'static str,
    operand: &Value,
    context: &Context<'_>,
    out: &mut Vec<Stage>,
) -> Result<()> {
    let options = Options::new(name, operand, ErrorCode::FailedToParse)?;
    let names = [
        "from",
        "as",
        "startWith",
        "connectFromField",
        "connectToField",
        "maxDepth",
        "depthField",
        "restrictSearchWithMatch",
    ];
    options.only(&names, ErrorCode::Location40104)?;
    let missing = ErrorCode::Location40105;
    let text = |name: &str| {
        options.required(name, missing).and_then(|_| options.required_text(name, ErrorCode::Location40103))
    };
    let max_depth = match options.get("maxDepth") {
        None => None,
        Some(depth) if !depth.is_number() => {
            return refuse(ErrorCode::Location40100, "the maxDepth of $graphLookup must be a number");
        }
        Some(depth) => match depth.as_i64().map(u64::try_from) {
            Some(Ok(depth)) => Some(depth),
            Some(Err(_)) => return refuse(ErrorCode::Location40101, "the maxDepth of $graphLookup cannot be negative"),
            None => return refuse(ErrorCode::Location40102, "the maxDepth of $graphLookup must be a whole number"),
        },
    };
    let restrict = match options.get("restrictSearchWithMatch") {
        None => Filter::default(),
        Some(Value::Map(filter)) => Filter::parse_in(filter, context.variables)?,
        Some(_) => {
            return refuse(ErrorCode::Location40185, "the restrictSearchWithMatch of $graphLookup must be a filter");
        }
    };
    let depth = options.text("depthField", ErrorCode::Location40103)?;
    let depth = depth.map(|depth| path(name, depth)).transpose()?;
    out.push(Stage::GraphLookup(Arc::new(GraphLookup {
        from: collection(name, options.required("from", ErrorCode::FailedToParse)?)?.into(),
        start: Expression::parse_in(options.required("startWith", missing)?, context.variables)?,
        connect_from: path(name, text("connectFromField")?)?,
        connect_to: path(name, text("connectToField")?)?,
        into: path(name, text("as")?)?,
        max_depth,
        depth,
        restrict,
        collation: context.variables.collation().cloned(),
    })));
    Ok(())
}

pub(super) fn union_with(
    name: &'static str,
    operand: &Value,
    context: &Context<'_>,
    out: &mut Vec<Stage>,
) -> Result<()> {
    let level = context.inner()?;
    let (from, stages) = match operand {
        Value::String(from) => (Some(from.as_str()), None),
        _ => {
            let options = Options::new(name, operand, ErrorCode::FailedToParse)?;
            options.only(&["coll", "pipeline"], ErrorCode::IDLUnknownField)?;
            let from = options.get("coll").map(|from| collection(name, from)).transpose()?;
            (from, options.get("pipeline"))
        }
    };
    let empty = Value::Array(Vec::new());
    let pipeline = inner(stages.unwrap_or(&empty), context.variables, Place::Union(level), context.stages)?;
    if from.is_none() && !pipeline.has_own_documents() {
        return refuse(ErrorCode::FailedToParse, "$unionWith needs 'coll', the collection to read");
    }
    out.push(Stage::Union(Arc::new(UnionWith { collection: from.map(Into::into), pipeline })));
    Ok(())
}

pub(super) fn out(name: &'static str, operand: &Value, _: &Context<'_>, out: &mut Vec<Stage>) -> Result<()> {
    match operand {
        Value::String(into) => out.push(Stage::Out(into.as_str().into())),
        Value::Map(_) => {
            return refuse(ErrorCode::NotImplemented, "$out writes into the same database: write its name as text");
        }
        other => {
            let found = other.type_name();
            return refuse(ErrorCode::Location16990, format!("{name} takes the name of a collection, not {found}"));
        }
    }
    Ok(())
}

pub(super) fn merge(name: &'static str, operand: &Value, context: &Context<'_>, out: &mut Vec<Stage>) -> Result<()> {
    let code = ErrorCode::FailedToParse;
    let level = context.inner()?;
    if let Value::String(into) = operand {
        let on = vec![path(name, "_id")?];
        let (matched, not_matched) = (WhenMatched::Merge, WhenNotMatched::Insert);
        out.push(Stage::Merge(Arc::new(MergeInto {
            into: into.as_str().into(),
            on,
            matched,
            not_matched,
            around: context.variables.clone(),
        })));
        return Ok(());
    }
    let options = Options::new(name, operand, ErrorCode::TypeMismatch)?;
    options.only(&["into", "on", "let", "whenMatched", "whenNotMatched"], ErrorCode::IDLUnknownField)?;
    let into = collection(name, options.required("into", ErrorCode::IDLFailedToParse)?)?;
    let on = on(name, options.get("on"))?;
    let matched = match options.get("whenMatched") {
        None => WhenMatched::Merge,
        Some(Value::String(how)) => match how.as_str() {
            "replace" => WhenMatched::Replace,
            "keepExisting" => WhenMatched::Keep,
            "merge" => WhenMatched::Merge,
            "fail" => WhenMatched::Fail,
            other => {
                let known = "replace, keepExisting, merge, fail or a pipeline";
                return refuse(ErrorCode::BadValue, format!("the whenMatched of $merge is {known}, not '{other}'"));
            }
        },
        Some(stages @ Value::Array(_)) => {
            let given = with_new(options.get("let"))?;
            let (variables, known) = variables(name, Some(&Value::Map(given)), context.variables)?;
            Changes::of(inner(stages, &known, Place::Inner(level), context.stages)?.stages)?;
            WhenMatched::Pipeline { stages: stages.clone(), variables }
        }
        Some(_) => return refuse(code, "the whenMatched of $merge must be text or an array of stages"),
    };
    if options.get("let").is_some() && !matches!(matched, WhenMatched::Pipeline { .. }) {
        return refuse(ErrorCode::Location51199, "the let of $merge is for a whenMatched that is a pipeline");
    }
    let not_matched = match options.text("whenNotMatched", code)? {
        None | Some("insert") => WhenNotMatched::Insert,
        Some("discard") => WhenNotMatched::Discard,
        Some("fail") => WhenNotMatched::Fail,
        Some(other) => {
            return refuse(
                ErrorCode::BadValue,
                format!("the whenNotMatched of $merge is insert, discard or fail, not '{other}'"),
            );
        }
    };
    if matches!(matched, WhenMatched::Keep | WhenMatched::Fail) && not_matched != WhenNotMatched::Insert {
        return refuse(
            ErrorCode::Location51181,
            "whenMatched keepExisting or fail of $merge goes with whenNotMatched insert",
        );
    }
    let around = context.variables.clone();
    out.push(Stage::Merge(Arc::new(MergeInto { into: into.into(), on, matched, not_matched, around })));
    Ok(())
}

/// The variables of a `$merge`, with `new`.
fn with_new(given: Option<&Value>) -> Result<Map> {
    let mut given = match given {
        None => Map::new(),
        Some(Value::Map(given)) => given.clone(),
        Some(_) => return refuse(ErrorCode::FailedToParse, "the let of $merge must be a map"),
    };
    match given.get("new").map(Value::as_str) {
        None => given.push("new", "$$ROOT"),
        Some(Some("$$ROOT")) => {}
        Some(_) => return refuse(ErrorCode::Location51273, "the variable 'new' of $merge is always $$ROOT"),
    }
    Ok(given)
}

/// The paths whose values find the document to change.
fn on(name: &str, value: Option<&Value>) -> Result<Vec<FieldPath>> {
    let names: Vec<&str> = match value {
        None => vec!["_id"],
        Some(Value::String(one)) => vec![one.as_str()],
        Some(Value::Array(several)) if !several.is_empty() => {
            let Some(names) = several.iter().map(Value::as_str).collect::<Option<Vec<_>>>() else {
                return refuse(ErrorCode::Location51134, "the on of $merge must be text, or an array of texts");
            };
            names
        }
        Some(Value::Array(_)) => return refuse(ErrorCode::Location51187, "the on of $merge cannot be empty"),
        Some(_) => return refuse(ErrorCode::Location51186, "the on of $merge must be text, or an array of texts"),
    };
    names.into_iter().map(|field| path(name, field)).collect()
}
