//! Pipelines over documents of every kind. With any stages, a pipeline ends, with documents or an error, and the
//! results are the same in memory and in files.

use super::questions::documents;
use alluvium::{Database, Map, Value};
use alluvium_document::json;
use alluvium_env::Env;
use alluvium_store::{Options, Tuning};
use std::path::Path;
use std::time::Duration;

/// The maximum number of documents that are read from one pipeline.
const READ_MAX: usize = 10_000;

/// A pipeline as JSON text, run on documents of every kind, once in memory and once with stages in files.
pub fn pipelines(data: &[u8]) {
    let Ok(stages @ Value::Array(_)) = json::parse(data) else { return };
    let in_memory = run(&stages, None);
    let in_files = run(&stages, Some(1));
    // Not all stages support files, and samples are random.
    if let (Ok(memory), Ok(files)) = (in_memory, in_files)
        && !["$sample", "$rand", "$limit", "$first", "$last", "$push", "Array"].iter().any(|word| mentions(data, word))
    {
        assert_eq!(sorted(memory), sorted(files), "{stages}");
    }
}

fn mentions(data: &[u8], word: &str) -> bool {
    data.windows(word.len()).any(|window| window == word.as_bytes())
}

fn sorted(documents: Vec<Map>) -> Vec<String> {
    let mut texts: Vec<String> = documents.into_iter().map(|map| Value::Map(map).to_string()).collect();
    texts.sort();
    texts
}

/// The documents of a pipeline, or its error.
fn run(stages: &Value, gather_bytes: Option<usize>) -> Result<Vec<Map>, alluvium::Error> {
    let tuning = Tuning { gather_bytes, ..Tuning::default() };
    let options = Options { tuning, partitions: Some(2), background: false, ..Options::default() };
    let database = Database::builder().env(Env::in_memory(1)).options(options).open(Path::new("db"))?;
    for name in ["c", "d"] {
        database.collection(name).insert_many(documents())?;
    }
    let cursor = database.collection("c").aggregate(stages).max_time(Duration::from_secs(2)).run()?;
    let mut found = Vec::new();
    for document in cursor.take(READ_MAX) {
        found.push(document?.to_map()?);
    }
    Ok(found)
}

pub(super) const SEEDS: &[&str] = &[
    r#"[{"$match":{"a":{"$gte":1}}},{"$sort":{"b":1,"_id":-1}},{"$skip":1},{"$limit":3}]"#,
    r#"[{"$group":{"_id":"$a","n":{"$sum":1},"m":{"$avg":"$d.e"},"s":{"$addToSet":"$b"},"x":{"$max":"$c"}}}]"#,
    r#"[{"$unwind":{"path":"$c","includeArrayIndex":"i","preserveNullAndEmptyArrays":true}},{"$sortByCount":"$c"}]"#,
    r#"[{"$set":{"x.y":{"$map":{"input":"$c","in":{"$ifNull":["$$this","none"]}}}}},{"$unset":["b"]}]"#,
    r#"[{"$lookup":{"from":"d","localField":"a","foreignField":"a","as":"l"}},{"$project":{"n":{"$size":"$l"}}}]"#,
    r#"[{"$lookup":{"from":"d","let":{"v":"$b"},"pipeline":[{"$match":{"$expr":{"$eq":["$b","$$v"]}}}],"as":"l"}}]"#,
    r#"[{"$facet":{"a":[{"$count":"n"}],"b":[{"$match":{"_id":1}}]}}]"#,
    r#"[{"$setWindowFields":{"partitionBy":"$d","sortBy":{"_id":1},"output":{"s":{"$sum":"$a","window":{"documents":[-1,1]}}}}}]"#,
    r#"[{"$match":{"_id":{"$type":"number"}}},{"$densify":{"field":"_id","range":{"step":1,"bounds":"full"}}}]"#,
    r#"[{"$bucket":{"groupBy":"$_id","boundaries":[0,3,9],"default":"other"}}]"#,
    r#"[{"$bucketAuto":{"groupBy":"$a","buckets":3}}]"#,
    r#"[{"$graphLookup":{"from":"d","startWith":"$a","connectFromField":"b","connectToField":"a","as":"g","maxDepth":3}}]"#,
    r#"[{"$redact":{"$cond":[{"$eq":["$e",2]},"$$PRUNE","$$DESCEND"]}}]"#,
    r#"[{"$match":{"$jsonSchema":{"required":["a"],"properties":{"a":{"bsonType":["int","array"]}}}}},{"$unionWith":"d"}]"#,
    r#"[{"$group":{"_id":null,"t":{"$topN":{"n":2,"sortBy":{"_id":1},"output":"$b"}},"p":{"$percentile":{"input":"$a","p":[0.5],"method":"approximate"}}}}]"#,
    r#"[{"$documents":[{"a":1},{"a":2}]},{"$replaceWith":{"$mergeObjects":["$$ROOT",{"b":{"$rand":{}}}]}}]"#,
];
