//! Applies projections. Only the fields that are returned are decoded.

use alluvium_document::path::FieldPath;
use alluvium_document::row::{ArrayRef, MapRef, RowError, ValueRef};
use alluvium_document::{Document, Map, Value};

use super::tree::{Child, Node, Slice};
use super::{Kind, Projection, ProjectionError, computed};
use crate::filter::{Filter, Selection};

type Result<T> = std::result::Result<T, ProjectionError>;

/// The place in the document at which a node is applied.
#[derive(Clone, Copy)]
struct At {
    /// The number of names of the positional path that led to this place only through maps; `None`
    /// at other places.
    position: Option<usize>,
    /// True within an array that is directly in another array, where slices do not apply.
    nested: bool,
}

pub(super) struct Application<'a> {
    pub projection: &'a Projection,
    pub document: &'a Document,
    pub filter: &'a Filter,
}

impl Application<'_> {
    pub fn run(&self) -> Result<Map> {
        let map = self.document.map()?;
        let at = At { position: Some(0), nested: false };
        let mut projected = match self.projection.kind {
            Kind::Inclusion => self.included(&self.projection.root, &map, at)?,
            Kind::Exclusion => self.not_excluded(&self.projection.root, &map, at)?,
        };
        if self.projection.kind == Kind::Inclusion {
            for elem_match in &self.projection.elem_matches {
                if let Some(found) = self.elem_match(&elem_match.name, map.get(&elem_match.name)?)? {
                    projected.push(&*elem_match.name, found);
                }
            }
            computed::add(self.projection, self.document, &mut projected)?;
        }
        Ok(projected)
    }

    /// The fields that a node names, in the order of the map.
    fn included(&self, node: &Node, map: &MapRef<'_>, at: At) -> Result<Map> {
        let mut projected = Map::with_capacity(node.children().len());
        let mut put = |name: &str, child: &Child, value: ValueRef<'_>| -> Result<()> {
            if let Some(value) = self.child(child, value, self.below(at, name))? {
                projected.push(name, value);
            }
            Ok(())
        };
        let Some(shape) = map.shape() else {
            for field in map.iter() {
                let (name, value) = field?;
                if let Some((name, child)) = name.as_str().and_then(|name| Some((name, node.get(name)?))) {
                    put(name, child, value)?;
                }
            }
            return Ok(projected);
        };
        let fields = node.children().iter().filter_map(|(name, child)| Some((shape.position(name)?, &**name, child)));
        let mut fields: Vec<(usize, &str, &Child)> = fields.collect();
        fields.sort_unstable_by_key(|(position, ..)| *position);
        let names: Vec<&str> = fields.iter().map(|(_, name, _)| *name).collect();
        for ((_, name, child), value) in fields.iter().zip(map.get_fields(&names)?) {
            value.map_or(Ok(()), |value| put(name, child, value))?;
        }
        Ok(projected)
    }

    /// All fields except those that a node excludes.
    fn not_excluded(&self, node: &Node, map: &MapRef<'_>, at: At) -> Result<Map> {
        let mut projected = Map::with_capacity(map.len());
        for field in map.iter() {
            let (key, value) = field?;
            let name = key.as_str();
            let root = at.position == Some(0);
            if let Some(name) =
                name.filter(|name| root && self.projection.elem_matches.iter().any(|e| &*e.name == *name))
            {
                self.elem_match(name, Some(value))?.into_iter().for_each(|found| projected.push(name, found));
                continue;
            }
            let value = match name.and_then(|name| node.get(name)) {
                None => Some(value.to_value()?),
                Some(child) => self.child(child, value, self.below(at, name.unwrap_or_default()))?,
            };
            if let Some(value) = value {
                projected.entries.push((key.to_value()?, value));
            }
        }
        Ok(projected)
    }

    /// The place of a field of a map.
    fn below(&self, at: At, name: &str) -> At {
        let next = |depth: usize| {
            let path = self.projection.position.as_ref();
            // This is computed even without a positional path, because it distinguishes the
            // document itself from the maps in it.
            let leads = path.is_some_and(|path| path.names().nth(depth) == Some(name));
            leads.then_some(depth + 1)
        };
        At { position: at.position.and_then(next), ..at }
    }

    /// The projected value of a field; `None` if nothing of it is returned.
    fn child(&self, child: &Child, value: ValueRef<'_>, at: At) -> Result<Option<Value>> {
        let at = match (&value, at.position) {
            (ValueRef::Array(array), Some(_)) if self.projection.position.is_some() => {
                return self.element(child, array).map(Some);
            }
            (ValueRef::Array(_), _) => At { position: None, ..at },
            _ => at,
        };
        match (child, value) {
            (Child::Computed, _) => Ok(None),
            (Child::Whole, _) if self.projection.kind == Kind::Exclusion => Ok(None),
            (Child::Fields(node), value) => self.fields(node, value, at),
            (Child::Slice(slice), ValueRef::Array(array)) if !at.nested => Ok(Some(sliced(*slice, &array)?)),
            (Child::Whole | Child::Slice(_) | Child::Position, value) => Ok(Some(value.to_value()?)),
        }
    }

    /// The projection of a value: maps and arrays of maps are entered.
    fn fields(&self, node: &Node, value: ValueRef<'_>, at: At) -> Result<Option<Value>> {
        match (value, self.projection.kind) {
            (ValueRef::Map(map), Kind::Inclusion) => Ok(Some(self.included(node, &map, at)?.into())),
            (ValueRef::Map(map), Kind::Exclusion) => Ok(Some(self.not_excluded(node, &map, at)?.into())),
            (ValueRef::Array(array), _) => {
                let mut elements = Vec::new();
                for element in array.iter() {
                    let element = element?;
                    let nested = at.nested || matches!(element, ValueRef::Array(_));
                    elements.extend(self.fields(node, element, At { nested, ..at })?);
                }
                Ok(Some(Value::Array(elements)))
            }
            // If a field below this value is computed, the value becomes a map, whatever it was.
            (_, Kind::Inclusion) => Ok(node.has_computed().then(|| Value::Map(Map::new()))),
            (value, Kind::Exclusion) => Ok(Some(value.to_value()?)),
        }
    }

    /// An array with the element at the position that the filter selects.
    fn element(&self, child: &Child, array: &ArrayRef<'_>) -> Result<Value> {
        let path = || self.projection.position.as_ref().map_or_else(String::new, FieldPath::to_string);
        let position = self.filter.position(self.document, Selection::Projection)?;
        let position = position.ok_or_else(|| ProjectionError::NoPosition(path()))?;
        let at = At { position: None, nested: false };
        let element = match (child, array.get(position)?) {
            (Child::Fields(node), Some(element)) => self.fields(node, element, at)?,
            (_, element) => element.map(|element| element.to_value()).transpose()?,
        };
        Ok(Value::Array(vec![element.ok_or_else(|| ProjectionError::NoElement(path()))?]))
    }

    /// An array with the first element that matches.
    fn elem_match(&self, name: &str, value: Option<ValueRef<'_>>) -> Result<Option<Value>> {
        let known = self.projection.elem_matches.iter().find(|known| &*known.name == name);
        let (Some(elem_match), Some(ValueRef::Array(array))) = (known, value) else { return Ok(None) };
        for element in array.iter() {
            let element = element?;
            if elem_match.filter.matches_ref(&element)? {
                return Ok(Some(Value::Array(vec![element.to_value()?])));
            }
        }
        Ok(None)
    }
}

fn sliced(slice: Slice, array: &ArrayRef<'_>) -> std::result::Result<Value, RowError> {
    let (skip, count) = slice.range(array.len());
    let elements = array.iter().skip(skip).take(count).map(|element| element?.to_value());
    elements.collect::<std::result::Result<_, _>>().map(Value::Array)
}
