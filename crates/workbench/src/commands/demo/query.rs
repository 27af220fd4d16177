//! A query without and with an index.

use super::{Demo, terminal};
use alluvium::{Collection, Document};
use alluvium_cli::exit::{Failure, Outcome};
use alluvium_cli::output::Output;
use std::collections::BTreeMap;
use std::time::Duration;

/// The number of documents that are read to find an author of several comments.
const AUTHORS_LOOKED_AT: usize = 2_000;
/// Accounts that are not people.
const NOT_AUTHORS: [&str; 2] = ["[deleted]", "AutoModerator"];
/// The number of documents that the query returns.
const LIMIT: u64 = 3;
/// The order of the query.
pub(super) const SORT: &str = r#"{"score": -1}"#;
/// The fields of the index.
const INDEX: &str = r#"{"author": 1, "score": -1}"#;

/// The query and its duration.
pub(super) struct Queried {
    pub filter: String,
    pub without_index: Duration,
    pub build: Duration,
    pub with_index: Duration,
}

impl Demo {
    /// Runs the query, creates the index, and runs the query again; prints times and plans.
    pub(super) fn query(&self, collection: &Collection, ids: &[String]) -> Outcome<Queried> {
        let filter = format!("{{\"author\": \"{}\"}}", author(collection, ids)?);
        let mut out = Output::new();
        out.text(&format!("  filter {filter}, sort {SORT}, limit {LIMIT}\n"))?;
        let (without_index, scanned) = self.answer(collection, &filter, "without an index", &mut out)?;
        let before = self.env.clock.now();
        let name = collection.create_index(INDEX).run()?;
        let build = self.env.clock.now().saturating_sub(before);
        out.text(&format!("  index {name} created in {}\n", terminal::time(build)))?;
        let (with_index, indexed) = self.answer(collection, &filter, "with the index", &mut out)?;
        let scores = |documents: &[Document]| documents.iter().map(score).collect::<Outcome<Vec<_>>>();
        if scores(&scanned)? != scores(&indexed)? {
            return Err(Failure::Damaged("the index and the scan find different documents".to_owned()));
        }
        out.finish()?;
        Ok(Queried { filter, without_index, build, with_index })
    }

    fn answer(
        &self,
        collection: &Collection,
        filter: &str,
        how: &str,
        out: &mut Output,
    ) -> Outcome<(Duration, Vec<Document>)> {
        let find = || collection.find(filter).sort(SORT).limit(LIMIT);
        let before = self.env.clock.now();
        let documents = find().run()?.collect::<alluvium::Result<Vec<_>>>()?;
        let took = self.env.clock.now().saturating_sub(before);
        out.text(&format!("  {how}: {} documents in {}; its plan:\n", documents.len(), terminal::time(took)))?;
        out.text(&terminal::details(&find().explain()?.to_string()))?;
        Ok((took, documents))
    }
}

fn score(document: &Document) -> Outcome<Option<i64>> {
    let map = document.to_map().map_err(|error| Failure::Damaged(error.to_string()))?;
    Ok(map.get("score").and_then(alluvium::Value::as_i64))
}

/// The author with the most comments among the first documents.
fn author(collection: &Collection, ids: &[String]) -> Outcome<String> {
    let mut comments: BTreeMap<String, usize> = BTreeMap::new();
    for id in ids.iter().take(AUTHORS_LOOKED_AT) {
        let fields = collection.get_fields(id.as_str(), &["author"])?;
        let author = fields.as_ref().and_then(|fields| fields.get("author")).and_then(alluvium::Value::as_str);
        if let Some(author) = author.filter(|author| !NOT_AUTHORS.contains(author)) {
            *comments.entry(author.to_owned()).or_default() += 1;
        }
    }
    let most = comments.into_iter().max_by_key(|(_, comments)| *comments);
    most.map(|(author, _)| author).ok_or_else(|| Failure::Damaged("no comment has an author".to_owned()))
}
