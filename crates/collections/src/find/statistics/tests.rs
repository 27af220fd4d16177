use super::*;
use crate::testing::Database;
use alluvium_store::Options;

#[test]
fn distinct_values_are_estimated_from_a_few_seeks() {
    let db = Database::with(Options { partitions: Some(4), ..Options::default() });
    let c = db.collection("c");
    for name in ["few", "some", "many"] {
        c.create_index(format!("{{\"{name}\": 1, \"one\": -1}}"), "{}");
    }
    let text =
        |n: i32| format!(r#"{{"_id": {n}, "few": {}, "some": {}, "many": {n}, "one": {}}}"#, n % 5, n % 700, n % 2);
    c.insert((0..5000).map(text));
    db.flush();
    let view = c.view();
    let set = view.state.indexes();
    let statistics = collect(&view, &set).unwrap();
    assert!(!statistics.natural_ids, "1 and 1.0 have one key");
    let of = |name: &str| statistics.of(set.find(name).unwrap().tree).unwrap().clone();
    assert_eq!(of("few_1_one_-1").distinct, [5, 10]);
    let near = |found: u64, truth: u64| assert!((truth / 2..=truth * 2).contains(&found), "{found} for {truth}");
    near(statistics.documents, 5000);
    near(of("some_1_one_-1").distinct[0], 700);
    near(of("many_1_one_-1").distinct[0], 5000);
    near(of("many_1_one_-1").entries, 5000);
}

#[test]
fn statistics_are_collected_again_after_many_writes() {
    let db = Database::with(Options { partitions: Some(2), ..Options::default() });
    let c = db.collection("c");
    c.put(0, "{}");
    let documents = || {
        let view = c.view();
        current(&view, &view.state.indexes()).documents
    };
    assert_eq!(documents(), 1);
    c.put(1, "{}");
    assert_eq!(documents(), 1, "one write is not much");
    c.insert((2..2002).map(|n| format!(r#"{{"_id": {n}}}"#)));
    assert_eq!(documents(), 2002);
    let discard = || super::discard(&c.view());
    c.insert((2002..2202).map(|n| format!(r#"{{"_id": {n}}}"#)));
    assert_eq!(documents(), 2002, "a tenth is not much either");
    discard();
    assert_eq!(documents(), 2202, "but enough after a wrong plan");
    c.put(3000, "{}");
    discard();
    assert_eq!(documents(), 2202, "one write after them is too few");
}
