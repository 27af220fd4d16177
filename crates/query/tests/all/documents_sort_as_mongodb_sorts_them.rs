//! Sort keys: the cases in `cases/sort.txt`, and arbitrary documents, which are compared with a simple second
//! implementation.

use std::cmp::Ordering;

use crate::common::arbitrary::document;
use crate::common::{golden, map_of, stored_document};
use alluvium_document::compare::compare;
use alluvium_document::path::FieldPath;
use alluvium_document::{Document, Map, Value};
use alluvium_query::index::{Definition, IndexError};
use alluvium_query::sort::{Direction, Sort, SortError, TopK};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;

/// The key of a document, which must be the same in both of its forms.
fn key(sort: &Sort, map: &Map) -> Result<Vec<u8>, SortError> {
    let key = sort.key(&Document::from_map(map).unwrap());
    assert_eq!(sort.key(&stored_document(map)), key, "{map:?}");
    key
}

#[test]
fn cases() {
    golden::check("sort.txt", |inputs| {
        let sort = Sort::parse(&map_of(inputs[0])).unwrap();
        let documents: Vec<Map> = inputs[1..].iter().map(|text| map_of(text)).collect();
        let keys: Result<Vec<_>, SortError> = documents.iter().map(|map| key(&sort, map)).collect();
        let keys = match keys {
            Err(error) => return format!("{} {}: {error}", error.code().number(), error.code().name()),
            Ok(keys) => keys,
        };
        let mut top = TopK::new(None, usize::MAX);
        for (map, key) in documents.iter().zip(&keys) {
            top.offer(key, 0, || map).unwrap();
        }
        let (mut text, mut last) = (String::new(), None);
        for (key, map) in top.into_sorted() {
            let sign = last.as_deref().map_or("", |last: &[u8]| if last == &*key { " = " } else { " " });
            let id = Document::from_map(&Map::from([("x", map.get("_id").unwrap().clone())])).unwrap().to_string();
            text.extend([sign, &id["{\"x\":".len()..id.len() - 1]]);
            last = Some(key);
        }
        text
    });
}

/// A document in which arrays are replaced by one of their elements. For each path that ends above a replaced array, it
/// has the original value.
struct Apart {
    document: Value,
    whole: Vec<Option<Value>>,
}

/// All tuples of values by which a document may be sorted. `None` if paths lead through different arrays.
///
/// An array on a path is expanded once for all paths that lead through it. A path that ends above the array leads to
/// the whole value.
fn tuples(documents: Vec<Apart>, paths: &[Vec<&str>]) -> Option<Vec<Vec<Value>>> {
    let mut all = Vec::new();
    for Apart { document, mut whole } in documents {
        let arrays: Vec<Vec<&str>> = paths.iter().filter_map(|path| array_on(&document, path)).collect();
        let Some(first) = arrays.first() else {
            let values = paths.iter().zip(whole);
            all.push(values.map(|(path, whole)| whole.unwrap_or_else(|| plain(&document, path))).collect());
            continue;
        };
        if arrays.iter().any(|array| array != first) {
            return None;
        }
        for (path, whole) in paths.iter().zip(&mut whole) {
            if whole.is_none() && path.len() < first.len() && first.starts_with(path) {
                *whole = Some(plain(&document, path));
            }
        }
        let apart = elements(&document, first).into_iter();
        all.extend(tuples(apart.map(|document| Apart { document, whole: whole.clone() }).collect(), paths)?);
    }
    Some(all)
}

/// Represents an array element that is itself an array, which is not expanded.
const KEPT: &str = "an array that stays whole";

/// The path of the first array on a path.
fn array_on<'a>(value: &Value, path: &[&'a str]) -> Option<Vec<&'a str>> {
    let mut value = value;
    for (depth, name) in path.iter().enumerate() {
        value = value.as_map()?.get(name)?;
        if value.as_array().is_some() {
            return Some(path[..=depth].to_vec());
        }
    }
    None
}

fn plain(value: &Value, path: &[&str]) -> Value {
    let found = path.iter().try_fold(value, |value, name| value.as_map()?.get(name));
    match found {
        Some(Value::Map(map)) if map.contains(KEPT) => map.get(KEPT).unwrap().clone(),
        Some(value) => value.clone(),
        None => Value::Null,
    }
}

/// One document for each element of the array at the path. The element replaces the array.
fn elements(document: &Value, path: &[&str]) -> Vec<Value> {
    let at: FieldPath = path.join(".").parse().unwrap();
    let array = at.get(document).unwrap().as_array().unwrap();
    let array = if array.is_empty() { &[Value::Undefined][..] } else { array };
    let put = |element: &Value| {
        let element = match element {
            Value::Array(_) => Map::from([(KEPT, element.clone())]).into(),
            other => other.clone(),
        };
        replaced(document, path, element)
    };
    array.iter().map(put).collect()
}

fn replaced(value: &Value, path: &[&str], new: Value) -> Value {
    let Some((name, rest)) = path.split_first() else { return new };
    let mut map = value.as_map().unwrap().clone();
    let inner = map.get_mut(name).unwrap();
    *inner = replaced(inner, rest, new);
    map.into()
}

fn compare_tuples(sort: &Sort, a: &[Value], b: &[Value]) -> Ordering {
    let order = |(index, part): (usize, &alluvium_query::sort::SortPart)| {
        let order = compare(&a[index], &b[index]);
        if part.direction == Direction::Ascending { order } else { order.reverse() }
    };
    sort.parts().iter().enumerate().map(order).find(|order| order.is_ne()).unwrap_or(Ordering::Equal)
}

/// The tuple that is first in the sort order.
fn least(sort: &Sort, map: &Map) -> Option<Vec<Value>> {
    let paths: Vec<Vec<&str>> = sort.parts().iter().map(|part| part.path.names().collect()).collect();
    let whole = vec![None; paths.len()];
    let tuples = tuples(vec![Apart { document: map.clone().into(), whole }], &paths)?;
    tuples.into_iter().min_by(|a, b| compare_tuples(sort, a, b))
}

fn sort() -> impl Strategy<Value = Sort> {
    let path = select(vec!["a", "b", "c", "a.b", "a.c", "b.a", "a.b.c", "a.a", "b.b.b"]);
    vec((path, select(vec![1, -1])), 1..4).prop_map(|parts| {
        let mut map = Map::new();
        parts.into_iter().for_each(|(path, direction)| drop(map.insert(path, direction)));
        Sort::parse(&map).unwrap()
    })
}

/// Arrays in arrays, and maps with names that are numbers.
fn nested() -> impl Strategy<Value = Value> {
    let leaf = (0i32..3).prop_map(Value::from);
    leaf.prop_recursive(4, 24, 3, |inner| {
        let names = Just(["a", "b", "0", "1", "2"]).prop_shuffle();
        let map = (names, vec(inner.clone(), 0..3))
            .prop_map(|(names, values)| Value::Map(names.into_iter().zip(values).collect()));
        prop_oneof![3 => vec(inner, 0..4).prop_map(Value::Array), 2 => map]
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 3000, ..ProptestConfig::default() })]

    #[test]
    fn keys_compare_as_the_values_do(sort in sort(), a in document(), b in document()) {
        let expected = [least(&sort, &a), least(&sort, &b)];
        let keys = [key(&sort, &a), key(&sort, &b)];
        for (expected, key) in expected.iter().zip(&keys) {
            match key {
                Ok(_) => prop_assert!(expected.is_some()),
                Err(SortError::ParallelArrays(..)) => prop_assert!(expected.is_none()),
                Err(other) => prop_assert!(false, "{}", other),
            }
        }
        if let ([Some(a), Some(b)], [Ok(key_a), Ok(key_b)]) = (&expected, &keys) {
            prop_assert_eq!(key_a.cmp(key_b), compare_tuples(&sort, a, b));
        }
    }

    /// Therefore an index on the parts has the order of the sort.
    #[test]
    fn a_sort_key_is_the_least_index_key(sort in sort(), map in document()) {
        let index = Definition::parse(&sort.to_map(), &Map::new()).unwrap();
        match (key(&sort, &map), index.keys(&map)) {
            (Ok(key), Ok(keys)) => prop_assert_eq!(&key, &keys.keys[0].bytes),
            (Err(SortError::ParallelArrays(..)), Err(IndexError::ParallelArrays(_))) => {}
            (a, b) => prop_assert!(false, "{:?} {:?}", a, b),
        }
    }

    /// Names may also be positions in arrays. If a name is both in a document, both sides refuse the document.
    #[test]
    fn a_sort_key_by_positions_is_the_least_index_key(
        path in vec(select(vec!["a", "b", "0", "1"]), 1..4),
        other in prop::option::of(vec(select(vec!["a", "b", "0", "1"]), 1..3)),
        order in select(vec![1, -1]),
        a in nested(),
        b in prop::option::of(nested()),
    ) {
        let mut parts = Map::from([(format!("a.{}", path.join(".")), order)]);
        other.into_iter().for_each(|other| drop(parts.insert(format!("a.{}", other.join(".")), -1)));
        let mut map = Map::from([("_id", Value::from(1)), ("a", a)]);
        b.into_iter().for_each(|b| drop(map.insert("b", b)));
        let sort = Sort::parse(&parts).unwrap();
        let index = Definition::parse(&sort.to_map(), &Map::new()).unwrap();
        let refused = |error: &IndexError| matches!(error, IndexError::ParallelArrays(_) | IndexError::AmbiguousPath(_));
        match (key(&sort, &map), index.keys(&map)) {
            (Ok(key), Ok(keys)) => prop_assert_eq!(&key, &keys.keys[0].bytes),
            (Err(SortError::ParallelArrays(..) | SortError::AmbiguousName(..)), Err(error)) if refused(&error) => {}
            (a, b) => prop_assert!(false, "{:?} {:?}", a, b),
        }
    }

    #[test]
    fn positions_never_panic(
        path in vec(select(vec!["a", "b", "0", "1", "3"]), 1..4),
        other in vec(select(vec!["a", "0", "1"]), 1..4),
        map in document(),
    ) {
        let mut parts = Map::from([(path.join("."), 1)]);
        parts.insert(other.join("."), -1);
        drop(key(&Sort::parse(&parts).unwrap(), &map));
    }
}
