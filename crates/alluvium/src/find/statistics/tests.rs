use super::*;
use crate::Database;
use alluvium_env::Env;

#[test]
fn distinct_values_are_told_from_a_few_seeks() {
    let db = Database::builder().env(Env::in_memory(1)).partitions(4).open("db").unwrap();
    let c = db.collection("c");
    for name in ["few", "some", "many"] {
        c.create_index(format!("{{\"{name}\": 1, \"one\": -1}}")).unwrap();
    }
    let text =
        |n: i32| format!(r#"{{"_id": {n}, "few": {}, "some": {}, "many": {n}, "one": {}}}"#, n % 5, n % 700, n % 2);
    c.insert_many((0..5000).map(text)).unwrap();
    db.flush().unwrap();
    let moment = Moment::of(&c, None).unwrap();
    let set = moment.open.indexes();
    let statistics = Statistics::take(&moment, &set).unwrap();
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
fn statistics_are_taken_anew_when_much_was_written() {
    let db = Database::builder().env(Env::in_memory(1)).partitions(2).open("db").unwrap();
    let c = db.collection("c");
    c.put(0, "{}").unwrap();
    let cell = StatisticsCell::default();
    let documents = |cell: &StatisticsCell| {
        let moment = Moment::of(&c, None).unwrap();
        cell.get(&moment, &moment.open.indexes()).documents
    };
    assert_eq!(documents(&cell), 1);
    c.put(1, "{}").unwrap();
    assert_eq!(documents(&cell), 1, "one write is not much");
    c.insert_many((2..2002).map(|n| format!(r#"{{"_id": {n}}}"#))).unwrap();
    assert_eq!(documents(&cell), 2002);
    let doubt = || cell.doubt(&Moment::of(&c, None).unwrap());
    c.insert_many((2002..2202).map(|n| format!(r#"{{"_id": {n}}}"#))).unwrap();
    assert_eq!(documents(&cell), 2002, "a tenth is not much either");
    doubt();
    assert_eq!(documents(&cell), 2202, "but enough where they have led astray");
    c.put(3000, "{}").unwrap();
    doubt();
    assert_eq!(documents(&cell), 2202, "nothing new is to be known");
}
