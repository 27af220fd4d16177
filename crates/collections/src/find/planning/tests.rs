use crate::by_filter::Action;
use crate::find::query::Query;
use crate::find::request::FindRequest;
use crate::testing::{Collection, Database, count, hinted};
use alluvium_document::IntoDocument;
use alluvium_query::expression::Variables;
use alluvium_store::{BlockCounts, Options};

fn database() -> Database {
    Database::with(Options { partitions: Some(2), ..Options::default() })
}

fn form(filter: &str) -> String {
    super::form_of(&Query::new(FindRequest::new(filter), Variables::NONE).unwrap())
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
    let view = c.view();
    let request = FindRequest { limit, ..FindRequest::new(filter) };
    let planned = super::plan(&view, &Query::new(request, Variables::NONE).unwrap(), false).unwrap();
    (planned.plan.index_name().map(str::to_owned), planned.cached)
}

#[test]
fn plans_are_remembered_until_they_turn_out_wrong_or_indexes_change() {
    let db = database();
    let c = db.collection("c");
    // One value of `few` is frequent, and all others are rare.
    let few = |n: i32| if n % 2 == 0 { 0 } else { n };
    let text = |n: i32| format!(r#"{{"_id": {n}, "few": {}, "other": {}}}"#, few(n), n % 20);
    c.insert((0..8000).map(text));
    c.create_index(r#"{"few": 1}"#, "{}");
    c.create_index(r#"{"other": 1}"#, "{}");
    let query = |few: i32| format!(r#"{{"few": {few}, "other": 3}}"#);
    let few = Some("few_1".to_owned());
    assert_eq!(taken(&c, &query(1)), (few.clone(), false));
    assert_eq!(taken(&c, &query(3)), (few.clone(), true));
    // This value has 4,000 entries; the plan expected a few.
    assert_eq!(count(c.find(FindRequest::new(query(0)))), 0);
    assert_ne!(taken(&c, &query(0)).0, few);
    assert_eq!(taken(&c, &query(1)), (Some("other_1".to_owned()), false));
    assert_eq!(taken(&c, &query(1)), (Some("other_1".to_owned()), true));
    c.create_index(r#"{"third": 1}"#, "{}");
    assert_eq!(taken(&c, &query(1)), (few, false));
}

/// One value of `few` is frequent, and all others are rare.
fn skewed() -> (Database, Collection) {
    let db = database();
    let c = db.collection("c");
    let few = |n: i32| if n % 2 == 0 { 0 } else { n };
    let text = |n: i32| format!(r#"{{"_id": {n}, "few": {}, "other": {}, "late": {}}}"#, few(n), n % 20, n / 7000);
    c.insert((0..8000).map(text));
    c.create_index(r#"{"few": 1}"#, "{}");
    c.create_index(r#"{"other": 1}"#, "{}");
    (db, c)
}

#[test]
fn a_plan_whose_answer_is_given_up_may_turn_out_wrong() {
    let (_db, c) = skewed();
    let query = |few: i32| format!(r#"{{"few": {few}, "other": {{"$in": [2, 3]}}, "late": 1}}"#);
    let few = Some("few_1".to_owned());
    assert_eq!(taken_for(&c, &query(1), Some(1)), (few.clone(), false));
    // About 3,500 entries are examined before one matches; no second document is requested.
    assert!(c.find(FindRequest { limit: Some(1), ..FindRequest::new(query(0)) }).next().is_some());
    assert_ne!(taken_for(&c, &query(1), Some(1)).0, few);
}

#[test]
fn what_was_not_taken_is_explained_each_time() {
    let (_db, c) = skewed();
    let filter = r#"{"few": 3, "other": 3}"#;
    let rejected = || {
        let map = c.explain(FindRequest::new(filter)).to_map();
        let planner = map.get("queryPlanner").unwrap().as_map().unwrap().clone();
        let ways = planner.get("rejectedPlans").unwrap().as_array().unwrap().len();
        (planner.get("fromPlanCache").unwrap().clone(), ways)
    };
    let (cached, ways) = rejected();
    assert!(ways > 0);
    assert_eq!((cached, rejected()), (false.into(), (false.into(), ways)), "to explain is no query");
    assert_eq!(taken(&c, filter), (Some("few_1".to_owned()), false));
    assert_eq!(taken(&c, filter), (Some("few_1".to_owned()), true));
    let query = Query::new(FindRequest::new(filter), Variables::NONE).unwrap();
    let view = c.view();
    let planned = super::plan(&view, &query, true).unwrap();
    assert!(planned.cached && planned.plan.rejected.len() == ways, "{:?}", planned.plan.rejected);
}

#[test]
fn what_was_taken_before_is_named_where_another_is_cheaper_now() {
    let root = |index: &str| {
        let (_db, c) = skewed();
        let filter = if index == "few_1" { r#"{"few": 3, "other": 3}"# } else { r#"{"other": 3}"# };
        let view = c.view();
        (*super::plan(&view, &Query::new(FindRequest::new(filter), Variables::NONE).unwrap(), true).unwrap().plan)
            .clone()
    };
    let ways = |taken: &str| {
        super::rejected_beside(taken, root("few_1")).into_iter().map(|way| way.access.to_string()).collect::<Vec<_>>()
    };
    assert!(ways("few_1").iter().all(|way| way != "index few_1"));
    assert!(ways("other_1")[0] == "index few_1" && ways("other_1").iter().all(|way| way != "index other_1"));
}

#[test]
fn the_steps_of_a_fetch_are_timed_apart() {
    let (db, c) = skewed();
    db.compact();
    let explained = c.explain(hinted(r#"{"other": 3}"#, "other_1")).to_map();
    let stages = explained.get("executionStats").unwrap().as_map().unwrap().get("executionStages").unwrap();
    let scan = stages.as_map().unwrap().get("inputStage").unwrap().as_map().unwrap();
    assert!(scan.get("blocksRead").is_some(), "{scan:?}");
}

#[test]
fn ranges_are_looked_into() {
    let db = database();
    let c = db.collection("c");
    c.insert((0..20_000).map(|n| format!(r#"{{"_id": {n}, "a": {n}, "b": {}}}"#, n % 2)));
    c.create_index(r#"{"a": 1}"#, "{}");
    c.create_index(r#"{"b": 1, "a": -1}"#, "{}");
    let a = Some("a_1".to_owned());
    for flushed in [false, true] {
        if flushed {
            db.compact();
        }
        // No plan is taken from the cache, because a scan is never cached, and each of these queries has another form.
        assert_eq!(taken(&c, r#"{"a": {"$gte": 0}}"#).0, None);
        assert_eq!(taken(&c, r#"{"a": {"$gt": 19900}}"#), (a.clone(), flushed));
        assert_eq!(taken(&c, r#"{"a": {"$gt": 100, "$lt": 200}}"#), (a.clone(), flushed));
        assert!(taken(&c, r#"{"b": 1, "a": {"$lt": 50}}"#).0.is_some());
        let documents = c.estimated_count();
        assert!((18_000..22_000).contains(&documents), "{documents}");
    }
}

#[test]
fn a_hint_that_leaves_no_choice_is_not_looked_into() {
    let db = database();
    let c = db.collection("c");
    c.insert((0..5000).map(|n| format!(r#"{{"_id": {n}, "a": {n}}}"#)));
    c.create_index(r#"{"a": 1}"#, "{}");
    let filter = r#"{"a": {"$gt": 100, "$lt": 200}}"#;
    db.compact();
    let looked_up = |request: FindRequest, explains: bool| {
        let (view, query) = (c.view(), Query::new(request, Variables::NONE).unwrap());
        super::plan(&view, &query, explains).unwrap();
        let before = BlockCounts::of_thread().looked_up;
        let planned = super::plan(&view, &query, explains).unwrap();
        assert_eq!(planned.plan.index_name(), Some("a_1"));
        BlockCounts::of_thread().looked_up - before
    };
    assert_eq!(looked_up(hinted(filter, "a_1"), false), 0);
    assert_eq!(looked_up(hinted(filter, r#"{"a": 1}"#), false), 0);
    assert_eq!(looked_up(FindRequest::new(filter), false), 0, "its plan is remembered");
    assert!(looked_up(hinted(filter, "a_1"), true) > 0, "an explanation has estimates");
    // If two indexes have these keys, the index with fewer documents may be cheaper.
    c.create_index(r#"{"a": 1}"#, r#"{"name": "some", "partialFilterExpression": {"a": {"$gt": 50}}}"#);
    db.compact();
    let (view, query) = (c.view(), Query::new(hinted(filter, r#"{"a": 1}"#), Variables::NONE).unwrap());
    super::plan(&view, &query, false).unwrap();
    let before = BlockCounts::of_thread().looked_up;
    super::plan(&view, &query, false).unwrap();
    assert!(BlockCounts::of_thread().looked_up > before);
}

#[test]
fn ranges_of_ids_are_looked_into() {
    let db = database();
    let c = db.collection("c");
    c.insert((0..20_000).map(|n| format!(r#"{{"_id": {n}, "g": {}, "r": {}}}"#, n % 50, n * 7919 % 20_000)));
    c.create_index(r#"{"g": 1}"#, "{}");
    c.create_index(r#"{"r": 1}"#, "{}");
    for flushed in [false, true] {
        if flushed {
            db.compact();
        }
        // A scan of the last ten documents is cheaper than the 400 entries with this value, or than all documents in
        // order.
        assert_eq!(taken(&c, r#"{"_id": {"$gte": 19990}, "g": 5}"#).0, None);
        let explained = c.explain(FindRequest {
            sort: Some(r#"{"r": 1}"#.into_map()),
            limit: Some(3),
            ..FindRequest::new(r#"{"_id": {"$gte": 19990}}"#)
        });
        assert!(explained.documents_examined <= 10, "{explained:?}");
    }
    assert_eq!(taken(&c, r#"{"_id": {"$gte": 10}, "g": 5}"#).0, Some("g_1".to_owned()));
}

#[test]
fn the_oldest_documents_may_go() {
    let db = database();
    let c = db.collection("c");
    c.insert((0..20_000).map(|n| format!(r#"{{"_id": {n}, "g": {}}}"#, n % 50)));
    c.create_index(r#"{"g": 1}"#, "{}");
    c.write_where(r#"{"_id": {"$lt": 1500}}"#, Action::Delete).all().unwrap();
    let documents = c.estimated_count();
    assert!((17_000..20_000).contains(&documents), "{documents}");
    assert_eq!(taken(&c, r#"{"g": 5}"#).0, Some("g_1".to_owned()));
}
