//! Access paths, which identify candidates, and the reasons why candidates are rejected.

use std::fmt;

use super::cost::Cost;
use super::{Hint, Query};
use crate::filter::Filter;

/// The way in which a plan reaches the documents. It identifies a candidate: two candidates for the
/// same query have different access paths.
///
/// The printed form ([`fmt::Display`]) is the name that `explain` shows for a candidate.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum AccessPath {
    /// No access, because no document can match.
    Nothing,
    /// A scan of the documents.
    Scan {
        /// True if the filter has bounds for `_id`.
        bounded: bool,
    },
    /// Look-ups of single `_id`s.
    Lookup,
    /// A scan of the index with this name.
    Index(String),
    /// An intersection of the `_id`s that scans of both indexes find.
    Intersection(String, String),
    /// One access path for each branch of an `$or` that can match.
    Union {
        /// The position of the `$or` among the clauses of the filter.
        clause: usize,
        /// The access paths of the branches.
        branches: Vec<AccessPath>,
    },
}

impl AccessPath {
    /// The name of the index, if the access path is a scan of one index.
    pub fn index_name(&self) -> Option<&str> {
        match self {
            Self::Index(name) => Some(name),
            _ => None,
        }
    }

    /// The hint that makes the planner take this access path for the query; `None` if there is no such hint.
    pub fn hint(&self, query: &Query<'_>) -> Option<Hint<'_>> {
        match self {
            Self::Index(name) => Some(Hint::Usable(name)),
            Self::Scan { .. } => Some(Hint::Natural { backward: query.is_by_descending_id() }),
            Self::Nothing | Self::Lookup | Self::Intersection(..) | Self::Union { .. } => None,
        }
    }
}

impl fmt::Display for AccessPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Nothing => f.write_str("nothing matches"),
            Self::Scan { bounded: false } => f.write_str("scan of all documents"),
            Self::Scan { bounded: true } => f.write_str("scan of a range of _id"),
            Self::Lookup => f.write_str("look-up by _id"),
            Self::Index(name) => write!(f, "index {name}"),
            Self::Intersection(first, second) => write!(f, "intersection of {first} and {second}"),
            Self::Union { branches, .. } => match branches.split_first() {
                None => f.write_str("union of nothing"),
                Some((first, rest)) => {
                    write!(f, "union of {first}")?;
                    rest.iter().try_for_each(|branch| write!(f, ", {branch}"))
                }
            },
        }
    }
}

/// A candidate that was not chosen.
#[derive(Debug, Clone, PartialEq)]
pub struct Rejected {
    /// The access path of the candidate.
    pub access: AccessPath,
    /// The reason why the candidate was not chosen.
    pub reason: Rejection,
}

/// The reason why a candidate was not chosen. The printed form ([`fmt::Display`]) is the text that `explain` shows.
#[derive(Debug, Clone, PartialEq)]
pub enum Rejection {
    /// The candidate costs at least as much as the chosen one.
    Costlier {
        /// The cost of the candidate.
        cost: Cost,
        /// The time of the candidate divided by the time of the cheapest candidate.
        ratio: f64,
    },
    /// The candidate is cheaper than the chosen one, but another index was chosen for an earlier query of the same
    /// form.
    PreviousChoice {
        /// The cost of the candidate.
        cost: Cost,
        /// The index that was chosen earlier.
        index: String,
    },
    /// The candidate cannot find every document that the filter matches, or has no advantage over a scan of all
    /// documents.
    Unusable(Unusable),
}

impl Rejection {
    /// The estimated cost; `None` if the candidate is unusable.
    pub fn cost(&self) -> Option<&Cost> {
        match self {
            Self::Costlier { cost, .. } | Self::PreviousChoice { cost, .. } => Some(cost),
            Self::Unusable(_) => None,
        }
    }
}

impl fmt::Display for Rejection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Costlier { ratio, .. } if *ratio >= 10.0 => write!(f, "takes {ratio:.0} times as long"),
            Self::Costlier { ratio, .. } if *ratio >= 1.01 => write!(f, "takes {ratio:.2} times as long"),
            Self::Costlier { .. } => f.write_str("takes as long"),
            Self::PreviousChoice { index, .. } => {
                write!(f, "the index {index} was chosen for an earlier query of this form, and is still good enough")
            }
            Self::Unusable(why) => why.fmt(f),
        }
    }
}

/// The reason why an index cannot be used for a query.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Unusable {
    /// The filter has no bounds for the index, and the index does not have the order of the sort.
    NoBounds,
    /// The index is partial, and its filter, which is given here, does not follow from the query's filter.
    Partial(Filter),
    /// The index is sparse, and the filter may match documents that have no entry in it.
    Sparse,
}

impl fmt::Display for Unusable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoBounds => {
                f.write_str("the filter has no bounds for it, and it does not give the order of the sort")
            }
            Self::Partial(filter) => write!(f, "it is partial, and the filter does not imply {filter}"),
            Self::Sparse => f.write_str("it is sparse, and the filter may match documents without its fields"),
        }
    }
}
