//! Fields of maps at paths.

use alluvium_document::{Map, Value};

/// Sets the value at the path given by `names`, or removes it if there is no value. In arrays on the path, each element
/// is changed. A value on the path that is not a map is replaced by a map, as in MongoDB, even if there is no value to
/// set.
pub(crate) fn set(map: &mut Map, names: &[&str], value: Option<&Value>) {
    match (names, value) {
        ([], _) => {}
        ([name], Some(value)) => drop(map.insert(*name, value.clone())),
        ([name], None) => drop(map.remove(name)),
        ([name, rest @ ..], value) => match (map.get_mut(name), value) {
            (Some(inner), value) => set_in(inner, rest, value),
            (None, value) => {
                let mut inner = Map::new();
                set(&mut inner, rest, value);
                map.push(*name, inner);
            }
        },
    }
}

fn set_in(target: &mut Value, names: &[&str], value: Option<&Value>) {
    match (target, value) {
        (Value::Map(map), value) => set(map, names, value),
        (Value::Array(elements), value) => elements.iter_mut().for_each(|element| set_in(element, names, value)),
        (other, value) => {
            let mut map = Map::new();
            set(&mut map, names, value);
            *other = Value::Map(map);
        }
    }
}

/// The number of places at which [`set`] puts a copy of the value.
pub(crate) fn places(map: &Map, names: &[&str]) -> usize {
    match names {
        [name, rest @ ..] if !rest.is_empty() => map.get(name).map_or(1, |inner| places_in(inner, rest)),
        _ => 1,
    }
}

fn places_in(target: &Value, names: &[&str]) -> usize {
    match target {
        Value::Map(map) => places(map, names),
        Value::Array(elements) => elements.iter().map(|element| places_in(element, names)).sum(),
        _ => 1,
    }
}

/// The value at the path given by `names`, which leads only through maps.
pub(crate) fn find<'m>(map: &'m Map, names: &[&str]) -> Option<&'m Value> {
    match names {
        [] => None,
        [name] => map.get(name),
        [name, rest @ ..] => find(map.get(name)?.as_map()?, rest),
    }
}
