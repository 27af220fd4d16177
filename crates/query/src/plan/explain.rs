//! Plans as text and as values.

use std::fmt;

use alluvium_document::{Map, Value};

use super::access::Rejected;
use super::cost::Cost;
use super::interval::{Interval, text};
use super::ranges::PartBounds;
use super::scan::IndexScan;
use super::{Node, Plan};
use crate::filter::Filter;
use crate::index::show_keys;
use crate::sort::SortPart;

/// The maximum number of items that are shown: intervals of a part, or values that are looked up.
const SHOWN_MAX: usize = 10;

impl Plan {
    /// The plan as `explain` shows it: `winningPlan`, `estimated`, `rejectedPlans`.
    pub fn to_map(&self) -> Map {
        let mut map = Map::from([("winningPlan", Value::Map(self.root.to_map()))]);
        map.push("estimated", of_cost(&self.cost));
        let rejected = self.rejected.iter().map(|rejected| {
            let mut map = Map::from([("way", Value::from(rejected.access.to_string()))]);
            if let Some(cost) = rejected.reason.cost() {
                map.push("estimated", of_cost(cost));
            }
            map.push("why", rejected.reason.to_string());
            Value::Map(map)
        });
        map.push("rejectedPlans", Value::Array(rejected.collect()));
        map
    }
}

fn of_cost(cost: &Cost) -> Value {
    let whole = |x: f64| Value::from(x.round() as i64);
    let map = [("timeUs", cost.time_us), ("keysExamined", cost.entries), ("docsExamined", cost.documents)];
    Value::Map(map.into_iter().map(|(name, x)| (name, whole(x))).collect())
}

/// Prints one line for each step, from the last step to its inputs, which are indented. The
/// rejected candidates follow, with the reasons.
impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.root.write(f, 0)?;
        writeln!(f, "about {}", self.cost)?;
        for Rejected { access, reason } in &self.rejected {
            write!(f, "not {access}: {reason}")?;
            if let Some(cost) = reason.cost() {
                write!(f, "; about {cost}")?;
            }
            writeln!(f)?;
        }
        Ok(())
    }
}

impl fmt::Display for Cost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.0} us, {:.0} entries, {:.0} documents", self.time_us, self.entries, self.documents)
    }
}

fn of_sort(by: &[SortPart]) -> String {
    let part =
        |part: &SortPart| format!("{} {}", part.path, if part.is_descending() { "descending" } else { "ascending" });
    by.iter().map(part).collect::<Vec<_>>().join(", ")
}

fn of_filter(filter: &Filter) -> String {
    if filter.is_empty() { String::new() } else { format!(", filter {filter}") }
}

fn direction(backward: bool) -> &'static str {
    if backward { "backward" } else { "forward" }
}

/// The first items as text, and the number of the remaining ones.
fn some<T>(all: &[T], show: impl Fn(&T) -> String) -> String {
    let shown: Vec<String> = all.iter().take(SHOWN_MAX).map(show).collect();
    match all.len().saturating_sub(SHOWN_MAX) {
        0 => shown.join(", "),
        more => format!("{} and {more} more", shown.join(", ")),
    }
}

fn of_intervals(intervals: &[Interval], shown: impl Fn(&Interval) -> String) -> String {
    if intervals.is_empty() { "nothing".to_owned() } else { some(intervals, shown) }
}

impl IndexScan {
    fn shown(&self, interval: &Interval) -> String {
        let mut interval = interval.clone();
        if self.is_collated {
            show_keys(&mut interval.low.value);
            show_keys(&mut interval.high.value);
        }
        interval.to_string()
    }

    fn words(&self) -> String {
        let part = |part: &PartBounds| {
            format!("{} in {}", part.part.path, of_intervals(&part.intervals, |one| self.shown(one)))
        };
        let bounds: Vec<String> = self.bounds.iter().map(part).collect();
        let covered = match &self.covered {
            Some(filter) => format!(", covered{}", of_filter(filter)),
            None => of_filter(&self.keys),
        };
        format!("index {} {}: {}{covered}", self.index, direction(self.backward), bounds.join("; "))
    }

    fn to_map(&self) -> Map {
        let bounds = self.bounds.iter().map(|part| {
            let shown = part.intervals.iter().take(SHOWN_MAX).map(|interval| Value::from(self.shown(interval)));
            (part.part.path.as_str(), Value::Array(shown.collect()))
        });
        let mut map = Map::from([("stage", Value::from("IXSCAN")), ("indexName", Value::from(self.index.as_str()))]);
        map.push("direction", direction(self.backward));
        map.push("isMultiKey", self.multikey);
        map.push("indexBounds", Value::Map(bounds.collect()));
        if let Some(filter) = &self.covered {
            map.push("covered", true);
            map.push("filter", filter.to_map());
        } else if !self.keys.is_empty() {
            map.push("filter", self.keys.to_map());
        }
        map
    }
}

impl Node {
    /// The steps whose output this step reads.
    pub fn inputs(&self) -> Vec<&Node> {
        match self {
            Self::Fetch { input, .. } | Self::Sort { input, .. } | Self::Limit { input, .. } => vec![input],
            Self::Union { inputs, .. } => inputs.iter().collect(),
            Self::Nothing | Self::Scan { .. } | Self::Lookup { .. } | Self::Index(_) | Self::Intersection(_) => {
                Vec::new()
            }
        }
    }

    /// The step as text, without its inputs.
    pub fn words(&self) -> String {
        match self {
            Self::Nothing => "nothing matches".to_owned(),
            Self::Scan { ids, backward, filter } => match &ids[..] {
                [only] if only.is_all() => {
                    format!("scan of all documents {}{}", direction(*backward), of_filter(filter))
                }
                ids => format!(
                    "scan {}: _id in {}{}",
                    direction(*backward),
                    of_intervals(ids, Interval::to_string),
                    of_filter(filter)
                ),
            },
            Self::Lookup { ids, filter } => format!("look-up of _id: {}{}", some(ids, text), of_filter(filter)),
            Self::Index(scan) => scan.words(),
            Self::Fetch { filter, .. } => format!("fetch{}", of_filter(filter)),
            Self::Union { merge, .. } if merge.is_empty() => "union".to_owned(),
            Self::Union { merge, .. } => format!("union, merged by {}", of_sort(merge)),
            Self::Intersection(_) => "intersection".to_owned(),
            Self::Sort { by, first: Some(first), .. } => format!("sort by {}, the first {first}", of_sort(by)),
            Self::Sort { by, .. } => format!("sort by {}", of_sort(by)),
            Self::Limit { skip: 0, limit: Some(limit), .. } => format!("take {limit}"),
            Self::Limit { skip, limit: Some(limit), .. } => format!("skip {skip}, take {limit}"),
            Self::Limit { skip, .. } => format!("skip {skip}"),
        }
    }

    fn write(&self, f: &mut fmt::Formatter<'_>, indent: usize) -> fmt::Result {
        writeln!(f, "{:indent$}{}", "", self.words())?;
        if let Self::Intersection(scans) = self {
            let indent = indent + 2;
            scans.iter().try_for_each(|scan| writeln!(f, "{:indent$}{}", "", scan.words()))?;
        }
        self.inputs().into_iter().try_for_each(|input| input.write(f, indent + 2))
    }

    /// The step and its inputs, as `explain` returns them.
    pub fn to_map(&self) -> Map {
        let (stage, rest) = match self {
            Self::Index(scan) => return scan.to_map(),
            Self::Nothing => ("EOF", Map::new()),
            Self::Scan { ids, backward, filter } => {
                let mut rest = Map::from([("direction", Value::from(direction(*backward)))]);
                if !matches!(&ids[..], [only] if only.is_all()) {
                    rest.push("idBounds", ids.iter().take(SHOWN_MAX).map(Interval::to_string).collect::<Value>());
                }
                ("COLLSCAN", with_filter(rest, filter))
            }
            Self::Lookup { ids, filter } => {
                let ids: Value = ids.iter().take(SHOWN_MAX).cloned().collect();
                ("IDHACK", with_filter(Map::from([("ids", ids)]), filter))
            }
            Self::Fetch { filter, .. } => ("FETCH", with_filter(Map::new(), filter)),
            Self::Union { merge, .. } if merge.is_empty() => ("OR", Map::new()),
            Self::Union { merge, .. } => ("SORT_MERGE", Map::from([("sortPattern", pattern(merge))])),
            Self::Intersection(_) => ("AND_HASH", Map::new()),
            Self::Sort { by, first, .. } => {
                let mut rest = Map::from([("sortPattern", pattern(by))]);
                first.iter().for_each(|first| rest.push("limitAmount", *first));
                ("SORT", rest)
            }
            Self::Limit { skip, limit, .. } => {
                let mut rest = Map::from([("skipAmount", Value::from(*skip))]);
                limit.iter().for_each(|limit| rest.push("limitAmount", *limit));
                ("LIMIT", rest)
            }
        };
        let mut map = Map::from([("stage", stage)]);
        map.entries.extend(rest.entries);
        let scans = match self {
            Self::Intersection(scans) => scans.iter().map(|scan| Value::Map(scan.to_map())).collect(),
            _ => Vec::new(),
        };
        let inputs = self.inputs().into_iter().map(|input| Value::Map(input.to_map()));
        let mut inputs: Vec<Value> = inputs.chain(scans).collect();
        match inputs.len() {
            0 => {}
            1 => map.push("inputStage", inputs.remove(0)),
            _ => map.push("inputStages", Value::Array(inputs)),
        }
        map
    }
}

fn with_filter(mut map: Map, filter: &Filter) -> Map {
    if !filter.is_empty() {
        map.push("filter", filter.to_map());
    }
    map
}

fn pattern(by: &[SortPart]) -> Value {
    let part = |part: &SortPart| (part.path.to_string(), Value::from(if part.is_descending() { -1 } else { 1 }));
    Value::Map(by.iter().map(part).collect())
}
