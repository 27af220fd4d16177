//! Random documents and random edits.

use std::collections::BTreeSet;
use std::convert::Infallible;

use proptest::collection::vec;
use proptest::prelude::*;

use super::*;
use crate::arbitrary;

const NAMES: [&str; 10] = ["a", "b", "c", "d", "0", "1", "01", "a.b", "", "é"];

fn scalar() -> BoxedStrategy<Value> {
    prop_oneof![
        4 => (0i32..3).prop_map(Value::from),
        1 => prop::sample::select(vec![0.0, -0.0, 1.0, f64::NAN, -f64::NAN]).prop_map(Value::from),
        1 => "[a-z]{0,40}".prop_map(Value::from),
        1 => arbitrary::value().prop_filter("a document", |value| !matches!(value, Value::Map(_))),
    ]
    .boxed()
}

/// Values whose documents have each name once.
fn value() -> BoxedStrategy<Value> {
    let nested = scalar().prop_recursive(4, 60, 6, |inner| {
        prop_oneof![vec(inner.clone(), 0..6).prop_map(Value::Array), fields(inner).prop_map(Value::Map)]
    });
    nested.boxed()
}

fn fields(values: impl Strategy<Value = Value> + 'static) -> BoxedStrategy<Map> {
    let names = prop::sample::subsequence(NAMES.to_vec(), 0..=6).prop_shuffle();
    (names, vec(values, 6)).prop_map(|(names, values)| names.into_iter().zip(values).collect()).boxed()
}

fn document() -> impl Strategy<Value = Map> {
    (fields(value()), prop::option::of(0i32..3)).prop_map(|(fields, id)| {
        let id = id.map(|id| (Value::from("_id"), Value::from(id)));
        Map { entries: id.into_iter().chain(fields.entries).collect() }
    })
}

/// Changes something at a random place, never the `_id`.
fn edit(value: &mut Value, random: &mut fastrand::Rng) {
    let new = Value::from(random.i32(0..5));
    match value {
        Value::Map(map) => {
            let start = usize::from(map.contains("_id"));
            let at = random.usize(start..=map.len());
            let name = NAMES[random.usize(..NAMES.len())];
            let is_new = !map.contains(name);
            match (random.u8(..8), map.entries.get_mut(at)) {
                (0, Some(_)) => drop(map.entries.remove(at)),
                (1, Some(_)) => {
                    let other = random.usize(start..map.len());
                    map.entries.swap(at, other);
                }
                (2, Some((_, value))) => *value = new,
                (3 | 4, _) if is_new => map.entries.insert(at, (name.into(), new)),
                (_, Some((_, value))) => edit(value, random),
                (_, None) => drop(map.insert(name, new)),
            }
        }
        Value::Array(array) => {
            let at = random.usize(..=array.len());
            match (random.u8(..8), array.get_mut(at)) {
                (0, Some(_)) => drop(array.remove(at)),
                (1, _) => array.truncate(at),
                (2, _) => array.insert(at, new),
                (_, Some(value)) => edit(value, random),
                (_, None) => array.push(new),
            }
        }
        _ => *value = new,
    }
}

/// The number of fields of `after` that keep their places, found by trying all numbers.
fn kept(before: &Map, after: &Map) -> usize {
    let in_order = |count: &usize| {
        let mut names = before.iter().map(|(key, _)| key);
        after.entries[..*count].iter().all(|(key, _)| names.any(|name| name == key))
    };
    (0..=after.len()).rev().find(in_order).unwrap()
}

fn has_paths(map: &Map) -> bool {
    let names: BTreeSet<_> = map.iter().filter_map(|(key, _)| key.as_str()).collect();
    names.len() == map.len()
}

/// True if the documentation of [`Difference::between`] says that it returns `None`.
fn is_refused(before: &Map, after: &Map) -> bool {
    let id = |map: &Map| map.get("_id").map(|id| bytes(&doc! {"": id}));
    let keeps_id = || {
        let position = after.iter().position(|(key, _)| key.as_str() == Some("_id"));
        id(before) == id(after) && position.is_none_or(|at| at < kept(before, after))
    };
    bytes(before) != bytes(after) && !(has_paths(before) && has_paths(after) && keeps_id())
}

/// Makes a change like a client that does not know how fields are ordered.
fn set(value: &mut Value, path: &[Component], change: Change<'_>) {
    let Some((component, rest)) = path.split_first() else {
        match (value, change) {
            (value, Change::Updated(new)) => *value = new.clone(),
            (Value::Array(array), Change::Truncated(size)) => array.truncate(size as usize),
            (value, change) => panic!("{value:?} {change:?}"),
        }
        return;
    };
    match (component, value) {
        (Component::Field(name), Value::Map(map)) if rest.is_empty() && change == Change::Removed => {
            assert!(map.remove(name).is_some());
        }
        (Component::Field(name), Value::Map(map)) => {
            if !map.contains(name) {
                map.push(name.clone(), Value::Null);
            }
            set(map.get_mut(name).unwrap(), rest, change);
        }
        (Component::Position(at), Value::Array(array)) => {
            if array.len() == *at as usize {
                array.push(Value::Null);
            }
            set(&mut array[*at as usize], rest, change);
        }
        (component, value) => panic!("{component:?} {value:?}"),
    }
}

/// The value with the fields of all documents in it sorted by name.
fn sorted(value: Value) -> Value {
    match value {
        Value::Map(map) => {
            let mut entries: Vec<_> = map.entries.into_iter().map(|(key, value)| (key, sorted(value))).collect();
            entries.sort_by(|a, b| crate::compare::compare(&a.0, &b.0));
            Value::Map(Map { entries })
        }
        Value::Array(array) => Value::Array(array.into_iter().map(sorted).collect()),
        value => value,
    }
}

fn holds(before: &Map, after: &Map) {
    let Some(difference) = Difference::between(before, after) else {
        assert!(is_refused(before, after), "{before:?} {after:?}");
        return;
    };
    assert!(!is_refused(before, after), "{before:?} {after:?}");
    assert_eq!(difference.is_empty(), bytes(before) == bytes(after));
    let mut applied = before.clone();
    difference.apply(&mut applied).unwrap();
    assert_eq!(bytes(&applied), bytes(after), "{difference:?}");
    if !difference.is_empty() {
        assert_eq!(difference.root.appended.len(), after.len() - kept(before, after));
    }

    // The changes lead to the same content, in any order of fields, and no path leads through another.
    let mut changed = Value::Map(before.clone());
    let mut paths = Vec::new();
    let Ok(()) = difference.try_for_each(|path, change| -> Result<(), Infallible> {
        set(&mut changed, path.components(), change);
        if !matches!(change, Change::Truncated(_)) {
            paths.push(path.clone());
        }
        Ok(())
    });
    assert_eq!(sorted(changed), sorted(Value::Map(after.clone())));
    paths.sort();
    let through = |pair: &[Path]| pair[1].components().starts_with(pair[0].components());
    assert!(!paths.windows(2).any(through), "{paths:?}");

    let form = difference.clone().into_map();
    let levels =
        (0..).find(|levels| ![before, after].iter().any(|map| Value::Map((*map).clone()).is_deeper_than(*levels)));
    assert!(!Value::Map(form.clone()).is_deeper_than(levels.unwrap()), "{form:?}");
    let mut encoded = Vec::new();
    difference.encode(&mut encoded);
    assert_eq!(encoded, bytes(&form));
    assert_eq!(Difference::from_map(form).unwrap(), difference);
}

/// Maps that resemble the stored form.
fn form() -> impl Strategy<Value = Map> {
    let names = || "[ruadlt](|[ab]|[0-9]|2147483648|01)".prop_map(Value::from);
    let leaf = prop_oneof![
        3 => Just(Value::Bool(true)),
        3 => (-1i32..3).prop_map(Value::from),
        1 => arbitrary::value(),
    ];
    let nested = leaf.prop_recursive(4, 30, 4, move |inner| {
        vec((names(), inner), 0..4).prop_map(|entries| Value::Map(Map { entries }))
    });
    vec((prop_oneof![9 => names(), 1 => arbitrary::value()], nested), 0..4).prop_map(|entries| Map { entries })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn random_values_of_the_same_fields(before in document(), plain in vec(scalar(), 7), any in vec(value(), 7)) {
        let same: Vec<Value> = before.iter().map(|(_, value)| value.clone()).collect();
        for new in [plain, any, same] {
            let fields: Vec<(&str, Value, &Value)> =
                before.iter().zip(&new).map(|((name, old), new)| (name.as_str().unwrap(), old.clone(), new)).collect();
            let after: Map = fields.iter().map(|(name, _, new)| (*name, (*new).clone())).collect();
            prop_assert_eq!(Difference::of_values(&fields), Difference::between(&before, &after));
        }
    }

    #[test]
    fn random_pairs(before in document(), after in document()) {
        holds(&before, &after);
        holds(&before, &before);
    }

    #[test]
    fn random_edits(before in document(), edits in 1usize..12, seed in any::<u64>()) {
        let mut random = fastrand::Rng::with_seed(seed);
        let mut after = Value::Map(before.clone());
        for _ in 0..edits {
            edit(&mut after, &mut random);
        }
        let Value::Map(after) = after else { panic!("{after:?}") };
        prop_assert!(Difference::between(&before, &after).is_some());
        holds(&before, &after);
    }

    #[test]
    fn values_of_all_kinds(a in arbitrary::value(), b in arbitrary::value(), seed in any::<u64>()) {
        let mut edited = a.clone();
        edit(&mut edited, &mut fastrand::Rng::with_seed(seed));
        for (a, b) in [(&a, &b), (&a, &edited)] {
            if let (Value::Map(a), Value::Map(b)) = (a, b) {
                holds(a, b);
            }
            holds(&doc! {"x": a}, &doc! {"x": b});
            let array = |changed: &Value| doc! {"x": (Value::from(vec![Value::Null, changed.clone(), a.clone()]))};
            holds(&array(a), &array(b));
        }
    }

    #[test]
    fn any_map_is_read_or_refused(map in form(), other in arbitrary::value(), document in document()) {
        if let Value::Map(map) = other {
            let _ = Difference::from_map(map);
        }
        if let Ok(difference) = Difference::from_map(map) {
            let form = difference.clone().into_map();
            prop_assert_eq!(Difference::from_map(form), Ok(difference.clone()));
            difference.description(true);
            let _ = difference.apply(&mut document.clone());
        }
    }
}
