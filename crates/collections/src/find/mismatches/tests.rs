use super::*;
use alluvium_document::json;

fn found(filter: &str, documents: &[&str]) -> Vec<String> {
    let map = |text: &str| match json::parse(text.as_bytes()) {
        Ok(Value::Map(map)) => map,
        other => panic!("{text}: {other:?}"),
    };
    let documents: Vec<Map> = documents.iter().map(|text| map(text)).collect();
    type_mismatches(&map(filter), &documents).iter().map(ToString::to_string).collect()
}

#[test]
fn a_comparison_with_another_type_than_all_values_have_is_found() {
    let texts = [r#"{"at": "2026-01-01", "n": 1}"#, r#"{"at": ["2026-01-02"], "n": 2.5}"#];
    let date = r#"{"at": {"$gt": {"$date": "2026-01-01T00:00:00Z"}}}"#;
    assert_eq!(found(date, &texts), ["at is compared with a value of type date, and has values of type string"]);
    assert_eq!(found(r#"{"$or": [{"n": "1"}, {"n": 1}]}"#, &texts).len(), 1);
    assert!(found(r#"{"n": {"$gte": 7}, "at": null, "other": 1}"#, &texts).is_empty());
    let mixed = [texts[0], r#"{"at": {"$date": "2026-01-01T00:00:00Z"}}"#];
    assert!(found(date, &mixed).is_empty());
}

#[test]
fn dates_of_a_filter_are_a_filter() {
    let filter = Map::from([("at", Value::DateTime(1)), ("n", Value::from(1))]);
    assert_eq!(of_dates(&filter), Some(Map::from([("at", Value::DateTime(1))])));
    assert_eq!(of_dates(&Map::from([("n", 1)])), None);
}
