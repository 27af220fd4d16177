//! Access paths, which identify candidates, and why candidates are rejected.

use std::fmt;

use super::cost::Cost;
use super::{Hint, Query};
use crate::filter::Filter;

/// How a plan reaches the documents. It identifies a candidate: two candidates for one query have
/// different access paths.
///
/// As text ([`fmt::Display`]) it is the name that `explain` prints for a candidate.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum AccessPath {
    /// None: no document can match.
    Nothing,
    /// A scan of the documents.
    Scan {
        /// The filter has bounds for `_id`.
        bounded: bool,
    },
    /// Look-ups of single `_id`s.
    Lookup,
    /// A scan of the index with this name.
    Index(String),
    /// The `_id`s that scans of both indexes find.
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
    /// The name of the index, if the path is a scan of one index.
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
    /// Which candidate.
    pub access: AccessPath,
    /// Why it was not chosen.
    pub reason: Rejection,
}

/// Why a candidate was not chosen. As text ([`fmt::Display`]) it is what `explain` prints.
#[derive(Debug, Clone, PartialEq)]
pub enum Rejection {
    /// It costs at least as much as the chosen candidate.
    Costlier {
        /// Its cost.
        cost: Cost,
        /// Its time divided by the time of the cheapest candidate.
        ratio: f64,
    },
    /// It is cheaper, but another index was chosen for an earlier query of the same form.
    PreviousChoice {
        /// Its cost.
        cost: Cost,
        /// The index that was chosen earlier.
        index: String,
    },
    /// It cannot find every document that the filter matches, or has no advantage over a scan of all documents.
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

/// Why an index cannot serve a query.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Unusable {
    /// The filter has no bounds for it, and it does not give the order of the sort.
    NoBounds,
    /// It is partial, and its filter, which is given, does not follow from the query's filter.
    Partial(Filter),
    /// It is sparse, and the filter may match documents that have no entry in it.
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
