//! Parsing of stages that read or write other collections, or contain pipelines.

use super::super::changes::Changes;
use super::super::error::{PipelineError, refuse};
use super::super::options::Options;
use super::super::record::Record;
use super::super::rewrite;
use super::super::stage::{
    GraphLookup, Lookup, MergeInto, Output, Pipeline, Stage, UnionWith, WhenMatched, WhenNotMatched,
};
use super::super::stages::StageName;
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

/// The variables defined outside of a stage, and the variables of its `let`, with their values for one document.
fn bound(around: &Variables, given: &[(Text, Expression)], record: &Record) -> Result<Variables> {
    let mut variables = around.clone();
    let mut scope = record.scope();
    for (name, expression) in given {
        variables = variables.with(name, expression.evaluate(&mut scope)?);
    }
    Ok(variables)
}

impl Lookup {
    /// Parses the stages for one document, with the values of the variables. Because the values are
    /// known, indexes can be used for comparisons with variables.
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
    /// Parses the stages with which `$merge` changes a document of the collection that matches a document of the
    /// pipeline. Empty if the action is not given as stages.
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
        if field.is_empty() {
            return refuse(ErrorCode::Location15998, "a field of $facet cannot have an empty name");
        }
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
        // The operand is parsed again when the values of the variables are known.
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
        Value::String(name) if name.contains('\0') => {
            let problem = format!("{of}: namespaces cannot have embedded null characters");
            refuse(ErrorCode::InvalidNamespace, problem)
        }
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

/// The variables of a `let`, and all variables that are known together with them.
fn variables(of: &str, given: Option<&Value>, around: &Variables) -> Result<(Vec<(Text, Expression)>, Variables)> {
    let (mut parsed, mut known) = (Vec::new(), around.clone());
    match given {
        None => {}
        Some(Value::Map(map)) => {
            for (name, value) in map.iter() {
                let name = name.as_str().unwrap_or_default();
                if let Err(error) = crate::expression::check_variable(name) {
                    return refuse(ErrorCode::FailedToParse, error.to_string());
                }
                parsed.push((Text::from(name), Expression::parse_in(value, around)?));
                known = known.unknown(name);
            }
        }
        Some(other) => {
            return refuse(
                ErrorCode::TypeMismatch,
                format!("the let of {of} must be a map, this is of type {}", other.type_name()),
            );
        }
    }
    Ok((parsed, known))
}

pub(super) fn lookup(name: &'static str, operand: &Value, context: &Context<'_>, out: &mut Vec<Stage>) -> Result<()> {
    let level = context.inner()?;
    let (code, wrong_type) = (ErrorCode::FailedToParse, ErrorCode::TypeMismatch);
    let options = Options::new(name, operand, code)?.without_nulls();
    let stages = match operand.as_map().and_then(|map| map.get("pipeline")) {
        Some(stages @ Value::Array(_)) => stages.clone(),
        None => Value::Array(Vec::new()),
        Some(other) => {
            let found = other.type_name();
            return refuse(wrong_type, format!("the pipeline of $lookup is an array of stages, not {found}"));
        }
    };
    let own = own_documents(&stages);
    if !own && options.get("from").is_none() {
        return refuse(code, "$lookup needs 'from', the collection to read");
    }
    options.only_once(&["from", "as", "localField", "foreignField", "let", "pipeline"])?;
    let into = path(name, options.required_text_or_missing("as")?)?;
    let field = |name: &str| Ok::<_, PipelineError>(options.text(name, wrong_type)?.filter(|text| !text.is_empty()));
    let equality = match (field("localField")?, field("foreignField")?) {
        (Some(local), Some(foreign)) => Some((path(name, local)?, path(name, foreign)?)),
        (None, None) if options.get("pipeline").is_some() => None,
        (None, None) => {
            return refuse(code, "$lookup needs localField and foreignField, or a pipeline");
        }
        _ => return refuse(code, "$lookup needs both of localField and foreignField, or neither"),
    };
    if options.get("let").is_some_and(|given| !matches!(given, Value::Map(_))) {
        return refuse(wrong_type, "the let of $lookup must be a map");
    }
    if options.get("let").is_some() && options.get("pipeline").is_none() {
        return refuse(code, "the let of $lookup is for its pipeline, and there is no pipeline");
    }
    let (parsed, known) = variables(name, options.get("let"), context.variables)?;
    inner(&stages, &known, Place::Inner(level), context.stages)?;
    let from = match options.get("from") {
        Some(_) if own => {
            return refuse(ErrorCode::InvalidNamespace, "$lookup with a pipeline of $documents has no 'from'");
        }
        Some(from) => Some(lookup_from(name, from)?.into()),
        None => None,
    };
    let around = context.variables.clone();
    out.push(Stage::Lookup(Arc::new(Lookup { from, into, equality, variables: parsed, stages, around })));
    Ok(())
}

/// True if the first stage is `$documents`.
fn own_documents(stages: &Value) -> bool {
    let first = stages.as_array().and_then(|stages| stages.first()).and_then(Value::as_map);
    first.is_some_and(|stage| stage.contains(StageName::Documents.name()))
}

/// The collection of a `$lookup`. A map with a database and a name is allowed only for MongoDB's own databases.
fn lookup_from<'v>(name: &str, from: &'v Value) -> Result<&'v str> {
    if let Value::Map(_) = from {
        let options = Options::new("the from of $lookup", from, ErrorCode::FailedToParse)?;
        options.only(&["db", "coll"], ErrorCode::IDLUnknownField)?;
        options.text("db", ErrorCode::TypeMismatch)?;
        options.text("coll", ErrorCode::TypeMismatch)?;
    }
    collection(name, from)
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
        unwind: None,
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
        Value::String(_) => (Some(collection(name, operand)?), None),
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

/// Databases that the server itself uses.
const SYSTEM_DATABASES: [&str; 3] = ["admin", "config", "local"];

/// The name of a logical database in an option; `None` for the database of the pipeline.
fn database(of: &str, name: Option<&str>) -> Result<Option<Box<str>>> {
    let Some(name) = name else { return Ok(None) };
    if name.is_empty() || name.chars().any(|c| matches!(c, '/' | '\\' | '.' | ' ' | '"' | '$' | '\0')) {
        return refuse(ErrorCode::InvalidNamespace, format!("{of}: the name of a database cannot be {name:?}"));
    }
    Ok(Some(name.into()))
}

pub(super) fn out(name: &'static str, operand: &Value, _: &Context<'_>, out: &mut Vec<Stage>) -> Result<()> {
    let output = match operand {
        Value::String(into) => Output { database: None, collection: into.as_str().into() },
        Value::Map(_) => {
            let options = Options::new(name, operand, ErrorCode::Location16990)?.without_nulls();
            options.only_once(&["db", "coll", "timeseries"])?;
            let database = database(name, Some(options.required_text_or_missing("db")?))?;
            let collection = options.required_text_or_missing("coll")?.into();
            if options.get("timeseries").is_some() {
                return refuse(ErrorCode::NotImplemented, "$out does not support collections of time series");
            }
            Output { database, collection }
        }
        other => {
            let found = other.type_name();
            return refuse(ErrorCode::Location16990, format!("{name} takes the name of a collection, not {found}"));
        }
    };
    if output.database.as_ref().is_some_and(|database| SYSTEM_DATABASES.contains(&&**database)) {
        return refuse(ErrorCode::Location31321, "$out cannot write into the databases admin, config and local");
    }
    if output.collection.starts_with("system.") {
        return refuse(ErrorCode::Location17385, "$out cannot write into a collection of the system");
    }
    if output.collection.contains('$') || output.collection.len() > NAME_BYTES_MAX {
        let why = format!("a name is without $, and has at most {NAME_BYTES_MAX} bytes");
        return refuse(ErrorCode::IllegalOperation, format!("$out cannot write into {:?}: {why}", output.collection));
    }
    out.push(Stage::Out(output));
    Ok(())
}

/// The maximum length of the name of a collection in bytes: MongoDB's limit for a full name.
const NAME_BYTES_MAX: usize = 255;

/// The collection into which `$merge` writes.
fn into(name: &str, operand: &Value) -> Result<Output> {
    let output = match operand {
        Value::String(into) => Output { database: None, collection: into.as_str().into() },
        Value::Map(map) => {
            if map.get("coll").is_some_and(|coll| matches!(coll, Value::Null)) {
                return refuse(ErrorCode::Location5786801, "the into of $merge needs 'coll', the collection");
            }
            let options = Options::new("the into of $merge", operand, ErrorCode::Location51178)?.without_nulls();
            options.only_once(&["db", "coll"])?;
            let given = options.text("db", ErrorCode::TypeMismatch)?.filter(|database| !database.is_empty());
            let Some(collection) = options.text("coll", ErrorCode::TypeMismatch)? else {
                return refuse(ErrorCode::Location5786801, "the into of $merge needs 'coll', the collection");
            };
            if collection.is_empty() {
                return refuse(ErrorCode::Location5786800, "the 'coll' of $merge cannot be empty");
            }
            Output { database: database(name, given)?, collection: collection.into() }
        }
        other => {
            let found = other.type_name();
            return refuse(ErrorCode::Location51178, format!("the into of $merge is text or a map, not {found}"));
        }
    };
    if output.database.as_ref().is_some_and(|database| SYSTEM_DATABASES.contains(&&**database)) {
        return refuse(ErrorCode::Location31320, "$merge cannot write into the databases admin, config and local");
    }
    if output.collection.starts_with("system.") {
        return refuse(ErrorCode::Location31319, "$merge cannot write into a collection of the system");
    }
    Ok(output)
}

pub(super) fn merge(name: &'static str, operand: &Value, context: &Context<'_>, out: &mut Vec<Stage>) -> Result<()> {
    let around = context.variables.clone();
    if let Value::String(_) = operand {
        let (into, on) = (into(name, operand)?, vec![path(name, "_id")?]);
        let (matched, not_matched) = (WhenMatched::Merge, WhenNotMatched::Insert);
        out.push(Stage::Merge(Arc::new(MergeInto { into, on, matched, not_matched, around })));
        return Ok(());
    }
    let options = Options::new(name, operand, ErrorCode::TypeMismatch)?;
    options.only_once(&["into", "on", "let", "whenMatched", "whenNotMatched"])?;
    let into = into(name, options.required("into", ErrorCode::IDLFailedToParse)?)?;
    let on = on(name, options.get("on"))?;
    let given = options.without_nulls();
    let matched = when_matched(name, &options, context)?;
    if given.get("let").is_some() && !matches!(matched, WhenMatched::Pipeline { .. }) {
        return refuse(ErrorCode::Location51199, "the let of $merge is for a whenMatched that is a pipeline");
    }
    let not_matched = match given.text("whenNotMatched", ErrorCode::TypeMismatch)? {
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
    out.push(Stage::Merge(Arc::new(MergeInto { into, on, matched, not_matched, around })));
    Ok(())
}

/// The action of `$merge` for a document that exists in the collection.
fn when_matched(name: &'static str, options: &Options<'_>, context: &Context<'_>) -> Result<WhenMatched> {
    let given = options.without_nulls();
    if given.get("let").is_some_and(|given| !matches!(given, Value::Map(_))) {
        return refuse(ErrorCode::TypeMismatch, "the let of $merge must be a map");
    }
    Ok(match options.get("whenMatched") {
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
            let level = context.inner()?;
            let (variables, known) =
                variables(name, Some(&Value::Map(with_new(given.get("let"))?)), context.variables)?;
            Changes::of(inner(stages, &known, Place::Inner(level), context.stages)?.stages)?;
            WhenMatched::Pipeline { stages: stages.clone(), variables }
        }
        Some(_) => {
            return refuse(ErrorCode::Location51191, "the whenMatched of $merge must be text or an array of stages");
        }
    })
}

/// The variables of a `let`, and the variable `new`, which is the document.
fn with_new(given: Option<&Value>) -> Result<Map> {
    let mut given = given.and_then(Value::as_map).cloned().unwrap_or_default();
    match given.get("new").map(Value::as_str) {
        None => given.push("new", "$$ROOT"),
        Some(Some("$$ROOT")) => {}
        Some(_) => return refuse(ErrorCode::Location51273, "the variable 'new' of $merge is always $$ROOT"),
    }
    Ok(given)
}

/// The paths whose values identify the document to change.
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
    if names.iter().enumerate().any(|(at, field)| names[..at].contains(field)) {
        return refuse(ErrorCode::Location31465, "the on of $merge has a field twice");
    }
    names.into_iter().map(|field| path(name, field)).collect()
}
