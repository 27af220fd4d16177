//! Chooses the plan of a query: the planner's plan, corrected by the measured cost of earlier
//! queries of the same form.

use super::query::{IndexHint, Query};
use super::statistics;
use crate::capped::is_ordered_at;
use crate::error::{Error, Result};
use crate::index::IndexSet;
use crate::marks;
use crate::planner_state::PlanCache;
use crate::read_only::{ReadOnlyContent, ReadOnlyDocuments};
use crate::view::CollectionView;
use alluvium_document::compare::{equal, type_rank};
use alluvium_document::{Map, Value};
use alluvium_exec::Report;
use alluvium_query::index::Unbuilt;
use alluvium_query::plan::{self, Hint, Interval, KeyRange, Needs, Node, Plan, PlanError, Rejected, Rejection};
use alluvium_store::{Bounds, TreeId};
use hashbrown::HashMap;
use std::cell::{Cell, RefCell};
use std::fmt::Write;
use std::ops::Bound;
use std::sync::Arc;

/// A plan was wrong if it examined more than `estimate * WRONG_TIMES + WRONG_MORE` entries and
/// documents.
const WRONG_TIMES: f64 = 10.0;
const WRONG_MORE: f64 = 1000.0;

/// A plan, and the indexes that the planner knew.
#[derive(Clone)]
pub(crate) struct Planned {
    pub plan: Arc<Plan>,
    pub indexes: Arc<IndexSet>,
    /// True if the scan of the plan reads a capped collection in the order of insertion.
    pub natural: bool,
    /// The form of the query, if its plan may be remembered.
    form: Option<Arc<str>>,
    /// True if the plan was remembered for this form.
    pub cached: bool,
}

/// The maximum number of ranges that are estimated for one plan.
const ESTIMATES_MAX: usize = 64;

/// A tree, and ranges of its keys.
type RangesOf = (TreeId, Vec<KeyRange>);

/// Estimates the share of keys in ranges of indexes and of `_id`s. Reads one partition only, since
/// documents are spread over partitions at random.
struct Shares<'a> {
    view: &'a CollectionView,
    indexes: &'a IndexSet,
    estimated: Cell<usize>,
    /// Earlier results: the planner considers an index several times.
    known: RefCell<HashMap<RangesOf, Option<f64>>>,
    /// The number of entries of each tree.
    entries: RefCell<HashMap<TreeId, Option<u64>>>,
}

impl<'a> Shares<'a> {
    fn of(view: &'a CollectionView, indexes: &'a IndexSet) -> Self {
        let (known, entries) = (RefCell::default(), RefCell::default());
        Self { view, indexes, estimated: Cell::new(0), known, entries }
    }

    /// An error is treated as an unknown number; the execution of the plan reports it.
    fn estimate(&self, tree: TreeId, bounds: &Bounds) -> Option<u64> {
        self.view.store().estimate(tree, 0, bounds).ok()
    }

    fn share_of(&self, tree: TreeId, ranges: &[KeyRange]) -> Option<f64> {
        let estimate = || self.estimate_share(tree, ranges);
        *self.known.borrow_mut().entry((tree, ranges.to_vec())).or_insert_with(estimate)
    }

    fn estimate_share(&self, tree: TreeId, ranges: &[KeyRange]) -> Option<f64> {
        self.estimated.set(self.estimated.get() + ranges.len());
        if self.estimated.get() > ESTIMATES_MAX {
            return None;
        }
        let all = || self.estimate(tree, &Bounds::all());
        let all = (*self.entries.borrow_mut().entry(tree).or_insert_with(all))?;
        let of_range = |range: &KeyRange| {
            let upper = range.to.clone().map_or(Bound::Unbounded, Bound::Excluded);
            self.estimate(tree, &Bounds { lower: Bound::Included(range.from.clone()), upper, reverse: false })
        };
        let within: u64 = ranges.iter().map(of_range).sum::<Option<u64>>()?;
        // The added terms correct the estimate for rare values, which one partition represents badly.
        Some(((within as f64 + 0.5) / (all as f64 + 1.0)).min(1.0))
    }
}

impl std::fmt::Debug for Shares<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Shares").finish_non_exhaustive()
    }
}

impl plan::Estimator for Shares<'_> {
    fn share(&self, index: &plan::Index<'_>, ranges: &[KeyRange]) -> Option<f64> {
        let name = index.definition.name();
        let tree = self.indexes.indexes.iter().find(|listed| listed.definition.name() == name)?.tree;
        self.share_of(tree, ranges)
    }

    fn share_of_ids(&self, ranges: &[KeyRange]) -> Option<f64> {
        self.share_of(self.view.state.documents, ranges)
    }
}

/// The plan of a query at a view. If `explains`, the plan includes the rejected candidates with the
/// reasons, and is not remembered.
pub(crate) fn plan(view: &CollectionView, query: &Query, explains: bool) -> Result<Planned> {
    let mut planned = plan_by_id(view, query, explains).map_err(|error| not_built(view, query, error))?;
    if planned.indexes.options.order().is_none() || !query.request.sort.is_empty() {
        return Ok(planned);
    }
    // A range of `_id`s is returned in the order of `_id`, unless the order of insertion is requested.
    let all = match &query.hint {
        Some(IndexHint::Natural { backward }) if !scans_all(&planned.plan.root) && scans(&planned.plan.root) => {
            Some(scan_of_all(&spec_of(query), *backward))
        }
        _ => None,
    };
    planned.natural = (all.is_some() || scans_all(&planned.plan.root)) && is_ordered_at(view)?;
    if let Some(root) = all.filter(|_| planned.natural) {
        planned.plan = Arc::new(Plan { root, ..(*planned.plan).clone() });
    }
    Ok(planned)
}

/// Replaces the error for a hint of an index that is not built. Any other error is returned unchanged.
fn not_built(view: &CollectionView, query: &Query, error: Error) -> Error {
    let is_meant = |index: &Unbuilt| match &query.hint {
        Some(IndexHint::Name(name)) => index.name() == name,
        Some(IndexHint::Keys(keys)) => equal(&Value::Map(index.keys_map()), &Value::Map(keys.clone())),
        _ => false,
    };
    match (&error, view.state.indexes().options.unbuilt.iter().find(|index| is_meant(index))) {
        (Error::Plan(PlanError::UnknownIndex(_)), Some(index)) => PlanError::NotBuilt(index.name().to_owned()).into(),
        _ => error,
    }
}

/// True if a plan is a scan of all documents, with any steps after the scan.
fn scans_all(node: &Node) -> bool {
    match node {
        Node::Scan { ids, .. } => *ids == [Interval::all()],
        _ => matches!(node.inputs()[..], [input] if scans_all(input)),
    }
}

/// As [`plan`], for a collection in the order of `_id`.
fn plan_by_id(view: &CollectionView, query: &Query, explains: bool) -> Result<Planned> {
    let indexes = view.state.indexes();
    let statistics = statistics::current(view, &indexes);
    let mut usable = Vec::with_capacity(indexes.indexes.len());
    for index in &indexes.indexes {
        // A listed index may have been dropped before the view was taken, because a drop removes the index from the
        // list last.
        if may_use(query, index)
            && index.serves(view.snapshot.seq())
            && view.store().is_readable_at(&view.snapshot.store, index.tree)?
        {
            usable.push(index);
        }
    }
    // The marks are read after the snapshot was taken, so they cover every document that it sees.
    let described: Vec<plan::Index<'_>> = usable
        .into_iter()
        .map(|index| {
            let known = statistics.of(index.tree);
            let marks = index.marks.load(std::sync::atomic::Ordering::SeqCst);
            plan::Index {
                definition: &index.definition,
                multikey: marks as u32,
                cut: (marks >> 32) as u32,
                entries: known.map_or(statistics.documents, |known| known.entries),
                distinct: known.map(|known| known.distinct.as_slice()).unwrap_or_default(),
                bytes: known.map_or(0, |known| known.bytes),
            }
        })
        .collect();
    let shares = Shares::of(view, &indexes);
    // If the index is fixed, no estimates are needed, except to explain the plan of a user's hint.
    let is_fixed = match &query.hint {
        Some(IndexHint::Usable(_)) => true,
        Some(hint) => !explains && plan::leaves_no_choice(&hint.as_planned(), &described),
        None => false,
    };
    let collection = plan::Collection {
        documents: statistics.documents,
        bytes: statistics.bytes,
        partitions: view.store().partitions(),
        natural_ids: statistics.natural_ids,
        indexes: &described,
        estimator: (!is_fixed).then_some(&shares),
    };
    let spec = spec_of(query);
    let remembers = !described.is_empty() && query.hint.is_none() && query.only.is_none();
    if !remembers {
        let mut plan = plan::plan(&spec, &collection)?;
        if query.only.is_some() && spec.hint.is_none() && scans(&plan.root) {
            plan = by_index(&spec, &collection).unwrap_or(plan);
        }
        return Ok(Planned { plan: Arc::new(plan), indexes, natural: false, form: None, cached: false });
    }
    let form: Arc<str> = form_of(query).into();
    let (plan, cached) = remembered(&view.state.plans, &indexes, &form, spec, explains, &collection)?;
    Ok(Planned { plan: Arc::new(plan), indexes, natural: false, form: Some(form), cached })
}

/// The cheapest plan that uses an index whose first part is bounded by the filter. Used if a query may use only some
/// indexes: as in MongoDB, one of these is then used even if the collection is small.
fn by_index(spec: &plan::Query<'_>, collection: &plan::Collection<'_>) -> Option<Plan> {
    let narrows = |plan: &Plan| match narrowest(&plan.root) {
        Some(scan) => scan.bounds.first().is_some_and(|bounds| !bounds.is_all()),
        None => false,
    };
    let plans = collection.indexes.iter().filter_map(|index| {
        let hint = Some(Hint::Usable(index.definition.name()));
        plan::plan(&plan::Query { hint, ..spec.clone() }, collection).ok().filter(narrows)
    });
    plans.min_by(|a, b| a.cost.time_us.total_cmp(&b.cost.time_us))
}

/// The index scan of a plan that uses one index.
fn narrowest(node: &Node) -> Option<&plan::IndexScan> {
    match node {
        Node::Index(scan) => Some(scan),
        _ => node.inputs().into_iter().find_map(narrowest),
    }
}

/// False if the index is hidden, or is not among the indexes that the query may use.
fn may_use(query: &Query, index: &crate::index::Index) -> bool {
    let name = index.definition.name();
    !index.definition.is_hidden() && query.only.as_ref().is_none_or(|only| only.iter().any(|of| of == name))
}

fn spec_of(query: &Query) -> plan::Query<'_> {
    plan::Query {
        filter: &query.filter,
        sort: query.request.sort.parts(),
        needs: query.request.needs.as_deref().map_or(Needs::Documents, Needs::Paths),
        skip: query.skip,
        limit: query.limit,
        hint: query.hint.as_ref().map(super::query::IndexHint::as_planned),
    }
}

/// The plan of a query over a read-only store, whose only index is that on `_id`.
pub(crate) fn plan_read_only(store: &ReadOnlyDocuments, query: &Query) -> Result<Planned> {
    let spec = spec_of(query);
    let collection = plan::Collection {
        documents: store.pairs().len(),
        bytes: store.pairs().stats().raw_bytes,
        partitions: 1,
        natural_ids: false,
        indexes: &[],
        estimator: None,
    };
    let mut plan = plan::plan(&spec, &collection)?;
    // The keys of a store of keys and values are not in the order of `_id`s, so ranges of `_id` are not ranges of keys.
    if store.content() == ReadOnlyContent::KeyValues && scans(&plan.root) {
        let backward = matches!(spec.hint, Some(Hint::Natural { backward: true }));
        let natural = plan::Query { hint: Some(Hint::Natural { backward }), ..spec.clone() };
        plan = plan::plan(&natural, &collection)?;
        plan.root = scan_of_all(&spec, backward);
    }
    Ok(Planned { plan: Arc::new(plan), indexes: Arc::default(), natural: false, form: None, cached: false })
}

fn scans(node: &Node) -> bool {
    matches!(node, Node::Scan { .. }) || node.inputs().into_iter().any(scans)
}

/// A scan of all documents, followed by a sort.
fn scan_of_all(query: &plan::Query<'_>, backward: bool) -> Node {
    let mut root = Node::Scan { ids: vec![Interval::all()], backward, filter: query.filter.clone() };
    if !query.sort.is_empty() {
        let first = query.limit.map(|limit| limit.saturating_add(query.skip));
        root = Node::Sort { input: Box::new(root), by: query.sort.to_vec(), first };
    }
    if query.skip > 0 || query.limit.is_some() {
        root = Node::Limit { input: Box::new(root), skip: query.skip, limit: query.limit };
    }
    root
}

fn remembered(
    plans: &PlanCache,
    indexes: &IndexSet,
    form: &Arc<str>,
    spec: plan::Query<'_>,
    explains: bool,
    collection: &plan::Collection<'_>,
) -> Result<(Plan, bool)> {
    let (taken, costly) = plans.with_form(indexes, form, |form| (form.index.clone(), form.costly.clone()));
    if let Some(name) = &taken {
        let hinted = plan::Query { hint: Some(Hint::Usable(name)), ..spec.clone() };
        // The index is fixed, so no estimates are needed.
        let estimator = collection.estimator.filter(|_| explains);
        let known = plan::Collection { estimator, ..collection.clone() };
        if let Ok(mut plan) = plan::plan(&hinted, &known) {
            if explains {
                plan.rejected = rejected_beside(name, plan::plan(&spec, collection)?);
            }
            return Ok((plan, true));
        }
    }
    let mut plan = plan::plan(&spec, collection)?;
    // An index that has cost more than estimated is compared with its measured cost.
    let cost = |name: &str, estimated: f64| {
        costly.iter().find(|(known, _)| known == name).map_or(estimated, |(_, measured)| measured.max(estimated))
    };
    if let Some(name) = plan.index_name() {
        let own = cost(name, plan.cost.time_us);
        let others = plan.rejected.iter().filter_map(|rejected| {
            let hint = rejected.access.hint(&spec)?;
            let estimated = rejected.reason.cost()?.time_us;
            Some((rejected.access.index_name().map_or(estimated, |name| cost(name, estimated)), hint))
        });
        let cheaper = others.filter(|(cost, _)| *cost < own).min_by(|(a, _), (b, _)| a.total_cmp(b));
        if let Some((_, hint)) = cheaper {
            let mut other = plan::plan(&plan::Query { hint: Some(hint), ..spec.clone() }, collection)?;
            plan.rejected.retain(|rejected| rejected.access != other.access);
            other.rejected = plan.rejected;
            plan = other;
        }
    }
    if !explains {
        let index = plan.index_name().map(str::to_owned);
        plans.with_form(indexes, form, |form| form.index = index);
    }
    Ok((plan, false))
}

/// The rejected candidates of a plan that uses the remembered index `used`: the candidates that the new plan `again`
/// has rejected, and its chosen index, if that is not `used`.
fn rejected_beside(used: &str, again: Plan) -> Vec<Rejected> {
    let Plan { access, cost, mut rejected, .. } = again;
    rejected.retain(|rejected| rejected.access.index_name() != Some(used));
    if access.index_name() != Some(used) {
        let reason = Rejection::PreviousChoice { cost, index: used.to_owned() };
        rejected.insert(0, Rejected { access, reason });
    }
    rejected
}

/// Records the cost of a plan so far, if it exceeds the estimate for the whole plan.
pub(crate) fn learn(view: &CollectionView, planned: &Planned, report: &Report) {
    let Some(form) = &planned.form else { return };
    let (mut keys, mut documents) = (0, 0);
    total(report, &mut keys, &mut documents);
    let (examined, estimated) = ((keys + documents) as f64, planned.plan.cost.entries + planned.plan.cost.documents);
    if examined <= estimated * WRONG_TIMES + WRONG_MORE {
        return;
    }
    let time_us = keys as f64 * plan::cost::SCAN_ENTRY_US + documents as f64 * plan::cost::FETCH_US;
    statistics::discard(view);
    let index = planned.plan.index_name().map(str::to_owned);
    view.state.plans.with_form(&planned.indexes, form, |form| {
        let Some(index) = index else { return };
        let known = form.costly.iter().any(|(known, measured)| *known == index && *measured * 2.0 >= time_us);
        // If the cost was known when the plan was chosen, the plan is still the best one.
        if !known {
            marks::PLAN_FORGOTTEN.hit();
            form.index = None;
            form.costly.retain(|(known, _)| *known != index);
            form.costly.push((index, time_us));
        }
    });
}

fn total(report: &Report, keys: &mut u64, documents: &mut u64) {
    *keys += report.counts.keys;
    *documents += report.counts.documents;
    report.inputs.iter().for_each(|input| total(input, keys, documents));
}

/// The form of a query: its paths, operators and types, without the values.
fn form_of(query: &Query) -> String {
    let mut form = String::new();
    of_filter(&query.filter.to_map(), &mut form);
    for part in query.request.sort.parts() {
        let _infallible = write!(form, "|{}{}", if part.is_descending() { '-' } else { '+' }, part.path);
    }
    match &query.request.needs {
        None => form.push_str("|*"),
        Some(paths) => paths.iter().for_each(|path| {
            let _infallible = write!(form, "|={path}");
        }),
    }
    if let Some(collation) = &query.collation {
        let _infallible = write!(form, "|{collation}");
    }
    let wanted = query.limit.map(|limit| limit.saturating_add(query.skip));
    let _infallible = write!(form, "|{:?}", wanted.map(|wanted| wanted.checked_ilog2()));
    form
}

fn of_filter(filter: &Map, form: &mut String) {
    for (name, value) in filter.iter() {
        let name = name.as_str().unwrap_or_default();
        let _infallible = write!(form, ",{name}:");
        match value {
            Value::Map(inner) if !inner.is_empty() => of_filter(inner, form),
            Value::Array(values) if values.iter().all(|value| value.as_map().is_some()) && name.starts_with('$') => {
                values.iter().filter_map(Value::as_map).for_each(|inner| of_filter(inner, form));
                form.push(';');
            }
            // The number of values is part of the form, as a power of two.
            Value::Array(values) => {
                let _infallible = write!(form, "[{:?}]", values.len().checked_ilog2());
            }
            value => {
                let _infallible = write!(form, "{}", type_rank(value));
            }
        }
    }
    form.push('.');
}

#[cfg(test)]
mod tests;
