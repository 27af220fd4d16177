//! Random pipelines over random documents: whatever indexes exist, in memory or in files, at a snapshot beside writes, a
//! pipeline gives what a second evaluator gives that knows no plans, no rows and no files.

use crate::naive;
use crate::naive::{Pipeline, documents, pipeline};
use alluvium::{Database, Map, Value};
use alluvium_store::{Options, Tuning};
use proptest::prelude::*;
use std::path::Path;

/// Results as texts; sorted unless they have an order.
fn texts(maps: Vec<Map>, ordered: bool) -> Vec<String> {
    let mut texts: Vec<String> = maps.into_iter().map(|map| Value::Map(map).to_string()).collect();
    if !ordered {
        texts.sort();
    }
    texts
}

fn found(db: &Database, at: &alluvium::Snapshot, stages: &[Map]) -> Result<Vec<Map>, String> {
    let cursor = db.collection("c").aggregate(stages).at(at).run().map_err(|error| error.to_string())?;
    cursor.map(|document| Ok(document.map_err(|error| error.to_string())?.to_map().unwrap())).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, ..ProptestConfig::default() })]

    #[test]
    fn pipelines_give_what_a_naive_evaluator_gives(
        c in documents(40),
        d in documents(20),
        pipelines in proptest::collection::vec(pipeline(), 1..8),
        indexes in proptest::collection::vec(prop::sample::select(vec!["a", "k", "b.c"]), 0..3),
        in_files in any::<bool>(),
    ) {
        let tuning = Tuning { gather_bytes: in_files.then_some(1), ..Tuning::default() };
        let options = Options { tuning, partitions: Some(3), ..Options::default() };
        let env = alluvium_env::Env::in_memory(1);
        let db = Database::builder().env(env).options(options).open(Path::new("db")).unwrap();
        for (name, documents) in [("c", &c), ("d", &d)] {
            let collection = db.create_collection(name).unwrap();
            collection.insert_many(documents.clone()).unwrap();
            for index in &indexes {
                collection.create_index(Map::from([(*index, 1)])).run().unwrap();
            }
        }
        let snapshot = db.snapshot();
        // The snapshot does not see these.
        db.collection("c").insert_one(r#"{"_id": 1000, "k": "late", "a": 5}"#).unwrap();
        db.collection("d").delete_many("{}").run().unwrap();
        for Pipeline { stages, ordered } in &pipelines {
            let expected = naive::run(&c, &d, stages);
            let got = found(&db, &snapshot, stages);
            let shown: Vec<String> = stages.iter().map(|stage| Value::Map(stage.clone()).to_string()).collect();
            let got = got.unwrap_or_else(|error| panic!("[{}]: {error}", shown.join(", ")));
            prop_assert_eq!(texts(got, *ordered), texts(expected, *ordered), "[{}]", shown.join(", "));
        }
    }
}
