//! Queries on comments: measures time, blocks and index entries. The queries run before and after
//! documents are rewritten without being read.

use alluvium::{Collection, Database, Document, Find, Result, Value};
use serde::Serialize;

/// Parameters of the queries.
#[derive(Debug, Clone)]
pub struct Settings {
    /// The number of runs of each kind of query, each with other values.
    pub rounds: usize,
    /// The seed of the random choices.
    pub seed: u64,
    /// The share of the documents, in percent, that are rewritten without being read before the
    /// second round, each with a higher score and another time. With 0 there is no second round.
    pub rewrite_percent: u8,
}

impl Default for Settings {
    fn default() -> Self {
        Self { rounds: 200, seed: 1, rewrite_percent: 20 }
    }
}

/// The indexes that the queries use; missing ones are created.
pub const INDEXES: [&str; 2] = [r#"{"subreddit": 1}"#, r#"{"author": 1, "created_utc": -1}"#];

/// The results of one kind of query.
#[derive(Debug, Clone, Serialize)]
#[non_exhaustive]
pub struct Asked {
    /// The kind of query.
    pub question: &'static str,
    /// The share of documents that were rewritten before the queries, in percent.
    pub rewritten_percent: u8,
    /// The number of runs.
    pub times: usize,
    /// The median time in microseconds.
    pub median_us: f64,
    /// The 99th percentile in microseconds.
    pub p99_us: f64,
    /// The average number of documents returned, or counted.
    pub returned: f64,
    /// Index entries examined for each document returned.
    pub keys_per_returned: f64,
    /// Documents examined for each document returned.
    pub documents_per_returned: f64,
    /// Stale entries for each document returned.
    pub stale_per_returned: f64,
    /// Blocks read from files for each query.
    pub blocks_read: f64,
}

/// Values for the queries, from existing documents.
struct Samples {
    ids: Vec<Value>,
    subreddits: Vec<String>,
    authors: Vec<String>,
}

/// Creates missing indexes, runs the queries, and rewrites documents between two rounds.
///
/// # Errors
/// Errors of the queries.
pub fn run(database: &Database, collection: &Collection, settings: &Settings) -> Result<Vec<Asked>> {
    for index in INDEXES {
        collection.create_index(index).run()?;
    }
    database.wait_for_compaction()?;
    let samples = sample(collection, settings)?;
    let mut all = ask_all(collection, &samples, settings, 0)?;
    if settings.rewrite_percent > 0 {
        rewrite(collection, settings)?;
        all.extend(ask_all(collection, &samples, settings, settings.rewrite_percent)?);
    }
    Ok(all)
}

fn sample(collection: &Collection, settings: &Settings) -> Result<Samples> {
    let mut random = fastrand::Rng::with_seed(settings.seed);
    let mut ids = super::documents::sample_ids(collection, settings.seed)?;
    random.shuffle(&mut ids);
    let wanted = settings.rounds.max(1000);
    ids.truncate(wanted);
    let mut samples = Samples { ids, subreddits: Vec::new(), authors: Vec::new() };
    for document in collection.get_many(samples.ids.clone())?.into_iter().flatten() {
        samples.subreddits.extend(text(&document, "subreddit"));
        samples.authors.extend(text(&document, "author"));
    }
    if samples.subreddits.is_empty() || samples.authors.is_empty() {
        return Err(alluvium::Error::Load("the collection has no comments: run `bench load` first".to_owned()));
    }
    Ok(samples)
}

fn text(document: &Document, name: &str) -> Option<String> {
    document.get(name).ok().flatten()?.to_value().ok()?.as_str().map(str::to_owned)
}

type Ask<'a> = dyn Fn(&mut fastrand::Rng) -> (Find, bool) + 'a;

fn ask_all(collection: &Collection, samples: &Samples, settings: &Settings, rewritten: u8) -> Result<Vec<Asked>> {
    let subreddit = |random: &mut fastrand::Rng| {
        let name = &samples.subreddits[random.usize(0..samples.subreddits.len())];
        format!(r#"{{"subreddit": "{name}"}}"#)
    };
    let ten = |random: &mut fastrand::Rng| (collection.find(subreddit(random)).limit(10), false);
    let count = |random: &mut fastrand::Rng| (collection.find(subreddit(random)), true);
    let of_author = |random: &mut fastrand::Rng| {
        let name = &samples.authors[random.usize(0..samples.authors.len())];
        let filter = format!(r#"{{"author": "{name}", "created_utc": {{"$gte": 1564617600}}}}"#);
        (collection.find(filter).sort(r#"{"created_utc": -1}"#).limit(20), false)
    };
    let among = |field: &'static str, values: Vec<Value>| {
        let list = alluvium::Map::from([("$in", Value::Array(values))]);
        collection.find(alluvium::Map::from([(field, Value::Map(list))]))
    };
    let many = |random: &mut fastrand::Rng| {
        let ids = (0..1000).map(|_| samples.ids[random.usize(0..samples.ids.len())].clone()).collect();
        (among("_id", ids), false)
    };
    let of_authors = |random: &mut fastrand::Rng| {
        let author = |_| samples.authors[random.usize(0..samples.authors.len())].as_str().into();
        (among("author", (0..1000).map(author).collect()).limit(1000), false)
    };
    let questions: [(&'static str, &Ask<'_>, usize); 5] = [
        ("10 by subreddit", &ten, 1),
        ("count by subreddit, from the index", &count, 10),
        ("20 by author and time, the latest first", &of_author, 1),
        ("1,000 by _id with $in", &many, 10),
        ("1,000 by author with $in of 1,000", &of_authors, 10),
    ];
    let ask = |(question, ask, share): &(&'static str, &Ask<'_>, usize)| {
        one(question, *ask, (settings.rounds / share).max(1), settings.seed, rewritten)
    };
    questions.iter().map(ask).collect()
}

fn one(question: &'static str, ask: &Ask<'_>, times: usize, seed: u64, rewritten: u8) -> Result<Asked> {
    let clock = alluvium_env::Env::os().clock;
    let mut random = fastrand::Rng::with_seed(seed);
    let mut took = Vec::with_capacity(times);
    let (mut returned, mut keys, mut documents, mut stale, mut blocks) = (0, 0, 0, 0, 0);
    for _ in 0..times {
        let (find, counts) = ask(&mut random);
        let again = find.clone();
        // The first run counts the blocks read from files. The second run measures the time with
        // the blocks in the cache.
        if counts {
            let explained = again.projection(r#"{"subreddit": 1, "_id": 0}"#).explain()?;
            (keys, documents) = (keys + explained.keys_examined, documents + explained.documents_examined);
            (stale, blocks) = (stale + explained.entries_stale, blocks + explained.blocks_read);
        } else {
            let explained = again.explain()?;
            (keys, documents) = (keys + explained.keys_examined, documents + explained.documents_examined);
            (stale, blocks) = (stale + explained.entries_stale, blocks + explained.blocks_read);
        }
        let started = clock.now();
        if counts {
            returned += find.count()?;
        } else {
            for document in find.run()? {
                document?;
                returned += 1;
            }
        }
        took.push(clock.now().saturating_sub(started).as_secs_f64() * 1e6);
    }
    took.sort_by(f64::total_cmp);
    let at = |share: f64| took.get(((took.len() - 1) as f64 * share) as usize).copied().unwrap_or_default();
    let each = |count: u64| count as f64 / (returned.max(1)) as f64;
    Ok(Asked {
        question,
        rewritten_percent: rewritten,
        times,
        median_us: at(0.5),
        p99_us: at(0.99),
        returned: returned as f64 / times as f64,
        keys_per_returned: each(keys),
        documents_per_returned: each(documents),
        stale_per_returned: each(stale),
        blocks_read: blocks as f64 / times as f64,
    })
}

/// Rewrites some of the documents, with a higher score and another time, by puts that do not read.
fn rewrite(collection: &Collection, settings: &Settings) -> Result<()> {
    let mut random = fastrand::Rng::with_seed(settings.seed);
    for document in collection.scan().run()? {
        let document = document?;
        if random.u8(0..100) >= settings.rewrite_percent {
            continue;
        }
        let id = document.id().clone();
        let mut map = document.to_map().map_err(alluvium::Error::from)?;
        for name in ["score", "created_utc"] {
            let number = map.get(name).and_then(Value::as_i64).unwrap_or(0);
            map.insert(name, number + 1);
        }
        collection.put(id, map)?;
    }
    Ok(())
}

/// The results as a table.
pub fn table(asked: &[Asked]) -> String {
    let mut out = format!(
        "{:<40} {:>9} {:>10} {:>10} {:>9} {:>8} {:>8} {:>8} {:>8}\n",
        "question", "rewritten", "median us", "p99 us", "returned", "keys/r", "docs/r", "stale/r", "blocks"
    );
    for one in asked {
        out.push_str(&format!(
            "{:<40} {:>8}% {:>10.1} {:>10.1} {:>9.1} {:>8.2} {:>8.2} {:>8.2} {:>8.1}\n",
            one.question,
            one.rewritten_percent,
            one.median_us,
            one.p99_us,
            one.returned,
            one.keys_per_returned,
            one.documents_per_returned,
            one.stale_per_returned,
            one.blocks_read
        ));
    }
    out
}

#[cfg(test)]
mod tests;
