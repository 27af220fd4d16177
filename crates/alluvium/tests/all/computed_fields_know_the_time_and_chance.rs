//! `$$NOW` is the same time for all documents of a query; `$rand` differs from document to document and from query to
//! query.

use alluvium::{Database, Value};
use alluvium_env::Env;

/// The value of an expression for each of 20 documents.
fn values(db: &Database, expression: &str) -> Vec<Value> {
    let all = db.collection("all");
    for id in 0..20 {
        all.put(id, format!(r#"{{"_id":{id}}}"#)).unwrap();
    }
    let projection = format!(r#"{{"_id":0,"x":{expression}}}"#);
    let documents = all.find("{}").projection(projection).run().unwrap();
    documents.map(|document| document.unwrap().to_map().unwrap().remove("x").unwrap()).collect()
}

#[test]
fn random_numbers_differ() {
    let db = Database::builder().env(Env::in_memory(1)).open("db").unwrap();
    let query = || values(&db, r#"{"$rand":{}}"#);
    let mut numbers: Vec<f64> = query().iter().chain(&query()).map(|value| value.as_f64().unwrap()).collect();
    assert!(numbers.iter().all(|x| (0.0..1.0).contains(x)));
    numbers.sort_by(f64::total_cmp);
    numbers.dedup();
    assert_eq!(numbers.len(), 40);
}

#[test]
fn now_is_one_moment() {
    let db = Database::builder().env(Env::in_memory(1)).open("db").unwrap();
    let moments = values(&db, r#""$$NOW""#);
    assert_eq!(moments.len(), 20);
    assert!(moments.iter().all(|moment| matches!(moment, Value::DateTime(_)) && *moment == moments[0]));
    let years = values(&db, r#"{"$year":{"date":"$$NOW","timezone":"Europe/London"}}"#);
    assert!(years.iter().all(|year| matches!(year, Value::Int32(_))));
}
