//! The stages that change events pass.

use super::token::ResumeToken;
use super::{id_of, token_of};
use crate::engine::EngineHandle;
use crate::error::Result;
use crate::ids::ID;
use crate::names::FullName;
use crate::pipeline::{OtherDocuments, PipelineRequest, PipelineRun};
use crate::watch_error::WatchErrorKind;
use alluvium_document::{Map, Value, bson};
use alluvium_exec::pipeline::Records;
use alluvium_query::pipeline::Record;
use alluvium_query::pipeline::stages::{self, StageName};
use std::collections::VecDeque;
use std::sync::Arc;

/// The maximum size of an event in bytes of BSON: that of a document, and some more for the fields around it.
const EVENT_BYTES_MAX: usize = crate::ids::MAX_DOCUMENT_BYTES + (16 << 10);
/// The maximum size of an event between stages in bytes of BSON. It has up to three parts of the size of a document: the
/// documents before and after the change, and the difference.
const BETWEEN_BYTES_MAX: usize = 64 << 20;
/// No more events pass the stages at once after results of this size in bytes of BSON.
const RESULT_BYTES: usize = 4 << 20;
/// The bytes that a fragment leaves for its token and its number.
const FRAGMENT_HEAD_BYTES: usize = 1 << 10;

/// The stages of a change stream.
pub(super) struct Stages {
    engine: EngineHandle,
    name: FullName,
    /// The request, whose stages are those in `stages`.
    request: PipelineRequest,
    stages: Vec<Value>,
    /// True if large events are split.
    splits: bool,
}

/// The events that pass the stages.
struct Given(std::vec::IntoIter<Map>);

impl Records<crate::error::Error> for Given {
    fn next_record(&mut self) -> Result<Option<Record>> {
        Ok(self.0.next().map(Record::Map))
    }
}

/// Checks that each stage is allowed in a change stream.
///
/// # Errors
/// [`crate::error::Error::Watch`]: [`WatchErrorKind::NotAllowed`].
pub fn check_stages(stages: &[Value]) -> Result<()> {
    for (at, stage) in stages.iter().enumerate() {
        let Some((name, operand)) = stages::parts(stage) else { continue };
        let Some(row) = stages::find(name) else { continue };
        if row.stage == StageName::ChangeStreamSplitLargeEvent && at + 1 < stages.len() {
            let message = format!("{name} must be the last stage of a change stream");
            return Err(WatchErrorKind::NotAllowed.error(message).into());
        }
        let is_allowed = row.in_change_streams || row.stage == StageName::Fill && fills_with_values(operand);
        if !is_allowed {
            let message = format!("{name} is not permitted in a $changeStream pipeline");
            return Err(WatchErrorKind::NotAllowed.error(message).into());
        }
    }
    Ok(())
}

/// True if a `$fill` computes only values of single documents, without other documents.
fn fills_with_values(operand: &Value) -> bool {
    let Some(operand) = operand.as_map() else { return false };
    let has_value = |output: &Value| output.as_map().is_some_and(|output| output.contains("value"));
    let outputs = operand.get("output").and_then(Value::as_map);
    let are_values = outputs.is_some_and(|outputs| outputs.iter().all(|(_, output)| has_value(output)));
    !operand.contains("sortBy") && are_values
}

fn is_split(stage: &Value) -> bool {
    let row = stages::parts(stage).and_then(|(name, _)| stages::find(name));
    row.is_some_and(|row| row.stage == StageName::ChangeStreamSplitLargeEvent)
}

impl Stages {
    /// Checks the stages.
    ///
    /// # Errors
    /// As [`check_stages`]; errors of the stages.
    pub fn new(engine: &EngineHandle, name: &FullName, request: PipelineRequest) -> Result<Self> {
        let mut stages = match request.stages.clone()? {
            Value::Array(stages) => stages,
            _ => {
                PipelineRun::new(engine, name, None, request.clone(), false)?;
                Vec::new()
            }
        };
        check_stages(&stages)?;
        let splits = stages.last().is_some_and(is_split);
        if splits {
            stages.pop();
        }
        let new = Self { engine: engine.clone(), name: name.clone(), request, stages, splits };
        if !new.stages.is_empty() {
            new.run(Vec::new())?;
        }
        Ok(new)
    }

    /// True if large events are split.
    pub fn splits(&self) -> bool {
        self.splits
    }

    /// Begins to run events through the stages.
    fn run(&self, events: Vec<Map>) -> Result<PipelineRun> {
        let mut request = PipelineRequest { bytes_max: Some(BETWEEN_BYTES_MAX), ..self.request.clone() };
        request.stages = Ok(Value::Array(self.stages.clone()));
        let records = Box::new(Given(events.into_iter()));
        let others = OtherDocuments { records, bytes_ahead: Arc::default() };
        PipelineRun::over(&self.engine, &self.name, others, request, false)
    }

    /// Takes the first events of `waiting`, and returns what the stages make of them. Stages may enlarge events, so the
    /// rest may wait until these were taken.
    ///
    /// # Errors
    /// [`WatchErrorKind::IdChanged`], [`WatchErrorKind::TooLarge`]; errors of the stages.
    pub fn apply(&self, waiting: &mut VecDeque<Map>) -> Result<VecDeque<Map>> {
        let mut results = VecDeque::new();
        if self.stages.is_empty() {
            for event in waiting.drain(..) {
                self.add(event, &mut results)?;
            }
            return Ok(results);
        }
        let mut run = self.run(waiting.iter().cloned().collect())?;
        let mut bytes = 0;
        while let Some(event) = run.next_map()? {
            // The stages keep the order, and leave events out.
            while waiting.front().is_some_and(|next| id_of(next) != id_of(&event)) {
                waiting.pop_front();
            }
            if waiting.pop_front().is_none() {
                let message = format!(
                    "a stage has changed the _id of a change event, which is its resume token, to {}: keep the _id in \
                     all stages of a change stream",
                    id_of(&event).map_or("nothing".to_owned(), crate::error::id_text)
                );
                return Err(WatchErrorKind::IdChanged.error(message).into());
            }
            bytes += self.add(event, &mut results)?;
            if bytes >= RESULT_BYTES {
                return Ok(results);
            }
        }
        waiting.clear();
        Ok(results)
    }

    /// Adds an event, or its fragments. Returns its size in bytes of BSON.
    fn add(&self, event: Map, results: &mut VecDeque<Map>) -> Result<usize> {
        let bytes = bson::document_size(&event);
        match bytes {
            bytes if bytes <= EVENT_BYTES_MAX => results.push_back(event),
            _ if self.splits => results.extend(split(&event)?),
            bytes => return Err(too_large(bytes)),
        }
        Ok(bytes)
    }
}

fn too_large(bytes: usize) -> crate::error::Error {
    let message = format!(
        "a change event has {bytes} bytes, more than the {EVENT_BYTES_MAX} of a document: end the pipeline of the change \
         stream with $changeStreamSplitLargeEvent, or leave fields out"
    );
    WatchErrorKind::TooLarge.error(message).into()
}

/// Splits an event into fragments, each with some of its fields. Fields are taken by their size, the smallest first.
fn split(event: &Map) -> Result<Vec<Map>> {
    let Some(token) = token_of(event) else {
        return Err(WatchErrorKind::IdChanged.error("a change event has lost its resume token").into());
    };
    let mut fields: Vec<(usize, &(Value, Value))> = Vec::new();
    for field in event.entries.iter().filter(|(name, _)| name.as_str() != Some(ID)) {
        let alone = Map { entries: vec![field.clone()] };
        fields.push((bson::document_size(&alone), field));
    }
    fields.sort_by_key(|(bytes, _)| *bytes);
    let limit = EVENT_BYTES_MAX - FRAGMENT_HEAD_BYTES;
    let mut parts: Vec<(usize, Vec<(Value, Value)>)> = Vec::new();
    for (bytes, field) in fields {
        if bytes > limit {
            return Err(too_large(bytes));
        }
        match parts.last_mut() {
            Some((sum, part)) if *sum + bytes <= limit => {
                *sum += bytes;
                part.push(field.clone());
            }
            _ => parts.push((bytes, vec![field.clone()])),
        }
    }
    let of = i32::try_from(parts.len()).unwrap_or(i32::MAX);
    let fragment = |(number, (_, fields)): (i32, (usize, Vec<(Value, Value)>))| {
        let token = ResumeToken { fragment: number.cast_unsigned(), ..token };
        let mut map = Map::from([(ID, Value::Map(token.to_map()))]);
        map.push("splitEvent", Map::from([("fragment", Value::Int32(number)), ("of", Value::Int32(of))]));
        map.entries.extend(fields);
        map
    };
    Ok((1..).zip(parts).map(fragment).collect())
}
