//! The planner: how the documents that a query asks for are found.
//!
//! A pure function from a query, the indexes and what is known of the collection to a plan: a tree of steps. Nothing is
//! read. The ways that there are:
//!
//! - *scan of all documents*, in the order of `_id`, perhaps between bounds; *look-up* of single `_id`s;
//! - *scan of an index* between bounds for each part, forwards or backwards; it may give the order of the sort, and the
//!   index alone may answer;
//! - *union* of ways for the branches of an `$or`; *intersection* of two scans;
//! - *fetch* of the documents, with the conditions that are left; *sort*, of all or of the first few.
//!
//! Each costs microseconds, estimated from statistics ([`cost`]'s figures are those of the engine), and the cheapest is
//! taken. The others stay in the plan with what they would cost, or why they cannot be taken.
//!
//! What bounds promise: *a document that matches has an entry within them*. What is within them need not match: an
//! index's entries may be stale, too. The reader that carries out a plan therefore validates entries before the
//! conditions that a plan left away count as met.

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
pub use choose::plan;
pub use error::PlanError;
pub use interval::{Edge, Interval};
pub use jump::Place;
pub use ranges::{KeyRange, PartBounds, id_ranges};
pub use scan::IndexScan;

/// What is asked.
#[derive(Debug, Clone)]
pub struct Query<'a> {
    /// Which documents.
    pub filter: &'a Filter,
    /// In which order; any if empty.
    pub sort: &'a [SortPart],
    /// What of them.
    pub needs: Needs<'a>,
    /// How many of them are passed over.
    pub skip: u64,
    /// How many are wanted after that; none: all.
    pub limit: Option<u64>,
    /// The way that must be taken.
    pub hint: Option<Hint<'a>>,
}

impl<'a> Query<'a> {
    /// All documents that match, whole, in any order.
    pub fn of(filter: &'a Filter) -> Self {
        Self { filter, sort: &[], needs: Needs::Documents, skip: 0, limit: None, hint: None }
    }

    /// True if the sort is by descending `_id` before all else.
    fn is_by_descending_id(&self) -> bool {
        self.sort.first().is_some_and(|part| part.path.as_str() == "_id" && part.is_descending())
    }

    /// How many documents have to be found.
    fn wanted(&self) -> Option<u64> {
        self.limit.map(|limit| limit.saturating_add(self.skip))
    }
}

/// What of the documents is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Needs<'a> {
    /// All of them.
    Documents,
    /// The values at these paths and nothing else; none at all to count.
    Paths(&'a [FieldPath]),
}

/// A way that must be taken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Hint<'a> {
    /// The index of this name; `_id_` is the order of `_id`.
    Name(&'a str),
    /// The index with these keys, as [`Definition::keys_map`] gives them.
    Keys(&'a alluvium_document::Map),
    /// A scan of all documents, backwards or forwards.
    Natural {
        /// From the last to the first.
        backward: bool,
    },
}

/// What is known of a collection. Figures may be old or estimates; they change what a plan costs, never what it finds.
#[derive(Debug, Clone)]
pub struct Collection<'a> {
    /// How many documents it has.
    pub documents: u64,
    /// How many bytes they have as rows.
    pub bytes: u64,
    /// Over how many partitions each scan goes, at least 1.
    pub partitions: u32,
    /// Every `_id` can be decoded exactly from its key ([`alluvium_document::row::is_natural_id`]).
    /// If it is set, it must be true.
    pub natural_ids: bool,
    /// Its indexes that can be read.
    pub indexes: &'a [Index<'a>],
    /// Who can look into the indexes, and among the documents.
    pub estimator: Option<&'a dyn Estimator>,
}

/// Looks into an index, or among the documents, while ways are weighed.
pub trait Estimator: std::fmt::Debug {
    /// About the share of the index's entries, from 0 to 1, that lie in any of these ranges; none
    /// if that is not known, or would take too long.
    fn share(&self, index: &Index<'_>, ranges: &[KeyRange]) -> Option<f64>;

    /// The same of the documents and these ranges of `_id` ([`id_ranges`]).
    fn share_of_ids(&self, ranges: &[KeyRange]) -> Option<f64>;
}

/// What is known of an index.
#[derive(Debug, Clone)]
pub struct Index<'a> {
    /// What it is over.
    pub definition: &'a Definition,
    /// Bit n is set if some document's part n has led through an array
    /// ([`crate::index::Keys::multikey`]). A bit that is
    /// not set must be true of every document that the query may see.
    pub multikey: u32,
    /// How many entries it has.
    pub entries: u64,
    /// How many distinct values the first part has, the first two parts together, and so on; as far as it is known.
    pub distinct: &'a [u64],
    /// How many bytes the entries have.
    pub bytes: u64,
}

/// How the documents are found.
#[derive(Debug, Clone, PartialEq)]
pub struct Plan {
    /// The last step; the others are below it.
    pub root: Node,
    /// What it costs.
    pub cost: cost::Cost,
    /// How it reaches the documents.
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
        /// What a document must meet.
        filter: Filter,
    },
    /// The documents with these `_id`s, in order, each once, that match.
    Lookup {
        /// What may be an `_id`.
        ids: Vec<Value>,
        /// What a document must meet.
        filter: Filter,
    },
    /// Entries of an index.
    Index(IndexScan),
    /// The documents that the entries are of, each once, that match.
    Fetch {
        /// Where the entries come from.
        input: Box<Node>,
        /// What is left of the conditions.
        filter: Filter,
    },
    /// What any of the steps below finds, each document once.
    Union {
        /// One for each branch.
        inputs: Vec<Node>,
        /// All come in the order of this sort, which is kept; if it is empty, in any.
        merge: Vec<SortPart>,
    },
    /// The `_id`s that both scans find.
    Intersection(Vec<IndexScan>),
    /// All documents, in order; if only the first are wanted, no more are held.
    Sort {
        /// Where they come from.
        input: Box<Node>,
        /// The order.
        by: Vec<SortPart>,
        /// How many are wanted.
        first: Option<u64>,
    },
    /// Some documents from the front are passed over, and some taken.
    Limit {
        /// Where they come from.
        input: Box<Node>,
        /// How many are passed over.
        skip: u64,
        /// How many are taken after that.
        limit: Option<u64>,
    },
}
