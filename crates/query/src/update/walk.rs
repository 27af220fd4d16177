//! Follows a path to the value to change. The document is decoded only as far as necessary.

use alluvium_document::compare::equal;
use alluvium_document::path::{FieldPath, update_index};
use alluvium_document::row::ID;
use alluvium_document::{MAX_DEPTH, Map, Value};

use super::action::{Action, Outcome, nests_too_deep};
use super::fields::Fields;
use super::place::is_several;
use super::{Change, Context, UpdateError};
use crate::collation::Collation;

/// The maximum number of nulls with which an array is padded to set a position beyond its end:
/// MongoDB's limit.
const MAX_PADDING: usize = 1_500_000;

/// Applies one change. Returns true if the document changed. `positions` has a position for each
/// name that represents several elements. After an error the document is unchanged.
pub(super) fn change<F: Fields>(
    fields: &mut F,
    Change { path, action, collation }: &Change,
    positions: &[usize],
    context: &Context,
) -> Result<bool, UpdateError> {
    if action.is_for_insert() && !context.inserting {
        return Ok(false);
    }
    // As in MongoDB, such fields are allowed only in a document that is being inserted.
    if !context.inserting && path.first().starts_with('$') {
        return Err(UpdateError::of_dollar(path.first(), path.as_str()));
    }
    if let Action::RenameFrom(from) = action {
        return rename(fields, from, path, context);
    }
    let way = Way { path, action, context, positions, collation: collation.as_ref() };
    if path.first() == ID && !(context.inserting && fields.copy(ID)?.is_none()) {
        return way.keep_id(fields);
    }
    way.follow(fields)
}

#[derive(Clone, Copy)]
struct Way<'a> {
    path: &'a FieldPath,
    action: &'a Action,
    context: &'a Context,
    positions: &'a [usize],
    /// The collation of strings; `None` to compare their bytes.
    collation: Option<&'a Collation>,
}

impl Way<'_> {
    fn follow<F: Fields>(self, fields: &mut F) -> Result<bool, UpdateError> {
        let mut names = self.path.names();
        let first = names.next().unwrap_or_default();
        match fields.field(first)? {
            Some(value) => match self.enter(value, first, names, self.positions)? {
                Outcome::Same => Ok(false),
                Outcome::Changed => Ok(true),
                Outcome::Remove => fields.remove(first).map(|()| true),
            },
            None => match self.action.on_missing(self.context, self.collation) {
                Some(value) => fields.append(first, wrap(names, value)).map(|()| true),
                None => Ok(false),
            },
        }
    }

    /// Refuses a change of `_id`. An equal number of another type is not a change.
    fn keep_id<F: Fields>(self, fields: &F) -> Result<bool, UpdateError> {
        let mut apart = Map::new();
        if let Some(id) = fields.copy(ID)? {
            apart.push(ID, id);
        }
        let before = apart.get(ID).cloned();
        let changed = self.follow(&mut apart)?;
        match (before, apart.get(ID)) {
            (Some(before), Some(after)) if equal(&before, after) => Ok(false),
            _ if changed => Err(immutable(self.action.operator(), self.path)),
            _ => Ok(false),
        }
    }

    /// Changes the value to which `names` lead from `value`, whose own name is `own`. `positions`
    /// has a position for each name that represents several elements.
    fn enter<'p, I>(
        self,
        value: &mut Value,
        own: &str,
        mut names: I,
        positions: &[usize],
    ) -> Result<Outcome, UpdateError>
    where
        I: DoubleEndedIterator<Item = &'p str>,
    {
        let Some(name) = names.next() else {
            return self.action.on_value(value, self.path, self.context, self.collation);
        };
        let found = value.type_name();
        match value {
            Value::Map(map) => match map.get_mut(name) {
                Some(inner) => {
                    let outcome = self.enter(inner, name, names, positions)?;
                    if outcome == Outcome::Remove {
                        map.remove(name);
                        return Ok(Outcome::Changed);
                    }
                    Ok(outcome)
                }
                None => match self.action.on_missing(self.context, self.collation) {
                    Some(value) => {
                        map.push(name, wrap(names, value));
                        Ok(Outcome::Changed)
                    }
                    None => Ok(Outcome::Same),
                },
            },
            Value::Array(elements) => match (update_index(name), positions.split_first()) {
                (Some(at), _) => self.enter_element(elements, at, name, names, positions),
                (None, Some((at, rest))) if is_several(name) => self.enter_element(elements, *at, name, names, rest),
                _ => self.blocked(own, name, found),
            },
            _ => self.blocked(own, name, found),
        }
    }

    fn enter_element<'p, I>(
        self,
        elements: &mut Vec<Value>,
        at: usize,
        name: &str,
        names: I,
        positions: &[usize],
    ) -> Result<Outcome, UpdateError>
    where
        I: DoubleEndedIterator<Item = &'p str>,
    {
        if let Some(element) = elements.get_mut(at) {
            let outcome = self.enter(element, name, names, positions)?;
            if outcome != Outcome::Remove {
                return Ok(outcome);
            }
            // The element becomes null, so that the other elements keep their positions.
            return Ok((std::mem::take(element) != Value::Null).into());
        }
        let Some(value) = self.action.on_missing(self.context, self.collation) else { return Ok(Outcome::Same) };
        if at - elements.len() > MAX_PADDING {
            let (operator, path) = (self.action.operator(), self.path);
            let message = format!("{operator} of '{path}' would fill the array up with more than {MAX_PADDING} nulls");
            return Err(UpdateError::CannotBackfillArray(message));
        }
        elements.resize(at, Value::Null);
        elements.push(wrap(names, value));
        Ok(Outcome::Changed)
    }

    /// The error for a path that continues through a value without fields.
    fn blocked(self, own: &str, name: &str, found: &str) -> Result<Outcome, UpdateError> {
        match self.action {
            Action::Unset => Ok(Outcome::Same),
            _ => Err(not_viable(self.action.operator(), self.path, own, name, found)),
        }
    }
}

fn wrap<'p>(names: impl DoubleEndedIterator<Item = &'p str>, value: Value) -> Value {
    names.rev().fold(value, |inner, name| Value::Map(Map::from([(name, inner)])))
}

fn not_viable(operator: &str, path: &FieldPath, own: &str, name: &str, found: &str) -> UpdateError {
    UpdateError::PathNotViable(format!(
        "{operator} of '{path}' cannot create field '{name}' in '{own}', which is of type {found}"
    ))
}

fn immutable(operator: &str, path: &FieldPath) -> UpdateError {
    UpdateError::ImmutableField(format!("{operator} of '{path}' would change _id, which never changes"))
}

/// `$rename`: moves the value to `to`, replacing any value there.
fn rename<F: Fields>(fields: &mut F, from: &FieldPath, to: &FieldPath, context: &Context) -> Result<bool, UpdateError> {
    let Some(value) = source(fields, from)? else { return Ok(false) };
    for path in [from, to] {
        if path.first() == ID {
            return Err(immutable("$rename", path));
        }
    }
    check_target(fields, to)?;
    if value.is_deeper_than(MAX_DEPTH - to.depth()) {
        return Err(nests_too_deep("$rename", to));
    }
    Way { path: from, action: &Action::Unset, context, positions: &[], collation: None }.follow(fields)?;
    Way { path: to, action: &Action::Set(value), context, positions: &[], collation: None }.follow(fields)?;
    Ok(true)
}

/// The value to move, if there is one.
fn source<F: Fields>(fields: &mut F, from: &FieldPath) -> Result<Option<Value>, UpdateError> {
    let mut own = from.first();
    let Some(mut value) = fields.field(own)?.map(|value| &*value) else { return Ok(None) };
    let mut in_array = false;
    for name in from.names().skip(1) {
        let inner = match value {
            Value::Map(map) => map.get(name),
            Value::Array(elements) => {
                in_array = true;
                let at = update_index(name).ok_or_else(|| not_viable("$rename", from, own, name, value.type_name()))?;
                elements.get(at)
            }
            _ => return Err(not_viable("$rename", from, own, name, value.type_name())),
        };
        let Some(inner) = inner else { return Ok(None) };
        (value, own) = (inner, name);
    }
    if in_array {
        let message = format!("$rename of '{from}': a field inside an array cannot be renamed");
        return Err(UpdateError::BadValue(message));
    }
    Ok(Some(value.clone()))
}

/// Refuses targets inside arrays, and inside values that are not maps.
fn check_target<F: Fields>(fields: &mut F, to: &FieldPath) -> Result<(), UpdateError> {
    let mut own = to.first();
    let Some(mut value) = fields.field(own)?.map(|value| &*value) else { return Ok(()) };
    for name in to.names().skip(1) {
        let inner = match value {
            Value::Map(map) => map.get(name),
            Value::Array(_) => {
                return Err(UpdateError::BadValue(format!(
                    "$rename to '{to}': the new name cannot be inside an array"
                )));
            }
            _ => return Err(not_viable("$rename", to, own, name, value.type_name())),
        };
        let Some(inner) = inner else { return Ok(()) };
        (value, own) = (inner, name);
    }
    Ok(())
}
