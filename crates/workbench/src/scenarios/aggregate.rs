//! Pipelines over comments: measures time and processor time of common questions.

use alluvium::{Collection, Map, Result};
use alluvium_cli::process::{cpu_time, peak_resident_bytes};
use alluvium_cli::text;
use serde::Serialize;
use std::time::Duration;

/// Parameters of the pipelines.
#[derive(Debug, Clone)]
pub struct Settings {
    /// The number of runs of each pipeline; the shortest time counts.
    pub rounds: usize,
    /// Runs only the pipelines with these names; all pipelines if empty.
    pub only: Vec<String>,
}

/// The results of one pipeline.
#[derive(Debug, Clone, Serialize)]
#[non_exhaustive]
pub struct Piped {
    /// The name of the pipeline.
    pub name: &'static str,
    /// The stages, as JSON.
    pub stages: &'static str,
    /// The number of documents that the pipeline reads from the collection, or looks up.
    pub documents: u64,
    /// The number of documents that the pipeline returns.
    pub returned: u64,
    /// Wall clock in seconds.
    pub seconds: f64,
    /// Processor time of the process in microseconds for each document.
    pub cpu_us: f64,
    /// Wall clock in microseconds for each document.
    pub wall_us: f64,
    /// The peak resident memory of the process so far, in bytes.
    pub peak_memory_bytes: u64,
}

/// The pipelines, each with its name. They use an index on `subreddit`, which [`run`] creates.
pub const PIPELINES: [(&str, &str); 10] = [
    ("group-few", r#"[{"$group": {"_id": "$subreddit", "n": {"$sum": 1}, "score": {"$avg": "$score"}}}]"#),
    ("group-many", r#"[{"$group": {"_id": "$author", "n": {"$sum": 1}, "score": {"$avg": "$score"}}}]"#),
    ("count", r#"[{"$match": {"score": {"$gt": 5}}}, {"$count": "n"}]"#),
    ("count-by-index", r#"[{"$sortByCount": "$subreddit"}, {"$limit": 10}]"#),
    (
        "match-group",
        r#"[{"$match": {"subreddit": {"$gte": "A", "$lt": "C"}}}, {"$group": {"_id": "$author", "n": {"$sum": 1}}}, {"$sort": {"n": -1}}, {"$limit": 10}]"#,
    ),
    ("sort", r#"[{"$sort": {"score": 1}}, {"$group": {"_id": null, "last": {"$last": "$score"}}}]"#),
    ("sort-fields", r#"[{"$sort": {"score": 1}}, {"$project": {"score": 1, "subreddit": 1}}]"#),
    ("distinct", r#"[{"$group": {"_id": "$author"}}, {"$count": "n"}]"#),
    ("top", r#"[{"$sort": {"score": -1}}, {"$limit": 10}, {"$project": {"score": 1, "subreddit": 1}}]"#),
    (
        "lookup",
        r#"[{"$limit": 10000}, {"$lookup": {"from": "comments", "localField": "_id", "foreignField": "_id", "as": "same"}}, {"$group": {"_id": null, "n": {"$sum": {"$size": "$same"}}}}]"#,
    ),
];

/// Runs the pipelines one after the other, each after a first run that is not counted.
///
/// # Errors
/// Errors of the pipelines.
pub fn run(collection: &Collection, settings: &Settings) -> Result<Vec<Piped>> {
    collection.create_index(r#"{"subreddit": 1}"#).run()?;
    let documents = collection.count()?;
    let wanted = |name: &str| settings.only.is_empty() || settings.only.iter().any(|only| only == name);
    let chosen = PIPELINES.iter().filter(|(name, _)| wanted(name));
    chosen.map(|(name, stages)| one(collection, name, stages, documents, settings.rounds)).collect()
}

fn one(
    collection: &Collection,
    name: &'static str,
    stages: &'static str,
    documents: u64,
    rounds: usize,
) -> Result<Piped> {
    let clock = alluvium_env::Env::os().clock;
    let documents = if name == "lookup" { documents.min(10_000) } else { documents };
    let mut best: Option<(Duration, f64)> = None;
    let mut returned = 0;
    for round in 0..=rounds {
        let (before, start) = (cpu_time(), clock.now());
        returned = 0;
        for document in collection.aggregate(stages).run()? {
            let _read: Map = document?.to_map()?;
            returned += 1;
        }
        let (took, cpu) = (clock.now().saturating_sub(start), cpu_time().saturating_sub(before));
        if round > 0 && best.is_none_or(|(least, _)| took < least) {
            best = Some((took, cpu.as_secs_f64()));
        }
    }
    let (took, cpu) = best.unwrap_or_default();
    let per_document = 1e6 / documents.max(1) as f64;
    Ok(Piped {
        name,
        stages,
        documents,
        returned,
        seconds: took.as_secs_f64(),
        cpu_us: cpu * per_document,
        wall_us: took.as_secs_f64() * per_document,
        peak_memory_bytes: peak_resident_bytes().unwrap_or(0),
    })
}

/// A line for each pipeline.
pub fn table(all: &[Piped]) -> String {
    let mut lines = format!(
        "{:<16} {:>10} {:>9} {:>9} {:>9} {:>9}\n",
        "pipeline", "documents", "returned", "seconds", "CPU us", "wall us"
    );
    for one in all {
        lines += &format!(
            "{:<16} {:>10} {:>9} {:>9.3} {:>9.3} {:>9.3}\n",
            one.name,
            text::count(one.documents),
            text::count(one.returned),
            one.seconds,
            one.cpu_us,
            one.wall_us
        );
    }
    lines
}

#[cfg(test)]
mod tests;
