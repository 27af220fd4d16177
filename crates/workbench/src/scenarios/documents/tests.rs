use super::*;

#[test]
fn comments_are_loaded_got_and_updated() {
    let dir = tempfile::tempdir().unwrap();
    let db = Database::builder().memory(8 << 20).open(dir.path().join("db")).unwrap();
    let comments = db.collection("comments");
    let report = load(&comments, 3000, 1, LoadOptions::default()).unwrap();
    assert_eq!(report.documents, 3000);
    let ids = sample_ids(&comments, 1).unwrap();
    assert_eq!(ids.len(), 3000);
    let settings = Settings { operations: 2000, find_rate: 0.5, threads: 2, ..Settings::default() };
    let outcome = get(&db, &comments, &ids, &settings).unwrap();
    assert_eq!(outcome.operations, 2000);
    let score = |id: &Value| {
        let document = comments.get(id.clone()).unwrap().unwrap();
        document.to_map().unwrap().get("score").and_then(Value::as_i64).unwrap()
    };
    let before: i64 = ids.iter().map(score).sum();
    for (times, scenario) in [(1, update as fn(_, _, &_, _) -> _), (2, update_checked), (3, update_blind)] {
        assert_eq!(scenario(&db, &comments, &ids[..], &settings).unwrap().operations, 2000);
        assert_eq!(ids.iter().map(score).sum::<i64>(), before + times * 2000);
    }
}
