//! Choice of the cheapest candidate.

use alluvium_document::Value;

use super::access::{AccessPath, Rejected, Rejection, Unusable};
use super::bounds::{Bounds, KeySource};
use super::budget::{Budget, weight};
use super::cost::{self, Cost, ScanEstimate};
use super::interval::{Interval, Intervals, has_texts};
use super::predicates::{Paths, Predicates, bit, indexes_of};
use super::ranges::PartBounds;
use super::scan::{self, Bounded, IndexScan};
use super::selectivity::{Shares, selectivity};
use super::{Collection, Hint, Index, Needs, Node, Plan, PlanError, Query, implies};
use crate::collation::{Collation, has_text};
use crate::filter::Filter;
use crate::filter::tree::{Clause, Condition, Test};
use crate::index::{Order, Part};
use crate::sort::SortPart;

/// The maximum number of branches of a union, and of an `$or` nested in a branch.
const BRANCHES_MAX: usize = 1000;
const INNER_BRANCHES_MAX: usize = 64;

/// The maximum nesting of `$or`s that are planned as unions.
const DEPTH_MAX: usize = 2;

/// The maximum number of `_id`s that are looked up one by one.
const LOOKUPS_MAX: usize = 1 << 20;

/// A candidate plan. [`Planner::finish`] adds the sort and the limit.
#[derive(Debug, Clone)]
struct Candidate {
    access: AccessPath,
    /// The plan. It lacks the conditions on documents while `proved` is set.
    node: Node,
    /// The clauses that hold for all documents on the access path, so that documents need not be
    /// checked for them. `None` once the node is complete.
    proved: Option<Vec<usize>>,
    cost: Cost,
    /// True if the documents have the order of the query.
    ordered: bool,
    /// The estimated maximum number of matching documents.
    most: f64,
}

impl Candidate {
    /// A candidate that finds no documents.
    fn nothing(access: AccessPath) -> Self {
        Self { access, node: Node::Nothing, proved: None, cost: Cost::default(), ordered: true, most: 0.0 }
    }

    /// Adds the conditions on documents to the node. This is done only for the chosen candidate,
    /// because it copies the conditions. `in_order` is true if the filter's clauses are sorted.
    fn into_node(self, filter: &Filter, in_order: bool) -> Node {
        let Some(mut proved) = self.proved else { return self.node };
        proved.sort_unstable();
        let rest = without(filter, &proved);
        fill(self.node, &if in_order { rest } else { Filter::of(rest.clauses) })
    }
}

fn fill(mut node: Node, rest: &Filter) -> Node {
    match &mut node {
        Node::Scan { filter, .. } | Node::Lookup { filter, .. } => *filter = rest.clone(),
        Node::Fetch { input, filter } => {
            if let Node::Index(scan) = &mut **input {
                scan.keys = scan.entry_filter(rest);
            }
            *filter = rest.clone();
        }
        Node::Index(scan) if scan.covered.is_some() => scan.covered = Some(rest.clone()),
        Node::Sort { input, .. } | Node::Limit { input, .. } => {
            let inner = std::mem::replace(&mut **input, Node::Nothing);
            **input = fill(inner, rest);
        }
        Node::Index(_) | Node::Nothing | Node::Union { .. } | Node::Intersection(_) => {}
    }
    node
}

/// The properties of an index scan that an intersection needs.
struct Scanned<'i> {
    index: &'i Index<'i>,
    bounded: Bounded,
    met: ScanEstimate,
}

/// The candidates for a filter, and the indexes that cannot be used for it.
#[derive(Default)]
struct Candidates {
    usable: Vec<Candidate>,
    unusable: Vec<Rejected>,
}

/// Chooses the cheapest plan for a query.
///
/// # Errors
/// [`PlanError`] for a hint that cannot be used.
pub fn plan(query: &Query<'_>, collection: &Collection<'_>) -> Result<Plan, PlanError> {
    let unseen = Collection { estimator: None, ..collection.clone() };
    let paths = Paths::of(collection.indexes);
    let planner = Planner { query, collection, unseen, paths, budget: Budget::default() };
    let predicates = Predicates::new(query.filter, &planner.paths);
    let candidates = match &query.hint {
        Some(hint) => planner.hinted(hint, &predicates)?,
        None => planner.candidates(&predicates, DEPTH_MAX),
    };
    if finds_nothing(query.filter) {
        return Ok(Plan::nothing(candidates.unusable));
    }
    let guess = collection.documents as f64 * selectivity(query.filter, &Shares::of(collection));
    let found = candidates.usable.iter().map(|candidate| candidate.most).fold(guess, f64::min);
    let mut finished: Vec<Candidate> =
        candidates.usable.into_iter().map(|candidate| planner.finish(candidate, found)).collect();
    finished.sort_by(|a, b| a.cost.time_us.total_cmp(&b.cost.time_us));
    let mut finished = finished.into_iter();
    // There is always a candidate: the scan of all documents or the hinted one.
    let Some(best) = finished.next() else {
        return Ok(Plan::nothing(candidates.unusable));
    };
    let costlier = finished.map(|Candidate { access, cost, .. }| {
        let ratio = cost.time_us / best.cost.time_us.max(f64::MIN_POSITIVE);
        Rejected { access, reason: Rejection::Costlier { cost, ratio } }
    });
    let rejected = costlier.chain(candidates.unusable).collect();
    let (access, cost) = (best.access.clone(), best.cost);
    Ok(Plan { root: best.into_node(query.filter, true), access, cost, rejected })
}

/// True if a hint leaves at most one candidate, so that the plan does not depend on estimates.
pub fn leaves_no_choice(hint: &Hint<'_>, indexes: &[Index<'_>]) -> bool {
    match hint {
        Hint::Natural { .. } | Hint::Name(_) | Hint::Usable(_) => true,
        Hint::Keys(keys) => indexes.iter().filter(|index| same_keys(&index.definition.keys_map(), keys)).count() < 2,
    }
}

/// True if one of the conditions cannot be met by any value.
fn finds_nothing(filter: &Filter) -> bool {
    let of = KeySource::Path { multikey: true, dotted: true, positions: true };
    filter.clauses.iter().any(|clause| match clause {
        Clause::Field { condition: Condition::Test(Test::In(list)), .. } => {
            list.values.is_empty() && list.patterns.is_empty()
        }
        Clause::Field { condition, .. } => Bounds::of_condition(condition, of, None).set.is_none(),
        Clause::Or(branches) => branches.iter().all(finds_nothing),
        Clause::Nor(branches) => branches.iter().any(Filter::is_empty),
        Clause::Expression(_) | Clause::Schema(_) => false,
    })
}

struct Planner<'a> {
    query: &'a Query<'a>,
    collection: &'a Collection<'a>,
    /// The collection without its estimator.
    unseen: Collection<'a>,
    paths: Paths<'a>,
    /// The remaining budget for unions.
    budget: Budget,
}

impl<'a> Planner<'a> {
    /// All candidates for a filter. The scan of all documents is the last.
    fn candidates<'f>(&self, predicates: &Predicates<'f>, depth: usize) -> Candidates
    where
        'a: 'f,
    {
        let mut found = Candidates::default();
        let mut scans = Vec::new();
        found.usable.extend(self.lookup(predicates));
        for (at, index) in self.collection.indexes.iter().enumerate() {
            let candidate = if self.may_serve(index, predicates.concerns(at)) {
                self.index(predicates, index, false, &mut scans)
            } else if depth == DEPTH_MAX {
                Err(Unusable::NoBounds)
            } else {
                // For branches, unusable indexes are not reported.
                continue;
            };
            match candidate {
                Ok(candidate) => found.usable.push(candidate),
                Err(why) => {
                    found.unusable.push(Rejected { access: access_by(index), reason: Rejection::Unusable(why) });
                }
            }
        }
        found.usable.extend(self.intersection(scans));
        if let Some(depth) = depth.checked_sub(1) {
            let choices = self.choices(predicates.filter, depth).into_iter();
            found.usable.extend(choices.filter_map(|at| self.union(predicates.filter, at, depth)));
        }
        found.usable.push(self.scan(predicates, None));
        found
    }

    /// False if the index cannot be used because the filter has no condition on its parts.
    fn may_serve(&self, index: &Index<'_>, concerned: bool) -> bool {
        let has_few = index.definition.is_sparse() || index.definition.partial_filter().is_some();
        let asks_more = !self.query.sort.is_empty() || self.query.needs != Needs::Documents;
        concerned || has_few || asks_more
    }

    fn hinted<'f>(&self, hint: &Hint<'_>, predicates: &Predicates<'f>) -> Result<Candidates, PlanError>
    where
        'a: 'f,
    {
        let is_id = |keys: &alluvium_document::Map| keys.len() == 1 && keys.contains("_id");
        let only = |candidate| Ok(Candidates { usable: vec![candidate], unusable: Vec::new() });
        let all = self.collection.indexes.iter();
        let named: Vec<&Index<'_>> = match hint {
            Hint::Natural { backward } => return only(self.scan(predicates, Some(*backward))),
            Hint::Name("_id_") => return only(self.lookup(predicates).unwrap_or_else(|| self.scan(predicates, None))),
            Hint::Keys(keys) if is_id(keys) => {
                return only(self.lookup(predicates).unwrap_or_else(|| self.scan(predicates, None)));
            }
            Hint::Name(name) | Hint::Usable(name) => all.filter(|index| index.definition.name() == *name).collect(),
            Hint::Keys(keys) => all.filter(|index| same_keys(&index.definition.keys_map(), keys)).collect(),
        };
        // Several indexes may have the same keys but contain different documents. The cheapest
        // index that contains all matching documents is chosen. As in MongoDB, if there is no such
        // index, an index that lacks some of them is used, and these documents are not found.
        let (mut whole, mut others, mut refused) = (Vec::new(), Vec::new(), None);
        let obeys = !matches!(hint, Hint::Usable(_));
        for index in named {
            match self.usable(predicates, index) {
                Ok(()) => whole.extend(self.index(predicates, index, true, &mut Vec::new())),
                Err(_) if obeys => others.extend(self.index(predicates, index, true, &mut Vec::new())),
                Err(why) => {
                    let index = index.definition.name().to_owned();
                    refused = Some(PlanError::HintCannotAnswer { index, why });
                }
            }
        }
        let usable = if whole.is_empty() { others } else { whole };
        let what = match hint {
            Hint::Name(name) | Hint::Usable(name) => format!("'{name}'"),
            Hint::Keys(keys) => format!("with the keys {keys}"),
            Hint::Natural { .. } => String::new(),
        };
        match (usable.is_empty(), refused) {
            (false, _) => Ok(Candidates { usable, unusable: Vec::new() }),
            (true, Some(why)) => Err(why),
            (true, None) => Err(PlanError::UnknownIndex(what)),
        }
    }

    /// The intervals of `_id` that the filter allows, and the clauses that hold for all documents within them.
    fn ids(&self, predicates: &Predicates<'_>) -> (Intervals, Vec<usize>) {
        // An `_id` always exists, and is never an array.
        let of = KeySource::Value;
        let (mut set, mut proved) = (Intervals::all(), Vec::new());
        for (at, condition) in predicates.conditions("_id") {
            // Documents are ordered by the bytes of their `_id`s, without a collation.
            let bounds = Bounds::of_condition(condition, of, None);
            set = set.intersection(&bounds.set);
            if bounds.exact {
                proved.push(at);
            }
        }
        for (_, order) in predicates.orders("_id") {
            set = set.intersection(&Bounds::of_order(order, of, None).set);
        }
        (set, proved)
    }

    /// A scan of all documents, or of the documents within bounds of `_id`.
    fn scan(&self, predicates: &Predicates<'_>, backward: Option<bool>) -> Candidate {
        let (set, proved) = self.ids(predicates);
        let is_by_id = |part: &&SortPart| part.path.as_str() == "_id" && is_ordered_alike(part, None, &set.0);
        let sort = self.query.sort.first().filter(is_by_id);
        let backward = backward.unwrap_or(sort.is_some_and(|part| part.is_descending()));
        let ordered = self.query.sort.is_empty() || sort.is_some_and(|part| part.is_descending() == backward);
        let documents = self.collection.documents as f64 * cost::share_of_ids(&set, self.collection);
        let kilobytes = self.collection.bytes as f64 / (self.collection.documents.max(1) as f64) / 1024.0;
        let each = cost::SCAN_DOCUMENT_US * kilobytes.max(1.0);
        let seeks = cost::SEEK_US * f64::from(self.collection.partitions) * set.0.len() as f64;
        let cost = Cost { time_us: seeks + documents * each, entries: 0.0, documents };
        let access = AccessPath::Scan { bounded: !set.is_all() };
        let node = Node::Scan { ids: set.0, backward, filter: Filter::default() };
        Candidate { access, node, proved: Some(proved), cost, ordered, most: documents }
    }

    fn lookup(&self, predicates: &Predicates<'_>) -> Option<Candidate> {
        let (set, proved) = self.ids(predicates);
        if !set.is_points() || set.0.len() > LOOKUPS_MAX {
            return None;
        }
        let is_id = |id: &Value| !matches!(id, Value::Array(_) | Value::Regex(_) | Value::Undefined);
        let ids: Vec<Value> = set.0.into_iter().map(|point| point.low.value).filter(is_id).collect();
        let count = ids.len() as f64;
        if ids.is_empty() {
            return Some(Candidate::nothing(AccessPath::Lookup));
        }
        let ordered = match self.query.sort {
            [] => true,
            [first, ..] => {
                let has_texts = first.collation.is_some() && ids.iter().any(has_text);
                ids.len() < 2 || (first.path.as_str() == "_id" && !first.is_descending() && !has_texts)
            }
        };
        let cost = Cost { time_us: count * cost::FETCH_US, entries: 0.0, documents: count };
        let node = Node::Lookup { ids, filter: Filter::default() };
        Some(Candidate { access: AccessPath::Lookup, node, proved: Some(proved), cost, ordered, most: count })
    }

    /// A scan of an index, with a fetch of the documents if necessary. If the first part has
    /// bounds, the scan is also added to `scans`. An index that a hint names may lack documents
    /// that match.
    fn index<'f>(
        &self,
        predicates: &Predicates<'f>,
        index: &'f Index<'f>,
        hinted: bool,
        scans: &mut Vec<Scanned<'f>>,
    ) -> Result<Candidate, Unusable> {
        if !hinted {
            self.usable(predicates, index)?;
        }
        let bounded = scan::bounded(predicates, index);
        let backward = order(&bounded, index, self.query.sort);
        let ordered = self.query.sort.is_empty() || backward.is_some();
        let is_covered = self.covers(predicates.filter, &bounded, index);
        if bounded.bounds.iter().any(|part| part.intervals.is_empty()) {
            return Ok(Candidate::nothing(access_by(index)));
        }
        let has_few = index.definition.is_sparse() || index.definition.partial_filter().is_some();
        let is_all = !has_few && bounded.bounds.iter().all(|part| part.is_all());
        if is_all && !hinted && !is_covered && (self.query.sort.is_empty() || !ordered) {
            return Err(Unusable::NoBounds);
        }
        let looks = self.budget.take_look();
        let met = ScanEstimate::of(&bounded.bounds, index, if looks { self.collection } else { &self.unseen });
        let scan = IndexScan {
            index: index.definition.name().to_owned(),
            bounds: bounded.bounds.clone(),
            backward: backward.unwrap_or(false),
            covered: is_covered.then(Filter::default),
            keys: Filter::default(),
            multikey: index.multikey != 0,
            exact_parts: exact_parts(index),
            is_collated: index.definition.collation().is_some(),
        };
        let (access, proved) = (access_by(index), Some(bounded.proved.clone()));
        let (mut most, mut cost) = (met.documents, self.of_scan(&met, index));
        let conditions = index.definition.parts().iter().flat_map(|part| predicates.conditions(part.path.as_str()));
        let shares = conditions
            .filter_map(|(at, _)| scan.entry_selectivity(predicates.filter.clauses.get(at)?))
            .reduce(|a, b| a * b);
        let mut node = Node::Index(scan);
        if !is_covered {
            if let Some(share) = shares {
                most *= share;
                cost = cost.add(Cost::of_time(met.within * cost::ASK_ENTRY_US));
            }
            cost = cost.add(fetch(most));
            node = Node::Fetch { input: Box::new(node), filter: Filter::default() };
        }
        // The scan finds at most one document. It costs no more than a look-up by `_id`, so that the index is used even
        // in a small collection.
        if index.definition.is_unique() && bounded.bounds.iter().all(PartBounds::is_point) {
            (most, cost.time_us) = (most.min(1.0), cost.time_us.min(cost::FETCH_US));
        }
        if bounded.bounds.first().is_some_and(|part| !part.is_all()) {
            scans.push(Scanned { index, bounded, met });
        }
        Ok(Candidate { access, node, proved, cost, ordered, most })
    }

    /// Checks that every matching document has entries in the index.
    fn usable<'f>(&self, predicates: &Predicates<'f>, index: &Index<'f>) -> Result<(), Unusable> {
        let definition = index.definition;
        if let Some(partial) = definition.partial_filter()
            && !implies::implies(predicates.filter, partial, &self.budget)
        {
            return Err(Unusable::Partial(partial.clone()));
        }
        if definition.is_sparse() && !predicates.has_all(definition) {
            return Err(Unusable::Sparse);
        }
        Ok(())
    }

    fn of_scan(&self, met: &ScanEstimate, index: &Index<'_>) -> Cost {
        let seeks = met.seeks * f64::from(self.collection.partitions) * cost::SEEK_US;
        Cost { time_us: seeks + met.entries * cost::scan_entry_us(index), entries: met.entries, documents: 0.0 }
    }

    /// True if the entries contain all values that the query and the remaining conditions need.
    fn covers(&self, filter: &Filter, bounded: &Bounded, index: &Index<'_>) -> bool {
        let Needs::Paths(paths) = self.query.needs else { return false };
        let exact = exact_parts(index);
        let has_exact = |path: &str| {
            let mut parts = index.definition.parts().iter().enumerate();
            parts.any(|(at, part)| exact >> at & 1 == 1 && part.path.as_str() == path)
        };
        // An entry does not show whether the map that would contain a missing field exists.
        let of_output =
            |path: &str| (has_exact(path) && !path.contains('.')) || (path == "_id" && self.collection.natural_ids);
        let sort = self.query.sort.iter().map(|part| part.path.as_str());
        let covers_output =
            paths.iter().all(|path| of_output(path.as_str())) && { sort }.all(|path| has_exact(path) || path == "_id");
        let of_clause = |clause: &Clause| matches!(clause, Clause::Field { path, .. } if has_exact(&path.text));
        let is_proved = |at: &usize| bounded.proved.contains(at);
        covers_output && filter.clauses.iter().enumerate().all(|(at, clause)| of_clause(clause) || is_proved(&at))
    }

    /// An intersection of two scans that have few documents in common.
    fn intersection(&self, mut scans: Vec<Scanned<'_>>) -> Option<Candidate> {
        scans.sort_by(|a, b| a.met.within.total_cmp(&b.met.within));
        let (first, rest) = scans.split_first()?;
        fn path<'s>(scan: &'s Scanned<'_>) -> &'s alluvium_document::path::FieldPath {
            &scan.index.definition.parts()[0].path
        }
        // Each scan must restrict a part that the other scan does not restrict.
        let adds = |one: &Bounded, other: &Bounded| {
            let bounded = |part: &&PartBounds| !part.is_all();
            let in_other =
                |part: &PartBounds| other.bounds.iter().filter(bounded).any(|it| it.part.path == part.part.path);
            one.bounds.iter().filter(bounded).any(|part| !in_other(part))
        };
        let second = rest.iter().find(|scan| {
            let (one, other) = (&scan.bounded, &first.bounded);
            path(scan) != path(first) && adds(one, other) && adds(other, one)
        })?;
        let all = self.collection.documents.max(1) as f64;
        // Conditions are usually correlated, so more documents meet both than if they were independent.
        let both = (first.met.documents * second.met.documents / all).max(0.1 * first.met.documents);
        let ids = (first.met.within + second.met.within) * cost::DEDUPLICATE_US;
        let scanned =
            self.of_scan(&first.met, first.index).add(self.of_scan(&second.met, second.index)).add(Cost::of_time(ids));
        let proved: Vec<usize> = first.bounded.proved.iter().chain(&second.bounded.proved).copied().collect();
        let node = |Scanned { index, bounded, .. }: &Scanned<'_>| IndexScan {
            index: index.definition.name().to_owned(),
            bounds: bounded.bounds.clone(),
            backward: false,
            covered: None,
            keys: Filter::default(),
            multikey: index.multikey != 0,
            exact_parts: 0,
            is_collated: index.definition.collation().is_some(),
        };
        let [one, other] = [first, second].map(|scan| scan.index.definition.name().to_owned());
        let access = AccessPath::Intersection(one, other);
        let input = Box::new(Node::Intersection(vec![node(first), node(second)]));
        let node = Node::Fetch { input, filter: Filter::default() };
        let (cost, ordered) = (scanned.add(fetch(both)), self.query.sort.is_empty());
        Some(Candidate { access, node, proved: Some(proved), cost, ordered, most: both })
    }

    /// The positions of the `$or` clauses to plan as unions. Clauses with few branches take their
    /// budget first. All clauses take their budget before any branch is planned, because branches
    /// may contain further `$or`s.
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
        let paid = choices.into_iter().filter(|(count, at)| {
            self.budget.take(*count, all - weights[*at]) && self.budget.take_scans(self.scans(filter, *at))
        });
        let mut paid: Vec<usize> = paid.map(|(_, at)| at).collect();
        paid.sort_unstable();
        paid
    }

    /// The number of times that an index is considered for a branch of an `$or`.
    fn scans(&self, filter: &Filter, at: usize) -> usize {
        let Some(Clause::Or(branches)) = filter.clauses.get(at) else { return 0 };
        let always = self.collection.indexes.iter().enumerate().filter(|(_, index)| self.may_serve(index, false));
        let others = [&filter.clauses[..at], &filter.clauses[at + 1..]];
        let others = others.into_iter().fold(0, |all, clauses| all | indexes_of(clauses, &self.paths));
        let all = always.fold(others, |all, (at, _)| all | bit(at));
        let of_branch = |branch: &Filter| (all | indexes_of(&branch.clauses, &self.paths)).count_ones() as usize;
        branches.iter().map(of_branch).sum()
    }

    /// A union of the branches of one `$or`. Each branch is combined with the other conditions of the filter.
    fn union(&self, filter: &Filter, at: usize, depth: usize) -> Option<Candidate> {
        let Some(Clause::Or(branches)) = filter.clauses.get(at) else { return None };
        let others = without(filter, &[at]);
        if finds_nothing(&others) {
            return Some(Candidate::nothing(AccessPath::Union { clause: at, branches: Vec::new() }));
        }
        let (mut inputs, mut paths, mut cost, mut merge) = (Vec::new(), Vec::new(), Cost::default(), true);
        let mut most = 0.0;
        for branch in branches {
            if finds_nothing(branch) {
                continue;
            }
            let clauses = branch.clauses.iter().chain(&others.clauses).cloned().collect();
            let branch = Filter { clauses, ..Filter::default() };
            let predicates = Predicates::new(&branch, &self.paths);
            let is_narrow = |candidate: &Candidate| !matches!(&candidate.node, Node::Scan { ids, .. } if Intervals(ids.clone()).is_all());
            let candidates = self.candidates(&predicates, depth).usable.into_iter().filter(is_narrow);
            let best = candidates.min_by(|a, b| a.cost.time_us.total_cmp(&b.cost.time_us))?;
            let ids = Cost::of_time(best.cost.documents * cost::DEDUPLICATE_US);
            cost = cost.add(best.cost).add(ids);
            merge &= best.ordered;
            most += best.most;
            paths.push(best.access.clone());
            inputs.push(best.into_node(&branch, false));
        }
        let access = AccessPath::Union { clause: at, branches: paths };
        let merge = if merge { self.query.sort.to_vec() } else { Vec::new() };
        let ordered = !merge.is_empty() || self.query.sort.is_empty();
        Some(Candidate { access, node: Node::Union { inputs, merge }, proved: None, cost, ordered, most })
    }

    /// Adds the sort and the limit.
    fn finish(&self, candidate: Candidate, found: f64) -> Candidate {
        let Candidate { access, mut node, proved, mut cost, ordered, most } = candidate;
        let wanted = self.query.wanted();
        if ordered {
            // The scan stops once enough documents are found.
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
        Candidate { access, node, proved, cost, ordered: true, most }
    }
}

/// The parts, as bits, whose values in entries are identical to the values in the documents.
fn exact_parts(index: &Index<'_>) -> u64 {
    // Strings cannot be decoded from collation keys.
    let is_collated = index.definition.collation().is_some();
    let is_exact = |(at, part): &(usize, &Part)| {
        let plain = !part.path.names().any(|name| alluvium_document::path::array_index(name).is_some());
        (index.multikey | index.cut) >> at & 1 == 0 && !is_collated && part.order != Order::Hashed && plain
    };
    index.definition.parts().iter().enumerate().filter(is_exact).fold(0, |bits, (at, _)| bits | 1 << at)
}

fn access_by(index: &Index<'_>) -> AccessPath {
    AccessPath::Index(index.definition.name().to_owned())
}

fn fetch(documents: f64) -> Cost {
    Cost { time_us: documents * cost::FETCH_US, entries: 0.0, documents }
}

fn same_keys(keys: &alluvium_document::Map, hint: &alluvium_document::Map) -> bool {
    let equal =
        |((a, x), (b, y)): (&(Value, Value), &(Value, Value))| a == b && alluvium_document::compare::equal(x, y);
    keys.len() == hint.len() && keys.entries.iter().zip(&hint.entries).all(equal)
}

/// The filter without the given clauses, whose positions are sorted.
fn without(filter: &Filter, clauses: &[usize]) -> Filter {
    let rest = filter.clauses.iter().enumerate().filter(|(at, _)| clauses.binary_search(at).is_err());
    Filter { clauses: rest.map(|(_, clause)| clause.clone()).collect(), ..Filter::default() }
}

/// True if keys with strings in one order are also in the order of a sort: both orders are the same, or the intervals
/// contain no strings.
fn is_ordered_alike(wanted: &SortPart, collation: Option<&Collation>, intervals: &[Interval]) -> bool {
    wanted.collation.as_ref() == collation || !has_texts(intervals)
}

/// `Some` if the scan has the order of the sort; true if the scan must run backwards.
fn order(bounded: &Bounded, index: &Index<'_>, sort: &[SortPart]) -> Option<bool> {
    let single = |at: usize| index.multikey >> at & 1 == 0;
    let mut parts = bounded.bounds.iter().enumerate().peekable();
    let mut backward = None;
    let collation = index.definition.collation();
    for wanted in sort {
        let is_alike = |part: &PartBounds| is_ordered_alike(wanted, collation, &part.intervals);
        let is_fixed = |(at, part): (usize, &PartBounds)| {
            let is_single = part.is_point() && single(at) && part.part.order != Order::Hashed;
            part.part.path == wanted.path && is_single && is_alike(part)
        };
        if bounded.bounds.iter().enumerate().any(is_fixed) {
            continue;
        }
        while parts.next_if(|(_, part)| part.is_point() && part.part.path != wanted.path).is_some() {}
        let descends = match parts.next() {
            Some((at, part)) => {
                let plain = !part.part.path.names().any(|name| alluvium_document::path::array_index(name).is_some());
                let is_cut = index.cut >> at & 1 == 1;
                let is_hashed = part.part.order == Order::Hashed;
                if part.part.path != wanted.path || !single(at) || is_cut || !plain || is_hashed || !is_alike(part) {
                    return None;
                }
                part.part.order == Order::Descending
            }
            // Entries with equal values are ordered by their `_id`, which is unique. Therefore
            // further parts of the sort have no effect.
            None if wanted.path.as_str() == "_id" && wanted.collation.is_none() => {
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
