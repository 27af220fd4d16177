//! The sort key of a document.
//!
//! A document yields the same keys as in an index on the parts of the sort: one for each element of
//! the arrays on its paths. The sort key is the least of these keys.

use alluvium_document::Value;
use alluvium_document::path::array_index;
use alluvium_document::row::{ArrayRef, MapRef, ValueRef};

use super::{Direction, SortError, SortPart};

/// The maximum number of keys of a document. A document yields more keys than it has values only by
/// combining positions and elements.
const MAX_KEYS: usize = 1 << 22;

/// Appends the sort key of a document.
pub(super) fn put(parts: &[SortPart], map: MapRef<'_>, out: &mut Vec<u8>) -> Result<(), SortError> {
    let before = out.len();
    for part in parts {
        match find(map, Names::of(part))? {
            None => put_part(part, &ValueRef::Null, out)?,
            Some((ValueRef::Array(_), _)) => {
                out.truncate(before);
                return put_least(parts, map, out);
            }
            Some((value, _)) => put_part(part, &value, out)?,
        }
    }
    Ok(())
}

fn put_part(part: &SortPart, value: &ValueRef<'_>, out: &mut Vec<u8>) -> Result<(), SortError> {
    let start = out.len();
    match &part.collation {
        None => value.encode_key(out)?,
        Some(collation) => collation.encode_key_of(value, out)?,
    }
    if part.direction == Direction::Descending {
        out[start..].iter_mut().for_each(|byte| *byte = !*byte);
    }
    Ok(())
}

/// The remaining names of a path.
#[derive(Clone, Copy)]
struct Names<'s> {
    rest: Option<&'s str>,
}

impl<'s> Names<'s> {
    fn of(part: &'s SortPart) -> Self {
        Self { rest: Some(part.path.as_str()) }
    }

    fn split(self) -> Option<(&'s str, Self)> {
        let rest = self.rest?;
        Some(match rest.split_once('.') {
            Some((first, rest)) => (first, Self { rest: Some(rest) }),
            None => (rest, Self { rest: None }),
        })
    }
}

type Found<'a, 's> = Option<(ValueRef<'a>, Names<'s>)>;

/// The value at the end of the names, or the first array before the end, with the remaining names.
fn find<'a, 's>(map: MapRef<'a>, names: Names<'s>) -> Result<Found<'a, 's>, SortError> {
    let Some((name, rest)) = names.split() else { return Ok(None) };
    match map.get(name)? {
        Some(value) => find_in(value, rest),
        None => Ok(None),
    }
}

fn find_in<'a, 's>(mut value: ValueRef<'a>, mut names: Names<'s>) -> Result<Found<'a, 's>, SortError> {
    loop {
        if matches!(value, ValueRef::Array(_)) {
            return Ok(Some((value, names)));
        }
        let Some((name, rest)) = names.split() else { return Ok(Some((value, names))) };
        let ValueRef::Map(map) = value else { return Ok(None) };
        match map.get(name)? {
            Some(inner) => (value, names) = (inner, rest),
            None => return Ok(None),
        }
    }
}

/// The progress of a part along its path.
#[derive(Clone)]
enum State<'a, 's> {
    /// The value of the part is determined.
    Fixed(ValueRef<'a>),
    /// These names remain to be followed in each element of the array.
    Open(Names<'s>),
    /// The name is a position in the array. It leads to the value `found`, whichever element is
    /// current.
    Position { name: &'s str, nested: bool, found: Found<'a, 's> },
}

struct Least<'p, 'o> {
    parts: &'p [SortPart],
    out: &'o mut Vec<u8>,
    /// The start of the least key in `out`. The key that follows it is under construction.
    start: usize,
    best: Option<usize>,
    keys: usize,
}

fn put_least(parts: &[SortPart], map: MapRef<'_>, out: &mut Vec<u8>) -> Result<(), SortError> {
    let states = parts.iter().map(|part| State::Open(Names::of(part))).collect();
    let start = out.len();
    let mut least = Least { parts, out, start, best: None, keys: 0 };
    least.expand(states, Some(map))
}

impl<'p> Least<'p, '_> {
    /// Yields the keys for the values in `map`, in which the open parts follow the remaining names of their paths.
    fn expand<'a>(&mut self, mut states: Vec<State<'a, 'p>>, map: Option<MapRef<'a>>) -> Result<(), SortError> {
        let mut array: Option<(usize, ArrayRef<'a>)> = None;
        // The parts that lead through the array.
        let mut through: Vec<usize> = Vec::new();
        let mut whole = false;
        for (index, state) in states.iter_mut().enumerate() {
            let (found, nested) = match &*state {
                State::Fixed(_) => continue,
                State::Open(names) => (map.map_or(Ok(None), |map| find(map, *names))?, false),
                State::Position { name, nested, found } => {
                    if map.map_or(Ok(None), |map| map.get(name))?.is_some() {
                        let path = self.parts[index].path.to_string();
                        return Err(SortError::AmbiguousName(path, (*name).to_owned()));
                    }
                    (found.clone(), *nested)
                }
            };
            *state = match found {
                None => State::Fixed(ValueRef::Null),
                Some((ValueRef::Array(found), names)) => {
                    match &array {
                        None => array = Some((index, found)),
                        Some((_, known)) if known.is_same(&found) => {}
                        Some((other, _)) => {
                            let path = |index: usize| self.parts[index].path.to_string();
                            return Err(SortError::ParallelArrays(path(*other), path(index)));
                        }
                    }
                    through.push(index);
                    whole |= nested;
                    State::Open(names)
                }
                Some((value, _)) => State::Fixed(value),
            };
        }
        match array {
            None => self.offer(&states),
            Some((_, array)) => self.elements(states, &through, array, whole),
        }
    }

    /// Yields the keys of each element of an array.
    fn elements<'a>(
        &mut self,
        mut states: Vec<State<'a, 'p>>,
        through: &[usize],
        array: ArrayRef<'a>,
        whole: bool,
    ) -> Result<(), SortError> {
        let ends = |state: &State<'_, '_>| matches!(state, State::Open(Names { rest: None }));
        if array.is_empty() {
            for index in through {
                if ends(&states[*index]) {
                    states[*index] = State::Fixed(ValueRef::Other(Value::Undefined));
                }
            }
            return self.expand(states, None);
        }
        // A remaining name that is a number is a position, if the array is long enough.
        let mut differ = false;
        for index in through {
            let State::Open(names) = &states[*index] else { continue };
            let Some((name, rest)) = names.split() else {
                differ |= !whole;
                continue;
            };
            match array_index(name).map_or(Ok(None), |at| array.get(at))? {
                Some(element) => {
                    let nested = matches!(element, ValueRef::Array(_));
                    states[*index] = State::Position { name, nested, found: find_in(element, rest)? };
                }
                None => differ = true,
            }
        }
        let mut first = true;
        for element in array.iter() {
            let element = element?;
            if !differ && !first {
                // All elements yield the same keys, but their names may be ambiguous.
                self.check_names(&states, &element)?;
                continue;
            }
            first = false;
            let mut states = states.clone();
            for index in through {
                if ends(&states[*index]) {
                    let value = if whole { ValueRef::Array(array) } else { element.clone() };
                    states[*index] = State::Fixed(value);
                }
            }
            let map = if let ValueRef::Map(map) = &element { Some(*map) } else { None };
            self.expand(states, map)?;
        }
        Ok(())
    }

    fn check_names(&self, states: &[State<'_, '_>], element: &ValueRef<'_>) -> Result<(), SortError> {
        let ValueRef::Map(map) = element else { return Ok(()) };
        for (part, state) in self.parts.iter().zip(states) {
            if let State::Position { name, .. } = state
                && map.get(name)?.is_some()
            {
                return Err(SortError::AmbiguousName(part.path.to_string(), (*name).to_owned()));
            }
        }
        Ok(())
    }

    /// Keeps the key of these values if it is the least so far.
    fn offer(&mut self, states: &[State<'_, '_>]) -> Result<(), SortError> {
        self.keys += 1;
        if self.keys > MAX_KEYS {
            let paths: Vec<&str> = self.parts.iter().map(|part| part.path.as_str()).collect();
            return Err(SortError::TooManyKeys(paths.join("', '")));
        }
        let at = self.out.len();
        for (part, state) in self.parts.iter().zip(states) {
            let value = if let State::Fixed(value) = state { value } else { &ValueRef::Null };
            put_part(part, value, self.out)?;
        }
        match self.best {
            None => self.best = Some(at),
            Some(_) if self.out[at..] < self.out[self.start..at] => drop(self.out.drain(self.start..at)),
            Some(_) => self.out.truncate(at),
        }
        Ok(())
    }
}
