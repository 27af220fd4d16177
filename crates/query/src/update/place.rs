//! Positional operators in paths: `$[]` for all elements of an array, `$[name]` for the elements
//! that match an array filter, `$` for the element that the filter of the operation matched.

use std::cmp::Ordering;

use alluvium_document::path::{FieldPath, update_index};
use alluvium_document::row::ID;
use alluvium_document::{Map, Value, bson};

use super::fields::Fields;
use super::{Change, Context, Update, UpdateError, order};
use crate::filter::{Filter, FilterError, MAX_FILTER_BYTES, Selection};
use crate::pattern::Patterns;
use crate::work::Work;

/// The maximum number of positions of elements that the changes of an update select. All positions
/// are determined before the first change is applied.
const MAX_POSITIONS: usize = 4 << 20;

/// The work counted for examining an element.
const ELEMENT_UNITS: usize = 64;

/// The name that represents the element that the filter of the operation matched.
pub(super) const MATCHED: &str = "$";

/// True if the name selects several elements: `$[]`, `$[name]`.
pub(super) fn is_several(name: &str) -> bool {
    identifier(name).is_some()
}

/// The name of the array filter; empty for all elements.
pub(super) fn identifier(name: &str) -> Option<&str> {
    name.strip_prefix("$[")?.strip_suffix(']')
}

/// The number of names in the path that represent several elements.
pub(super) fn count(path: &FieldPath) -> usize {
    if path.as_str().contains("$[") { path.names().filter(|name| is_several(name)).count() } else { 0 }
}

/// The condition that selects the elements for a name in brackets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ArrayFilter {
    pub name: Box<str>,
    /// Matches a document that has the element as its only field, under the name of the filter.
    pub filter: Filter,
}

impl ArrayFilter {
    /// Parses an array filter, such as `{"grade.score": {$gte: 85}}`.
    pub fn parse(filter: &Value, patterns: &Patterns) -> Result<Self, UpdateError> {
        let Value::Map(map) = filter else {
            return Err(UpdateError::TypeMismatch(format!(
                "an array filter is a map, not of type {}",
                filter.type_name()
            )));
        };
        refuse_special(map)?;
        let parsed = Filter::parse_with(map, patterns)?;
        let mut names: Vec<&str> = Vec::new();
        names_of(map, &mut names);
        names.sort_unstable();
        names.dedup();
        let name = match names.as_slice() {
            [name] => *name,
            [] => return Err(failed("an array filter does not name an element: {\"name.field\": 1} for $[name]")),
            [a, b, ..] => {
                return Err(failed(&format!("an array filter names one element, not both '{a}' and '{b}'")));
            }
        };
        Self::new(name, parsed)
    }

    /// A filter with a name, which must begin with a lower-case letter and consist of letters and
    /// digits.
    pub fn new(name: &str, filter: Filter) -> Result<Self, UpdateError> {
        let mut bytes = name.bytes();
        let is_name = bytes.next().is_some_and(|byte| byte.is_ascii_lowercase());
        if !is_name || !bytes.all(|byte| byte.is_ascii_alphanumeric()) {
            return Err(bad(format!(
                "the name of an element in an array filter begins with a lower-case letter and has only letters and digits; '{name}' does not"
            )));
        }
        check_canonical(&filter, "an array filter")?;
        Ok(Self { name: name.into(), filter })
    }
}

/// Refuses conditions on whole documents, as MongoDB does in the filters of updates.
pub(super) fn refuse_special(filter: &Map) -> Result<(), UpdateError> {
    for (name, operand) in &filter.entries {
        match (name.as_str().unwrap_or_default(), operand) {
            (name @ ("$expr" | "$jsonSchema"), _) => {
                return Err(FilterError::NotAllowed(format!("{name} is not allowed in this context")).into());
            }
            ("$and" | "$or" | "$nor", Value::Array(filters)) => {
                filters.iter().filter_map(Value::as_map).try_for_each(refuse_special)?;
            }
            _ => {}
        }
    }
    Ok(())
}

/// Collects the first names of all paths in a filter.
fn names_of<'a>(filter: &'a Map, names: &mut Vec<&'a str>) {
    for (name, operand) in &filter.entries {
        match (name.as_str().unwrap_or_default(), operand) {
            ("$and" | "$or" | "$nor", Value::Array(filters)) => {
                filters.iter().filter_map(Value::as_map).for_each(|filter| names_of(filter, names));
            }
            (name, _) if name.starts_with('$') => {}
            (path, _) => names.extend(path.split('.').next()),
        }
    }
}

/// Refuses filters whose canonical form could not be parsed. Deltas contain filters in the canonical form.
pub(super) fn check_canonical(filter: &Filter, what: &str) -> Result<(), UpdateError> {
    let canonical = Value::Map(filter.to_map());
    if canonical.is_too_deep() {
        return Err(UpdateError::Overflow(format!("{what} nests too deep")));
    }
    if bson::bson_size(&canonical) > MAX_FILTER_BYTES {
        return Err(UpdateError::TooLarge(format!("{what} has more than {MAX_FILTER_BYTES} bytes as BSON")));
    }
    Ok(())
}

impl Update {
    /// Parses the array filters. Each name in the paths must have a filter, and each filter must be used.
    pub(super) fn take_filters(&mut self, filters: &[Value], patterns: &Patterns) -> Result<(), UpdateError> {
        for filter in filters {
            let filter = ArrayFilter::parse(filter, patterns)?;
            match self.filters.binary_search_by(|known| known.name.cmp(&filter.name)) {
                Ok(_) => return Err(failed(&format!("two array filters have the name '{}'", filter.name))),
                Err(at) => self.filters.insert(at, filter),
            }
        }
        self.check_filters()
    }

    /// Refuses names without a filter, and filters without a name.
    pub(super) fn check_filters(&self) -> Result<(), UpdateError> {
        let mut used = vec![false; self.filters.len()];
        for change in &self.changes {
            for name in change.path.names().filter_map(identifier).filter(|name| !name.is_empty()) {
                match self.filter_at(name) {
                    Ok(at) => used[at] = true,
                    Err(_) => {
                        return Err(bad(format!(
                            "no array filter has the name '{name}' of the path '{}'",
                            change.path
                        )));
                    }
                }
            }
        }
        match self.filters.iter().zip(used).find(|(_, used)| !used) {
            Some((filter, _)) => Err(failed(&format!(
                "no path of the update has $[{0}], so the array filter '{0}' is not used",
                filter.name
            ))),
            None => Ok(()),
        }
    }

    fn filter_at(&self, name: &str) -> Result<usize, usize> {
        self.filters.binary_search_by(|known| (*known.name).cmp(name))
    }

    /// True if a path has the positional operator `$`, which [`Update::resolved`] must replace
    /// before the update is applied.
    pub fn needs_position(&self) -> bool {
        self.changes.iter().any(|change| has_matched(&change.path))
    }

    /// True if a path selects several elements of an array.
    pub(super) fn has_several(&self) -> bool {
        self.changes.iter().any(|change| count(&change.path) > 0)
    }

    /// Determines the positions of the changes in this document, in the order in which the changes are applied.
    pub(super) fn locate<F: Fields>(&self, document: &mut F, context: &Context) -> Result<Located, UpdateError> {
        let mut located = Located::default();
        let mut work = Work::asking(self.interrupt.as_ref());
        for (index, change) in self.changes.iter().enumerate() {
            if has_matched(&change.path) {
                return Err(no_position(change));
            }
            if !context.inserting && change.action.is_for_insert() {
                continue;
            }
            let steps = count(&change.path);
            let from = located.positions.len();
            if steps == 0 {
                located.places.push(Place { change: index, positions_at: from });
                continue;
            }
            let names: Vec<&str> = change.path.names().collect();
            let finder = Finder { update: self, change, names: &names };
            match names.first() {
                Some(&ID) => finder.find(document.copy(ID)?.as_ref(), &mut located.positions, &mut work)?,
                Some(first) => {
                    let value = document.field(first)?.map(|value| &*value);
                    finder.find(value, &mut located.positions, &mut work)?;
                }
                None => {}
            }
            let found =
                (from..located.positions.len()).step_by(steps).map(|at| Place { change: index, positions_at: at });
            located.places.extend(found);
        }
        if self.mixes() {
            located.sort(&self.changes)?;
        }
        Ok(located)
    }

    /// True if two paths have different names for elements of the same array, and therefore may
    /// select the same element.
    fn mixes(&self) -> bool {
        let differ = |a: &FieldPath, b: &FieldPath| {
            a.names().zip(b.names()).find(|(a, b)| a != b).is_some_and(|(a, b)| is_several(a) && is_several(b))
        };
        self.changes.windows(2).any(|pair| differ(&pair[0].path, &pair[1].path))
    }

    /// Refuses paths that select elements of the same array by name and by position.
    pub(super) fn check_places(paths: &[&FieldPath]) -> Result<(), UpdateError> {
        let is_place = |name: &str| is_several(name) || name == MATCHED;
        for pair in paths.windows(2) {
            let differ = pair[0].names().zip(pair[1].names()).find(|(a, b)| a != b);
            let (Some((a, b)), [first, second]) = (differ, pair) else { continue };
            if (is_place(a) || is_place(b)) && !(is_several(a) && is_several(b)) && !(is_matched_or_name(a, b)) {
                return Err(UpdateError::ConflictingUpdateOperators(format!(
                    "updating the path '{second}' would conflict with updating '{first}'"
                )));
            }
        }
        Ok(())
    }

    /// Replaces each `$` in the update by the position that the filter selected in the document. As
    /// in MongoDB, all paths use the same position.
    ///
    /// # Errors
    /// [`UpdateError::BadValue`] if the filter selects no element ([`Filter::position`]).
    /// [`UpdateError::ConflictingUpdateOperators`] if two paths select the same element after the
    /// replacement. [`UpdateError::Damaged`] if the document cannot be decoded.
    pub fn resolved(&self, filter: &Filter, document: &alluvium_document::Document) -> Result<Self, UpdateError> {
        let mut changes = self.changes.clone();
        let selected = filter.position(document, Selection::Update)?;
        for change in changes.iter_mut().filter(|change| has_matched(&change.path)) {
            let position = selected.ok_or_else(|| no_position(change))?.to_string();
            let names = change.path.names().map(|name| if name == MATCHED { &*position } else { name });
            let path = names.collect::<Vec<_>>().join(".");
            change.path = path.parse().map_err(|_| no_position(change))?;
        }
        changes.sort_by(|a, b| order::compare_paths(&a.path, &b.path));
        let update = Self { changes, filters: self.filters.clone(), interrupt: self.interrupt.clone() };
        update.check_conflicts()?;
        Ok(update)
    }
}

/// False for a positional operator and another name, because the two may select different elements.
fn is_matched_or_name(a: &str, b: &str) -> bool {
    let other = |one: &str, other: &str| one == MATCHED && !is_several(other);
    other(a, b) || other(b, a)
}

pub(super) fn has_matched(path: &FieldPath) -> bool {
    path.as_str().contains(MATCHED) && path.names().any(|name| name == MATCHED)
}

pub(super) fn no_position(change: &Change) -> UpdateError {
    let operator = change.action.operator();
    bad(format!("{operator} of '{}': the filter matches no element for '$': add a condition on the array", change.path))
}

/// The positions of all changes: the positions of the elements that their names represent.
#[derive(Debug, Default)]
pub(super) struct Located {
    places: Vec<Place>,
    positions: Vec<usize>,
}

/// The index of a change of the update, and the index in [`Located::positions`] at which its
/// positions begin.
#[derive(Debug, Clone, Copy)]
struct Place {
    change: usize,
    positions_at: usize,
}

/// A change with its positions in arrays: one position for each name that represents several elements.
#[derive(Clone, Copy)]
pub(super) struct LocatedChange<'a> {
    pub change: &'a Change,
    pub positions: &'a [usize],
}

impl Located {
    /// The changes in the order in which they are applied.
    pub fn iter<'a>(&'a self, changes: &'a [Change]) -> impl Iterator<Item = LocatedChange<'a>> {
        self.places.iter().map(|place| self.change_at(changes, *place))
    }

    fn change_at<'a>(&'a self, changes: &'a [Change], Place { change, positions_at }: Place) -> LocatedChange<'a> {
        let change = &changes[change];
        LocatedChange { change, positions: &self.positions[positions_at..positions_at + count(&change.path)] }
    }

    /// Sorts the places by their positions, and refuses two equal places.
    fn sort(&mut self, changes: &[Change]) -> Result<(), UpdateError> {
        let mut places = std::mem::take(&mut self.places);
        places.sort_by(|a, b| self.change_at(changes, *a).compare(self.change_at(changes, *b)));
        let leads = |pair: &&[Place]| self.change_at(changes, pair[0]).leads_to(self.change_at(changes, pair[1]));
        let meet = places.windows(2).find(leads);
        if let Some(pair) = meet {
            let [a, b] = [pair[0], pair[1]].map(|place| &self.change_at(changes, place).change.path);
            let message = format!("updating the path '{b}' would conflict with updating '{a}' in one element");
            return Err(UpdateError::ConflictingUpdateOperators(message));
        }
        self.places = places;
        Ok(())
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Step<'a> {
    At(usize),
    Name(&'a str),
}

impl<'a> LocatedChange<'a> {
    fn steps(self) -> impl Iterator<Item = Step<'a>> {
        let mut positions = self.positions.iter();
        self.change.path.names().map(move |name| match is_several(name) {
            true => positions.next().map_or(Step::Name(name), |at| Step::At(*at)),
            false => Step::Name(name),
        })
    }

    fn compare(self, other: Self) -> Ordering {
        let one = |(a, b): (Step<'_>, Step<'_>)| match (a, b) {
            (Step::At(a), Step::At(b)) => a.cmp(&b),
            (Step::Name(a), Step::Name(b)) => order::compare_names(a, b),
            (Step::At(_), Step::Name(_)) => Ordering::Less,
            (Step::Name(_), Step::At(_)) => Ordering::Greater,
        };
        let order = self.steps().zip(other.steps()).map(one).find(|order| order.is_ne());
        order.unwrap_or_else(|| self.change.path.depth().cmp(&other.change.path.depth()))
    }

    /// True if the other change is of the same value, or of a value inside it.
    fn leads_to(self, other: Self) -> bool {
        self.change.path.depth() <= other.change.path.depth() && self.steps().zip(other.steps()).all(|(a, b)| a == b)
    }
}

/// Finds the elements that a path selects.
struct Finder<'a> {
    update: &'a Update,
    change: &'a Change,
    names: &'a [&'a str],
}

impl Finder<'_> {
    /// Appends the positions of each place. Starts from the value of the first name.
    fn find(&self, value: Option<&Value>, out: &mut Vec<usize>, work: &mut Work<'_>) -> Result<(), UpdateError> {
        let last = self.names.iter().rposition(|name| is_several(name)).unwrap_or_default();
        self.enter(value, 1, last, &mut Vec::new(), out, work)
    }

    /// `value` is the value to which the first `depth` names have led. `last` is the index of the
    /// last name that represents several elements.
    fn enter(
        &self,
        value: Option<&Value>,
        depth: usize,
        last: usize,
        taken: &mut Vec<usize>,
        out: &mut Vec<usize>,
        work: &mut Work<'_>,
    ) -> Result<(), UpdateError> {
        if depth > last {
            if out.len() + taken.len() > MAX_POSITIONS {
                return Err(UpdateError::TooLarge(format!(
                    "the paths of the update lead to elements at more than {MAX_POSITIONS} positions together, the \
                     last one being '{}': update fewer fields of them at a time",
                    self.change.path
                )));
            }
            out.extend_from_slice(taken);
            return Ok(());
        }
        let name = self.names[depth];
        let Some(name) = identifier(name) else {
            let inner = match value {
                Some(Value::Map(map)) => map.get(name),
                Some(Value::Array(elements)) => update_index(name).and_then(|at| elements.get(at)),
                _ => None,
            };
            return self.enter(inner, depth + 1, last, taken, out, work);
        };
        let Some(Value::Array(elements)) = value else { return Err(self.no_array(value, depth)) };
        let filter = self.update.filter_at(name).ok().map(|at| &self.update.filters[at]);
        for (at, element) in elements.iter().enumerate() {
            work.add(ELEMENT_UNITS)?;
            let selected = match filter {
                Some(filter) => filter.filter.matches_named(&filter.name, element)?,
                None => true,
            };
            if selected {
                taken.push(at);
                self.enter(Some(element), depth + 1, last, taken, out, work)?;
                taken.pop();
            }
        }
        Ok(())
    }

    fn no_array(&self, value: Option<&Value>, depth: usize) -> UpdateError {
        let (operator, path, array) = (self.change.action.operator(), &self.change.path, self.names[..depth].join("."));
        bad(match value {
            Some(value) => {
                let found = value.type_name();
                format!("{operator} of '{path}' needs an array at '{array}', which is of type {found}")
            }
            None => format!("{operator} of '{path}' needs an array at '{array}', which is missing"),
        })
    }
}

fn bad(message: String) -> UpdateError {
    UpdateError::BadValue(message)
}

fn failed(message: &str) -> UpdateError {
    UpdateError::FailedToParse(message.to_owned())
}
