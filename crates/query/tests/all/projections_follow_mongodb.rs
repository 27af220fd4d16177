//! Projections: the cases in `cases/projection.txt`, and arbitrary projections, which are compared with a simple second
//! implementation for decoded maps.

use crate::common::arbitrary::document;
use crate::common::{golden, map_of, stored_document};
use alluvium_document::{Document, Map, Value};
use alluvium_query::filter::Filter;
use alluvium_query::projection::{Projection, ProjectionError};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;

/// The result of a projection, which must be the same for both forms of a document.
fn apply(projection: &Projection, map: &Map, filter: &Filter) -> Result<Map, ProjectionError> {
    let projected = projection.apply(&Document::from_map(map).unwrap(), filter);
    if map.contains("_id") {
        assert_eq!(projection.apply(&stored_document(map), filter), projected, "{map:?}");
    }
    projected
}

#[test]
fn cases() {
    golden::check("projection.txt", |inputs| {
        let filter = if inputs.len() > 2 { Filter::parse(&map_of(inputs[1])).unwrap() } else { Filter::default() };
        let map = map_of(inputs[inputs.len() - 1]);
        let projection = Projection::parse(&map_of(inputs[0]));
        match projection.and_then(|projection| apply(&projection, &map, &filter)) {
            Ok(projected) => {
                Document::from_map(&projected).unwrap().to_json(alluvium_document::json::Format::RELAXED).unwrap()
            }
            Err(error) => format!("{} {}: {error}", error.code().number(), error.code().name()),
        }
    });
}

/// True if a path, or a prefix of it, is among the paths.
fn meets(path: &[&str], paths: &[Vec<&str>]) -> bool {
    paths.iter().any(|other| path.starts_with(other))
}

fn leads_to(path: &[&str], paths: &[Vec<&str>]) -> bool {
    paths.iter().any(|other| other.starts_with(path))
}

/// The simple implementation, which looks up each value by its whole path.
fn plain(value: &Value, path: &[&str], paths: &[Vec<&str>], includes: bool) -> Option<Value> {
    if meets(path, paths) {
        return includes.then(|| value.clone());
    }
    if !leads_to(path, paths) {
        return (!includes).then(|| value.clone());
    }
    match value {
        Value::Map(map) => {
            let fields = map.entries.iter().filter_map(|(name, value)| {
                let path = [path, &[name.as_str().unwrap()]].concat();
                Some((name.clone(), plain(value, &path, paths, includes)?))
            });
            Some(Value::Map(Map { entries: fields.collect() }))
        }
        Value::Array(elements) => {
            Some(Value::Array(elements.iter().filter_map(|value| plain(value, path, paths, includes)).collect()))
        }
        other => (!includes).then(|| other.clone()),
    }
}

fn paths() -> impl Strategy<Value = Vec<&'static str>> {
    vec(select(vec!["a", "b", "c", "a.b", "a.c", "b.a", "a.b.c", "c.a", "c.0", "0", "a.b.b", "_id"]), 1..5)
}

/// The projection that includes or excludes all of these paths; `None` if it is not allowed.
fn projection(paths: &[&str], includes: bool) -> Option<Projection> {
    let mut map = Map::new();
    paths.iter().for_each(|path| drop(map.insert(*path, includes)));
    Projection::parse(&map).ok()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 3000, ..ProptestConfig::default() })]

    #[test]
    fn all_paths_are_included_or_excluded(map in document(), paths in paths(), includes in any::<bool>()) {
        let Some(projection) = projection(&paths, includes) else { return Ok(()) };
        let mut split: Vec<Vec<&str>> = paths.iter().map(|path| path.split('.').collect()).collect();
        if includes {
            split.push(vec!["_id"]);
        }
        let expected = plain(&map.clone().into(), &[], &split, includes);
        let projected = apply(&projection, &map, &Filter::default()).unwrap();
        prop_assert_eq!(Some(Value::Map(projected.clone())), expected);
        // Fields that are not among the needed fields have no effect on the result.
        if let Some(fields) = projection.needs() {
            let mut other = map.clone();
            other.entries.retain(|(name, _)| fields.contains(&name.as_str().unwrap()));
            prop_assert_eq!(apply(&projection, &other, &Filter::default()).unwrap(), projected.clone());
        } else {
            prop_assert!(!includes && !paths.is_empty());
        }
        // Applying the projection again removes nothing more.
        prop_assert_eq!(apply(&projection, &projected, &Filter::default()).unwrap(), projected);
    }
}
