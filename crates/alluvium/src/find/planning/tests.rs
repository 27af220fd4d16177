use crate::find::{Asked, Moment, Question};
use crate::{Collection, Database};
use alluvium_env::Env;

fn form(filter: &str) -> String {
    super::form_of(&Question::new(Asked::new(filter)).unwrap())
}

#[test]
fn a_form_is_without_values() {
    assert_eq!(form(r#"{"a": 1, "b": {"$gt": "x"}}"#), form(r#"{"b": {"$gt": "yy"}, "a": 200}"#));
    assert_eq!(form(r#"{"a": {"$in": [1, 2]}}"#), form(r#"{"a": {"$in": [3, 4, 5]}}"#));
    for other in [r#"{"a": "1"}"#, r#"{"b": 1}"#, r#"{"a": {"$gt": 1}}"#, r#"{"$or": [{"a": 1}, {"a": 2}]}"#] {
        assert_ne!(form(r#"{"a": 1}"#), form(other), "{other}");
    }
}

fn taken(c: &Collection, filter: &str) -> (Option<String>, bool) {
    taken_for(c, filter, None)
}

fn taken_for(c: &Collection, filter: &str, limit: Option<u64>) -> (Option<String>, bool) {
    let moment = Moment::of(c, None).unwrap();
    let asked = Asked { limit, ..Asked::new(filter) };
    let planned = super::plan(&moment, &Question::new(asked).unwrap(), false).unwrap();
    (planned.plan.index_name().map(str::to_owned), planned.cached)
}

#[test]
fn plans_are_remembered_until_they_turn_out_wrong_or_indexes_change() {
    let db = Database::builder().env(Env::in_memory(1)).partitions(2).open("db").unwrap();
    let c = db.collection("c");
    // Most values of `few` are rare, and one is not.
    let few = |n: i32| if n % 2 == 0 { 0 } else { n };
    let text = |n: i32| format!(r#"{{"_id": {n}, "few": {}, "other": {}}}"#, few(n), n % 20);
    c.insert_many((0..8000).map(text)).unwrap();
    c.create_index(r#"{"few": 1}"#).unwrap();
    c.create_index(r#"{"other": 1}"#).unwrap();
    let question = |few: i32| format!(r#"{{"few": {few}, "other": 3}}"#);
    let few = Some("few_1".to_owned());
    assert_eq!(taken(&c, &question(1)), (few.clone(), false));
    assert_eq!(taken(&c, &question(3)), (few.clone(), true));
    // This one has 4,000 entries where a few were expected.
    assert_eq!(c.find(question(0)).run().unwrap().count(), 0);
    assert_ne!(taken(&c, &question(0)).0, few);
    assert_eq!(taken(&c, &question(1)), (Some("other_1".to_owned()), false));
    assert_eq!(taken(&c, &question(1)), (Some("other_1".to_owned()), true));
    c.create_index(r#"{"third": 1}"#).unwrap();
    assert_eq!(taken(&c, &question(1)), (few, false));
}

/// Most values of `few` are rare, and one is not.
fn skewed() -> (Database, Collection) {
    let db = Database::builder().env(Env::in_memory(1)).partitions(2).open("db").unwrap();
    let c = db.collection("c");
    let few = |n: i32| if n % 2 == 0 { 0 } else { n };
    let text = |n: i32| format!(r#"{{"_id": {n}, "few": {}, "other": {}, "late": {}}}"#, few(n), n % 20, n / 7000);
    c.insert_many((0..8000).map(text)).unwrap();
    c.create_index(r#"{"few": 1}"#).unwrap();
    c.create_index(r#"{"other": 1}"#).unwrap();
    (db, c)
}

#[test]
fn a_plan_whose_answer_is_given_up_may_turn_out_wrong() {
    let (_db, c) = skewed();
    let question = |few: i32| format!(r#"{{"few": {few}, "other": {{"$in": [2, 3]}}, "late": 1}}"#);
    let few = Some("few_1".to_owned());
    assert_eq!(taken_for(&c, &question(1), Some(1)), (few.clone(), false));
    // Some 3,500 entries are looked at before one matches; nobody asks for a second.
    assert!(c.find_one(question(0)).unwrap().is_some());
    assert_ne!(taken_for(&c, &question(1), Some(1)).0, few);
}

#[test]
fn what_was_not_taken_is_explained_each_time() {
    let (_db, c) = skewed();
    let filter = r#"{"few": 3, "other": 3}"#;
    let rejected = || {
        let map = c.find(filter).explain().unwrap().to_map();
        let planner = map.get("queryPlanner").unwrap().as_map().unwrap().clone();
        let ways = planner.get("rejectedPlans").unwrap().as_array().unwrap().len();
        (planner.get("fromPlanCache").unwrap().clone(), ways)
    };
    let (cached, ways) = rejected();
    assert!(ways > 0);
    assert_eq!((cached, rejected()), (false.into(), (false.into(), ways)), "to explain is no question");
    assert_eq!(taken(&c, filter), (Some("few_1".to_owned()), false));
    assert_eq!(taken(&c, filter), (Some("few_1".to_owned()), true));
    let question = Question::new(Asked::new(filter)).unwrap();
    let moment = Moment::of(&c, None).unwrap();
    let planned = super::plan(&moment, &question, true).unwrap();
    assert!(planned.cached && planned.plan.rejected.len() == ways, "{:?}", planned.plan.rejected);
}

#[test]
fn what_was_taken_before_is_named_where_another_is_cheaper_now() {
    let root = |index: &str| {
        let (_db, c) = skewed();
        let filter = if index == "few_1" { r#"{"few": 3, "other": 3}"# } else { r#"{"other": 3}"# };
        let moment = Moment::of(&c, None).unwrap();
        (*super::plan(&moment, &Question::new(Asked::new(filter)).unwrap(), true).unwrap().plan).clone()
    };
    let ways = |taken: &str| {
        super::beside(taken, root("few_1")).into_iter().map(|way| way.access.to_string()).collect::<Vec<_>>()
    };
    assert!(ways("few_1").iter().all(|way| way != "index few_1"));
    assert!(ways("other_1")[0] == "index few_1" && ways("other_1").iter().all(|way| way != "index other_1"));
}

#[test]
fn the_steps_of_a_fetch_are_timed_apart() {
    let (db, c) = skewed();
    db.compact().unwrap();
    let explained = c.find(r#"{"other": 3}"#).hint("other_1").explain().unwrap().to_map();
    let stages = explained.get("executionStats").unwrap().as_map().unwrap().get("executionStages").unwrap();
    let scan = stages.as_map().unwrap().get("inputStage").unwrap().as_map().unwrap();
    assert!(scan.get("blocksRead").is_some(), "{scan:?}");
}

#[test]
fn ranges_are_looked_into() {
    let db = Database::builder().env(Env::in_memory(1)).partitions(2).open("db").unwrap();
    let c = db.collection("c");
    c.insert_many((0..20_000).map(|n| format!(r#"{{"_id": {n}, "a": {n}, "b": {}}}"#, n % 2))).unwrap();
    c.create_index(r#"{"a": 1}"#).unwrap();
    c.create_index(r#"{"b": 1, "a": -1}"#).unwrap();
    let a = Some("a_1".to_owned());
    for flushed in [false, true] {
        if flushed {
            db.compact().unwrap();
        }
        // Nothing of it is remembered: a scan never is, and each of these is another form.
        assert_eq!(taken(&c, r#"{"a": {"$gte": 0}}"#).0, None);
        assert_eq!(taken(&c, r#"{"a": {"$gt": 19900}}"#), (a.clone(), flushed));
        assert_eq!(taken(&c, r#"{"a": {"$gt": 100, "$lt": 200}}"#), (a.clone(), flushed));
        assert!(taken(&c, r#"{"b": 1, "a": {"$lt": 50}}"#).0.is_some());
        let documents = c.estimated_document_count().unwrap();
        assert!((18_000..22_000).contains(&documents), "{documents}");
    }
}

#[test]
fn ranges_of_ids_are_looked_into() {
    let db = Database::builder().env(Env::in_memory(1)).partitions(2).open("db").unwrap();
    let c = db.collection("c");
    c.insert_many((0..20_000).map(|n| format!(r#"{{"_id": {n}, "g": {}, "r": {}}}"#, n % 50, n * 7919 % 20_000)))
        .unwrap();
    c.create_index(r#"{"g": 1}"#).unwrap();
    c.create_index(r#"{"r": 1}"#).unwrap();
    for flushed in [false, true] {
        if flushed {
            db.compact().unwrap();
        }
        // The last ten documents, in place of the 400 with this value, or of all in order.
        assert_eq!(taken(&c, r#"{"_id": {"$gte": 19990}, "g": 5}"#).0, None);
        let explained = c.find(r#"{"_id": {"$gte": 19990}}"#).sort(r#"{"r": 1}"#).limit(3).explain().unwrap();
        assert!(explained.documents_examined <= 10, "{explained:?}");
    }
    assert_eq!(taken(&c, r#"{"_id": {"$gte": 10}, "g": 5}"#).0, Some("g_1".to_owned()));
}

#[test]
fn the_oldest_documents_may_go() {
    let db = Database::builder().env(Env::in_memory(1)).partitions(2).open("db").unwrap();
    let c = db.collection("c");
    c.insert_many((0..20_000).map(|n| format!(r#"{{"_id": {n}, "g": {}}}"#, n % 50))).unwrap();
    c.create_index(r#"{"g": 1}"#).unwrap();
    c.delete_many(r#"{"_id": {"$lt": 1500}}"#).run().unwrap();
    let documents = c.estimated_document_count().unwrap();
    assert!((17_000..20_000).contains(&documents), "{documents}");
    assert_eq!(taken(&c, r#"{"g": 5}"#).0, Some("g_1".to_owned()));
}
