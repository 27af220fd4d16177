use super::*;

#[test]
fn a_build_beside_a_writer() {
    let db = Database::builder().env(alluvium_env::Env::in_memory(1)).partitions(2).open("db").unwrap();
    let comments = db.collection("comments");
    documents::load(&comments, 2000, 1).run().unwrap();
    let ids = documents::sample_ids(&comments, 1).unwrap();
    let settings = Settings { operations: 50, ..Settings::default() };
    let built = run_build(&db, &comments, &ids, r#"{"author": 1}"#, &settings).unwrap();
    assert_eq!((built.name.as_str(), built.before.operations, built.after.operations), ("author_1", 50, 50));
    assert!(comments.find(r#"{"author": {"$gt": ""}}"#).hint("author_1").count().unwrap() >= 1500);
    assert!(table(&built).contains("beside the build"));
    let again = run_build(&db, &comments, &ids, r#"{"author": 1}"#, &settings).unwrap_err();
    assert!(again.to_string().contains("author_1 is there already"), "{again}");
}
