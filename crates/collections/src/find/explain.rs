//! The plan of a query, and the cost of its execution.

use super::planning::Planned;
use super::query::Query;
use crate::names::FullName;
use alluvium_document::{Map, Value};
use alluvium_exec::{Counts, Report};
use alluvium_query::plan::{Node, Plan, Rejected};
use std::fmt;
use std::time::Duration;

/// The plan of a query, and the cost of its execution, as `Find::explain` and similar methods
/// return it. The text ([`fmt::Display`]) has a line for each step; [`Explanation::to_map`] has the
/// structure of MongoDB's `explain`.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Explanation {
    /// The number of documents returned.
    pub returned: u64,
    /// The number of index entries examined.
    pub keys_examined: u64,
    /// The number of documents examined.
    pub documents_examined: u64,
    /// The number of entries that were validated by reading their documents, because their sequence numbers were not
    /// sufficient.
    pub entries_validated: u64,
    /// The number of entries that were skipped because their documents no longer have these values.
    pub entries_stale: u64,
    /// The number of seeks to a range of entries. Each seek reads every partition.
    pub seeks: u64,
    /// The number of blocks of files that were looked up.
    pub blocks_looked_up: u64,
    /// The number of these blocks that were not in memory.
    pub blocks_read: u64,
    /// The time from the start of the query to its last document.
    pub time: Duration,
    collection: String,
    filter: Map,
    plan: Plan,
    cached: bool,
    steps: Explained,
}

/// A step of the plan, with its counts and its inputs.
#[derive(Debug, Clone)]
struct Explained {
    words: String,
    stage: Map,
    counts: Counts,
    inputs: Vec<Explained>,
}

impl Explanation {
    pub(super) fn new(collection: &FullName, query: &Query, planned: &Planned, report: Report, time: Duration) -> Self {
        let steps = Explained::new(&planned.plan.root, &report);
        let sum = sum(&report);
        Self {
            returned: report.counts.returned,
            keys_examined: sum.keys,
            documents_examined: sum.documents,
            entries_validated: sum.validated,
            entries_stale: sum.stale,
            seeks: sum.seeks,
            blocks_looked_up: report.counts.spent.blocks.looked_up,
            blocks_read: report.counts.spent.blocks.read,
            time,
            collection: collection.to_string(),
            filter: query.filter.to_map(),
            plan: (*planned.plan).clone(),
            cached: planned.cached,
            steps,
        }
    }

    /// The plan as MongoDB's `explain` shows it: `queryPlanner` and `executionStats`.
    ///
    /// ```
    /// # let db = alluvium::Database::in_memory()?;
    /// # let pets = db.collection("pets");
    /// # pets.insert_many([r#"{"_id": "ada", "age": 12}"#, r#"{"_id": "rex", "age": 3}"#, r#"{"_id": "tom", "age": 7}"#])?;
    /// let explanation = pets.find(r#"{"age": 7}"#).explain()?;
    /// assert!(explanation.to_map().get("queryPlanner").is_some());
    /// # alluvium::Result::Ok(())
    /// ```
    pub fn to_map(&self) -> Map {
        let mut planner = Map::from([("namespace", Value::from(self.collection.as_str()))]);
        planner.push("parsedQuery", Value::Map(self.filter.clone()));
        planner.push("fromPlanCache", self.cached);
        planner.entries.extend(self.plan.to_map().entries);
        let mut stats = Map::from([("executionSuccess", Value::from(true))]);
        stats.push("nReturned", count(self.returned));
        stats.push("executionTimeMillis", count(u64::try_from(self.time.as_millis()).unwrap_or(u64::MAX)));
        stats.push("totalKeysExamined", count(self.keys_examined));
        stats.push("totalDocsExamined", count(self.documents_examined));
        stats.push("entriesValidated", count(self.entries_validated));
        stats.push("entriesStale", count(self.entries_stale));
        stats.push("seeks", count(self.seeks));
        stats.push("blocksLookedUp", count(self.blocks_looked_up));
        stats.push("blocksRead", count(self.blocks_read));
        stats.push("executionStages", Value::Map(self.steps.to_map()));
        Map::from([("queryPlanner", Value::Map(planner)), ("executionStats", Value::Map(stats))])
    }
}

fn count(count: u64) -> Value {
    Value::from(i64::try_from(count).unwrap_or(i64::MAX))
}

/// The counts of a step and of its inputs.
pub(super) fn sum(report: &Report) -> Counts {
    let mut sum = Counts::default();
    add(report, &mut sum);
    sum
}

fn add(report: &Report, sum: &mut Counts) {
    sum.keys += report.counts.keys;
    sum.documents += report.counts.documents;
    sum.validated += report.counts.validated;
    sum.stale += report.counts.stale;
    sum.seeks += report.counts.seeks;
    report.inputs.iter().for_each(|input| add(input, sum));
}

impl Explained {
    fn new(node: &Node, report: &Report) -> Self {
        let scans = match node {
            Node::Intersection(scans) => scans.as_slice(),
            _ => &[],
        };
        let mut below = report.inputs.iter();
        let mut inputs: Vec<Self> =
            node.inputs().into_iter().zip(&mut below).map(|(node, report)| Self::new(node, report)).collect();
        inputs.extend(scans.iter().zip(below).map(|(scan, report)| Self::new(&Node::Index(scan.clone()), report)));
        let mut stage = node.to_map();
        stage.entries.retain(|(name, _)| !matches!(name.as_str(), Some("inputStage" | "inputStages")));
        Self { words: node.words(), stage, counts: report.counts, inputs }
    }

    fn to_map(&self) -> Map {
        let (mut map, counts) = (self.stage.clone(), &self.counts);
        map.push("nReturned", count(counts.returned));
        map.push("executionTimeMicros", count(u64::try_from(counts.spent.time.as_micros()).unwrap_or(u64::MAX)));
        let some = [
            ("keysExamined", counts.keys),
            ("docsExamined", counts.documents),
            ("entriesValidated", counts.validated),
            ("entriesStale", counts.stale),
            ("seeks", counts.seeks),
            ("blocksRead", counts.spent.blocks.read),
        ];
        some.iter().filter(|(_, number)| *number > 0).for_each(|(name, number)| map.push(*name, count(*number)));
        let mut inputs: Vec<Value> = self.inputs.iter().map(|input| Value::Map(input.to_map())).collect();
        match inputs.len() {
            0 => {}
            1 => map.push("inputStage", inputs.remove(0)),
            _ => map.push("inputStages", Value::Array(inputs)),
        }
        map
    }

    fn write(&self, f: &mut fmt::Formatter<'_>, indent: usize) -> fmt::Result {
        let counts = &self.counts;
        write!(f, "{:indent$}{} -> {}", "", self.words, counts.returned)?;
        let some = [
            ("entries", counts.keys),
            ("documents", counts.documents),
            ("validated", counts.validated),
            ("stale", counts.stale),
            // A single seek is not shown.
            ("seeks", if counts.seeks > 1 { counts.seeks } else { 0 }),
            ("blocks read", counts.spent.blocks.read),
        ];
        let some = some.iter().filter(|(_, number)| *number > 0).map(|(name, number)| format!("{number} {name}"));
        let some: Vec<String> = some.collect();
        if !some.is_empty() {
            write!(f, " ({})", some.join(", "))?;
        }
        if !counts.spent.time.is_zero() {
            write!(f, " {} us", counts.spent.time.as_micros())?;
        }
        writeln!(f)?;
        self.inputs.iter().try_for_each(|input| input.write(f, indent + 2))
    }
}

/// A line for each step, the last step first, with the number of results and the number of items
/// examined; then the rejected candidates, each with the reason.
impl fmt::Display for Explanation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.steps.write(f, 0)?;
        writeln!(
            f,
            "{} returned, {} entries and {} documents examined, {} blocks read, {} us{}",
            self.returned,
            self.keys_examined,
            self.documents_examined,
            self.blocks_read,
            self.time.as_micros(),
            if self.cached { ", plan as before" } else { "" }
        )?;
        writeln!(f, "estimated {}", self.plan.cost)?;
        for Rejected { access, reason } in &self.plan.rejected {
            write!(f, "not {access}: {reason}")?;
            if let Some(cost) = reason.cost() {
                write!(f, "; estimated {cost}")?;
            }
            writeln!(f)?;
        }
        Ok(())
    }
}
