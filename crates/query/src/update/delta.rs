//! Deltas: updates encoded as bytes, which are stored next to documents and applied later.
//! `docs/format/delta.md` describes the layout.

use alluvium_document::encoding::{self, ARRAY, MAP, put_head, put_integer, put_str};
use alluvium_document::path::FieldPath;
use alluvium_document::row::ID;
use alluvium_document::{Map, Value};

use super::action::Action;
use super::array::{Direction, End, Push, Sort};
use super::bit::{Bit, Bitwise};
use super::place::ArrayFilter;
use super::pull::Pull;
use super::{Change, Context, MAX_DOCUMENT_BYTES, Update, UpdateError, order, parse, place};
use crate::filter::{Filter, FilterError};
use crate::pattern::Patterns;

/// The version, in the first byte of a delta. The high four bits of that byte are reserved and must be 0.
const VERSION: u8 = 1;

/// The initial capacity, which suffices for most deltas.
const USUAL_BYTES: usize = 48;

const SET: u8 = 1;
const UNSET: u8 = 2;
const INC: u8 = 3;
const MUL: u8 = 4;
const MIN: u8 = 5;
const MAX: u8 = 6;
const PUSH: u8 = 7;
const PUSH_WITH: u8 = 8;
const ADD_TO_SET: u8 = 9;
const PULL: u8 = 10;
const PULL_ELEMENT: u8 = 11;
const PULL_FIELDS: u8 = 12;
const POP_FIRST: u8 = 13;
const POP_LAST: u8 = 14;
const RENAME: u8 = 15;
const PULL_ALL: u8 = 16;
const BIT: u8 = 17;
/// The tag of an array filter for a name in brackets. It is not a change.
const FILTER: u8 = 18;

const WITH_POSITION: i64 = 1;
const WITH_SLICE: i64 = 2;
const WITH_SORT: i64 = 4;

/// The reason why bytes cannot be decoded as a delta.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DeltaError {
    /// This build does not know the version or a reserved bit.
    #[error("a delta of version {0} was written by a newer build; this one knows version 1")]
    Version(u8),
    /// Storage is damaged, or the bytes are not a delta.
    #[error("a delta is damaged: {0}")]
    Damaged(String),
}

type Result<T> = std::result::Result<T, DeltaError>;

/// Parses a filter from its map.
type ParseFilter = fn(&Map) -> std::result::Result<Filter, FilterError>;

impl Update {
    /// Encodes the update as a delta that [`crate::fold`] applies later to whatever the document is
    /// at that time. `$currentDate` is resolved to the context's time. `$setOnInsert` is left out,
    /// because a delta has no effect on a missing document.
    ///
    /// # Errors
    /// - [`UpdateError::ImmutableField`] if a path is `_id` or leads into it, because such a change
    ///   can only be checked with the document. [`UpdateError::DollarPrefixedFieldName`] for a path
    ///   that is allowed only when a document is inserted.
    /// - [`UpdateError::BadValue`] if a path has the positional operator `$`, which only
    ///   [`Update::resolved`] replaces; if a condition has a regular expression, because its
    ///   matches may differ between builds and a delta must keep its meaning; if a condition would
    ///   not be decoded identically; or if strings are compared by a collation.
    /// - [`UpdateError::TooLarge`] for more than [`MAX_DOCUMENT_BYTES`] bytes.
    pub fn to_delta(&self, context: &Context) -> std::result::Result<Vec<u8>, UpdateError> {
        let mut delta = Vec::with_capacity(USUAL_BYTES);
        delta.push(VERSION);
        for ArrayFilter { name, filter } in &self.filters {
            check_blind(filter, "an array filter")?;
            // An array filter is needed only if a change that uses it is kept.
            if self.is_kept(name) {
                check_kept(filter, "an array filter", Filter::parse)?;
                delta.push(FILTER);
                put_str(&mut delta, name);
                encoding::encode(&filter.to_map().into(), &mut delta);
            }
        }
        for change in &self.changes {
            if change.collation.is_some() {
                let message = "an update that compares strings by a collation cannot be a delta";
                return Err(UpdateError::BadValue(message.to_owned()));
            }
            if place::has_matched(&change.path) {
                return Err(place::no_position(change));
            }
            if let Action::Pull(pull) = &change.action {
                check_pull(pull)?;
            }
            if let Some(path) = change.paths().find(|path| path.first() == ID) {
                let operator = change.action.operator();
                let message = format!("{operator} of '{path}' cannot be a delta: _id never changes");
                return Err(UpdateError::ImmutableField(message));
            }
            if let Some(path) = change.paths().find(|path| path.first().starts_with('$')) {
                return Err(UpdateError::of_dollar(path.first(), path.as_str()));
            }
            put_change(change, context, &mut delta);
        }
        if delta.len() > MAX_DOCUMENT_BYTES {
            let len = delta.len();
            let message = format!("the delta would have {len} bytes; the limit is {MAX_DOCUMENT_BYTES}");
            return Err(UpdateError::TooLarge(message));
        }
        Ok(delta)
    }

    /// Decodes the update of a delta.
    ///
    /// # Errors
    /// [`DeltaError`] if the bytes were not written by [`Update::to_delta`].
    pub fn from_delta(delta: &[u8]) -> Result<Self> {
        let (&version, mut rest) = delta.split_first().ok_or_else(|| damaged("it is empty"))?;
        if version != VERSION {
            return Err(DeltaError::Version(version));
        }
        let mut filters: Vec<ArrayFilter> = Vec::new();
        while rest.first() == Some(&FILTER) {
            rest = &rest[1..];
            let filter = take_array_filter(&mut rest)?;
            if filters.last().is_some_and(|last| last.name >= filter.name) {
                return Err(damaged("its array filters are out of order"));
            }
            filters.push(filter);
        }
        let mut changes: Vec<Change> = Vec::new();
        while !rest.is_empty() {
            let change = take_change(&mut rest)?;
            if changes.last().is_some_and(|last| order::compare_paths(&last.path, &change.path).is_ge()) {
                return Err(damaged("its changes are out of order"));
            }
            changes.push(change);
        }
        let update = Self { changes, filters, interrupt: None };
        update.check_filters().and_then(|()| update.check_conflicts()).map_err(damaged)?;
        Ok(update)
    }

    /// True if a delta keeps a change whose path has this name in brackets.
    fn is_kept(&self, name: &str) -> bool {
        let kept = self.changes.iter().filter(|change| !change.action.is_for_insert());
        kept.into_iter().any(|change| change.path.names().any(|known| place::identifier(known) == Some(name)))
    }
}

/// Refuses conditions that another build might evaluate differently.
fn check_blind(filter: &Filter, what: &str) -> std::result::Result<(), UpdateError> {
    fn has_regex(value: &Value) -> bool {
        match value {
            Value::Regex(_) => true,
            Value::Array(elements) => elements.iter().any(has_regex),
            Value::Map(map) => {
                let mut fields = map.entries.iter();
                fields.any(|(name, value)| name.as_str() == Some("$regex") || has_regex(value))
            }
            _ => false,
        }
    }
    if has_regex(&filter.to_map().into()) {
        let message = format!("{what} with a regular expression cannot be kept in a delta: use a checked update");
        return Err(UpdateError::BadValue(message));
    }
    Ok(())
}

/// Refuses conditions that could not be decoded from a delta. The document could not be read with such a delta.
fn check_kept(filter: &Filter, what: &str, parse: ParseFilter) -> std::result::Result<(), UpdateError> {
    let problem = match parse(&filter.to_map()) {
        Ok(again) if again == *filter => return Ok(()),
        Ok(_) => "it reads as another".to_owned(),
        Err(error) => error.to_string(),
    };
    let message = format!("{what} cannot be kept in a delta ({problem}): use a checked update");
    Err(UpdateError::BadValue(message))
}

/// Parses a filter on fields of elements. Filters in deltas have no patterns, so they need no
/// shared budget.
fn of_element(filter: &Map) -> std::result::Result<Filter, FilterError> {
    Filter::parse_of_element(filter, &Patterns::default())
}

fn check_pull(pull: &Pull) -> std::result::Result<(), UpdateError> {
    let what = "a condition of $pull";
    pull.filter().map_or(Ok(()), |filter| check_blind(filter, what))?;
    match pull {
        // Some builds refuse this condition in an update, and therefore also in a delta.
        Pull::Equal(Value::Undefined) => {
            Err(UpdateError::BadValue("$pull of undefined cannot be kept in a delta: use a checked update".to_owned()))
        }
        Pull::Equal(_) => Ok(()),
        Pull::Element(filter) => check_kept(filter, what, Filter::parse),
        Pull::Fields(filter) => check_kept(filter, what, of_element),
    }
}

fn damaged(problem: impl ToString) -> DeltaError {
    DeltaError::Damaged(problem.to_string())
}

fn put_change(change: &Change, context: &Context, out: &mut Vec<u8>) {
    let path = change.path.as_str();
    let begin = |out: &mut Vec<u8>, operator: u8| {
        out.push(operator);
        put_str(out, path);
    };
    let with_value = |out: &mut Vec<u8>, operator: u8, value: &Value| {
        begin(out, operator);
        encoding::encode(value, out);
    };
    match &change.action {
        Action::SetOnInsert(_) => {}
        Action::Set(value) => with_value(out, SET, value),
        Action::CurrentDate(clock) => with_value(out, SET, &clock.value(context.time_ms)),
        Action::Inc(number) => with_value(out, INC, number),
        Action::Mul(number) => with_value(out, MUL, number),
        Action::Min(value) => with_value(out, MIN, value),
        Action::Max(value) => with_value(out, MAX, value),
        Action::Push(Push { values, position: None, slice: None, sort: None }) if values.len() == 1 => {
            begin(out, PUSH);
            values.iter().for_each(|value| encoding::encode(value, out));
        }
        Action::Push(push) => {
            begin(out, PUSH_WITH);
            put_push(push, out);
        }
        Action::AddToSet(values) => {
            begin(out, ADD_TO_SET);
            put_values(values, out);
        }
        Action::Pull(Pull::Equal(value)) => with_value(out, PULL, value),
        Action::Pull(Pull::Element(filter)) => with_value(out, PULL_ELEMENT, &filter.to_map().into()),
        Action::Pull(Pull::Fields(filter)) => with_value(out, PULL_FIELDS, &filter.to_map().into()),
        Action::PullAll(values) => {
            begin(out, PULL_ALL);
            put_values(values, out);
        }
        Action::Bit(bit) => {
            begin(out, BIT);
            put_head(out, ARRAY, 2 * bit.operations().len() as u64);
            for (operation, operand) in bit.operations() {
                put_integer(out, *operation as i64);
                encoding::encode(operand, out);
            }
        }
        Action::Unset => begin(out, UNSET),
        Action::Pop(End::First) => begin(out, POP_FIRST),
        Action::Pop(End::Last) => begin(out, POP_LAST),
        Action::RenameFrom(from) => {
            begin(out, RENAME);
            put_str(out, from.as_str());
        }
    }
}

fn put_values(values: &[Value], out: &mut Vec<u8>) {
    put_head(out, ARRAY, values.len() as u64);
    values.iter().for_each(|value| encoding::encode(value, out));
}

fn put_push(push: &Push, out: &mut Vec<u8>) {
    let flag = |there: bool, flag: i64| if there { flag } else { 0 };
    let flags = flag(push.position.is_some(), WITH_POSITION)
        | flag(push.slice.is_some(), WITH_SLICE)
        | flag(push.sort.is_some(), WITH_SORT);
    put_integer(out, flags);
    put_values(&push.values, out);
    push.position.into_iter().chain(push.slice).for_each(|n| put_integer(out, n));
    match &push.sort {
        None => {}
        Some(Sort::Whole(direction)) => put_direction(*direction, out),
        Some(Sort::Fields(fields)) => {
            put_head(out, MAP, fields.len() as u64);
            for (path, direction) in fields {
                put_str(out, path.as_str());
                put_direction(*direction, out);
            }
        }
    }
}

fn put_direction(direction: Direction, out: &mut Vec<u8>) {
    put_integer(out, if direction == Direction::Ascending { 1 } else { -1 });
}

fn take_change(rest: &mut &[u8]) -> Result<Change> {
    let (&operator, after) = rest.split_first().ok_or_else(|| damaged("it ends within a change"))?;
    *rest = after;
    let path = if operator == RENAME { take_plain_path(rest)? } else { take_path(rest)? };
    if place::has_matched(&path) {
        return Err(damaged("a path has a position that is not resolved"));
    }
    let action = match operator {
        SET => Action::Set(take(rest)?),
        UNSET => Action::Unset,
        INC => Action::Inc(take(rest)?),
        MUL => Action::Mul(take(rest)?),
        MIN => Action::Min(take(rest)?),
        MAX => Action::Max(take(rest)?),
        PUSH => Action::Push(Push::one(take(rest)?)),
        PUSH_WITH => Action::Push(take_push(rest)?),
        ADD_TO_SET => Action::AddToSet(take_values(rest)?),
        PULL => match take(rest)? {
            Value::Undefined => return Err(damaged("$pull of undefined")),
            value => Action::Pull(Pull::Equal(value)),
        },
        PULL_ELEMENT => Action::Pull(Pull::element(take_filter(rest, Filter::parse)?).map_err(damaged)?),
        PULL_FIELDS => Action::Pull(Pull::fields(take_filter(rest, of_element)?).map_err(damaged)?),
        PULL_ALL => Action::PullAll(take_values(rest)?),
        BIT => Action::Bit(take_bit(rest)?),
        POP_FIRST => Action::Pop(End::First),
        POP_LAST => Action::Pop(End::Last),
        RENAME => Action::RenameFrom(take_plain_path(rest)?),
        other => return Err(damaged(format!("there is no operator {other}"))),
    };
    Change::new(path, action).map_err(damaged)
}

fn take(rest: &mut &[u8]) -> Result<Value> {
    encoding::decode(rest).map_err(damaged)
}

fn take_path(rest: &mut &[u8]) -> Result<FieldPath> {
    let Value::String(text) = take(rest)? else { return Err(damaged("a path is not a string")) };
    let path = parse::path(&text).map_err(damaged)?;
    if path.first().starts_with('$') {
        return Err(damaged("a field begins with a dollar sign"));
    }
    if path.first() == ID { Err(damaged("it changes _id")) } else { Ok(path) }
}

fn take_plain_path(rest: &mut &[u8]) -> Result<FieldPath> {
    let path = take_path(rest)?;
    parse::plain_path(path.as_str()).map_err(damaged)
}

fn take_filter(rest: &mut &[u8], parse: ParseFilter) -> Result<Filter> {
    match take(rest)? {
        Value::Map(map) => {
            let filter = parse(&map).map_err(damaged)?;
            check_blind(&filter, "a condition").map_err(damaged)?;
            Ok(filter)
        }
        other => Err(damaged(format!("a condition of type {}", other.type_name()))),
    }
}

fn take_array_filter(rest: &mut &[u8]) -> Result<ArrayFilter> {
    let Value::String(name) = take(rest)? else { return Err(damaged("the name of an array filter is not a string")) };
    ArrayFilter::new(&name, take_filter(rest, Filter::parse)?).map_err(damaged)
}

fn take_bit(rest: &mut &[u8]) -> Result<Bit> {
    let operation = |pair: &[Value]| match pair {
        [Value::Int32(number), operand] => {
            let operation = Bitwise::of_number(i64::from(*number)).ok_or_else(|| damaged("an unknown operation"))?;
            Ok((operation, operand.clone()))
        }
        _ => Err(damaged("a bitwise operation without an operand")),
    };
    let operations = take_values(rest)?.chunks(2).map(operation).collect::<Result<_>>()?;
    Bit::new(operations).map_err(damaged)
}

fn take_values(rest: &mut &[u8]) -> Result<Vec<Value>> {
    match take(rest)? {
        Value::Array(values) => Ok(values),
        other => Err(damaged(format!("values of type {}", other.type_name()))),
    }
}

fn take_integer(rest: &mut &[u8]) -> Result<i64> {
    match take(rest)? {
        Value::Int32(n) => Ok(i64::from(n)),
        Value::Int64(n) => Ok(n),
        other => Err(damaged(format!("an integer of type {}", other.type_name()))),
    }
}

fn take_push(rest: &mut &[u8]) -> Result<Push> {
    let flags = take_integer(rest)?;
    if flags & !(WITH_POSITION | WITH_SLICE | WITH_SORT) != 0 {
        return Err(damaged("unknown modifiers of $push"));
    }
    let values = take_values(rest)?;
    let mut integer_if = |flag: i64| if flags & flag != 0 { take_integer(rest).map(Some) } else { Ok(None) };
    let (position, slice) = (integer_if(WITH_POSITION)?, integer_if(WITH_SLICE)?);
    let sort = if flags & WITH_SORT != 0 { Some(parse::sort(&take(rest)?).map_err(damaged)?) } else { None };
    Ok(Push { values, position, slice, sort })
}

#[cfg(test)]
mod tests;
