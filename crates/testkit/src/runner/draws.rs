//! Random filters, sort orders, projections, hints and updates.

use super::session::Session;
use crate::model::documents::long;
use crate::model::filters::{Filter, Predicate, Projection, SortOrder};
use crate::model::updates::{Change, any_blind_update, any_update};
use crate::model::values::distinct_at;
use alluvium::Value;
use alluvium_document::value::Double;

/// Paths in filters; most of them are indexed.
const PATHS: [&str; 14] =
    ["k", "k", "k", "set", "inc", "n", "u", "score", "tags", "list", "by.name", "deep.x", "when", "missing"];

/// Fields by which documents are sorted. At most one of them may be an array.
const SORTED: [&str; 6] = ["k", "set", "inc", "n", "score", "u"];

/// A filter that usually matches some documents.
pub(crate) fn any_filter(session: &mut Session, name: &str) -> Filter {
    match session.rng.u8(0..12) {
        0 => Filter::And(Vec::new()),
        1 => Filter::And(vec![any_field_filter(session, name), any_field_filter(session, name)]),
        2 => Filter::Or(vec![any_field_filter(session, name), any_field_filter(session, name)]),
        3 => {
            let id = session.any_id(name);
            Filter::id(id.value(&mut session.rng))
        }
        _ => any_field_filter(session, name),
    }
}

pub(crate) fn any_field_filter(session: &mut Session, name: &str) -> Filter {
    let path = PATHS[session.rng.usize(0..PATHS.len())];
    let mut a = any_operand(session, name, path);
    let mut b = any_operand(session, name, path);
    let which = session.rng.u8(0..12);
    if which > 6 {
        // Null is not a bound of a range.
        for bound in [&mut a, &mut b].into_iter().filter(|bound| **bound == Value::Null) {
            *bound = Value::Int32(1);
        }
    }
    let tests = match which {
        0..=3 => vec![Predicate::Equal(a)],
        4 => vec![Predicate::In(vec![a, b, Value::Int32(1)])],
        5 => vec![Predicate::Exists(session.rng.u8(0..4) > 0)],
        6 => vec![Predicate::NotEqual(a)],
        7 => vec![Predicate::Greater(a)],
        8 => vec![Predicate::LessOrEqual(a)],
        9 => vec![Predicate::GreaterOrEqual(a), Predicate::Less(b)],
        10 => vec![Predicate::Greater(a), Predicate::LessOrEqual(b)],
        _ => vec![Predicate::GreaterOrEqual(a)],
    };
    Filter::Field(path.to_owned(), tests)
}

/// A value that some document has at the path, or a small number.
fn any_operand(session: &mut Session, name: &str, path: &str) -> Value {
    let documents = session.state.documents(name).filter(|documents| !documents.is_empty());
    if let Some(documents) = documents
        && session.rng.u8(0..3) > 0
    {
        let map = documents.values().nth(session.rng.usize(0..documents.len())).expect("within");
        let mut found = Vec::new();
        distinct_at(map, path, &mut found);
        let plain =
            |value: &&&Value| matches!(value, Value::Int32(_) | Value::String(_) | Value::Null | Value::DateTime(_));
        if let Some(value) = found.iter().find(plain) {
            return (*value).clone();
        }
    }
    match session.rng.u8(0..8) {
        0 => Value::Null,
        1 => Value::Double(Double(f64::from(session.rng.i32(0..6)) / 2.0)),
        2 if session.rng.bool() => long(session.rng.u32(..)),
        2 => Value::from("x"),
        3 => Value::Int64(i64::from(session.rng.i32(0..1000))),
        _ => Value::Int32(session.rng.i32(0..6)),
    }
}

/// A total order of documents, which ends with `_id`.
pub(crate) fn any_sort_order(session: &mut Session) -> SortOrder {
    let mut order = Vec::new();
    for _ in 0..session.rng.usize(0..3) {
        let name = SORTED[session.rng.usize(0..SORTED.len())];
        if !order.iter().any(|(other, _)| *other == name) {
            order.push((name, session.rng.bool()));
        }
    }
    order.push(("_id", session.rng.bool()));
    SortOrder(order)
}

/// A projection, or usually none.
pub(crate) fn any_projection(session: &mut Session) -> Option<Projection> {
    (session.rng.u8(0..3) == 0).then(|| Projection::random(&mut session.rng))
}

/// An index as a hint, or the natural order. If the index is sparse or partial, its name is returned, too, because only
/// the documents in the index are found.
pub(crate) fn any_hint(session: &mut Session, name: &str, now: bool) -> Option<(alluvium::Hint, Option<String>)> {
    if session.rng.u8(0..3) > 0 {
        return None;
    }
    let ready = session.state.collections.get(name).map(|contents| {
        let indexes = contents.indexes.values().filter(|index| now && index.ready);
        indexes.map(|index| index.definition.clone()).collect::<Vec<_>>()
    });
    let ready = ready.unwrap_or_default();
    if ready.is_empty() || session.rng.u8(0..3) == 0 {
        return Some((r#"{"$natural":1}"#.into(), None));
    }
    let definition = &ready[session.rng.usize(0..ready.len())];
    let few = definition.is_sparse() || definition.partial_filter().is_some();
    Some((definition.name().into(), few.then(|| definition.name().to_owned())))
}

/// An update that applies to any document.
pub(crate) fn any_change(session: &mut Session) -> Change {
    let k = any_number(session);
    any_update(&mut session.rng, k)
}

/// An update that may not apply to a document; as a checked update it would be an error.
pub(crate) fn any_blind_change(session: &mut Session) -> Change {
    let k = any_number(session);
    any_blind_update(&mut session.rng, k)
}

/// Usually one of a few numbers, so that documents return to earlier contents.
fn any_number(session: &mut Session) -> i32 {
    if session.rng.bool() { session.rng.i32(0..3) } else { session.rng.i32(0..1000) }
}
