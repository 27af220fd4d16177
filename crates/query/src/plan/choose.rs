//! Which way is taken.

use document::Value;

use super::bounds::{Bounds, Of};
use super::budget::{Budget, weight};
use super::cost::{self, Cost, Met};
use super::interval::Intervals;
use super::scan::{self, Bounded};
use super::{Collection, Hint, Index, IndexScan, Needs, Node, PartBounds, Plan, PlanError, Query, Rejected, implies};
use crate::filter::Filter;
use crate::filter::tree::Clause;
use crate::index::{Definition, Order};
use crate::sort::SortPart;

/// The most branches that are looked up one by one; and of a choice within a choice.
const BRANCHES_MAX: usize = 1000;
const INNER_BRANCHES_MAX: usize = 64;

/// How deep branches are looked into for branches.
const DEPTH_MAX: usize = 2;

/// The most `_id`s that are looked up one by one.
const LOOKUPS_MAX: usize = 1 << 20;

/// A way to the documents that match, before they are sorted.
#[derive(Debug, Clone)]
struct Way {
    name: String,
    node: Node,
    cost: Cost,
    /// The documents come in the order that is asked for.
    ordered: bool,
    /// About how many documents match at most.
    most: f64,
}

/// What was found for a filter.
#[derive(Default)]
struct Ways {
    ways: Vec<Way>,
    unusable: Vec<Rejected>,
}

/// The cheapest plan for a query.
///
/// # Errors
/// [`PlanError`] for a hint that cannot be followed.
pub fn plan(query: &Query<'_>, collection: &Collection<'_>) -> Result<Plan, PlanError> {
    let planner = Planner { query, collection, budget: Budget::default() };
    let mut ways = match &query.hint {
        Some(hint) => planner.hinted(hint)?,
        None => planner.ways(query.filter, DEPTH_MAX),
    };
    if finds_nothing(query.filter) {
        let unusable = std::mem::take(&mut ways.unusable);
        return Ok(Plan { root: Node::Nothing, cost: Cost::default(), rejected: unusable });
    }
    let guess = collection.documents as f64 * cost::selectivity(query.filter, collection);
    let found = ways.ways.iter().map(|way| way.most).fold(guess, f64::min);
    let mut finished: Vec<Way> = ways.ways.into_iter().map(|way| planner.finish(way, found)).collect();
    finished.sort_by(|a, b| a.cost.time_us.total_cmp(&b.cost.time_us));
    let mut finished = finished.into_iter();
    // There is always the scan of all documents, or what was hinted at.
    let Some(best) = finished.next() else {
        return Ok(Plan { root: Node::Nothing, cost: Cost::default(), rejected: ways.unusable });
    };
    let dearer =
        finished.map(|way| Rejected { why: dearer(&way.cost, &best.cost), way: way.name, cost: Some(way.cost) });
    let rejected = dearer.chain(ways.unusable).collect();
    Ok(Plan { root: best.node, cost: best.cost, rejected })
}

fn dearer(cost: &Cost, best: &Cost) -> String {
    match cost.time_us / best.time_us.max(f64::MIN_POSITIVE) {
        times if times >= 10.0 => format!("takes {times:.0} times as long"),
        times if times >= 1.01 => format!("takes {times:.2} times as long"),
        _ => "takes as long".to_owned(),
    }
}

/// True if no value passes one of the conditions.
fn finds_nothing(filter: &Filter) -> bool {
    let of = Of::Path { multikey: true, dotted: true, positions: true };
    filter.clauses.iter().any(|clause| match clause {
        Clause::Field { condition, .. } => Bounds::of_condition(condition, of).set.is_none(),
        Clause::Or(branches) => branches.iter().all(finds_nothing),
        Clause::Nor(branches) => branches.iter().any(Filter::is_empty),
    })
}

struct Planner<'a> {
    query: &'a Query<'a>,
    collection: &'a Collection<'a>,
    /// What is left for unions.
    budget: Budget,
}

impl Planner<'_> {
    /// All ways to what a filter matches; the last is the scan of all documents.
    fn ways(&self, filter: &Filter, depth: usize) -> Ways {
        let mut found = Ways::default();
        found.ways.extend(self.lookup(filter));
        for index in self.collection.indexes {
            match self.index(filter, index, false) {
                Ok(way) => found.ways.push(way),
                Err(why) => {
                    found.unusable.push(Rejected { way: index_name(index), cost: None, why });
                }
            }
        }
        let intersection = self.intersection(filter);
        found.ways.extend(intersection);
        if let Some(depth) = depth.checked_sub(1) {
            let choices = self.choices(filter, depth).into_iter();
            found.ways.extend(choices.filter_map(|at| self.union(filter, at, depth)));
        }
        found.ways.push(self.scan(filter, None));
        found
    }

    fn hinted(&self, hint: &Hint<'_>) -> Result<Ways, PlanError> {
        let filter = self.query.filter;
        let is_id = |keys: &document::Map| keys.len() == 1 && keys.contains("_id");
        let only = |way: Way| Ok(Ways { ways: vec![way], unusable: Vec::new() });
        let all = self.collection.indexes.iter();
        let named: Vec<&Index<'_>> = match hint {
            Hint::Natural { backward } => return only(self.scan(filter, Some(*backward))),
            Hint::Name("_id_") => return only(self.lookup(filter).unwrap_or_else(|| self.scan(filter, None))),
            Hint::Keys(keys) if is_id(keys) => {
                return only(self.lookup(filter).unwrap_or_else(|| self.scan(filter, None)));
            }
            Hint::Name(name) => all.filter(|index| index.definition.name() == *name).collect(),
            Hint::Keys(keys) => all.filter(|index| same_keys(&index.definition.keys_map(), keys)).collect(),
        };
        // Several may have the same keys, and not the same documents: the cheapest of those that can answer is taken.
        let (mut ways, mut refused) = (Vec::new(), None);
        for index in named {
            match self.index(filter, index, true) {
                Ok(way) => ways.push(way),
                Err(why) => {
                    let name = index.definition.name();
                    refused = Some(PlanError::HintCannotAnswer(format!("the hint names the index {name}: {why}")));
                }
            }
        }
        let what = match hint {
            Hint::Name(name) => format!("'{name}'"),
            Hint::Keys(keys) => {
                let keys = document::Value::Map((*keys).clone());
                let keys = document::json::to_string(&keys, document::json::Format::RELAXED);
                format!("with the keys {}", keys.unwrap_or_default())
            }
            Hint::Natural { .. } => String::new(),
        };
        match (ways.is_empty(), refused) {
            (false, _) => Ok(Ways { ways, unusable: Vec::new() }),
            (true, Some(why)) => Err(why),
            (true, None) => Err(PlanError::BadHint(format!("the hint names the index {what}, which is not there"))),
        }
    }

    /// The intervals of `_id` that the filter leaves, and the clauses that are met by them.
    fn ids(&self, filter: &Filter) -> (Intervals, Vec<usize>) {
        // An _id is always there, and never an array.
        let of = Of::Value;
        let (mut set, mut proved) = (Intervals::all(), Vec::new());
        for (at, clause) in filter.clauses.iter().enumerate() {
            let Clause::Field { path, condition } = clause else { continue };
            if &*path.text == "_id" {
                let bounds = Bounds::of_condition(condition, of);
                set = set.intersection(&bounds.set);
                if bounds.exact {
                    proved.push(at);
                }
            }
        }
        (set, proved)
    }

    /// A scan of all documents, or of those between bounds of `_id`.
    fn scan(&self, filter: &Filter, backward: Option<bool>) -> Way {
        let (set, proved) = self.ids(filter);
        let sort = self.query.sort.first().filter(|part| part.path.as_str() == "_id");
        let backward = backward.unwrap_or(sort.is_some_and(|part| part.is_descending()));
        let ordered = self.query.sort.is_empty() || sort.is_some_and(|part| part.is_descending() == backward);
        let documents = self.collection.documents as f64 * cost::share_of_ids(&set, self.collection);
        let kilobytes = self.collection.bytes as f64 / (self.collection.documents.max(1) as f64) / 1024.0;
        let each = cost::SCAN_DOCUMENT_US * kilobytes.max(1.0);
        let seeks = cost::SEEK_US * f64::from(self.collection.partitions) * set.0.len() as f64;
        let cost = Cost { time_us: seeks + documents * each, entries: 0.0, documents };
        let name = if set.is_all() { "scan of all documents" } else { "scan of a range of _id" }.to_owned();
        let node = Node::Scan { ids: set.0, backward, filter: without(filter, &proved) };
        Way { name, node, cost, ordered, most: documents }
    }

    fn lookup(&self, filter: &Filter) -> Option<Way> {
        let (set, proved) = self.ids(filter);
        if !set.is_points() || set.0.len() > LOOKUPS_MAX {
            return None;
        }
        let is_id = |id: &Value| !matches!(id, Value::Array(_) | Value::Regex(_) | Value::Undefined);
        let ids: Vec<Value> = set.0.into_iter().map(|point| point.low.value).filter(is_id).collect();
        let count = ids.len() as f64;
        if ids.is_empty() {
            let name = "look-up by _id".to_owned();
            return Some(Way { name, node: Node::Nothing, cost: Cost::default(), ordered: true, most: 0.0 });
        }
        let ordered = match self.query.sort {
            [] => true,
            [first, ..] => ids.len() < 2 || (first.path.as_str() == "_id" && !first.is_descending()),
        };
        let cost = Cost { time_us: count * cost::FETCH_US, entries: 0.0, documents: count };
        let node = Node::Lookup { ids, filter: without(filter, &proved) };
        Some(Way { name: "look-up by _id".to_owned(), node, cost, ordered, most: count })
    }

    /// A scan of an index, and the fetch of the documents if it takes one.
    fn index(&self, filter: &Filter, index: &Index<'_>, hinted: bool) -> Result<Way, String> {
        usable(filter, index.definition)?;
        let bounded = scan::bounded(filter, index);
        let backward = order(&bounded, index, self.query.sort);
        let ordered = self.query.sort.is_empty() || backward.is_some();
        let covered = self.covers(filter, &bounded, index);
        if bounded.bounds.iter().any(|part| part.intervals.is_empty()) {
            let (name, cost) = (index_name(index), Cost::default());
            return Ok(Way { name, node: Node::Nothing, cost, ordered: true, most: 0.0 });
        }
        let has_few = index.definition.is_sparse() || index.definition.partial_filter().is_some();
        let is_all = !has_few && bounded.bounds.iter().all(|part| part.is_all());
        if is_all && !hinted && covered.is_none() && (self.query.sort.is_empty() || !ordered) {
            return Err("the filter gives it no bounds, and it gives no order".to_owned());
        }
        let met = Met::of(&bounded.bounds, index, self.collection);
        let is_covered = covered.is_some();
        let scan = IndexScan {
            index: index.definition.name().to_owned(),
            bounds: bounded.bounds,
            backward: backward.unwrap_or(false),
            covered,
            multikey: index.multikey != 0,
        };
        let name = index_name(index);
        let mut cost = self.of_scan(&met);
        let mut node = Node::Index(scan);
        if !is_covered {
            cost = cost.add(fetch(met.documents));
            node = Node::Fetch { input: Box::new(node), filter: without(filter, &bounded.proved) };
        }
        Ok(Way { name, node, cost, ordered, most: met.documents })
    }

    fn of_scan(&self, met: &Met) -> Cost {
        let seeks = met.seeks * f64::from(self.collection.partitions) * cost::SEEK_US;
        Cost { time_us: seeks + met.entries * cost::SCAN_ENTRY_US, entries: met.entries, documents: 0.0 }
    }

    /// What the values of entries must meet, if they are all that is asked for.
    fn covers(&self, filter: &Filter, bounded: &Bounded, index: &Index<'_>) -> Option<Filter> {
        let Needs::Paths(paths) = self.query.needs else { return None };
        let tells = |path: &str| {
            let part = |(at, part): (usize, &crate::index::Part)| {
                let plain = !part.path.names().any(|name| document::path::array_index(name).is_some());
                part.path.as_str() == path && index.multikey >> at & 1 == 0 && part.order != Order::Hashed && plain
            };
            index.definition.parts().iter().enumerate().any(part)
        };
        // Whether a map around a missing field is there is not told.
        let of_output =
            |path: &str| (tells(path) && !path.contains('.')) || (path == "_id" && self.collection.natural_ids);
        let sort = self.query.sort.iter().map(|part| part.path.as_str());
        let told =
            paths.iter().all(|path| of_output(path.as_str())) && { sort }.all(|path| tells(path) || path == "_id");
        let rest = without(filter, &bounded.proved);
        let of_clause = |clause: &Clause| matches!(clause, Clause::Field { path, .. } if tells(&path.text));
        (told && rest.clauses.iter().all(of_clause)).then_some(rest)
    }

    /// Two scans whose documents are few together.
    fn intersection(&self, filter: &Filter) -> Option<Way> {
        let mut scans: Vec<(Met, Bounded, &Index<'_>)> = Vec::new();
        for index in self.collection.indexes {
            if usable(filter, index.definition).is_err() {
                continue;
            }
            let bounded = scan::bounded(filter, index);
            if bounded.bounds.first().is_some_and(|part| !part.is_all()) {
                scans.push((Met::of(&bounded.bounds, index, self.collection), bounded, index));
            }
        }
        scans.sort_by(|(a, ..), (b, ..)| a.within.total_cmp(&b.within));
        let (first, rest) = scans.split_first()?;
        let path = |scan: &(Met, Bounded, &Index<'_>)| scan.2.definition.parts()[0].path.clone();
        // Each must say something that the other does not.
        let adds = |one: &Bounded, other: &Bounded| {
            let bounded = |part: &&PartBounds| !part.is_all();
            let in_other =
                |part: &PartBounds| other.bounds.iter().filter(bounded).any(|it| it.part.path == part.part.path);
            one.bounds.iter().filter(bounded).any(|part| !in_other(part))
        };
        let second =
            rest.iter().find(|scan| path(scan) != path(first) && adds(&scan.1, &first.1) && adds(&first.1, &scan.1))?;
        let all = self.collection.documents.max(1) as f64;
        // What two conditions have in common is more than chance would have it.
        let both = (first.0.documents * second.0.documents / all).max(0.1 * first.0.documents);
        let ids = (first.0.within + second.0.within) * cost::DEDUPLICATE_US;
        let scanned = self.of_scan(&first.0).add(self.of_scan(&second.0)).add(Cost::of_time(ids));
        let proved: Vec<usize> = first.1.proved.iter().chain(&second.1.proved).copied().collect();
        let node = |(_, bounded, index): &(Met, Bounded, &Index<'_>)| IndexScan {
            index: index.definition.name().to_owned(),
            bounds: bounded.bounds.clone(),
            backward: false,
            covered: None,
            multikey: index.multikey != 0,
        };
        let name = format!("intersection of {} and {}", first.2.definition.name(), second.2.definition.name());
        let input = Box::new(Node::Intersection(vec![node(first), node(second)]));
        let node = Node::Fetch { input, filter: without(filter, &proved) };
        let cost = scanned.add(fetch(both));
        Some(Way { name, node, cost, ordered: self.query.sort.is_empty(), most: both })
    }

    /// The clauses whose branches are looked up one by one. Those with few branches are paid for first, and all of them
    /// before any branch is planned, which may have choices of its own.
    fn choices(&self, filter: &Filter, depth: usize) -> Vec<usize> {
        let most = if depth + 1 == DEPTH_MAX { BRANCHES_MAX } else { INNER_BRANCHES_MAX };
        let branches = |(at, clause): (usize, &Clause)| match clause {
            Clause::Or(branches) if branches.len() <= most => Some((branches.len(), at)),
            _ => None,
        };
        let mut choices: Vec<(usize, usize)> = filter.clauses.iter().enumerate().filter_map(branches).collect();
        if choices.is_empty() {
            return Vec::new();
        }
        choices.sort_unstable();
        let weights: Vec<usize> = filter.clauses.iter().map(weight).collect();
        let all: usize = weights.iter().sum();
        let paid = choices.into_iter().filter(|(count, at)| self.budget.take(*count, all - weights[*at]));
        let mut paid: Vec<usize> = paid.map(|(_, at)| at).collect();
        paid.sort_unstable();
        paid
    }

    /// The branches of one `$or`, each with the other conditions.
    fn union(&self, filter: &Filter, at: usize, depth: usize) -> Option<Way> {
        let Some(Clause::Or(branches)) = filter.clauses.get(at) else { return None };
        let others = without(filter, &[at]);
        let (mut inputs, mut names, mut cost, mut merge) = (Vec::new(), Vec::new(), Cost::default(), true);
        let mut most = 0.0;
        for branch in branches {
            let branch = Filter::of(branch.clauses.iter().chain(&others.clauses).cloned().collect());
            if finds_nothing(&branch) {
                continue;
            }
            let is_narrow = |way: &Way| !matches!(&way.node, Node::Scan { ids, .. } if Intervals(ids.clone()).is_all());
            let ways = self.ways(&branch, depth).ways.into_iter().filter(is_narrow);
            let best = ways.min_by(|a, b| a.cost.time_us.total_cmp(&b.cost.time_us))?;
            let ids = Cost::of_time(best.cost.documents * cost::DEDUPLICATE_US);
            cost = cost.add(best.cost).add(ids);
            merge &= best.ordered;
            most += best.most;
            names.push(best.name);
            inputs.push(best.node);
        }
        let name = format!("union of {}", names.join(", "));
        let merge = if merge { self.query.sort.to_vec() } else { Vec::new() };
        let ordered = !merge.is_empty() || self.query.sort.is_empty();
        Some(Way { name, node: Node::Union { inputs, merge }, cost, ordered, most })
    }

    /// Adds what is left to be done.
    fn finish(&self, way: Way, found: f64) -> Way {
        let Way { name, mut node, mut cost, ordered, most } = way;
        let wanted = self.query.wanted();
        if ordered {
            // It ends once enough are found.
            if let Some(wanted) = wanted.filter(|_| !matches!(node, Node::Lookup { .. } | Node::Nothing)) {
                cost = cost.part((wanted as f64 / found.max(1.0)).min(1.0));
            }
        } else {
            cost = cost.add(cost::sort(found.min(cost.documents.max(cost.entries)), wanted));
            let by: Vec<SortPart> = self.query.sort.to_vec();
            node = Node::Sort { input: Box::new(node), by, first: wanted };
        }
        let is_nothing = matches!(node, Node::Nothing);
        if !is_nothing && (self.query.skip > 0 || self.query.limit.is_some()) {
            node = Node::Limit { input: Box::new(node), skip: self.query.skip, limit: self.query.limit };
        }
        Way { name, node, cost, ordered: true, most }
    }
}

fn index_name(index: &Index<'_>) -> String {
    format!("index {}", index.definition.name())
}

fn fetch(documents: f64) -> Cost {
    Cost { time_us: documents * cost::FETCH_US, entries: 0.0, documents }
}

fn same_keys(keys: &document::Map, hint: &document::Map) -> bool {
    let equal = |((a, x), (b, y)): (&(Value, Value), &(Value, Value))| a == b && document::compare::equal(x, y);
    keys.len() == hint.len() && keys.entries.iter().zip(&hint.entries).all(equal)
}

/// The filter without some of its clauses.
fn without(filter: &Filter, clauses: &[usize]) -> Filter {
    let rest = filter.clauses.iter().enumerate().filter(|(at, _)| !clauses.contains(at));
    Filter { clauses: rest.map(|(_, clause)| clause.clone()).collect(), ..Filter::default() }
}

/// An index is used only if every document that matches has entries in it.
fn usable(filter: &Filter, definition: &Definition) -> Result<(), String> {
    if let Some(partial) = definition.partial_filter()
        && !implies::implies(filter, partial)
    {
        return Err(format!("it is partial, and the filter does not say {partial}"));
    }
    if definition.is_sparse() && !scan::has_all(filter, definition) {
        return Err("it is sparse, and the filter may match documents without its fields".to_owned());
    }
    Ok(())
}

/// Whether a scan gives the order, and then whether backwards.
fn order(bounded: &Bounded, index: &Index<'_>, sort: &[SortPart]) -> Option<bool> {
    let single = |at: usize| index.multikey >> at & 1 == 0;
    let mut parts = bounded.bounds.iter().enumerate().peekable();
    let mut backward = None;
    for wanted in sort {
        let is_fixed = |(at, part): (usize, &super::PartBounds)| {
            part.part.path == wanted.path && part.is_point() && single(at) && part.part.order != Order::Hashed
        };
        if bounded.bounds.iter().enumerate().any(is_fixed) {
            continue;
        }
        while parts.next_if(|(_, part)| part.is_point() && part.part.path != wanted.path).is_some() {}
        let descends = match parts.next() {
            Some((at, part)) => {
                let plain = !part.part.path.names().any(|name| document::path::array_index(name).is_some());
                if part.part.path != wanted.path || !single(at) || !plain || part.part.order == Order::Hashed {
                    return None;
                }
                part.part.order == Order::Descending
            }
            // Entries with the same values come in the order of their `_id`, and nothing comes after that.
            None if wanted.path.as_str() == "_id" => {
                let backward_too = *backward.get_or_insert(wanted.is_descending()) == wanted.is_descending();
                return backward_too.then_some(wanted.is_descending());
            }
            None => return None,
        };
        if *backward.get_or_insert(descends != wanted.is_descending()) != (descends != wanted.is_descending()) {
            return None;
        }
    }
    Some(backward.unwrap_or(false))
}

#[cfg(test)]
mod tests;
