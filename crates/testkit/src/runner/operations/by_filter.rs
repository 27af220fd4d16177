//! Writes by filter, one or many in a call. Their effect on a state is first computed without the database.

use crate::model::filters::{Filter, Projection, SortOrder, matching};
use crate::model::updates::Change;
use crate::model::{Id, Phase, State, brief};
use crate::runner::draws::{any_change, any_field_filter, any_filter, any_hint, any_projection};
use crate::runner::session::{Mix, Session};
use alluvium::{Collection, Delete, Document, Error, ErrorKind, FindOneAndModify, Hint, Map, ReturnDocument};
use alluvium::{Update, UpdateResult, Value, WriteModel};

/// The change of a matching document.
#[derive(Debug, Clone)]
pub(crate) enum Action {
    Update(Change),
    Replace(Map),
    Delete,
}

/// A write by filter.
#[derive(Debug, Clone)]
pub(crate) struct FilteredWrite {
    pub name: String,
    pub filter: Filter,
    pub action: Action,
    pub many: bool,
    /// If several documents match, selects the one with the highest `_id`.
    pub last: bool,
    /// The document to insert if no document matches.
    pub upsert: Option<Map>,
    pub hint: Option<Hint>,
}

/// The result of a write by filter.
#[derive(Debug, Clone, Default)]
pub(crate) struct Outcome {
    pub matched: u64,
    pub modified: u64,
    pub upserted: Option<Value>,
    /// The document before the write.
    pub before: Option<Map>,
    pub after: Option<Map>,
    /// True if the write ended because an index refuses the next document, or because the `_id` exists.
    pub refused: bool,
}

impl FilteredWrite {
    /// The document after the write; `None` if it is deleted.
    fn made(&self, old: &Map) -> Option<Map> {
        match &self.action {
            Action::Update(change) => {
                let mut map = old.clone();
                change.apply(&mut map);
                Some(map)
            }
            Action::Replace(body) => {
                let mut map = body.clone();
                map.entries.insert(0, (Value::from("_id"), old.get("_id").cloned().expect("an _id")));
                Some(map)
            }
            Action::Delete => None,
        }
    }

    /// Applies the write to the documents of a state, in the order of their `_id`s. Each changed document is one step.
    pub fn carry_out(&self, state: &mut State, steps: &mut Vec<State>) -> Outcome {
        let mut outcome = Outcome::default();
        let found: Vec<(Id, Map)> = state.documents(&self.name).map_or_else(Vec::new, |documents| {
            let found = matching(documents, &self.filter).into_iter();
            found.map(|(id, map)| (id.clone(), Map::clone(map))).collect()
        });
        let chosen: Vec<(Id, Map)> = match (self.many, self.last) {
            (true, _) => found,
            (false, false) => found.into_iter().take(1).collect(),
            (false, true) => found.into_iter().next_back().into_iter().collect(),
        };
        if let (true, Some(map)) = (chosen.is_empty(), &self.upsert) {
            self.insert(map.clone(), state, steps, &mut outcome);
            return outcome;
        }
        for (id, old) in chosen {
            let made = self.made(&old);
            let changed = made.as_ref() != Some(&old);
            if changed {
                let mut next = state.clone();
                match &made {
                    Some(map) => next.put(&self.name, id.clone(), map.clone()),
                    None => drop(next.delete(&self.name, &id)),
                }
                if next.refuses(&self.name, std::slice::from_ref(&id)) {
                    outcome.refused = true;
                    return outcome;
                }
                *state = next;
                steps.push(state.clone());
            }
            outcome.matched += 1;
            outcome.modified += u64::from(changed);
            (outcome.before, outcome.after) = (Some(old), made);
        }
        outcome
    }

    /// Inserts the document of an upsert. The collection is created if it does not exist.
    fn insert(&self, map: Map, state: &mut State, steps: &mut Vec<State>, outcome: &mut Outcome) {
        if state.create(&self.name) {
            steps.push(state.clone());
        }
        let id = Id::of(map.get("_id").expect("an _id")).expect("one of the model's");
        let mut next = state.clone();
        next.put(&self.name, id.clone(), map.clone());
        if state.get(&self.name, &id).is_some() || next.refuses(&self.name, std::slice::from_ref(&id)) {
            outcome.refused = true;
            return;
        }
        *state = next;
        steps.push(state.clone());
        outcome.upserted = map.get("_id").cloned();
        outcome.after = Some(map);
    }

    fn update(&self, collection: &Collection) -> Update {
        let filter = self.filter.to_map();
        let mut update = match &self.action {
            Action::Update(change) if self.many => collection.update_many(filter, change.update.as_str()),
            Action::Update(change) => collection.update_one(filter, change.update.as_str()),
            Action::Replace(map) => collection.replace_one(filter, map.clone()),
            Action::Delete => unreachable!("a delete is no update"),
        };
        if !self.many {
            update = update.sort(SortOrder::by_id(self.last).to_map());
        }
        if let Some(hint) = &self.hint {
            update = update.hint(hint.clone());
        }
        update.upsert(self.upsert.is_some())
    }

    fn delete(&self, collection: &Collection) -> Delete {
        let filter = self.filter.to_map();
        let delete = if self.many { collection.delete_many(filter) } else { collection.delete_one(filter) };
        match &self.hint {
            Some(hint) => delete.hint(hint.clone()),
            None => delete,
        }
    }

    fn find_and_modify(&self, collection: &Collection) -> FindOneAndModify {
        let filter = self.filter.to_map();
        let write = match &self.action {
            Action::Update(change) => collection.find_one_and_update(filter, change.update.as_str()),
            Action::Replace(map) => collection.find_one_and_replace(filter, map.clone()),
            Action::Delete => collection.find_one_and_delete(filter),
        };
        write.sort(SortOrder::by_id(self.last).to_map()).upsert(self.upsert.is_some())
    }

    fn operation(&self) -> &'static str {
        match (&self.action, self.many) {
            (Action::Update(_), false) => "update one",
            (Action::Update(_), true) => "update many",
            (Action::Replace(_), _) => "replace one",
            (Action::Delete, false) => "delete one",
            (Action::Delete, true) => "delete many",
        }
    }
}

pub(crate) fn step(session: &mut Session) {
    match session.rng.u8(0..10) {
        0..=1 => bulk_write(session),
        2..=4 => find_one_and_modify(session),
        _ => write_by_filter(session),
    }
}

/// A random write by filter.
fn any_write(session: &mut Session, name: &str, alone: bool) -> FilteredWrite {
    let action = match session.rng.u8(0..9) {
        0..=4 => Action::Update(any_change(session)),
        5..=6 => Action::Replace(session.documents.body(&mut session.rng)),
        _ => Action::Delete,
    };
    let many = !matches!(action, Action::Replace(_)) && !alone && session.rng.u8(0..3) == 0;
    let mut filter = any_filter(session, name);
    if many && matches!(action, Action::Delete) {
        // Filters for deletes of many documents are made narrow, so that collections grow.
        filter = match session.rng.u8(0..4) {
            0 => Filter::And(vec![filter, Filter::equal("k", session.rng.i32(0..3))]),
            _ => any_field_filter(session, name),
        };
    }
    let upsert = match (&action, session.rng.u8(0..5)) {
        (Action::Delete, _) | (_, 1..) => None,
        _ => Some(upserting(session, name, &action, &mut filter)),
    };
    let last = session.rng.bool() && !matches!(action, Action::Delete);
    FilteredWrite { name: name.to_owned(), filter, action, many, last, upsert, hint: None }
}

/// Changes a filter to a condition on `_id`, and sometimes also on a field. Returns the document that is inserted if no
/// document matches.
fn upserting(session: &mut Session, name: &str, action: &Action, filter: &mut Filter) -> Map {
    let id = session.any_id(name);
    let value = id.value(&mut session.rng);
    let k = (session.rng.u8(0..3) == 0).then(|| session.rng.i32(0..3));
    *filter = Filter::id(value.clone());
    let mut map = Map::from([("_id", value)]);
    if let Some(k) = k {
        *filter = Filter::And(vec![filter.clone(), Filter::equal("k", k)]);
        map.push("k", k);
    }
    match action {
        Action::Update(change) => change.apply(&mut map),
        Action::Replace(body) => {
            map.entries.truncate(1);
            map.entries.extend(body.entries.iter().cloned());
        }
        Action::Delete => {}
    }
    map
}

/// The hint for a write: usually none, or a random one. It is the natural order if the order of documents determines
/// which document is deleted, or the state after an error or a power cut.
fn hint_for(session: &mut Session, write: &FilteredWrite, outcome: &Outcome, changes: usize) -> Option<Hint> {
    let ordered = session.mix == Mix::Writes && changes > 1 || outcome.refused;
    let first = !write.many && matches!(write.action, Action::Delete);
    let natural = || Some(r#"{"$natural":1}"#.into());
    match (write.many && ordered || first, write.many) {
        (true, _) => natural(),
        (false, true) => match any_hint(session, &write.name, true) {
            Some((hint, None)) => Some(hint),
            _ => None,
        },
        _ => None,
    }
}

fn write_by_filter(session: &mut Session) {
    let name = session.any_name();
    let mut write = any_write(session, &name, false);
    let (mut state, mut steps) = (session.state.clone(), Vec::new());
    let outcome = write.carry_out(&mut state, &mut steps);
    write.hint = hint_for(session, &write, &outcome, steps.len());
    let (collection, durable) = session.handle(&name);
    session.note(describe(&write));
    let writes = outcome.modified > 0 || outcome.upserted.is_some();
    session.effect(write.operation(), outcome.modified > 0);
    session.effect("upsert by filter", outcome.upserted.is_some());
    let result = session.write(Phase::Write, &steps, durable && writes, |_| match write.action {
        Action::Delete => write.delete(&collection).run().map(|done| (done.deleted_count, done.deleted_count, None)),
        _ => write.update(&collection).run().map(counts),
    });
    match result {
        Ok(found) => {
            let expected = (outcome.matched, outcome.modified, outcome.upserted.clone());
            assert!(!outcome.refused && found == expected, "{}: {found:?}, not {expected:?}", describe(&write));
        }
        Err(error) => refused(&error, &outcome, &describe(&write)),
    }
}

fn find_one_and_modify(session: &mut Session) {
    let name = session.any_name();
    let write = any_write(session, &name, true);
    let (mut state, mut steps) = (session.state.clone(), Vec::new());
    let outcome = write.carry_out(&mut state, &mut steps);
    let (collection, durable) = session.handle(&name);
    let which = if session.rng.bool() { ReturnDocument::Before } else { ReturnDocument::After };
    let projection: Option<Projection> = any_projection(session);
    session.note(format!("find and modify, {which:?} {projection:?}: {}", describe(&write)));
    let mut modify = write.find_and_modify(&collection).return_document(which);
    if let Some(projection) = &projection {
        modify = modify.projection(projection.to_map());
    }
    let writes = outcome.modified > 0 || outcome.upserted.is_some();
    let operation = match write.action {
        Action::Update(_) => "find one and update",
        Action::Replace(_) => "find one and replace",
        Action::Delete => "find one and delete",
    };
    session.effect(operation, outcome.modified > 0);
    let result = session.write(Phase::Write, &steps, durable && writes, |_| modify.run());
    let found: Option<Document> = match result {
        Ok(found) => found,
        Err(error) => return refused(&error, &outcome, &describe(&write)),
    };
    assert!(!outcome.refused, "{}: an index refuses that", describe(&write));
    let expected = match (which, &write.action) {
        (ReturnDocument::After, Action::Update(_) | Action::Replace(_)) => outcome.after,
        _ => outcome.before,
    };
    let expected =
        expected.map(|map| projection.as_ref().map_or_else(|| map.clone(), |projection| projection.of(&map)));
    let found = found.map(|document| document.to_map().expect("it can be read"));
    assert_eq!(found, expected, "{which:?} {projection:?}: {}", describe(&write));
}

/// Executes several writes in one call. If the call is unordered, the writes after a failed one are executed as well.
fn bulk_write(session: &mut Session) {
    let name = session.any_name();
    let (collection, durable) = session.handle(&name);
    let ordered = session.rng.bool();
    let (mut state, mut steps) = (session.state.clone(), Vec::new());
    let (mut models, mut failed): (Vec<WriteModel>, Vec<usize>) = (Vec::new(), Vec::new());
    let mut total = alluvium::BulkWriteResult::default();
    let mut all = String::new();
    for at in 0..session.rng.usize(1..5) {
        let mut write = any_write(session, &name, false);
        if session.rng.u8(0..3) == 0 {
            // An insert is treated as an upsert whose filter matches nothing.
            let id = session.any_id(&name);
            let map = session.documents.with_id(&id, &mut session.rng);
            models.push(WriteModel::insert_one(&map));
            let nothing = Filter::And(vec![Filter::id(id.value(&mut session.rng)), Filter::exists("nothing")]);
            write = FilteredWrite { filter: nothing, action: Action::Delete, upsert: Some(map), hint: None, ..write };
        } else {
            let natural = write.many || matches!(write.action, Action::Delete);
            write.hint = natural.then(|| r#"{"$natural":1}"#.into());
            models.push(match write.action {
                Action::Delete => write.delete(&collection).into(),
                _ => write.update(&collection).into(),
            });
        }
        all += &format!("; {}", describe(&write));
        if ordered && !failed.is_empty() {
            continue;
        }
        let outcome = write.carry_out(&mut state, &mut steps);
        if outcome.refused {
            failed.push(at);
        }
        add(&mut total, at, &write, outcome);
    }
    session.note(format!("bulk write, ordered {ordered}{all}"));
    session.effect("bulk write", steps.len() > 1);
    let result = session.write(Phase::Write, &steps, durable && !steps.is_empty(), |_| {
        collection.bulk_write(models).ordered(ordered).run()
    });
    let (found, errors) = match result {
        Ok(found) => (found, Vec::new()),
        Err(Error::BulkWrite { result, errors }) => (*result, errors.iter().map(|(at, _)| *at).collect()),
        Err(error) => panic!("bulk write{all}: {error}"),
    };
    assert_eq!((found, errors), (total, failed), "bulk write, ordered {ordered}{all}");
}

/// Adds the result of one of the writes to the total.
fn add(total: &mut alluvium::BulkWriteResult, at: usize, write: &FilteredWrite, outcome: Outcome) {
    match (&write.action, outcome.upserted) {
        // This is an insert, whose `_id` is returned unchanged.
        (Action::Delete, Some(id)) => {
            total.inserted_count += 1;
            total.inserted_ids.push((at, id));
        }
        (Action::Delete, None) => total.deleted_count += outcome.matched,
        (_, upserted) => {
            total.matched_count += outcome.matched;
            total.modified_count += outcome.modified;
            total.upserted_ids.extend(upserted.map(|id| (at, id)));
        }
    }
}

fn counts(result: UpdateResult) -> (u64, u64, Option<Value>) {
    (result.matched_count, result.modified_count, result.upserted_id)
}

/// Checks an expected error, which must report the writes before it.
fn refused(error: &Error, outcome: &Outcome, words: &str) {
    let expected = matches!(error.kind(), ErrorKind::DuplicateKey | ErrorKind::Invalid);
    assert!(outcome.refused && expected, "{words}: {error}");
    let reported = match error {
        Error::WriteMany { matched_count, modified_count, .. } => (*matched_count, *modified_count),
        _ => (0, 0),
    };
    assert_eq!(reported, (outcome.matched, outcome.modified), "{words}: what was done before {error}");
}

fn describe(write: &FilteredWrite) -> String {
    let action = match &write.action {
        Action::Update(change) => change.update.clone(),
        Action::Replace(map) => format!("replace by {}", brief(map)),
        Action::Delete => "delete".to_owned(),
    };
    let FilteredWrite { name, filter, many, last, upsert, hint, .. } = write;
    let (filter, upsert) = (filter.to_map(), upsert.as_ref().map(brief));
    format!("{name} {filter:?} {action} many {many} last {last} upsert {upsert:?} hint {hint:?}")
}
