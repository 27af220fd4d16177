//! The planner: chooses how a query finds its documents.
//!
//! A pure function from a query, the indexes and the statistics of the collection to a plan, which
//! is a tree of steps. It reads no data. The steps are:
//!
//! - *scan of all documents* in the order of `_id`, possibly between bounds; *look-up* of single
//!   `_id`s;
//! - *scan of an index* between bounds for each part, forwards or backwards; its order may be that
//!   of the sort, and the entries alone may answer the query;
//! - *union* of plans for the branches of an `$or`; *intersection* of two scans;
//! - *fetch* of the documents, with the remaining conditions; *sort*, of all documents or of the
//!   first few.
//!
//! The cost of each candidate in microseconds is estimated from statistics ([`cost`] has the
//! figures of the engine), and the cheapest is chosen. The plan keeps the other candidates with
//! their cost, or the reason why they cannot be used.
//!
//! Bounds guarantee that *every matching document has an entry within them*. An entry within the
//! bounds may be of a document that does not match, and entries of indexes may be stale. So the
//! executor of a plan must validate entries before it relies on the conditions that the plan leaves
//! out.

use alluvium_document::Value;
use alluvium_document::path::FieldPath;

use crate::filter::Filter;
use crate::index::Definition;
use crate::sort::SortPart;

mod access;
mod bounds;
mod budget;
mod choose;
pub mod cost;
mod error;
mod explain;
mod implies;
mod interval;
mod jump;
mod predicates;
mod ranges;
mod scan;
mod selectivity;

pub use access::{AccessPath, Rejected, Rejection, Unusable};
pub use choose::{leaves_no_choice, plan};
pub use error::PlanError;
pub use interval::{Edge, Interval};
pub use jump::Place;
pub use ranges::{KeyRange, PartBounds, id_ranges};
pub use scan::IndexScan;

/// A query.
#[derive(Debug, Clone)]
pub struct Query<'a> {
    /// The documents to find.
    pub filter: &'a Filter,
    /// Their order; any order if empty.
    pub sort: &'a [SortPart],
    /// The values that are needed of them.
    pub needs: Needs<'a>,
    /// The number of documents to skip.
    pub skip: u64,
    /// The maximum number of documents after these; `None` for all.
    pub limit: Option<u64>,
    /// The access path that must be used.
    pub hint: Option<Hint<'a>>,
}

impl<'a> Query<'a> {
    /// A query for all matching documents, whole, in any order.
    pub fn of(filter: &'a Filter) -> Self {
        Self { filter, sort: &[], needs: Needs::Documents, skip: 0, limit: None, hint: None }
    }

    /// True if the sort begins with descending `_id`.
    fn is_by_descending_id(&self) -> bool {
        self.sort.first().is_some_and(|part| part.path.as_str() == "_id" && part.is_descending())
    }

    /// The number of documents that have to be found.
    fn wanted(&self) -> Option<u64> {
        self.limit.map(|limit| limit.saturating_add(self.skip))
    }
}

/// The values that a query needs of its documents.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Needs<'a> {
    /// Whole documents.
    Documents,
    /// Only the values at these paths; an empty slice for a count.
    Paths(&'a [FieldPath]),
}

/// An access path that must be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Hint<'a> {
    /// The index with this name; `_id_` is a scan of all documents in the order of `_id`. A sparse or
    /// partial index is used even if it lacks documents that the filter matches.
    Name(&'a str),
    /// The index with this name, if it has all documents that the filter matches.
    Usable(&'a str),
    /// The index with these keys, in the form of [`Definition::keys_map`]; as [`Hint::Name`].
    Keys(&'a alluvium_document::Map),
    /// A scan of all documents, backwards or forwards.
    Natural {
        /// From the last to the first.
        backward: bool,
    },
}

/// Statistics of a collection. Figures may be old or estimates: they change the cost of a plan,
/// never its result.
#[derive(Debug, Clone)]
pub struct Collection<'a> {
    /// The number of documents.
    pub documents: u64,
    /// The size of the documents as rows, in bytes.
    pub bytes: u64,
    /// The number of partitions that each scan reads, at least 1.
    pub partitions: u32,
    /// True only if every `_id` can be decoded exactly from its key
    /// ([`alluvium_document::row::is_natural_id`]).
    pub natural_ids: bool,
    /// The readable indexes.
    pub indexes: &'a [Index<'a>],
    /// Estimates shares of entries and documents.
    pub estimator: Option<&'a dyn Estimator>,
}

/// Samples an index, or the documents, while costs are estimated.
pub trait Estimator: std::fmt::Debug {
    /// The approximate share, from 0 to 1, of the index's entries that are in any of these ranges;
    /// `None` if it is unknown or would take too long to determine.
    fn share(&self, index: &Index<'_>, ranges: &[KeyRange]) -> Option<f64>;

    /// The approximate share of the documents in these ranges of `_id` ([`id_ranges`]).
    fn share_of_ids(&self, ranges: &[KeyRange]) -> Option<f64>;
}

/// Statistics of an index.
#[derive(Debug, Clone)]
pub struct Index<'a> {
    /// The definition of the index.
    pub definition: &'a Definition,
    /// Bit n is set if part n led through an array in some document
    /// ([`crate::index::Keys::multikey`]). A bit may be unset only if that holds for every document
    /// that the query may see.
    pub multikey: u32,
    /// Bit n is set if the key of part n is cut in some entry ([`crate::index::Keys::cut`]), with
    /// the same promise.
    pub cut: u32,
    /// The number of entries.
    pub entries: u64,
    /// The number of distinct values of the first part, of the first two parts together, and so on,
    /// as far as known.
    pub distinct: &'a [u64],
    /// The size of the entries in bytes.
    pub bytes: u64,
}

/// A plan: how the documents are found.
#[derive(Debug, Clone, PartialEq)]
pub struct Plan {
    /// The last step. Its inputs are below it.
    pub root: Node,
    /// The estimated cost.
    pub cost: cost::Cost,
    /// The access path to the documents.
    pub access: AccessPath,
    /// The other candidates, the cheapest first.
    pub rejected: Vec<Rejected>,
}

impl Plan {
    /// The plan for a query that no document matches.
    fn nothing(rejected: Vec<Rejected>) -> Self {
        Self { root: Node::Nothing, cost: cost::Cost::default(), access: AccessPath::Nothing, rejected }
    }

    /// The name of the index, if the plan scans one index and nothing else.
    pub fn index_name(&self) -> Option<&str> {
        self.access.index_name().filter(|_| !matches!(self.root, Node::Nothing))
    }
}

/// A step of a plan.
#[derive(Debug, Clone, PartialEq)]
pub enum Node {
    /// No document matches.
    Nothing,
    /// All documents, in the order of `_id`, whose `_id` is in one of the intervals, and that match.
    Scan {
        /// Intervals of `_id`, in order.
        ids: Vec<Interval>,
        /// From the greatest `_id` to the least.
        backward: bool,
        /// The conditions on a document.
        filter: Filter,
    },
    /// The documents with these `_id`s that match, in order, each once.
    Lookup {
        /// The values that `_id` may have.
        ids: Vec<Value>,
        /// The conditions on a document.
        filter: Filter,
    },
    /// Entries of an index.
    Index(IndexScan),
    /// The documents of the entries that match, each once.
    Fetch {
        /// The source of the entries.
        input: Box<Node>,
        /// The remaining conditions.
        filter: Filter,
    },
    /// The documents that any of the inputs finds, each once.
    Union {
        /// One step for each branch.
        inputs: Vec<Node>,
        /// The inputs are all in this order, and so is the output. Empty if there is no order.
        merge: Vec<SortPart>,
    },
    /// The `_id`s that both scans find.
    Intersection(Vec<IndexScan>),
    /// Sorts the documents. If only the first are needed, no others are held in memory.
    Sort {
        /// The source of the documents.
        input: Box<Node>,
        /// The order.
        by: Vec<SortPart>,
        /// The number of documents needed; `None` for all.
        first: Option<u64>,
    },
    /// Skips documents, and returns a limited number of the rest.
    Limit {
        /// The source of the documents.
        input: Box<Node>,
        /// The number of documents to skip.
        skip: u64,
        /// The maximum number of documents after these.
        limit: Option<u64>,
    },
}
