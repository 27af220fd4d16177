//! The planner chooses how a query finds its documents.
//!
//! Planning is a pure function from a query, the indexes and the statistics of the collection to a
//! plan. A plan is a tree of steps. Planning reads no data. The steps are:
//!
//! - *scan of all documents* in the order of `_id`, possibly between bounds; *look-up* of single
//!   `_id`s;
//! - *scan of an index* between bounds for each part, forwards or backwards; the order of the index
//!   may be the order of the sort, and the entries alone may answer the query;
//! - *union* of plans for the branches of an `$or`; *intersection* of two scans;
//! - *fetch* of the documents, with the remaining conditions; *sort* of all documents or of the
//!   first few.
//!
//! The cost of each candidate in microseconds is estimated from statistics ([`cost`] has the
//! constants of the engine), and the cheapest candidate is chosen. The plan keeps the other
//! candidates with their costs, or the reasons why they cannot be used.
//!
//! Bounds guarantee that *every matching document has an entry within them*. However, an entry
//! within the bounds may belong to a document that does not match, and entries of indexes may be
//! stale. Therefore the executor of a plan must validate entries before it relies on the conditions
//! that the plan leaves out.

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
    /// The values that are needed from the documents.
    pub needs: Needs<'a>,
    /// The number of documents to skip.
    pub skip: u64,
    /// The maximum number of documents after the skipped ones; `None` for all.
    pub limit: Option<u64>,
    /// The access path that must be used.
    pub hint: Option<Hint<'a>>,
}

impl<'a> Query<'a> {
    /// A query for whole documents that match, in any order.
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

/// The values that a query needs from its documents.
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
    /// The index with this name, if it contains all documents that the filter matches.
    Usable(&'a str),
    /// The index with these keys, in the form of [`Definition::keys_map`]. Otherwise as [`Hint::Name`].
    Keys(&'a alluvium_document::Map),
    /// A scan of all documents, backwards or forwards.
    Natural {
        /// True for a scan from the last document to the first.
        backward: bool,
    },
}

/// Statistics of a collection. The figures may be outdated or estimated: they affect the cost of a
/// plan, never its result.
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
    /// The indexes that can be used for reading.
    pub indexes: &'a [Index<'a>],
    /// Estimates fractions of entries and documents.
    pub estimator: Option<&'a dyn Estimator>,
}

/// Estimates by sampling an index or the documents during planning.
pub trait Estimator: std::fmt::Debug {
    /// The approximate fraction, from 0 to 1, of the index's entries that are in any of these
    /// ranges. `None` if it is unknown or would take too long to determine.
    fn share(&self, index: &Index<'_>, ranges: &[KeyRange]) -> Option<f64>;

    /// The approximate fraction of the documents that are in these ranges of `_id` ([`id_ranges`]).
    fn share_of_ids(&self, ranges: &[KeyRange]) -> Option<f64>;
}

/// Statistics of an index.
#[derive(Debug, Clone)]
pub struct Index<'a> {
    /// The definition of the index.
    pub definition: &'a Definition,
    /// Bit n is set if part n led through an array in some document
    /// ([`crate::index::Keys::multikey`]). A bit may be unset only if part n led through no array
    /// in all documents that the query may see.
    pub multikey: u32,
    /// Bit n is set if the key of part n is cut in some entry ([`crate::index::Keys::cut`]). A bit
    /// may be unset only if that is so in no entry that the query may see.
    pub cut: u32,
    /// The number of entries.
    pub entries: u64,
    /// The number of distinct values of the first part, of the first two parts together, and so on,
    /// as far as known.
    pub distinct: &'a [u64],
    /// The size of the entries in bytes.
    pub bytes: u64,
}

/// A plan for finding the documents of a query.
#[derive(Debug, Clone, PartialEq)]
pub struct Plan {
    /// The last step of the plan. It contains the steps that provide its input.
    pub root: Node,
    /// The estimated cost.
    pub cost: cost::Cost,
    /// The access path to the documents.
    pub access: AccessPath,
    /// The other candidates, of which the cheapest is first.
    pub rejected: Vec<Rejected>,
}

impl Plan {
    /// The plan for a query without matching documents.
    fn nothing(rejected: Vec<Rejected>) -> Self {
        Self { root: Node::Nothing, cost: cost::Cost::default(), access: AccessPath::Nothing, rejected }
    }

    /// The name of the index, if a scan of one index is the only access path of the plan.
    pub fn index_name(&self) -> Option<&str> {
        self.access.index_name().filter(|_| !matches!(self.root, Node::Nothing))
    }
}

/// A step of a plan.
#[derive(Debug, Clone, PartialEq)]
pub enum Node {
    /// No document matches.
    Nothing,
    /// Scans documents in the order of `_id`. Returns documents that match and whose `_id` is in one of the intervals.
    Scan {
        /// Intervals of `_id`, in order.
        ids: Vec<Interval>,
        /// True for a scan from the greatest `_id` to the least.
        backward: bool,
        /// The conditions on a document.
        filter: Filter,
    },
    /// Looks up the documents with these `_id`s in order. Returns each document once, if it matches.
    Lookup {
        /// The values that `_id` may have.
        ids: Vec<Value>,
        /// The conditions on a document.
        filter: Filter,
    },
    /// Entries of an index.
    Index(IndexScan),
    /// Reads the documents of the entries. Returns each document once, if it matches.
    Fetch {
        /// The source of the entries.
        input: Box<Node>,
        /// The remaining conditions.
        filter: Filter,
    },
    /// Returns the documents that any of the inputs finds, each once.
    Union {
        /// One step for each branch.
        inputs: Vec<Node>,
        /// The order of all inputs, which is also the order of the output. Empty if there is no order.
        merge: Vec<SortPart>,
    },
    /// Returns the `_id`s that both scans find.
    Intersection(Vec<IndexScan>),
    /// Sorts the documents. If only the first documents are needed, no more than these are held in memory.
    Sort {
        /// The source of the documents.
        input: Box<Node>,
        /// The order.
        by: Vec<SortPart>,
        /// The number of documents needed; `None` for all.
        first: Option<u64>,
    },
    /// Skips documents, and then returns a limited number of them.
    Limit {
        /// The source of the documents.
        input: Box<Node>,
        /// The number of documents to skip.
        skip: u64,
        /// The maximum number of documents after the skipped ones.
        limit: Option<u64>,
    },
}
